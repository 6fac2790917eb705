//! What chance alone gives: the unevenness of an ideal router, to hold every figure against.
//!
//! An ideal router sends each distinct key to a node by itself, with the fair shares as
//! probabilities. Keys that carry amounts s then spread like E = (Σs)² / Σs² keys that carry
//! the same: the effective sample size (Kish 1965). The coefficient of variation follows from it
//! exactly; maxima and quantiles are drawn, by a seeded simulation.

use core::cmp::Reverse;
use std::vec;
use std::vec::Vec;

use rand::{RngExt, SeedableRng};
use rand_distr::{Binomial, Distribution};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// The figures of an ideal router for the same keys and weights: what the same figures of a real
/// one must be held against. Those named `p99` are exceeded by chance one time in a hundred.
///
/// In JSON every name starts with `noise_`.
///
/// ```
/// use hashroute_harness::{Keys, Assignment, balance};
/// use hashroute::{Modulo, Node};
///
/// let (router, keys) = (Modulo::new(["a", "b"].map(Node::new))?, Keys::template("{i}", 0..400)?);
/// let noise = balance("modulo", &router, &keys, &Assignment::of(&router, &keys)).figures.noise;
/// assert!((noise.cv - 0.05).abs() < 1e-12); // sqrt((2 - 1) / 400)
/// assert!(noise.cv_p99 > 2.0 * noise.cv);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Noise {
    /// Of the coefficient of variation: its root mean square, exact.
    #[serde(rename = "noise_cv")]
    pub cv: f64,
    /// Of the coefficient of variation: the 99th percentile.
    #[serde(rename = "noise_cv_p99")]
    pub cv_p99: f64,
    /// Of the largest over the mean: expected.
    #[serde(rename = "noise_max_over_mean")]
    pub max_over_mean: f64,
    /// Of the largest over the mean: the 99th percentile.
    #[serde(rename = "noise_max_over_mean_p99")]
    pub max_over_mean_p99: f64,
    /// Of the 95th percentile over the mean: expected.
    #[serde(rename = "noise_p95_over_mean")]
    pub p95_over_mean: f64,
    /// Of the 95th percentile over the mean: the 99th percentile.
    #[serde(rename = "noise_p95_over_mean_p99")]
    pub p95_over_mean_p99: f64,
    /// Of the largest over the median: expected; `None` where the median may be 0.
    #[serde(rename = "noise_max_over_median")]
    pub max_over_median: Option<f64>,
    /// Of the largest over the median: the 99th percentile; `None` where the median may be 0.
    #[serde(rename = "noise_max_over_median_p99")]
    pub max_over_median_p99: Option<f64>,
}

/// Any number will do, as long as it stays.
const SEED: u64 = 0x6e01_5e00;

/// How many of the largest keys are thrown one by one; the rest are so many and so small that
/// they are thrown as equal ones of the same variance.
const HEAVY: usize = 2048;

/// What is known of the amounts of many keys: their sum, how many there are above 0, the sum of
/// their squares, and the relative standard error of the latter two together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    pub(super) total: f64,
    pub(super) carriers: f64,
    pub(super) squares: f64,
    pub(super) error: f64,
}

/// What the distinct keys carry of one measure.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) total: f64,
    /// How many distinct keys carry anything.
    pub(super) carriers: usize,
    /// E = (Σs)² / Σs².
    pub(super) effective: f64,
    /// How many of the largest keys carry half.
    pub(super) half: usize,
    /// The largest amounts, the largest first; empty when all are equal.
    pub(super) heavy: Vec<u64>,
    /// The rest, as this many keys …
    units: u64,
    /// … of this amount each.
    unit: f64,
}

impl Sample {
    /// `amounts`: what each distinct key carries, in any order.
    pub(super) fn new(mut amounts: Vec<u64>) -> Self {
        amounts.retain(|amount| *amount > 0);
        // In order, so that the sums are the same to the last bit whatever the order was.
        amounts.sort_unstable_by_key(|&amount| Reverse(amount));
        let (total, effective) = effective(&amounts);
        let carriers = amounts.len();
        let half = half(&amounts, total);
        let heavy = if amounts.first() == amounts.last() {
            0
        } else {
            HEAVY.min(carriers)
        };
        let rest = amounts.split_off(heavy);
        let (rest_total, rest_effective) = self::effective(&rest);
        Self {
            total,
            carriers,
            effective,
            half,
            heavy: amounts,
            ..Self::equal(rest_total, rest_effective)
        }
    }

    /// From what is known of a stream, the amounts of its heaviest keys, and those of a uniform
    /// sample of the others.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of keys"
    )]
    pub(super) fn estimated(of: &Moments, mut heavy: Vec<u64>, mut light: Vec<u64>) -> Self {
        let effective = ratio(of.total * of.total, of.squares).min(of.carriers);
        if of.carriers <= effective * (1.0 + 3.0 * of.error) {
            return Self::equal(of.total, of.carriers);
        }
        heavy.sort_unstable_by_key(|&amount| Reverse(amount));
        light.sort_unstable_by_key(|&amount| Reverse(amount));
        let heavy_total: f64 = heavy.iter().map(|&amount| amount as f64).sum();
        let heavy_squares: f64 = heavy
            .iter()
            .map(|&amount| amount as f64 * amount as f64)
            .sum();
        let rest = (of.total - heavy_total).max(0.0);
        let rest_carriers = (of.carriers - heavy.len() as f64).max(1.0);
        let half = match of.total / 2.0 - heavy_total {
            missing if missing > 0.0 => {
                let light_total: f64 = light.iter().map(|&amount| amount as f64).sum();
                let count = half(&light, 2.0 * light_total * missing / rest);
                heavy.len() + (ratio(count as f64, light.len() as f64) * rest_carriers) as usize
            }
            _ => half(&heavy, of.total),
        };
        let rest_squares = (of.squares - heavy_squares).max(rest * rest / rest_carriers);
        heavy.truncate(HEAVY);
        Self {
            total: of.total,
            carriers: (of.carriers + 0.5) as usize,
            effective,
            half,
            heavy,
            ..Self::equal(rest, ratio(rest * rest, rest_squares))
        }
    }

    /// What is as noisy as `effective` keys that carry the same.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of keys"
    )]
    pub(super) fn equal(total: f64, effective: f64) -> Self {
        let units = (effective + 0.5) as u64;
        Self {
            total,
            effective,
            units,
            carriers: units as usize,
            half: units.div_ceil(2) as usize,
            heavy: Vec::new(),
            unit: total / units.max(1) as f64,
        }
    }

    /// The square of the noise in the coefficient of variation, for `keys` keys of equal amount:
    /// the mean over the nodes of (1 - p) / (p keys).
    pub(super) fn variance(weights: &[u32], keys: f64) -> f64 {
        let whole: f64 = weights.iter().copied().map(f64::from).sum();
        let relative = |&weight: &u32| whole / f64::from(weight) - 1.0;
        ratio(
            weights.iter().map(relative).sum::<f64>(),
            weights.len() as f64 * keys,
        )
    }

    /// Noise over nodes of these weights, all above 0.
    pub(super) fn noise(&self, weights: &[u32]) -> Noise {
        if weights.is_empty() || self.carriers == 0 {
            return Noise::default();
        }
        let trials = (2_000_000 / weights.len()).clamp(200, 500);
        let spreads = self.spreads(weights, trials);
        let of = |figure: fn(&Spread) -> f64| summary(spreads.iter().map(figure));
        let (_, cv_p99) = of(|spread| spread.cv);
        let (max_over_mean, max_over_mean_p99) = of(|spread| spread.max_over_mean);
        let (p95_over_mean, p95_over_mean_p99) = of(|spread| spread.p95_over_mean);
        let (max_over_median, max_over_median_p99) =
            of(|spread| spread.max_over_median.unwrap_or(f64::INFINITY));
        let finite = |figure: f64| figure.is_finite().then_some(figure);
        Noise {
            cv: Self::variance(weights, self.effective).sqrt(),
            cv_p99,
            max_over_mean,
            max_over_mean_p99,
            p95_over_mean,
            p95_over_mean_p99,
            max_over_median: finite(max_over_median),
            max_over_median_p99: finite(max_over_median_p99),
        }
    }

    /// How far apart the loads lie in each of some ideal assignments.
    fn spreads(&self, weights: &[u32], trials: usize) -> Vec<Spread> {
        let mut random = Pcg64Mcg::seed_from_u64(SEED);
        let whole: u64 = weights.iter().copied().map(u64::from).sum();
        let ends = weights.iter().scan(0, |end, &weight| {
            *end += u64::from(weight);
            Some(*end)
        });
        let ends: Vec<u64> = ends.collect();
        let mut trial = || {
            let units = multinomial(self.units, weights, &mut random);
            let mut loads: Vec<_> = units
                .iter()
                .map(|&units| units as f64 * self.unit)
                .collect();
            for &amount in &self.heavy {
                let number = random.random_range(0..whole);
                loads[ends.partition_point(|&end| end <= number)] += amount as f64;
            }
            Spread::of(&mut loads, weights)
        };
        (0..trials).map(|_| trial()).collect()
    }
}

/// Σs, and E = (Σs)² / Σs².
fn effective(sums: &[u64]) -> (f64, f64) {
    let amounts = || sums.iter().map(|&amount| amount as f64);
    let total: f64 = amounts().sum();
    (
        total,
        ratio(total * total, amounts().map(|amount| amount * amount).sum()),
    )
}

/// How many of the largest make up half of the total. `sums` in descending order.
fn half(sums: &[u64], total: f64) -> usize {
    let mut so_far = 0.0;
    let within = |amount: &&u64| {
        so_far += **amount as f64;
        2.0 * so_far < total
    };
    sums.iter().take_while(within).count() + usize::from(!sums.is_empty())
}

/// How many of `count` fall on each node: a binomial for each, of what the nodes before it left.
fn multinomial(count: u64, weights: &[u32], random: &mut Pcg64Mcg) -> Vec<u64> {
    let mut counts = vec![0; weights.len()];
    let mut left = count;
    let mut weight_left: u64 = weights.iter().copied().map(u64::from).sum();
    for (share, &weight) in counts.iter_mut().zip(weights) {
        let chance = f64::from(weight) / weight_left as f64;
        *share = Binomial::new(left, chance).map_or(left, |binomial| binomial.sample(random));
        left -= *share;
        weight_left -= u64::from(weight);
    }
    counts
}

/// The mean and the 99th percentile.
fn summary(figures: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    let mean = figures.iter().sum::<f64>() / figures.len() as f64;
    (mean, figures[percentile(figures.len(), 99)])
}

/// The rank of a percentile among `count` in order: the nearest rank, ceil(count q / 100).
fn percentile(count: usize, q: usize) -> usize {
    (count * q).div_ceil(100).saturating_sub(1)
}

/// `a / b`, 0 when b is 0.
pub(super) fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}

/// How far apart the loads of nodes lie, each divided by what its weight entitles it to.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) mean: f64,
    pub(super) stddev: f64,
    pub(super) cv: f64,
    pub(super) max_over_mean: f64,
    pub(super) p95_over_mean: f64,
    pub(super) max_over_median: Option<f64>,
}

impl Spread {
    /// Of these loads, on nodes of these weights, all above 0. The loads are put in order and
    /// scaled.
    pub(super) fn of(loads: &mut [f64], weights: &[u32]) -> Self {
        let nodes = loads.len();
        if nodes == 0 {
            return Self::default();
        }
        let mean = loads.iter().sum::<f64>() / nodes as f64;
        let mean_weight = weights.iter().copied().map(f64::from).sum::<f64>() / nodes as f64;
        for (load, &weight) in loads.iter_mut().zip(weights) {
            // A load on equal weights stays as it is, to the last bit.
            *load *= mean_weight / f64::from(weight);
        }
        loads.sort_unstable_by(f64::total_cmp);
        let squares: f64 = loads.iter().map(|load| (load - mean) * (load - mean)).sum();
        let stddev = (squares / nodes as f64).sqrt();
        let (min, max) = (loads[0], loads[nodes - 1]);
        let median = f64::midpoint(loads[(nodes - 1) / 2], loads[nodes / 2]);
        Self {
            min,
            max,
            mean,
            stddev,
            cv: ratio(stddev, mean),
            max_over_mean: ratio(max, mean),
            p95_over_mean: ratio(loads[percentile(nodes, 95)], mean),
            max_over_median: (median > 0.0).then(|| max / median),
        }
    }
}
