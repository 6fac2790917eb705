//! Routers around routers: bounded load, health, hot keys and sharing.

mod bounded;
mod health;
mod hot;
mod misbehaving;
#[cfg(feature = "compat")]
mod refused_keys;
#[cfg(feature = "shared")]
mod shared;
#[cfg(feature = "shared")]
mod wrappers;
