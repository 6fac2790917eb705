//! Pictures of what the harness measures: a ring with its points, bars with the noise band, what
//! moves, who owns the slots, how even each number of nodes is.
//!
//! Every function takes results and returns a [`Picture`]: an SVG for a file or for a page, light
//! and dark, with a title and a description for screen readers. With the feature `png` it can
//! become a PNG. No picture needs an installed font, and the same input gives the same bytes.
//!
//! Every mark has a title with the full name of its node and its figures, which a browser shows
//! under the pointer. Names that are too long lose what all of them share; distinct names stay
//! distinct. No picture has an id, so that a page can hold many.
//!
//! Colours are those of Okabe and Ito, "Color Universal Design" (2008), and four more that people
//! with any kind of colour vision can distinguish from them. Beyond eleven nodes, the others are grey.
//!
//! ```
//! use hashroute_harness::{Keys, Assignment, balance};
//! use hashroute::{Maglev, Node};
//! use hashroute_harness::plot::{self, BarScene};
//!
//! let keys = Keys::template("user:{i}", 0..10_000)?;
//! let router = Maglev::new(["a", "b", "c"].map(Node::new))?;
//! let balance = balance("maglev", &router, &keys, &Assignment::of(&router, &keys));
//! let picture = plot::bars(&BarScene::new(&balance, hashroute_harness::Measure::Keys))?;
//! assert!(picture.svg().starts_with("<svg") && picture.svg().contains("<title>"));
//! # Ok::<(), hashroute::Error>(())
//! ```

mod bars;
mod canvas;
mod counts;
mod matrix;
mod names;
mod picture;
#[cfg(feature = "png")]
mod png;
mod ring;
mod slots;
mod text;

pub use bars::{BarOrder, BarScene, bars};
pub use counts::{CountPoint, counts};
pub use matrix::{RemapScene, matrix};
pub use picture::Picture;
pub use ring::{RingScene, ring};
pub use slots::slots;
