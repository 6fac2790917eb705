//! Counts what each key carries. Up to a number of distinct keys every key is counted exactly.
//! Beyond it, a uniform sample of the distinct keys is counted exactly, and a sketch covers all
//! keys.
//!
//! Every key has an id: a hash with a secret, which no router uses. The sample is the keys with the
//! smallest ids (bottom-k: Cohen and Kaplan 2007). So it does not depend on the order of the keys,
//! and a key in the sample has been there since its first occurrence: its count is complete. The
//! k-th smallest id estimates the number of distinct keys (Bar-Yossef et al. 2002).

use core::cmp::Reverse;
use std::collections::BTreeSet;

use super::amounts::{Moments, Sample, ratio};
use super::carried::{Carried, KeyShare, NAMED};
use super::ids::{Amounts, BLOCK, Id, IdSecret};
use super::rows::{Row, Rows};
use super::sketch::Sketch;

/// The amounts of all keys, key by key while there are at most `capacity` distinct ones.
#[derive(Clone, Debug)]
pub(crate) struct Census {
    capacity: usize,
    secret: IdSecret,
    pub(crate) rows: Rows,
    /// The largest id that is admitted to `rows`.
    limit: Id,
    /// A sketch of all keys; `None` while `rows` holds them all.
    pub(crate) sketch: Option<Box<Sketch>>,
}

impl Census {
    /// The most bytes of all keys in the sample.
    pub(crate) const MOST_BYTES: usize = 1 << 24;

    pub(crate) fn new(capacity: usize, secret: IdSecret) -> Self {
        Self {
            capacity,
            secret,
            rows: Rows::default(),
            limit: Id::MAX,
            sketch: None,
        }
    }

    /// Restores a census that was written to a file.
    pub(crate) fn from_parts(
        capacity: usize,
        secret: IdSecret,
        rows: Rows,
        sketch: Option<Sketch>,
    ) -> Self {
        let mut census = Self::new(capacity, secret);
        census.sketch = sketch.map(Box::new);
        census.rows = rows;
        census.settle();
        // A settled census has its largest id as its limit, so a file need not hold the limit.
        if census.sketch.is_some() {
            let largest = census.rows.iter().map(|row| row.id).max();
            census.limit = largest.unwrap_or(Id::MAX);
        }
        census
    }

    /// Returns the secret of the ids.
    pub(crate) fn secret(&self) -> IdSecret {
        self.secret
    }

    /// Adds keys, each with the amounts that it carries.
    pub(crate) fn add(&mut self, keys: &[(&[u8], Amounts)]) {
        let known: Vec<_> = keys
            .iter()
            .map(|(key, amounts)| (self.secret.id(key), *key, *amounts))
            .collect();
        if let Some(sketch) = &mut self.sketch {
            sketch.add(&known);
        }
        for (id, key, amounts) in &known {
            if *id <= self.limit {
                self.rows.add(*id, key, amounts);
            }
        }
        // Shrinking looks at all ids. Once there is a sketch, it waits until a quarter of the
        // capacity has been added: amortised O(1) a key.
        let slack = self.sketch.as_ref().map_or(0, |_| self.capacity / 4);
        if self.rows.len() > self.capacity + slack || self.rows.bytes() > Self::MOST_BYTES / 4 * 5 {
            self.settle();
        }
    }

    /// Adds the keys of another census, whose ids have the same secret: the result is that of one
    /// census for the keys of both.
    pub(crate) fn merge(&mut self, mut other: Self) {
        if self.sketch.is_some() || other.sketch.is_some() {
            // If one side has only a sample, rows alone no longer cover all keys: both need a
            // sketch, which then holds every key exactly once.
            self.pour();
            other.pour();
        }
        if let (Some(sketch), Some(others)) = (&mut self.sketch, other.sketch) {
            sketch.merge(*others);
        }
        // Only below the smaller limit have both sides counted a key from its start.
        let limit = self.limit.min(other.limit);
        self.lower(limit);
        for row in other.rows.iter().filter(|row| row.id <= limit) {
            self.rows.add(row.id, row.key, &row.amounts);
        }
        self.settle();
    }

    /// Shrinks the sample to its size. Call it before reading the rows.
    pub(crate) fn settle(&mut self) {
        if self.is_settled() {
            return;
        }
        self.pour();
        if let Some(limit) = self.rows.smallest(self.capacity) {
            self.lower(limit);
            // Keys with equal ids are sampled all or none.
            if self.rows.len() > self.capacity {
                self.lower(limit.saturating_sub(1));
            }
        }
        if self.rows.bytes() <= Self::MOST_BYTES {
            return;
        }
        // Keep ids in order until the bytes are full, and skip none that is too long: then a part
        // keeps at least what the whole keeps of it, and merging parts gives the same sample as
        // one pass. At least one key is kept.
        let mut bytes = 0;
        let fits = |row: &Row| {
            bytes += row.key.len();
            bytes <= Self::MOST_BYTES
        };
        let count = self.rows.in_order().take_while(fits).count();
        if let Some(limit) = self.rows.smallest(count.max(1)) {
            self.lower(limit);
        }
    }

    /// Returns whether the sample has its size.
    pub(crate) fn is_settled(&self) -> bool {
        self.rows.len() <= self.capacity && self.rows.bytes() <= Self::MOST_BYTES
    }

    /// Lowers the limit, and drops the rows above it.
    fn lower(&mut self, limit: Id) {
        self.limit = limit;
        self.rows.keep_to(limit);
    }

    /// Adds all rows to a new sketch, if there is none. Until then the rows are all keys.
    fn pour(&mut self) {
        let rows = &self.rows;
        self.sketch.get_or_insert_with(|| {
            let mut sketch = Sketch::new();
            let mut rows = rows.iter().map(|row| (row.id, row.key, row.amounts));
            let mut block = Vec::with_capacity(BLOCK);
            while rows.len() > 0 {
                block.clear();
                block.extend(rows.by_ref().take(BLOCK));
                sketch.add(&block);
            }
            Box::new(sketch)
        });
    }

    /// Returns the rows in order of their ids.
    pub(crate) fn in_order(&self) -> Vec<(&[u8], Amounts)> {
        let rows = self.rows.in_order();
        rows.map(|row| (row.key, row.amounts)).collect()
    }

    /// Returns the number of distinct keys: exact without a sketch, otherwise estimated.
    pub(crate) fn distinct(&self) -> f64 {
        let kept = self.rows.len() as f64;
        if self.sketch.is_none() || kept < 2.0 {
            return kept;
        }
        // Ids are uniform: if the k-th smallest is a fraction f of the range, (k - 1) / f is an
        // unbiased estimate of their number.
        (kept - 1.0) * (u128::MAX as f64 / self.limit as f64)
    }

    /// Returns the relative standard error of [`distinct`](Self::distinct) if there is a sketch.
    pub(crate) fn distinct_error(&self) -> f64 {
        (1.0 / self.rows.len().max(1) as f64).sqrt()
    }

    /// Returns the largest keys, up to `most`. Beyond exact counting, only keys with an estimate of
    /// a thousandth of all or more.
    pub(crate) fn largest(&self, measure: usize, most: usize) -> Vec<(u64, &[u8])> {
        let mut largest: Vec<_> = match &self.sketch {
            Some(sketch) => self.listed(sketch, measure),
            None => self
                .rows
                .iter()
                .map(|row| (row.amounts[measure], row.id, row.key))
                .collect(),
        };
        largest.retain(|(amount, ..)| *amount > 0);
        largest.sort_unstable_by_key(|&(amount, _, key)| (Reverse(amount), key));
        let largest = largest.into_iter().take(most);
        largest.map(|(amount, _, key)| (amount, key)).collect()
    }

    /// Returns the keys that the sketch lists. Amounts of keys in the sample are exact.
    fn listed<'a>(&'a self, sketch: &'a Sketch, measure: usize) -> Vec<(u64, Id, &'a [u8])> {
        let known = |(amount, id, key): (u64, Id, &'a [u8])| {
            let row = self.rows.get(id, key);
            (row.map_or(amount, |amounts| amounts[measure]), id, key)
        };
        sketch.listed(measure).into_iter().map(known).collect()
    }

    /// Returns the keys outside the sample with an estimate of a thousandth of all or more.
    pub(crate) fn beyond(&self, measure: usize) -> Vec<(u64, &[u8])> {
        let listed = self.sketch.iter().flat_map(|sketch| sketch.listed(measure));
        let beyond = listed.filter(|(_, id, key)| self.rows.get(*id, key).is_none());
        beyond.map(|(amount, _, key)| (amount, key)).collect()
    }

    /// Returns the estimated sum of the squared amounts; `None` without a sketch.
    pub(crate) fn squares(&self, measure: usize) -> Option<f64> {
        self.sketch.as_ref().map(|sketch| sketch.squares(measure))
    }

    /// Returns the amounts and the largest keys of a measure. `total` is the sum of the measure.
    pub(crate) fn carried(&self, measure: usize, total: f64) -> Carried {
        let Some(sketch) = &self.sketch else {
            let sums = self.rows.iter().map(|row| (row.amounts[measure], row.key));
            return Carried::all(sums.collect(), |key| key);
        };
        let listed = self.listed(sketch, measure);
        let heavy: BTreeSet<_> = listed.iter().map(|(_, id, _)| *id).collect();
        let amounts = |kept: &dyn Fn(&Id) -> bool| {
            let rows = self.rows.iter().filter(|row| kept(&row.id));
            let amounts = rows.map(|row| row.amounts[measure]);
            amounts.filter(|amount| *amount > 0).collect::<Vec<_>>()
        };
        // The sample gives the share of the distinct keys that carry any of this measure.
        let share = ratio(amounts(&|_| true).len() as f64, self.rows.len() as f64);
        let sample = Sample::estimated(
            &Moments {
                total,
                carriers: self.distinct() * share,
                squares: sketch.squares(measure),
                error: self.distinct_error().hypot(Sketch::squares_error()),
            },
            listed.iter().map(|(amount, ..)| *amount).collect(),
            amounts(&|id| !heavy.contains(id)),
        );
        let named = self.largest(measure, NAMED).into_iter();
        let largest = named.map(|(amount, key)| KeyShare::new(key, amount, total));
        Carried {
            largest: largest.collect(),
            sample,
        }
    }
}

/// Compares what reports show. Both must be settled.
impl PartialEq for Census {
    fn eq(&self, other: &Self) -> bool {
        let same = self.limit == other.limit && self.sketch == other.sketch;
        same && self.rows.in_order().eq(other.rows.in_order())
    }
}

impl Eq for Census {}
