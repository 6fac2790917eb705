//! Explains skew: whether it is real, in which measure, which stage of a key's way causes it, which
//! numbers of nodes are dangerous, and what helps.
//!
//! Gathering and judging are separate. [`Evidence`] takes one pass over the keys and merges with
//! the evidence of other passes. [`Diagnosis::judge`] does the rest.

mod carriers;
mod chance;
mod counts;
mod diagnosis;
mod evidence;
mod finding;
mod findings;
mod gatherer;
mod hashes;
mod judge;
mod measures;
mod placed;
mod remedy;
mod result;
mod sentences;
mod stages;
mod templates;
mod trial;

pub use chance::SIGNIFICANCE;
pub use counts::{CountRow, NodeCounts};
pub use diagnosis::Diagnosis;
pub use evidence::{Evidence, Load};
pub use finding::{Finding, KeyStage, Status};
pub use gatherer::Gatherer;
pub use hashes::{HashStep, Residue};
pub use measures::MeasureSkew;
pub use remedy::Remedy;
pub use result::Skew;
pub use templates::TemplateShare;
