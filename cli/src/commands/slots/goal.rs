//! The goal of a plan: the weight of each primary.

use std::collections::BTreeMap;

use clap::Args;
use hashroute::redis::{Address, ClusterNode, Goal, Role, Table};

use super::table;
use crate::failure::Failure;
use crate::units;

pub(super) const GOAL: &str = "Goal (NODE: an id, its first 4 or more characters, or host:port)";

#[derive(Debug, Default, Args)]
#[command(next_help_heading = GOAL)]
pub(crate) struct GoalArgs {
    /// A primary to give slots to: one of the table, or a new one, ID@HOST:PORT (repeatable)
    #[arg(short = 'a', long, value_name = "NODE[=W]")]
    pub(crate) add: Vec<String>,
    /// A primary to take all slots from (repeatable)
    #[arg(long, value_name = "NODE")]
    pub(crate) remove: Vec<String>,
    /// The weight of a primary [default: 1, or 0 if it has no slots] (repeatable)
    #[arg(long, alias = "reweight", value_name = "NODE=W")]
    pub(crate) weight: Vec<String>,
    /// Give primaries without slots weight 1, too
    #[arg(long)]
    pub(crate) even: bool,
}

/// A table with the primaries that join, and the weights of the primaries.
pub(super) struct Wanted {
    pub(super) table: Table,
    pub(super) weights: BTreeMap<String, u32>,
    /// The primaries that join and that no server knows yet.
    pub(super) strangers: Vec<Stranger>,
    /// The ids of the nodes that were to be drained and have no slots.
    pub(super) drained: Vec<String>,
}

/// A primary that joins and that no server knows yet.
pub(super) struct Stranger {
    pub(super) id: String,
    /// Whether the id is made up, because only the address was given.
    pub(super) nameless: bool,
}

impl Wanted {
    /// Applies the options to the primaries of the table.
    pub(super) fn of(table: Table, args: &GoalArgs) -> Result<Self, Failure> {
        let counts = table.counts();
        let nodes = table.nodes().iter().zip(counts);
        let works = nodes.filter(|(node, count)| {
            let serves = node.role() == Role::Primary && !node.flags().failed;
            serves && (args.even || *count > 0)
        });
        let weights = works.map(|(node, _)| (node.id().to_owned(), 1)).collect();
        let mut wanted = Self {
            table,
            weights,
            strangers: Vec::new(),
            drained: Vec::new(),
        };
        let mut said = BTreeMap::new();
        for (option, word) in options(args) {
            let told = |problem| Failure::Input(format!("--{option} {word}: {problem}"));
            let (id, weight) = wanted.one(option, word).map_err(told)?;
            if let Some(before) = said.insert(id.clone(), option) {
                return Err(told(format!(
                    "already named by --{before}: expected each node once"
                )));
            }
            wanted.weights.insert(id, weight);
        }
        Ok(wanted)
    }

    /// Returns the id and the weight of the node that one option names.
    fn one(&mut self, option: &str, word: &str) -> Result<(String, u32), String> {
        let (name, weight) = match option {
            "remove" => (word, 0),
            "add" => weighted(word)?,
            _ if word.contains('=') => weighted(word)?,
            _ => return Err("no weight: expected NODE=WEIGHT".into()),
        };
        if option == "add" && weight == 0 {
            return Err("weight 0: expected at least 1".into());
        }
        let Some(node) = self.find(name)? else {
            if option != "add" {
                return Err("not in the table: expected an id, its first 4 or more characters, or host:port".into());
            }
            return Ok((self.join(name)?, weight));
        };
        let id = node.id().to_owned();
        let is_primary = node.role() == Role::Primary;
        if option == "remove" && (!is_primary || self.table.count(&id) == 0) {
            self.drained.push(id.clone());
            return Ok((id, 0));
        }
        if !is_primary {
            return Err("a replica has no slots: expected a primary".into());
        }
        if weight > 0 && node.flags().failed {
            return Err("failed: expected a primary that works".into());
        }
        Ok((id, weight))
    }

    /// Finds a node by id or address; `ID@HOST:PORT` also finds one that joined before.
    fn find(&self, name: &str) -> Result<Option<&ClusterNode>, String> {
        let Some((node, endpoint)) = name
            .split_once('@')
            .and_then(|(id, endpoint)| Some((self.table.node(id)?, endpoint)))
        else {
            return table::find(&self.table, name);
        };
        if node.address().is_known() && !table::is_at(node, &address(endpoint)?) {
            return Err(format!(
                "the table has this node at {}: expected that address",
                node.address()
            ));
        }
        Ok(Some(node))
    }

    /// Adds a primary that no server of the table knows.
    fn join(&mut self, name: &str) -> Result<String, String> {
        let (id, endpoint) = match name.split_once('@') {
            Some((id, endpoint)) => (id, address(endpoint)?),
            None => (name, address(name)?),
        };
        let mut nodes = self.table.nodes().iter();
        // A failed node does not block its address: it may have come back under another id.
        let is_taken = |node: &&ClusterNode| !node.flags().failed && table::is_at(node, &endpoint);
        if let Some(node) = nodes.find(is_taken) {
            return Err(format!(
                "the address belongs to {}: expected another one",
                node.id()
            ));
        }
        let error = |error: hashroute::Error| error.to_string();
        let nameless = !name.contains('@');
        // A made-up id is the address in its canonical form.
        let id = if nameless {
            endpoint.to_string()
        } else {
            id.to_owned()
        };
        let node = ClusterNode::new(id).map_err(error)?.with_address(endpoint);
        let id = node.id().to_owned();
        self.table.add(node).map_err(error)?;
        self.strangers.push(Stranger {
            id: id.clone(),
            nameless,
        });
        Ok(id)
    }

    /// Says which nodes are drained already: a plan that was carried out is asked for again.
    pub(super) fn done(&self) -> Vec<String> {
        let names = table::Names::of(&self.table);
        let lines = self.drained.iter().filter_map(|id| {
            let node = self.table.node(id)?;
            let now = node.primary().map(|primary| {
                let primary = self.table.node(primary);
                let name =
                    primary.map_or_else(|| "an unknown node".into(), |node| names.endpoint(node));
                // The table does not say whether it became a replica when it lost its slots.
                let left = primary.map_or_else(String::new, |primary| {
                    let left = self.replicas(primary.id(), id) as u64;
                    format!("; {name} then has {}", units::counted(left, "replica"))
                });
                (format!(" (it is a replica of {name} now)"), left)
            });
            let (now, left) = now.unwrap_or_default();
            Some(format!(
                "done: {} has no slots{now} and may leave{left}",
                names.endpoint(node),
            ))
        });
        lines.collect()
    }

    /// Counts the working replicas of a primary besides one.
    fn replicas(&self, primary: &str, besides: &str) -> usize {
        let nodes = self.table.nodes().iter();
        let replicas = nodes.filter(|node| {
            node.primary() == Some(primary) && node.id() != besides && !node.flags().failed
        });
        replicas.count()
    }

    /// Returns the weights as a goal.
    pub(super) fn goal(&self) -> Goal {
        let weights = self.weights.iter();
        weights.fold(Goal::new(), |goal, (id, weight)| {
            goal.with_weight(id.as_str(), *weight)
        })
    }
}

/// Parses the address of a new node.
fn address(text: &str) -> Result<Address, String> {
    let address = text.parse().ok().filter(Address::is_known);
    address.ok_or_else(|| {
        format!("\"{text}\" is neither a node of the table nor an address: expected HOST:PORT or ID@HOST:PORT of a new node")
    })
}

/// Returns whether any option of the goal is given.
pub(super) fn is_given(args: &GoalArgs) -> bool {
    args.even || options(args).next().is_some()
}

fn options(args: &GoalArgs) -> impl Iterator<Item = (&'static str, &str)> {
    let all = [
        ("add", &args.add),
        ("remove", &args.remove),
        ("weight", &args.weight),
    ];
    all.into_iter()
        .flat_map(|(option, words)| words.iter().map(move |word| (option, word.as_str())))
}

/// Parses `NODE=W`; without `=W` the weight is 1.
fn weighted(word: &str) -> Result<(&str, u32), String> {
    let Some((name, weight)) = word.rsplit_once('=') else {
        return Ok((word, 1));
    };
    match weight.parse() {
        Ok(weight) => Ok((name, weight)),
        Err(_) => Err(format!(
            "weight \"{weight}\": expected a whole number from 0 to {}",
            u32::MAX
        )),
    }
}
