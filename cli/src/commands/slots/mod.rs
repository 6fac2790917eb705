//! `slots`: the hash slots of Redis Cluster. Each command below it has its own file.

mod check;
mod goal;
mod key;
mod loads;
mod measure;
mod plan;
mod planned;
mod script;
mod shell;
mod show;
mod simulate;
mod table;
use clap::{Args, Subcommand};

use self::check::CheckCommand;
use self::key::KeyCommand;
use self::plan::PlanCommand;
use self::show::ShowCommand;
use self::simulate::SimulateCommand;
use crate::failure::Failure;

/// Work with the slots of Redis Cluster: keys, tables, plans, a simulated resharding
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SlotsArgs {
    #[command(subcommand)]
    command: SlotsCommand,
}

const EXAMPLES: &str = "\
Examples:
  hashroute slots key '{user1000}.following'
  redis-cli cluster nodes | hashroute slots show -
  hashroute slots plan nodes.txt --add 10.0.0.4:6379 --budget 100 --commands sh > move.sh
  redis-cli --hotkeys | hashroute slots check --hotkeys -

Other commands read a table, too: they show real keys on the nodes of a real cluster.
  hashroute balance --dialect redis-cluster --config nodes.txt --scan scan.txt
  hashroute skew    --dialect redis-cluster --config nodes.txt --scan scan.txt
  hashroute check   --dialect redis-cluster --config nodes.txt --scan scan.txt --max-over-mean 1.2";

#[derive(Debug, Subcommand)]
enum SlotsCommand {
    Key(KeyCommand),
    Check(CheckCommand),
    Show(ShowCommand),
    Plan(PlanCommand),
    Simulate(SimulateCommand),
}

pub(crate) fn run(args: &SlotsArgs) -> Result<(), Failure> {
    match &args.command {
        SlotsCommand::Key(args) => key::run(args),
        SlotsCommand::Check(args) => check::run(args),
        SlotsCommand::Show(args) => show::run(args),
        SlotsCommand::Plan(args) => plan::run(args),
        SlotsCommand::Simulate(args) => simulate::run(args),
    }
}
