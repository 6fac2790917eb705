//! Options for changes: of the nodes, or of the whole set-up.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use hashroute::{Change, Node};

use super::keys::KeyArgs;
use super::names::Named;
use super::nodes::{self, Entry, NodeArgs};
use super::strategy::StrategyArgs;

/// The changes that `--add`, `--remove` and `--reweight` ask for, in the order in which they are
/// typed, and the labels of nodes that are added.
#[derive(Debug)]
pub(crate) struct ChangeArgs(pub(crate) Vec<Change>, pub(crate) BTreeMap<String, String>);

#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
struct Options {
    /// Add a node (repeatable); of a dialect, also ADDRESS=W,label=NAME
    #[arg(short = 'a', long, value_name = "NAME[=W]", value_parser = added)]
    add: Vec<Added>,
    /// Remove a node (repeatable)
    #[arg(long, value_name = "NAME")]
    remove: Vec<String>,
    /// Give a node another weight; 0 drains it (repeatable)
    #[arg(long, value_name = "NAME=W", value_parser = reweight, value_delimiter = ',')]
    reweight: Vec<Node>,
}

/// The nodes of one `--add`.
#[derive(Clone, Debug)]
struct Added(Vec<Entry>);

fn added(text: &str) -> Result<Added, String> {
    // A number alone may be a name here: whether it is depends on the nodes that there are.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let (node, label) = (Node::new(text), None);
        return Ok(Added(vec![Entry { node, label }]));
    }
    if let Some(file) = nodes::is_file(text) {
        return Err(format!(
            "{file}: expected a name, or {text}=1 for a node of this name"
        ));
    }
    nodes::list(text).map(Added)
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
        let mut labels = BTreeMap::new();
        for Entry { node, label } in options.add.iter().flat_map(|added| &added.0) {
            labels.extend(label.clone().map(|label| (node.name().to_owned(), label)));
        }
        let add = |added: Added| {
            let entries = added.0.into_iter();
            entries.map(|entry| Change::Add(entry.node)).collect()
        };
        let adds = options.add.into_iter().map(add);
        let removes = options.remove.into_iter();
        let removes = removes.map(|name| vec![Change::remove(name)]);
        let reweights = options
            .reweight
            .into_iter()
            .map(|node| vec![Change::reweight(node.name(), node.weight())]);
        let mut ordered: BTreeMap<usize, Vec<Change>> = BTreeMap::new();
        ordered.extend(indexes(matches, "add").zip(adds));
        ordered.extend(indexes(matches, "remove").zip(removes));
        ordered.extend(indexes(matches, "reweight").zip(reweights));
        Ok(Self(ordered.into_values().flatten().collect(), labels))
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

/// A change of the set-up, and the keys that it may move.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}

/// Changes of single nodes, which exclude a list of the nodes after the change.
const SINGLE: [&str; 3] = ["add", "remove", "reweight"];

/// What a configuration or a spec says about the whole set-up.
const TUNING: [&str; 6] = [
    "to_strategy",
    "to_set",
    "to_hash",
    "to_hash_seed",
    "to_hash_key",
    "to_hash_tag",
];

/// What differs after the change.
#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// The nodes after the change, in the form of --nodes: a,b=2,c
    #[arg(long, value_name = "LIST", group = "to_members", conflicts_with_all = SINGLE)]
    pub(crate) to_nodes: Option<String>,
    /// Use N nodes after the change, named node-0 to node-(N-1)
    #[arg(long, value_name = "N", group = "to_members", conflicts_with_all = SINGLE)]
    #[arg(value_parser = nodes::count, allow_negative_numbers = true)]
    pub(crate) to_count: Option<u32>,
    /// The nodes after the change: a file as of --nodes-file; zones, racks and order count
    #[arg(long, value_name = "FILE", group = "to_members", conflicts_with_all = SINGLE)]
    pub(crate) to_nodes_file: Option<PathBuf>,
    /// The configuration after the change, of --to-dialect [default: of the dialect before]
    #[arg(long, value_name = "FILE", group = "to_members", conflicts_with_all = SINGLE)]
    #[arg(conflicts_with_all = TUNING)]
    pub(crate) to_config: Option<PathBuf>,
    /// The pool after the change, of --to-config [default: of the file of --config]
    #[arg(long, value_name = "NAME", conflicts_with_all = SINGLE)]
    #[arg(conflicts_with_all = ["to_nodes", "to_count", "to_nodes_file", "to_spec"])]
    #[arg(conflicts_with_all = TUNING)]
    pub(crate) to_pool: Option<String>,
    /// A file of `hashroute spec write`: the whole set-up after the change
    #[arg(long, value_name = "FILE", group = "to_members", conflicts_with_all = SINGLE)]
    #[arg(conflicts_with_all = TUNING, conflicts_with = "to_dialect")]
    pub(crate) to_spec: Option<PathBuf>,
    /// The strategy after the change [default: as before]
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = Named::Strategy, hide_possible_values = true)]
    pub(crate) to_strategy: Option<String>,
    /// The dialect after the change [default: as before]
    #[arg(long, value_name = "NAME", conflicts_with = "to_strategy")]
    #[arg(conflicts_with_all = ["to_hash", "to_hash_seed", "to_hash_key", "to_hash_tag"])]
    #[arg(value_parser = Named::Dialect, hide_possible_values = true)]
    pub(crate) to_dialect: Option<String>,
    /// A parameter after the change, such as points=200 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) to_set: Vec<String>,
    /// The key hash after the change; it keeps seed and tag [default: as before]
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = Named::Hash, hide_possible_values = true)]
    pub(crate) to_hash: Option<String>,
    /// The seed of the hash after the change [default: as before]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) to_hash_seed: Option<String>,
    /// The secret key of --to-hash, for sip: 32 hexadecimal digits [default: as before]
    #[arg(long, value_name = "HEX32", requires = "to_hash")]
    pub(crate) to_hash_key: Option<String>,
    /// The hash tag after the change, or `none` [default: as before]
    #[arg(long, value_name = "PAIR")]
    pub(crate) to_hash_tag: Option<String>,
}

impl TargetArgs {
    /// Returns whether options name another strategy, dialect, parameter or hash.
    pub(crate) fn is_other_setup(&self) -> bool {
        self.to_strategy.is_some()
            || self.to_dialect.is_some()
            || !self.to_set.is_empty()
            || self.is_other_hash()
    }

    /// Returns whether options change the key hash.
    pub(crate) fn is_other_hash(&self) -> bool {
        self.hash_option().is_some()
    }

    /// Returns the first option that changes the key hash, and its value.
    pub(crate) fn hash_option(&self) -> Option<(&'static str, &str)> {
        let given = [
            ("--to-hash", &self.to_hash),
            ("--to-hash-seed", &self.to_hash_seed),
            ("--to-hash-key", &self.to_hash_key),
            ("--to-hash-tag", &self.to_hash_tag),
        ];
        let mut given = given.into_iter();
        given.find_map(|(option, value)| Some((option, value.as_deref()?)))
    }
}
