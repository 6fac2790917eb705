//! Rendezvous hashing, also called highest random weight (HRW): every node draws a score for the
//! key, and the node with the best score owns it.
//!
//! Thaler and Ravishankar, "A Name-Based Mapping Scheme for Rendezvous" (1996); exact weights
//! by the logarithm method: Schindelhauer and Schomaker, "Weighted Distributed Hash Tables"
//! (2005); Resch, "New Hashing Algorithms for Data Storage" (2015).
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | O(n), a third of a nanosecond a node | 20 B a node | O(n) moves of 20 bytes |
//!
//! A preference list takes the passes of a few lookups if it is complete within the next few hundred
//! nodes, as nearly all lists are. It takes O(n log n) in any case: also if it holds most nodes, or
//! if another zone is one light node among many. A walk over all nodes has no room to sort them and
//! takes n / 512 passes.
//!
//! Peers must share the set of nodes with their weights.
//!
//! The score of a node is 32 bits, mixed from the key and the hash of the name, and read as a
//! fraction u of 2^32. The node with the lowest cost -log2(u) / weight wins. Costs are compared
//! exactly, as integers; ties go to the highest score, then to the first name. Among equal weights
//! the highest score has the lowest cost. So a lookup takes a logarithm only for the best node of
//! each weight or, if there are many weights, for the few nodes that an estimate cannot separate.
//! Ties by name favour a node by a share of about n / 2^32.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use core::ops::ControlFlow;

mod lanes;
mod lists;
pub(super) mod scores;

use self::scores::{Best, Candidate, Draws, FAR_STRIDE, Far, LONG_STRIDE, halves};
use super::seed;
use crate::digest::Digest;
use crate::registry::{Caps, Scheme};
use crate::{
    Change, Error, Explanation, HashId, KeyHash, KeyHasher, Node, NodeId, NodeList, Nodes, Router,
    Spread,
};

pub(super) const STRATEGY: Scheme = Scheme::strategy(
    "rendezvous",
    "highest random weight: exact weights, even shares, a full preference list",
    Caps::SET,
    |nodes, params| {
        Ok(Box::new(
            Rendezvous::new(nodes)?.with_hasher(params.hasher()),
        ))
    },
);

/// Rendezvous hashing with exact weights.
///
/// The n best nodes are the preference list of a key. If the owner leaves, its keys go to their
/// second choices, which are spread over all other nodes by weight.
///
/// ```
/// use hashroute::{Change, Rendezvous, Router, RouterExt, Spread};
///
/// let mut router = Rendezvous::new(["a", "b", "c"])?;
/// let list = router.replicas(b"user:42", 2, Spread::Nodes);
/// let owner = router.nodes().name(list[0]).expect("a member").to_owned();
/// router.apply(&Change::remove(owner))?;
/// assert_eq!(router.owner(b"user:42"), Some(list[1]));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone)]
pub struct Rendezvous {
    nodes: Nodes,
    hasher: KeyHasher,
    // The nodes with weight, in their `order`, and the seeds of their scores.
    members: Vec<NodeId>,
    draws: Draws,
}

impl fmt::Debug for Rendezvous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            nodes,
            hasher,
            members,
            draws,
        } = self;
        f.debug_struct("Rendezvous")
            .field("nodes", nodes)
            .field("hasher", hasher)
            .field("members", &Digest(members.len(), (members, draws)))
            .finish()
    }
}

impl Rendezvous {
    /// Builds a router over these nodes. Their order does not matter. O(n log n).
    ///
    /// # Errors
    /// The errors of [`Nodes::new`].
    pub fn new(nodes: impl IntoIterator<Item = impl Into<Node>>) -> Result<Self, Error> {
        let nodes = Nodes::sorted(nodes)?;
        let mut weighted: Vec<_> = nodes.iter().filter(|(_, node)| node.weight() > 0).collect();
        // Stable, so that equal weights stay in order of name.
        weighted.sort_by_key(|(_, node)| Reverse(node.weight()));
        let draws = weighted
            .iter()
            .map(|(_, node)| (seed(node.name()), node.weight()))
            .collect();
        let members = weighted.iter().map(|(id, _)| *id).collect();
        Ok(Self {
            nodes,
            hasher: KeyHasher::default(),
            members,
            draws,
        })
    }

    /// Sets the hash function for keys.
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    fn insert(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get(id).filter(|node| node.weight() > 0) else {
            return;
        };
        let at = self.index_of(node);
        self.members.insert(at, id);
        self.draws.insert(at, seed(node.name()), node.weight());
    }

    /// Returns the index of a node among the members, or the index to insert it at.
    fn index_of(&self, node: &Node) -> usize {
        self.members.partition_point(|id| {
            let other = self.nodes.get(*id);
            other.is_some_and(|other| order(other) < order(node))
        })
    }

    fn remove(&mut self, id: NodeId) {
        if let Some(at) = self.members.iter().position(|member| *member == id) {
            self.members.remove(at);
            self.draws.remove(at);
        }
    }
}

impl Rendezvous {
    /// Goes on with a walk. Apart from it, so that short walks need no large stack.
    #[inline(never)]
    fn walk_far(
        &self,
        key: KeyHash,
        mut last: Option<Candidate>,
        visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>,
    ) {
        let mut far = Far::new();
        while let Some(candidate) = last {
            self.draws
                .select_far(halves(key.get()), &candidate, &mut far);
            let flow = far
                .iter()
                .try_for_each(|candidate| visit(self.members[candidate.at]));
            if flow.is_break() || far.len() < FAR_STRIDE {
                return;
            }
            last = far.last().copied();
        }
    }
}

/// Sorts the heaviest nodes first, and equal weights in order of name.
fn order(node: &Node) -> (Reverse<u32>, &str) {
    (Reverse(node.weight()), node.name())
}

/// The number of nodes that a walk selects first. Most walks end within a few nodes; a longer walk
/// goes on with `LONG_STRIDE` nodes, then `FAR_STRIDE` at a time. Each selection costs a pass over
/// all nodes.
const SHORT_STRIDE: usize = 8;

impl Router for Rendezvous {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    #[expect(clippy::inline_always, reason = "a call costs a third of the hash")]
    #[inline(always)]
    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        self.hasher.spread_some(key)
    }

    fn hash_id(&self) -> HashId {
        HashId::Spread(self.hasher.clone())
    }

    #[inline]
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        let at = self.draws.best(key.get())?;
        self.members.get(at).copied()
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let id = self.nodes.apply(change)?;
        self.remove(id);
        self.insert(id);
        Ok(())
    }

    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let mut best = Best::new();
        let mut last = None;
        for stride in [SHORT_STRIDE, LONG_STRIDE] {
            self.draws
                .select(halves(key.get()), last.as_ref(), stride, &mut best);
            if best
                .iter()
                .try_for_each(|candidate| visit(self.members[candidate.at]))
                .is_break()
                || best.len() < stride
            {
                return;
            }
            last = best.last().copied();
        }
        self.walk_far(key, last, visit);
    }

    fn replicas_into(&self, key: KeyHash, n: usize, spread: Spread, out: &mut NodeList) {
        self.list(key, n, spread, out);
    }

    fn explain(&self, key: KeyHash) -> Explanation {
        let mut best = Best::new();
        self.draws.select(halves(key.get()), None, 2, &mut best);
        let score = |candidate: &Candidate| {
            let name = self
                .nodes
                .name(self.members[candidate.at])
                .unwrap_or_default();
            alloc::format!(
                "{:#010x} by {name}, weight {}",
                candidate.score,
                candidate.weight
            )
        };
        ["best score", "next score"]
            .into_iter()
            .zip(best.iter().map(score))
            .collect()
    }

    fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes()
            + self.members.capacity() * size_of::<NodeId>()
            + self.draws.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_go_to_the_first_name() -> Result<(), Error> {
        // By name, not by id: "a" joined later and has the higher id.
        let mut router = Rendezvous::new([Node::new("b")])?;
        router.apply(&Change::Add(Node::new("a")))?;
        router.draws = [(7, 1), (7, 1)].into_iter().collect();
        let owner = router
            .route_hash(KeyHash::from_raw(1))
            .and_then(|id| router.nodes.name(id));
        assert_eq!(owner, Some("a"));
        let mut walked = Vec::new();
        router.walk(KeyHash::from_raw(1), &mut |id| {
            walked.extend(router.nodes.name(id));
            ControlFlow::Continue(())
        });
        assert_eq!(walked, ["a", "b"]);
        Ok(())
    }

    #[test]
    fn a_long_walk_offers_each_node_once_in_order() -> Result<(), Error> {
        let nodes = (0..300_u32).map(|i| Node::new(alloc::format!("n{i}")).with_weight(1 + i % 3));
        let router = Rendezvous::new(nodes)?;
        let mut walked = Vec::new();
        router.walk(KeyHash::from_raw(5), &mut |id| {
            walked.push(id);
            ControlFlow::Continue(())
        });
        let mut best = Best::new();
        router.draws.select((5, 0), None, 1000, &mut best);
        assert_eq!(
            walked,
            best.iter()
                .map(|candidate| router.members[candidate.at])
                .collect::<Vec<_>>()
        );
        assert_eq!(walked.len(), 300);
        Ok(())
    }
}
