//! The keys that carry a measure, and how uneven chance alone makes them.

use super::chance::Units;
use crate::summary::{KeyShare, Moments, NAMED, Sample};

/// A key and what it carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carrier<'a> {
    pub(super) key: &'a [u8],
    pub(super) amount: u64,
    /// The number of keys that it represents: 1 if it is known by itself, more if it was sampled.
    pub(super) stands_for: f64,
}

/// The keys that carry any of a measure, in descending order.
#[derive(Clone, Debug)]
pub(super) struct Carriers<'a>(Vec<Carrier<'a>>);

/// The relative error of the number of distinct keys beyond the sample.
const ERROR: f64 = 1e-3;

impl<'a> Carriers<'a> {
    /// Takes keys in any order, and leaves out those that carry nothing.
    pub(super) fn new(mut carriers: Vec<Carrier<'a>>) -> Self {
        carriers.retain(|one| one.amount > 0);
        carriers.sort_unstable_by(|a, b| b.amount.cmp(&a.amount).then(a.key.cmp(b.key)));
        Self(carriers)
    }

    /// Returns how noisy the keys are without the `without` largest.
    pub(super) fn units(&self, without: usize) -> Units {
        let rest = self.0.get(without..).unwrap_or_default();
        Units::of(&rest.iter().map(|one| (one.amount, one.stands_for)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Carrier<'a>> {
        self.0.iter()
    }

    /// Iterates over the keys that represent only themselves, in descending order.
    pub(super) fn known(&self) -> impl Iterator<Item = &Carrier<'a>> {
        self.0.iter().filter(|one| one.stands_for <= 1.0)
    }

    /// Returns the largest keys with their shares of `total`; none if all carry the same.
    pub(super) fn top(&self, total: f64) -> Vec<KeyShare> {
        let ends = (self.0.first(), self.0.last());
        if ends.0.map(|one| one.amount) == ends.1.map(|one| one.amount) {
            return Vec::new();
        }
        let top = self.0.iter().take(NAMED);
        top.map(|one| KeyShare::new(one.key, one.amount, total))
            .collect()
    }

    /// Returns the amounts for the simulation of noise.
    pub(super) fn sample(&self) -> Sample {
        let amounts = |known: bool| {
            let of = self.0.iter();
            let of = of.filter(|one| (one.stands_for <= 1.0) == known);
            of.map(|one| one.amount).collect::<Vec<_>>()
        };
        let (heavy, light) = (amounts(true), amounts(false));
        if light.is_empty() {
            return Sample::new(heavy);
        }
        let units = self.units(0);
        let moments = Moments {
            total: units.total,
            carriers: units.keys,
            squares: units.total * units.total / units.effective,
            error: ERROR,
        };
        Sample::estimated(&moments, heavy, light)
    }
}
