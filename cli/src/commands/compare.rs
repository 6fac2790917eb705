//! `compare`: several strategies on the same keys and the same changes of the nodes.

use clap::Args;
use hashroute::registry::Scheme;
use hashroute::scheme;
use hashroute_harness::{Balance, Comparison, Figures, Measure, Remap, Row};

use crate::app::contest::{PEERS_SHARE, Setting, scenario};
use crate::app::figures::{
    cv, excess_share, ideal_share, max_over_mean, moved_share, noise_cv, noise_max_over_mean,
};
use crate::args::{ContestArgs, OutputArgs};
use crate::failure::Failure;
use crate::output::{Cell, Field, Fields, Report, Table};
use crate::units;

/// Compare strategies on the same keys and the same changes: balance, moved keys, cost
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
    report(&setting.compare(true, args.output.quiet))?
        .with_made_up(&setting.made_up)?
        .print(args.output.format)
}

fn report(comparison: &Comparison) -> Result<Report, Failure> {
    let table = Table::of(fields(comparison), &comparison.rows).tight();
    let mut report = Report::new(comparison, table.clone())?
        .with_text(scenario(comparison))
        .with_table(table);
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
    let refused = comparison.rows.iter().any(|row| row.refused.is_some());
    let legend = [PEERS_SHARE].into_iter().chain(LEGEND.lines());
    let legend = legend.chain(refused.then_some(REFUSED));
    Ok(report.with_text(legend).with_text(notes))
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

/// Builds the table of how even the nodes are by a measure other than keys.
fn measure_table(comparison: &Comparison, measure: Measure) -> Table {
    let mut fields = vec![strategy()];
    fields.extend([
        evenness("", cv(), measure),
        evenness("", noise_cv(), measure),
        evenness("", max_over_mean(), measure).titled("max/mean"),
        evenness("", noise_max_over_mean(), measure),
    ]);
    Table::of(fields, &comparison.rows)
}

/// Says which measure is most uneven with which strategies, if there is more than one measure.
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
        ([], _) => "No measure is uneven beyond chance and 1%.".into(),
        (some, []) => format!("Most uneven: {}.", some.join("; ")),
        (some, even) => format!(
            "Most uneven: {}. Even: {}.",
            some.join("; "),
            even.join(", ")
        ),
    })
}

/// Returns the columns of a comparison. The foot shows what an ideal router would give; it comes
/// from the first row in which all keys have a node.
fn fields(comparison: &Comparison) -> Vec<Field<'static, Row>> {
    let mut rows = comparison.rows.iter();
    let ideal = rows.find(|row| {
        let balance = row.balance.as_ref();
        balance.is_some_and(|balance| balance.unplaced == 0)
    });
    let balance = ideal.and_then(|row| row.balance.as_ref());
    let noise = balance.map(|balance| &balance.figures.noise);
    let keys = Measure::Keys;
    let mut fields = vec![
        strategy().with_foot(ideal.map(|_| Cell::text("ideal"))),
        Field::text("state", "peers\nshare", |row: &Row| {
            Cell::text(row.state.as_str())
        }),
        evenness("", cv(), keys).with_foot(noise.map(|noise| Cell::four(noise.cv))),
        evenness("", noise_cv(), keys).titled(""),
        evenness("", max_over_mean(), keys)
            .titled("max\n/mean")
            .with_foot(noise.map(|noise| Cell::ratio(noise.max_over_mean))),
        evenness("", noise_max_over_mean(), keys).titled(""),
    ];
    let titles = ["add\nmoved", "add\nexcess"];
    fields.extend(moves("add", titles, |row| row.add.as_ref(), ideal));
    let titles = ["remove\nmoved", "remove\nexcess"];
    fields.extend(moves("remove", titles, |row| row.remove.as_ref(), ideal));
    fields.push(Field::text("refused", "", |row: &Row| {
        Cell::optional(row.refused.as_deref())
    }));
    fields.extend(costs());
    for (prefix, measure) in [("bytes_", Measure::Bytes), ("requests_", Measure::Requests)] {
        let figures = [cv(), noise_cv(), max_over_mean(), noise_max_over_mean()];
        fields.extend(figures.map(|figure| evenness(prefix, figure, measure).titled("")));
    }
    fields
}

fn strategy() -> Field<'static, Row> {
    Field::text("strategy", "strategy", |row: &Row| {
        Cell::text(row.strategy.as_str())
    })
}

fn costs() -> Fields<'static, Row> {
    let route = Field::number("route_ns", "route\nns", |row: &Row| {
        Cell::number(row.route_ns, units::significant)
    })
    .minor(3)
    .apart();
    Fields::<Row>::new()
        .with([route])
        .number("batch_ns", "batch\nns", |row| {
            Cell::number(row.batch_ns, units::significant)
        })
        .minor(4)
        .number("build_ns", "build", |row| {
            Cell::number(row.build_ns, units::short_duration)
        })
        .minor(5)
        .number("change_ns", "change", |row| {
            Cell::number(row.change_ns, units::short_duration)
        })
        .minor(6)
        .number("heap_bytes", "heap", |row| {
            row.heap_bytes.map_or_else(Cell::missing, |bytes| {
                Cell::new(bytes, units::short_size(bytes as f64))
            })
        })
        .minor(7)
        .number("allocations_per_lookup", "alloc", |row| {
            Cell::number(row.allocations_per_lookup, units::significant)
        })
        .minor(8)
}

/// Reads a figure of one measure from a row.
fn evenness(
    prefix: &str,
    figure: Field<'static, Figures>,
    measure: Measure,
) -> Field<'static, Row> {
    let key = format!("{prefix}{}", figure.key());
    figure.within(key, move |row: &Row| {
        figures(row.balance.as_ref()?, measure)
    })
}

/// Returns the columns of one change. `moved` and `excess` are the titles of those that people see.
fn moves(
    which: &str,
    [moved, excess]: [&'static str; 2],
    part: fn(&Row) -> Option<&Remap>,
    ideal: Option<&Row>,
) -> [Field<'static, Row>; 4] {
    let least = ideal.map(|row| {
        let remap = part(row).filter(|remap| remap.ideal_share > 0.0);
        remap.map_or_else(Cell::missing, |remap| {
            Cell::text(units::percent(remap.ideal_share))
        })
    });
    let share = |field: Field<'static, Remap>| {
        let key = format!("{which}_{}", field.key());
        field.within(key, part)
    };
    [
        Field::number("", moved, move |row: &Row| match part(row) {
            Some(remap) => Cell::text(units::percent(remap.moved_share)),
            None if row.refused.is_some() => Cell::new((), "refused"),
            None => Cell::missing(),
        })
        .with_foot(least)
        .apart(),
        share(moved_share()).titled(""),
        share(ideal_share()).titled(""),
        share(excess_share()).titled(excess),
    ]
}

/// Notes the keys without a node; the figures of the row are about the others.
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
cv, max/mean: how uneven the nodes are: stddev / mean, and the most loaded / mean.
moved: share of all keys that moved; excess: share of all keys that need not have moved.
ideal: what an ideal router would give on these keys: cv and max/mean by chance alone, and the share that has to move.
route, batch: ns to hash and route a key, alone or 1024 at a time; alloc: allocations per lookup.
build, change: time to build the router, and to add or remove one node; heap: its memory.
Times are of this run: on a busy machine, run it again and see how far they stay.";
const REFUSED: &str = "refused: the strategy cannot make this change; the reason is below.";
