//! The report of `check`.

use hashroute_harness::{DumpSource, Measure};
use serde::Serialize;

use super::args::{CheckArgs, CheckFormat};
use super::compare::{Comparison, Difference, FigureChange, MAIN};
use super::findings::Findings;
use super::limits::{Check, number, shown};
use crate::failure::Failure;
use crate::output::{Cell, Fields, Report, Table, Tone};
use crate::units;

/// The most checks that people see; programs see all.
const SHOWN: usize = 50;
/// The most commands that people see.
const COMMANDS: usize = 3;

/// The answer for programs.
#[derive(Serialize)]
struct Answer<'a> {
    passed: bool,
    failed: usize,
    strategy: &'a str,
    hash: &'a str,
    /// The keys without a node, summed over all numbers of nodes.
    unplaced: u64,
    /// The number of lines that could not be read.
    #[serde(skip_serializing_if = "is_zero")]
    unreadable: u64,
    checks: &'a [Check],
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a DumpSource>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Builds the report of all checks.
pub(super) fn report(findings: &Findings, args: &CheckArgs) -> Result<Report, Failure> {
    let first = findings.balances.first();
    let failed = findings.failed();
    let answer = Answer {
        passed: failed == 0,
        failed,
        strategy: first.map_or("", |balance| &balance.strategy),
        hash: first.map_or("", |balance| &balance.hash),
        unplaced: findings
            .balances
            .iter()
            .map(|balance| balance.unplaced)
            .sum(),
        unreadable: findings.read.unreadable,
        checks: &findings.checks,
        baseline: findings.comparison.as_ref(),
        source: findings.read.source.as_ref(),
    };
    let all = table(findings.checks.iter());
    let report = Report::new(&answer, all)?;
    let wanted = |check: &&Check| failed == 0 || !check.passed;
    let shown: Vec<_> = findings.checks.iter().filter(wanted).collect();
    let report = match shown.as_slice() {
        [] => report,
        shown => report.with_table(table(shown.iter().copied().take(SHOWN))),
    };
    // The last line on standard error says how many failed; a document has no such line.
    let counted = args.output.format == CheckFormat::Markdown;
    let report = report.with_text(verdict(findings, shown.len(), answer.unplaced, counted));
    let report = with_commands(report, &shown);
    Ok(match &findings.comparison {
        Some(comparison) => with_comparison(report, comparison, args.all_figures),
        None => report,
    })
}

/// Adds the commands that show why checks failed.
fn with_commands(report: Report, shown: &[&Check]) -> Report {
    let mut commands: Vec<_> = Vec::new();
    for command in shown.iter().filter_map(|check| check.command.as_ref()) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let more = commands.len().saturating_sub(COMMANDS);
    commands.truncate(COMMANDS);
    if commands.is_empty() {
        return report;
    }
    let more = (more > 0).then(|| format!("{more} more (--format json has all)."));
    report
        .with_text(["To see why:"])
        .with_commands(commands)
        .with_text(more)
}

fn verdict(findings: &Findings, rows: usize, unplaced: u64, counted: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if rows > SHOWN {
        lines.push(format!(
            "Shown: {SHOWN} of {rows} (--format csv or json has all)."
        ));
    }
    if unplaced > 0 {
        lines.push(format!(
            "{} without a node: not counted.",
            units::counted(unplaced, "key")
        ));
    }
    lines.extend(units::unreadable(findings.read.unreadable));
    let all = findings.checks.len();
    lines.extend(match findings.failed() {
        _ if all == 0 => Some("No threshold was given.".into()),
        0 => Some(format!(
            "All hold: {}.",
            units::counted(all as u64, "check")
        )),
        failed => counted.then(|| format!("{failed} of {all} checks did not hold.")),
    });
    lines
}

fn table<'a>(checks: impl Iterator<Item = &'a Check> + Clone) -> Table {
    let title = |title, known: fn(&Check) -> bool| {
        if checks.clone().any(known) { title } else { "" }
    };
    let node = title("node", |check| check.node.is_some());
    let noise = title("by chance", |check| check.noise.is_some());
    let ideal = title("had to", |check| check.ideal.is_some());
    let fields = Fields::<Check>::new()
        .number("nodes", "nodes", |check| Cell::count(check.nodes as u64))
        .text("measure", "measure", |check| {
            Cell::text(check.measure.to_string())
        })
        .text("figure", "figure", |check| {
            Cell::text(check.figure.as_str())
        })
        .text("", node, |check| Cell::optional(check.node.as_deref()))
        .number("value", "value", |check| {
            Cell::new(check.value, shown(check).0)
        })
        .number("limit", "limit", |check| {
            Cell::new(
                check.limit,
                format!("{} {}", check.relation(), shown(check).1),
            )
        })
        .number("by_chance", "", |check| {
            Cell::number(check.by_chance, units::four)
        })
        .number("", noise, |check| Cell::number(check.noise, units::four))
        .minor(2)
        .number("", ideal, |check| Cell::number(check.ideal, units::four))
        .minor(2)
        .text("passed", "result", |check| {
            let (shown, tone) = if check.passed {
                ("ok", Tone::Good)
            } else {
                ("FAILED", Tone::Bad)
            };
            Cell::new(check.passed, shown).toned(tone)
        })
        .text("node", "", |check| Cell::optional(check.node.as_deref()))
        .number("noise", "", |check| Cell::number(check.noise, units::four))
        .number("ideal", "", |check| Cell::number(check.ideal, units::four))
        .text("command", "", |check| {
            Cell::optional(check.command.as_deref())
        });
    Table::of(fields, checks)
}

fn with_comparison(report: Report, comparison: &Comparison, all_figures: bool) -> Report {
    let mut lines = vec!["Since the baseline:".to_owned()];
    lines.extend(comparison.changes.iter().cloned());
    if let [_] = lines.as_slice() {
        lines.push("strategy, parameters, hash and keys did not change".into());
    }
    lines.extend(comparison.results.iter().flat_map(moves));
    let missing = comparison.missing.iter();
    lines.extend(missing.map(|nodes| format!("{nodes} nodes: the baseline has no result")));
    let figures = comparison.results.iter().flat_map(|one| &one.figures);
    let (all, changed) = figures.fold((0, 0), |(all, changed), figure| {
        (all + 1, changed + usize::from(figure.is_real()))
    });
    let report = report.with_text(lines);
    if changed == 0 {
        return report.with_text(["No figure changed."]);
    }
    let rows: Vec<_> = changed_rows(comparison, all_figures).collect();
    let shown = rows.len().min(SHOWN);
    let more = match changed - shown {
        0 => String::new(),
        _ if all_figures => format!(" Shown: {shown} of {changed} (--format json has all)."),
        more => format!(" {more} more changed (--all-figures shows them)."),
    };
    let said = format!("{} of {all} figures did not change.{more}", all - changed);
    let report = match shown {
        0 => report,
        _ => report.with_table(differences(rows)),
    };
    report.with_text([said])
}

/// Returns the rank of a measure among the others.
fn order(measure: Measure) -> u8 {
    match measure {
        Measure::Keys => 0,
        Measure::Bytes => 1,
        _ => 2,
    }
}

/// Returns the figures that changed: the main ones in their order, or all.
fn changed_rows(comparison: &Comparison, all: bool) -> impl Iterator<Item = Changed<'_>> {
    comparison.results.iter().flat_map(move |result| {
        let rank = |change: &FigureChange| MAIN.iter().position(|name| *name == change.figure);
        let changed = result.figures.iter().filter(|change| change.is_real());
        let mut changed: Vec<_> = changed
            .filter(|change| all || rank(change).is_some())
            .collect();
        // Measures stay in their order.
        changed.sort_by_key(|change| (order(change.measure), rank(change).unwrap_or(MAIN.len())));
        changed.into_iter().map(|change| (result.nodes, change))
    })
}

fn moves(result: &Difference) -> Vec<String> {
    let name = units::counted(result.nodes as u64, "node");
    let mut lines = Vec::new();
    if !result.changes.is_empty() {
        lines.push(format!("{name}: {}", result.changes.join(", ")));
    }
    lines.extend(result.moved.as_ref().map(|moved| {
        format!(
            "{name}: {} of {} moved ({}; {} had to)",
            units::count(moved.moved),
            units::counted(moved.keys, "key"),
            units::percent(moved.moved_share),
            units::percent(moved.ideal_share)
        )
    }));
    let unknown = result.moved_unknown.as_ref();
    lines.extend(
        unknown.map(|reason| format!("{name}: the number of moved keys is unknown: {reason}")),
    );
    lines
}

impl FigureChange {
    fn is_real(&self) -> bool {
        self.before.to_bits() != self.after.to_bits()
    }
}

/// A figure that changed, with the number of nodes.
type Changed<'a> = (usize, &'a FigureChange);

/// Builds the table of figures that changed.
fn differences(rows: Vec<Changed<'_>>) -> Table {
    let shown = |change: &FigureChange, value: f64| match &*change.figure {
        "p_value" => units::chance(value),
        _ => number(value),
    };
    let fields = Fields::<Changed>::new()
        .number("nodes", "nodes", |row| Cell::count(row.0 as u64))
        .text("measure", "measure", |row| {
            Cell::text(row.1.measure.to_string())
        })
        .text("figure", "figure", |row| Cell::text(row.1.figure.as_str()))
        .number("before", "before", |row| {
            Cell::new(row.1.before, shown(row.1, row.1.before))
        })
        .number("after", "after", |row| {
            Cell::new(row.1.after, shown(row.1, row.1.after))
        })
        .number("difference", "difference", |row| {
            let difference = row.1.difference;
            let text = match &*row.1.figure {
                // The difference of two probabilities says nothing.
                "p_value" => "-".into(),
                _ if difference > 0.0 => format!("+{}", number(difference)),
                _ => number(difference),
            };
            Cell::new(difference, text)
        })
        .minor(1);
    Table::of(fields, rows.into_iter().take(SHOWN))
}
