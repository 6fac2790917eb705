//! The scores of many nodes for one key, eight at a time.
//!
//! The compiler turns these loops into vector instructions. With the feature `simd` there is one
//! copy for CPUs with AVX2 and one for the others, chosen at run time. All copies give the same
//! answers.

#![expect(
    clippy::inline_always,
    reason = "each CPU's copy must hold the whole loop"
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "indexes of nodes have 32 bits"
)]

use alloc::vec::Vec;

#[cfg(feature = "simd")]
use multiversion::multiversion;

/// The number of zeros after the last node. A full set of lanes can then start at any node.
pub(in crate::strategy) const LANES: usize = 16;

/// The number of nodes that are scored together.
// Eight lanes of 32 bits are one AVX2 register. With sixteen the compiler split the arrays into
// single values again, and the loops were slower.
pub(super) const WIDTH: usize = 8;

/// The distances between lanes that are compared, in this order, to find the best of all lanes.
const DISTANCES: [usize; 3] = [4, 2, 1];

/// The number of nodes in one pass of [`costs`], which keeps their costs on the stack.
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

/// Ones for the lanes in use, then zeros for as many unused lanes. A window of `WIDTH` masks any
/// number of lanes.
static MASK: [u32; 2 * WIDTH] = {
    let mut mask = [0; 2 * WIDTH];
    let mut lane = 0;
    while lane < WIDTH {
        mask[lane] = u32::MAX;
        lane += 1;
    }
    mask
};

/// The seeds of the nodes, and the inverses of their weights. Parallel arrays, each with `LANES`
/// additional zeros at the end.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    // The halves of the seed, so that lanes of 32 bits suffice.
    pub(super) low: Vec<u32>,
    pub(super) high: Vec<u32>,
    pub(super) inverse: Vec<f32>,
}

#[expect(clippy::cast_possible_truncation, reason = "splits into halves")]
pub(in crate::strategy) fn halves(x: u64) -> (u32, u32) {
    (x as u32, (x >> 32) as u32)
}

/// Mixes a key and a seed: one round over the low halves, then the finaliser of
/// `MurmurHash3_x86_32` over both halves. Every bit of key and seed reaches every bit of the score.
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
    // Slices of a known length: the loop needs no bounds checks, which would prevent lanes.
    let (low, high) = (&low[..WIDTH], &high[..WIDTH]);
    let mut scores = [0; WIDTH];
    for lane in 0..WIDTH {
        scores[lane] = score(key, low[lane], high[lane]);
    }
    scores
}

/// The best node so far in each lane.
struct Tops {
    scores: Lanes,
    indexes: Lanes,
}

impl Tops {
    #[inline(always)]
    fn offer(&mut self, scores: Lanes, indexes: &Lanes) {
        for lane in 0..WIDTH {
            // Not `>=`: indexes ascend, so equal scores keep the first node, which is first by
            // name.
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

/// Returns the highest score of the first `len` nodes, and the first node that has it.
#[cfg_attr(feature = "simd", multiversion(targets("x86_64+avx2")))]
pub(super) fn highest(low: &[u32], high: &[u32], len: usize, key: (u32, u32)) -> (u32, usize) {
    let mut indexes = FIRST;
    let mut tops = Tops {
        scores: scores(low, high, key),
        indexes,
    };
    // Below eight nodes the other lanes hold zeros or nodes of another class. A masked score is 0
    // and loses a tie to the lower indexes in use.
    let mask = &MASK[WIDTH - len.min(WIDTH)..][..WIDTH];
    for (score, mask) in tops.scores.iter_mut().zip(mask) {
        *score &= mask;
    }
    if len > WIDTH {
        // The last eight nodes are scored as full lanes, so some nodes are scored twice, which
        // cannot change a maximum. `len - 1` keeps them out of the chunks before if `len` is a
        // multiple of eight.
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

/// Returns the maximum of all lanes, in every lane.
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

/// Returns the minimum of all lanes, in every lane.
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

/// The score that represents the fraction 1/2.
const HALF: u32 = 1 << 31;

/// The relative error of [`estimate`] for t up to 1/2. The series ends at t^6, which omits less
/// than 1 part in 300. The rounding errors of single precision are a thousand times smaller.
const SERIES_ERROR: f32 = 1.005;

/// The limit of small estimates, for which t is below 0.3. Most of the lowest estimates are small.
const SMALL_ESTIMATE: f32 = 0.5;
/// The relative error of a small estimate, which omits less than 1 part in 7,000.
const SMALL_SERIES_ERROR: f32 = 1.0002;

/// The error from cutting a score to 31 bits: t moves by less than 2^-30, and the logarithm by less
/// than 2^-28.
const CUT_ERROR: f32 = 1.0 / (1 << 28) as f32;

/// The estimate at t = 1/2, minus more than its rounding errors. Higher estimates have no bound.
const ESTIMATE_OF_HALF: f32 = 0.997;

/// Estimates -log2(u) for the fraction u of a score: the series of -log2(1 - t). All its terms are
/// positive, so leaving out the later ones gives a lower bound, except for rounding.
#[inline(always)]
#[expect(clippy::cast_possible_wrap, reason = "cut to 31 bits")]
fn estimate(score: u32) -> f32 {
    // 31 bits fit into an i32, which SSE2 and AVX2 convert in lanes; they have no such conversion
    // for a u32.
    let t = (!score >> 1) as i32 as f32 * (1.0 / HALF as f32);
    // The terms are summed in pairs, which the CPU computes in parallel.
    let (square, first) = (t * t, 1.0 + t * (1.0 / 2.0));
    let (second, third) = (1.0 / 3.0 + t * (1.0 / 4.0), 1.0 / 5.0 + t * (1.0 / 6.0));
    let series = first + square * (second + square * third);
    t * core::f32::consts::LOG2_E * series
}

/// Returns an upper bound of the cost -log2(u) / weight of a node, given its estimate.
#[inline(always)]
pub(super) fn upper_bound(cost: f32, inverse: f32) -> f32 {
    let series_error = if cost < SMALL_ESTIMATE * inverse {
        SMALL_SERIES_ERROR
    } else if cost < ESTIMATE_OF_HALF * inverse {
        SERIES_ERROR
    } else {
        return f32::INFINITY;
    };
    cost * series_error + CUT_ERROR * inverse
}

/// Estimates the costs of the nodes from `start` on.
#[inline(always)]
fn estimates(rows: &Rows, start: usize, key: (u32, u32)) -> Lanes<f32> {
    let inverse = &rows.inverse[start..][..WIDTH];
    let scores = scores(&rows.low[start..], &rows.high[start..], key);
    let mut costs = [0.0; WIDTH];
    for lane in 0..WIDTH {
        let cost = estimate(scores[lane]) * inverse[lane];
        // The inverse of a weight is 0 only in the padding, where there is no node.
        costs[lane] = if inverse[lane] > 0.0 {
            cost
        } else {
            f32::INFINITY
        };
    }
    costs
}

/// Returns the node with the lowest estimated cost, if no other node can have a lower exact cost.
#[cfg_attr(feature = "simd", multiversion(targets("x86_64+avx2")))]
pub(super) fn least(rows: &Rows, len: usize, key: (u32, u32)) -> Option<usize> {
    let mut at = FIRST;
    let mut indexes = FIRST;
    // The lowest and the second lowest cost of each lane. Costs are held as bits, see `bits`.
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
    // A second node at or below the upper bound may be better exactly. It is the lowest of another
    // lane or the second lowest of any lane. Collecting ones has no branch in the loop.
    let bound = upper_bound(f32::from_bits(first[0]), rows.inverse[index as usize]).to_bits();
    let mut others = 0;
    for lane in 0..WIDTH {
        let other = indexes[lane] != index && least[lane] <= bound;
        others |= u32::from(other || next[lane] <= bound);
    }
    (others == 0).then_some(index as usize)
}

/// Returns the bits of the costs. Positive floats have the same order as their bits, and integers
/// stay in vector registers when the best lane is searched.
#[inline(always)]
fn bits(costs: Lanes<f32>) -> Lanes {
    let mut bits = [0; WIDTH];
    for lane in 0..WIDTH {
        bits[lane] = costs[lane].to_bits();
    }
    bits
}

/// Writes the estimated costs of the nodes from `start` on, until `costs` is full.
#[cfg_attr(feature = "simd", multiversion(targets("x86_64+avx2")))]
pub(super) fn costs(rows: &Rows, start: usize, key: (u32, u32), costs: &mut Costs) {
    let starts = (start..rows.low.len() - LANES).step_by(WIDTH);
    for (costs, start) in costs.iter_mut().zip(starts) {
        *costs = estimates(rows, start, key);
    }
}

/// The costs of the nodes of a chunk.
pub(super) type Costs = [Lanes<f32>; CHUNK / WIDTH];

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the test needs arbitrary bits"
)]
mod tests {
    use super::*;
    use crate::hash::log2::neg_log2;
    use crate::hash::mix64;

    /// Comparing answers alone would not show a bound that is too wide, or too narrow for rare
    /// scores.
    #[test]
    fn estimates_stay_within_their_bounds() {
        let small = 3_030_000_000..3_060_000_000;
        let random = (0..1 << 20).map(|i: u64| mix64(i) as u32);
        let edges = [0, HALF - 1, HALF, u32::MAX - 1, u32::MAX];
        for x in random.chain(small.step_by(1000)).chain(edges) {
            check(x);
        }
    }

    fn check(x: u32) {
        let exact = neg_log2(x) as f64 / (1_u64 << 58) as f64;
        let (estimate, below) = (estimate(x), 1.0 + 1e-5);
        let cost = f64::from(estimate);
        assert!(cost <= exact * below, "{x:#x}: {estimate} > {exact}");
        let above = f64::from(upper_bound(estimate, 1.0));
        assert!(exact <= above, "{x:#x}: {exact} > {above}");
        assert!(
            x < HALF + (HALF >> 8) || above < 2.0,
            "{x:#x} has no upper bound"
        );
    }

    /// In release mode half a minute. `.ci/run` runs it with the other proofs by exhaustion.
    #[test]
    #[ignore = "2^32 cases"]
    fn the_estimate_of_every_score_stays_within_its_bounds() {
        (0..=u32::MAX).for_each(check);
    }
}
