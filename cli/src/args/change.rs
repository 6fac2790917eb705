//! Options for changes: of the nodes, or of the whole set-up.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use hashroute::{Change, Node};

use super::keys::KeyArgs;
use super::nodes::{self, NodeArgs};
use super::strategy::{StrategyArgs, dialect_names, hash_names, strategy_names};

/// The changes that `--add`, `--remove` and `--reweight` ask for, in the order in which they are
/// typed.
#[derive(Debug)]
pub(crate) struct ChangeArgs(pub(crate) Vec<Change>);

#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
struct Options {
    /// Add a node (repeatable)
    #[arg(long, value_name = "NAME[=W]", value_parser = nodes::parse)]
    add: Vec<Node>,
    /// Remove a node (repeatable)
    #[arg(long, value_name = "NAME")]
    remove: Vec<String>,
    /// Give a node another weight; 0 drains it (repeatable)
    #[arg(long, value_name = "NAME=W", value_parser = reweight)]
    reweight: Vec<Node>,
}

fn reweight(text: &str) -> Result<Node, String> {
    if text.contains('=') {
        nodes::parse(text)
    } else {
        Err("no weight: expected NAME=WEIGHT".into())
    }
}

impl Args for ChangeArgs {
    fn augment_args(command: Command) -> Command {
        Options::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Options::augment_args_for_update(command)
    }
}

impl FromArgMatches for ChangeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let options = Options::from_arg_matches(matches)?;
        let adds = options.add.into_iter().map(Change::Add);
        let removes = options.remove.into_iter().map(Change::remove);
        let reweights = options
            .reweight
            .into_iter()
            .map(|node| Change::reweight(node.name(), node.weight()));
        let mut ordered = BTreeMap::new();
        ordered.extend(indexes(matches, "add").zip(adds));
        ordered.extend(indexes(matches, "remove").zip(removes));
        ordered.extend(indexes(matches, "reweight").zip(reweights));
        Ok(Self(ordered.into_values().collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the indexes on the command line of the values of an option.
fn indexes<'a>(matches: &'a ArgMatches, option: &'static str) -> impl Iterator<Item = usize> + 'a {
    matches.indices_of(option).into_iter().flatten()
}

/// A change of the nodes, and the keys that it may move.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// The nodes after the change: a .csv, .json or .toml file; only names and weights count
    #[arg(long, value_name = "FILE", help_heading = "Change", conflicts_with_all = ["add", "remove", "reweight"])]
    pub(crate) to_nodes_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}

/// What differs after the change.
#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// The nodes after the change: a .csv, .json or .toml file; zones, racks and order count
    #[arg(long, value_name = "FILE", conflicts_with_all = ["add", "remove", "reweight"])]
    pub(crate) to_nodes_file: Option<PathBuf>,
    /// The strategy after the change [default: as before]
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(strategy_names()), hide_possible_values = true)]
    pub(crate) to_strategy: Option<String>,
    /// The dialect after the change [default: as before]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["to_strategy", "to_hash"])]
    #[arg(value_parser = PossibleValuesParser::new(dialect_names()), hide_possible_values = true)]
    pub(crate) to_dialect: Option<String>,
    /// A parameter after the change, such as points=200 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) to_set: Vec<String>,
    /// The key hash after the change; it keeps seed and tag [default: as before]
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(hash_names()), hide_possible_values = true)]
    pub(crate) to_hash: Option<String>,
    /// The secret key of --to-hash, for sip: 32 hexadecimal digits [default: as before]
    #[arg(long, value_name = "HEX32", requires = "to_hash")]
    pub(crate) to_hash_key: Option<String>,
}

impl TargetArgs {
    /// Returns whether more than the nodes changes.
    pub(crate) fn is_other_setup(&self) -> bool {
        self.to_strategy.is_some()
            || self.to_dialect.is_some()
            || self.to_hash.is_some()
            || !self.to_set.is_empty()
    }
}
