//! The guide: how to measure, and how to read the figures. One module is one page.
//!
//! | page | about |
//! |---|---|
//! | [`skew`] | why a node is hot |
//! | [`scale`] | keys by the billion |
//! | [`ci`] | the balance in continuous integration |
//! | [`json`] | the fields of answers in JSON, and the width of tables |
//! | [`pictures`] | what can be drawn |
//!
//! The [guide of hashroute](https://docs.rs/hashroute/latest/hashroute/guide/) has the pages on
//! strategies, dialects and changes.

#[doc = include_str!("../docs/skew.md")]
pub mod skew {}

#[doc = include_str!("../docs/scale.md")]
pub mod scale {}

#[doc = include_str!("../docs/ci.md")]
pub mod ci {}

#[doc = include_str!("../docs/json.md")]
pub mod json {}

#[doc = include_str!("../docs/pictures.md")]
///
/// # The pictures named above
///
#[doc = include_str!("../docs/pictures/ring.svg")]
#[doc = include_str!("../docs/pictures/ring-dense.svg")]
#[doc = include_str!("../docs/pictures/balance.svg")]
pub mod pictures {}
