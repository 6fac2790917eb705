//! The scores of many nodes for one key, sixteen at a time.
//!
//! The loops are written so that the compiler makes vector instructions of them, once for each
//! kind of CPU; which copy runs is decided at run time, and all give the same answers.

#![expect(
    clippy::inline_always,
    reason = "each CPU's copy must hold the whole loop"
)]

use alloc::vec::Vec;
use core::ops::Range;

use multiversion::multiversion;

/// Nodes that are scored together: enough for the widest registers in use.
const LANES: usize = 16;

/// Scores that are kept on the stack before one of them is looked for.
const CHUNK: usize = 8 * LANES;

/// What each node's score is drawn from: the halves of its seed, so that 32-bit lanes suffice.
#[derive(Clone, Debug)]
pub(super) struct Seeds {
    // Each with `LANES` numbers more at the end, so that any range can be read in full lanes.
    low: Vec<u32>,
    high: Vec<u32>,
}

impl FromIterator<u64> for Seeds {
    fn from_iter<I: IntoIterator<Item = u64>>(seeds: I) -> Self {
        let (mut low, mut high): (Vec<_>, Vec<_>) = seeds.into_iter().map(halves).unzip();
        for half in [&mut low, &mut high] {
            half.extend([0; LANES]);
        }
        Self { low, high }
    }
}

impl Seeds {
    pub(super) fn insert(&mut self, at: usize, seed: u64) {
        let (low, high) = halves(seed);
        self.low.insert(at, low);
        self.high.insert(at, high);
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.low.remove(at);
        self.high.remove(at);
    }

    /// The score of one node.
    #[inline]
    pub(super) fn score(&self, at: usize, key: u64) -> u32 {
        score(halves(key), self.low[at], self.high[at])
    }

    /// The highest score of a range that is not empty, and the first node that has it.
    #[inline]
    pub(super) fn best(&self, range: Range<usize>, key: u64) -> (u32, usize) {
        let (low, high) = (&self.low[range.start..], &self.high[range.start..]);
        let (score, at) = if range.len() <= LANES {
            best_of_few(low, high, range.len(), halves(key))
        } else {
            best_of_many(low, high, range.len(), halves(key))
        };
        (score, range.start + at)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        (self.low.capacity() + self.high.capacity()) * size_of::<u32>()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the two halves are the point"
)]
fn halves(x: u64) -> (u32, u32) {
    (x as u32, (x >> 32) as u32)
}

/// One round over the low halves, then the finaliser of `MurmurHash3_x86_32` over both: every bit
/// of key and seed reaches every bit.
#[inline(always)]
fn score((key_low, key_high): (u32, u32), low: u32, high: u32) -> u32 {
    let x = (key_low ^ low).wrapping_mul(0x9e37_79b1);
    let x = (x ^ x >> 15).wrapping_add(key_high ^ high);
    let x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    let x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2"))]
fn best_of_few(low: &[u32], high: &[u32], len: usize, key: (u32, u32)) -> (u32, usize) {
    let scores = lanes(low, high, len, key);
    let top = top(&scores);
    (top, first(&scores, top))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2"))]
fn best_of_many(low: &[u32], high: &[u32], len: usize, key: (u32, u32)) -> (u32, usize) {
    let mut best = (0, 0);
    for (start, (low, high)) in (0..len)
        .step_by(CHUNK)
        .zip(low.chunks(CHUNK).zip(high.chunks(CHUNK)))
    {
        let mut chunk = [[0; LANES]; CHUNK / LANES];
        let mut highest = [0; LANES];
        let parts = low.chunks_exact(LANES).zip(high.chunks_exact(LANES));
        for (done, (scores, (low, high))) in (0..).step_by(LANES).zip(chunk.iter_mut().zip(parts)) {
            *scores = lanes(low, high, (len - start).saturating_sub(done), key);
            for lane in 0..LANES {
                highest[lane] = scores[lane].max(highest[lane]);
            }
        }
        let top = top(&highest);
        if top > best.0 {
            let part = chunk
                .iter()
                .position(|scores| scores.contains(&top))
                .unwrap_or(0);
            best = (top, start + part * LANES + first(&chunk[part], top));
        }
    }
    best
}

/// Sixteen scores; 0 for those that are not valid.
#[inline(always)]
fn lanes(low: &[u32], high: &[u32], valid: usize, key: (u32, u32)) -> [u32; LANES] {
    let mut scores = [0; LANES];
    let (low, high) = (&low[..LANES], &high[..LANES]);
    for lane in 0..LANES {
        let score = score(key, low[lane], high[lane]);
        scores[lane] = if lane < valid { score } else { 0 };
    }
    scores
}

#[inline(always)]
fn top(scores: &[u32; LANES]) -> u32 {
    let mut tops = *scores;
    for half in [LANES / 2, LANES / 4, LANES / 8, LANES / 16] {
        for lane in 0..half {
            tops[lane] = tops[lane].max(tops[lane + half]);
        }
    }
    tops[0]
}

/// The first lane that holds `score`; one does.
#[inline(always)]
fn first(scores: &[u32; LANES], score: u32) -> usize {
    let bits = scores
        .iter()
        .zip(0..)
        .map(|(&lane, at)| u32::from(lane == score) << at);
    bits.fold(0, |all, bit| all | bit).trailing_zeros() as usize % LANES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    /// Ranges of every length up to three chunks, wherever they start; scores from all of the
    /// space and, to force ties, nodes that stand there twice.
    #[test]
    fn lanes_agree_with_one_at_a_time() {
        let count = 3 * CHUNK + 9;
        let seeds: Seeds = (0..count as u64).map(|i| mix64(i / 2 + 1)).collect();
        for len in 1..count {
            let key = mix64(len as u64 * 7);
            let range = count - len - len % 3 * usize::from(len + 2 < count)..count;
            let range = range.start..range.start + len;
            let mut best = (0, range.start);
            for at in range.clone() {
                let score = seeds.score(at, key);
                best = if score > best.0 { (score, at) } else { best };
            }
            assert_eq!(seeds.best(range.clone(), key), best, "{range:?}");
        }
    }

    /// Every bit of the key and of the seed flips every bit of the score half the time.
    #[test]
    fn scores_avalanche() {
        const SAMPLES: u64 = 4096;
        // Six standard deviations of a binomial with p = 1/2: 1 in 10^9 for one of 4,096 cells.
        let tolerance = 6.0 * (SAMPLES as f64 / 4.0).sqrt();
        for flip in 0..128 {
            let mut flips = [0_u32; 32];
            for sample in 0..SAMPLES {
                let (key, seed) = (mix64(sample + 1), mix64(sample + (1 << 32)));
                let (key_flip, seed_flip) = if flip < 64 {
                    (1 << flip, 0)
                } else {
                    (0, 1 << (flip - 64))
                };
                let draw = |key, seed| {
                    let (low, high) = halves(seed);
                    score(halves(key), low, high)
                };
                let changed = draw(key, seed) ^ draw(key ^ key_flip, seed ^ seed_flip);
                for (bit, count) in flips.iter_mut().enumerate() {
                    *count += changed >> bit & 1;
                }
            }
            let off = |count: &u32| (f64::from(*count) - SAMPLES as f64 / 2.0).abs();
            assert!(
                flips.iter().map(off).all(|off| off < tolerance),
                "bit {flip}: {flips:?}"
            );
        }
    }
}
