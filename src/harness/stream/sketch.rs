//! What the keys beyond exact counting carry, in fixed memory: a Count-Min sketch (Cormode and
//! Muthukrishnan 2005), the second moment that its cells give (Alon, Matias and Szegedy 1996; the
//! form without signs of Thorup and Zhang 2004), and the keys that may be among the largest.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::census::{Amounts, ById, Id, MEASURES};

/// Rows of cells; a key has a cell in each, by sixteen bits of its id.
pub(super) const ROWS: usize = 4;
/// Cells in a row.
pub(super) const WIDTH: usize = 1 << 16;

/// A key may be among the largest from the 2^12th part of all on …
const SHIFT: u32 = 12;
/// … and is listed from this part on. For a listed key to have been overlooked, its estimate must
/// be too large by three times the former part in all four rows, each of which does so for at
/// most (1 / 2^16) / (3 / 2^12) of all keys: 2^-4 / 3, so for all four together below two in ten
/// million.
pub(super) const LISTED: u64 = 1000;
/// How many of them are kept before those that have fallen behind are dropped.
pub(super) const MOST: usize = 1 << 14;

/// Adding is linear: sketches of parts add up to the sketch of the whole.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    /// By measure; empty until anything has been added.
    pub(super) cells: [Vec<u64>; MEASURES],
    pub(super) totals: Amounts,
    /// Every key that carries more than the 2^12th part of any measure, and some that do not.
    pub(super) candidates: ById<Box<[u8]>>,
}

impl Sketch {
    pub(super) fn new() -> Self {
        Self {
            cells: [const { Vec::new() }; MEASURES],
            totals: [0; MEASURES],
            candidates: ById::default(),
        }
    }

    pub(super) fn add(&mut self, id: Id, key: &[u8], amounts: &Amounts) {
        let mut large = false;
        for (measure, &amount) in amounts
            .iter()
            .enumerate()
            .filter(|(_, amount)| **amount > 0)
        {
            let cells = &mut self.cells[measure];
            if cells.is_empty() {
                *cells = vec![0; ROWS * WIDTH];
            }
            let mut least = u64::MAX;
            for place in places(id) {
                cells[place] = cells[place].saturating_add(amount);
                least = least.min(cells[place]);
            }
            let total = &mut self.totals[measure];
            *total = total.saturating_add(amount);
            large |= least > *total >> SHIFT;
        }
        if large && !self.candidates.contains_key(&id) {
            self.candidates.insert(id, key.into());
            if self.candidates.len() > MOST {
                self.drop_small();
            }
        }
    }

    /// As if all that was added to the other had been added here.
    pub(super) fn merge(&mut self, other: Self) {
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
        self.candidates.extend(other.candidates);
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
                return;
            }
        }
    }

    /// The keys whose estimate is at least the [`LISTED`]th part of all, in no order.
    pub(super) fn listed(&self, measure: usize) -> Vec<(u64, Id, &[u8])> {
        let estimates = self.candidates.iter();
        let estimates = estimates.map(|(id, key)| (least(&self.cells[measure], *id), *id, &**key));
        let mark = self.totals[measure].div_ceil(LISTED).max(1);
        estimates.filter(|(amount, ..)| *amount >= mark).collect()
    }

    /// The sum of the squares of what the keys carry. Relative standard error: the square root of
    /// 2 / (rows x width), at most.
    pub(super) fn squares(&self, measure: usize) -> f64 {
        let squares = |cell: &u64| *cell as f64 * *cell as f64;
        let sum: f64 = self.cells[measure].iter().map(squares).sum();
        let (total, width) = (self.totals[measure] as f64, WIDTH as f64);
        // A row sums to the squares, and to the products of different keys one time in `width`.
        (sum / ROWS as f64 * width - total * total) / (width - 1.0)
    }

    /// The relative standard error of [`squares`](Self::squares).
    pub(super) fn squares_error() -> f64 {
        (2.0 / (ROWS * WIDTH) as f64).sqrt()
    }

    /// By how much of all an estimate is too large at most, 49 times in 50: Markov's inequality
    /// gives e / width, exceeded in all four rows with e^-4.
    pub(super) fn amount_error() -> f64 {
        core::f64::consts::E / WIDTH as f64
    }
}

/// What a key carries at most.
fn least(cells: &[u64], id: Id) -> u64 {
    let amounts = places(id).map(|place| cells.get(place).copied().unwrap_or(0));
    amounts.into_iter().min().unwrap_or(0)
}

/// A key's cell in each row.
fn places(id: Id) -> [usize; ROWS] {
    [0, 1, 2, 3].map(|row| row * WIDTH + ((id >> (16 * row)) % WIDTH as Id) as usize)
}
