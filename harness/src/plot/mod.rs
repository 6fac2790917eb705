//! Pictures of what the harness measures: a ring with its tokens, bars with the noise band, what
//! moves, who owns the slots, how even each number of nodes is.
//!
//! Every function takes results and gives a [`Picture`]: SVG that stands alone or inside a page,
//! light and dark, with a title and a description for screen readers; with the feature `png`, the
//! same as PNG. No picture needs a font of the machine, and the same input gives the same bytes.
//!
//! Colours are those of Okabe and Ito, "Color Universal Design" (2008), which people with any kind
//! of colour vision can tell apart; beyond eight nodes, stripes and dots, and numbers throughout.
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
