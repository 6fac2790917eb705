//! Who carries how much: exactly up to a number of distinct keys, beyond it by a uniform sample
//! of the distinct keys, each still counted exactly, and a sketch of all.
//!
//! Every key has an id, a hash of its own that no router uses. The sample is that of the keys
//! with the least ids (bottom-k: Cohen and Kaplan 2007), so it does not depend on the order in
//! which keys come, and a key in it has been in it since it first came. The k-th least id tells
//! how many distinct keys there are (Bar-Yossef et al. 2002).

use core::cmp::Reverse;
use std::collections::BTreeSet;

use super::amounts::{Moments, Sample, ratio};
use super::carried::{Carried, KeyShare, NAMED};
use super::ids::{Amounts, BLOCK, ById, Id, MEASURES, id};
use super::sketch::Sketch;

/// The most bytes that the keys of a sample have together.
const MOST_BYTES: usize = 1 << 24;

/// A distinct key and what it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: Box<[u8]>,
    pub(crate) amounts: Amounts,
}

/// What all keys carry, one by one as long as there are at most `capacity` distinct ones.
#[derive(Clone, Debug)]
pub(crate) struct Census {
    capacity: usize,
    pub(crate) rows: ById<Row>,
    /// Of the keys in it.
    bytes: usize,
    /// The largest id that is let in.
    limit: Id,
    /// Of all keys; none while all are in `rows`.
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

    /// One that was written down. It is settled anew.
    pub(crate) fn from_parts(capacity: usize, rows: Vec<Row>, sketch: Option<Sketch>) -> Self {
        let mut census = Self::new(capacity);
        census.sketch = sketch.map(Box::new);
        for row in rows {
            census.keep(id(&row.key), &row.key, &row.amounts);
        }
        census.settle();
        if census.sketch.is_some() {
            census.limit = census.rows.keys().copied().max().unwrap_or(Id::MAX);
        }
        census
    }

    /// Some keys more, each with what it carries.
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
        // Sorting out takes a while, and is done for many at once.
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

    /// As if all that was added to the other had been added here.
    pub(crate) fn merge(&mut self, mut other: Self) {
        if self.sketch.is_some() || other.sketch.is_some() {
            self.pour();
            other.pour();
        }
        if let (Some(sketch), Some(others)) = (&mut self.sketch, other.sketch) {
            sketch.merge(*others);
        }
        let limit = self.limit.min(other.limit);
        self.lower(limit);
        for (id, row) in other.rows.into_iter().filter(|(id, _)| *id <= limit) {
            self.keep(id, &row.key, &row.amounts);
        }
        self.settle();
    }

    /// Keep the sample down to its size. Whoever reads the rows calls this first.
    pub(crate) fn settle(&mut self) {
        if self.rows.len() <= self.capacity && self.bytes <= MOST_BYTES {
            return;
        }
        self.pour();
        let mut ids: Vec<_> = self.rows.keys().copied().collect();
        ids.sort_unstable();
        // The least ids up to where either is full, whatever would still fit behind: so a part
        // keeps all that the whole keeps of it. One at least.
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

    /// Let in no larger id, and drop those that are there.
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

    /// The rows, which are all keys, into a sketch, if there is none.
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

    /// The rows in order of their ids.
    pub(crate) fn in_order(&self) -> Vec<(&[u8], Amounts)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_unstable_by_key(|(id, _)| **id);
        rows.into_iter()
            .map(|(_, row)| (&*row.key, row.amounts))
            .collect()
    }

    /// How many distinct keys there are.
    pub(crate) fn distinct(&self) -> f64 {
        let kept = self.rows.len() as f64;
        if self.sketch.is_none() || kept < 2.0 {
            return kept;
        }
        (kept - 1.0) * (u128::MAX as f64 / self.limit as f64)
    }

    /// The relative standard error of [`distinct`](Self::distinct), when there is a sketch.
    pub(crate) fn distinct_error(&self) -> f64 {
        (1.0 / self.rows.len().max(1) as f64).sqrt()
    }

    /// The keys that carry most: the largest `most` where all are counted, else those that carry
    /// a thousandth or more, by their estimates.
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

    /// The keys that the sketch lists, with exact amounts for those in the sample.
    fn listed<'a>(&'a self, sketch: &'a Sketch, measure: usize) -> Vec<(u64, Id, &'a [u8])> {
        let known = |(amount, id, key): (u64, Id, &'a [u8])| {
            let row = self.rows.get(&id);
            (row.map_or(amount, |row| row.amounts[measure]), id, key)
        };
        sketch.listed(measure).into_iter().map(known).collect()
    }

    /// What the keys carry of a measure, `total` together.
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
