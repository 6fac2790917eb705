//! The amounts that the distinct keys carry of one measure, summarised for the simulation of noise.

use core::cmp::Reverse;

/// The number of largest keys that a simulation places one by one. The rest are many and small, so
/// equal keys of the same variance stand for them.
const HEAVY: usize = 2048;

/// What is known of the amounts of many keys: their sum, the number of keys that carry any, the sum
/// of squares, and the relative standard error of the latter two together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) total: f64,
    pub(crate) carriers: f64,
    pub(crate) squares: f64,
    pub(crate) error: f64,
}

/// The amounts that the distinct keys carry of one measure.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) total: f64,
    /// The number of distinct keys that carry any.
    pub(crate) carriers: usize,
    /// The effective number of keys, E = (Σs)² / Σs².
    pub(crate) effective: f64,
    /// The number of largest keys that carry half.
    pub(crate) half: usize,
    /// The largest amounts, in descending order; empty if all are equal.
    pub(crate) heavy: Vec<u64>,
    /// The number of equal keys that stand for the rest.
    pub(crate) units: u64,
    /// The amount of each of them.
    pub(crate) unit: f64,
    /// The relative standard error of the numbers of keys; 0 if they are exact.
    pub(crate) error: f64,
}

impl Sample {
    /// Takes the amount of every distinct key, in any order.
    pub(crate) fn new(mut amounts: Vec<u64>) -> Self {
        amounts.retain(|amount| *amount > 0);
        // Floating-point sums depend on the order; sorted, they are equal to the last bit.
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

    /// Builds a sample from the moments of a stream, the amounts of its heaviest keys, and the
    /// amounts of a uniform sample of the others.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of keys"
    )]
    pub(crate) fn estimated(of: &Moments, mut heavy: Vec<u64>, mut light: Vec<u64>) -> Self {
        let effective = ratio(of.total * of.total, of.squares).min(of.carriers);
        // Within three standard errors of equal amounts: nothing shows that they differ.
        if of.carriers <= effective * (1.0 + 3.0 * of.error) {
            return Self {
                error: of.error,
                ..Self::equal(of.total, of.carriers)
            };
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
        // Squares are least if all amounts are equal; an estimate below that is error.
        let rest_squares = (of.squares - heavy_squares).max(rest * rest / rest_carriers);
        heavy.truncate(HEAVY);
        Self {
            total: of.total,
            carriers: (of.carriers + 0.5) as usize,
            effective,
            half,
            heavy,
            error: of.error,
            ..Self::equal(rest, ratio(rest * rest, rest_squares))
        }
    }

    /// Builds a sample of `effective` keys that carry the same.
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
            error: 0.0,
        }
    }

    /// Returns the sum of a power of the amounts.
    pub(crate) fn moment(&self, power: u32) -> f64 {
        let raised = |amount: f64| (0..power).fold(1.0, |product, _| product * amount);
        let heavy = self.heavy.iter().map(|&amount| raised(amount as f64));
        heavy.sum::<f64>() + self.units as f64 * raised(self.unit)
    }
}

/// Returns Σs and E = (Σs)² / Σs².
fn effective(sums: &[u64]) -> (f64, f64) {
    let amounts = || sums.iter().map(|&amount| amount as f64);
    let total: f64 = amounts().sum();
    (
        total,
        ratio(total * total, amounts().map(|amount| amount * amount).sum()),
    )
}

/// Returns the number of largest amounts that make up half of the total. `sums` is in descending
/// order.
fn half(sums: &[u64], total: f64) -> usize {
    let mut so_far = 0.0;
    let within = |amount: &&u64| {
        so_far += **amount as f64;
        2.0 * so_far < total
    };
    sums.iter().take_while(within).count() + usize::from(!sums.is_empty())
}

/// Returns `a / b`, or 0 if `b` is 0.
pub(crate) fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}
