//! Two routers: the one there is, and the one that is to be.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use hashroute::harness::{Keys, Scenario};
use hashroute::{Change, KeyHasher, Node, Router, compat, strategy};

use crate::args::{NodeArgs, StrategyArgs, TuningArgs, dialect_names, hash_names, strategy_names};
use crate::changes::{self, ChangeArgs, words};
use crate::failure::Failure;
use crate::nodes;
use crate::strategy::{Choice, Way, choose};

/// What is different afterwards.
#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// The nodes afterwards, in place of single changes: .csv, .json or .toml
    #[arg(long, value_name = "FILE", conflicts_with_all = ["add", "remove", "reweight"])]
    pub(crate) to_nodes_file: Option<PathBuf>,
    /// The strategy afterwards [default: as before]
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(strategy_names()), hide_possible_values = true)]
    pub(crate) to_strategy: Option<String>,
    /// The dialect afterwards [default: as before]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["to_strategy", "to_hash"])]
    #[arg(value_parser = PossibleValuesParser::new(dialect_names()), hide_possible_values = true)]
    pub(crate) to_dialect: Option<String>,
    /// A parameter afterwards, such as points=200 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) to_set: Vec<String>,
    /// The key hash afterwards [default: as before]
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(hash_names()), hide_possible_values = true)]
    pub(crate) to_hash: Option<String>,
}

impl TargetArgs {
    fn is_other_setup(&self) -> bool {
        self.to_strategy.is_some()
            || self.to_dialect.is_some()
            || self.to_hash.is_some()
            || !self.to_set.is_empty()
    }
}

/// Before and after, and in words what changes.
#[derive(Debug)]
pub(crate) struct Setups {
    pub(crate) old: Box<dyn Router>,
    pub(crate) new: Box<dyn Router>,
    pub(crate) words: String,
}

impl Setups {
    pub(crate) fn read(
        strategy: &StrategyArgs,
        nodes: &NodeArgs,
        target: &TargetArgs,
    ) -> Result<Self, Failure> {
        let (choice, nodes) = Choice::read(strategy, nodes)?;
        let changes = match &target.to_nodes_file {
            Some(path) => changes::between(&nodes, &nodes::from_file(path, "--to-nodes-file")?),
            None => choice.resolve(&target.changes.0),
        };
        if changes.is_empty() && target.to_nodes_file.is_none() && !target.is_other_setup() {
            return Err(Failure::input(
                "nothing changes: expected --add, --remove, --reweight, --to-nodes-file, --to-strategy, --to-dialect, --to-set or --to-hash",
            ));
        }
        changes::check(&nodes, &changes)?;
        let old = choice.build(nodes.clone())?;
        let mut told: Vec<_> = changes.iter().map(words).collect();
        let new = if target.is_other_setup() {
            let other = other(&choice, old.hasher(), &strategy.tuning, target)?;
            let mut to = vec![other.what()];
            to.extend(target.to_set.iter().cloned());
            to.extend(target.to_hash.iter().map(|name| format!("hash {name}")));
            told.insert(0, format!("{} to {}", choice.what(), to.join(" ")));
            other
                .build(after(nodes, &changes))
                .map_err(|failure| of_target(&failure))?
        } else {
            let keys = &Keys::default();
            let scenario = Scenario {
                nodes,
                changes,
                keys,
            };
            let router = scenario.after(&choice, &choice.params);
            router.map_err(|error| choice.refusal(&error))?
        };
        let words = if told.is_empty() {
            "no change".into()
        } else {
            told.join(", ")
        };
        Ok(Self { old, new, words })
    }
}

/// What routes afterwards; what is not said of it stays as it is.
fn other(
    choice: &Choice,
    hasher: Option<&KeyHasher>,
    tuning: &TuningArgs,
    target: &TargetArgs,
) -> Result<Choice, Failure> {
    let way = match (&target.to_strategy, &target.to_dialect) {
        (Some(name), _) => Way::Strategy(strategy::find(name)?),
        (_, Some(name)) => Way::Dialect(compat::find(name)?),
        _ => choice.way.clone(),
    };
    if let (false, Some(name)) = (matches!(way, Way::Strategy(_)), &target.to_hash) {
        return Err(Failure::Input(format!(
            "--to-hash {name}: a dialect hashes as its system does, a spec says its own; expected --to-set, or --to-strategy with it"
        )));
    }
    let same = way.name() == choice.way.name();
    let mut set = if same { tuning.set.clone() } else { Vec::new() };
    set.extend(target.to_set.iter().cloned());
    let tuning = TuningArgs {
        set,
        hash: target.to_hash.clone(),
        ..TuningArgs::default()
    };
    let chosen = choose(&[way], &tuning).map_err(|failure| of_target(&failure))?;
    let mut chosen = chosen.into_iter();
    let chosen = chosen
        .next()
        .ok_or_else(|| Failure::input("--to-strategy: no strategy"))?;
    let hasher = hasher.filter(|_| target.to_hash.is_none() && !chosen.way.is_dialect());
    Ok(match hasher {
        Some(hasher) => Choice {
            params: chosen.params.with_hasher(hasher.clone()),
            ..chosen
        },
        None => chosen,
    })
}

/// The failure with the options of the second set-up.
fn of_target(failure: &Failure) -> Failure {
    let message = failure.to_string();
    Failure::Input(match message.strip_prefix("--set ") {
        Some(rest) => format!("--to-set {rest}"),
        None => message,
    })
}

/// The nodes in their order after changes that can be made.
fn after(mut nodes: Vec<Node>, changes: &[Change]) -> Vec<Node> {
    for change in changes {
        match change {
            Change::Add(node) => nodes.push(node.clone()),
            Change::Remove(name) => nodes.retain(|node| node.name() != &**name),
            Change::Reweight(name, weight) => {
                for node in nodes.iter_mut().filter(|node| node.name() == &**name) {
                    *node = node.clone().with_weight(*weight);
                }
            }
            _ => {}
        }
    }
    nodes
}
