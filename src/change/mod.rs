//! Changes of membership: what moves, in which steps, and who owns a key meanwhile.

pub(crate) mod diff;
mod flows;
pub mod plan;
mod ramp;
mod union;

pub use diff::{Basis, Diff, Flow, MovedRange, diff, diff_keys};
pub use flows::Flows;
pub use ramp::Ramp;
pub(crate) use union::Union;
pub use union::{Matched, Pair};
