//! Keys beyond memory: read in batches, counted on every core, and added up over processes.
//!
//! A [`KeySource`] gives batches of [`Keys`](super::Keys), [`read()`] hands them to a
//! [`Consumer`] on every thread and merges what these have found. A [`Counter`] is one: it routes
//! the keys and counts them in a [`Tally`], which can be written to a file and merged with others
//! before it is judged.
//!
//! ```
//! use hashroute_harness::stream::{Counter, KeySource, Reading, read};
//! use hashroute::{Node, Ring};
//!
//! let ring = Ring::new(["a", "b", "c"].map(Node::new))?;
//! let source = KeySource::lines(&b"user:1\nuser:2\nuser:1\n"[..]);
//! let (counter, bad) = read(source, &Counter::new("ring", &ring)?, &Reading::default())?;
//! let balance = counter.into_tally().balance()?;
//! assert_eq!((balance.keys, balance.distinct_keys, bad.count), (3, 2, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocks;
pub(super) mod census;
pub(super) mod partial;
mod reading;
mod setup;
pub(super) mod sketch;
mod source;
pub(super) mod tally;
mod template;

pub use reading::{Consumer, Reading, read};
pub use setup::CountSetup;
pub use source::{BadLines, KeySource};
pub use tally::{Counter, Tally};
