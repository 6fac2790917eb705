//! The registry: a row for everything that routes, with its capabilities, its parameters and its
//! constructor. Strategies and dialects are rows of one type, [`Scheme`]. This module knows none of
//! them.
//!
//! The rows are in [`strategy::ALL`](crate::strategy::ALL) and, with the feature `compat`, in
//! `compat::ALL`. A program can add its own rows: the harness and the contract suite accept any
//! row.
//!
//! ```
//! use hashroute::registry::{Caps, Params, Scheme};
//! use hashroute::{Rendezvous, Router};
//!
//! static OURS: Scheme = Scheme::strategy("ours", "rendezvous by another name", Caps::SET, |nodes, params| {
//!     Ok(Box::new(Rendezvous::new(nodes)?.with_hasher(params.hasher())))
//! });
//! let router = OURS.build(["a", "b"], &Params::default())?;
//! assert!(router.route(b"user:42").is_some());
//! # Ok::<(), hashroute::Error>(())
//! ```

mod caps;
mod config;
mod params;
mod scheme;
mod setup;

pub use caps::{Agree, Caps, Excess, Leave, Weights};
pub use config::{Config, ConfigReader, ConfigWriter, KeySource, Unknown};
pub use params::{Param, Params};
pub use scheme::{
    Build, BuildOfNodes, BuildOfServers, FreeOrder, KeyForm, Kind, Origin, Proof, Restore, Save,
    Scheme, TableForm,
};
pub use setup::Setup;

pub(crate) use scheme::find_in;
