//! Draws pseudorandom numbers for names.

use crate::hash;

/// Returns the number that represents a node when its name is mixed with something else. It is one
/// hash of the whole name, so labels cannot collide by concatenation as `node1` + `1` and `node` +
/// `11` do.
pub(super) fn seed(name: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(name.as_bytes())
}

/// Returns number `index` of the sequence of a seed. Different indexes give different numbers.
pub(super) fn draw(seed: u64, index: u64) -> u64 {
    hash::mix64(seed ^ hash::mix64(index.wrapping_add(hash::GOLDEN_GAMMA)))
}
