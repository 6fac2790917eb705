//! The reference function for eight keys at once, with the same answers to the last bit.
//!
//! Written so that the compiler makes vector instructions of it, once for each kind of CPU: all
//! numbers are held as doubles, which are exact here, and a lane that is done is carried along.

#![expect(
    clippy::inline_always,
    clippy::needless_bitwise_bool,
    reason = "each CPU's copy must hold the whole loop, and a loop with early ends is no vector"
)]

use multiversion::multiversion;

use super::step;

/// Keys that are routed together.
pub(super) const LANES: usize = 8;

/// 2^52: the spacing of doubles from here on is 1.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// The bucket of each key. There must be buckets.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn buckets(keys: [u64; LANES], buckets: u32) -> [u32; LANES] {
    let end = f64::from(buckets);
    let mut states = keys;
    let mut found = [0.0; LANES];
    let mut next = [0.0; LANES];
    while next.iter().fold(false, |live, &next| live | (next < end)) {
        for lane in 0..LANES {
            found[lane] = if next[lane] < end {
                next[lane]
            } else {
                found[lane]
            };
        }
        states = states.map(step);
        for lane in 0..LANES {
            let draw = double(states[lane] >> 33) + 1.0;
            let far = truncate((found[lane] + 1.0) * ((1_u64 << 31) as f64 / draw));
            next[lane] = if next[lane] < end { far } else { next[lane] };
        }
    }
    found.map(integer)
}

/// A number below 2^52 as a double.
#[inline(always)]
fn double(x: u64) -> f64 {
    f64::from_bits(INTEGERS.to_bits() | x) - INTEGERS
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

/// Towards zero, for numbers from 0 to 2^52; beyond, about the same, which is beyond all buckets.
#[inline(always)]
fn truncate(x: f64) -> f64 {
    let rounded = (x + INTEGERS) - INTEGERS;
    if rounded > x { rounded - 1.0 } else { rounded }
}

#[cfg(test)]
mod tests {
    use crate::hash::mix64;
    use crate::strategy::jump_hash;

    #[test]
    fn lanes_agree_with_the_function() {
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
            for round in 0..500 {
                let keys = core::array::from_fn(|lane| match hard.get(lane) {
                    Some(key) if round == 0 => *key,
                    _ => mix64(round * 8 + lane as u64),
                });
                let expected = keys.map(|key| jump_hash(key, buckets));
                assert_eq!(
                    super::buckets(keys, buckets).map(Some),
                    expected,
                    "{keys:?} of {buckets}"
                );
            }
        }
    }
}
