//! Options that several commands of `slots` take, and those of the simulation.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::OutputArgs;

pub(super) const GOAL: &str = "Goal (NODE: an id, its first 4 or more characters, or host:port)";

#[derive(Debug, Default, Args)]
#[command(next_help_heading = GOAL)]
pub(crate) struct GoalArgs {
    /// A primary that is to have a share: of the table, or a new one, ID@HOST:PORT (repeatable)
    #[arg(long, value_name = "NODE[=W]")]
    pub(crate) add: Vec<String>,
    /// A primary that gives all its slots away (repeatable)
    #[arg(long, value_name = "NODE")]
    pub(crate) remove: Vec<String>,
    /// A primary that gets another share; unsaid it is 1, or 0 without slots (repeatable)
    #[arg(long, value_name = "NODE=W")]
    pub(crate) weight: Vec<String>,
    /// Weight 1 for primaries without slots too
    #[arg(long)]
    pub(crate) even: bool,
}

/// Carry a plan out in memory, among clients whose maps are stale
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimulateCommand {
    /// What a server printed [default: three primaries, node-0 to node-2, and a fourth joins]
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
One command in two is for a slot that is on the move just then. Exit code 1: a key was lost,
served twice or out of reach.

Examples:
  hashroute slots simulate
  hashroute slots simulate --seed 7 --refresh 100 --format json
  hashroute slots simulate nodes.txt --remove 10.0.0.1:6379
  hashroute slots simulate --mistake keys-left";

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Simulation")]
pub(crate) struct WorldArgs {
    /// Keys, half of them in pairs under a tag
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(4..=10_000_000))]
    pub(crate) keys: u32,
    /// Clients, each with a map of its own
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) clients: u32,
    /// How often clients send for each command of the resharding
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) pace: u32,
    /// A client asks for the table after so many redirections [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) refresh: Option<u32>,
    /// Keys in one MIGRATE
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: u32,
    /// The same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Do it wrong, to see what breaks
    #[arg(long, value_name = "WHAT")]
    pub(crate) mistake: Option<Mistake>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mistake {
    /// The slot is given away while keys are left in it
    KeysLeft,
    /// The target is not told to import
    NoImporting,
    /// The source is told of the new owner before the target
    SourceFirst,
}
