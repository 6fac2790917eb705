//! The scores of many nodes for one key, some at a time.
//!
//! The loops are written so that the compiler makes vector instructions of them, once for each
//! kind of CPU; which copy runs is decided at run time, and all give the same answers.

#![expect(
    clippy::inline_always,
    reason = "each CPU's copy must hold the whole loop"
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "indexes are of nodes, whose ids have 32 bits"
)]

use alloc::vec::Vec;

#[cfg(feature = "simd")]
use multiversion::multiversion;

/// Zeros that stand behind the last node, so that lanes may begin at every node.
pub(in crate::strategy) const LANES: usize = 16;

/// Nodes that are scored together. One register of AVX2: the compiler takes longer arrays apart.
pub(super) const WIDTH: usize = 8;

/// Lanes so far apart are compared, one distance after the other, to find the best of all.
const DISTANCES: [usize; 3] = [4, 2, 1];

/// Nodes whose costs are kept on the stack before one of them is looked for.
pub(super) const CHUNK: usize = 16 * WIDTH;

type Lanes<T = u32> = [T; WIDTH];

/// The indexes of the first nodes.
const FIRST: Lanes = {
    let mut first = [0; WIDTH];
    let mut lane = 0;
    while lane < WIDTH {
        first[lane] = lane as u32;
        lane += 1;
    }
    first
};

/// Lanes that are in use, then as many that are not.
static MASK: [u32; 2 * WIDTH] = {
    let mut mask = [0; 2 * WIDTH];
    let mut lane = 0;
    while lane < WIDTH {
        mask[lane] = u32::MAX;
        lane += 1;
    }
    mask
};

/// What nodes draw their scores from, and one over their weights. Parallel, each with `LANES`
/// zeros more at the end, so that lanes may begin at every node.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    // The halves of the seed, so that lanes of 32 bits suffice.
    pub(super) low: Vec<u32>,
    pub(super) high: Vec<u32>,
    pub(super) inverse: Vec<f32>,
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

#[inline(always)]
fn scores(low: &[u32], high: &[u32], key: (u32, u32)) -> Lanes {
    let (low, high) = (&low[..WIDTH], &high[..WIDTH]);
    let mut scores = [0; WIDTH];
    for lane in 0..WIDTH {
        scores[lane] = score(key, low[lane], high[lane]);
    }
    scores
}

/// The best so far in each lane.
struct Tops {
    scores: Lanes,
    indexes: Lanes,
}

impl Tops {
    #[inline(always)]
    fn offer(&mut self, scores: Lanes, indexes: &Lanes) {
        for lane in 0..WIDTH {
            let better = scores[lane] > self.scores[lane];
            self.scores[lane] = scores[lane].max(self.scores[lane]);
            self.indexes[lane] = if better {
                indexes[lane]
            } else {
                self.indexes[lane]
            };
        }
    }
}

/// The highest score of the first `len` nodes, and the first of the nodes that have it.
#[cfg_attr(feature = "simd", multiversion(targets("x86_64+avx2")))]
pub(super) fn highest(low: &[u32], high: &[u32], len: usize, key: (u32, u32)) -> (u32, usize) {
    let mut indexes = FIRST;
    let mut tops = Tops {
        scores: scores(low, high, key),
        indexes,
    };
    let mask = &MASK[WIDTH - len.min(WIDTH)..][..WIDTH];
    for (score, mask) in tops.scores.iter_mut().zip(mask) {
        *score &= mask;
    }
    if len > WIDTH {
        // The last lanes are full as well: some nodes come twice, which changes nothing.
        let (last, middle) = (len - WIDTH, WIDTH..len - 1);
        let low_parts = low[middle.clone()].chunks_exact(WIDTH);
        for (low, high) in low_parts.zip(high[middle].chunks_exact(WIDTH)) {
            step(&mut indexes);
            tops.offer(scores(low, high, key), &indexes);
        }
        for lane in 0..WIDTH {
            indexes[lane] = FIRST[lane] + last as u32;
        }
        tops.offer(scores(&low[last..], &high[last..], key), &indexes);
    }
    let top = most(tops.scores);
    for lane in 0..WIDTH {
        let is_top = tops.scores[lane] == top[lane];
        indexes[lane] = if is_top { tops.indexes[lane] } else { u32::MAX };
    }
    (top[0], least_of(indexes)[0] as usize)
}

#[inline(always)]
fn step(indexes: &mut Lanes) {
    for index in indexes {
        *index += WIDTH as u32;
    }
}

/// The most of all lanes, in each.
#[inline(always)]
fn most(mut x: Lanes) -> Lanes {
    for distance in DISTANCES {
        let y = x;
        for lane in 0..WIDTH {
            x[lane] = y[lane].max(y[lane ^ distance]);
        }
    }
    x
}

/// The least of all lanes, in each.
#[inline(always)]
fn least_of(mut x: Lanes) -> Lanes {
    for distance in DISTANCES {
        let y = x;
        for lane in 0..WIDTH {
            x[lane] = y[lane].min(y[lane ^ distance]);
        }
    }
    x
}

/// From here on a score stands for a fraction of 1/2 or more.
const HALF: u32 = 1 << 31;

/// The series of [`estimate`] ends at t^6, which for t up to 1/2 leaves out less than 1 part in
/// 300; the roundings of single precision are a thousand times smaller.
const SERIES_ERROR: f32 = 1.005;

/// Up to this estimate, where t is below 0.3, less than 1 part in 7,000: mostly the case.
const SMALL_ESTIMATE: f32 = 0.5;
const SMALL_SERIES_ERROR: f32 = 1.0002;

/// A score is cut to 31 bits, which moves t by less than 2^-30 and the logarithm by less than 2^-28.
const CUT_ERROR: f32 = 1.0 / (1 << 28) as f32;

/// The estimate at t = 1/2, and less than it by more than the roundings.
const ESTIMATE_OF_HALF: f32 = 0.997;

/// About a lower bound of -log2(u) for the fraction u that a score stands for: the series of
/// -log2(1 - t), all of whose terms are positive.
#[inline(always)]
#[expect(clippy::cast_possible_wrap, reason = "cut to 31 bits")]
fn estimate(score: u32) -> f32 {
    let t = (!score >> 1) as i32 as f32 * (1.0 / HALF as f32);
    // In pairs, which need not wait for each other.
    let (square, first) = (t * t, 1.0 + t * (1.0 / 2.0));
    let (second, third) = (1.0 / 3.0 + t * (1.0 / 4.0), 1.0 / 5.0 + t * (1.0 / 6.0));
    let series = first + square * (second + square * third);
    t * core::f32::consts::LOG2_E * series
}

/// What a node costs at the most, -log2(u) / weight, given the estimate of it.
#[inline(always)]
fn upper_bound(cost: f32, inverse: f32) -> f32 {
    let series_error = if cost < SMALL_ESTIMATE * inverse {
        SMALL_SERIES_ERROR
    } else if cost < ESTIMATE_OF_HALF * inverse {
        SERIES_ERROR
    } else {
        return f32::INFINITY;
    };
    cost * series_error + CUT_ERROR * inverse
}

/// An estimate of each node's cost.
#[inline(always)]
fn estimates(rows: &Rows, start: usize, key: (u32, u32)) -> Lanes<f32> {
    let inverse = &rows.inverse[start..][..WIDTH];
    let scores = scores(&rows.low[start..], &rows.high[start..], key);
    let mut costs = [0.0; WIDTH];
    for lane in 0..WIDTH {
        let cost = estimate(scores[lane]) * inverse[lane];
        // One over a weight is 0 only where there is no node.
        costs[lane] = if inverse[lane] > 0.0 {
            cost
        } else {
            f32::INFINITY
        };
    }
    costs
}

/// The node of the least estimated cost, if that leaves no other in question.
#[cfg_attr(feature = "simd", multiversion(targets("x86_64+avx2")))]
pub(super) fn least(rows: &Rows, len: usize, key: (u32, u32)) -> Option<usize> {
    let mut at = FIRST;
    let mut indexes = FIRST;
    let mut least = bits(estimates(rows, 0, key));
    let mut next = [f32::INFINITY.to_bits(); WIDTH];
    for start in (WIDTH..len).step_by(WIDTH) {
        step(&mut at);
        let costs = bits(estimates(rows, start, key));
        for lane in 0..WIDTH {
            let better = costs[lane] < least[lane];
            next[lane] = next[lane].min(costs[lane].max(least[lane]));
            least[lane] = costs[lane].min(least[lane]);
            indexes[lane] = if better { at[lane] } else { indexes[lane] };
        }
    }
    let first = least_of(least);
    let mut firsts = [0; WIDTH];
    for lane in 0..WIDTH {
        let is_first = least[lane] == first[lane];
        firsts[lane] = if is_first { indexes[lane] } else { u32::MAX };
    }
    let index = least_of(firsts)[0];
    let bound = upper_bound(f32::from_bits(first[0]), rows.inverse[index as usize]).to_bits();
    let mut others = 0;
    for lane in 0..WIDTH {
        let other = indexes[lane] != index && least[lane] <= bound;
        others |= u32::from(other || next[lane] <= bound);
    }
    (others == 0).then_some(index as usize)
}

/// For positive numbers these have the same order, and stay in their registers when the best of
/// all lanes is looked for.
#[inline(always)]
fn bits(costs: Lanes<f32>) -> Lanes {
    let mut bits = [0; WIDTH];
    for lane in 0..WIDTH {
        bits[lane] = costs[lane].to_bits();
    }
    bits
}

/// The estimated costs of the nodes from `start` on, as many as there is room for.
#[cfg_attr(feature = "simd", multiversion(targets("x86_64+avx2")))]
pub(super) fn costs(rows: &Rows, start: usize, key: (u32, u32), costs: &mut Costs) {
    let starts = (start..rows.low.len() - LANES).step_by(WIDTH);
    for (costs, start) in costs.iter_mut().zip(starts) {
        *costs = estimates(rows, start, key);
    }
}

/// Room for the costs of a chunk.
pub(super) type Costs = [Lanes<f32>; CHUNK / WIDTH];

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
mod tests {
    use super::*;
    use crate::hash::log2::neg_log2;
    use crate::hash::mix64;

    /// A node that leaves many of its kind in question, or the wrong ones, would go unseen in a
    /// comparison of answers alone.
    #[test]
    fn estimates_hold_their_bounds() {
        let small = 3_030_000_000..3_060_000_000;
        let random = (0..1 << 20).map(|i: u64| mix64(i) as u32);
        let edges = [0, HALF - 1, HALF, u32::MAX - 1, u32::MAX];
        for x in random.chain(small.step_by(1000)).chain(edges) {
            let exact = neg_log2(x) as f64 / (1_u64 << 58) as f64;
            let (estimate, below) = (estimate(x), 1.0 + 1e-5);
            let cost = f64::from(estimate);
            assert!(cost <= exact * below, "{x:#x}: {estimate} > {exact}");
            let above = f64::from(upper_bound(estimate, 1.0));
            assert!(exact <= above, "{x:#x}: {exact} > {above}");
            assert!(x < HALF + (HALF >> 8) || above < 2.0, "{x:#x}: no bound");
        }
    }
}
