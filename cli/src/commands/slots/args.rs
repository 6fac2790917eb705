//! Options that several commands of `slots` share, and the options of the simulation.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::OutputArgs;

pub(super) const GOAL: &str = "Goal (NODE: an id, its first 4 or more characters, or host:port)";

#[derive(Debug, Default, Args)]
#[command(next_help_heading = GOAL)]
pub(crate) struct GoalArgs {
    /// A primary to give slots to: one of the table, or a new one, ID@HOST:PORT (repeatable)
    #[arg(long, value_name = "NODE[=W]")]
    pub(crate) add: Vec<String>,
    /// A primary to take all slots from (repeatable)
    #[arg(long, value_name = "NODE")]
    pub(crate) remove: Vec<String>,
    /// The weight of a primary [default: 1, or 0 if it has no slots] (repeatable)
    #[arg(long, value_name = "NODE=W")]
    pub(crate) weight: Vec<String>,
    /// Give primaries without slots weight 1, too
    #[arg(long)]
    pub(crate) even: bool,
}

/// Simulate a plan in memory, with clients whose slot maps are stale
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimulateCommand {
    /// The output of CLUSTER NODES or nodes.conf [default: three primaries, a fourth joins]
    #[arg(value_name = "TABLE")]
    pub(crate) table: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) goal: GoalArgs,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Half of the commands use the slot that is moving. Exit code 1: a key was lost, served twice or out
of reach.

Examples:
  hashroute slots simulate
  hashroute slots simulate --seed 7 --refresh 100 --format json
  hashroute slots simulate nodes.txt --remove 10.0.0.1:6379
  hashroute slots simulate --mistake keys-left";

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Simulation")]
pub(crate) struct WorldArgs {
    /// The number of keys; half of them are pairs with a hash tag
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(4..=10_000_000))]
    pub(crate) keys: u32,
    /// The number of clients, each with its own slot map
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) clients: u32,
    /// The number of client commands per command of the resharding
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) pace: u32,
    /// The number of redirections after which a client reloads its map [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) refresh: Option<u32>,
    /// The number of keys in one MIGRATE
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: u32,
    /// The seed; the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Make a mistake, to see what breaks
    #[arg(long, value_name = "WHAT")]
    pub(crate) mistake: Option<Mistake>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mistake {
    /// Give a slot away while it still has keys
    KeysLeft,
    /// Do not tell the target to import
    NoImporting,
    /// Tell the source about the new owner before the target
    SourceFirst,
}
