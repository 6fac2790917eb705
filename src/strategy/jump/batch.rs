//! The reference function for many keys at once, with exactly the same buckets.
//!
//! The compiler turns the loops into vector instructions, with one copy for each kind of CPU. All
//! numbers are doubles, which are exact here. Keys differ in their number of steps. So all keys of
//! a block take as many steps as most keys need; then the open keys move to the front and go on. No
//! branch depends on a single key, and few lanes compute for keys that are done.

#![expect(
    clippy::inline_always,
    reason = "each CPU's copy must hold the whole loop"
)]

#[cfg(feature = "simd")]
use multiversion::multiversion;

use super::step;
use crate::{KeyHash, NodeId};

/// The number of keys in one vector step: two vectors of AVX2, so that each computes while the
/// other waits.
const LANES: usize = 8;

/// The number of keys in a block, which takes 3 KB of the stack.
const BLOCK: usize = 128;

/// The number of steps of a later round. More would be wasted on keys that need only one.
const MORE: u32 = 3;

/// 2^52. From here on the spacing of doubles is 1.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// Writes the node of each key. `buckets` must be above 0, and `out` as long as `keys`.
#[cfg_attr(feature = "simd", multiversion(targets("x86_64+avx2")))]
pub(super) fn route(keys: &[KeyHash], buckets: u32, out: &mut [Option<NodeId>]) {
    // A key takes ln(buckets) steps on average, which is 0.7 for each doubling.
    let first = 1 + buckets.max(1).ilog2() * 3 / 4;
    for (keys, out) in keys.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let mut block = Block::new(keys);
        let mut steps = first;
        while block.open > 0 {
            block.advance(f64::from(buckets), steps);
            block.settle(f64::from(buckets), out);
            steps = MORE;
        }
    }
}

/// The keys of a block, the open ones at the front. Buckets are stored plus 1, because the function
/// multiplies by that.
struct Block {
    /// The number of open keys: those that need more steps.
    open: usize,
    states: [u64; BLOCK],
    /// The next bucket of each key, plus 1; above `end` if the key is done.
    next: [f64; BLOCK],
    /// The last bucket before `end` of each key, plus 1.
    found: [f64; BLOCK],
    /// The index of each key in the batch.
    indexes: [usize; BLOCK],
}

impl Block {
    #[inline(always)]
    fn new(keys: &[KeyHash]) -> Self {
        let mut states = [0; BLOCK];
        for (state, key) in states.iter_mut().zip(keys) {
            *state = key.get();
        }
        Self {
            open: keys.len(),
            states,
            next: [1.0; BLOCK],
            found: [1.0; BLOCK],
            indexes: core::array::from_fn(|index| index),
        }
    }

    /// Takes `steps` steps with every open key.
    #[inline(always)]
    fn advance(&mut self, end: f64, steps: u32) {
        // Whole sets of lanes: the last set may compute for keys that are done. Their results are
        // not read.
        let lanes = self.open.div_ceil(LANES);
        let states = self.states.chunks_exact_mut(LANES);
        let next = self.next.chunks_exact_mut(LANES);
        let found = self.found.chunks_exact_mut(LANES);
        for ((states, next), found) in states.zip(next).zip(found).take(lanes) {
            let mut lane_states: [u64; LANES] = core::array::from_fn(|lane| states[lane]);
            let mut lane_next: [f64; LANES] = core::array::from_fn(|lane| next[lane]);
            let mut lane_found = lane_next;
            for _ in 0..steps {
                // Selections in place of branches: a key that is done keeps its bucket.
                for lane in 0..LANES {
                    let open = lane_next[lane] <= end;
                    lane_found[lane] = if open {
                        lane_next[lane]
                    } else {
                        lane_found[lane]
                    };
                }
                lane_states = lane_states.map(step);
                for lane in 0..LANES {
                    let factor = (1_u64 << 31) as f64 / draw(lane_states[lane]);
                    let far = truncate_plus_1(lane_found[lane] * factor);
                    let open = lane_next[lane] <= end;
                    lane_next[lane] = if open { far } else { lane_next[lane] };
                }
            }
            states.copy_from_slice(&lane_states);
            next.copy_from_slice(&lane_next);
            found.copy_from_slice(&lane_found);
        }
    }

    /// Writes the bucket of every key, and moves the open keys to the front.
    #[inline(always)]
    fn settle(&mut self, end: f64, out: &mut [Option<NodeId>]) {
        let mut kept = 0;
        // Every key is written, and an open one is overwritten in a later round. The index of the
        // next open key is a sum, since no processor could predict a branch on each key.
        for at in 0..self.open {
            let (next, index) = (self.next[at], self.indexes[at]);
            out[index] = NodeId::from_index(integer(self.found[at] - 1.0) as usize);
            self.states[kept] = self.states[at];
            self.next[kept] = next;
            self.indexes[kept] = index;
            kept += usize::from(next <= end);
        }
        self.open = kept;
    }
}

/// Returns the upper 31 bits of the state, plus 1.
#[inline(always)]
fn draw(state: u64) -> f64 {
    // 2^52 with the number in its lowest bits is 2^52 + number. AVX2 cannot convert a u64.
    f64::from_bits(INTEGERS.to_bits() | state >> 33) - (INTEGERS - 1.0)
}

/// Converts a whole number below 2^32 from a double.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower half is the number"
)]
fn integer(x: f64) -> u32 {
    (x + INTEGERS).to_bits() as u32
}

/// Truncates a number from 0 to 2^52 and adds 1. Returns about `x` for larger numbers, which are
/// above all buckets.
#[inline(always)]
fn truncate_plus_1(x: f64) -> f64 {
    // The sum rounds to a whole number, up or down. If it rounded up, that is the 1.
    let rounded = (x + INTEGERS) - INTEGERS;
    rounded + if rounded > x { 0.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;
    use crate::strategy::jump_hash;

    #[test]
    fn a_batch_gives_the_buckets_of_single_keys() {
        let counts = [1, 2, 3, 10, 1000, 65_537, 1 << 20, u32::MAX >> 1, u32::MAX];
        // Keys with a first draw of 31 ones, with an inexact product, and the smallest and largest.
        let hard = [
            7_036_915_148_532_262_134,
            8_816_847_853_880_984_676,
            17_068_571_456_203_592_619,
            0,
            1,
            u64::MAX,
        ];
        for buckets in counts {
            // Lengths that fill lanes and blocks partly, exactly and several times.
            for len in [1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 10 * BLOCK + 5] {
                let mixed = (0..).map(|i| mix64(i * 0x1_0001 + len as u64));
                let keys: alloc::vec::Vec<_> = hard
                    .into_iter()
                    .chain(mixed)
                    .take(len)
                    .map(KeyHash::from_raw)
                    .collect();
                let mut out = alloc::vec![None; len];
                route(&keys, buckets, &mut out);
                for (key, owner) in keys.iter().zip(out) {
                    let bucket = jump_hash(key.get(), buckets).expect("a bucket");
                    // Not every bucket of 2^32 - 1 is the index of a node.
                    let expected = NodeId::from_index(bucket as usize);
                    assert_eq!(owner, expected, "{key:?} of {buckets}");
                }
            }
        }
    }
}
