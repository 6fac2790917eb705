//! `remap`: the keys that move when the nodes change.

use clap::Args;
use hashroute::Change;
use hashroute_harness::{self, KeyFlow, Remap};

use crate::app::moves::measure;
use crate::app::ranges::node;
use crate::args::{MoveArgs, OutputArgs};
use crate::failure::Failure;
use crate::output::{Cell, Column, Fields, Report, Table};
use crate::units;

/// The most flows that people see.
const SHOWN: usize = 20;

/// Measure which keys move when nodes join, leave or change weight
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RemapArgs {
    #[command(flatten)]
    pub(crate) moves: MoveArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Changes are applied in the order in which they are typed.

Examples:
  hashroute remap --nodes a,b,c --add d=2
  hashroute remap --count 10 --reweight node-3=0 --remove node-4
  hashroute remap --nodes-file now.json --to-nodes-file next.json --keys keys.txt";

pub(crate) fn run(args: &RemapArgs) -> Result<(), Failure> {
    let moves = measure(&args.moves, args.output.quiet)?;
    let remap = &moves.remap;
    let report = report(remap, &moves.changes)?;
    let report = match remap.unplaced {
        0 => report,
        keys => report.with_text([moves.choice.unplaced(keys, moves.any_weight())]),
    };
    report.print(args.output.format)
}

fn report(remap: &Remap, changes: &[Change]) -> Result<Report, Failure> {
    let report = Report::new(remap, flow_table(remap, &remap.flows))?;
    let changes: Vec<_> = changes.iter().map(ToString::to_string).collect();
    let changes = if changes.is_empty() {
        "no change".into()
    } else {
        changes.join(", ")
    };
    let report = report.with_text([changes]).with_table(figure_table(remap));
    let shown = &remap.flows[..remap.flows.len().min(SHOWN)];
    let report = match remap.flows.len() {
        0 => report,
        all if all > SHOWN => report
            .with_text([format!(
                "The {SHOWN} largest of {all} flows (--format csv or json has all):"
            )])
            .with_table(flow_table(remap, shown)),
        _ => report.with_table(flow_table(remap, shown)),
    };
    Ok(report.with_text(verdict(remap).lines()))
}

fn figure_table(remap: &Remap) -> Table {
    let line = |name: &str, keys: String, share: f64| {
        [name.to_owned(), keys, units::percent(share)]
            .map(Cell::text)
            .into()
    };
    let (none, size) = (String::new, |bytes: u64| units::size(bytes as f64));
    let mut lines: Vec<Vec<Cell>> = vec![
        line("all", units::count(remap.keys), 1.0),
        line("moved", units::count(remap.moved), remap.moved_share),
        line("had to move", none(), remap.ideal_share),
        line("by chance, ±", none(), remap.noise_share),
        line("excess", units::count(remap.excess), remap.excess_share),
    ];
    if let Some(bytes) = &remap.bytes {
        lines.push(line("all bytes", size(bytes.total), 1.0));
        lines.push(line("bytes moved", size(bytes.moved), bytes.moved_share));
    }
    let [keys, share] = ["keys", "of all"].map(|title| Column::number("", title));
    Table::new([Column::text("", "figure"), keys, share]).with_rows(lines)
}

fn flow_table(remap: &Remap, flows: &[KeyFlow]) -> Table {
    let bytes = if remap.bytes.is_some() { "bytes" } else { "" };
    let fields = Fields::<KeyFlow>::new()
        .text("from", "from", |flow| node(flow.from.as_deref()))
        .text("to", "to", |flow| node(flow.to.as_deref()))
        .number("keys", "keys", |flow| Cell::count(flow.keys))
        .number("", "of all", |flow| {
            Cell::share(flow.keys as f64 / remap.keys as f64)
        })
        .minor(1)
        .number("bytes", bytes, |flow| {
            flow.bytes.map_or_else(Cell::missing, Cell::bytes)
        })
        .number("share", "", |flow| {
            Cell::share(flow.keys as f64 / remap.keys as f64)
        });
    Table::of(fields, flows)
}

fn verdict(remap: &Remap) -> String {
    let vain = match remap.excess {
        0 => "No excess move.".into(),
        keys => format!(
            "{} excess moves, between nodes that the change does not concern.",
            units::count(keys)
        ),
    };
    let called_for = remap.moved_share - remap.excess_share;
    // Chance alone exceeds three standard errors 3 times in 1,000.
    if (called_for - remap.ideal_share).abs() <= 3.0 * remap.noise_share {
        return vain;
    }
    let shares = [called_for, remap.ideal_share].map(units::percent);
    format!(
        "{vain}\nWithout these, {} of all keys moved; by the weights, it would be {}. The difference is more than chance: the shares of the nodes are uneven.",
        shares[0], shares[1]
    )
}
