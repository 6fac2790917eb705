//! `draw node-counts`: how even the keys are for each number of nodes.

use hashroute_harness::plot::{self, CountPoint};
use hashroute_harness::skew::Diagnosis;

use super::args::CountsCommand;
use super::out;
use crate::app::keys::Source;
use crate::app::nodes;
use crate::app::strategy::Choice;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::units;

pub(super) fn run(args: &CountsCommand) -> Result<(), Failure> {
    out::check(&args.picture)?;
    let source = Source::of(&args.keys)?;
    let (choice, _) = Choice::read(&args.strategy, &args.nodes)?;
    let progress = Progress::start(args.picture.quiet, "reading keys");
    let keys = source.read()?;
    progress.message("placing keys");
    let counts = &args.node_counts;
    let first = nodes::counted(counts.numbers.first().copied().unwrap_or(1));
    let setup = choice.setup(&first);
    let diagnosis = Diagnosis::new(&setup).with_node_counts(&counts.numbers);
    let skew = diagnosis.analyse(&keys);
    let rows = skew
        .map_err(|error| choice.refusal(error))?
        .node_counts
        .rows;
    // A number of nodes that the strategy refuses has no row; building it gives the reason.
    for &count in &counts.numbers {
        if rows.iter().all(|row| row.nodes != count as u64) {
            choice.build(&nodes::counted(count))?;
        }
    }
    drop(progress);
    let points: Vec<_> = rows.iter().map(CountPoint::from).collect();
    let (way, number) = (choice.name(), units::counted(keys.len() as u64, "key"));
    let what = format!("{way}, {number}, {}", source.named());
    out::write(&plot::counts(&what, &points), &args.picture)
}
