//! The noise: how uneven an ideal router would be by chance alone. Every figure is compared with
//! it.
//!
//! An ideal router sends each distinct key to a node independently, with the fair shares as
//! probabilities. Keys with amounts s spread like E = (Σs)² / Σs² keys of equal amounts, the
//! effective sample size (Kish 1965). The coefficient of variation follows exactly. Maxima and
//! quantiles come from a simulation with a fixed seed.

use rand::{RngExt, SeedableRng};
use rand_distr::{Binomial, Distribution};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use crate::summary::{Sample, ratio};

/// The figures of an ideal router for the same keys and weights. Chance exceeds those named `p99`
/// one time in a hundred.
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
    /// The coefficient of variation: root mean square, exact.
    #[serde(rename = "noise_cv")]
    pub cv: f64,
    /// The coefficient of variation: 99th percentile.
    #[serde(rename = "noise_cv_p99")]
    pub cv_p99: f64,
    /// The largest figure over the mean: expected value.
    #[serde(rename = "noise_max_over_mean")]
    pub max_over_mean: f64,
    /// The largest figure over the mean: 99th percentile.
    #[serde(rename = "noise_max_over_mean_p99")]
    pub max_over_mean_p99: f64,
    /// The 95th percentile over the mean: expected value.
    #[serde(rename = "noise_p95_over_mean")]
    pub p95_over_mean: f64,
    /// The 95th percentile over the mean: 99th percentile.
    #[serde(rename = "noise_p95_over_mean_p99")]
    pub p95_over_mean_p99: f64,
    /// The largest figure over the median: expected value; `None` if the median may be 0.
    #[serde(rename = "noise_max_over_median")]
    pub max_over_median: Option<f64>,
    /// The largest figure over the median: 99th percentile; `None` if the median may be 0.
    #[serde(rename = "noise_max_over_median_p99")]
    pub max_over_median_p99: Option<f64>,
}

/// Any constant: changing it changes reported figures.
const SEED: u64 = 0x6e01_5e00;

impl Sample {
    /// Returns the square of the noise in the coefficient of variation, for `keys` keys of equal
    /// amounts: the mean over the nodes of (1 - p) / (p keys).
    pub(crate) fn variance(weights: &[u32], keys: f64) -> f64 {
        let whole: f64 = weights.iter().copied().map(f64::from).sum();
        let relative = |&weight: &u32| whole / f64::from(weight) - 1.0;
        ratio(
            weights.iter().map(relative).sum::<f64>(),
            weights.len() as f64 * keys,
        )
    }

    /// Returns the noise over nodes of these weights, all above 0.
    pub(crate) fn noise(&self, weights: &[u32]) -> Noise {
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

    /// Simulates ideal assignments, and returns the spread of each.
    fn spreads(&self, weights: &[u32], trials: usize) -> Vec<Spread> {
        let mut random = Pcg64Mcg::seed_from_u64(SEED);
        let whole: u64 = weights.iter().copied().map(u64::from).sum();
        let ends = weights.iter().scan(0, |end, &weight| {
            *end += u64::from(weight);
            Some(*end)
        });
        let ends: Vec<u64> = ends.collect();
        let mut trial = || {
            // The equal keys at once, then each heavy key by itself.
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

/// Draws the number of keys on each node. Given the earlier nodes, a node's number is binomial
/// among the keys and the weight that are left.
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

/// Returns the mean and the 99th percentile.
fn summary(figures: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    let mean = figures.iter().sum::<f64>() / figures.len() as f64;
    (mean, figures[percentile(figures.len(), 99)])
}

/// Returns the index of a percentile in a sorted list of `count` values, by nearest rank:
/// ceil(count q / 100).
fn percentile(count: usize, q: usize) -> usize {
    (count * q).div_ceil(100).saturating_sub(1)
}

/// How far the loads of nodes differ, each divided by what its weight entitles it to.
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
    /// Returns the spread of these loads on nodes of these weights, all above 0. Scales and sorts
    /// the loads.
    pub(super) fn of(loads: &mut [f64], weights: &[u32]) -> Self {
        let nodes = loads.len();
        if nodes == 0 {
            return Self::default();
        }
        let mean = loads.iter().sum::<f64>() / nodes as f64;
        let mean_weight = weights.iter().copied().map(f64::from).sum::<f64>() / nodes as f64;
        for (load, &weight) in loads.iter_mut().zip(weights) {
            // With equal weights the factor is exactly 1, so loads keep every bit.
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
