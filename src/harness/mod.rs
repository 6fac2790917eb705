//! Measure strategies: how even they are, what a change moves, what they cost.
//!
//! Keys come first ([`Keys`]: from a file, a template, a distribution), a router places them
//! ([`Placement`]), and the figures follow: [`balance()`] with the noise that chance alone gives
//! beside each figure, [`remap()`] with the share that had to move, [`cost()`] in nanoseconds and
//! bytes, and [`compare()`], which does all of it for many strategies on the same scenario.
//!
//! All but the timings is deterministic: the same input gives the same numbers.
//!
//! ```
//! use hashroute::harness::{Keys, Placement, balance};
//! use hashroute::{Node, Rendezvous};
//!
//! let keys = Keys::template("user:{i}", 0..10_000)?;
//! let router = Rendezvous::new(["a", "b", "c"].map(Node::new))?;
//! let placement = Placement::of(&router, &keys);
//! let balance = balance("rendezvous", &router, &keys, &placement);
//! assert!(balance.figures.cv <= balance.figures.noise.cv_p99);
//! # Ok::<(), hashroute::Error>(())
//! ```

mod balance;
mod cost;
mod keys;
mod noise;
mod remap;
mod report;
mod scenario;
pub mod skew;
pub mod stream;
mod verdict;
mod yardstick;

pub use balance::{
    Balance, Estimated, ExactFigures, Figures, KeyShare, NodeBalance, TopShare, balance,
};
pub use cost::{Cost, cost};
pub use keys::{
    BadLine, Dump, DumpFormat, DumpReader, DumpRow, DumpSource, InputError, Keys, Rows,
};
pub use noise::Noise;
pub use remap::{Flow, MovedBytes, Remap, Undo, remap, round_trip};
pub use report::{Comparison, Contest, Row, ScenarioSummary, Stage, compare};
pub use scenario::{Placement, Recipe, Scenario, place_all, place_key};
pub use verdict::{Cause, Evenness, Measure, Verdict, printable};
