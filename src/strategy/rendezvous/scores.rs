//! The nodes and their scores: selects the best nodes for a key, in order.

use alloc::vec::Vec;
use core::cmp::Ordering;

use smallvec::SmallVec;

use super::lanes::{self, CHUNK, Costs, Rows, WIDTH};
pub(in crate::strategy) use super::lanes::{LANES, halves, score};
use crate::hash::log2::neg_log2;

/// A factor far above the error of rounding a cost to single precision.
const ROUNDING: f32 = 1.0 + 1e-5;

/// The lowest average number of nodes in a class of equal weight. Classes need no estimates, but
/// each costs a call, so smaller classes do not pay.
const FEWEST_IN_CLASS: usize = 8;

/// The largest number of nodes that are compared one by one, which is fastest for few nodes.
const FEW: usize = 2 * WIDTH;

/// The seeds and weights of the nodes: the heaviest first, equal weights in order of name.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    rows: Rows,
    weights: Vec<u32>,
    // Empty if classes do not pay.
    classes: Vec<Class>,
}

/// A run of nodes of equal weight.
#[derive(Clone, Copy, Debug)]
struct Class {
    weight: u32,
    len: usize,
}

/// A node with its score for a key. Candidates are ordered by preference, the best first. The order
/// is total and the same in every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) score: u32,
    pub(super) weight: u32,
    /// -log2 of the score; 0 if all weights are equal, because the scores then decide alone.
    log: u64,
    pub(super) at: usize,
}

/// The best nodes, the best first. They are on the stack, so a walk never allocates.
pub(super) type Best = SmallVec<[Candidate; LONG_STRIDE]>;

/// The number of nodes that a long walk selects next.
pub(super) const LONG_STRIDE: usize = 128;

/// The nodes that a far walk has selected, and as many that may be dropped again.
pub(super) type Far = SmallVec<[Candidate; 2 * FAR_STRIDE]>;

/// The number of nodes that a far walk selects at a time.
pub(super) const FAR_STRIDE: usize = 512;

impl Candidate {
    /// Returns an upper bound of the estimates of all better nodes. A node with a higher estimate
    /// cannot precede this one.
    pub(super) fn bound(&self) -> f32 {
        // The logarithm has 58 bits after the point. Rounding up keeps the bound safe.
        neg_log2(self.score) as f32 * (ROUNDING / (1_u64 << 58) as f32) / self.weight as f32
    }

    /// Returns a lower bound of the cost. A node whose cost is certainly lower precedes this one.
    fn floor(&self) -> f32 {
        self.bound() / (ROUNDING * ROUNDING)
    }
}

impl Ord for Candidate {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        // a.log / a.weight < b.log / b.weight, multiplied out: exact, with no division.
        let cost = |of: &Self, by: &Self| u128::from(of.log) * u128::from(by.weight);
        let by_cost = if self.weight == other.weight {
            Ordering::Equal
        } else {
            cost(self, other).cmp(&cost(other, self))
        };
        // Different weights have equal costs only with different scores, so the score decides and
        // never the index. The index decides among equal weights, where it is the order of names.
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

/// Inserts a candidate if it is among the best `limit`.
fn offer(best: &mut Best, limit: usize, candidate: Candidate) {
    if best.len() == limit {
        if best[limit - 1] < candidate {
            return;
        }
        best.pop();
    }
    let index = best.partition_point(|other| *other < candidate);
    best.insert(index, candidate);
}

/// Collects seeds and weights, which come in the order of [`Draws`].
impl FromIterator<(u64, u32)> for Draws {
    fn from_iter<I: IntoIterator<Item = (u64, u32)>>(draws: I) -> Self {
        let zeros = || Vec::from([0; LANES]);
        let rows = Rows {
            low: zeros(),
            high: zeros(),
            inverse: Vec::from([0.0; LANES]),
        };
        let mut all = Self {
            rows,
            weights: Vec::new(),
            classes: Vec::new(),
        };
        for (at, (seed, weight)) in draws.into_iter().enumerate() {
            all.put(at, seed, weight);
        }
        for half in [&mut all.rows.low, &mut all.rows.high, &mut all.weights] {
            half.shrink_to_fit();
        }
        all.rows.inverse.shrink_to_fit();
        all.classify();
        all
    }
}

impl Draws {
    fn len(&self) -> usize {
        self.weights.len()
    }

    pub(super) fn insert(&mut self, at: usize, seed: u64, weight: u32) {
        self.put(at, seed, weight);
        self.classify();
    }

    fn put(&mut self, at: usize, seed: u64, weight: u32) {
        let (low, high) = halves(seed);
        self.rows.low.insert(at, low);
        self.rows.high.insert(at, high);
        self.weights.insert(at, weight);
        self.rows.inverse.insert(at, 1.0 / weight as f32);
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.rows.low.remove(at);
        self.rows.high.remove(at);
        self.weights.remove(at);
        self.rows.inverse.remove(at);
        self.classify();
    }

    fn classify(&mut self) {
        self.classes.clear();
        let mut rest = self.weights.as_slice();
        // Stops at the first sign that classes do not pay, so that a change with many different
        // weights does not cost a scan of all of them.
        while let Some(&weight) = rest.first() {
            let len = rest.partition_point(|other| *other == weight);
            self.classes.push(Class { weight, len });
            rest = &rest[len..];
            let many = self.classes.len() * FEWEST_IN_CLASS > self.len();
            if self.classes.len() > 1 && (many || self.len() <= FEW) {
                self.classes.clear();
                return;
            }
        }
    }

    pub(super) fn candidate(&self, at: usize, key: (u32, u32)) -> Candidate {
        #[cfg(test)]
        count(1);
        let score = score(key, self.rows.low[at], self.rows.high[at]);
        let log = if self.classes.len() == 1 {
            0
        } else {
            neg_log2(score)
        };
        Candidate {
            score,
            weight: self.weights[at],
            log,
            at,
        }
    }

    /// Returns the best node, if there is a node.
    #[inline]
    pub(super) fn best(&self, key: u64) -> Option<usize> {
        let key = halves(key);
        match self.classes.as_slice() {
            [] => self.best_by_estimate(key),
            [class] => Some(lanes::highest(&self.rows.low, &self.rows.high, class.len, key).1),
            classes => self.best_of_classes(classes, key),
        }
    }

    /// Finds the best node among the best of each class.
    fn best_of_classes(&self, classes: &[Class], key: (u32, u32)) -> Option<usize> {
        let mut start = 0;
        let best_of = |class: &Class| {
            // Within a class the highest score has the lowest cost, so only it takes a logarithm.
            let (low, high) = (&self.rows.low[start..], &self.rows.high[start..]);
            let (score, at) = lanes::highest(low, high, class.len, key);
            let candidate = Candidate {
                score,
                weight: class.weight,
                log: neg_log2(score),
                at: start + at,
            };
            start += class.len;
            candidate
        };
        Some(classes.iter().map(best_of).min()?.at)
    }

    /// Finds the best node by estimates, and exactly only if they leave several.
    fn best_by_estimate(&self, key: (u32, u32)) -> Option<usize> {
        if self.len() == 0 {
            return None;
        }
        // Estimates separate one node from all others for nearly every key.
        let alone = lanes::least(&self.rows, self.len(), key);
        if alone.is_some() {
            return alone;
        }
        if self.len() <= FEW {
            let all = (0..self.len()).map(|at| self.candidate(at, key));
            return all.min().map(|best| best.at);
        }
        let mut best = Best::new();
        self.select(key, None, 1, &mut best);
        Some(best.first()?.at)
    }

    /// Writes the best `limit` nodes after `last` into `best`.
    pub(super) fn select(
        &self,
        key: (u32, u32),
        last: Option<&Candidate>,
        limit: usize,
        best: &mut Best,
    ) {
        best.clear();
        let mut bound = f32::INFINITY;
        // Among few nodes an estimate rules out hardly any. Without estimates all costs stay 0,
        // below every bound, so all nodes are compared exactly.
        let many = self.len() > FEW;
        let mut costs = Costs::default();
        for start in (0..self.len()).step_by(CHUNK) {
            if many {
                #[cfg(test)]
                count(CHUNK.min(self.len() - start));
                lanes::costs(&self.rows, start, key, &mut costs);
            }
            for (lanes, start) in costs.iter().zip((start..self.len()).step_by(WIDTH)) {
                // Most lanes have no node below the bound. To see that is cheaper than to see
                // which.
                if lanes
                    .iter()
                    .fold(0, |any, cost| any | u32::from(*cost <= bound))
                    == 0
                {
                    continue;
                }
                for (_, at) in lanes
                    .iter()
                    .zip(start..self.len())
                    .filter(|(cost, _)| **cost <= bound)
                {
                    let candidate = self.candidate(at, key);
                    if last.is_none_or(|last| *last < candidate) {
                        offer(best, limit, candidate);
                    }
                }
                // Once for eight nodes, since a bound takes a logarithm and a division.
                if many && best.len() == limit {
                    bound = best[limit - 1].bound();
                }
            }
        }
    }

    /// Writes the best `FAR_STRIDE` nodes after `last` into `far`, in order. O(n), and
    /// O(log (n / stride)) times the sorting of a stride.
    pub(super) fn select_far(&self, key: (u32, u32), last: &Candidate, far: &mut Far) {
        far.clear();
        let mut bound = f32::INFINITY;
        self.scan(key, Some(last), &mut |candidate| {
            far.push(candidate);
            if far.len() == 2 * FAR_STRIDE {
                // Half of them are among the best so far. The next half is found among those below
                // the worst of these, so a node is dropped once and never looked at again.
                let (_, worst, _) = far.select_nth_unstable(FAR_STRIDE - 1);
                bound = worst.bound();
                far.truncate(FAR_STRIDE);
            }
            bound
        });
        far.sort_unstable();
        far.truncate(FAR_STRIDE);
    }

    /// Offers the nodes after `last`, in no order, but for those with a cost above the bound that
    /// `take` returned last.
    pub(super) fn scan(
        &self,
        key: (u32, u32),
        last: Option<&Candidate>,
        take: &mut dyn FnMut(Candidate) -> f32,
    ) {
        let floor = last.map_or(0.0, Candidate::floor);
        let mut bound = f32::INFINITY;
        let mut costs = Costs::default();
        for start in (0..self.len()).step_by(CHUNK) {
            #[cfg(test)]
            count(CHUNK.min(self.len() - start));
            lanes::costs(&self.rows, start, key, &mut costs);
            let lanes = costs.iter().flatten().zip(start..self.len());
            for (&cost, at) in lanes {
                if cost > bound || lanes::upper_bound(cost, self.rows.inverse[at]) < floor {
                    continue;
                }
                let candidate = self.candidate(at, key);
                if last.is_none_or(|last| *last < candidate) {
                    bound = take(candidate);
                }
            }
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        (self.rows.low.capacity() + self.rows.high.capacity() + self.weights.capacity())
            * size_of::<u32>()
            + self.rows.inverse.capacity() * size_of::<f32>()
            + self.classes.capacity() * size_of::<Class>()
    }
}

#[cfg(test)]
std::thread_local! {
    static EVALUATIONS: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Counts scores, for tests of the cost.
#[cfg(test)]
fn count(scores: usize) {
    EVALUATIONS.with(|all| all.set(all.get() + scores as u64));
}

/// Returns the number of scores that this thread has drawn.
#[cfg(test)]
pub(super) fn evaluations() -> u64 {
    EVALUATIONS.with(core::cell::Cell::get)
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "small numbers, or arbitrary bits"
)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    const WEIGHTS: [fn(u64) -> u32; 6] = [
        |_| 1,
        |i| 1 + (i % 4) as u32,
        |i| 1 + u32::from(i % 4 == 0),
        |i| 1 + (i % 97) as u32,
        |i| 1 << (mix64(i) % 32),
        |i| u32::MAX - i as u32,
    ];

    /// Every number of nodes up to a little more than three chunks. Every seed comes twice, to
    /// force ties. Weights are equal, similar, or very different.
    #[test]
    fn lanes_find_the_node_that_comparing_one_by_one_finds() {
        for weight in WEIGHTS {
            let mut draws: Draws = [].into_iter().collect();
            for len in 1..3 * CHUNK as u64 + 9 {
                let weight = weight(len);
                let at = draws.weights.partition_point(|other| *other >= weight);
                draws.insert(at, mix64(len / 2), weight);
                for key in (0..8).map(|round| mix64(len * 8 + round)) {
                    let all = (0..draws.len()).map(|at| draws.candidate(at, halves(key)));
                    assert_eq!(
                        draws.best(key),
                        all.min().map(|best| best.at),
                        "{len} nodes"
                    );
                }
            }
        }
    }

    /// Two heavy nodes in one lane have costs that no estimate can separate; the second is better.
    #[test]
    fn near_ties_in_one_lane_are_decided_exactly() {
        let draw = |at| match at {
            0 => (mix64(7), u32::MAX - 1),
            WIDTH => (mix64(7), u32::MAX),
            _ => (mix64(at as u64 + 100), 1),
        };
        let draws: Draws = (0..=WIDTH).map(draw).collect();
        for key in (0..100).map(|round| mix64(round + 1)) {
            assert_eq!(draws.best(key), Some(WIDTH), "{key:#x}");
        }
    }

    /// Selecting all nodes in strides gives the order of a sort.
    #[test]
    fn strides_give_the_order_of_a_sort() {
        for weight in WEIGHTS {
            for len in [1, 2, 7, 8, 9, 40, CHUNK as u64, 300] {
                let mut nodes: Vec<_> = (0..len).map(|i| (mix64(i / 2), weight(i))).collect();
                nodes.sort_by_key(|(_, weight)| core::cmp::Reverse(*weight));
                let draws: Draws = nodes.into_iter().collect();
                let key = halves(mix64(len));
                let mut sorted: Vec<_> = (0..draws.len())
                    .map(|at| draws.candidate(at, key))
                    .collect();
                sorted.sort_unstable();
                for stride in [1, 3, 8, LONG_STRIDE] {
                    let mut walked = Vec::new();
                    let mut best = Best::new();
                    while walked.len() < sorted.len() {
                        draws.select(key, walked.last(), stride, &mut best);
                        assert_eq!(best.len(), stride.min(sorted.len() - walked.len()));
                        walked.extend_from_slice(&best);
                    }
                    assert_eq!(walked, sorted, "{len} nodes, {stride} at a time");
                }
            }
        }
    }

    /// Every bit of the key and of the seed flips every bit of the score half the time.
    #[test]
    fn every_bit_of_key_and_seed_changes_every_bit_of_a_score() {
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
