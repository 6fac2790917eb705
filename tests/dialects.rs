//! Dialects on servers and keys that nobody recorded: those that must agree with each other do.
//! That all of them keep the laws of a router is in `contract.rs`.

mod common;
#[path = "dialects/ketama.rs"]
mod ketama;
#[path = "dialects/modulo_and_crc32.rs"]
mod modulo_and_crc32;
#[path = "dialects/moves.rs"]
mod moves;
#[path = "dialects/rows.rs"]
mod rows;
