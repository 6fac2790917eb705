//! What the keys of a stream carry, in bounded memory. Summaries of parts merge into the summary of
//! the whole. Knows no router.

mod amounts;
mod carried;
mod census;
mod ids;
mod measure;
mod rows;
mod sketch;
mod templates;

pub(crate) use amounts::{Moments, Sample, ratio};
pub use carried::KeyShare;
pub(crate) use carried::{Carried, NAMED};
pub(crate) use census::Census;
pub(crate) use ids::{Amounts, BLOCK, IdSecret, MEASURES};
pub use measure::Measure;
pub(crate) use rows::{Row, Rows};
pub(crate) use sketch::{LISTED, MOST, ROWS, Sketch, WIDTH};
pub(crate) use templates::Run;
