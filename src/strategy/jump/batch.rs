//! The reference function for many keys at once, with the same answers to the last bit.
//!
//! Written so that the compiler makes vector instructions of it, once for each kind of CPU: all
//! numbers are held as doubles, which are exact here. How many steps a key takes varies, so all
//! keys of a block take as many as most need, and those that are not done move together and go
//! on: no branch depends on a single key, and few lanes are carried along in vain.

#![expect(
    clippy::inline_always,
    reason = "each CPU's copy must hold the whole loop"
)]

#[cfg(feature = "simd")]
use multiversion::multiversion;

use super::step;
use crate::{KeyHash, NodeId};

/// Keys in one vector step: two vectors of AVX2, which hide half of each other's latency.
const LANES: usize = 8;

/// Keys that are on their way together: 3 KB of the stack.
const BLOCK: usize = 128;

/// Steps of a later round; more are wasted on the keys that need one.
const MORE: u32 = 3;

/// 2^52: the spacing of doubles from here on is 1.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// The node of each key among `buckets`, of which there must be some; `out` is as long as `keys`.
#[cfg_attr(feature = "simd", multiversion(targets("x86_64+avx2")))]
pub(super) fn route(keys: &[KeyHash], buckets: u32, out: &mut [Option<NodeId>]) {
    // The mean is about 0.7 a doubling.
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

/// Keys that are not done, at the front. A bucket plus 1 is what the function multiplies by.
struct Block {
    /// The keys that are not done.
    open: usize,
    states: [u64; BLOCK],
    /// Each key's next bucket, plus 1: beyond `end` when it is done.
    next: [f64; BLOCK],
    /// Each key's last bucket before `end`, plus 1.
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

    /// Whole lanes: what the last of them hold beyond the open keys is no matter.
    #[inline(always)]
    fn advance(&mut self, end: f64, steps: u32) {
        let lanes = self.open.div_ceil(LANES);
        let states = self.states.chunks_exact_mut(LANES);
        let next = self.next.chunks_exact_mut(LANES);
        let found = self.found.chunks_exact_mut(LANES);
        for ((states, next), found) in states.zip(next).zip(found).take(lanes) {
            let mut lane_states: [u64; LANES] = core::array::from_fn(|lane| states[lane]);
            let mut lane_next: [f64; LANES] = core::array::from_fn(|lane| next[lane]);
            let mut lane_found = lane_next;
            for _ in 0..steps {
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

    /// Write down every bucket, which for a key that is not done is not final, and keep
    /// the keys that are not done: without a branch, since nobody could foretell it.
    #[inline(always)]
    fn settle(&mut self, end: f64, out: &mut [Option<NodeId>]) {
        let mut kept = 0;
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

/// The upper 31 bits of the state, plus 1.
#[inline(always)]
fn draw(state: u64) -> f64 {
    f64::from_bits(INTEGERS.to_bits() | state >> 33) - (INTEGERS - 1.0)
}

/// A whole number below 2^32, back from a double.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower half is the number"
)]
fn integer(x: f64) -> u32 {
    (x + INTEGERS).to_bits() as u32
}

/// Towards zero, and 1 more, for numbers from 0 to 2^52; beyond, about the same, which is beyond
/// all buckets.
#[inline(always)]
fn truncate_plus_1(x: f64) -> f64 {
    let rounded = (x + INTEGERS) - INTEGERS;
    rounded + if rounded > x { 0.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;
    use crate::strategy::jump_hash;

    #[test]
    fn a_batch_agrees_with_the_function() {
        let counts = [1, 2, 3, 10, 1000, 65_537, 1 << 20, u32::MAX >> 1, u32::MAX];
        // Keys whose first draw has 31 ones, whose product is inexact, and the ends.
        let hard = [
            7_036_915_148_532_262_134,
            8_816_847_853_880_984_676,
            17_068_571_456_203_592_619,
            0,
            1,
            u64::MAX,
        ];
        for buckets in counts {
            // Parts of lanes, parts of blocks, and several blocks.
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
