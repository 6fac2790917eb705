//! The scores of many nodes for one key, sixteen at a time.
//!
//! The loops are written so that the compiler makes vector instructions of them, once for each
//! kind of CPU; which copy runs is decided at run time, and all give the same answers.

#![expect(
    clippy::inline_always,
    reason = "each CPU's copy must hold the whole loop"
)]

use alloc::vec::Vec;
use core::cmp::Ordering;

use multiversion::multiversion;

use crate::log2::neg_log2;

/// Nodes that are scored together: enough for the widest registers in use.
pub(in crate::strategy) const LANES: usize = 16;

/// Nodes whose figures are kept on the stack before one of them is looked for.
const CHUNK: usize = 8 * LANES;

/// What the nodes draw their scores from, in order of name.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    // Parallel, each with `LANES` zeros more at the end, so that every node stands in full lanes:
    // the halves of the seed, so that lanes of 32 bits suffice; the weight, and one over it.
    low: Vec<u32>,
    high: Vec<u32>,
    weights: Vec<u32>,
    inverse: Vec<f32>,
    equal: bool,
}

/// A node with its score for a key. The order is that of preference, the best first: total, and
/// the same in every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) score: u32,
    pub(super) weight: u32,
    /// -log2 of the score; 0 while all weights are equal and nobody asks.
    log: u64,
    pub(super) at: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let cost = |of: &Self, by: &Self| u128::from(of.log) * u128::from(by.weight);
        let by_cost = if self.weight == other.weight {
            Ordering::Equal
        } else {
            cost(self, other).cmp(&cost(other, self))
        };
        by_cost
            .then(other.score.cmp(&self.score))
            .then(self.at.cmp(&other.at))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Seeds with weights, in order of name.
impl FromIterator<(u64, u32)> for Draws {
    fn from_iter<I: IntoIterator<Item = (u64, u32)>>(draws: I) -> Self {
        let zeros = || Vec::from([0; LANES]);
        let (low, high, weights) = (zeros(), zeros(), zeros());
        let inverse = Vec::from([0.0; LANES]);
        let mut all = Self {
            low,
            high,
            weights,
            inverse,
            equal: true,
        };
        for (at, (seed, weight)) in draws.into_iter().enumerate() {
            all.put(at, seed, weight);
        }
        for half in [&mut all.low, &mut all.high, &mut all.weights] {
            half.shrink_to_fit();
        }
        all.inverse.shrink_to_fit();
        all.compare_weights();
        all
    }
}

impl Draws {
    fn len(&self) -> usize {
        self.low.len() - LANES
    }

    pub(super) fn insert(&mut self, at: usize, seed: u64, weight: u32) {
        self.put(at, seed, weight);
        self.compare_weights();
    }

    fn put(&mut self, at: usize, seed: u64, weight: u32) {
        let (low, high) = halves(seed);
        self.low.insert(at, low);
        self.high.insert(at, high);
        self.weights.insert(at, weight);
        self.inverse.insert(at, 1.0 / weight as f32);
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.low.remove(at);
        self.high.remove(at);
        self.weights.remove(at);
        self.inverse.remove(at);
        self.compare_weights();
    }

    fn compare_weights(&mut self) {
        let weights = &self.weights[..self.len()];
        self.equal = weights.iter().all(|weight| *weight == weights[0]);
    }

    fn score(&self, at: usize, key: u64) -> u32 {
        score(halves(key), self.low[at], self.high[at])
    }

    pub(super) fn candidate(&self, at: usize, key: u64) -> Candidate {
        let score = self.score(at, key);
        let log = if self.equal { 0 } else { neg_log2(score) };
        Candidate {
            score,
            weight: self.weights[at],
            log,
            at,
        }
    }

    /// The best node, if there is one.
    #[inline]
    pub(super) fn best(&self, key: u64) -> Option<usize> {
        match self.len() {
            0 => None,
            _ if !self.equal => self.best_by_weight(key),
            len if len <= LANES => Some(best_of_few(&self.low, &self.high, len, halves(key))),
            len => Some(best_of_many(&self.low, &self.high, len, halves(key))),
        }
    }

    /// Estimates leave few nodes in question, mostly one; those are compared exactly.
    fn best_by_weight(&self, key: u64) -> Option<usize> {
        let mut best = None;
        let mut bound = f32::INFINITY;
        for start in (0..self.len()).step_by(CHUNK) {
            let valid = CHUNK.min(self.len() - start);
            let rest = [&self.low[start..], &self.high[start..]];
            let (costs, least) = estimates(rest, &self.inverse[start..], valid, halves(key));
            if least > bound {
                continue;
            }
            let lanes = costs.as_flattened()[..valid].iter().zip(start..);
            if let Some((_, at)) = lanes.clone().find(|(cost, _)| **cost <= least) {
                bound = bound.min(self.upper_bound(at, least, key));
            }
            for (_, at) in lanes.filter(|(cost, _)| **cost <= bound) {
                best = Some(best.map_or(at, |best| self.better(best, at, key)));
            }
        }
        best
    }

    fn better(&self, a: usize, b: usize, key: u64) -> usize {
        self.candidate(a, key).min(self.candidate(b, key)).at
    }

    /// What a node costs at the most, given the estimate of it.
    fn upper_bound(&self, at: usize, estimate: f32, key: u64) -> f32 {
        if self.score(at, key) < HALF {
            return f32::INFINITY;
        }
        estimate * SERIES_ERROR + self.inverse[at] * CUT_ERROR
    }

    pub(super) fn heap_bytes(&self) -> usize {
        (self.low.capacity() + self.high.capacity() + self.weights.capacity()) * size_of::<u32>()
            + self.inverse.capacity() * size_of::<f32>()
    }
}

/// From here on a score stands for a fraction of 1/2 or more.
const HALF: u32 = 1 << 31;

/// The series of [`estimate`] ends at t^6, which for t up to 1/2 leaves out less than 1 part in
/// 300; the roundings of single precision are a thousand times smaller.
const SERIES_ERROR: f32 = 1.005;

/// A score is cut to 31 bits, which moves t by less than 2^-30 and the logarithm by less than 2^-28.
const CUT_ERROR: f32 = 1.0 / (1 << 28) as f32;

/// About a lower bound of -log2(u) for the fraction u that a score stands for: the series of
/// -log2(1 - t), all of whose terms are positive.
#[inline(always)]
#[expect(clippy::cast_possible_wrap, reason = "cut to 31 bits")]
fn estimate(score: u32) -> f32 {
    let t = (!score >> 1) as i32 as f32 * (1.0 / HALF as f32);
    let series = 1.0 / 4.0 + t * (1.0 / 5.0 + t * (1.0 / 6.0));
    let series = 1.0 + t * (1.0 / 2.0 + t * (1.0 / 3.0 + t * series));
    t * series * core::f32::consts::LOG2_E
}

/// An estimate of each node's cost, -log2(u) / weight, and the least of them.
#[multiversion(targets("x86_64+avx2"))]
fn estimates(
    [low, high]: [&[u32]; 2],
    inverse: &[f32],
    valid: usize,
    key: (u32, u32),
) -> ([[f32; LANES]; CHUNK / LANES], f32) {
    let mut costs = [[f32::INFINITY; LANES]; CHUNK / LANES];
    let mut least = [f32::INFINITY; LANES];
    let seeds = low.chunks_exact(LANES).zip(high.chunks_exact(LANES));
    let parts = seeds
        .zip(inverse.chunks_exact(LANES))
        .take(valid.div_ceil(LANES));
    for (costs, ((low, high), inverse)) in costs.iter_mut().zip(parts) {
        for lane in 0..LANES {
            let cost = estimate(score(key, low[lane], high[lane])) * inverse[lane];
            // One over a weight is 0 only where there is no node.
            costs[lane] = if inverse[lane] > 0.0 {
                cost
            } else {
                f32::INFINITY
            };
        }
        for lane in 0..LANES {
            least[lane] = if costs[lane] < least[lane] {
                costs[lane]
            } else {
                least[lane]
            };
        }
    }
    (costs, least.iter().copied().fold(f32::INFINITY, f32::min))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the two halves are the point"
)]
pub(in crate::strategy) fn halves(x: u64) -> (u32, u32) {
    (x as u32, (x >> 32) as u32)
}

/// One round over the low halves, then the finaliser of `MurmurHash3_x86_32` over both: every bit
/// of key and seed reaches every bit.
#[inline(always)]
pub(in crate::strategy) fn score((key_low, key_high): (u32, u32), low: u32, high: u32) -> u32 {
    let x = (key_low ^ low).wrapping_mul(0x9e37_79b1);
    let x = (x ^ x >> 15).wrapping_add(key_high ^ high);
    let x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    let x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

#[multiversion(targets("x86_64+avx2"))]
fn best_of_few(low: &[u32], high: &[u32], len: usize, key: (u32, u32)) -> usize {
    let scores = lanes(low, high, len, key);
    first(&scores, top(&scores))
}

#[multiversion(targets("x86_64+avx2"))]
fn best_of_many(low: &[u32], high: &[u32], len: usize, key: (u32, u32)) -> usize {
    let mut best = (0, 0);
    for start in (0..len).step_by(CHUNK) {
        let mut chunk = [[0; LANES]; CHUNK / LANES];
        let mut highest = [0; LANES];
        let parts = low[start..]
            .chunks_exact(LANES)
            .zip(high[start..].chunks_exact(LANES));
        let valid = (0..=len - start).rev().step_by(LANES);
        for (scores, ((low, high), valid)) in chunk.iter_mut().zip(parts.zip(valid)) {
            *scores = lanes(low, high, valid, key);
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
    best.1
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
#[expect(
    clippy::cast_possible_truncation,
    reason = "small numbers, or any will do"
)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    /// Every number of nodes up to three chunks and some, each node twice to force ties, with
    /// weights that are equal, alike, or as unlike as can be.
    #[test]
    fn lanes_agree_with_one_at_a_time() {
        let weights: [fn(u64) -> u32; 5] = [
            |_| 1,
            |i| 1 + u32::from(i % 4 == 0),
            |i| 1 + (i % 97) as u32,
            |i| 1 << (mix64(i) % 32),
            |i| u32::MAX - i as u32,
        ];
        for weight in weights {
            let mut draws: Draws = [].into_iter().collect();
            for len in 1..3 * CHUNK as u64 + 9 {
                draws.insert(len as usize - 1, mix64(len / 2), weight(len));
                for key in (0..8).map(|round| mix64(len * 8 + round)) {
                    let all = (0..draws.len()).map(|at| draws.candidate(at, key));
                    assert_eq!(
                        draws.best(key),
                        all.min().map(|best| best.at),
                        "{len} nodes"
                    );
                }
            }
        }
    }

    #[test]
    fn estimates_hold_their_bounds() {
        for x in (0..1 << 20).map(|i: u64| mix64(i) as u32).chain([
            0,
            HALF - 1,
            HALF,
            u32::MAX - 1,
            u32::MAX,
        ]) {
            let exact = neg_log2(x) as f64 / (1_u64 << 58) as f64;
            let (estimate, below) = (f64::from(estimate(x)), 1.0 + 1e-5);
            assert!(estimate <= exact * below, "{x:#x}: {estimate} > {exact}");
            let above = estimate * f64::from(SERIES_ERROR) + f64::from(CUT_ERROR);
            assert!(x < HALF || exact <= above, "{x:#x}: {exact} > {above}");
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
