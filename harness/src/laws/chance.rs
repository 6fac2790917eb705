//! What chance alone gives, and how unlikely a figure must be to be a breach.

use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF, Normal};

use super::trial::{Held, fail};

/// The probability that [`check`](super::check) would find a breach in a row that keeps all laws,
/// if its keys were drawn anew. They never are: seeds are fixed.
pub const SIGNIFICANCE: f64 = 1e-4;

/// The number of clauses that compare samples with shares. Each has an equal part of the
/// significance.
const CLAUSES: usize = 6;

/// Returns the probability below which one of `tests` tests of a clause is a breach (Bonferroni).
pub(super) fn limit(tests: usize) -> f64 {
    SIGNIFICANCE / (CLAUSES * tests.max(1)) as f64
}

/// Tests of one clause, judged together.
#[derive(Debug, Default)]
pub(super) struct Tests(Vec<(String, f64)>);

impl Tests {
    /// Adds a test: the probability of what was seen, or of something more extreme.
    pub(super) fn note(&mut self, what: String, chance: f64) {
        self.0.push((what, chance));
    }

    /// Refuses the least likely test if it is too unlikely.
    pub(super) fn judge(self) -> Held {
        let limit = limit(self.0.len());
        // NaN means that the test could not be computed: a breach, too.
        let is_unlikely = |chance: f64| chance.is_nan() || chance < limit;
        let tests = self.0.into_iter();
        let unlikely = tests.filter(|(_, chance)| is_unlikely(*chance));
        match unlikely.min_by(|(_, a), (_, b)| a.total_cmp(b)) {
            None => Ok(()),
            Some((what, chance)) => fail(
                what,
                format!("what chance gives with probability {limit:.1e} at least"),
                format!("probability {chance:.1e}"),
            ),
        }
    }
}

/// Returns the probability of `hits` or fewer.
pub(super) fn at_most(hits: u64, trials: u64, share: f64) -> f64 {
    let law = Binomial::new(share.clamp(0.0, 1.0), trials);
    law.map_or(f64::NAN, |law| law.cdf(hits))
}

/// Returns the probability of `hits` or more.
pub(super) fn at_least(hits: u64, trials: u64, share: f64) -> f64 {
    let law = Binomial::new(share.clamp(0.0, 1.0), trials);
    law.map_or(f64::NAN, |law| {
        hits.checked_sub(1).map_or(1.0, |fewer| law.sf(fewer))
    })
}

/// Returns the two-sided probability of a standard normal deviate.
pub(super) fn normal(deviate: f64) -> f64 {
    2.0 * Normal::standard().sf(deviate.abs())
}

/// Returns the probability of a chi-squared statistic as large, for counts against shares that have
/// a coefficient of variation of `cv` themselves. Nodes that expect fewer than five keys are
/// merged. Returns 0 if a node without a share has keys.
pub(super) fn chi_square(counts: &[u64], shares: &[f64], cv: f64) -> f64 {
    let total = counts.iter().sum::<u64>() as f64;
    let (mut chi2, mut cells) = (0.0, 0_u32);
    let mut rest = (0.0, 0.0);
    let mut add = |count: f64, expected: f64| {
        let variance = expected * (1.0 + cv * cv * expected);
        chi2 += (count - expected) * (count - expected) / variance;
        cells += 1;
    };
    for (&count, &share) in counts.iter().zip(shares) {
        if share <= 0.0 && count > 0 {
            return 0.0;
        }
        if share * total >= 5.0 {
            add(count as f64, share * total);
        } else {
            rest = (rest.0 + count as f64, rest.1 + share * total);
        }
    }
    if rest.1 >= 5.0 {
        add(rest.0, rest.1);
    }
    if cells < 2 {
        return 1.0;
    }
    ChiSquared::new(f64::from(cells - 1)).map_or(f64::NAN, |law| law.sf(chi2))
}
