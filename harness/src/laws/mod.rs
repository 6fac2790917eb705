//! The laws that every row of the registry keeps, as checks for rows of any crate.
//!
//! A [`Law`] is one promise of the design. It has [`Clause`]s: each builds routers of a row,
//! tests them, and stops at the first breach. A clause that asks for more than a row promises is
//! [waived](Clause::waiver), with the reason.
//!
//! ```
//! use hashroute::Rendezvous;
//! use hashroute_harness::laws;
//! use hashroute::registry::{Caps, Scheme};
//!
//! static OURS: Scheme = Scheme::strategy("ours", "rendezvous by another name", Caps::SET, |nodes, params| {
//!     Ok(Box::new(Rendezvous::new(nodes)?.with_hasher(params.hasher())))
//! });
//! // All of them, in a test: laws::assert_holds(&OURS).
//! let sixth = laws::LAWS.iter().find(|law| law.number == 6).expect("twelve laws");
//! assert!(sixth.check(&OURS).is_empty());
//! ```
//!
//! # What is random
//!
//! Nothing. Keys, clusters and histories come from a generator with fixed seeds, and no clock is
//! read, so a row that passes will pass again. Where a sample of keys is compared with a share, the
//! bound follows from a probability: if the keys were drawn anew, a row that keeps all laws would
//! fail with a probability of at most [`SIGNIFICANCE`], over all tests of [`check`] together.
//!
//! # What is not checked
//!
//! Law 1 covers other platforms and versions, which needs recorded answers. Law 8 says that lookups
//! do not allocate, which needs an allocator that counts. A lookup that never returns hangs the
//! check.

mod agreement;
mod chance;
mod clause;
mod keys;
mod law;
mod lists;
mod moves;
mod random;
mod ranges;
mod refusals;
mod restores;
mod shares;
mod subject;
mod trial;
mod waivers;
mod wrappers;

pub use chance::SIGNIFICANCE;
pub use clause::Clause;
pub use law::{Breach, LAWS, Law, assert_holds, check};
