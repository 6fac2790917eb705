//! How evenly a router places keys, what a change moves, and what a lookup costs.

mod assignment;
mod balance;
mod batch;
mod chance;
mod contest;
mod cost;
mod counter;
mod figures;
mod noise;
mod remap;
mod scenario;
mod sentences;
mod setup;
mod shares;
mod tally;
mod verdict;
mod yardstick;

pub use assignment::{Assignment, assign, assign_all, assign_hash};
pub(crate) use balance::is_zero;
pub use balance::{Balance, Estimated, NodeBalance};
pub(crate) use batch::Batch;
pub use contest::{Activity, Comparison, Contest, Row, ScenarioSummary, compare};
pub use cost::{AllocationCounter, Cost, cost};
pub use counter::Counter;
pub use figures::{ExactFigures, Figures, TopShare};
pub use noise::Noise;
pub use remap::{KeyFlow, MovedBytes, Remap, Undo, remap, round_trip};
pub use scenario::Scenario;
pub use setup::CountSetup;
pub(crate) use setup::{check_ids, id_secret};
pub(crate) use shares::own_shares;
pub use tally::Tally;
pub(crate) use tally::{KEYS, TEMPLATES, check_columns};
pub use verdict::{Cause, Evenness, Verdict};
pub use yardstick::balance;
