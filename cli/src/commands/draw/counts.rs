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
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    let source = Source::of(&args.keys)?;
    source.tell_made_up();
    if args.node_counts.is_none() {
        nodes::tell_made_up(&args.nodes, args.strategy.spec.as_deref());
    }
    let progress = Progress::start(args.picture.quiet, "reading keys");
    let keys = source.read()?;
    progress.message("placing keys");
    let numbers: &[usize] = args
        .node_counts
        .as_ref()
        .map_or(&[], |counts| &counts.numbers);
    let setup = match numbers.first() {
        Some(&first) => choice.setup(&nodes::counted(first)),
        None => choice.setup(&nodes),
    };
    let diagnosis = Diagnosis::new(&setup).with_node_counts(numbers);
    let skew = diagnosis.analyse(&keys);
    let skew = skew.map_err(|error| choice.refusal(error))?;
    let (rows, hash) = (skew.node_counts.rows, skew.hash);
    // A number of nodes that the strategy refuses has no row; building it gives the reason.
    for &count in numbers {
        if rows.iter().all(|row| row.nodes != count as u64) {
            choice.build(&nodes::counted(count))?;
        }
    }
    drop(progress);
    if rows.is_empty() {
        return Err(Failure::input(
            "no numbers of nodes near this one can be tried: expected --node-counts, such as 2..=128",
        ));
    }
    let points: Vec<_> = rows.iter().map(CountPoint::from).collect();
    let (way, number) = (choice.name(), units::counted(keys.len() as u64, "key"));
    let what = format!("{way}: {number} from {}, hashed by {hash}.", source.named());
    out::write(&plot::counts(&what, &points), &args.picture)
}
