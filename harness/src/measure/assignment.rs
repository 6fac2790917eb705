//! Assigns keys to nodes.

use crate::keys::Keys;
use hashroute::{KeyHash, Node, NodeId, Nodes, Router};

/// Assigns a key to a node, and counts it there if the router keeps loads. Returns `None` for a key
/// that the router does not route, and if no node can take it.
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

/// Assigns a key as [`assign`] does, by its hash.
pub fn assign_hash(router: &dyn Router, key: KeyHash) -> Option<NodeId> {
    match router.loads() {
        Some(loads) => Some(loads.acquire_hash(key)?.node()),
        None => router.route_hash(key),
    }
}

/// Assigns every key, in order, and returns the owner of each as an id of this router. A router
/// that keeps loads counts the keys.
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

/// The owner of each key, by name, so that assignments of different routers can be compared.
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
    /// For each key, the index of its owner in `nodes`, or [`NOBODY`].
    owners: Vec<u32>,
}

/// The index of no node: ids are smaller.
const NOBODY: u32 = u32::MAX;

impl Assignment {
    /// Assigns all keys with a router.
    pub fn of(router: &dyn Router, keys: &Keys) -> Self {
        Self::new(router.nodes(), keys.iter().map(|key| assign(router, key)))
    }

    /// Builds the assignment in which these members own the keys, in order.
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

    /// Returns the members, in order of name.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Returns the owner of the key at an index, from 0.
    pub fn owner(&self, index: usize) -> Option<&Node> {
        self.nodes.get(*self.owners.get(index)? as usize)
    }

    /// Iterates over the keys: for each, the index of its owner in [`nodes`](Self::nodes).
    pub fn owners(&self) -> impl ExactSizeIterator<Item = Option<usize>> {
        self.owners
            .iter()
            .map(|&rank| (rank != NOBODY).then_some(rank as usize))
    }
}
