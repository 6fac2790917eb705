//! Where keys are placed.

use crate::keys::Keys;
use hashroute::{KeyHash, Node, NodeId, Nodes, Router};

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
