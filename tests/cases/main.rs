//! Faults that were reported in public against consistent hashing in any language.
//!
//! Each test is named by the right behaviour. The line above it says where the fault was reported:
//! `owner/repository#number` is an issue or a pull request on GitHub.

mod changes;
#[cfg(feature = "config")]
mod files;
mod inputs;
mod lists_and_loads;
mod ring;
mod tables;
