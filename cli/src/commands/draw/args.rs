//! The options of `draw`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use hashroute_harness::plot::BarOrder;

use crate::args::{
    ChangeArgs, Counts, HexKey, KeyArgs, Measure, MoveArgs, NodeArgs, StrategyArgs, TableArg,
    counts,
};

/// Draw a ring, a balance, moved keys, slots or numbers of nodes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE, args_conflicts_with_subcommands = true)]
pub(crate) struct DrawArgs {
    #[command(subcommand)]
    pub(super) command: Option<DrawCommand>,
    /// What was typed without the name of a picture, for the message
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) rest: Vec<OsString>,
}

const USAGE: &str = "hashroute draw <COMMAND> [OPTIONS]";

const EXAMPLES: &str = "\
Examples:
  hashroute draw ring --count 4 --set points=8 --add node-4 --out ring.svg
  hashroute draw balance --count 10 > balance.svg";

#[derive(Debug, Subcommand)]
pub(crate) enum DrawCommand {
    /// Draw a hash ring: its points, keys with their nodes, and what a change moves
    #[command(after_help = RING)]
    Ring(RingCommand),
    /// Draw bars of what each node holds, next to what chance alone would give
    #[command(after_help = BALANCE)]
    Balance(BalanceCommand),
    /// Draw a matrix of the keys that move from each node to each other
    #[command(after_help = REMAP)]
    Remap(Box<RemapCommand>),
    /// Draw the owners of the slots of a Redis Cluster
    #[command(after_help = SLOTS)]
    Slots(SlotsCommand),
    /// Draw how even the keys are for each number of nodes
    #[command(after_help = COUNTS)]
    NodeCounts(CountsCommand),
}

#[derive(Debug, Args)]
pub(crate) struct RingCommand {
    /// Keys to draw with their nodes [default: the first of the keys counted]
    #[arg(value_name = "KEY")]
    pub(crate) key: Vec<OsString>,
    /// A key in hexadecimal digits, for bytes that are no text (repeatable)
    #[arg(long, value_name = "DIGITS")]
    pub(crate) hex: Vec<HexKey>,
    /// The number of counted keys to draw if no KEY is given
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
    /// What to count
    #[arg(long, alias = "measure", value_name = "WHAT", default_value = "keys")]
    pub(crate) by: Measure,
    /// The order of up to 40 bars: by load, the fullest first, or by name
    #[arg(long, value_name = "ORDER", default_value = "load")]
    pub(crate) sort: Sort,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

/// The order of bars.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Sort {
    Load,
    Name,
}

impl From<Sort> for BarOrder {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Load => Self::Load,
            Sort::Name => Self::Name,
        }
    }
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
    /// The numbers of nodes, named node-0 and so on: 8,16 or 2..=128 [default: near the number
    /// given]
    #[arg(long, value_name = "LIST", value_parser = counts, conflicts_with_all = ["members", "spec"])]
    pub(crate) node_counts: Option<Counts>,
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
    /// The file to write, .svg or .png; - is SVG on standard output
    #[arg(short = 'o', long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// The number of PNG pixels per SVG pixel [default: 2]
    #[arg(long, value_name = "X")]
    pub(crate) scale: Option<f32>,
    /// Do not show progress
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

const RING: &str = "\
Works for rings and for dialects that use rings. Up to 400 points are drawn one by one.

Examples:
  hashroute draw ring --count 4 --set points=8 --add node-4 --out ring.svg
  hashroute draw ring --count 100 --out ring.png user:1 user:2
  hashroute draw ring --dialect twemproxy --nodes 10.0.0.1:11211,10.0.0.2:11211 > ring.svg";

const BALANCE: &str = "\
Examples:
  hashroute draw balance --count 10 --out balance.svg
  hashroute draw balance --count 10 --sort name > balance.svg
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
  hashroute draw node-counts --count 40 --strategy modulo --keys keys.txt --out counts.svg
  hashroute draw node-counts --strategy modulo --hash fnv1a-32 --range 0..1000 --node-counts 2..=64
  hashroute draw node-counts --dialect twemproxy --set distribution=modula --node-counts 2..=128 --range 0..1000";
