#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod bounded;
pub mod cluster;
#[cfg(feature = "compat")]
pub mod compat;
mod error;
pub mod hash;
mod key;
mod log2;
mod node;
mod ramp;
mod replicas;
mod router;
pub mod strategy;

#[cfg(feature = "harness")]
pub mod harness;

pub use bounded::{BoundedLoad, Lease};
pub use error::Error;
pub use hash::HashFunction;
pub use key::{HashTag, KeyHash, KeyHasher};
pub use node::{Node, NodeId, Nodes};
pub use ramp::Ramp;
pub use replicas::Spread;
pub use router::{Change, Router};
pub use strategy::{HashSlots, Jump, Maglev, Modulo, Rendezvous, Ring, Shortlist};
