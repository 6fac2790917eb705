//! The strategies: algorithms for consistent hashing, sharding and load balancing.
//!
//! A strategy is one file in this folder and one line in [`ALL`]. The contract tests, the
//! benchmarks, the harness and the command line find it there.
//!
//! ```
//! use hashroute::{Node, Router, strategy::{self, Params}};
//!
//! let ring = strategy::find("ring")?;
//! let router = ring.build(["a", "b"].map(Node::new), &Params::default().with("points", "100"))?;
//! assert!(router.route(b"user:42").is_some());
//! # Ok::<(), hashroute::Error>(())
//! ```

use crate::Error;
pub use crate::registry::Params;
use crate::registry::{Scheme, find_in};

mod bounded;
mod draw;
mod jump;
mod maglev;
mod modulo;
mod rendezvous;
mod ring;
mod shortlist;
mod slots;

use draw::{draw, seed};
pub use jump::{Jump, jump_hash, jump_hash_guava};
pub use maglev::Maglev;
#[cfg(feature = "compat")]
pub(crate) use maglev::check_table_size;
pub use modulo::Modulo;
pub use rendezvous::Rendezvous;
#[cfg(feature = "compat")]
pub(crate) use ring::Points;
pub use ring::Ring;
pub use shortlist::Shortlist;
pub use slots::HashSlots;

/// Every strategy, in a good order for learning them.
///
/// ```
/// let names: Vec<_> = hashroute::strategy::ALL.iter().map(|strategy| strategy.name).collect();
/// assert_eq!(names, ["modulo", "ring", "rendezvous", "shortlist", "jump", "maglev", "slots", "bounded"]);
/// ```
pub static ALL: &[Scheme] = &[
    modulo::STRATEGY,
    ring::STRATEGY,
    rendezvous::STRATEGY,
    shortlist::STRATEGY,
    jump::STRATEGY,
    maglev::STRATEGY,
    slots::STRATEGY,
    bounded::STRATEGY,
];

/// Returns the strategy with this name.
///
/// # Errors
/// [`Error::Parameter`], which lists the known names.
///
/// ```
/// let error = hashroute::strategy::find("rign").unwrap_err();
/// assert!(error.to_string().contains("ring, rendezvous"));
/// ```
pub fn find(name: &str) -> Result<&'static Scheme, Error> {
    find_in(ALL, "strategy", name)
}
