//! Measure strategies: how even they are, what a change moves, what they cost.
//!
//! Keys come first ([`Keys`]: from a file, a template, a distribution), a router places them
//! ([`Assignment`]), and the figures follow: [`balance()`] with the noise that chance alone gives
//! beside each figure, [`remap()`] with the share that had to move, [`cost()`] in nanoseconds and
//! bytes, and [`compare()`], which does all of it for many strategies on the same scenario.
//!
//! Whether a row of the registry, of this crate or of another, keeps the laws that all promise is
//! what [`laws`] checks.
//!
//! All but the timings is deterministic: the same input gives the same numbers.
//!
//! ```
//! use hashroute_harness::{Keys, Assignment, balance};
//! use hashroute::{Node, Rendezvous};
//!
//! let keys = Keys::template("user:{i}", 0..10_000)?;
//! let router = Rendezvous::new(["a", "b", "c"].map(Node::new))?;
//! let assignment = Assignment::of(&router, &keys);
//! let balance = balance("rendezvous", &router, &keys, &assignment);
//! assert!(balance.figures.cv <= balance.figures.noise.cv_p99);
//! # Ok::<(), hashroute::Error>(())
//! ```

#[macro_use]
mod builder;
mod balance;
mod cost;
#[cfg(doc)]
pub mod guide;
mod keys;
pub mod laws;
mod noise;
#[cfg(feature = "plot")]
pub mod plot;
mod remap;
mod report;
mod scenario;
pub mod skew;
pub mod stream;
pub mod text;
mod verdict;
mod yardstick;

pub use balance::{
    Balance, Estimated, ExactFigures, Figures, KeyShare, NodeBalance, TopShare, balance,
};
pub use cost::{Cost, cost};
pub use keys::{
    BadLine, Dump, DumpFormat, DumpReader, DumpRow, DumpSource, InputError, Keys, KeysIter, Rows,
};
pub use noise::Noise;
pub use remap::{KeyFlow, MovedBytes, Remap, Undo, remap, round_trip};
pub use report::{Activity, Comparison, Contest, Row, ScenarioSummary, compare};
pub use scenario::{Assignment, Scenario, assign, assign_all, assign_hash};
pub use verdict::{Cause, Evenness, Measure, Verdict};
