//! Counts the keys beyond exact counting in fixed memory: a Count-Min sketch (Cormode and
//! Muthukrishnan 2005), the second moment from its cells (Alon, Matias and Szegedy 1996, in the
//! form without signs of Thorup and Zhang 2004), and the keys that may be among the largest.

use std::collections::BTreeSet;

use super::ids::{Amounts, ById, Id, MEASURES};

/// The number of rows of cells. A key has one cell in each row, given by 16 bits of its id.
pub(crate) const ROWS: usize = 4;
/// The number of cells in a row.
pub(crate) const WIDTH: usize = 1 << 16;

/// A key becomes a candidate for the largest keys if its estimate exceeds 2^-12 of all.
const SHIFT: u32 = 12;
/// A candidate is listed if its estimate is at least 1/1000 of all.
///
/// A key with such an estimate is missed only if it carries less than 2^-12 of all. The estimate is
/// then too large by at least three times that part, in all four rows. By Markov's inequality one
/// row is, with a probability of at most (1 / 2^16) / (3 / 2^12) = 2^-4 / 3, so all four are with
/// less than 2 in 10 million.
pub(crate) const LISTED: u64 = 1000;
/// The number of candidates beyond which those that have fallen behind are dropped.
pub(crate) const MOST: usize = 1 << 14;
/// The number of bytes of candidates beyond which small ones are dropped.
const ROOM: usize = 1 << 24;

/// A sketch of the amounts of all keys. Adding is linear, so sketches of parts add up to the sketch
/// of the whole.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    /// The cells of each measure, row by row; empty until something is added.
    pub(crate) cells: [Vec<u64>; MEASURES],
    pub(crate) totals: Amounts,
    /// All keys that carry more than 2^-12 of a measure, and some that carry less.
    pub(crate) candidates: ById<Box<[u8]>>,
    /// The bytes of the candidates.
    bytes: usize,
    /// The number of bytes at which to drop small candidates again. It grows if many stay.
    room: usize,
}

impl Sketch {
    pub(crate) fn new() -> Self {
        Self {
            cells: [const { Vec::new() }; MEASURES],
            totals: [0; MEASURES],
            candidates: ById::default(),
            bytes: 0,
            room: ROOM,
        }
    }

    /// Adds keys, each with its id and the amounts that it carries.
    pub(crate) fn add(&mut self, keys: &[(Id, &[u8], Amounts)]) {
        let (mut large, mut least) = (vec![false; keys.len()], Vec::new());
        for measure in 0..MEASURES {
            let sum = keys
                .iter()
                .fold(0_u64, |sum, key| sum.saturating_add(key.2[measure]));
            if sum == 0 {
                continue;
            }
            let total = self.totals[measure].saturating_add(sum);
            self.totals[measure] = total;
            let cells = &mut self.cells[measure];
            if cells.is_empty() {
                *cells = vec![0; ROWS * WIDTH];
            }
            least.clear();
            least.resize(keys.len(), u64::MAX);
            // A row for all keys, then the next: the cells of different keys are independent, so
            // their cache misses overlap.
            for (row, cells) in cells.chunks_exact_mut(WIDTH).enumerate() {
                for ((id, _, amounts), least) in keys.iter().zip(&mut least) {
                    let cell = &mut cells[cell_of(*id, row)];
                    *cell = cell.saturating_add(amounts[measure]);
                    *least = (*least).min(*cell);
                }
            }
            for (index, large) in large.iter_mut().enumerate() {
                *large |= keys[index].2[measure] > 0 && least[index] > total >> SHIFT;
            }
        }
        for ((id, key, _), _) in keys.iter().zip(large).filter(|(_, large)| *large) {
            self.keep(*id, key);
        }
        if self.candidates.len() > MOST || self.bytes > self.room {
            self.drop_small();
        }
    }

    pub(crate) fn keep(&mut self, id: Id, key: &[u8]) {
        let bytes = &mut self.bytes;
        self.candidates.entry(id).or_insert_with(|| {
            *bytes += key.len();
            key.into()
        });
    }

    /// Adds another sketch: the result is that of one sketch for the keys of both, up to candidates
    /// that carry too little to be listed.
    pub(crate) fn merge(&mut self, other: Self) {
        for (mine, others) in self.cells.iter_mut().zip(other.cells) {
            if mine.is_empty() {
                *mine = others;
                continue;
            }
            for (cell, more) in mine.iter_mut().zip(others) {
                *cell = cell.saturating_add(more);
            }
        }
        for (total, more) in self.totals.iter_mut().zip(other.totals) {
            *total = total.saturating_add(more);
        }
        for (id, key) in &other.candidates {
            self.keep(*id, key);
        }
        self.drop_small();
    }

    /// Drops the candidates that have fallen behind. If collisions lift too many, the threshold is
    /// raised as well, so that the memory stays bounded.
    fn drop_small(&mut self) {
        for shift in (0..=SHIFT).rev() {
            let Self { cells, totals, .. } = &*self;
            let is_large = |id: Id| {
                (0..MEASURES).any(|measure| least(&cells[measure], id) > totals[measure] >> shift)
            };
            let small: Vec<_> = self
                .candidates
                .keys()
                .copied()
                .filter(|id| !is_large(*id))
                .collect();
            for id in small {
                self.candidates.remove(&id);
            }
            if self.candidates.len() <= MOST / 2 {
                break;
            }
        }
        self.bytes = self.candidates.values().map(|key| key.len()).sum();
        self.room = ROOM.max(2 * self.bytes);
    }

    /// Returns the keys with an estimate of at least 1/[`LISTED`] of all, in no order.
    pub(crate) fn listed(&self, measure: usize) -> Vec<(u64, Id, &[u8])> {
        let estimates = self.candidates.iter();
        let estimates = estimates.map(|(id, key)| (least(&self.cells[measure], *id), *id, &**key));
        let mark = self.totals[measure].div_ceil(LISTED).max(1);
        estimates.filter(|(amount, ..)| *amount >= mark).collect()
    }

    /// Estimates the sum of the squared amounts. Relative standard error: at most the square root
    /// of 2 / (rows x width). The listed keys are subtracted first: if two of a few keys that carry
    /// nearly everything shared a cell, the error would be many times larger.
    pub(crate) fn squares(&self, measure: usize) -> f64 {
        let total = self.totals[measure] as f64;
        let mut cells: Vec<_> = self.cells[measure]
            .iter()
            .map(|&cell| cell as f64)
            .collect();
        let mut listed = self.listed(measure);
        listed.sort_unstable_by_key(|(_, id, _)| *id);
        let (mut squares, mut rest) = (0.0, total);
        for (_, id, _) in listed {
            let amount = middle(&self.cells[measure], id, total);
            squares += amount * amount;
            rest -= amount;
            for (row, cells) in cells.chunks_exact_mut(WIDTH).enumerate() {
                cells[cell_of(id, row)] -= amount;
            }
        }
        let sum: f64 = cells.iter().map(|cell| cell * cell).sum();
        let width = WIDTH as f64;
        // The squares of a row's cells sum to the squared amounts and to the products of those
        // pairs of keys that share a cell, which a pair does with probability 1 / width. So
        // E[sum] = S + (rest^2 - S) / width; solve for S.
        squares + (sum / ROWS as f64 * width - rest * rest) / (width - 1.0)
    }

    /// Returns the relative standard error of [`squares`](Self::squares).
    pub(crate) fn squares_error() -> f64 {
        (2.0 / (ROWS * WIDTH) as f64).sqrt()
    }

    /// Returns the error that an estimate exceeds one time in 50, as a share of all. By Markov's
    /// inequality a row exceeds e / width with probability 1 / e; all four rows do with e^-4.
    pub(crate) fn amount_error() -> f64 {
        core::f64::consts::E / WIDTH as f64
    }
}

/// Compares the listed candidates only: which others are kept depends on the order of the keys.
impl PartialEq for Sketch {
    fn eq(&self, other: &Self) -> bool {
        let listed = |sketch: &Self, measure| {
            let listed = sketch.listed(measure).into_iter();
            listed.map(|(_, id, _)| id).collect::<BTreeSet<_>>()
        };
        let same = |measure| listed(self, measure) == listed(other, measure);
        self.totals == other.totals && self.cells == other.cells && (0..MEASURES).all(same)
    }
}

impl Eq for Sketch {}

/// Returns an upper bound of a key's amount: the smallest of its cells.
fn least(cells: &[u64], id: Id) -> u64 {
    let rows = cells.chunks_exact(WIDTH).enumerate();
    rows.map(|(row, cells)| cells[cell_of(id, row)])
        .min()
        .unwrap_or(0)
}

/// Estimates a key's amount without bias: the median of its cells, each less what a cell holds on
/// average.
fn middle(cells: &[u64], id: Id, total: f64) -> f64 {
    let mut amounts = [0.0; ROWS];
    for ((row, cells), amount) in cells.chunks_exact(WIDTH).enumerate().zip(&mut amounts) {
        let (cell, width) = (cells[cell_of(id, row)] as f64, WIDTH as f64);
        *amount = (cell * width - total) / (width - 1.0);
    }
    amounts.sort_unstable_by(f64::total_cmp);
    f64::midpoint(amounts[ROWS / 2 - 1], amounts[ROWS / 2])
}

/// Returns a key's cell in a row.
fn cell_of(id: Id, row: usize) -> usize {
    ((id >> (16 * row)) % WIDTH as Id) as usize
}
