//! The report of a balance, which `balance` and `merge` print.

use hashroute::registry::Scheme;
use hashroute_harness::stream::Tally;
use hashroute_harness::{Balance, DumpSource, Estimated, Figures, NodeBalance};
use serde::Serialize;

use super::partial;
use super::strategy::{self, Choice};
use crate::args::{OutputArgs, PartialArgs};
use crate::failure::Failure;
use crate::output::{Cell, Column, Fields, MadeUp, Report, Table, Tone};
use crate::progress::Progress;
use crate::units;

/// The most nodes that people see; of more, they see the most and the least loaded.
const ALL: usize = 50;
const SOME: usize = 10;

/// What the counts themselves do not hold.
#[derive(Clone, Copy, Default)]
pub(crate) struct Context<'a> {
    /// What was made up since nobody gave it.
    pub(crate) made_up: Option<&'a MadeUp>,
    /// What routed the keys, which knows the labels of nodes.
    pub(crate) choice: Option<&'a Choice>,
}

impl<'a> Context<'a> {
    fn label(self, name: &str) -> Option<&'a str> {
        self.choice?.label(name)
    }
}

/// Writes the counts if `--partial` asks for them, and prints the report.
pub(crate) fn finish(
    tally: &Tally,
    partial: &PartialArgs,
    output: &OutputArgs,
    context: Context,
) -> Result<(), Failure> {
    if let Some(path) = &partial.partial {
        if partial::write(path, |out| tally.write(out))? {
            return Ok(());
        }
    }
    let progress = Progress::start(output.quiet, "judging the balance");
    let balance = tally.balance()?;
    drop(progress);
    let report = report(&balance, tally.sources(), context)?;
    let report = match context.made_up {
        Some(made_up) => report.with_made_up(made_up)?,
        None => report,
    };
    report.print(output.format)?;
    // A part without any key is a part, and says nothing about nodes.
    if balance.keys > 0 && balance.figures.total == 0 {
        return Err(Failure::input("nothing to judge: no key found a node"));
    }
    Ok(())
}

/// The answer for programs: the figures, and what the lists of keys say about themselves. One list
/// is `source`; several, after a merge, are `sources`.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    balance: &'a Balance,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a DumpSource>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sources: &'a [DumpSource],
}

fn report(balance: &Balance, sources: &[DumpSource], context: Context) -> Result<Report, Failure> {
    let all: Vec<_> = balance.nodes.iter().collect();
    let (source, sources) = match sources {
        [source] => (Some(source), &[][..]),
        sources => (None, sources),
    };
    let answer = Answer {
        balance,
        source,
        sources,
    };
    let report = Report::new(&answer, node_table(balance, &all, context))?;
    let report = if all.len() <= ALL {
        report.with_table(node_table(balance, &all, context))
    } else {
        let count = all.len();
        let (most, least) = extremes(all);
        let rest = format!("The {SOME} least loaded (--format csv or json has all):");
        report
            .with_text([format!(
                "The {SOME} most loaded of {count} nodes, relative to their weight:"
            )])
            .with_table(node_table(balance, &most, context))
            .with_text([rest])
            .with_table(node_table(balance, &least, context))
    };
    let report = report.with_table(figure_table(balance));
    Ok(report.with_text(notes(balance)))
}

/// Explains the figures and states the verdict.
fn notes(balance: &Balance) -> Vec<String> {
    let mut notes = Vec::new();
    if weights_differ(balance) {
        notes.push(
            "At the mean weight: what a node holds, divided by its weight, times the mean weight."
                .into(),
        );
    }
    if balance.unplaced > 0 {
        // A file of counts stores only the name of the strategy.
        let is_dialect = hashroute::scheme(&balance.strategy).is_ok_and(Scheme::is_dialect);
        notes.push(strategy::unplaced(
            is_dialect,
            balance.unplaced,
            balance.nodes.iter().any(|node| node.weight > 0),
        ));
    }
    notes.extend(units::unreadable(balance.unreadable));
    notes.extend(
        balance
            .estimated
            .as_ref()
            .map(|errors| estimates(balance, errors)),
    );
    if balance.bytes.is_some() || balance.requests.is_some() {
        notes.push(match balance.verdict.matter {
            Some(measure) => format!("The most uneven measure: {measure}."),
            None if balance.figures.total == 0 => "No key has a node.".into(),
            None => "All measures are even.".into(),
        });
    }
    notes.extend(balance.verdict.text.lines().map(str::to_owned));
    notes
}

/// Says which figures are estimates, and their standard errors.
fn estimates(balance: &Balance, errors: &Estimated) -> String {
    format!(
        "The loads of the nodes are exact. Estimated: {} distinct keys (standard error {}) and what \
         chance gives (standard error {}). Large keys are listed from a share of {}.",
        units::count(balance.distinct_keys),
        units::percent(errors.distinct_keys_error),
        units::percent(errors.effective_keys_error),
        units::percent(errors.largest_from),
    )
}

/// Returns the nodes that hold most and least for their weight.
fn extremes(mut nodes: Vec<&NodeBalance>) -> (Vec<&NodeBalance>, Vec<&NodeBalance>) {
    nodes.retain(|node| node.weight > 0 || node.keys > 0);
    nodes.sort_by(|a, b| of_fair(b).total_cmp(&of_fair(a)));
    let most = nodes.iter().copied().take(SOME).collect();
    let least = nodes.iter().copied().rev().take(SOME).collect();
    (most, least)
}

/// Returns the share of a node divided by its fair share.
fn of_fair(node: &NodeBalance) -> f64 {
    if node.fair_share > 0.0 {
        node.share / node.fair_share
    } else {
        f64::INFINITY
    }
}

fn node_table(balance: &Balance, nodes: &[&NodeBalance], context: Context) -> Table {
    let label = |node: &NodeBalance| context.label(&node.name);
    let title = |title, known: bool| if known { title } else { "" };
    // Chance alone rarely takes any node so far from its fair share.
    let rare = (balance.figures.noise.max_over_mean - 1.0).max(0.01) * 1.5;
    let any = |known: fn(&NodeBalance) -> bool| balance.nodes.iter().any(known);
    let any_label = balance.nodes.iter().any(|node| label(node).is_some());
    let fields = Fields::<&NodeBalance>::new()
        .text("name", "node", |node| Cell::text(node.name.as_str()))
        .text(
            title("label", any_label),
            title("label", any_label),
            |node| Cell::optional(label(node)),
        )
        .number("weight", "weight", |node| Cell::count(node.weight.into()))
        .minor(1)
        .text(
            "zone",
            title("zone", any(|node| node.zone.is_some())),
            |node| Cell::optional(node.zone.as_deref()),
        )
        .minor(4)
        .text(
            "rack",
            title("rack", any(|node| node.rack.is_some())),
            |node| Cell::optional(node.rack.as_deref()),
        )
        .minor(5)
        .number("keys", "keys", |node| Cell::count(node.keys))
        .number("share", "share", |node| Cell::share(node.share))
        .number("fair_share", "fair share", |node| {
            Cell::share(node.fair_share)
        })
        .minor(3)
        .number("", "of fair", move |node| {
            if node.fair_share > 0.0 {
                let of_fair = of_fair(node);
                let tone = match of_fair - 1.0 {
                    more if more > rare => Tone::Bad,
                    less if less < -rare => Tone::Low,
                    _ => Tone::Plain,
                };
                Cell::text(format!("{of_fair:.3}")).toned(tone)
            } else {
                Cell::missing()
            }
        })
        .number("bytes", title("bytes", balance.bytes.is_some()), |node| {
            node.bytes.map_or_else(Cell::missing, Cell::bytes)
        })
        .minor(2)
        .number(
            "requests",
            title("requests", balance.requests.is_some()),
            |node| node.requests.map_or_else(Cell::missing, Cell::count),
        )
        .minor(2);
    Table::of(fields, nodes)
}

/// Builds the table of figures: two columns per measure, its value and what chance alone gives.
fn figure_table(balance: &Balance) -> Table {
    let measures = [
        ("keys", Some(&balance.figures)),
        ("bytes", balance.bytes.as_ref()),
        ("requests", balance.requests.as_ref()),
    ];
    let known = measures
        .into_iter()
        .filter_map(|(name, figures)| Some((name, figures?)));
    let mut columns = vec![Column::text("", "figure")];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (name, figures) in known {
        columns.extend([
            Column::number("", name),
            Column::number("", "by chance").minor(1),
        ]);
        let lines = figure_lines(figures, name == "bytes", weights_differ(balance));
        rows.resize_with(lines.len(), Vec::new);
        for (row, [figure, value, chance]) in rows.iter_mut().zip(lines) {
            // All measures have the same lines, so the first one provides their names.
            row.extend(row.is_empty().then(|| Cell::text(figure)));
            row.extend([value, chance].map(Cell::text));
        }
    }
    Table::new(columns).with_rows(rows)
}

/// Returns lines of name, value, and what chance alone gives.
fn figure_lines(figures: &Figures, bytes: bool, weighted: bool) -> Vec<[String; 3]> {
    let shown = if bytes { units::size } else { units::rounded };
    let mut lines = amounts(figures, shown, weighted);
    lines.extend(ratios(figures));
    let top = figures.top.iter().filter(|top| top.n <= SOME as u64);
    lines.extend(top.map(|top| {
        plain(
            &format!("share of the {} largest", top.n),
            units::percent(top.share),
        )
    }));
    lines.push(plain(
        "chi² / degrees",
        format!("{:.2} / {}", figures.chi2, figures.df),
    ));
    lines.push(plain("p", units::chance(figures.p_value)));
    lines
}

fn plain(name: &str, value: String) -> [String; 3] {
    [name.into(), value, String::new()]
}

/// Returns whether nodes with weight have different weights.
fn weights_differ(balance: &Balance) -> bool {
    let weights = balance.nodes.iter().map(|node| node.weight);
    let mut weights = weights.filter(|&weight| weight > 0);
    let first = weights.next();
    weights.any(|weight| Some(weight) != first)
}

/// Returns the amounts. Where weights differ, the least and the most are no node's own amount.
fn amounts(figures: &Figures, shown: fn(f64) -> String, weighted: bool) -> Vec<[String; 3]> {
    let [least, most] = if weighted {
        ["least, at the mean weight", "most, at the mean weight"]
    } else {
        ["least", "most"]
    };
    vec![
        plain("total", shown(figures.total as f64)),
        plain("nodes in use", units::count(figures.used)),
        plain("nodes with nothing", units::count(figures.empty)),
        plain(least, shown(figures.min)),
        plain("mean", shown(figures.mean)),
        plain(most, shown(figures.max)),
        plain("stddev", shown(figures.stddev)),
    ]
}

fn ratios(figures: &Figures) -> [[String; 3]; 4] {
    let noise = &figures.noise;
    let line = |name: &str, value: Option<f64>, chance: Option<f64>| {
        let [value, chance] = [value, chance]
            .map(|ratio| ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.4}")));
        [name.into(), value, chance]
    };
    [
        line("cv = stddev / mean", Some(figures.cv), Some(noise.cv)),
        line(
            "most / mean",
            Some(figures.max_over_mean),
            Some(noise.max_over_mean),
        ),
        line(
            "95th percentile / mean",
            Some(figures.p95_over_mean),
            Some(noise.p95_over_mean),
        ),
        line(
            "most / median",
            figures.max_over_median,
            noise.max_over_median,
        ),
    ]
}
