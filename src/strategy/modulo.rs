//! Modulo: the hash modulo the total weight. Plain sharding, and the baseline for the other
//! strategies: a change of the total weight moves nearly every key.
//!
//! The nodes are in order of name. Each owns as many remainders as its weight.
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | O(log n), O(1) when every weight is 1 | 12 B a node | O(n), moves n / (n + 1) of the keys |
//!
//! Peers must share the set of nodes with their weights.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::digest::Digest;
use crate::registry::{Caps, Excess, Scheme};
use crate::{
    Change, Error, Explanation, HashId, HashRanges, KeyHash, KeyHasher, Node, NodeId, Nodes, Router,
};

pub(super) const STRATEGY: Scheme = Scheme::strategy(
    "modulo",
    "hash mod total weight: even, and moves nearly all keys at a change",
    Caps::SET.with_excess(Excess::Unbounded),
    |nodes, params| Ok(Box::new(Modulo::new(nodes)?.with_hasher(params.hasher()))),
);

/// Sharding by the hash modulo the total weight.
///
/// The hash is not mixed further: with CRC-32 and n nodes of weight 1, the owner of a key is node
/// `crc32(key) % n`, in order of name. A change of the total weight moves nearly every key.
///
/// ```
/// use hashroute::{KeyHash, Modulo, Router};
///
/// let router = Modulo::new(["a", "b", "c"])?;
/// let owner = router.route_hash(KeyHash::from_raw(7)).expect("a member"); // 7 mod 3 = 1
/// assert_eq!(router.nodes().name(owner), Some("b"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone)]
pub struct Modulo {
    nodes: Nodes,
    hasher: KeyHasher,
    // The members with weight in order of name, and the end of the remainders of each.
    owners: Vec<NodeId>,
    ends: Vec<u64>,
}

impl fmt::Debug for Modulo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            nodes,
            hasher,
            owners,
            ends,
        } = self;
        f.debug_struct("Modulo")
            .field("nodes", nodes)
            .field("hasher", hasher)
            .field("owners", &Digest(owners.len(), (owners, ends)))
            .finish()
    }
}

impl Modulo {
    /// Builds a router over these nodes. Their order does not matter. O(n log n).
    ///
    /// # Errors
    /// The errors of [`Nodes::new`].
    pub fn new(nodes: impl IntoIterator<Item = impl Into<Node>>) -> Result<Self, Error> {
        let mut router = Self {
            nodes: Nodes::sorted(nodes)?,
            hasher: KeyHasher::default(),
            owners: Vec::new(),
            ends: Vec::new(),
        };
        router.rebuild();
        Ok(router)
    }

    /// Sets the hash function for keys.
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    fn rebuild(&mut self) {
        self.owners = Vec::with_capacity(self.nodes.weighted());
        self.ends = Vec::with_capacity(self.nodes.weighted());
        let mut end = 0;
        for (id, node) in self.nodes.iter().filter(|(_, node)| node.weight() > 0) {
            end += u64::from(node.weight());
            self.owners.push(id);
            self.ends.push(end);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "below the number of nodes")]
    fn rank(&self, number: u64) -> usize {
        // If all weights are 1 the remainder is the index, so no search is needed.
        let all_ones = self.ends.len() as u64 == self.nodes.total_weight();
        if all_ones {
            number as usize
        } else {
            self.ends.partition_point(|&end| end <= number)
        }
    }
}

impl Router for Modulo {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        self.hasher.raw_some(key)
    }

    fn hash_id(&self) -> HashId {
        HashId::Raw(self.hasher.clone())
    }

    #[inline]
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        let number = key.get().checked_rem(self.nodes.total_weight())?;
        self.owners.get(self.rank(number)).copied()
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        self.nodes.apply(change)?;
        self.rebuild();
        Ok(())
    }

    fn ranges(&self) -> Option<HashRanges> {
        let runs = self
            .owners
            .iter()
            .map(|&id| (self.nodes.weight_or_zero(id).into(), Some(id)));
        Some(HashRanges::cells(self.hasher.function().bits(), runs))
    }

    fn explain(&self, key: KeyHash) -> Explanation {
        let total = self.nodes.total_weight();
        let number = key.get().checked_rem(total).map(|number| {
            let text = alloc::format!("{number} (the hash mod the total weight, {total})");
            ("number", text)
        });
        number.into_iter().collect()
    }

    fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes()
            + self.owners.capacity() * size_of::<NodeId>()
            + self.ends.capacity() * size_of::<u64>()
    }
}
