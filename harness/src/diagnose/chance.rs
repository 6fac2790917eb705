//! What chance alone gives, and arithmetic of divisors.

use statrs::distribution::{ChiSquared, ContinuousCDF, DiscreteCDF, Poisson};

use crate::summary::ratio;

/// The probability of an alarm on even data, over all tests together.
pub const SIGNIFICANCE: f64 = 0.01;

/// A coefficient of variation that does no harm, however many keys prove it.
pub(super) const SLIGHT: f64 = 0.01;

/// Returns whether an unevenness beyond chance deserves a warning: it must exceed the noise by far.
pub(super) fn stands_out(cv: f64, noise_cv: f64) -> bool {
    cv > SLIGHT.max(2.0 * noise_cv)
}

/// A key that carries more than this many times the mean is heavy.
const FAR: f64 = 10.0;

/// How noisy keys are, given what each carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// The number of keys that carry any.
    pub(super) keys: f64,
    /// The sum of what they carry.
    pub(super) total: f64,
    /// The number of equal keys that would be as noisy: (Σs)² / Σs².
    pub(super) effective: f64,
    /// The number of equal keys that would meet on a node as rarely, in pairs: (Σs²)³ / (Σs³)². It
    /// determines the tail.
    meeting: f64,
    /// Whether few keys carry much: keys of ten times the mean, or a key that carries half, account
    /// for at least half of the noise beyond that of equal keys; and the noise is at least twice as
    /// large in squares.
    pub(super) few: bool,
    /// The sum of cubes.
    cubes: f64,
    /// The squares of the keys that carry much.
    far: f64,
    /// The relative standard error of the numbers of keys; 0 if they are exact.
    error: f64,
}

/// The number of standard errors by which an estimated number of keys may be too large.
const ERRORS: f64 = 3.0;

impl Units {
    /// Sums amounts above 0, each with the number of keys that it stands for.
    pub(super) fn of(amounts: &(impl Iterator<Item = (u64, f64)> + Clone)) -> Self {
        let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
            let amounts = amounts.clone();
            amounts.map(|(amount, keys)| keys * of(amount as f64)).sum()
        };
        let (keys, total) = (sum(&|_| 1.0), sum(&|amount| amount));
        let squares = sum(&|amount| amount * amount);
        let is_far = |amount: f64| amount * keys > FAR * total || 2.0 * amount > total;
        let exact = Self {
            keys,
            total,
            effective: 0.0,
            meeting: 0.0,
            few: false,
            cubes: sum(&|amount| amount * amount * amount),
            far: sum(&|amount| if is_far(amount) { amount * amount } else { 0.0 }),
            error: 0.0,
        };
        exact.with_squares(squares)
    }

    fn with_squares(self, squares: f64) -> Self {
        let equal = ratio(self.total * self.total, self.keys);
        Self {
            effective: ratio(self.total * self.total, squares),
            meeting: ratio(squares * squares, self.cubes) * ratio(squares, self.cubes),
            few: squares > 2.0 * equal && 2.0 * self.far > squares - equal,
            ..self
        }
    }

    /// Takes the sum and the estimated sum of squares of all keys, where these are a sample. `error`
    /// is the relative standard error of the squares and the number of keys.
    pub(super) fn estimated(self, total: f64, squares: f64, error: f64) -> Self {
        // Squares are least if all keys carry the same. An estimate near that is error.
        let equal = ratio(total * total, self.keys);
        let squares = if squares <= equal * (1.0 + ERRORS * error) {
            equal
        } else {
            squares
        };
        Self {
            total,
            error,
            ..self
        }
        .with_squares(squares)
    }

    /// Returns the number of equal keys that loads are compared with, as [`p_value`](Self::p_value)
    /// does.
    pub(super) fn judged(&self) -> f64 {
        if self.few { self.keys } else { self.effective }
    }

    /// Returns the probability that chance alone gives loads as uneven as these, given what each
    /// key carries. If few keys carry much, as if all carried the same.
    pub(super) fn p_value(&self, loads: &[f64], shares: &[f64]) -> f64 {
        // More keys are less noisy. If their number is an estimate that may be too large, an even
        // load must not look uneven.
        let least = |keys: f64| keys / (1.0 + ERRORS * self.error);
        if self.few {
            return p_value(loads, shares, least(self.keys));
        }
        p_of(loads, shares, least(self.effective), least(self.meeting))
    }
}

/// Returns the probability that `units` equal things lie at least as unevenly as these loads, by
/// Pearson's statistic, if each is placed independently with these shares as probabilities.
///
/// The result is the larger of two probabilities: by chi-squared, and by a Poisson distribution of
/// the pairs that meet, which has the same mean and variance. If things are few, the tail of
/// chi-squared is too thin and would raise false alarms. Cells that expect less than one thing are
/// merged.
pub(super) fn p_value(loads: &[f64], shares: &[f64], units: f64) -> f64 {
    p_of(loads, shares, units, units)
}

/// Returns the same for unequal things: they are as noisy as `units` equal things, and meet as
/// rarely as `meeting` equal things.
fn p_of(loads: &[f64], shares: &[f64], units: f64, meeting: f64) -> f64 {
    let total: f64 = loads.iter().sum();
    if total <= 0.0 || units < 2.0 {
        return 1.0;
    }
    let (mut chi2, mut cells) = (0.0, 0_u64);
    let (mut rare_load, mut rare_share) = (0.0, 0.0);
    let mut cell = |load: f64, share: f64| {
        let expected = share * units;
        let difference = load / total * units - expected;
        cells += 1;
        chi2 += ratio(difference * difference, expected);
    };
    let even = 1.0 / shares.len() as f64;
    for (&load, &share) in loads.iter().zip(shares) {
        // Equal cells are not merged even if each expects less than one: the Poisson
        // distribution of pairs covers them.
        let is_rare = share * units < 1.0 && (share - even).abs() > even * 1e-6;
        if is_rare {
            rare_load += load;
            rare_share += share;
        } else {
            cell(load, share);
        }
    }
    if rare_share > 0.0 {
        cell(rare_load, rare_share);
    } else if rare_load > 0.0 {
        return 0.0; // a load where the share is 0
    }
    tail(chi2, cells, meeting)
}

/// The number of things in a cell beyond which chi-squared is exact enough by itself.
const DENSE: f64 = 100.0;

fn tail(chi2: f64, cells: u64, units: f64) -> f64 {
    let cells_f = cells as f64;
    let by_chi2 = ChiSquared::new(cells_f - 1.0).map_or(1.0, |chance| chance.sf(chi2));
    if units > DENSE * cells_f {
        return by_chi2;
    }
    // The statistic is linear in the number of pairs in a cell: chi2 = 2 pairs cells / units
    // + cells - units. Solved for the pairs, it can be compared with their expected number.
    let pairs = units * (units - 1.0) / 2.0 / cells_f;
    let met = (chi2 + units - cells_f) * units / cells_f / 2.0;
    by_chi2.max(at_least(pairs, met))
}

/// Returns the probability of at least `count` events if `mean` are expected (Poisson).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count, rounded to a whole one"
)]
pub(super) fn at_least(mean: f64, count: f64) -> f64 {
    let count = count.round();
    if count < 1.0 {
        return 1.0;
    }
    Poisson::new(mean).map_or(1.0, |chance| chance.sf(count as u64 - 1))
}

/// Returns the coefficient of variation over `cells` equal cells that chance exceeds one time in a
/// hundred.
pub(super) fn cv_p99(cells: usize, units: f64) -> f64 {
    let chi2 = ChiSquared::new(cells.saturating_sub(1) as f64)
        .map_or(0.0, |chance| chance.inverse_cdf(0.99));
    ratio(chi2, units).sqrt()
}

/// Returns the root mean square of (load / expected load) - 1.
pub(super) fn cv(loads: &[f64], shares: &[f64]) -> f64 {
    let total: f64 = loads.iter().sum();
    let off = |(load, share): (&f64, &f64)| {
        let off = ratio(*load, total * share) - 1.0;
        off * off
    };
    let squares: f64 = loads.iter().zip(shares).map(off).sum();
    if total > 0.0 {
        ratio(squares, loads.len() as f64).sqrt()
    } else {
        0.0
    }
}

/// Returns the root of `a² - b²`, or 0 if that is negative: the part of `a` that `b` does not
/// explain.
pub(super) fn beyond(a: f64, b: f64) -> f64 {
    (a * a - b * b).max(0.0).sqrt()
}

/// Returns (Σc)² / Σc²: this many equal amounts would be as noisy.
pub(super) fn effective(amounts: impl Iterator<Item = u64>) -> f64 {
    let (sum, squares) = amounts.fold((0.0, 0.0), |(sum, squares), amount| {
        let amount = amount as f64;
        (sum + amount, squares + amount * amount)
    });
    ratio(sum * sum, squares)
}

/// Returns the powers of primes from 2 to `most`, in order.
pub(super) fn prime_powers(most: u64) -> Vec<u64> {
    (2..=most)
        .filter(|&number| {
            let factors = factors(number);
            factors.first() == factors.last()
        })
        .collect()
}

/// Returns the prime factors, each as often as it divides. The cofactor left after primes below
/// 2^16 counts as one factor, so that the loop is short.
pub(super) fn factors(mut number: u64) -> Vec<u64> {
    let mut found = vec![];
    let mut divisor = 2;
    while divisor < 1 << 16 && divisor * divisor <= number {
        while number % divisor == 0 {
            found.push(divisor);
            number /= divisor;
        }
        divisor += 1;
    }
    if number > 1 {
        found.push(number);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_and_prime_powers_are_complete() {
        assert_eq!(factors(435), [3, 5, 29]);
        assert!(factors(1).is_empty());
        assert_eq!(factors(64), [2; 6]);
        assert_eq!(prime_powers(16), [2, 3, 4, 5, 7, 8, 9, 11, 13, 16]);
    }

    #[test]
    fn p_values_follow_chance_even_for_few_things() {
        let p = |loads: &[f64]| {
            let even = vec![1.0 / loads.len() as f64; loads.len()];
            p_value(loads, &even, loads.iter().sum())
        };
        assert!(p(&[500.0, 500.0]) > 0.9);
        assert!(p(&[400.0, 600.0]) < 1e-6);
        // Ten things in 128 cells, three of them in one cell: truly about 1 in 200, but by
        // chi-squared alone 1 in thousands.
        let mut few = [0.0; 128];
        few[0] = 3.0;
        few[1..8].fill(1.0);
        assert!(p(&few) > 0.003, "{}", p(&few));
        assert!(p_value(&[1.0, 9.0], &[1.0, 0.0], 10.0) < 1e-9);
    }

    #[test]
    fn an_unevenness_stands_out_above_twice_the_noise_and_one_percent() {
        assert!(!stands_out(0.39, 0.2) && stands_out(0.41, 0.2));
        assert!(!stands_out(0.0099, 0.0) && stands_out(0.0101, 0.0));
    }
}
