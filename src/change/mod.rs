//! Changes of membership: what moves, in which steps, and who owns a key meanwhile.

pub(crate) mod diff;
pub(crate) mod flows;
pub mod plan;
mod ramp;
pub(crate) mod union;

pub use diff::{Basis, Diff, Flow, MovedRange, diff, diff_keys};
pub use ramp::Ramp;
