//! Maglev hashing: a lookup table of prime size for load balancing. The nodes fill it in turns,
//! each in the order of its own permutation.
//!
//! Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer" (NSDI 2016,
//! section 3.4).
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | O(1), one read | 4 B a cell | O(cells log cells) |
//!
//! Peers must share the set of nodes with their weights, and the table size.
//!
//! A node of weight w claims its cell number c at time c / w, starting from c = 0 (Adams's divisor
//! rule). At equal times the heavier node goes first, then the first name. So every node with
//! weight has a cell, the cells of equal weights differ by at most one, and no node has more than
//! one cell above its fair share. What light nodes gain by that, heavy nodes lose. With equal
//! weights this is the round robin of the paper, in order of name.
//!
//! A change moves more keys than necessary (disruption). At the default size, removing one of n
//! equal nodes has an excess of 0.2 % of all keys at n = 10, 0.6 % at 100, 0.9 % at 300 and 0.6 %
//! at 1,000; the unavoidable part is 10 %, 1 %, 0.3 % and 0.1 %. Use a table with at least 100
//! cells for each node. The largest measured excess, for a change of many units of weight at once,
//! is 1.3 % at n = 100, 2 % at 300, 4 % at 1,000 and 8 % at 5,000.

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};
use core::fmt;
use core::ops::ControlFlow;

use super::{draw, seed};
use crate::digest::Digest;
use crate::hash::scale;
use crate::registry::{Caps, Excess, Param, Scheme};
use crate::{
    Change, Error, Explanation, HashId, HashRanges, KeyHash, KeyHasher, Limit, Node, NodeId, Nodes,
    Router,
};

pub(super) const STRATEGY: Scheme = Scheme::strategy(
    "maglev",
    "a lookup table filled in turns: even, fast, and a few excess moves",
    Caps::SET.with_excess(Excess::AtMost(excess_bound)),
    |nodes, params| {
        let size = params.get("table-size", Maglev::DEFAULT_TABLE_SIZE)?;
        Ok(Box::new(
            Maglev::with_table_size(nodes, size)?.with_hasher(params.hasher()),
        ))
    },
)
.with_params(&[Param::new(
    "table-size",
    "65537",
    "number of cells: a prime, at least 100 per node",
)
.with_finer(&["655373"])]);

/// A Maglev lookup table, for load balancing: even shares, fast lookups, a few excess moves.
///
/// ```
/// use hashroute::{Maglev, Router};
///
/// let router = Maglev::new(["a", "b", "c"])?;
/// let shares = router.ranges().expect("a table has cells").shares(3);
/// assert!(shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 1e-4));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone)]
pub struct Maglev {
    nodes: Nodes,
    hasher: KeyHasher,
    cells: Vec<Option<NodeId>>,
}

impl fmt::Debug for Maglev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            nodes,
            hasher,
            cells,
        } = self;
        f.debug_struct("Maglev")
            .field("nodes", nodes)
            .field("hasher", hasher)
            .field("cells", &Digest(cells.len(), cells))
            .finish()
    }
}

impl Maglev {
    /// The default number of cells: the smaller of the paper's two sizes.
    pub const DEFAULT_TABLE_SIZE: u64 = 65_537;

    /// The largest number of cells, which take 20 MB. It is Envoy's limit, a prime. With a larger
    /// table every change would take seconds.
    pub const MAX_TABLE_SIZE: u64 = 5_000_011;

    /// Builds a table of [`DEFAULT_TABLE_SIZE`](Self::DEFAULT_TABLE_SIZE) cells. The order of the
    /// nodes does not matter.
    ///
    /// # Errors
    /// The errors of [`with_table_size`](Self::with_table_size).
    pub fn new(nodes: impl IntoIterator<Item = impl Into<Node>>) -> Result<Self, Error> {
        Self::with_table_size(nodes, Self::DEFAULT_TABLE_SIZE)
    }

    /// Builds a table of `size` cells. All peers must use the same size, because a different size
    /// moves nearly every key.
    ///
    /// # Errors
    /// The errors of [`Nodes::new`]; [`Error::TableSize`] with the nearest possible size if `size`
    /// is not a prime, is below the number of nodes with weight, or is above
    /// [`MAX_TABLE_SIZE`](Self::MAX_TABLE_SIZE).
    ///
    /// ```
    /// # use hashroute::{Maglev, Node};
    /// let error = Maglev::with_table_size([Node::new("a")], 65_536).unwrap_err();
    /// assert_eq!(error.to_string(), "a table of 65536 cells is not a prime: the nearest prime that works is 65537");
    /// ```
    pub fn with_table_size(
        nodes: impl IntoIterator<Item = impl Into<Node>>,
        size: u64,
    ) -> Result<Self, Error> {
        let nodes = Nodes::sorted(nodes)?;
        let size = check_table_size(size, nodes.weighted())?;
        let cells = fill(&nodes, size);
        Ok(Self {
            nodes,
            hasher: KeyHasher::default(),
            cells,
        })
    }

    /// Sets the hash function for keys.
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    /// Returns the cell of a key.
    #[inline]
    fn cell(&self, key: KeyHash) -> usize {
        scale(key.get(), self.cells.len())
    }
}

/// Returns the largest excess that was measured at the default size, over many weights, with a
/// margin.
fn excess_bound(nodes: usize) -> f64 {
    (0.015 + nodes as f64 / 20_000.0).min(0.1)
}

/// Checks that a table size is a prime, with at least one cell for each of `nodes` nodes.
pub(crate) fn check_table_size(size: u64, nodes: usize) -> Result<usize, Error> {
    let wrong = |reason, nearest| {
        Err(Error::TableSize {
            size,
            reason,
            nearest,
        })
    };
    if size > Maglev::MAX_TABLE_SIZE {
        return wrong("is too large", Maglev::MAX_TABLE_SIZE);
    }
    let nodes = nodes as u64;
    if nodes > Maglev::MAX_TABLE_SIZE {
        return Err(Error::Capacity {
            what: Limit::WeightedNodes,
            wanted: nodes,
            limit: Maglev::MAX_TABLE_SIZE,
            advice: "split the cluster, or use a ring",
        });
    }
    if size < nodes {
        return wrong(
            "has fewer cells than there are nodes with weight",
            nearest_prime(nodes, nodes),
        );
    }
    if !is_prime(size) {
        return wrong("is not a prime", nearest_prime(size, nodes));
    }
    Ok(usize::try_from(size).unwrap_or(usize::MAX)) // at most 5,000,011
}

/// Returns the prime nearest to `size` that is at least `least`.
fn nearest_prime(size: u64, least: u64) -> u64 {
    let above = (0..).map(|step| size + step);
    let below = (0..).map_while(|step| size.checked_sub(step));
    let fits = |candidate: &u64| {
        *candidate >= least && *candidate <= Maglev::MAX_TABLE_SIZE && is_prime(*candidate)
    };
    let above = above
        .take_while(|&candidate| candidate <= Maglev::MAX_TABLE_SIZE)
        .find(fits);
    let below = below
        .take_while(|&candidate| candidate >= least.max(2))
        .find(fits);
    match (below, above) {
        (Some(below), Some(above)) if size - below < above - size => below,
        (_, Some(above)) => above,
        (below, None) => below.unwrap_or(Maglev::MAX_TABLE_SIZE),
    }
}

fn is_prime(n: u64) -> bool {
    n >= 2 && (2..=n.isqrt()).all(|divisor| n % divisor != 0)
}

/// The order in which a node visits the cells: `offset`, `offset + skip`, ..., modulo the size. The
/// size is a prime, so every skip visits every cell.
struct Permutation {
    id: NodeId,
    at: usize,
    skip: usize,
}

/// The nodes of one weight, in order of name, and the number of rounds that they have had.
struct Turn<'a> {
    rounds: u64,
    weight: u64,
    members: &'a mut [Permutation],
}

/// Orders by time, which is rounds / weight. At equal times the heavier weight comes first.
impl Ord for Turn<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let time = |of: &Self, by: &Self| u128::from(of.rounds) * u128::from(by.weight);
        time(self, other)
            .cmp(&time(other, self))
            .then(other.weight.cmp(&self.weight))
    }
}

impl PartialOrd for Turn<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Turn<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Turn<'_> {}

fn fill(nodes: &Nodes, size: usize) -> Vec<Option<NodeId>> {
    let mut cells = vec![None; size];
    let mut weighted: Vec<_> = nodes.iter().filter(|(_, node)| node.weight() > 0).collect();
    weighted.sort_by_key(|(_, node)| node.weight()); // stable: names stay in order
    let mut permutations: Vec<_> = weighted
        .iter()
        .map(|&(id, node)| permutation(id, node, size))
        .collect();
    let mut rest = permutations.as_mut_slice();
    let mut turns = BinaryHeap::new();
    for group in weighted.chunk_by(|(_, a), (_, b)| a.weight() == b.weight()) {
        let (members, tail) = rest.split_at_mut(group.len());
        turns.push(Reverse(Turn {
            rounds: 0,
            weight: u64::from(group[0].1.weight()),
            members,
        }));
        rest = tail;
    }
    let mut free = cells.len();
    while let Some(mut turn) = turns.peek_mut() {
        for member in turn.0.members.iter_mut().take(free) {
            claim(&mut cells, member);
            free -= 1;
        }
        if free == 0 {
            break;
        }
        turn.0.rounds += 1;
    }
    cells
}

fn permutation(id: NodeId, node: &Node, size: usize) -> Permutation {
    let seed = seed(node.name());
    Permutation {
        id,
        at: scale(draw(seed, 0), size),
        skip: scale(draw(seed, 1), size - 1) + 1,
    }
}

/// Claims the next free cell in the order of a member. There must be one.
fn claim(cells: &mut [Option<NodeId>], member: &mut Permutation) {
    // Most of a build is this loop, so its variables are locals that stay in registers.
    let (size, skip, mut at) = (cells.len(), member.skip, member.at);
    loop {
        let cell = &mut cells[at];
        let next = at + skip;
        at = if next < size { next } else { next - size };
        if cell.is_none() {
            *cell = Some(member.id);
            member.at = at;
            return;
        }
    }
}

impl Router for Maglev {
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
        *self.cells.get(self.cell(key))?
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let nodes = self.nodes.after(change)?;
        check_table_size(self.cells.len() as u64, nodes.weighted())?;
        self.cells = fill(&nodes, self.cells.len());
        self.nodes = nodes;
        Ok(())
    }

    /// Walks the cells from that of the key on. Their owners are in random order, and every node
    /// with weight has a cell.
    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let (before, after) = self.cells.split_at(self.cell(key));
        let _ = after
            .iter()
            .chain(before)
            .flatten()
            .try_for_each(|&id| visit(id));
    }

    /// Returns the cells as arcs: a cell owns the hashes of one part of the circle.
    fn ranges(&self) -> Option<HashRanges> {
        let count = self.cells.len() as u128;
        // The last hash of a cell is the one before the first hash of the next cell.
        let end = |cell: u128| u64::try_from(((cell + 1) << 64).div_ceil(count) - 1);
        let ends = (0..).zip(&self.cells);
        let ends = ends.filter_map(|(cell, owner)| Some((end(cell).ok()?, (*owner)?)));
        Some(HashRanges::arcs(64, ends).with_lists())
    }

    fn explain(&self, key: KeyHash) -> Explanation {
        let cell = alloc::format!("{} of {}", self.cell(key), self.cells.len());
        Explanation::default().with("cell", cell)
    }

    fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes() + self.cells.capacity() * size_of::<Option<NodeId>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a table as the paper prints it, for equal weights: round robin over permutations.
    fn textbook(nodes: &Nodes, size: usize) -> Vec<Option<NodeId>> {
        let ways: Vec<_> = nodes
            .iter()
            .map(|(id, node)| permutation(id, node, size))
            .collect();
        let mut next = vec![0; ways.len()];
        let mut cells = vec![None; size];
        let mut free = size;
        for turn in (0..ways.len()).cycle() {
            let way = &ways[turn];
            let cell = (next[turn]..).map(|j| (way.at + j * way.skip) % size);
            let (j, cell) = (next[turn]..)
                .zip(cell)
                .find(|&(_, cell)| cells[cell].is_none())
                .expect("free");
            next[turn] = j + 1;
            cells[cell] = Some(way.id);
            free -= 1;
            if free == 0 {
                break;
            }
        }
        cells
    }

    #[test]
    fn a_table_of_equal_weights_equals_that_of_the_paper() -> Result<(), Error> {
        for (count, size) in [(1, 2), (2, 2), (3, 7), (46, 65_699), (100, 131_071)] {
            let nodes = (0..count).map(|i| Node::new(alloc::format!("backend-{i}")));
            let router = Maglev::with_table_size(nodes, size as u64)?;
            assert_eq!(
                router.cells,
                textbook(&router.nodes, size),
                "{count} in {size}"
            );
        }
        Ok(())
    }

    #[test]
    fn every_node_with_weight_has_a_cell_beside_extreme_weights() -> Result<(), Error> {
        let nodes = [
            ("a", 1),
            ("b", u32::MAX),
            ("c", u32::MAX),
            ("d", 0),
            ("e", 7),
        ];
        let router = Maglev::new(nodes.map(|(name, weight)| Node::new(name).with_weight(weight)))?;
        let ranges = router.ranges().expect("cells");
        let shares = ranges.shares(router.nodes.id_bound());
        assert!(
            shares
                .iter()
                .zip(nodes)
                .all(|(&share, (_, weight))| (share > 0.0) == (weight > 0))
        );
        assert_eq!(shares.iter().filter(|&&share| share < 1e-4).count(), 3);
        Ok(())
    }

    #[test]
    fn a_bad_table_size_is_refused_with_the_nearest_good_one() {
        let size = |size, nodes: usize| match check_table_size(size, nodes) {
            Ok(_) => None,
            Err(Error::TableSize { nearest, .. }) => Some(nearest),
            Err(error) => panic!("{error}"),
        };
        assert_eq!([size(65_537, 1), size(2, 0), size(7, 7)], [None; 3]);
        assert_eq!(size(0, 0), Some(2));
        assert_eq!(size(1, 1), Some(2));
        assert_eq!(size(65_536, 1), Some(65_537));
        assert_eq!(size(100, 1), Some(101));
        assert_eq!(size(90, 90), Some(97));
        assert_eq!(size(7, 8), Some(11));
        assert_eq!(size(u64::MAX, 1), Some(Maglev::MAX_TABLE_SIZE));
        assert_eq!(
            size(Maglev::MAX_TABLE_SIZE - 1, 1),
            Some(Maglev::MAX_TABLE_SIZE)
        );
    }
}
