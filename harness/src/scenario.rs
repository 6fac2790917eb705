//! One scenario for any strategy: nodes, changes, keys; and where the keys are placed.

use std::boxed::Box;
use std::vec;
use std::vec::Vec;

use super::{Keys, Remap, remap};
use hashroute::registry::{Params, Scheme};
use hashroute::{Change, Error, KeyHash, Node, NodeId, Nodes, Router};

/// Nodes, keys on them, and changes to the nodes: the same for every strategy.
///
/// ```
/// use hashroute_harness::{Keys, Scenario};
/// use hashroute::registry::Params;
/// use hashroute::strategy;
/// use hashroute::{Change, Node};
///
/// let keys = Keys::template("user:{i}", 0..10_000)?;
/// let scenario = Scenario::new(["a", "b", "c"].map(Node::new), &keys).with_changes([Change::add("d")]);
/// let remap = scenario.remap(strategy::find("rendezvous")?, &Params::default())?;
/// assert_eq!(remap.excess, 0);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scenario<'a> {
    /// The nodes at the start.
    pub nodes: Vec<Node>,
    /// What happens to them, in order.
    pub changes: Vec<Change>,
    /// The keys.
    pub keys: &'a Keys,
}

impl<'a> Scenario<'a> {
    /// These keys on these nodes, without changes yet.
    ///
    /// ```
    /// # use hashroute::Node;
    /// # use hashroute_harness::{Keys, Scenario};
    /// assert_eq!(Scenario::new([Node::new("a")], &Keys::default()).nodes.len(), 1);
    /// ```
    pub fn new(nodes: impl IntoIterator<Item = Node>, keys: &'a Keys) -> Self {
        Self {
            nodes: nodes.into_iter().collect(),
            changes: Vec::new(),
            keys,
        }
    }

    /// A fresh router over the nodes at the start.
    ///
    /// # Errors
    /// As [`Scheme::build`].
    ///
    /// ```
    /// # use hashroute::{Node, Router, strategy::{self, Params}};
    /// # use hashroute_harness::{Keys, Scenario};
    /// let keys = Keys::default();
    /// let router = Scenario::new([Node::new("a")], &keys).before(strategy::find("ring")?, &Params::default())?;
    /// assert_eq!(router.nodes().len(), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn before(&self, scheme: &Scheme, params: &Params) -> Result<Box<dyn Router>, Error> {
        scheme.build(self.nodes.iter().cloned(), params)
    }

    /// A fresh router over the nodes at the start, to which the changes were then made. It holds
    /// no load yet.
    ///
    /// # Errors
    /// As [`Scheme::build`] and [`Router::apply`].
    ///
    /// ```
    /// # use hashroute::{Change, Node, Router, strategy::{self, Params}};
    /// # use hashroute_harness::{Keys, Scenario};
    /// let keys = Keys::default();
    /// let mut scenario = Scenario::new(["a", "b"].map(Node::new), &keys);
    /// scenario.changes.push(Change::remove("a"));
    /// assert_eq!(scenario.after(strategy::find("ring")?, &Params::default())?.nodes().len(), 1);
    /// assert!(scenario.after(strategy::find("jump")?, &Params::default()).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn after(&self, scheme: &Scheme, params: &Params) -> Result<Box<dyn Router>, Error> {
        let mut router = self.before(scheme, params)?;
        self.changes
            .iter()
            .try_for_each(|change| router.apply(change))?;
        Ok(router)
    }

    /// What the changes move. Assigns all keys twice.
    ///
    /// # Errors
    /// As [`after`](Self::after).
    ///
    /// ```
    /// # use hashroute::{Node, strategy::{self, Params}};
    /// # use hashroute_harness::{Keys, Scenario};
    /// let keys = Keys::template("{i}", 0..100)?;
    /// let remap = Scenario::new([Node::new("a")], &keys).remap(strategy::find("ring")?, &Params::default())?;
    /// assert_eq!((remap.keys, remap.moved), (100, 0));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn remap(&self, scheme: &Scheme, params: &Params) -> Result<Remap, Error> {
        let before = Assignment::of(&*self.before(scheme, params)?, self.keys);
        let after = Assignment::of(&*self.after(scheme, params)?, self.keys);
        Ok(remap(&before, &after, self.keys))
    }
}

builder! { Scenario<'a>: with_changes(changes: impl Into<Vec<Change>>) }

/// Assigns one key to a node, and counts it there where the router keeps loads. `None` when no node
/// can take it, and for a key that the router does not route.
///
/// ```
/// use hashroute::{registry::Params, strategy};
/// use hashroute_harness as harness;
///
/// let ring = strategy::find("ring")?.build(["a", "b"], &Params::default())?;
/// assert!(harness::assign(&*ring, b"user:42").is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn assign(router: &dyn Router, key: &[u8]) -> Option<NodeId> {
    assign_hash(router, router.hash_key(key)?)
}

/// As [`assign`], for a key that is hashed already.
pub fn assign_hash(router: &dyn Router, key: KeyHash) -> Option<NodeId> {
    match router.loads() {
        Some(loads) => Some(loads.acquire_hash(key)?.node()),
        None => router.route_hash(key),
    }
}

/// Assigns every key, in order, and returns the owner of each, by the router's own ids. A router that keeps
/// loads counts them.
///
/// ```
/// use hashroute::{BoundedLoad, Loads, Node, Ring};
/// use hashroute_harness as harness;
/// use hashroute_harness::Keys;
///
/// let bounded = BoundedLoad::new(Ring::new(["a", "b"].map(Node::new))?, 1.25)?;
/// let owners = harness::assign_all(&bounded, &Keys::template("{i}", 0..100)?);
/// assert_eq!((owners.len(), bounded.total_load()), (100, 100));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn assign_all(router: &dyn Router, keys: &Keys) -> Vec<Option<NodeId>> {
    keys.iter().map(|key| assign(router, key)).collect()
}

/// Which node holds each key, by name: assignments of different routers can be compared.
///
/// ```
/// use hashroute_harness::{Keys, Assignment};
/// use hashroute::{Jump, Node, Router};
///
/// let shards = Jump::new(["b", "a"].map(Node::new))?;
/// let assignment = Assignment::of(&shards, &Keys::template("user:{i}", 0..10)?);
/// assert_eq!(assignment.len(), 10);
/// assert_eq!(assignment.owner(0).map(Node::name), shards.route(b"user:0").map(Node::name));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    nodes: Vec<Node>,
    /// By key: the index of its owner in `nodes`, or [`NOBODY`].
    owners: Vec<u32>,
}

/// No node has this index: ids end one before.
const NOBODY: u32 = u32::MAX;

impl Assignment {
    /// Assigns all keys with a router.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::{Keys, Assignment};
    /// let assignment = Assignment::of(&Ring::new([] as [Node; 0])?, &Keys::template("{i}", 0..3)?);
    /// assert!(assignment.owners().all(|owner| owner.is_none()));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn of(router: &dyn Router, keys: &Keys) -> Self {
        Self::new(router.nodes(), keys.iter().map(|key| assign(router, key)))
    }

    /// The assignment in which these members own the keys, in order.
    ///
    /// ```
    /// # use hashroute::{Node, Nodes};
    /// # use hashroute_harness::Assignment;
    /// let nodes = Nodes::new(["b", "a"].map(Node::new))?;
    /// let assignment = Assignment::new(&nodes, [nodes.id("b"), None]);
    /// assert!(assignment.owners().eq([Some(1), None])); // in order of name
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(nodes: &Nodes, owners: impl IntoIterator<Item = Option<NodeId>>) -> Self {
        let mut ranks = vec![NOBODY; nodes.id_bound()];
        for ((id, _), rank) in nodes.iter().zip(0..) {
            ranks[id.index()] = rank;
        }
        let rank = |id: NodeId| ranks.get(id.index()).copied().unwrap_or(NOBODY);
        Self {
            nodes: nodes.iter().map(|(_, node)| node.clone()).collect(),
            owners: owners
                .into_iter()
                .map(|owner| owner.map_or(NOBODY, rank))
                .collect(),
        }
    }

    /// The members, in order of name.
    ///
    /// ```
    /// # use hashroute::Nodes;
    /// # use hashroute_harness::Assignment;
    /// assert!(Assignment::new(&Nodes::default(), []).nodes().is_empty());
    /// ```
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many keys there are.
    ///
    /// ```
    /// # use hashroute::Nodes;
    /// # use hashroute_harness::Assignment;
    /// assert_eq!(Assignment::new(&Nodes::default(), [None]).len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether there is no key.
    ///
    /// ```
    /// # use hashroute::Nodes;
    /// # use hashroute_harness::Assignment;
    /// assert!(Assignment::new(&Nodes::default(), []).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// The node that holds the key at an index, from 0.
    ///
    /// ```
    /// # use hashroute::Nodes;
    /// # use hashroute_harness::Assignment;
    /// assert_eq!(Assignment::new(&Nodes::default(), [None]).owner(0), None);
    /// ```
    pub fn owner(&self, index: usize) -> Option<&Node> {
        self.nodes.get(*self.owners.get(index)? as usize)
    }

    /// By key, the index of its owner in [`nodes`](Self::nodes).
    ///
    /// ```
    /// # use hashroute::{Node, Nodes};
    /// # use hashroute_harness::Assignment;
    /// let nodes = Nodes::new([Node::new("a")])?;
    /// assert!(Assignment::new(&nodes, [nodes.id("a")]).owners().eq([Some(0)]));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn owners(&self) -> impl ExactSizeIterator<Item = Option<usize>> {
        self.owners
            .iter()
            .map(|&rank| (rank != NOBODY).then_some(rank as usize))
    }
}
