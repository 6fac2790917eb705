//! The options of `draw`, as they are typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::{
    ChangeArgs, Counts, KeyArgs, Measure, MoveArgs, NodeArgs, StrategyArgs, TableArg, counts,
};

/// Draw: a ring, bars of a balance, what moves, slots, node counts
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DrawArgs {
    #[command(subcommand)]
    pub(super) command: DrawCommand,
}

const EXAMPLES: &str = "\
Examples:
  hashroute draw ring --count 4 --set points=8 --add node-4 --out ring.svg
  hashroute draw balance --count 10 > balance.svg";

#[derive(Debug, Subcommand)]
pub(crate) enum DrawCommand {
    /// The hash ring: tokens, keys on their way, what a change takes, the figures beside
    #[command(after_help = RING)]
    Ring(RingCommand),
    /// Bars: what each node holds, beside what chance alone would do
    #[command(after_help = BALANCE)]
    Balance(BalanceCommand),
    /// A matrix: what moves, from which node to which
    #[command(after_help = REMAP)]
    Remap(RemapCommand),
    /// Who owns the slots of a Redis Cluster
    #[command(after_help = SLOTS)]
    Slots(SlotsCommand),
    /// How even the keys fall on each number of nodes
    #[command(after_help = COUNTS)]
    NodeCounts(CountsCommand),
}

#[derive(Debug, Args)]
pub(crate) struct RingCommand {
    /// Keys to draw on their way to their nodes [default: the first of those counted]
    #[arg(value_name = "KEY")]
    pub(crate) key: Vec<OsString>,
    /// How many of the keys counted to draw, where no KEY is named
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=26))]
    pub(crate) shown: u8,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BalanceCommand {
    /// What of the keys counts
    #[arg(long, value_name = "WHAT", default_value = "keys")]
    pub(crate) by: Measure,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RemapCommand {
    #[command(flatten)]
    pub(crate) moves: MoveArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SlotsCommand {
    #[command(flatten)]
    pub(crate) table: TableArg,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CountsCommand {
    /// Numbers of nodes, node-0 and so on: 8,16 or 2..=128
    #[arg(long, value_name = "LIST", value_parser = counts, conflicts_with_all = ["members", "spec"])]
    pub(crate) node_counts: Counts,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PictureArgs {
    /// Where the picture goes, by extension .svg or .png; - is SVG on standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// Pixels of a PNG for each of the SVG's [default: 2]
    #[arg(long, value_name = "X")]
    pub(crate) scale: Option<f32>,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

const RING: &str = "\
Works for rings and the dialects of rings. Up to 400 tokens are drawn one by one.

Examples:
  hashroute draw ring --count 4 --set points=8 --add node-4 --out ring.svg
  hashroute draw ring --count 100 --out ring.png user:1 user:2
  hashroute draw ring --dialect twemproxy --nodes 10.0.0.1:11211,10.0.0.2:11211 > ring.svg";

const BALANCE: &str = "\
Examples:
  hashroute draw balance --count 10 --out balance.svg
  hashroute draw balance --strategy maglev --csv keys.csv --by bytes --out balance.png";

const REMAP: &str = "\
Examples:
  hashroute draw remap --nodes a,b,c --add d --out remap.svg
  hashroute draw remap --strategy modulo --count 50 --add node-50 --out remap.png";

const SLOTS: &str = "\
Example:
  redis-cli cluster nodes | hashroute draw slots - --out slots.svg";

const COUNTS: &str = "\
Examples:
  hashroute draw node-counts --strategy modulo --hash fnv1a-32 --range 0..1000 --node-counts 2..=64
  hashroute draw node-counts --dialect twemproxy --set distribution=modula --node-counts 2..=128 --range 0..1000";
