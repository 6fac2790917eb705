//! The keys that carry a measure, and how uneven chance alone makes them.

use super::chance::Units;
use crate::summary::{KeyShare, Moments, NAMED, Sample, ratio};

/// A key and what it carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carrier<'a> {
    pub(super) key: &'a [u8],
    pub(super) amount: u64,
    /// The number of keys that it represents: 1 if it is known by itself, more if it was sampled.
    pub(super) stands_for: f64,
}

/// What a sketch of all keys says about a measure, if not all keys are in the sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sketched {
    /// What all keys carry together, exactly.
    pub(super) total: f64,
    /// The estimated sum of squares.
    pub(super) squares: f64,
    /// The relative standard error of the sum of squares and of the number of keys together.
    pub(super) error: f64,
}

/// The keys that carry any of a measure, in descending order.
#[derive(Clone, Debug)]
pub(super) struct Carriers<'a> {
    keys: Vec<Carrier<'a>>,
    sketched: Option<Sketched>,
}

impl<'a> Carriers<'a> {
    /// Takes keys in any order, and leaves out those that carry nothing.
    pub(super) fn new(mut keys: Vec<Carrier<'a>>, sketched: Option<Sketched>) -> Self {
        keys.retain(|one| one.amount > 0);
        keys.sort_unstable_by(|a, b| b.amount.cmp(&a.amount).then(a.key.cmp(b.key)));
        Self { keys, sketched }
    }

    /// Returns how noisy the keys are without the `without` largest.
    pub(super) fn units(&self, without: usize) -> Units {
        let (gone, rest) = self.keys.split_at(without.min(self.keys.len()));
        let units = Units::of(&rest.iter().map(|one| (one.amount, one.stands_for)));
        let Some(mut sketched) = self.sketched else {
            return units;
        };
        // Few sampled keys stand for many keys of a middling size, so their squares say little. The
        // sketch counts all keys.
        for one in gone {
            let amount = one.amount as f64;
            sketched.total -= amount * one.stands_for;
            sketched.squares -= amount * amount * one.stands_for;
        }
        units.estimated(sketched.total.max(0.0), sketched.squares, sketched.error)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Carrier<'a>> {
        self.keys.iter()
    }

    /// Iterates over the keys that represent only themselves, in descending order.
    pub(super) fn known(&self) -> impl Iterator<Item = &Carrier<'a>> {
        self.keys.iter().filter(|one| one.stands_for <= 1.0)
    }

    /// Returns the largest keys with their shares of `total`; none if all carry the same.
    pub(super) fn top(&self, total: f64) -> Vec<KeyShare> {
        let ends = (self.keys.first(), self.keys.last());
        if ends.0.map(|one| one.amount) == ends.1.map(|one| one.amount) {
            return Vec::new();
        }
        let top = self.keys.iter().take(NAMED);
        top.map(|one| KeyShare::new(one.key, one.amount, total))
            .collect()
    }

    /// Returns the amounts for the simulation of noise.
    pub(super) fn sample(&self) -> Sample {
        let amounts = |known: bool| {
            let of = self.keys.iter();
            let of = of.filter(|one| (one.stands_for <= 1.0) == known);
            of.map(|one| one.amount).collect::<Vec<_>>()
        };
        let (heavy, light) = (amounts(true), amounts(false));
        let Some(sketched) = self.sketched else {
            return Sample::new(heavy);
        };
        let units = self.units(0);
        let moments = Moments {
            total: units.total,
            carriers: units.keys,
            squares: ratio(units.total * units.total, units.effective),
            error: sketched.error,
        };
        Sample::estimated(&moments, heavy, light)
    }
}
