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
//! The score of a node is x = mix64(key ^ xxh3(name)), read as a fraction u of 2^64. The lowest
//! -log2(u) / weight wins, compared exactly, as integers; then the highest x; then the first
//! name. Among equal weights that is the highest x, so the logarithm is taken only to compare
//! the best of one weight with the best of another.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::ControlFlow;

use smallvec::SmallVec;

use super::{Agree, Caps, Excess, Leave, Strategy, Weights, seed};
use crate::hash::mix64;
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
    // By weight; inside, by name, so that of equal scores the first is right.
    groups: Vec<Group>,
}

#[derive(Clone, Debug)]
struct Group {
    weight: u32,
    members: Vec<Member>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    seed: u64,
    id: NodeId,
}

impl Member {
    #[inline]
    fn score(self, key: KeyHash) -> u64 {
        mix64(key.get() ^ self.seed)
    }
}

/// A node with its score for a key.
#[derive(Clone, Copy)]
struct Candidate {
    score: u64,
    // -log2 of the score; 0 while all weights are equal and nobody asks.
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
        let groups = live
            .chunk_by(|(_, a), (_, b)| a.weight() == b.weight())
            .map(|chunk| Group {
                weight: chunk[0].1.weight(),
                members: chunk
                    .iter()
                    .map(|&(id, node)| Member {
                        seed: seed(node.name()),
                        id,
                    })
                    .collect(),
            });
        Ok(Self {
            groups: groups.collect(),
            hasher: KeyHasher::default(),
            nodes,
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
        let member = Member {
            seed: seed(node.name()),
            id,
        };
        match self
            .groups
            .binary_search_by_key(&node.weight(), |group| group.weight)
        {
            Ok(at) => {
                let members = &mut self.groups[at].members;
                let rank = members.partition_point(|other| self.nodes.name(other.id) < node.name());
                members.insert(rank, member);
            }
            Err(at) => self.groups.insert(
                at,
                Group {
                    weight: node.weight(),
                    members: vec![member],
                },
            ),
        }
    }

    fn remove(&mut self, id: NodeId) {
        for group in &mut self.groups {
            group.members.retain(|member| member.id != id);
        }
        self.groups.retain(|group| !group.members.is_empty());
    }

    fn candidate(&self, group: &Group, member: Member, key: KeyHash) -> Candidate {
        let score = member.score(key);
        let log = if self.groups.len() > 1 {
            neg_log2(score)
        } else {
            0
        };
        Candidate {
            score,
            log,
            weight: group.weight,
            id: member.id,
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
        for group in &self.groups {
            for &member in &group.members {
                let candidate = self.candidate(group, member, key);
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
        let best_of = |group: &Group| {
            let mut members = group
                .members
                .iter()
                .map(|&member| (member.score(key), member));
            let first = members.next()?;
            let (_, best) = members.fold(
                first,
                |best, next| if next.0 > best.0 { next } else { best },
            );
            Some(self.candidate(group, best, key))
        };
        let best = self
            .groups
            .iter()
            .filter_map(best_of)
            .min_by(|a, b| self.order(a, b))?;
        Some(best.id)
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
                "{:#018x} by {name}, weight {}",
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
        let members = self
            .groups
            .iter()
            .map(|group| group.members.capacity() * size_of::<Member>());
        self.nodes.heap_bytes()
            + self.groups.capacity() * size_of::<Group>()
            + members.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_go_to_the_first_name() -> Result<(), Error> {
        let mut router = Rendezvous::new(["a", "b"].map(Node::new))?;
        for member in &mut router.groups[0].members {
            member.seed = 7;
        }
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
