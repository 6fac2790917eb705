//! Rendezvous (highest random weight): every node draws a score for the key, the best wins.
//!
//! Thaler and Ravishankar, "A Name-Based Mapping Scheme for Rendezvous" (1996); exact weights
//! by the logarithm method: Schindelhauer and Schomaker, "Weighted Distributed Hash Tables"
//! (2005); Resch, "New Hashing Algorithms for Data Storage" (2015).
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | O(n), one logarithm for each distinct weight | 12 B a node | O(n) moves of 16 bytes |
//!
//! Peers must share the set of nodes with their weights.
//!
//! The score of a node is 32 bits mixed from the key and the hash of the name, read as a fraction
//! u of 2^32. The lowest -log2(u) / weight wins, compared exactly, as integers; then the highest
//! score; then the first name. Among equal weights that is the highest score, so the logarithm is
//! taken only to compare the best of one weight with the best of another. That a tie goes by name
//! favours a node by a share of about n / 2^32.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::{ControlFlow, Range};

use smallvec::SmallVec;

mod scores;

use self::scores::Seeds;
use super::{Agree, Caps, Excess, Leave, Strategy, Weights, seed};
use crate::log2::neg_log2;
use crate::{Change, Error, KeyHash, KeyHasher, Node, NodeId, Nodes, Router};

pub(super) const STRATEGY: Strategy = Strategy {
    name: "rendezvous",
    about: "highest random weight: exact weights, even shares, a full preference list",
    caps: Caps {
        weights: Weights::Any,
        leave: Leave::Any,
        agree: Agree::Set,
        excess: Excess::None,
    },
    params: &[],
    new: |nodes, params| {
        Ok(Box::new(
            Rendezvous::new(nodes)?.with_hasher(params.hasher()),
        ))
    },
};

/// Rendezvous hashing with exact weights.
///
/// The n best nodes are the preference list: when the owner leaves, its keys go to their
/// second choices, spread over all other nodes by weight.
///
/// ```
/// use hashroute::{Change, Node, Rendezvous, Router, Spread};
///
/// let mut router = Rendezvous::new(["a", "b", "c"].map(Node::new))?;
/// let key = router.hash_key(b"user:42");
/// let list = router.replicas(key, 2, Spread::Nodes);
/// let owner = router.nodes().name(list[0]).to_owned();
/// router.apply(&Change::remove(owner))?;
/// assert_eq!(router.route_hash(key), Some(list[1]));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rendezvous {
    nodes: Nodes,
    hasher: KeyHasher,
    // Parallel, in order of (weight, name), so that of equal scores the first is right.
    members: Vec<NodeId>,
    seeds: Seeds,
    groups: Vec<Group>,
}

/// The members of one weight: those up to `end` that are in no group before.
#[derive(Clone, Copy, Debug)]
struct Group {
    weight: u32,
    end: usize,
}

/// A node with its score for a key.
#[derive(Clone, Copy)]
struct Candidate {
    score: u32,
    /// -log2 of the score; 0 while all weights are equal and nobody asks.
    log: u64,
    weight: u32,
    id: NodeId,
}

impl Rendezvous {
    /// A router over these nodes; the order does not matter.
    ///
    /// # Errors
    /// As [`Nodes::new`].
    ///
    /// ```
    /// # use hashroute::{Node, Rendezvous, Router};
    /// let router = Rendezvous::new([Node::new("a"), Node::new("drained").with_weight(0)])?;
    /// assert_eq!(router.route(b"key").map(Node::name), Some("a"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(nodes: impl IntoIterator<Item = Node>) -> Result<Self, Error> {
        let nodes = Nodes::sorted(nodes)?;
        let mut live: Vec<_> = nodes.iter().filter(|(_, node)| node.weight() > 0).collect();
        live.sort_by_key(|(_, node)| node.weight()); // stable: names stay in order
        let seeds = live.iter().map(|(_, node)| seed(node.name())).collect();
        let members = live.iter().map(|(id, _)| *id).collect();
        let mut groups: Vec<Group> = Vec::new();
        for (weight, end) in live.iter().map(|(_, node)| node.weight()).zip(1..) {
            match groups.last_mut().filter(|group| group.weight == weight) {
                Some(group) => group.end = end,
                None => groups.push(Group { weight, end }),
            }
        }
        Ok(Self {
            nodes,
            hasher: KeyHasher::default(),
            members,
            seeds,
            groups,
        })
    }

    /// The same router for keys hashed by another function.
    ///
    /// ```
    /// # use hashroute::{KeyHasher, Node, Rendezvous};
    /// let router = Rendezvous::new([Node::new("a")])?.with_hasher(KeyHasher::sip13([7; 16]));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    fn insert(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get(id).filter(|node| node.weight() > 0) else {
            return;
        };
        let weight = node.weight();
        let before = |other: &NodeId| {
            (self.nodes.weight(*other), self.nodes.name(*other)) < (weight, node.name())
        };
        let at = self.members.partition_point(before);
        self.members.insert(at, id);
        self.seeds.insert(at, seed(node.name()));
        let group = self.groups.partition_point(|group| group.weight < weight);
        if self
            .groups
            .get(group)
            .is_none_or(|group| group.weight > weight)
        {
            self.groups.insert(group, Group { weight, end: at });
        }
        self.groups[group..]
            .iter_mut()
            .for_each(|group| group.end += 1);
    }

    fn remove(&mut self, id: NodeId) {
        let Some(at) = self.members.iter().position(|member| *member == id) else {
            return;
        };
        self.members.remove(at);
        self.seeds.remove(at);
        let group = self.groups.partition_point(|group| group.end <= at);
        self.groups[group..]
            .iter_mut()
            .for_each(|group| group.end -= 1);
        let start = group
            .checked_sub(1)
            .map_or(0, |before| self.groups[before].end);
        if self.groups[group].end == start {
            self.groups.remove(group);
        }
    }

    /// Each weight with its members.
    fn groups(&self) -> impl Iterator<Item = (u32, Range<usize>)> {
        let starts = core::iter::once(0).chain(self.groups.iter().map(|group| group.end));
        self.groups
            .iter()
            .zip(starts)
            .map(|(group, start)| (group.weight, start..group.end))
    }

    fn candidate(&self, score: u32, weight: u32, at: usize) -> Candidate {
        let log = if self.groups.len() > 1 {
            neg_log2(score)
        } else {
            0
        };
        Candidate {
            score,
            log,
            weight,
            id: self.members[at],
        }
    }

    /// The order of preference, the best first: total, and the same in every process.
    fn order(&self, a: &Candidate, b: &Candidate) -> Ordering {
        let costs = |of: &Candidate, by: &Candidate| u128::from(of.log) * u128::from(by.weight);
        let by_log = if a.weight == b.weight {
            Ordering::Equal
        } else {
            costs(a, b).cmp(&costs(b, a))
        };
        by_log
            .then_with(|| b.score.cmp(&a.score))
            .then_with(|| self.nodes.name(a.id).cmp(self.nodes.name(b.id)))
    }

    /// The best `limit` of those that come after `last`, into `best`.
    fn select(&self, key: KeyHash, last: Option<&Candidate>, limit: usize, best: &mut Best) {
        best.clear();
        for (weight, range) in self.groups() {
            for at in range {
                let candidate = self.candidate(self.seeds.score(at, key.get()), weight, at);
                if last.is_some_and(|last| self.order(last, &candidate).is_ge())
                    || (best.len() == limit && self.order(&best[limit - 1], &candidate).is_le())
                {
                    continue;
                }
                best.truncate(limit - 1);
                let at = best.partition_point(|other| self.order(other, &candidate).is_lt());
                best.insert(at, candidate);
            }
        }
    }
}

/// Enough room on the stack that a walk never allocates.
type Best = SmallVec<[Candidate; LONG_STRIDE]>;

/// A walk mostly ends within a few nodes, so it looks for a few first, then for many at a time.
const SHORT_STRIDE: usize = 8;
const LONG_STRIDE: usize = 128;

impl Router for Rendezvous {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn hasher(&self) -> Option<&KeyHasher> {
        Some(&self.hasher)
    }

    #[inline]
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        let best_of = |(weight, range)| {
            let (score, at) = self.seeds.best(range, key.get());
            self.candidate(score, weight, at)
        };
        self.groups()
            .map(best_of)
            .min_by(|a, b| self.order(a, b))
            .map(|best| best.id)
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
        let mut stride = SHORT_STRIDE;
        loop {
            self.select(key, last.as_ref(), stride, &mut best);
            if best
                .iter()
                .try_for_each(|candidate| visit(candidate.id))
                .is_break()
                || best.len() < stride
            {
                return;
            }
            last = best.last().copied();
            stride = LONG_STRIDE;
        }
    }

    fn explain(&self, key: KeyHash) -> Vec<(&'static str, String)> {
        let mut best = Best::new();
        self.select(key, None, 2, &mut best);
        let score = |candidate: &Candidate| {
            let name = self.nodes.name(candidate.id);
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
            + self.groups.capacity() * size_of::<Group>()
            + self.seeds.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_go_to_the_first_name() -> Result<(), Error> {
        let mut router = Rendezvous::new(["a", "b"].map(Node::new))?;
        router.seeds = [7, 7].into_iter().collect();
        let owner = router
            .route_hash(KeyHash::from_raw(1))
            .map(|id| router.nodes.name(id));
        assert_eq!(owner, Some("a"));
        let mut walked = Vec::new();
        router.walk(KeyHash::from_raw(1), &mut |id| {
            walked.push(router.nodes.name(id));
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
        router.select(KeyHash::from_raw(5), None, 1000, &mut best);
        assert_eq!(
            walked,
            best.iter()
                .map(|candidate| candidate.id)
                .collect::<Vec<_>>()
        );
        assert_eq!(walked.len(), 300);
        Ok(())
    }
}
