//! Finds the nodes on the list of a key, sixteen at a time.
//!
//! The hash is the score of rendezvous. As there, the compiler turns the loop into vector
//! instructions, with one copy for each kind of CPU, and all copies give the same answers.

#![expect(
    clippy::inline_always,
    reason = "each CPU's copy must hold the whole loop"
)]

use alloc::vec::Vec;
use core::ops::Range;

#[cfg(feature = "simd")]
use multiversion::multiversion;

use crate::strategy::rendezvous::scores::{LANES, halves, score};

/// The number of blocks for one call. The copy for this CPU is chosen once for each call.
const BATCH: usize = 16;

/// The seeds of nodes in ascending order, in halves of 32 bits for lanes.
#[derive(Clone, Debug)]
pub(super) struct Seeds {
    // Each with `LANES` additional zeros at the end, so that a block can start anywhere.
    low: Vec<u32>,
    high: Vec<u32>,
}

/// The number of nodes in a block, equal to `LANES`.
const WIDTH: u32 = 16;

/// A run of one to sixteen nodes.
#[derive(Clone, Copy)]
struct Block {
    start: u32,
    len: u32,
}

impl FromIterator<u64> for Seeds {
    fn from_iter<I: IntoIterator<Item = u64>>(seeds: I) -> Self {
        let padded = seeds.into_iter().chain([0; LANES]);
        let (low, high) = padded.map(halves).unzip();
        Self { low, high }
    }
}

impl Seeds {
    pub(super) fn len(&self) -> usize {
        self.low.len() - LANES
    }

    pub(super) fn insert(&mut self, at: usize, seed: u64) {
        let (low, high) = halves(seed);
        self.low.insert(at, low);
        self.high.insert(at, high);
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.low.remove(at);
        self.high.remove(at);
    }

    /// Returns the number of seeds below this one.
    pub(super) fn rank(&self, seed: u64) -> usize {
        let (low, high) = halves(seed);
        let start = self.high().partition_point(|&other| other < high);
        let same = self.high()[start..].partition_point(|&other| other == high);
        start + self.low[start..start + same].partition_point(|&other| other < low)
    }

    /// Returns the upper half of each seed.
    pub(super) fn high(&self) -> &[u32] {
        &self.high[..self.len()]
    }

    /// Returns the hash of a key with one seed.
    #[inline]
    pub(super) fn hash(&self, at: usize, key: u64) -> u32 {
        score(halves(key), self.low[at], self.high[at])
    }

    /// Visits the indexes in these ranges with a hash of at least `floor`.
    #[inline]
    pub(super) fn reaching(
        &self,
        ranges: impl Iterator<Item = Range<u32>>,
        key: u64,
        floor: u32,
        mut visit: impl FnMut(usize),
    ) {
        let mut blocks = [Block { start: 0, len: 0 }; BATCH];
        let mut filled = 0;
        for Range { mut start, end } in ranges {
            while start < end {
                let len = (end - start).min(WIDTH);
                blocks[filled] = Block { start, len };
                start += len;
                filled += 1;
                if filled == BATCH {
                    self.visit(&blocks, key, floor, &mut visit);
                    filled = 0;
                }
            }
        }
        self.visit(&blocks[..filled], key, floor, &mut visit);
    }

    #[inline]
    fn visit(&self, blocks: &[Block], key: u64, floor: u32, visit: &mut impl FnMut(usize)) {
        let masks = masks(&self.low, &self.high, blocks, halves(key), floor);
        for (block, mask) in blocks.iter().zip(masks) {
            let mut mask = mask & (u32::MAX >> (32 - block.len));
            while mask != 0 {
                visit(block.start as usize + mask.trailing_zeros() as usize);
                mask &= mask - 1;
            }
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        (self.low.capacity() + self.high.capacity()) * size_of::<u32>()
    }
}

#[cfg_attr(feature = "simd", multiversion(targets("x86_64+avx2")))]
fn masks(low: &[u32], high: &[u32], blocks: &[Block], key: (u32, u32), floor: u32) -> [u32; BATCH] {
    let mut masks = [0; BATCH];
    for (mask, block) in masks.iter_mut().zip(blocks) {
        let start = block.start as usize;
        *mask = mask_of(&low[start..], &high[start..], key, floor);
    }
    masks
}

/// Returns a bit for each of sixteen nodes: 1 if its hash with the key is at least `floor`.
#[inline(always)]
fn mask_of(low: &[u32], high: &[u32], key: (u32, u32), floor: u32) -> u32 {
    let (low, high) = (&low[..LANES], &high[..LANES]);
    let mut reached = [0; LANES];
    for lane in 0..LANES {
        reached[lane] = u32::from(score(key, low[lane], high[lane]) >= floor);
    }
    // Most blocks have no such node. To see that is cheaper than to see which.
    if reached.iter().fold(0, |any, one| any | one) == 0 {
        return 0;
    }
    reached
        .iter()
        .zip(0..)
        .fold(0, |bits, (one, at)| bits | one << at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    /// Ranges of all lengths, some with more blocks than fit into one batch.
    #[test]
    fn blocks_visit_the_nodes_that_comparing_one_by_one_finds() {
        let count = 3 * BATCH * LANES + 5;
        let seeds: Seeds = (0..count as u64).map(|i| mix64(i + 1)).collect();
        let floor = 3 << 30;
        let end = u32::try_from(count).unwrap_or(0);
        for first in 0..end {
            let key = mix64(u64::from(first) * 7);
            let ranges = [0..first / 9, first / 2..first, first..first, first..end];
            let mut visited = Vec::new();
            seeds.reaching(ranges.clone().into_iter(), key, floor, |at| {
                visited.push(at);
            });
            let each = ranges.into_iter().flatten().map(|at| at as usize);
            let expected: Vec<_> = each.filter(|&at| seeds.hash(at, key) >= floor).collect();
            assert_eq!(visited, expected, "{first}");
        }
    }

    #[test]
    fn ranks_count_the_seeds_below() {
        let seeds = [1, 1 << 32, (1 << 32) + 5, (1 << 32) + 5, u64::MAX];
        let sorted: Seeds = seeds.into_iter().collect();
        for seed in seeds
            .into_iter()
            .flat_map(|seed| [seed - 1, seed, seed.saturating_add(1)])
        {
            let below = seeds.iter().filter(|other| **other < seed).count();
            assert_eq!(sorted.rank(seed), below, "{seed:#x}");
        }
    }
}
