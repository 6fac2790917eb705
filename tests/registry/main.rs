//! The rows of both registries, and dialects on servers and keys that nobody recorded.
//!
//! That every row keeps the laws of a router is checked by the contract suite of the harness.

#[cfg(feature = "compat")]
mod dialects;
#[cfg(feature = "compat")]
mod ketama;
#[cfg(feature = "compat")]
mod modulo_and_crc32;
#[cfg(feature = "compat")]
mod moves;
mod names;
mod strategies;
#[cfg(feature = "config")]
mod writers;
