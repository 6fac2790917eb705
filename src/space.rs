//! The hash space as ranges with owners, for strategies that consist of arcs, cells or slots.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::{KeyHash, NodeId};

/// The whole hash space, cut into ranges with one owner each, in order.
///
/// Every hash has a position. On a circle ([`arcs`](Self::arcs)) the position is the hash itself.
/// In a table ([`cells`](Self::cells)) it is the hash modulo the number of cells. A range is a run
/// of positions. Rings, Maglev, slots, modulo and the dialects built on them all have this form,
/// and [`owner`](Self::owner) equals their [`route_hash`](crate::Router::route_hash).
///
/// ```
/// use hashroute::{KeyHash, Node, Ring, Router};
///
/// let ring = Ring::from_tokens(["a", "b"].map(Node::new), [(100, "a"), (200, "b")])?;
/// let ranges = ring.ranges().expect("a ring has arcs");
/// let arcs: Vec<_> = ranges.iter().map(|range| (range.first, range.last, range.owner)).collect();
/// let (a, b) = (ring.nodes().id("a"), ring.nodes().id("b"));
/// assert_eq!(arcs, [(0, 100, a), (101, 200, b), (201, u64::MAX, a)]);
/// assert_eq!(ranges.owner(KeyHash::from_raw(101)), b);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashRanges {
    space: HashSpace,
    lists: bool,
    /// The first position of each range, ascending from 0, and its owner.
    starts: Vec<(u64, Option<NodeId>)>,
}

/// A run of positions with one owner, both ends included.
///
/// ```
/// use hashroute::{HashSlots, Node, Router};
///
/// let table = HashSlots::new(["a", "b"].map(Node::new))?;
/// let ranges = table.ranges().expect("slots");
/// let last = ranges.iter().last().expect("there is always one");
/// assert_eq!((last.first, last.last, last.owner), (8192, 16_383, table.nodes().id("b")));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnedRange {
    /// The first position.
    pub first: u64,
    /// The last position.
    pub last: u64,
    /// The owner; `None` if no node owns the range.
    pub owner: Option<NodeId>,
}

impl HashRanges {
    /// Builds the arcs of a circle of 2^`bits` hashes, each from its last position and its owner.
    /// A hash belongs to the first end at or after it; past the last end, to the first end. Among
    /// equal ends the first one given counts. Without ends no node owns anything. `bits` is clamped
    /// to 1..=64. O(ends log ends), or O(ends) if the ends are in order.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Nodes, HashRanges};
    /// let nodes = Nodes::new(["a", "b"].map(Node::new))?;
    /// let [a, b] = ["a", "b"].map(|name| nodes.id(name).expect("a member"));
    /// let ranges = HashRanges::arcs(32, [(100, a), (200, b)]);
    /// assert_eq!(ranges.owner(KeyHash::from_raw(201)), Some(a));
    /// assert_eq!(ranges.owner(KeyHash::from_raw(1 << 32)), None); // wider than 32 bits
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn arcs(bits: u32, ends: impl IntoIterator<Item = (u64, NodeId)>) -> Self {
        let bits = bits.clamp(1, 64);
        let last = u64::MAX >> (64 - bits);
        let mut ends: Vec<_> = ends.into_iter().map(|(end, id)| (end & last, id)).collect();
        ends.sort_by_key(|(end, _)| *end); // stable: of equal ones the first stays first
        ends.dedup_by_key(|(end, _)| *end);
        let first = ends.first().map(|(_, id)| *id);
        let mut starts = Vec::with_capacity(ends.len() + 1);
        let mut start = Some(0);
        for (end, id) in ends {
            starts.extend(start.map(|start| (start, Some(id))));
            start = (end < last).then(|| end + 1);
        }
        starts.extend(start.map(|start| (start, first)));
        Self {
            space: HashSpace {
                bits,
                modulus: None,
            },
            lists: false,
            starts,
        }
    }

    /// Builds a table of cells from runs, each with its length and its owner. The cell of a hash is
    /// the hash modulo the number of cells. Without cells no node owns anything. `bits` is the
    /// width of the hashes, clamped to 1..=64. O(runs).
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Nodes, HashRanges};
    /// let nodes = Nodes::new(["a", "b"].map(Node::new))?;
    /// let ranges = HashRanges::cells(64, [(2, nodes.id("a")), (1, nodes.id("b"))]);
    /// assert_eq!(ranges.owner(KeyHash::from_raw(5)), nodes.id("b")); // 5 mod 3 = 2
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn cells(bits: u32, runs: impl IntoIterator<Item = (u64, Option<NodeId>)>) -> Self {
        let mut starts: Vec<(u64, Option<NodeId>)> = Vec::new();
        let mut modulus = 0_u64;
        for (length, owner) in runs.into_iter().filter(|(length, _)| *length > 0) {
            if starts.last().is_none_or(|(_, last)| *last != owner) {
                starts.push((modulus, owner));
            }
            modulus = modulus.saturating_add(length);
        }
        if starts.is_empty() {
            starts.push((0, None));
        }
        Self {
            space: HashSpace {
                bits: bits.clamp(1, 64),
                modulus: Some(modulus.max(1)),
            },
            lists: false,
            starts,
        }
    }

    /// Declares that all hashes of a range share their preference list
    /// ([`walk`](crate::Router::walk)), not only their owner.
    ///
    /// ```
    /// # use hashroute::{HashSlots, Node, Ring, Router};
    /// assert!(Ring::new([Node::new("a")])?.ranges().is_some_and(|ranges| ranges.has_lists()));
    /// assert!(HashSlots::new([Node::new("a")])?.ranges().is_some_and(|ranges| !ranges.has_lists()));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_lists(self) -> Self {
        Self {
            lists: true,
            ..self
        }
    }

    /// Leaves the ranges of these nodes without an owner.
    #[cfg(feature = "compat")]
    pub(crate) fn without(mut self, absent: &[NodeId]) -> Self {
        for (_, owner) in &mut self.starts {
            *owner = owner.filter(|id| !absent.contains(id));
        }
        self
    }

    /// Returns whether all hashes of a range share their preference list, so that replicas change
    /// only at the ends of ranges.
    pub fn has_lists(&self) -> bool {
        self.lists
    }

    /// Returns the width of the hashes, in bits.
    pub fn bits(&self) -> u32 {
        self.space.bits
    }

    /// Returns the number of cells, by which a hash is divided to give its position; `None` on a
    /// circle.
    pub fn modulus(&self) -> Option<u64> {
        self.space.modulus
    }

    /// Returns the number of ranges, at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always a range")]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the ranges in order, from position 0 to the last position.
    pub fn iter(&self) -> HashRangesIter<'_> {
        HashRangesIter {
            ranges: self,
            indexes: 0..self.starts.len(),
        }
    }

    /// Returns the position of a hash; `None` if the hash has more than [`bits`](Self::bits) bits.
    ///
    /// ```
    /// # use hashroute::{KeyHash, HashRanges};
    /// let cells = HashRanges::cells(32, [(7, None)]);
    /// assert_eq!(cells.position(KeyHash::from_raw(10)), Some(3));
    /// assert_eq!(cells.position(KeyHash::from_raw(1 << 32)), None);
    /// ```
    pub fn position(&self, key: KeyHash) -> Option<u64> {
        self.space.position(key)
    }

    /// Returns the owner of a hash. O(log ranges).
    ///
    /// ```
    /// # use hashroute::{KeyHash, HashRanges};
    /// assert_eq!(HashRanges::arcs(64, []).owner(KeyHash::from_raw(7)), None);
    /// ```
    pub fn owner(&self, key: KeyHash) -> Option<NodeId> {
        let position = self.position(key)?;
        let after = self.starts.partition_point(|(start, _)| *start <= position);
        self.starts[after - 1].1
    }

    /// Returns the share of all hashes that have these positions, both ends included. Exact up to
    /// the rounding of the quotient.
    ///
    /// ```
    /// # use hashroute::HashRanges;
    /// assert_eq!(HashRanges::arcs(64, []).share(0, u64::MAX / 2), 0.5);
    /// assert_eq!(HashRanges::cells(2, [(3, None)]).share(0, 0), 0.5); // 0 and 3 of 0, 1, 2, 3
    /// ```
    pub fn share(&self, first: u64, last: u64) -> f64 {
        self.space.count(first, last) as f64 / self.space.hashes() as f64
    }

    /// Returns the share of all hashes that each node owns, by [`NodeId::index`] below `id_bound`.
    /// Exact up to the rounding of the quotient. The shares sum to what is owned: to 1 if every range
    /// has an owner, to less if there are gaps, such as free slots. O(ranges).
    ///
    /// ```
    /// # use hashroute::{Ring, Router};
    /// let ring = Ring::new(["a", "b"])?;
    /// let shares = ring.ranges().expect("a ring has arcs").shares(ring.nodes().id_bound());
    /// assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn shares(&self, id_bound: usize) -> Vec<f64> {
        let mut counts = vec![0_u128; id_bound];
        for range in self {
            let own = range.owner.and_then(|id| counts.get_mut(id.index()));
            if let Some(count) = own {
                *count += self.space.count(range.first, range.last);
            }
        }
        let hashes = self.space.hashes() as f64;
        counts
            .into_iter()
            .map(|count| count as f64 / hashes)
            .collect()
    }

    fn range(&self, at: usize) -> OwnedRange {
        let (first, owner) = self.starts[at];
        let next = self.starts.get(at + 1);
        OwnedRange {
            first,
            last: next.map_or(self.space.last(), |(next, _)| next - 1),
            owner,
        }
    }
}

/// Iterates over the ranges in order.
impl<'a> IntoIterator for &'a HashRanges {
    type Item = OwnedRange;
    type IntoIter = HashRangesIter<'a>;

    fn into_iter(self) -> HashRangesIter<'a> {
        self.iter()
    }
}

/// An iterator over the ranges of [`HashRanges`].
#[derive(Clone, Debug)]
pub struct HashRangesIter<'a> {
    ranges: &'a HashRanges,
    indexes: Range<usize>,
}

impl Iterator for HashRangesIter<'_> {
    type Item = OwnedRange;

    fn next(&mut self) -> Option<OwnedRange> {
        self.indexes.next().map(|at| self.ranges.range(at))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.indexes.size_hint()
    }
}

impl DoubleEndedIterator for HashRangesIter<'_> {
    fn next_back(&mut self) -> Option<OwnedRange> {
        self.indexes.next_back().map(|at| self.ranges.range(at))
    }
}

impl ExactSizeIterator for HashRangesIter<'_> {}

/// A hash space: the width of the hashes, and the positions that they can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashSpace {
    /// The width of the hashes, from 1 to 64.
    bits: u32,
    /// The number of cells, at least 1; `None` on a circle, where the hash is the position.
    modulus: Option<u64>,
}

impl HashSpace {
    /// The circle of 64-bit hashes.
    pub(crate) const CIRCLE: Self = Self {
        bits: 64,
        modulus: None,
    };

    pub(crate) fn modulus(self) -> Option<u64> {
        self.modulus
    }

    /// Returns the number of hashes.
    pub(crate) fn hashes(self) -> u128 {
        1 << self.bits
    }

    /// Returns the last position.
    pub(crate) fn last(self) -> u64 {
        self.modulus.map_or(self.widest(), |modulus| modulus - 1)
    }

    fn widest(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    pub(crate) fn position(self, key: KeyHash) -> Option<u64> {
        let hash = key.get();
        (hash <= self.widest()).then(|| self.modulus.map_or(hash, |modulus| hash % modulus))
    }

    /// Returns the number of hashes at these positions, both ends included.
    pub(crate) fn count(self, first: u64, last: u64) -> u128 {
        let whole = u128::from(self.last()) + 1;
        let start = u128::from(first).min(whole);
        let end = (u128::from(last) + 1).min(whole);
        // The number of hashes is rarely a multiple of the number of positions: the first `more`
        // positions have one hash more than the others.
        let (each, more) = (self.hashes() / whole, self.hashes() % whole);
        end.saturating_sub(start) * each + end.min(more).saturating_sub(start)
    }

    /// Returns the largest number of hashes at one position.
    pub(crate) fn largest(self) -> u128 {
        self.count(0, 0)
    }

    /// Returns a space in which the ranges of both are runs of positions: the circle, or a table
    /// with the least common multiple of the two numbers of cells. `None` if there is none, or if
    /// it has too many runs.
    fn common(a: &HashRanges, b: &HashRanges) -> Option<Self> {
        let (from, to) = (a.space, b.space);
        if from == to {
            return Some(from);
        }
        let (m, n) = (from.modulus?, to.modulus?);
        if from.bits != to.bits {
            return None;
        }
        let modulus = (m / divisor(m, n)).checked_mul(n)?;
        let runs = |ranges: &HashRanges, own: u64| (modulus / own).checked_mul(ranges.len() as u64);
        let total = runs(a, m)?.checked_add(runs(b, n)?)?;
        (total <= MAX_RUNS).then_some(Self {
            modulus: Some(modulus),
            ..from
        })
    }
}

/// The largest number of runs at a common multiple of two tables; they take 0.1 s.
const MAX_RUNS: u64 = 1 << 22;

/// Returns the greatest common divisor; both numbers are at least 1.
fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Visits all positions in runs (first, last, owners) with one owner in each of the two, which must
/// have hashes of the same function. Returns the space of the positions. Returns `None` and visits
/// nothing if there are no common runs. O(ranges of both).
pub(crate) fn overlay(
    a: &HashRanges,
    b: &HashRanges,
    mut visit: impl FnMut(u64, u64, [Option<NodeId>; 2]),
) -> Option<HashSpace> {
    let space = HashSpace::common(a, b)?;
    let (mut a, mut b) = (Turns::new(a), Turns::new(b));
    let mut first = 0;
    loop {
        let end = a.end().min(b.end()).min(space.last());
        visit(first, end, [a.owner(), b.owner()]);
        if end == space.last() {
            return Some(space);
        }
        a.pass(end);
        b.pass(end);
        first = end + 1;
    }
}

/// Cycles through the ranges, and adds `base` to their positions, which grows at each turn.
struct Turns<'a> {
    ranges: &'a HashRanges,
    at: usize,
    /// The first position of this turn in the common space.
    base: u64,
}

impl<'a> Turns<'a> {
    fn new(ranges: &'a HashRanges) -> Self {
        Self {
            ranges,
            at: 0,
            base: 0,
        }
    }

    fn owner(&self) -> Option<NodeId> {
        self.ranges.range(self.at).owner
    }

    fn end(&self) -> u64 {
        self.base.saturating_add(self.ranges.range(self.at).last)
    }

    /// Goes on to the next range if the present one ends at `end`.
    fn pass(&mut self, end: u64) {
        if self.end() > end {
            return;
        }
        self.at += 1;
        if self.at == self.ranges.len() {
            self.at = 0;
            self.base = end + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: usize) -> NodeId {
        NodeId::from_index(index).expect("an id")
    }

    #[test]
    fn the_first_arc_begins_after_the_last_end() {
        let (a, b) = (id(0), id(1));
        let cut = |ends: &[(u64, NodeId)]| {
            let ranges = HashRanges::arcs(8, ends.iter().copied());
            ranges
                .iter()
                .map(|range| (range.first, range.last, range.owner))
                .collect::<Vec<_>>()
        };
        assert_eq!(cut(&[]), [(0, 255, None)]);
        assert_eq!(cut(&[(7, a)]), [(0, 7, Some(a)), (8, 255, Some(a))]);
        assert_eq!(cut(&[(255, a)]), [(0, 255, Some(a))]);
        assert_eq!(
            cut(&[(255, b), (0, a), (0, b)]),
            [(0, 0, Some(a)), (1, 255, Some(b))]
        );
    }

    #[test]
    fn every_hash_is_counted_once() {
        for (bits, modulus) in [(8, 1), (8, 7), (8, 256), (8, 1000), (1, 3)] {
            let ranges = HashRanges::cells(bits, [(modulus, None)]);
            let counted = |at: u64| (0..1_u64 << bits).filter(|h| h % modulus <= at).count();
            for at in 0..modulus {
                assert_eq!(
                    ranges.space.count(0, at),
                    counted(at) as u128,
                    "{bits} {modulus} {at}"
                );
            }
        }
        let circle = HashRanges::arcs(64, []);
        assert_eq!(circle.space.count(0, u64::MAX), 1 << 64);
        assert_eq!(circle.space.count(5, 5), 1);
    }

    #[test]
    fn an_overlay_has_the_owners_of_both_at_every_position() {
        let (a, b) = (Some(id(0)), Some(id(1)));
        let pairs = [
            (
                HashRanges::arcs(8, [(7, id(0)), (100, id(1))]),
                HashRanges::arcs(8, [(7, id(1)), (99, id(0))]),
            ),
            (
                HashRanges::cells(8, [(2, a), (1, b)]),
                HashRanges::cells(8, [(1, b), (3, a)]),
            ),
            (HashRanges::cells(8, [(5, a)]), HashRanges::cells(8, [])),
        ];
        for (from, to) in pairs {
            let mut runs = Vec::new();
            let space = overlay(&from, &to, |first, last, owners| {
                runs.push((first, last, owners));
            });
            let space = space.expect("alike");
            for hash in (0..256).map(KeyHash::from_raw) {
                let at = space.position(hash).expect("8 bits");
                let run = runs.iter().find(|run| (run.0..=run.1).contains(&at));
                assert_eq!(
                    run.map(|run| run.2),
                    Some([from.owner(hash), to.owner(hash)])
                );
            }
        }
        let unlike = overlay(
            &HashRanges::arcs(8, []),
            &HashRanges::cells(8, []),
            |_, _, _| (),
        );
        assert_eq!(unlike, None);
        let large = HashRanges::cells(64, [(u64::MAX, a)]);
        assert_eq!(
            overlay(&large, &HashRanges::cells(64, [(2, a)]), |_, _, _| ()),
            None
        );
    }
}
