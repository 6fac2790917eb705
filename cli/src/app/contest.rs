//! Comparisons: several strategies on the same keys and the same changes of the nodes.

use alloc_counter::{AllocCounterSystem, count_alloc};
use hashroute::registry::Scheme;
use hashroute::{Change, Node, Nodes, compat, scheme, strategy};
use hashroute_harness::{Comparison, Contest, Keys, compare};

use super::strategy::{Choice, choose};
use super::{changes, config, keys, nodes};
use crate::args::{ContestArgs, TuningArgs};
use crate::failure::Failure;
use crate::output::MadeUp;
use crate::progress::Progress;
use crate::units;

/// Explains a column, and each of its values.
pub(crate) const PEERS_SHARE: &str = "\
peers share: what two processes must share to send every key to the same node. set: the nodes with \
their weights; count: the number of nodes, and their order; table: who owns which slot; load: the \
nodes, and the keys that each holds now.";

/// Counts the allocations of each thread, so that `compare` can report how many a lookup makes.
#[global_allocator]
static ALLOCATOR: AllocCounterSystem = AllocCounterSystem;

/// The strategies to compare, with the nodes, changes and keys they are compared on.
pub(crate) struct Setting {
    pub(crate) choices: Vec<Choice>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) add: Change,
    pub(crate) remove: Change,
    pub(crate) keys: Keys,
    /// What was made up since nobody gave it.
    pub(crate) made_up: MadeUp,
}

impl Setting {
    /// Reads the options, and checks the parameters and both changes.
    pub(crate) fn read(args: &ContestArgs, quiet: bool) -> Result<Self, Failure> {
        let schemes = schemes(args)?;
        tell_of_hash(&schemes, &args.tuning)?;
        let choices = choose(&schemes, &args.tuning)?;
        // Built without nodes, a strategy refuses only its parameters: that is an error. If it
        // refuses these nodes later, its row says so.
        choices
            .iter()
            .try_for_each(|choice| choice.build(&[]).map(drop))?;
        if let (None, Some(path)) = (&args.tuning.dialect, &args.nodes.config) {
            return Err(config::without_dialect(path));
        }
        let nodes = nodes::read(&args.nodes)?;
        let add = Change::Add(args.add.clone().map_or_else(|| next(&nodes), Ok)?);
        let last = || nodes.last().map_or("", Node::name);
        let remove = Change::remove(args.remove.as_deref().unwrap_or_else(last));
        changes::check(&nodes, core::slice::from_ref(&add))?;
        changes::check(&nodes, core::slice::from_ref(&remove))?;
        let reading = Progress::start(quiet, "reading keys");
        let source = keys::Source::of(&args.keys)?;
        let keys = source.read()?;
        drop(reading);
        Ok(Self {
            choices,
            nodes,
            add,
            remove,
            keys,
            made_up: MadeUp {
                keys: source.made_up(),
                nodes: nodes::made_up(&args.nodes, None),
            },
        })
    }

    /// Measures all strategies; with `costs`, times and memory, too.
    pub(crate) fn compare(&self, costs: bool, quiet: bool) -> Comparison {
        let entrants = self.choices.iter();
        let entrants = entrants.map(|choice| (choice.scheme, choice.params().clone()));
        let contest = Contest::new(&self.keys)
            .with_nodes(self.nodes.clone())
            .with_add([self.add.clone()])
            .with_remove([self.remove.clone()])
            .with_schemes(entrants.collect::<Vec<_>>())
            .with_costs(costs)
            .with_allocations(&allocations);
        with_progress(&contest, quiet)
    }
}

/// Counts the allocations that a run makes in this thread. Progress is drawn by another one.
fn allocations(run: &mut dyn FnMut()) -> u64 {
    let ((allocations, _, _), ()) = count_alloc(run);
    allocations as u64
}

/// Returns the strategies and dialects of the names given, or all strategies.
fn schemes(args: &ContestArgs) -> Result<Vec<&'static Scheme>, Failure> {
    let dialect = args.tuning.dialect.iter().map(|name| compat::find(name));
    let named = args.strategy.iter().map(|name| scheme(name));
    let named: Vec<_> = named.chain(dialect).collect::<Result<_, _>>()?;
    Ok(if named.is_empty() {
        strategy::ALL.iter().collect()
    } else {
        named
    })
}

/// Notes that dialects ignore the option for the key hash; refuses it if there are only dialects.
fn tell_of_hash(schemes: &[&Scheme], args: &TuningArgs) -> Result<(), Failure> {
    let dialects: Vec<_> = schemes.iter().filter(|row| row.is_dialect()).collect();
    let Some(option) = args.hash_option().filter(|_| !dialects.is_empty()) else {
        return Ok(());
    };
    if dialects.len() == schemes.len() {
        return Err(Failure::Input(format!(
            "{option}: a dialect hashes as its system does: expected a strategy to compare, too"
        )));
    }
    let names: Vec<_> = dialects.iter().map(|row| row.name).collect();
    eprintln!(
        "note: {option}: does not apply to {}, which hash as their systems do",
        names.join(", ")
    );
    Ok(())
}

/// Returns a new node with a free name: `node-N` for N nodes, or the next free number.
fn next(nodes: &[Node]) -> Result<Node, Failure> {
    let table = Nodes::new(nodes.iter().cloned())?;
    let mut names = (nodes.len()..).map(|i| format!("node-{i}"));
    let free = names.find(|name| table.id(name).is_none());
    Ok(Node::new(free.unwrap_or_default()))
}

fn with_progress(contest: &Contest, quiet: bool) -> Comparison {
    let progress = Progress::steps(
        quiet,
        (3 + usize::from(contest.costs)) * contest.schemes.len(),
    );
    let mut done = 0;
    compare(contest, &mut |strategy, stage| {
        progress.step(done, format!("{strategy}: {stage}"));
        done += 1;
    })
}

/// Describes the keys, the nodes and the changes.
pub(crate) fn scenario(comparison: &Comparison) -> [String; 2] {
    let scenario = &comparison.scenario;
    let keys = units::counted(scenario.keys, "key");
    let distinct = units::count(scenario.distinct_keys);
    let nodes = units::counted(scenario.nodes, "node");
    let hash = &scenario.hash;
    let changes = [scenario.add.join(", "), scenario.remove.join(", ")].join(", or ");
    [
        format!("{keys} ({distinct} distinct) hashed by {hash} on {nodes}."),
        format!("Changes: {changes}."),
    ]
}
