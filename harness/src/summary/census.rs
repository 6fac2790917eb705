//! Counts what each key carries. Up to a number of distinct keys every key is counted exactly.
//! Beyond it, a uniform sample of the distinct keys is counted exactly, and a sketch covers all
//! keys.
//!
//! Every key has an id: a hash that no router uses. The sample is the keys with the smallest ids
//! (bottom-k: Cohen and Kaplan 2007). So it does not depend on the order of the keys, and a key in
//! the sample has been there since its first occurrence: its count is complete. The k-th smallest
//! id estimates the number of distinct keys (Bar-Yossef et al. 2002).

use core::cmp::Reverse;
use std::collections::BTreeSet;

use super::amounts::{Moments, Sample, ratio};
use super::carried::{Carried, KeyShare, NAMED};
use super::ids::{Amounts, BLOCK, ById, Id, MEASURES, id};
use super::sketch::Sketch;

/// The most bytes of all keys in the sample.
const MOST_BYTES: usize = 1 << 24;

/// A distinct key and the amounts that it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: Box<[u8]>,
    pub(crate) amounts: Amounts,
}

/// The amounts of all keys, key by key while there are at most `capacity` distinct ones.
#[derive(Clone, Debug)]
pub(crate) struct Census {
    capacity: usize,
    pub(crate) rows: ById<Row>,
    /// The bytes of the keys in `rows`.
    bytes: usize,
    /// The largest id that is admitted to `rows`.
    limit: Id,
    /// A sketch of all keys; `None` while `rows` holds them all.
    pub(crate) sketch: Option<Box<Sketch>>,
}

impl Census {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            rows: ById::default(),
            bytes: 0,
            limit: Id::MAX,
            sketch: None,
        }
    }

    /// Restores a census that was written to a file.
    pub(crate) fn from_parts(capacity: usize, rows: Vec<Row>, sketch: Option<Sketch>) -> Self {
        let mut census = Self::new(capacity);
        census.sketch = sketch.map(Box::new);
        for row in rows {
            census.keep(id(&row.key), &row.key, &row.amounts);
        }
        census.settle();
        // A settled census has its largest id as its limit, so a file need not hold the limit.
        if census.sketch.is_some() {
            census.limit = census.rows.keys().copied().max().unwrap_or(Id::MAX);
        }
        census
    }

    /// Adds keys, each with the amounts that it carries.
    pub(crate) fn add(&mut self, keys: &[(&[u8], Amounts)]) {
        let known: Vec<_> = keys
            .iter()
            .map(|(key, amounts)| (id(key), *key, *amounts))
            .collect();
        if let Some(sketch) = &mut self.sketch {
            sketch.add(&known);
        }
        for (id, key, amounts) in &known {
            if *id <= self.limit {
                self.keep(*id, key, amounts);
            }
        }
        // Shrinking sorts all ids. Once there is a sketch, it waits until half the capacity has
        // been added: amortised O(log capacity) a key.
        let room = self.capacity + self.sketch.as_ref().map_or(0, |_| self.capacity / 2);
        if self.rows.len() > room || self.bytes > MOST_BYTES + MOST_BYTES / 2 {
            self.settle();
        }
    }

    fn keep(&mut self, id: Id, key: &[u8], amounts: &Amounts) {
        let bytes = &mut self.bytes;
        let row = self.rows.entry(id).or_insert_with(|| {
            *bytes += key.len();
            Row {
                key: key.into(),
                amounts: [0; MEASURES],
            }
        });
        for (sum, amount) in row.amounts.iter_mut().zip(amounts) {
            *sum = sum.saturating_add(*amount);
        }
    }

    /// Adds the keys of another census: the result is that of one census for the keys of both.
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
        for (id, row) in other.rows.into_iter().filter(|(id, _)| *id <= limit) {
            self.keep(id, &row.key, &row.amounts);
        }
        self.settle();
    }

    /// Shrinks the sample to its size. Call it before reading the rows.
    pub(crate) fn settle(&mut self) {
        if self.rows.len() <= self.capacity && self.bytes <= MOST_BYTES {
            return;
        }
        self.pour();
        let mut ids: Vec<_> = self.rows.keys().copied().collect();
        ids.sort_unstable();
        // Keep ids in order until the keys or the bytes are full, and skip none that is too
        // long: then a part keeps at least what the whole keeps of it, and merging parts gives
        // the same sample as one pass. At least one key is kept.
        let mut bytes = 0;
        let fits = |id: &&Id| {
            bytes += self.rows.get(*id).map_or(0, |row| row.key.len());
            bytes <= MOST_BYTES
        };
        let count = ids.iter().take(self.capacity).take_while(fits).count();
        if let Some(limit) = ids.get(count.saturating_sub(1)) {
            self.lower(*limit);
        }
    }

    /// Lowers the limit, and drops the rows above it.
    fn lower(&mut self, limit: Id) {
        self.limit = limit;
        let bytes = &mut self.bytes;
        self.rows.retain(|id, row| {
            let stays = *id <= limit;
            if !stays {
                *bytes -= row.key.len();
            }
            stays
        });
    }

    /// Adds all rows to a new sketch, if there is none. Until then the rows are all keys.
    fn pour(&mut self) {
        let rows = &self.rows;
        self.sketch.get_or_insert_with(|| {
            let mut sketch = Sketch::new();
            let rows: Vec<_> = rows
                .iter()
                .map(|(id, row)| (*id, &*row.key, row.amounts))
                .collect();
            rows.chunks(BLOCK).for_each(|rows| sketch.add(rows));
            Box::new(sketch)
        });
    }

    /// Returns the rows in order of their ids.
    pub(crate) fn in_order(&self) -> Vec<(&[u8], Amounts)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_unstable_by_key(|(id, _)| **id);
        rows.into_iter()
            .map(|(_, row)| (&*row.key, row.amounts))
            .collect()
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
                .map(|(id, row)| (row.amounts[measure], *id, &*row.key))
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
            let row = self.rows.get(&id);
            (row.map_or(amount, |row| row.amounts[measure]), id, key)
        };
        sketch.listed(measure).into_iter().map(known).collect()
    }

    /// Returns the amounts and the largest keys of a measure. `total` is the sum of the measure.
    pub(crate) fn carried(&self, measure: usize, total: f64) -> Carried {
        let Some(sketch) = &self.sketch else {
            let sums = self
                .rows
                .values()
                .map(|row| (row.amounts[measure], &*row.key));
            return Carried::all(sums.collect(), |key| key);
        };
        let listed = self.listed(sketch, measure);
        let heavy: BTreeSet<_> = listed.iter().map(|(_, id, _)| *id).collect();
        let amounts = |kept: &dyn Fn(&Id) -> bool| {
            let rows = self.rows.iter().filter(|(id, _)| kept(id));
            let amounts = rows.map(|(_, row)| row.amounts[measure]);
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
