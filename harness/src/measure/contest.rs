//! Compares many strategies on the same scenario.

use serde::{Deserialize, Serialize};

use super::assignment::Assignment;
use super::balance::Balance;
use super::cost::{AllocationCounter, Cost, cost};
use super::remap::{Remap, remap};
use super::scenario::Scenario;
use super::sentences;
use super::yardstick::Yardstick;
use crate::keys::Keys;
use hashroute::registry::{Params, Scheme};
use hashroute::{Change, Error, Node, scheme_name};

/// A comparison to make: rows of the registry, each with its parameters, on the same nodes and
/// keys; and two kinds of changes to the nodes.
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
    /// The changes of the first kind, in order, from the start: usually, a node joins.
    pub add: Vec<Change>,
    /// The changes of the second kind, in order, from the start: usually, a node leaves.
    pub remove: Vec<Change>,
    /// The rows to compare.
    pub schemes: Vec<(&'a Scheme, Params)>,
    /// Whether to measure times and memory as well.
    pub costs: bool,
    /// Runs a closure and returns the number of its allocations, if the program counts them.
    pub allocations: Option<AllocationCounter<'a>>,
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
    /// Builds a comparison on these keys, with costs, still without nodes and rows.
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
    with_allocations(allocations: AllocationCounter<'a>),
}

/// The current activity of a comparison.
///
/// ```
/// assert_eq!(hashroute_harness::Activity::Balance.to_string(), "balance");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// Places keys on the nodes at the start.
    Balance,
    /// Places keys after the changes of the first kind.
    Add,
    /// Places keys after the changes of the second kind.
    Remove,
    /// Measures times.
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

/// A summary of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScenarioSummary {
    /// The number of nodes at the start.
    pub nodes: u64,
    /// The sum of their weights.
    pub total_weight: u64,
    /// The number of keys.
    pub keys: u64,
    /// The number of distinct keys.
    pub distinct_keys: u64,
    /// The names of the key hashes in use, each once.
    pub hash: String,
    /// The changes of the first kind, such as `add d=1`.
    pub add: Vec<String>,
    /// The changes of the second kind, such as `remove a`.
    pub remove: Vec<String>,
}

/// The results of one row. A result is `None` if the row refused it or it was not asked for.
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
    /// The same, under the name that other answers have for it.
    #[serde(default)]
    pub peers_share: String,
    /// The balance on the nodes at the start.
    pub balance: Option<Balance>,
    /// What the changes of the first kind move.
    pub add: Option<Remap>,
    /// What the changes of the second kind move.
    pub remove: Option<Remap>,
    /// What it refused, and why.
    pub refused: Option<String>,
    /// See [`Cost::route_ns`].
    pub route_ns: Option<f64>,
    /// See [`Cost::batch_ns`].
    pub batch_ns: Option<f64>,
    /// See [`Cost::build_ns`].
    pub build_ns: Option<f64>,
    /// See [`Cost::change_ns`].
    pub change_ns: Option<f64>,
    /// See [`Cost::heap_bytes`].
    pub heap_bytes: Option<u64>,
    /// See [`Cost::allocations_per_lookup`].
    pub allocations_per_lookup: Option<f64>,
}

impl Row {
    /// Builds a row without results.
    fn of(scheme: &Scheme) -> Self {
        Self {
            strategy: scheme_name(scheme),
            state: scheme.agree().name().into(),
            peers_share: scheme.agree().name().into(),
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

/// The results of many strategies on the same scenario.
///
/// The fields are those of `hashroute compare --format json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What all rows faced.
    pub scenario: ScenarioSummary,
    /// One row for each strategy, in the order asked for.
    pub rows: Vec<Row>,
}

/// Compares strategies. Every state is a new router, so that loads start at 0. Before each
/// activity, `progress` receives the strategy's name and the activity.
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
        add: sentences::changes(&contest.add),
        remove: sentences::changes(&contest.remove),
    }
}

/// The most flows that a comparison lists for a change: about those of 300 nodes that all send to
/// each other.
const MOST_FLOWS: usize = 100_000;

/// One row that takes part.
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
            refused: sentences::refusals(&refusals),
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
            // The figures of no keys would look like those of a perfect strategy.
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

/// Returns the result, or notes what was refused and why.
fn keep<T>(result: Result<T, Error>, what: &str, refusals: &mut Vec<Refusal>) -> Option<T> {
    result
        .map_err(|error| refusals.push((what.into(), error)))
        .ok()
}
