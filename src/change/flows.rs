//! What goes from one node to another, summed by pair.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::AddAssign;

use crate::NodeId;
use crate::change::Pair;

/// How many parts are kept before those of one pair are summed: enough that sorting them is rare.
const ROOM: usize = 1 << 12;

/// Amounts by pair of owner before and after, such as the keys that each node sends to each other.
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
/// | O(log n) amortised | O(pairs), whatever the number of parts |
#[derive(Clone, Debug)]
pub struct Flows<A> {
    /// By [`rank`] of the pair; the first `summed` are in order, one for each pair.
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
        // At least as many new parts as pairs: whatever is sorted again is sorted once for each.
        if self.parts.len() >= ROOM.max(2 * self.summed) {
            self.sum();
        }
    }

    fn sum(&mut self) {
        // Stable, since it is quick where a run is in order already.
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

    /// Returns each pair with its sum, in order of the names before, then after.
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

/// A number in the order of the pairs, which sorts faster than they do.
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
    fn sums_are_those_of_a_map_and_in_order() {
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
    fn the_last_id_is_a_pair_of_its_own() {
        let last = NodeId::from_index(u32::MAX as usize - 1);
        assert!(last.is_some());
        for ids in [[None, last], [last, None], [last, last], [None, None]] {
            assert_eq!(pair(rank(ids)), ids);
        }
    }
}
