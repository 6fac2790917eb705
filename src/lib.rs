#![doc = include_str!("../README.md")]
//!
//! # Words of the field
//!
//! | looking for | see |
//! |---|---|
//! | consistent hashing, hash ring, virtual nodes (vnodes), tokens | [`Ring`] |
//! | rendezvous hashing, highest random weight (HRW) | [`Rendezvous`], [`Shortlist`] |
//! | sharding, partitioning, shards that only grow | [`Jump`], [`HashSlots`], [`Modulo`] |
//! | load balancing, consistent hashing with bounded loads | [`Maglev`], [`BoundedLoad`], [`Loads`] |
//! | preference list, replicas, replica placement, availability zones, racks | [`RouterExt::replicas`], [`Spread`] |
//! | disruption, minimal disruption, keys that move | [`registry::Excess`], [`diff()`], [`plan`] |
//! | health checks, failover, draining, slow start, hot keys | [`health`], [`Ramp`], [`hot`] |
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

#[macro_use]
mod builder;
pub mod change;
#[cfg(feature = "compat")]
pub mod compat;
mod digest;
mod error;
#[macro_use]
mod forward;
#[cfg(doc)]
pub mod guide;
mod key;
mod load;
mod node;
#[cfg(feature = "redis")]
pub mod redis;
pub mod registry;
mod replicas;
mod router;
mod schemes;
mod space;
#[cfg(feature = "spec")]
mod spec;
pub mod strategy;
mod sync;

mod wrap;

pub use change::{Basis, Diff, DiffCounter, Flow, MovedRange, Ramp, diff, diff_keys, plan};
pub use error::{Error, Limit, Refusal};
pub use key::hash::{self, HashFunction};
pub use key::{HashId, HashTag, KeyHash, KeyHasher, SystemHash};
pub use load::{Lease, Loads};
pub use node::{Change, Node, NodeId, Nodes, NodesIter, Server};
pub use replicas::{NodeList, NodeListIter, RouterExt, Spread};
pub use router::{Explanation, Router};
pub use schemes::{scheme, scheme_name, schemes};
pub use space::{HashRanges, HashRangesIter, OwnedRange};
#[cfg(feature = "spec")]
pub use spec::Spec;
pub use strategy::{HashSlots, Jump, Maglev, Modulo, Rendezvous, Ring, Shortlist};
pub use wrap::bounded::BoundedLoad;
#[cfg(target_has_atomic = "64")]
pub use wrap::health;
pub use wrap::hot;
#[cfg(feature = "shared")]
pub use wrap::shared;
