//! Dialects on servers and keys that nobody recorded: those that must agree with each other do,
//! and all of them keep the laws of a router.

mod common;
#[path = "dialects/ketama.rs"]
mod ketama;
#[path = "dialects/laws.rs"]
mod laws;
#[path = "dialects/modulo_and_crc32.rs"]
mod modulo_and_crc32;
#[path = "dialects/moves.rs"]
mod moves;
