//! Many strategies side by side on the same scenario.

use serde::{Deserialize, Serialize};

use super::assignment::Assignment;
use super::balance::Balance;
use super::cost::{Cost, cost};
use super::remap::{Remap, remap};
use super::scenario::Scenario;
use super::yardstick::Yardstick;
use crate::keys::Keys;
use hashroute::registry::{Params, Scheme};
use hashroute::{Change, Error, Node, scheme_name};

/// What to compare: rows of the registry, each with its parameters, on the same nodes and keys, when some
/// nodes are added and when some are removed.
///
/// ```
/// use hashroute_harness::{Contest, Keys};
/// use hashroute::strategy::{self, Params};
/// use hashroute::{Change, Node};
///
/// let keys = Keys::template("user:{i}", 0..1000)?;
/// let schemes: Vec<_> = strategy::ALL.iter().map(|scheme| (scheme, Params::default())).collect();
/// let contest = Contest::new(&keys)
///     .with_nodes(["a", "b", "c"].map(Node::new))
///     .with_add([Change::add("d")])
///     .with_remove([Change::remove("a")])
///     .with_schemes(schemes);
/// assert_eq!(contest.schemes.len(), strategy::ALL.len());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Contest<'a> {
    /// The nodes at the start.
    pub nodes: Vec<Node>,
    /// The keys.
    pub keys: &'a Keys,
    /// The changes of the first kind, in order, from the start: mostly, a node joins.
    pub add: Vec<Change>,
    /// The changes of the second kind, in order, from the start: mostly, a node leaves.
    pub remove: Vec<Change>,
    /// Who takes part.
    pub schemes: Vec<(&'a Scheme, Params)>,
    /// Whether to measure times and memory as well.
    pub costs: bool,
    /// Counts the allocations of a run, where the program can count them.
    pub allocations: Option<&'a dyn Fn(&mut dyn FnMut()) -> u64>,
}

impl core::fmt::Debug for Contest<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names: Vec<_> = self.schemes.iter().map(|(scheme, _)| scheme.name).collect();
        f.debug_struct("Contest")
            .field("nodes", &self.nodes)
            .field("add", &self.add)
            .field("remove", &self.remove)
            .field("schemes", &names)
            .finish_non_exhaustive()
    }
}

impl<'a> Contest<'a> {
    /// Nobody yet, on these keys, with costs.
    ///
    /// ```
    /// # use hashroute_harness::{Contest, Keys};
    /// assert!(Contest::new(&Keys::default()).costs);
    /// ```
    pub fn new(keys: &'a Keys) -> Self {
        let (add, remove) = (Vec::new(), Vec::new());
        Self {
            nodes: Vec::new(),
            keys,
            add,
            remove,
            schemes: Vec::new(),
            costs: true,
            allocations: None,
        }
    }
}

builder! { Contest<'a>:
    with_nodes(nodes: impl Into<Vec<Node>>),
    with_add(add: impl Into<Vec<Change>>),
    with_remove(remove: impl Into<Vec<Change>>),
    with_schemes(schemes: impl Into<Vec<(&'a Scheme, Params)>>),
    with_costs(costs: bool),
    with_allocations(allocations: &'a dyn Fn(&mut dyn FnMut()) -> u64),
}

/// What a comparison is doing.
///
/// ```
/// assert_eq!(hashroute_harness::Activity::Balance.to_string(), "balance");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// Placing keys on the nodes at the start.
    Balance,
    /// Placing them after the changes of the first kind.
    Add,
    /// Placing them after the changes of the second kind.
    Remove,
    /// Measuring times.
    Cost,
}

impl core::fmt::Display for Activity {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Self::Balance => "balance",
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Cost => "cost",
        })
    }
}

/// The scenario in short.
///
/// ```
/// # use hashroute_harness::{Contest, Keys, compare};
/// let scenario = compare(&Contest::new(&Keys::default()), &mut |_, _| ()).scenario;
/// assert_eq!((scenario.nodes, scenario.keys), (0, 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScenarioSummary {
    /// How many nodes there are at the start.
    pub nodes: u64,
    /// The sum of their weights.
    pub total_weight: u64,
    /// How many keys there are.
    pub keys: u64,
    /// How many different ones.
    pub distinct_keys: u64,
    /// The names of the key hashes in use, each once.
    pub hash: String,
    /// The changes of the first kind, such as `add d=1`.
    pub add: Vec<String>,
    /// The changes of the second kind, such as `remove a`.
    pub remove: Vec<String>,
}

/// One strategy in a comparison. What it refused, or nobody asked for, is `None`.
///
/// ```
/// # use hashroute::{Change, Node, strategy::{self, Params}};
/// # use hashroute_harness::{Contest, Keys, compare};
/// let keys = Keys::template("{i}", 0..100)?;
/// let contest = Contest::new(&keys)
///     .with_nodes(["a", "b"].map(Node::new))
///     .with_remove([Change::remove("a")])
///     .with_schemes([(strategy::find("jump")?, Params::default())]);
/// let row = compare(&contest, &mut |_, _| ()).rows.remove(0);
/// assert!(row.balance.is_some() && row.remove.is_none());
/// assert!(row.refused.is_some_and(|why| why.starts_with("remove: node \"a\" cannot leave")));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Row {
    /// Its name.
    pub strategy: String,
    /// What peers must share to agree: set, list, count, history, table or load.
    pub state: String,
    /// On the nodes at the start.
    pub balance: Option<Balance>,
    /// What the changes of the first kind move.
    pub add: Option<Remap>,
    /// What the changes of the second kind move.
    pub remove: Option<Remap>,
    /// What it refused, and why.
    pub refused: Option<String>,
    /// As in [`Cost`].
    pub route_ns: Option<f64>,
    /// As in [`Cost`].
    pub batch_ns: Option<f64>,
    /// As in [`Cost`].
    pub build_ns: Option<f64>,
    /// As in [`Cost`].
    pub change_ns: Option<f64>,
    /// As in [`Cost`].
    pub heap_bytes: Option<u64>,
    /// As in [`Cost`].
    pub allocations_per_lookup: Option<f64>,
}

impl Row {
    /// A row with nothing measured yet.
    fn of(scheme: &Scheme) -> Self {
        Self {
            strategy: scheme_name(scheme),
            state: scheme.agree().name().into(),
            balance: None,
            add: None,
            remove: None,
            refused: None,
            route_ns: None,
            batch_ns: None,
            build_ns: None,
            change_ns: None,
            heap_bytes: None,
            allocations_per_lookup: None,
        }
    }

    fn with_costs(self, cost: Option<&Cost>) -> Self {
        let Some(cost) = cost else { return self };
        Self {
            route_ns: Some(cost.route_ns),
            batch_ns: Some(cost.batch_ns),
            build_ns: Some(cost.build_ns),
            change_ns: cost.change_ns,
            heap_bytes: Some(cost.heap_bytes),
            allocations_per_lookup: cost.allocations_per_lookup,
            ..self
        }
    }
}

/// Many strategies side by side.
///
/// The fields are those of `hashroute compare --format json`.
///
/// ```
/// # use hashroute_harness::{Comparison, Contest, Keys, compare};
/// let comparison: Comparison = compare(&Contest::new(&Keys::default()), &mut |_, _| ());
/// assert!(comparison.rows.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What all of them faced.
    pub scenario: ScenarioSummary,
    /// One for each strategy, in the order asked for.
    pub rows: Vec<Row>,
}

/// Compare strategies. Every state is a fresh router, so that loads start from nothing. Before
/// each activity `progress` is told the strategy's name and the activity.
///
/// ```
/// use hashroute_harness::{Contest, Keys, compare};
/// use hashroute::strategy::{self, Params};
/// use hashroute::{Change, Node};
///
/// let keys = Keys::template("user:{i}", 0..1000)?;
/// let schemes: Vec<_> = strategy::ALL.iter().map(|scheme| (scheme, Params::default())).collect();
/// let contest = Contest::new(&keys)
///     .with_nodes(["a", "b", "c"].map(Node::new))
///     .with_add([Change::add("d")])
///     .with_remove([Change::remove("c")])
///     .with_schemes(schemes)
///     .with_costs(false);
/// let mut stages = 0;
/// let comparison = compare(&contest, &mut |_strategy, _stage| stages += 1);
/// let count = strategy::ALL.len();
/// assert_eq!((comparison.rows.len(), stages), (count, 3 * count));
/// assert!(comparison.rows.iter().all(|row| row.refused.is_none()));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn compare(contest: &Contest, progress: &mut dyn FnMut(&str, Activity)) -> Comparison {
    let mut nodes = contest.nodes.clone();
    nodes.sort_by(|a, b| a.name().cmp(b.name()));
    let yardstick = Yardstick::new(&nodes, contest.keys);
    let row = |entrant: &(&Scheme, Params)| {
        Entrant {
            contest,
            scheme: entrant.0,
            params: &entrant.1,
            yardstick: &yardstick,
        }
        .row(progress)
    };
    let rows: Vec<_> = contest.schemes.iter().map(row).collect();
    Comparison {
        scenario: summary(contest, &rows),
        rows,
    }
}

fn summary(contest: &Contest, rows: &[Row]) -> ScenarioSummary {
    let balances = rows.iter().filter_map(|row| row.balance.as_ref());
    let mut hashes: Vec<_> = balances.map(|balance| &*balance.hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let weights = contest.nodes.iter().map(|node| u64::from(node.weight()));
    ScenarioSummary {
        nodes: contest.nodes.len() as u64,
        total_weight: weights.sum(),
        keys: contest.keys.len() as u64,
        distinct_keys: contest.keys.distinct() as u64,
        hash: hashes.join(", "),
        add: change_texts(&contest.add),
        remove: change_texts(&contest.remove),
    }
}

/// How many flows a comparison lists for a change: all of 300 nodes that all send to each other.
const MOST_FLOWS: usize = 100_000;

/// One strategy that takes part.
struct Entrant<'a> {
    contest: &'a Contest<'a>,
    scheme: &'a Scheme,
    params: &'a Params,
    yardstick: &'a Yardstick,
}

impl Entrant<'_> {
    fn row(&self, progress: &mut dyn FnMut(&str, Activity)) -> Row {
        let mut refusals = Vec::new();
        let mut start = |activity: Activity| progress(self.scheme.name, activity);
        start(Activity::Balance);
        let base = keep(self.base(), "nodes", &mut refusals);
        let before = base.as_ref().map(|(_, assignment)| assignment);
        let mut moved = |kind: Activity, changes: &[Change]| {
            let before = before.filter(|_| !changes.is_empty())?;
            start(kind);
            keep(
                self.moved(before, changes),
                &kind.to_string(),
                &mut refusals,
            )
        };
        let add = moved(Activity::Add, &self.contest.add);
        let remove = moved(Activity::Remove, &self.contest.remove);
        let costs = base.as_ref().filter(|_| self.contest.costs).and_then(|_| {
            start(Activity::Cost);
            keep(self.cost(), "cost", &mut refusals)
        });
        let row = Row {
            balance: base.map(|(balance, _)| balance),
            add,
            remove,
            refused: in_words(&refusals),
            ..Row::of(self.scheme)
        };
        row.with_costs(costs.as_ref())
    }

    fn base(&self) -> Result<(Balance, Assignment), Error> {
        let keys = self.contest.keys;
        let router = self
            .scheme
            .build(self.contest.nodes.iter().cloned(), self.params)?;
        let assignment = Assignment::of(&*router, keys);
        let name = &scheme_name(self.scheme);
        let balance = self.yardstick.balance(name, &*router, keys, &assignment);
        if balance.unplaced > 0 && balance.nodes.iter().all(|node| node.keys == 0) {
            // Figures of nothing would look like those of a perfect strategy.
            return Err(Error::Unsupported {
                what: hashroute::Refusal::NoKeyPlaced,
                advice: "give keys that it routes, and a node with weight",
            });
        }
        Ok((balance, assignment))
    }

    fn moved(&self, before: &Assignment, changes: &[Change]) -> Result<Remap, Error> {
        let Contest { nodes, keys, .. } = self.contest;
        let scenario = Scenario {
            nodes: nodes.clone(),
            changes: changes.into(),
            keys,
        };
        let router = scenario.after(self.scheme, self.params)?;
        Ok(remap(before, &Assignment::of(&*router, keys), keys).shortened(MOST_FLOWS))
    }

    fn cost(&self) -> Result<Cost, Error> {
        let Contest {
            nodes,
            keys,
            allocations,
            ..
        } = self.contest;
        cost(self.scheme, self.params, nodes, keys, *allocations)
    }
}

/// What was refused, and why.
type Refusal = (String, Error);

/// The result, or a note of what was refused and why.
fn keep<T>(result: Result<T, Error>, what: &str, refusals: &mut Vec<Refusal>) -> Option<T> {
    result
        .map_err(|error| refusals.push((what.into(), error)))
        .ok()
}

/// Changes as text, each node that joins with its weight.
fn change_texts(changes: &[Change]) -> Vec<String> {
    let texts = changes.iter().map(|change| format!("{change:#}"));
    texts.collect()
}

/// `add, remove: why`: each reason once.
fn in_words(refusals: &[Refusal]) -> Option<String> {
    let words = refusals.chunk_by(|a, b| a.1 == b.1).map(|same| {
        let what: Vec<_> = same.iter().map(|(what, _)| &**what).collect();
        format!("{}: {}", what.join(", "), same[0].1)
    });
    (!refusals.is_empty()).then(|| words.collect::<Vec<_>>().join("; "))
}
