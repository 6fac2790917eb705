//! Tests the hash by itself: whether its values repeat, step, or bunch at a divisor.

use core::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::chance;
use super::placed::Placed;
use crate::summary::ratio;

/// A difference between the hashes of keys that are neighbours in alphabetical order.
///
/// ```
/// # use hashroute_harness::skew::HashStep;
/// let step: HashStep = serde_json::from_str(r#"{"difference":435,"share":0.9,"factors":[3,5,29]}"#)?;
/// assert_eq!(step.factors.iter().product::<u64>(), step.difference);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HashStep {
    /// The absolute difference.
    pub difference: u64,
    /// The share of all neighbours with this difference.
    pub share: f64,
    /// The prime factors of the difference. A modulus that shares one with most differences sees
    /// few residues.
    pub factors: Vec<u64>,
}

/// The hashes of the keys, each counted once, on the residues of a prime power.
///
/// ```
/// use hashroute_harness::{Keys, skew::Diagnosis};
/// use hashroute::registry::{Params, Setup};
/// use hashroute::{HashFunction, KeyHasher, strategy};
///
/// let params = Params::default().with_hasher(KeyHasher::new(HashFunction::TwemproxyFnv1a64));
/// let nodes = (0..60).map(|i| format!("node-{i}"));
/// let setup = Setup::new(strategy::find("modulo")?, nodes, params);
/// let skew = Diagnosis::new(&setup).analyse(&Keys::template("metric:demo:{i}", 0..1000)?)?;
/// let bunched = skew.residues.iter().filter(|residue| residue.bunched);
/// let moduli: Vec<_> = bunched.map(|residue| residue.modulus).collect();
/// assert!([3, 5, 29].iter().all(|prime| moduli.contains(prime)));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Residue {
    /// The prime power.
    pub modulus: u64,
    /// The number of residues that occur.
    pub used: u64,
    /// The most frequent residue over the mean.
    pub max_over_mean: f64,
    /// The coefficient of variation.
    pub cv: f64,
    /// What chance alone gives.
    pub noise_cv: f64,
    /// The probability that chance alone gives as much.
    pub p_value: f64,
    /// Whether this is no chance, and large enough to do harm.
    pub bunched: bool,
}

/// The largest prime power that is tested. Larger divisors show in the node counts.
const MOST: u64 = 1024;

/// Tests each prime power up to `most`.
pub(super) fn residues(placed: &Placed, most: u64) -> Vec<Residue> {
    let moduli = chance::prime_powers(most.min(MOST));
    moduli.into_iter().map(|q| residue(placed, q)).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "below the modulus, which is small"
)]
fn residue(placed: &Placed, modulus: u64) -> Residue {
    let loads = super::placed::tally(
        modulus as usize,
        placed
            .outputs
            .iter()
            .map(|(hash, _)| (hash % modulus) as usize),
    );
    let shares = shares(modulus, placed.bits);
    let units = placed.outputs.len() as f64;
    let most = loads.iter().copied().fold(0.0, f64::max);
    Residue {
        modulus,
        used: loads.iter().filter(|&&load| load > 0.0).count() as u64,
        max_over_mean: ratio(most * modulus as f64, units),
        cv: chance::cv(&loads, &shares),
        noise_cv: ratio((modulus - 1) as f64, units).sqrt(),
        p_value: chance::p_value(&loads, &shares, units),
        bunched: false,
    }
}

/// Returns the share that each residue has among all numbers of this many bits.
fn shares(modulus: u64, bits: u32) -> Vec<f64> {
    let numbers = 1_u128 << bits;
    let modulus = u128::from(modulus);
    let of = |residue| numbers / modulus + u128::from(residue < numbers % modulus);
    (0..modulus)
        .map(|residue| of(residue) as f64 / numbers as f64)
        .collect()
}

/// Returns the most frequent differences between neighbours, and the probability that chance gives
/// the first.
pub(super) fn steps(placed: &Placed) -> (Vec<HashStep>, f64) {
    let mut keys: Vec<_> = placed.keys.iter().collect();
    keys.sort_unstable_by(|a, b| a.sampled.key.cmp(b.sampled.key));
    let differences = keys
        .windows(2)
        .map(|pair| pair[0].hash.abs_diff(pair[1].hash));
    let mut differences: Vec<_> = differences.filter(|&difference| difference > 0).collect();
    differences.sort_unstable();
    let all = differences.len() as f64;
    let groups = differences.chunk_by(|a, b| a == b);
    let mut counts: Vec<_> = groups.map(|group| (group[0], group.len())).collect();
    counts.sort_unstable_by_key(|&(difference, count)| (Reverse(count), difference));
    let most = counts.first().map_or(0.0, |&(_, count)| count as f64);
    // A given difference of two random numbers has a probability of at most 2 / width. Any of
    // the differences could be the most frequent one, hence the factor `width` (Bonferroni).
    let width = (1_u128 << placed.bits) as f64;
    let p_value = (width * chance::at_least(2.0 * all / width, most)).min(1.0);
    let frequent = counts.into_iter().take(5).filter(|&(_, count)| count > 1);
    let step = |(difference, count): (u64, usize)| HashStep {
        difference,
        share: count as f64 / all,
        factors: chance::factors(difference),
    };
    (frequent.map(step).collect(), p_value)
}

/// Returns the probability that chance alone gives as few outputs for `parts` distinct inputs.
pub(super) fn repeats(parts: usize, placed: &Placed) -> f64 {
    let (parts, outputs) = (parts as f64, placed.outputs.len() as f64);
    let width = (1_u128 << placed.bits) as f64;
    chance::at_least(taken(parts, width), parts - outputs)
}

/// Returns the expected number of `parts` numbers, drawn from `width`, that repeat an earlier one.
fn taken(parts: f64, width: f64) -> f64 {
    let pairs = parts * parts / 2.0 / width;
    if pairs < parts * 1e-3 {
        return pairs; // here the exact form below would cancel all digits
    }
    #[expect(clippy::disallowed_methods, reason = "a figure, no route")]
    let free = (-parts / width).exp();
    parts - width * (1.0 - free)
}
