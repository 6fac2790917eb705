//! `draw node-counts`: how even each number of nodes is.

use hashroute::harness::skew::Setup;
use hashroute::plot::{self, CountPoint};

use super::args::CountsCommand;
use super::out;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::strategy::Choice;
use crate::{keys, nodes, units};

pub(super) fn run(args: &CountsCommand) -> Result<(), Failure> {
    out::check(&args.picture)?;
    let (choice, _) = Choice::read(&args.strategy, &args.nodes)?;
    let progress = Progress::start(args.picture.quiet, "reading keys");
    let keys = keys::read(&args.keys)?;
    progress.message("placing keys");
    let counts: Vec<_> = args.node_counts.0.iter().map(|&n| n as usize).collect();
    let first = args.node_counts.0.first().copied().unwrap_or(1);
    let setup = Setup {
        name: choice.way.name(),
        recipe: &choice,
        params: &choice.params,
        nodes: &nodes::counted(first),
        node_counts: &counts,
    };
    let skew = setup.analyse(&keys);
    let rows = skew
        .map_err(|error| choice.refusal(&error))?
        .node_counts
        .rows;
    // Of a number that the strategy refuses there is no row.
    for &count in &args.node_counts.0 {
        if rows.iter().all(|row| row.nodes != u64::from(count)) {
            choice.build(nodes::counted(count))?;
        }
    }
    drop(progress);
    let points: Vec<_> = rows.iter().map(CountPoint::from).collect();
    let (way, number) = (choice.way.name(), units::counted(keys.len() as u64, "key"));
    let what = format!("{way}, {number}, {}", keys::named(&args.keys)?);
    out::write(&plot::counts(&what, &points), &args.picture)
}
