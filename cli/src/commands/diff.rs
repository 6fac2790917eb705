//! `diff`: what moves between two set-ups.

use clap::Args;
use hashroute::{Basis, Diff, Flow, MovedRange, Router, diff, diff_keys};
use serde_json::{Value, json};

use crate::app::keys::Source;
use crate::app::ranges::{hex, node, position};
use crate::app::setup::SetUp;
use crate::args::{KeyArgs, NodeArgs, OutputArgs, StrategyArgs, TargetArgs};
use crate::failure::Failure;
use crate::output::{Cell, Column, Fields, Report, Table};
use crate::progress::Progress;
use crate::units;

/// The most rows that people see.
const SHOWN: usize = 20;

/// Show what moves between two set-ups, which may differ in nodes, strategy and hash
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// List the hash ranges that move instead of the flows
    #[arg(long, help_heading = "Output")]
    pub(crate) ranges: bool,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Exact between ring and maglev, and between slots and modulo, with one hash function. Otherwise
estimated from a sample of keys, or counted for the keys given. What no --to option changes stays.

Examples:
  hashroute diff --nodes a,b,c --add d=2
  hashroute diff --count 10 --remove node-3 --ranges --format csv
  hashroute diff --dialect twemproxy --nodes-file now.csv --to-strategy ring --keys keys.txt";

pub(crate) fn run(args: &DiffArgs) -> Result<(), Failure> {
    let before = SetUp::read(&args.strategy, &args.nodes)?;
    let (after, words) = before.with(&args.target)?;
    let diff = answer(args, &*before.router, &*after.router)?;
    report(&diff, &words, args.ranges)?.print(args.output.format)
}

/// Compares two routers: on the keys that the options give, or else by their structure.
fn answer(args: &DiffArgs, before: &dyn Router, after: &dyn Router) -> Result<Diff, Failure> {
    let progress = Progress::start(args.output.quiet, "comparing");
    let diff = if args.keys.is_given() {
        diff_keys(before, after, Source::of(&args.keys)?.read()?.iter())?
    } else {
        diff(before, after)?
    };
    drop(progress);
    if args.ranges && diff.basis() != Basis::Hashes {
        return Err(Failure::input(
            "--ranges: these set-ups have no hash ranges to compare: expected ring and maglev, or slots and modulo, with one hash function and without keys",
        ));
    }
    Ok(diff)
}

fn report(diff: &Diff, words: &str, ranges: bool) -> Result<Report, Failure> {
    let main = |shown: usize| {
        if ranges {
            range_table(diff, shown)
        } else {
            flow_table(diff, shown)
        }
    };
    let (all, what) = if ranges {
        (diff.ranges().len(), "first")
    } else {
        (diff.flows().len(), "largest")
    };
    let report = Report::new(&json_of(diff, ranges), main(usize::MAX))?
        .with_text([words])
        .with_table(figure_table(diff))
        .with_text([basis(diff)]);
    Ok(match all {
        0 => report,
        all if all > SHOWN => report
            .with_text([format!(
                "The {what} {SHOWN} of {all} (--format csv or json has all):"
            )])
            .with_table(main(SHOWN)),
        _ => report.with_table(main(SHOWN)),
    })
}

/// Says what the shares refer to, and how exact they are.
fn basis(diff: &Diff) -> String {
    match diff.basis() {
        Basis::Hashes => {
            let count = units::counted(diff.ranges().len() as u64, "range");
            let of = match diff.modulus() {
                None => "of the hash space".into(),
                Some(modulus) => format!("of the hash mod {}", units::count(modulus)),
            };
            format!("Exact: {count} {of}.")
        }
        Basis::Sample => format!(
            "Estimated from {} keys: each share is within ±{} or better, 99 times in 100.",
            units::count(keys_of(diff)),
            units::percent(diff.error(0.5))
        ),
        _ => format!("Exact for these {} keys.", units::count(keys_of(diff))),
    }
}

fn keys_of(diff: &Diff) -> u64 {
    u64::try_from(diff.total()).unwrap_or(u64::MAX)
}

fn figure_table(diff: &Diff) -> Table {
    let line = |name: &str, share: f64| vec![Cell::text(name), Cell::text(units::percent(share))];
    let columns = [Column::text("", "figure"), Column::number("", "of all")];
    Table::new(columns).with_rows([line("moved", diff.moved()), line("kept", diff.kept())])
}

fn flow_table(diff: &Diff, shown: usize) -> Table {
    let sampled = diff.basis() == Basis::Sample;
    let keyed = diff.basis() != Basis::Hashes;
    let fields = Fields::<Flow>::new()
        .text("from", "from", |flow| node(flow.from))
        .text("to", "to", |flow| node(flow.to))
        .number("share", "of all", |flow| {
            Cell::share(diff.share(flow.count))
        })
        .number("error", if sampled { "±" } else { "" }, |flow| {
            Cell::share(diff.error(diff.share(flow.count)))
        })
        .minor(2)
        .number("keys", if keyed { "keys" } else { "" }, |flow| {
            count(diff, flow).map_or_else(Cell::missing, Cell::count)
        });
    Table::of(fields, diff.flows().take(shown))
}

/// Returns the number of keys of a flow, if keys were counted.
fn count(diff: &Diff, flow: &Flow) -> Option<u64> {
    let keys = u64::try_from(flow.count).ok();
    keys.filter(|_| diff.basis() != Basis::Hashes)
}

fn range_table(diff: &Diff, shown: usize) -> Table {
    let modulus = diff.modulus();
    let fields = Fields::<MovedRange>::new()
        .number("first", "first", |range| position(range.first, modulus))
        .number("last", "last", |range| position(range.last, modulus))
        .text("from", "from", |range| node(range.from))
        .text("to", "to", |range| node(range.to));
    Table::of(fields, diff.ranges().take(shown))
}

fn json_of(diff: &Diff, ranges: bool) -> Value {
    let flow = |flow: Flow| {
        let share = diff.share(flow.count);
        json!({ "from": flow.from, "to": flow.to, "share": share, "error": diff.error(share), "keys": count(diff, &flow) })
    };
    let mut value = json!({
        "basis": match diff.basis() {
            Basis::Hashes => "hashes",
            Basis::Sample => "sample",
            _ => "keys",
        },
        "keys": (diff.basis() != Basis::Hashes).then(|| keys_of(diff)),
        "moved_share": diff.moved(),
        "moved_error": diff.error(diff.moved()),
        "kept_share": diff.kept(),
        "modulus": diff.modulus(),
        "flows": diff.flows().map(flow).collect::<Vec<_>>(),
    });
    if ranges {
        let ranges = diff.ranges().map(|range| {
            json!({
                "first": range.first,
                "last": range.last,
                "first_hex": hex(range.first),
                "last_hex": hex(range.last),
                "from": range.from,
                "to": range.to,
            })
        });
        value["ranges"] = ranges.collect();
    }
    value
}
