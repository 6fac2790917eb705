//! Random inputs that are the same every time.

use hashroute::KeyHash;
use hashroute::hash::mix64;

/// Generates numbers (`SplitMix64`). The same seed gives the same numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(mix64(seed))
    }

    pub(super) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        KeyHash::from_integer(self.0).get()
    }

    /// Returns a number below `limit`, or 0 for a limit of 0. The bias is below limit / 2^32.
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        let high = (self.number() >> 32) * u64::from(limit);
        u32::try_from(high >> 32).unwrap_or(0)
    }

    /// Returns an index below `len`, or 0 for a length of 0.
    pub(super) fn index(&mut self, len: usize) -> usize {
        self.below(u32::try_from(len).unwrap_or(u32::MAX)) as usize
    }

    /// Returns one of `values`, which must not be empty.
    pub(super) fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.index(values.len())]
    }

    /// Returns weights of fewer than `most` nodes, each below `limit`.
    pub(super) fn weights(&mut self, most: u32, limit: u32) -> Vec<u32> {
        let count = self.below(most);
        (0..count).map(|_| self.below(limit)).collect()
    }

    /// Returns the values in another order (Fisher-Yates).
    pub(super) fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.index(last + 1));
        }
    }
}

/// Returns all orders of `0..n` (Heap's algorithm).
pub(super) fn permutations(n: usize) -> Vec<Vec<usize>> {
    fn heap(k: usize, order: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if k <= 1 {
            all.push(order.clone());
            return;
        }
        for i in 0..k {
            heap(k - 1, order, all);
            order.swap(if k % 2 == 0 { i } else { 0 }, k - 1);
        }
    }
    let mut all = Vec::new();
    heap(n, &mut (0..n).collect(), &mut all);
    all
}
