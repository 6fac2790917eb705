//! Skew explained: is it real, of what, by whose fault, on which numbers of nodes, and what helps.

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
pub(crate) use evidence::Sampled;
pub use evidence::{Evidence, Load};
pub use finding::{Finding, KeyStage, Status};
pub use gatherer::Gatherer;
pub use hashes::{HashStep, Residue};
pub use measures::MeasureSkew;
pub use remedy::Remedy;
pub use result::Skew;
pub use templates::TemplateShare;
