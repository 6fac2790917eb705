//! Numbers drawn for names, and what tables of owners add up to.

use crate::hash;

/// The number that stands for a node wherever its name has to be mixed with something: one
/// hash of the whole name, so that no two labels can run into each other.
pub(super) fn seed(name: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(name.as_bytes())
}

/// The `index`-th number of the sequence that a seed stands for; distinct for distinct indices.
pub(super) fn draw(seed: u64, index: u64) -> u64 {
    hash::mix64(seed ^ hash::mix64(index.wrapping_add(hash::GOLDEN_GAMMA)))
}
