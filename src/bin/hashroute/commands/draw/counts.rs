//! `draw node-counts`: how even each number of nodes is.

use hashroute::harness::{Placement, balance};
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
    let point = |count: &u32| {
        let router = choice.build(nodes::counted(*count))?;
        let placement = Placement::of(&*router, &keys);
        let figures = balance(choice.way.name(), &*router, &keys, &placement).figures;
        Ok(CountPoint {
            nodes: u64::from(*count),
            cv: figures.cv,
            noise_cv: figures.noise.cv,
            noise_cv_p99: figures.noise.cv_p99,
        })
    };
    let points: Vec<_> = args
        .node_counts
        .0
        .iter()
        .map(point)
        .collect::<Result<_, Failure>>()?;
    drop(progress);
    let (way, number) = (choice.way.name(), units::counted(keys.len() as u64, "key"));
    let what = format!("{way}, {number}, {}", keys::named(&args.keys)?);
    out::write(&plot::counts(&what, &points), &args.picture)
}
