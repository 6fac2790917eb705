//! `balance`: how evenly the keys are distributed over the nodes.

use clap::Args;
use hashroute_harness::stream::Counter;

use crate::app::balance::{Context, finish};
use crate::app::keys::{Counting, Source};
use crate::app::nodes;
use crate::app::strategy::Choice;
use crate::args::{KeyArgs, NodeArgs, OutputArgs, PartialArgs, StrategyArgs};
use crate::failure::Failure;
use crate::output::MadeUp;

/// Measure how evenly the keys are distributed over the nodes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BalanceArgs {
    #[command(flatten)]
    pub(crate) partial: PartialArgs,
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
Examples:
  hashroute balance --nodes a,b=2,c
  hashroute balance --strategy maglev --count 100 --csv keys.csv
  hashroute balance --strategy modulo --hash crc32 --template 'metric:{i}' --range 0..1000";

pub(crate) fn run(args: &BalanceArgs) -> Result<(), Failure> {
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    let source = Source::of(&args.keys)?;
    let router = choice.build(&nodes)?;
    let name = choice.name();
    let in_order = router.loads().is_some() && args.partial.partial.is_none();
    let counter = if in_order {
        Counter::in_order(&name, &*router)
    } else {
        Counter::new(&name, &*router)?
    };
    let counting = Counting {
        in_order,
        may_be_empty: args.partial.partial.is_some(),
        quiet: args.output.quiet,
    };
    let (counter, read) = source.count(&counter, counting)?;
    let mut tally = counter.into_tally();
    tally.add_unreadable(read.unreadable);
    if let Some(list) = read.source {
        tally.add_source(list);
    }
    let made_up = MadeUp {
        keys: source.made_up(),
        nodes: nodes::made_up(&args.nodes, args.strategy.spec.as_deref()),
    };
    let context = Context {
        made_up: Some(&made_up),
        choice: Some(&choice),
    };
    finish(&tally, &args.partial, &args.output, context)
}
