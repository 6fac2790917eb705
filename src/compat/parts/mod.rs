//! The mechanisms that several dialects share.

pub mod hashkit;
pub(in crate::compat) mod jhash;
pub(in crate::compat) mod ketama;
pub(in crate::compat) mod permutation;
pub(in crate::compat) mod ring_hash;
pub(in crate::compat) mod servers;
#[cfg(feature = "config")]
pub(in crate::compat) mod writing;
#[cfg(feature = "config")]
pub(in crate::compat) mod yaml;
