//! Dialects on servers and keys that nobody recorded: those that must agree with each other do.
//! That all of them keep the laws of a router is in `contract.rs`.

mod ketama;
mod modulo_and_crc32;
mod moves;
mod rows;
