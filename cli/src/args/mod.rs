//! The options, as they are typed.

mod examples;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use hashroute::{HashFunction, Spread, compat, scheme_name, schemes, strategy};

use self::examples::{
    BALANCE, CHECK, COMPARE, DIFF, DRAW, EXPLAIN, MERGE, PLAN, REMAP, REPORT, ROUTE, SKEW, SLOTS,
    SPEC, TOP,
};
use crate::changes::ChangeArgs;
use crate::commands::check::args::CheckArgs;
use crate::commands::draw::args::DrawCommand;
use crate::commands::report::args::ReportArgs;
use crate::commands::slots::args::SlotsCommand;
use crate::commands::spec::SpecCommand;
use crate::nodes::MAX_COUNT;
use crate::output::Format;
use crate::partial::{PartialArgs, PartsArgs};
use crate::target::TargetArgs;

#[derive(Debug, Parser)]
#[command(name = "hashroute", version, about = "Given a key and a set of nodes, which node?", after_help = TOP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure every strategy on the same keys and the same change of nodes
    #[command(after_help = COMPARE)]
    Compare(CompareArgs),
    /// Say which node, or which N nodes, each key goes to
    #[command(after_help = ROUTE)]
    Route(RouteArgs),
    /// Say how evenly the keys fall on the nodes
    #[command(after_help = BALANCE)]
    Balance(BalanceArgs),
    /// Add up what `balance --partial` wrote: the report of one run over everything
    #[command(after_help = MERGE)]
    Merge(MergeArgs),
    /// Say which keys move when nodes join, leave or change weight
    #[command(after_help = REMAP)]
    Remap(RemapArgs),
    /// Say why keys lie unevenly: is it real, which stage is at fault, what would help
    #[command(after_help = SKEW)]
    Skew(SkewArgs),
    /// Say what moves between two set-ups, which may differ in all: nodes, strategy, hash
    #[command(after_help = DIFF)]
    Diff(DiffArgs),
    /// Cut what moves into steps under a budget: who copies what to whom, who may delete it
    #[command(after_help = PLAN)]
    Plan(PlanArgs),
    /// Hold the balance against thresholds and a baseline, for CI; exit 1 when one fails
    #[command(after_help = CHECK)]
    Check(CheckArgs),
    /// Tell the whole way of a key, from its bytes to its node
    #[command(after_help = EXPLAIN)]
    Explain(ExplainArgs),
    /// Redis Cluster's slots: keys, tables, plans of what moves, a resharding in memory
    #[command(subcommand, after_help = SLOTS)]
    Slots(SlotsCommand),
    /// Draw: a ring, bars of a balance, what moves, slots, node counts
    #[command(subcommand, after_help = DRAW)]
    Draw(DrawCommand),
    /// Write a page for the browser: a comparison, or with --skew why keys lie unevenly
    #[command(after_help = REPORT)]
    Report(ReportArgs),
    /// What peers must share, in one file: write it, check it, tell whether two agree
    #[command(subcommand, after_help = SPEC)]
    Spec(SpecCommand),
    /// List the strategies: what they can do, what peers must share, their parameters
    #[command(after_help = "Example:\n  hashroute strategies --format json")]
    Strategies(OutputArgs),
    /// List the dialects of real systems: their versions, how each was proved, their options
    #[command(after_help = "Example:\n  hashroute dialects --format json")]
    Dialects(OutputArgs),
    /// List the hash functions: their bits, and the seed or key they take
    #[command(after_help = "Example:\n  hashroute hashes --format markdown")]
    Hashes(OutputArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) contest: ContestArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ContestArgs {
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    /// Compare only these, dialects too (repeatable) [default: all `hashroute strategies`]
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Strategy"
    )]
    #[arg(value_parser = PossibleValuesParser::new(scheme_names()), hide_possible_values = true)]
    pub(crate) strategy: Vec<String>,
    #[command(flatten)]
    pub(crate) tuning: TuningArgs,
    /// The node that joins [default: the next one, node-10 of 10]
    #[arg(long, value_name = "NAME[=W]", help_heading = "Change", value_parser = crate::nodes::parse)]
    pub(crate) add: Option<hashroute::Node>,
    /// The node that leaves [default: the last one given]
    #[arg(long, value_name = "NAME", help_heading = "Change")]
    pub(crate) remove: Option<String>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RouteArgs {
    /// Keys to route, in place of those of a file or template
    #[arg(value_name = "KEY", conflicts_with_all = KEY_SOURCES)]
    pub(crate) key: Vec<OsString>,
    #[command(flatten)]
    pub(crate) replicas: ReplicaArgs,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BalanceArgs {
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) partial: PartialArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Files that `--partial` wrote, or several of these one after the other; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) partial: PartialArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SkewArgs {
    /// Say which of these numbers of nodes are dangerous too: 8,16 or 2..=128
    #[arg(long, value_name = "LIST", value_parser = crate::nodes::counts)]
    pub(crate) node_counts: Option<crate::nodes::Counts>,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) parts: PartsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RemapArgs {
    #[command(flatten)]
    pub(crate) moves: MoveArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A change of nodes, and the keys that it may move.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// The nodes afterwards, members and weights alone: .csv, .json or .toml
    #[arg(long, value_name = "FILE", help_heading = "Change", conflicts_with_all = ["add", "remove", "reweight"])]
    pub(crate) to_nodes_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// List the ranges of hashes that move, in place of the flows
    #[arg(long, help_heading = "Output")]
    pub(crate) ranges: bool,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The share of all keys that a step may move: 0.05, or 5%
    #[arg(long, value_name = "SHARE", default_value = "1", help_heading = "Budget", value_parser = share)]
    pub(crate) max_step: f64,
    /// The share of all keys that a node may take in during a step
    #[arg(long, value_name = "SHARE", default_value = "1", help_heading = "Budget", value_parser = share)]
    pub(crate) max_in: f64,
    /// The share of all keys that a node may copy to others during a step
    #[arg(long, value_name = "SHARE", default_value = "1", help_heading = "Budget", value_parser = share)]
    pub(crate) max_out: f64,
    #[command(flatten)]
    pub(crate) replicas: ReplicaArgs,
    /// Show this step alone, from 1, with its copies and ranges
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(crate) step: Option<usize>,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Keys to explain
    #[arg(value_name = "KEY", required = true)]
    pub(crate) key: Vec<OsString>,
    #[command(flatten)]
    pub(crate) replicas: ReplicaArgs,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    /// Keys that are on the nodes already: they count where a strategy keeps loads
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Nodes (default: --count 10)")]
pub(crate) struct NodeArgs {
    /// Names, each with an optional weight after its last '=': a,b=2,c
    #[arg(long, value_name = "LIST", group = "members")]
    pub(crate) nodes: Option<String>,
    /// node-0 to node-(N-1), weight 1
    #[arg(
        long,
        value_name = "N",
        group = "members",
        allow_negative_numbers = true
    )]
    #[arg(value_parser = count)]
    pub(crate) count: Option<u32>,
    /// A file of nodes: .csv (name,weight,zone,rack), .json (objects of these), .toml ([[node]])
    #[arg(long, value_name = "FILE", group = "members")]
    pub(crate) nodes_file: Option<PathBuf>,
    /// The configuration of the dialect's system itself: its servers and its options
    #[arg(long, value_name = "FILE", group = "members", requires = "dialect")]
    pub(crate) config: Option<PathBuf>,
    /// Which pool of the configuration, where it has several
    #[arg(long, value_name = "NAME", requires = "config")]
    pub(crate) pool: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Strategy")]
pub(crate) struct StrategyArgs {
    /// How keys find nodes; `hashroute strategies` tells them apart
    #[arg(long, value_name = "NAME", default_value = "ring")]
    #[arg(value_parser = PossibleValuesParser::new(strategy_names()), hide_possible_values = true)]
    pub(crate) strategy: String,
    #[command(flatten)]
    pub(crate) tuning: TuningArgs,
    /// All that peers share, in place of nodes and strategy: a file of `hashroute spec write`
    #[arg(long, value_name = "FILE", conflicts_with_all = SPECIFIED)]
    pub(crate) spec: Option<PathBuf>,
}

/// What a spec says.
pub(crate) const SPECIFIED: [&str; 8] = [
    "members",
    "strategy",
    "set",
    "hash",
    "hash_seed",
    "hash_key",
    "hash_tag",
    "dialect",
];

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Strategy")]
pub(crate) struct TuningArgs {
    /// A parameter of the strategy, such as points=160 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The function that hashes keys [default: xxh3]; `hashroute hashes` tells them apart
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(hash_names()), hide_possible_values = true)]
    pub(crate) hash: Option<String>,
    /// Its seed, for xxh and murmur: a number, decimal or 0x...
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) hash_seed: Option<String>,
    /// Its secret key, for sip: 32 hexadecimal digits
    #[arg(long, value_name = "HEX32")]
    pub(crate) hash_key: Option<String>,
    /// Two characters: hash only what stands between the first such pair that is not empty
    #[arg(long, value_name = "PAIR")]
    pub(crate) hash_tag: Option<String>,
    /// Route exactly as a real system does; `hashroute dialects` tells them apart
    #[arg(long, value_name = "NAME", conflicts_with_all = ["strategy", "hash", "hash_seed", "hash_key", "hash_tag"])]
    #[arg(value_parser = PossibleValuesParser::new(dialect_names()), hide_possible_values = true)]
    pub(crate) dialect: Option<String>,
}

impl TuningArgs {
    /// The first option that says how keys are hashed.
    pub(crate) fn hash_option(&self) -> Option<&'static str> {
        let given = [
            (&self.hash, "--hash"),
            (&self.hash_seed, "--hash-seed"),
            (&self.hash_key, "--hash-key"),
            (&self.hash_tag, "--hash-tag"),
        ];
        let mut given = given.into_iter();
        given.find_map(|(value, option)| value.as_ref().map(|_| option))
    }
}

/// The options that name where keys come from.
pub(crate) const KEY_SOURCES: [&str; 10] = [
    "keys_file",
    "csv",
    "jsonl",
    "bigkeys",
    "memkeys",
    "keystats",
    "scan",
    "metadump",
    "template",
    "range",
];
const FILES: &[&str] = KEY_SOURCES.split_at(8).0;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Keys (default: --template 'user:{i}' --range 0..1000000)")]
pub(crate) struct KeyArgs {
    /// A file with a key a line; - is standard input
    #[arg(id = "keys_file", long = "keys", value_name = "FILE", group = "source")]
    pub(crate) keys: Option<PathBuf>,
    /// A file whose first line has the columns key and, if known, size (bytes) and requests
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) csv: Option<PathBuf>,
    /// A file with a JSON value a line: a string, or {"hex":"..."} for bytes
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Keys from a pattern: {i} is the number, {i:04} the same with zeros in front
    #[arg(long, value_name = "TEXT", conflicts_with_all = FILES)]
    pub(crate) template: Option<String>,
    /// The numbers of the template: from the first, up to but without the second
    #[arg(long, value_name = "A..B", conflicts_with_all = FILES, allow_hyphen_values = true)]
    pub(crate) range: Option<String>,
    /// Refuse lines that cannot be read; without it they are counted and told
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) dump: DumpArgs,
}

/// What `redis-cli` and memcached print of their keys.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Keys that are there already")]
pub(crate) struct DumpArgs {
    /// What redis-cli --bigkeys printed: the largest keys alone
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) bigkeys: Option<PathBuf>,
    /// What redis-cli --memkeys printed: the largest keys alone, with their bytes
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) memkeys: Option<PathBuf>,
    /// What redis-cli --keystats printed: the largest keys alone, with their bytes, rounded
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) keystats: Option<PathBuf>,
    /// What redis-cli --scan printed, or SCAN again and again, raw or numbered
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) scan: Option<PathBuf>,
    /// What memcached answered to `lru_crawler metadump all`: keys with their bytes
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) metadump: Option<PathBuf>,
}

impl KeyArgs {
    /// As if this file had been given.
    pub(crate) fn csv(path: &Path) -> Self {
        Self {
            csv: Some(path.to_owned()),
            ..Self::default()
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Replicas")]
pub(crate) struct ReplicaArgs {
    /// List N distinct nodes for each key, the owner first
    #[arg(long, value_name = "N", value_parser = replicas, allow_negative_numbers = true)]
    pub(crate) replicas: Option<u32>,
    /// How far apart these nodes should stand
    #[arg(long, value_name = "HOW", default_value = "nodes")]
    pub(crate) spread: SpreadArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SpreadArg {
    /// Distinct nodes, wherever they stand
    Nodes,
    /// Distinct racks first
    Racks,
    /// Distinct zones first, then distinct racks
    Zones,
}

impl From<SpreadArg> for Spread {
    fn from(spread: SpreadArg) -> Self {
        match spread {
            SpreadArg::Nodes => Self::Nodes,
            SpreadArg::Racks => Self::Racks,
            SpreadArg::Zones => Self::Zones,
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// How the answer is written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

fn count(text: &str) -> Result<u32, String> {
    let count = text
        .parse()
        .ok()
        .filter(|count| (1..=MAX_COUNT).contains(count));
    count.ok_or_else(|| format!("expected a whole number from 1 to {MAX_COUNT}"))
}

/// A share of all keys, as a fraction or in percent.
fn share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    let share = share.ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a share above 0, at most 1, such as 0.05 or 5%".into())
}

fn replicas(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count
        .ok_or_else(|| "expected a whole number from 1; all nodes are the most there can be".into())
}

/// The names of all rows; `jump` is the strategy, `dialect:jump` the dialect.
/// Each is also known by its kind and name.
fn scheme_names() -> impl Iterator<Item = PossibleValue> {
    schemes().map(|row| {
        let kind = if row.is_dialect() {
            "dialect"
        } else {
            "strategy"
        };
        // Made once, and needed until the program ends.
        let name: &'static str = scheme_name(row).leak();
        let full: &'static str = format!("{kind}:{}", row.name).leak();
        PossibleValue::new(name).alias(full)
    })
}

pub(crate) fn strategy_names() -> impl Iterator<Item = &'static str> {
    strategy::ALL.iter().map(|strategy| strategy.name)
}

pub(crate) fn dialect_names() -> impl Iterator<Item = &'static str> {
    compat::ALL.iter().map(|dialect| dialect.name)
}

pub(crate) fn hash_names() -> impl Iterator<Item = &'static str> {
    HashFunction::ALL.iter().map(|function| function.name())
}
