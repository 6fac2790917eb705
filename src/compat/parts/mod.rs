//! Mechanisms that several dialects share.

pub mod hashkit;
pub(in crate::compat) mod jhash;
pub(in crate::compat) mod ketama;
pub(in crate::compat) mod members;
pub(in crate::compat) mod permutation;
pub(in crate::compat) mod ring_hash;
#[cfg(feature = "config")]
pub(in crate::compat) mod yaml;
