//! `compare`: every strategy on the same keys and the same change of nodes.

use clap::Args;
use hashroute::registry::Scheme;
use hashroute::scheme;
use hashroute_harness::{Balance, Comparison, Figures, Measure, Remap, Row};

use crate::app::contest::{Setting, scenario};
use crate::args::{ContestArgs, OutputArgs};
use crate::failure::Failure;
use crate::output::{Cell, Column, Report, Table};
use crate::units;

/// Measure every strategy on the same keys and the same change of nodes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) contest: ContestArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  hashroute compare
  hashroute compare --strategy ring,maglev --count 100
  hashroute compare --nodes a,b,c --add d=2 --remove c --keys keys.txt
  hashroute compare --range 0..100000 --format json";

pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let setting = Setting::read(&args.contest, args.output.quiet)?;
    report(&setting.compare(true, args.output.quiet))?.print(args.output.format)
}

fn report(comparison: &Comparison) -> Result<Report, Failure> {
    let table = Table::new(COLUMNS)
        .tight()
        .with_rows(comparison.rows.iter().map(row));
    let mut shown = table.clone();
    comparison
        .rows
        .iter()
        .find_map(chance)
        .into_iter()
        .for_each(|row| shown.push(row));
    let mut report = Report::new(comparison, table)?
        .with_text(scenario(comparison))
        .with_table(shown);
    for measure in [Measure::Bytes, Measure::Requests] {
        if balances(comparison).any(|balance| figures(balance, measure).is_some()) {
            report = report
                .with_text([format!("By {measure}:")])
                .with_table(measure_table(comparison, measure));
        }
    }
    let refusals: Vec<_> = comparison.rows.iter().filter_map(refusal).collect();
    let unplaced = comparison.rows.iter().filter_map(unplaced);
    let notes = refusals
        .into_iter()
        .chain(unplaced)
        .chain(matter(comparison));
    Ok(report.with_text(LEGEND.lines()).with_text(notes))
}

fn balances(comparison: &Comparison) -> impl Iterator<Item = &Balance> {
    comparison
        .rows
        .iter()
        .filter_map(|row| row.balance.as_ref())
}

fn figures(balance: &Balance, measure: Measure) -> Option<&Figures> {
    match measure {
        Measure::Bytes => balance.bytes.as_ref(),
        Measure::Requests => balance.requests.as_ref(),
        _ => Some(&balance.figures),
    }
}

/// How even the nodes are by a measure other than keys.
fn measure_table(comparison: &Comparison, measure: Measure) -> Table {
    let table = Table::new([
        Column::text("", "strategy"),
        Column::number("", "cv"),
        Column::number("", "by chance"),
        Column::number("", "max/mean"),
        Column::number("", "by chance"),
    ]);
    table.with_rows(comparison.rows.iter().map(|row| {
        let mut cells = vec![Cell::text(row.strategy.as_str())];
        cells.extend(evenness(row, measure));
        cells
    }))
}

/// Which measure is the most uneven, and with which strategies, when there are several.
fn matter(comparison: &Comparison) -> Option<String> {
    let keys_alone = |balance: &Balance| balance.bytes.is_none() && balance.requests.is_none();
    if balances(comparison).all(keys_alone) {
        return None;
    }
    let with = |matter: Option<Measure>| {
        let alike = balances(comparison).filter(|balance| balance.verdict.matter == matter);
        alike.map(|balance| &*balance.strategy).collect::<Vec<_>>()
    };
    let found = [Measure::Bytes, Measure::Requests, Measure::Keys].map(|measure| {
        let names = with(Some(measure));
        (!names.is_empty()).then(|| format!("{measure} with {}", names.join(", ")))
    });
    let uneven: Vec<_> = found.into_iter().flatten().collect();
    Some(match (uneven.as_slice(), with(None).as_slice()) {
        ([], _) => "Nothing is uneven beyond chance and 1%.".into(),
        (some, []) => format!("Most uneven: {}.", some.join("; ")),
        (some, even) => format!(
            "Most uneven: {}. Even: {}.",
            some.join("; "),
            even.join(", ")
        ),
    })
}

const COLUMNS: [Column; 29] = [
    Column::text("strategy", "strategy"),
    Column::text("state", "peers\nshare"),
    Column::number("cv", "cv"),
    Column::number("noise_cv", ""),
    Column::number("max_over_mean", "max\n/mean"),
    Column::number("noise_max_over_mean", ""),
    Column::number("", "add\nmoved").apart(),
    Column::number("add_moved_share", ""),
    Column::number("add_ideal_share", ""),
    Column::number("add_excess_share", "add\nexcess"),
    Column::number("", "remove\nmoved").apart(),
    Column::number("remove_moved_share", ""),
    Column::number("remove_ideal_share", ""),
    Column::number("remove_excess_share", "remove\nexcess"),
    Column::text("refused", ""),
    Column::number("route_ns", "route\nns").apart(),
    Column::number("batch_ns", "batch\nns"),
    Column::number("build_ns", "build"),
    Column::number("change_ns", "change"),
    Column::number("heap_bytes", "heap"),
    Column::number("allocations_per_lookup", "alloc"),
    Column::number("bytes_cv", ""),
    Column::number("bytes_noise_cv", ""),
    Column::number("bytes_max_over_mean", ""),
    Column::number("bytes_noise_max_over_mean", ""),
    Column::number("requests_cv", ""),
    Column::number("requests_noise_cv", ""),
    Column::number("requests_max_over_mean", ""),
    Column::number("requests_noise_max_over_mean", ""),
];

fn row(row: &Row) -> Vec<Cell> {
    let mut cells = vec![
        Cell::text(row.strategy.as_str()),
        Cell::text(row.state.as_str()),
    ];
    cells.extend(evenness(row, Measure::Keys));
    cells.extend(moves(row.add.as_ref(), row));
    cells.extend(moves(row.remove.as_ref(), row));
    cells.push(Cell::optional(row.refused.as_deref()));
    cells.extend([row.route_ns, row.batch_ns].map(|ns| Cell::number(ns, units::significant)));
    cells.extend([row.build_ns, row.change_ns].map(|ns| Cell::number(ns, units::short_duration)));
    cells.push(row.heap_bytes.map_or_else(Cell::missing, |bytes| {
        Cell::new(bytes, units::short_size(bytes as f64))
    }));
    cells.push(Cell::number(row.allocations_per_lookup, units::significant));
    cells.extend(
        [Measure::Bytes, Measure::Requests]
            .map(|measure| evenness(row, measure))
            .concat(),
    );
    cells
}

fn evenness(row: &Row, measure: Measure) -> [Cell; 4] {
    let balance = row.balance.as_ref();
    let figures = balance.and_then(|balance| figures(balance, measure));
    let cell = |figure: fn(&Figures) -> f64, shown: fn(f64) -> String| {
        Cell::number(figures.map(figure), shown)
    };
    [
        cell(|figures| figures.cv, |cv| format!("{cv:.4}")),
        cell(|figures| figures.noise.cv, |cv| format!("{cv:.4}")),
        cell(|figures| figures.max_over_mean, units::ratio),
        cell(|figures| figures.noise.max_over_mean, units::ratio),
    ]
}

fn moves(remap: Option<&Remap>, row: &Row) -> [Cell; 4] {
    let Some(remap) = remap else {
        let shown = if row.refused.is_some() {
            "refused"
        } else {
            "-"
        };
        return [
            Cell::new((), shown),
            Cell::missing(),
            Cell::missing(),
            Cell::missing(),
        ];
    };
    let of_ideal = remap.moved_share / remap.ideal_share;
    [
        Cell::text(if of_ideal.is_finite() {
            units::ratio(of_ideal)
        } else {
            "-".into()
        }),
        Cell::new(remap.moved_share, ""),
        Cell::new(remap.ideal_share, ""),
        Cell::new(remap.excess_share, units::percent(remap.excess_share)),
    ]
}

/// The row of an ideal router, from any row with all keys assigned.
fn chance(row: &Row) -> Option<Vec<Cell>> {
    let placed = row.balance.as_ref().filter(|balance| balance.unplaced == 0);
    let noise = &placed?.figures.noise;
    let spread = |remap: Option<&Remap>| {
        let remap = remap.filter(|remap| remap.ideal_share > 0.0);
        remap.map_or_else(Cell::missing, |remap| {
            Cell::text(format!("±{:.3}", remap.noise_share / remap.ideal_share))
        })
    };
    let mut cells: Vec<_> = COLUMNS.iter().map(|_| Cell::text("")).collect();
    cells[0] = Cell::text("by chance");
    cells[2] = Cell::text(format!("{:.4}", noise.cv));
    cells[4] = Cell::text(format!("{:.3}", noise.max_over_mean));
    cells[6] = spread(row.add.as_ref());
    cells[10] = spread(row.remove.as_ref());
    Some(cells)
}

/// Keys that a row gave no node: its figures are of the others.
fn unplaced(row: &Row) -> Option<String> {
    let balance = row
        .balance
        .as_ref()
        .filter(|balance| balance.unplaced > 0)?;
    let weight = balance.nodes.iter().any(|node| node.weight > 0);
    let is_dialect = scheme(&row.strategy).is_ok_and(Scheme::is_dialect);
    let why = crate::app::strategy::unplaced(is_dialect, balance.unplaced, weight);
    Some(format!("{}: {why}", row.strategy))
}

fn refusal(row: &Row) -> Option<String> {
    row.refused
        .as_ref()
        .map(|reason| format!("{} refused: {reason}", row.strategy))
}

const LEGEND: &str = "\
peers share: what two processes must have in common to send every key to the same node.
cv, max/mean: how uneven the nodes are: stddev / mean, and the most loaded / mean.
moved: keys that moved, relative to the minimum possible; excess: moved in vain, of all keys.
by chance: what an ideal router would show on these keys. That much is noise, at any strategy.
route, batch: ns to hash and route a key, alone and 1024 at a time; alloc: allocations for it.
build, change: time to make the router, and for one node to join or leave it; heap: its memory.
refused: the strategy cannot do it; the reason stands below.";
