//! Figures that several commands show. Each has its name in JSON and reads its value from a result.

use hashroute_harness::{Figures, Remap};

use crate::output::{Cell, Field};
use crate::units;

/// Returns the coefficient of variation of what the nodes hold.
pub(crate) fn cv<'a>() -> Field<'a, Figures> {
    Field::number("cv", "cv", |of: &Figures| Cell::four(of.cv))
}

/// Returns the coefficient of variation that chance alone gives.
pub(crate) fn noise_cv<'a>() -> Field<'a, Figures> {
    Field::number("noise_cv", "by chance", |of: &Figures| {
        Cell::four(of.noise.cv)
    })
}

/// Returns the load of the most loaded node over the mean.
pub(crate) fn max_over_mean<'a>() -> Field<'a, Figures> {
    Field::number("max_over_mean", "fullest / mean", |of: &Figures| {
        Cell::ratio(of.max_over_mean)
    })
}

/// Returns the load of the most loaded node over the mean that chance alone gives.
pub(crate) fn noise_max_over_mean<'a>() -> Field<'a, Figures> {
    Field::number("noise_max_over_mean", "by chance", |of: &Figures| {
        Cell::ratio(of.noise.max_over_mean)
    })
}

/// Returns the p-value of the balance.
pub(crate) fn p_value<'a>() -> Field<'a, Figures> {
    Field::number("p_value", "p", |of: &Figures| Cell::chance(of.p_value))
}

/// Returns the number of keys that moved.
pub(crate) fn moved<'a>() -> Field<'a, Remap> {
    Field::number("moved", "moved", |of: &Remap| {
        Cell::new(of.moved, units::rounded(of.moved as f64))
    })
}

/// Returns the share of the keys that moved.
pub(crate) fn moved_share<'a>() -> Field<'a, Remap> {
    Field::number("moved_share", "share", |of: &Remap| {
        Cell::share(of.moved_share)
    })
}

/// Returns the share of the keys that had to move.
pub(crate) fn ideal_share<'a>() -> Field<'a, Remap> {
    Field::number("ideal_share", "had to", |of: &Remap| {
        Cell::share(of.ideal_share)
    })
}

/// Returns the share of the keys that are excess moves.
pub(crate) fn excess_share<'a>() -> Field<'a, Remap> {
    Field::number("excess_share", "excess", |of: &Remap| {
        Cell::share(of.excess_share)
    })
}
