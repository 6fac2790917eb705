//! Pictures of what the harness measures: a ring with its tokens, bars with the noise band, what
//! moves, who owns the slots, how even each number of nodes is.
//!
//! Every function takes results and returns a [`Picture`]: an SVG for a file or for a page, light
//! and dark, with a title and a description for screen readers. With the feature `png` it can
//! become a PNG. No picture needs an installed font, and the same input gives the same bytes.
//!
//! Colours are those of Okabe and Ito, "Color Universal Design" (2008), which people with any kind
//! of colour vision can distinguish. Beyond eight nodes, stripes and dots are added; every node
//! also has a number.
//!
//! ```
//! use hashroute_harness::{Keys, Assignment, balance};
//! use hashroute::{Maglev, Node};
//! use hashroute_harness::plot;
//!
//! let keys = Keys::template("user:{i}", 0..10_000)?;
//! let router = Maglev::new(["a", "b", "c"].map(Node::new))?;
//! let balance = balance("maglev", &router, &keys, &Assignment::of(&router, &keys));
//! let picture = plot::bars(&balance, hashroute_harness::Measure::Keys)?;
//! assert!(picture.svg().starts_with("<svg") && picture.svg().contains("<title>"));
//! # Ok::<(), hashroute::Error>(())
//! ```

mod bars;
mod canvas;
mod counts;
mod matrix;
mod picture;
#[cfg(feature = "png")]
mod png;
mod ring;
mod slots;
mod text;

pub use bars::bars;
pub use counts::{CountPoint, counts};
pub use matrix::matrix;
pub use picture::Picture;
pub use ring::{RingScene, ring};
pub use slots::slots;
