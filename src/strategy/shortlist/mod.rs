//! Shortlist: rendezvous hashing for large clusters. The cost of a lookup does not grow with the
//! number of nodes.
//!
//! The rule is rendezvous with exact weights (Thaler and Ravishankar 1996; Schindelhauer and
//! Schomaker 2005). Every node has a score that depends only on the key and on its own name, and
//! the lowest -log2(score) / weight wins. So a change moves keys only to or from its node. Here the
//! scores have a form that can be searched. Local Rendezvous Hashing (Guan, arXiv 2512.23434) also
//! compares only nodes near the key.
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | O(1) expected for each power of two among the weights, compares about 300 nodes | 150 to 260 B a node | O(n) moves of 130 bytes |
//!
//! Peers must share the set of nodes with their weights.
//!
//! A score has 32 bits. A node is on the list of a key if its hash with the key begins with seven
//! ones, which holds for one node in 128. The score of a node on the list also begins with seven
//! ones. Its other bits give the distance of the node from a probe of the key, as the XOR of their
//! positions; a nearer node has a higher score. The score of any other node is its hash. So every
//! score is evenly distributed, as in rendezvous. The best node is usually the nearest on the list.
//! The search goes outwards from the probes until no farther node can win. If the list is empty,
//! all nodes are compared. The answer is always that of the rule.
//!
//! The price is independence: two neighbours take a little more from each other than from other
//! nodes. To even this out, a key has a probe in each quarter of the nodes, and uses one of eight
//! orders without common neighbours. The share of a node then deviates from w / W by about
//! 1 / (2 sqrt(128 * 4 * 8)); the measured coefficient of variation over the nodes is 0.7 %. Up to
//! some hundred nodes it is smaller, because most keys have an empty list.
//!
//! A tree of clusters, each with the weight of its nodes, would not do: a cluster that gains a node
//! also draws keys to its other nodes, nearly one for each key that moves to the new node.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};
use core::fmt;

mod blocks;
mod class;
mod order;

use self::class::Class;
use super::rendezvous::scores::{halves, score as hash};
use super::seed;
use crate::digest::Digest;
use crate::hash::log2::neg_log2;
use crate::hash::mix64;
use crate::registry::{Caps, Scheme};
use crate::{Change, Error, Explanation, HashId, KeyHash, KeyHasher, Node, NodeId, Nodes, Router};

pub(super) const STRATEGY: Scheme = Scheme::strategy(
    "shortlist",
    "rendezvous for large clusters: a lookup of constant cost, nearly even shares",
    Caps::SET,
    |nodes, params| {
        Ok(Box::new(
            Shortlist::new(nodes)?.with_hasher(params.hasher()),
        ))
    },
);

/// The number of leading ones of a score on the list of a key: one node in 2^7 is on it.
const LISTED: u32 = 7;

/// The number of bits that select a part of an order. A key has a probe in each part.
const PART_BITS: u32 = 2;
const PARTS: usize = 1 << PART_BITS;

/// The number of orders. A key uses one of them.
const ORDERS: u64 = 8;

/// Rendezvous hashing for large clusters.
///
/// The cost of a lookup does not depend on the number of nodes. Below some hundred nodes
/// [`Rendezvous`](crate::Rendezvous) is faster. A change moves keys only to or from its node.
/// Shares follow the weights, with a coefficient of variation of about 0.7 % over the nodes. A
/// replica costs a lookup, or several if few nodes have most of the weight.
///
/// ```
/// use hashroute::{Change, Router, Shortlist};
///
/// let mut router = Shortlist::new((0..10_000).map(|i| format!("node-{i}")))?;
/// let before = router.route(b"user:42").map(|node| node.name().to_owned());
/// router.apply(&Change::add("one more"))?;
/// let after = router.route(b"user:42").map(|node| node.name());
/// assert!(after == before.as_deref() || after == Some("one more"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone)]
pub struct Shortlist {
    nodes: Nodes,
    hasher: KeyHasher,
    /// The class with the largest total weight comes first: its best node is usually the best of
    /// all, and a good first node lets the search of the other classes stop early.
    classes: Vec<Class>,
}

impl fmt::Debug for Shortlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            nodes,
            hasher,
            classes,
        } = self;
        f.debug_struct("Shortlist")
            .field("nodes", nodes)
            .field("hasher", hasher)
            .field("classes", &Digest(classes.len(), classes))
            .finish()
    }
}

/// A node with weight.
#[derive(Clone, Copy, Debug)]
struct Member {
    id: NodeId,
    weight: u32,
}

/// The numbers that a key draws once for all nodes.
struct Probes {
    key: u64,
    /// The index of the order that the key uses.
    order: usize,
    /// The position of the probe in each part of the order.
    positions: [u32; PARTS],
}

/// A node with its score for a key.
#[derive(Clone, Copy)]
struct Candidate {
    score: u32,
    member: Member,
}

impl Shortlist {
    /// Builds a router over these nodes. Their order does not matter. O(n log n).
    ///
    /// # Errors
    /// The errors of [`Nodes::new`].
    pub fn new(nodes: impl IntoIterator<Item = impl Into<Node>>) -> Result<Self, Error> {
        let nodes = Nodes::sorted(nodes)?;
        let weighted = nodes.iter().filter(|(_, node)| node.weight() > 0);
        let mut weighted: Vec<_> = weighted
            .map(|(id, node)| {
                let weight = node.weight();
                (seed(node.name()), Member { id, weight })
            })
            .collect();
        weighted.sort_by_key(|(_, member)| member.weight.ilog2()); // stable: names stay in order
        let classes = weighted
            .chunk_by(|(_, a), (_, b)| a.weight.ilog2() == b.weight.ilog2())
            .map(|nodes| Class::new(nodes[0].1.weight.ilog2(), nodes))
            .collect();
        let mut router = Self {
            nodes,
            hasher: KeyHasher::default(),
            classes,
        };
        router.sort();
        Ok(router)
    }

    /// Sets the hash function for keys.
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    fn sort(&mut self) {
        self.classes
            .sort_by_key(|class| Reverse((class.total, class.octave)));
    }

    fn insert(&mut self, seed: u64, member: Member) {
        let Some(octave) = member.weight.checked_ilog2() else {
            return;
        };
        match self.classes.iter_mut().find(|class| class.octave == octave) {
            Some(class) => class.insert(seed, member),
            None => self.classes.push(Class::new(octave, &[(seed, member)])),
        }
    }

    fn remove(&mut self, seed: u64, member: Member) {
        let octave = member.weight.checked_ilog2();
        let mut classes = self.classes.iter_mut();
        if let Some(class) = classes.find(|class| Some(class.octave) == octave) {
            class.remove(seed, member.id);
        }
        self.classes.retain(|class| class.total > 0);
    }

    /// Compares by preference, the best first. The order is total and the same in every process.
    fn order(&self, a: &Candidate, b: &Candidate) -> Ordering {
        let cost = |of: &Candidate, by: &Candidate| {
            u128::from(neg_log2(of.score)) * u128::from(by.member.weight)
        };
        let by_log = if a.member.weight == b.member.weight {
            Ordering::Equal
        } else {
            cost(a, b).cmp(&cost(b, a))
        };
        let name = |candidate: &Candidate| self.nodes.name(candidate.member.id);
        by_log
            .then_with(|| b.score.cmp(&a.score))
            .then_with(|| name(a).cmp(&name(b)))
    }

    #[inline]
    fn best(&self, key: u64) -> Option<Candidate> {
        let probes = Probes::new(key);
        let mut best = None;
        for class in &self.classes {
            self.search(class, &probes, &mut best);
        }
        best
    }

    /// Replaces `best` if the class has a better node.
    #[inline]
    fn search(&self, class: &Class, probes: &Probes, best: &mut Option<Candidate>) {
        let order = class.order(probes.order);
        // The first guess is a window in which one or two nodes are expected.
        let guess = order.members().len().ilog2();
        let enough = |best: &Candidate| best.enough(class.heaviest);
        let mut ones = best.as_ref().map_or(guess, enough);
        loop {
            order.visit(ones, probes, |at| {
                let (score, member) = (order.score(at, probes), order.members()[at]);
                let next = Candidate { score, member };
                if best
                    .as_ref()
                    .is_none_or(|best| self.order(&next, best).is_lt())
                {
                    *best = Some(next);
                }
            });
            let needed = best.as_ref().map_or(ones.saturating_sub(1), enough);
            if needed >= ones {
                return;
            }
            ones = needed;
        }
    }
}

impl Candidate {
    /// Returns the number of leading ones that a score needs at least, so that a node with at most
    /// this weight can be better.
    #[inline]
    fn enough(&self, heaviest: u32) -> u32 {
        /// 2^-32 / ln 2 in the unit of the logarithms, rounded down. Because -log2(1 - u) > u / ln
        /// 2, a score with fewer than k leading ones has a logarithm above 2^(32 - k) steps.
        const STEP: u64 = 96_817_625;
        if self.member.weight == heaviest {
            return self.score.leading_ones();
        }
        let (log, weight) = (neg_log2(self.score), u64::from(self.member.weight));
        let steps = u128::from(log) * u128::from(heaviest) / u128::from(STEP * weight);
        let bits = 128 - steps.leading_zeros();
        32_u32.saturating_sub(bits)
    }
}

impl Probes {
    #[inline]
    fn new(key: u64) -> Self {
        /// The seeds of the probes and of the order, hashed with the key like the seed of a node.
        const SEEDS: [u64; PARTS + 1] = {
            let mut seeds = [0; PARTS + 1];
            let mut at = 0;
            while at < seeds.len() {
                seeds[at] = mix64(at as u64 + 1);
                at += 1;
            }
            seeds
        };
        let draw = |seed| {
            let (low, high) = halves(seed);
            hash(halves(key), low, high)
        };
        let [positions @ .., order] = SEEDS.map(draw);
        let order = (order >> (32 - ORDERS.ilog2())) as usize;
        Self {
            key,
            order,
            positions,
        }
    }
}

impl Router for Shortlist {
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
        self.best(key.get()).map(|best| best.member.id)
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let name = match change {
            Change::Add(node) => node.name(),
            Change::Remove(name) | Change::Reweight(name, _) => name,
        };
        let old = self
            .nodes
            .id(name)
            .map_or(0, |id| self.nodes.weight_or_zero(id));
        let id = self.nodes.apply(change)?;
        let seed = seed(name);
        self.remove(seed, Member { id, weight: old });
        let weight = self.nodes.weight_or_zero(id);
        self.insert(seed, Member { id, weight });
        self.sort();
        Ok(())
    }

    fn explain(&self, key: KeyHash) -> Explanation {
        let Some(best) = self.best(key.get()) else {
            return Explanation::default();
        };
        let name = self.nodes.name(best.member.id).unwrap_or_default();
        let (score, weight) = (best.score, best.member.weight);
        let order = Probes::new(key.get()).order + 1;
        Explanation::default()
            .with("order", alloc::format!("{order} of {ORDERS}"))
            .with(
                "best score",
                alloc::format!("{score:#010x} by {name}, weight {weight}"),
            )
    }

    fn heap_bytes(&self) -> usize {
        let classes: usize = self.classes.iter().map(Class::heap_bytes).sum();
        self.nodes.heap_bytes() + classes + self.classes.capacity() * size_of::<Class>()
    }
}

#[cfg(test)]
mod tests;
