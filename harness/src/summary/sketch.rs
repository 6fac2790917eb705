//! What the keys beyond exact counting carry, in fixed memory: a Count-Min sketch (Cormode and
//! Muthukrishnan 2005), the second moment that its cells give (Alon, Matias and Szegedy 1996; the
//! form without signs of Thorup and Zhang 2004), and the keys that may be among the largest.

use std::collections::BTreeSet;

use super::ids::{Amounts, ById, Id, MEASURES};

/// Rows of cells; a key has a cell in each, by sixteen bits of its id.
pub(crate) const ROWS: usize = 4;
/// Cells in a row.
pub(crate) const WIDTH: usize = 1 << 16;

/// A key may be among the largest from the 2^12th part of all on …
const SHIFT: u32 = 12;
/// … and is listed from this part on. For a listed key to have been overlooked, its estimate must
/// be too large by three times the former part in all four rows, each of which does so for at
/// most (1 / 2^16) / (3 / 2^12) of all keys: 2^-4 / 3, so for all four together below two in ten
/// million.
pub(crate) const LISTED: u64 = 1000;
/// How many of them are kept before those that have fallen behind are dropped.
pub(crate) const MOST: usize = 1 << 14;
/// How many bytes of them.
const ROOM: usize = 1 << 24;

/// Adding is linear: sketches of parts add up to the sketch of the whole.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    /// By measure; empty until anything has been added.
    pub(crate) cells: [Vec<u64>; MEASURES],
    pub(crate) totals: Amounts,
    /// Every key that carries more than the 2^12th part of any measure, and some that do not.
    pub(crate) candidates: ById<Box<[u8]>>,
    /// Of these keys, and beyond how many it is worth a look who has fallen behind.
    bytes: usize,
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

    /// Some keys more, each with its id and what it carries.
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
            // Row by row, so that the memory of many keys is fetched at once.
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

    pub(crate) fn totals(&self) -> Amounts {
        self.totals
    }

    /// As if all that was added to the other had been added here.
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

    /// Drop the candidates that have fallen behind. Should collisions lift too many, the mark is
    /// lifted too.
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

    /// The keys whose estimate is at least the [`LISTED`]th part of all, in no order.
    pub(crate) fn listed(&self, measure: usize) -> Vec<(u64, Id, &[u8])> {
        let estimates = self.candidates.iter();
        let estimates = estimates.map(|(id, key)| (least(&self.cells[measure], *id), *id, &**key));
        let mark = self.totals[measure].div_ceil(LISTED).max(1);
        estimates.filter(|(amount, ..)| *amount >= mark).collect()
    }

    /// The sum of the squares of what the keys carry. Relative standard error: the square root of
    /// 2 / (rows x width), at most. The listed keys are taken out first, since two of a few that
    /// carry nearly everything in one cell would be an error of many times that.
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
        // A row sums to the squares, and to the products of different keys one time in `width`.
        squares + (sum / ROWS as f64 * width - rest * rest) / (width - 1.0)
    }

    /// The relative standard error of [`squares`](Self::squares).
    pub(crate) fn squares_error() -> f64 {
        (2.0 / (ROWS * WIDTH) as f64).sqrt()
    }

    /// By how much of all an estimate is too large at most, 49 times in 50: Markov's inequality
    /// gives e / width, exceeded in all four rows with e^-4.
    pub(crate) fn amount_error() -> f64 {
        core::f64::consts::E / WIDTH as f64
    }
}

/// By what is listed of the candidates: which others there are depends on the order of the keys.
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

/// What a key carries at most.
fn least(cells: &[u64], id: Id) -> u64 {
    let rows = cells.chunks_exact(WIDTH).enumerate();
    rows.map(|(row, cells)| cells[cell_of(id, row)])
        .min()
        .unwrap_or(0)
}

/// What a key carries, neither too much nor too little on average: the middle of what its cells
/// have beyond what is in any cell.
fn middle(cells: &[u64], id: Id, total: f64) -> f64 {
    let mut amounts = [0.0; ROWS];
    for ((row, cells), amount) in cells.chunks_exact(WIDTH).enumerate().zip(&mut amounts) {
        let (cell, width) = (cells[cell_of(id, row)] as f64, WIDTH as f64);
        *amount = (cell * width - total) / (width - 1.0);
    }
    amounts.sort_unstable_by(f64::total_cmp);
    f64::midpoint(amounts[ROWS / 2 - 1], amounts[ROWS / 2])
}

/// A key's cell in a row.
fn cell_of(id: Id, row: usize) -> usize {
    ((id >> (16 * row)) % WIDTH as Id) as usize
}
