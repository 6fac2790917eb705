//! What the distinct keys carry of one measure, in numbers.

use core::cmp::Reverse;

/// How many of the largest keys are thrown one by one; the rest are so many and so small that
/// they are thrown as equal ones of the same variance.
const HEAVY: usize = 2048;

/// What is known of the amounts of many keys: their sum, how many there are above 0, the sum of
/// their squares, and the relative standard error of the latter two together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) total: f64,
    pub(crate) carriers: f64,
    pub(crate) squares: f64,
    pub(crate) error: f64,
}

/// What the distinct keys carry of one measure.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) total: f64,
    /// How many distinct keys carry anything.
    pub(crate) carriers: usize,
    /// E = (Σs)² / Σs².
    pub(crate) effective: f64,
    /// How many of the largest keys carry half.
    pub(crate) half: usize,
    /// The largest amounts, the largest first; empty when all are equal.
    pub(crate) heavy: Vec<u64>,
    /// The rest, as this many keys …
    pub(crate) units: u64,
    /// … of this amount each.
    pub(crate) unit: f64,
}

impl Sample {
    /// `amounts`: what each distinct key carries, in any order.
    pub(crate) fn new(mut amounts: Vec<u64>) -> Self {
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
    pub(crate) fn estimated(of: &Moments, mut heavy: Vec<u64>, mut light: Vec<u64>) -> Self {
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
    pub(crate) fn equal(total: f64, effective: f64) -> Self {
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

/// `a / b`, 0 when b is 0.
pub(crate) fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}
