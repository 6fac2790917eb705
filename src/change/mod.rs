//! Changes of the members: the keys that move, the steps of a migration, and the owners of a key
//! during it.

pub(crate) mod diff;
mod flows;
pub mod plan;
mod ramp;
mod union;

pub use diff::{Basis, Diff, DiffCounter, Flow, MovedRange, diff, diff_keys};
pub use flows::Flows;
pub use ramp::Ramp;
pub(crate) use union::Union;
pub use union::{Matched, Pair};
