//! Skew explained: is it real, of what, by whose fault, on which numbers of nodes, and what helps.

mod carriers;
mod chance;
mod counts;
mod diagnosis;
mod evidence;
mod gatherer;
mod hashes;
mod judge;
mod measures;
mod placed;
mod remedies;
mod result;
mod sentences;
mod stages;
mod templates;

pub use chance::SIGNIFICANCE;
pub use counts::{CountRow, NodeCounts};
pub use diagnosis::Diagnosis;
pub(crate) use evidence::Sampled;
pub use evidence::{Evidence, Load};
pub use gatherer::Gatherer;
pub use hashes::{HashStep, Residue};
pub use measures::MeasureSkew;
pub use remedies::Remedy;
pub use result::Skew;
pub use stages::{Finding, KeyStage, Status};
pub use templates::TemplateShare;
