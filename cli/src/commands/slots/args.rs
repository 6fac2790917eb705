//! The options of `slots`, as they are typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::{KeyArgs, OutputArgs};

const GOAL: &str = "Goal (NODE: an id, its first 4 or more characters, or host:port)";

#[derive(Debug, Subcommand)]
pub(crate) enum SlotsCommand {
    /// Say which slot each key falls into, and the tag that decided it
    #[command(after_help = KEY)]
    Key(KeyCommand),
    /// Judge keys: requests that cross slots, tags and slots that hold too much
    #[command(after_help = CHECK)]
    Check(CheckCommand),
    /// Say who owns what: ranges, coverage, balance, epochs, slots on the move
    #[command(after_help = SHOW)]
    Show(ShowCommand),
    /// Say which slots have to move, in which order, by which commands
    #[command(after_help = PLAN)]
    Plan(PlanCommand),
    /// Carry a plan out in memory, among clients whose maps are stale
    #[command(after_help = SIMULATE)]
    Simulate(SimulateCommand),
}

#[derive(Debug, Args)]
pub(crate) struct KeyCommand {
    /// Keys, in place of those of a file or template
    #[arg(value_name = "KEY", conflicts_with_all = crate::args::KEY_SOURCES)]
    pub(crate) key: Vec<OsString>,
    /// Say the owner too, by what a server printed of its cluster
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckCommand {
    /// A key a line, or the keys of a request a line, tabs in between; - is standard input
    #[arg(value_name = "KEYS-FILE", required_unless_present = "csv")]
    pub(crate) file: Option<PathBuf>,
    /// A file whose first line has the columns key and, if known, size (bytes) and requests
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) csv: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// How many slots, tags and groups to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "as the options are named")]
#[command(next_help_heading = "Limits (beyond one of them, the exit code is 1)")]
pub(crate) struct Limits {
    /// The most groups whose keys may fall into several slots
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "csv")]
    pub(crate) max_cross: u64,
    /// The most that one tag may hold of the keys, bytes or requests
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = share)]
    pub(crate) max_tag: f64,
    /// The most that one slot may hold of the keys, bytes or requests
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = share)]
    pub(crate) max_slot: f64,
}

#[derive(Debug, Args)]
pub(crate) struct ShowCommand {
    #[command(flatten)]
    pub(crate) table: TableArg,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TableArg {
    /// What a server printed: CLUSTER NODES, SHARDS or SLOTS, or nodes.conf; - is standard input
    #[arg(value_name = "TABLE")]
    pub(crate) file: PathBuf,
}

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

#[derive(Debug, Args)]
pub(crate) struct PlanCommand {
    #[command(flatten)]
    pub(crate) table: TableArg,
    #[command(flatten)]
    pub(crate) goal: GoalArgs,
    /// Only what is on the move already: other plans begin when it is done
    #[arg(long, help_heading = GOAL, conflicts_with_all = ["add", "remove", "weight", "even", "loads"])]
    pub(crate) finish: bool,
    #[command(flatten)]
    pub(crate) loads: LoadArgs,
    #[command(flatten)]
    pub(crate) steps: StepArgs,
    #[command(flatten)]
    pub(crate) commands: CommandArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Loads")]
pub(crate) struct LoadArgs {
    /// Slots weigh what they hold, by a CSV of slot,load or of key,size,requests
    #[arg(long, value_name = "CSV")]
    pub(crate) loads: Option<PathBuf>,
    /// What of the keys weighs [default: requests, else bytes, else keys, as the file has them]
    #[arg(long, value_name = "WHAT", requires = "loads")]
    pub(crate) by: Option<Measure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measure {
    /// Each counts as one
    Keys,
    /// Column size
    Bytes,
    /// Column requests
    Requests,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Steps")]
pub(crate) struct StepArgs {
    /// The most slots in a step
    #[arg(long, value_name = "SLOTS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) budget: Option<u32>,
    /// The most load in a step; a slot with more has one for itself
    #[arg(long, value_name = "LOAD", requires = "loads", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) load_budget: Option<u64>,
    /// Only this step, from 1; then the next, or the first of a plan from the new table
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MoveKind {
    /// SETSLOT and MIGRATE, slot by slot: every version of Redis and Valkey
    Classic,
    /// CLUSTER MIGRATION IMPORT: Redis 8.4 and later
    Atomic,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Commands")]
pub(crate) struct CommandArgs {
    /// Print the commands, in order, each behind the address of the server that gets it
    #[arg(long, value_name = "HOW")]
    pub(crate) commands: Option<MoveKind>,
    /// Keys in one MIGRATE, of --commands classic [default: 100]
    #[arg(long, value_name = "N", requires = "commands", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: Option<u32>,
    /// The time limit of one MIGRATE, in milliseconds [default: 5000]
    #[arg(long, value_name = "MS", requires = "commands", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) timeout: Option<u32>,
}

#[derive(Debug, Args)]
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

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1, such as 0.25".into())
}

const KEY: &str = "\
Examples:
  hashroute slots key user:1 '{user1000}.following'
  hashroute slots key --keys keys.txt --format csv
  redis-cli cluster nodes | hashroute slots key --table - user:1";

const CHECK: &str = "\
Shares are judged from two lines on. One slot is always on one node, whatever moves.

Examples:
  hashroute slots check keys.txt
  hashroute slots check requests.tsv --max-cross 5
  hashroute slots check --csv keys.csv --max-slot 0.01 --max-tag 0.05 --format json";

const SHOW: &str = "\
Examples:
  redis-cli cluster nodes | hashroute slots show -
  hashroute slots show /var/lib/redis/nodes.conf --format json";

const PLAN: &str = "\
Slots of nobody move first, then those of nodes that leave, then surplus. Where slots are counted,
no plan for the goal moves fewer; with --loads it moves few, and may take more than must be.

Examples:
  hashroute slots plan nodes.txt --add 10.0.0.4:6379
  hashroute slots plan nodes.txt --even --remove 07c37df --budget 100
  hashroute slots plan nodes.txt --even --loads keys.csv --by bytes
  hashroute slots plan nodes.txt --even --budget 100 --step 1 --commands classic";

const SIMULATE: &str = "\
One command in two is for a slot that is on the move just then. Exit code 1: a key was lost,
served twice or out of reach.

Examples:
  hashroute slots simulate
  hashroute slots simulate --seed 7 --refresh 100 --format json
  hashroute slots simulate nodes.txt --remove 10.0.0.1:6379
  hashroute slots simulate --mistake keys-left";
