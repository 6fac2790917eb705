//! Wrappers: routers around a router.

pub(crate) mod bounded;
#[cfg(target_has_atomic = "64")]
pub mod health;
pub mod hot;
#[cfg(all(test, shuttle, feature = "shared"))]
mod interleavings;
#[cfg(feature = "shared")]
pub mod shared;
