//! The packages have floors, and arrows run down only: between rooms, and inside them where it says so.
//!
//! `cargo test --test rooms -- --nocapture` prints the arrows.

mod cli;
mod harness;
mod library;
