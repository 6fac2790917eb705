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
mod diff;
mod error;
pub mod hash;
#[cfg(target_has_atomic = "64")]
pub mod health;
pub mod hot;
mod key;
mod log2;
mod members;
mod node;
#[cfg(all(test, shuttle, feature = "shared"))]
mod orders;
pub mod plan;
mod ramp;
mod regions;
mod replicas;
mod router;
#[cfg(feature = "shared")]
pub mod shared;
#[cfg(feature = "spec")]
mod spec;
pub mod strategy;
mod sync;

#[cfg(feature = "harness")]
pub mod harness;
#[cfg(feature = "plot")]
pub mod plot;

pub use bounded::{BoundedLoad, Lease};
pub use diff::{Basis, Diff, Flow, MovedRange, diff, diff_keys};
pub use error::Error;
pub use hash::HashFunction;
pub use key::{HashTag, KeyHash, KeyHasher};
pub use node::{Node, NodeId, Nodes};
pub use ramp::Ramp;
pub use regions::{Region, Regions};
pub use replicas::Spread;
pub use router::{Change, Router};
#[cfg(feature = "spec")]
pub use spec::Spec;
pub use strategy::{HashSlots, Jump, Maglev, Modulo, Rendezvous, Ring, Shortlist};
