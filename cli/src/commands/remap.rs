//! `remap`: the keys that move when the nodes change.

use clap::Args;
use hashroute_harness::{KeyFlow, Remap};

use crate::app::keys::Source;
use crate::app::lister::Lister;
use crate::app::moves::{self, Moves, Verdict};
use crate::app::nodes;
use crate::app::ranges::node;
use crate::app::setup::SetUp;
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
    /// Print each key that moves instead: the key, the node before and the node after
    #[arg(long, help_heading = "Output")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Changes are applied in the order in which they are typed.

Examples:
  hashroute remap --nodes a,b,c --add d=2
  hashroute remap --count 10 --reweight node-3=0 --remove node-4
  hashroute remap --nodes-file now.json --to-nodes-file next.json --keys keys.txt
  hashroute remap --nodes a,b,c --to-nodes a,c --keys keys.txt --list > moved.tsv";

pub(crate) fn run(args: &RemapArgs) -> Result<(), Failure> {
    if args.list {
        return list(args);
    }
    let moves = moves::measure(&args.moves, args.output.quiet)?;
    let remap = &moves.remap;
    let report = report(&moves)?;
    let report = match remap.unplaced {
        0 => report,
        keys => {
            let after = &moves.after;
            let weighted = after.router.nodes().weighted() > 0;
            report.with_text([after.choice.unplaced(keys, weighted)])
        }
    };
    report
        .with_labels(&moves.after.choice.labels())?
        .with_made_up(&moves.made_up)?
        .print(args.output.format)
}

/// Prints the keys that move, and says on standard error how many there are.
fn list(args: &RemapArgs) -> Result<(), Failure> {
    let MoveArgs {
        target,
        nodes: members,
        strategy,
        keys,
    } = &args.moves;
    moves::check_keys(keys)?;
    let before = SetUp::read(strategy, members)?;
    let (after, _) = before.with(target)?;
    nodes::tell_made_up(members, strategy.spec.as_deref());
    let sides = [&before, &after];
    let mut list = Lister::new(args.output.format, false);
    let counted = moves::count(&Source::of(keys)?, sides, Some(&mut list))?;
    moves::tell(&counted.diff, sides, args.output.quiet);
    Ok(())
}

fn report(moves: &Moves) -> Result<Report, Failure> {
    let remap = &moves.remap;
    let report = Report::new(remap, flow_table(remap, &remap.flows))?;
    let verdict = Verdict::of([&moves.before, &moves.after]);
    let answer = verdict.sentence(remap.moved, remap.keys);
    let report = report.with_text([answer, format!("Change: {}.", moves.words)]);
    let report = report.with_table(figure_table(remap));
    let largest = &remap.flows[..remap.flows.len().min(SHOWN)];
    let report = match remap.flows.len() {
        0 => report,
        all if all > SHOWN => report
            .with_text([format!(
                "The {SHOWN} largest of {all} flows (--format csv or json has all):"
            )])
            .with_table(flow_table(remap, largest)),
        _ => report.with_table(flow_table(remap, largest)),
    };
    Ok(report.with_text(excess(remap).lines()))
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

fn excess(remap: &Remap) -> String {
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
