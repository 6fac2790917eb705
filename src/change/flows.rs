//! Sums the amounts that move from one node to another, by pair of nodes.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::AddAssign;

use crate::NodeId;
use crate::change::Pair;

/// The number of parts that are kept before they are summed by pair, so that sorting is rare.
const ROOM: usize = 1 << 12;

/// Amounts by pair of old and new owner, such as the number of keys that each node sends to each
/// other node.
///
/// ```
/// use hashroute::change::{Flows, Matched};
/// use hashroute::{Node, Nodes};
///
/// let [old, new] = [&["a", "b"][..], &["b", "c"]].map(|names| Nodes::new(names.iter().copied()));
/// let (old, new) = (old?, new?);
/// let both = Matched::of(&old, &new);
/// let [a, c] = [both.ids[0][0], both.ids[1][1]];
/// let mut moved = Flows::default();
/// moved.add([a, c], 3_u64);
/// moved.add([a, c], 4);
/// assert_eq!(moved.by_name(), [([a, c], 7)]);
/// # Ok::<(), hashroute::Error>(())
/// ```
///
/// | [`add`](Self::add) | memory |
/// |---|---|
/// | O(log n) amortised | O(pairs), for any number of parts |
#[derive(Clone, Debug)]
pub struct Flows<A> {
    /// Parts with the [`rank`] of their pair. The first `summed` are in order, one for each pair.
    parts: Vec<(u64, A)>,
    summed: usize,
}

impl<A> Default for Flows<A> {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            summed: 0,
        }
    }
}

impl<A: AddAssign + Copy> Flows<A> {
    /// Counts an amount for a pair.
    pub fn add(&mut self, pair: Pair, amount: A) {
        self.parts.push((rank(pair), amount));
        // At least as many new parts as there are pairs come between two sums, so a sum costs
        // O(log n) for each new part.
        if self.parts.len() >= ROOM.max(2 * self.summed) {
            self.sum();
        }
    }

    fn sum(&mut self) {
        // The stable sort is fast here, because it detects the run that is in order already.
        self.parts.sort_by_key(|(rank, _)| *rank);
        self.parts.dedup_by(|part, sum| {
            let same = part.0 == sum.0;
            if same {
                sum.1 += part.1;
            }
            same
        });
        self.summed = self.parts.len();
    }

    /// Returns each pair with its sum, in order of the old and then of the new name.
    pub fn by_name(mut self) -> Vec<(Pair, A)> {
        self.sum();
        let parts = self.parts.into_iter();
        parts.map(|(rank, sum)| (pair(rank), sum)).collect()
    }

    /// Returns each pair with its sum, the largest first, then by name.
    pub fn largest_first<S: Ord>(self, size: impl Fn(&A) -> S) -> Vec<(Pair, A)> {
        let mut flows = self.by_name();
        flows.sort_by_key(|(_, sum)| Reverse(size(sum))); // stable: names stay in order
        flows
    }
}

/// Returns a number that orders pairs. Numbers sort faster than pairs.
fn rank(pair: Pair) -> u64 {
    let [from, to] = pair.map(|id| id.map_or(0, |id| id.index() as u64 + 1));
    (from << 32) | to
}

fn pair(rank: u64) -> Pair {
    [rank >> 32, rank & u64::from(u32::MAX)].map(|id| {
        let index = usize::try_from(id.checked_sub(1)?).ok()?;
        NodeId::from_index(index)
    })
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::hash::mix64;

    #[test]
    fn sums_equal_those_of_a_map() {
        for (parts, nodes) in [(0, 1), (1, 1), (50_000, 3), (50_000, 300)] {
            let (mut flows, mut expected) = (Flows::default(), BTreeMap::new());
            for i in 0..parts {
                let owner = |shift: u32| {
                    let index = (mix64(i) >> shift) % nodes;
                    NodeId::from_index(usize::try_from(index).ok()?.checked_sub(1)?)
                };
                let (pair, amount) = ([owner(0), owner(32)], u128::from(i % 5));
                flows.add(pair, amount);
                *expected.entry(pair).or_insert(0) += amount;
            }
            assert!(flows.parts.len() <= ROOM.max(2 * expected.len()));
            assert!(flows.clone().by_name().into_iter().eq(expected.clone()));
            let mut expected: Vec<_> = expected.into_iter().collect();
            expected.sort_by_key(|(pair, sum)| (Reverse(*sum), *pair));
            assert_eq!(flows.largest_first(|sum| *sum), expected);
        }
    }

    #[test]
    fn the_largest_id_has_a_rank_of_its_own() {
        let last = NodeId::from_index(u32::MAX as usize - 1);
        assert!(last.is_some());
        for ids in [[None, last], [last, None], [last, last], [None, None]] {
            assert_eq!(pair(rank(ids)), ids);
        }
    }
}
