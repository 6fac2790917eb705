//! Work that several commands share: reading input, setting up what routes, reporting results.

pub(crate) mod balance;
pub(crate) mod best;
pub(crate) mod changes;
mod config;
pub(crate) mod contest;
pub(crate) mod differences;
pub(crate) mod figures;
pub(crate) mod files;
mod key_file;
pub(crate) mod keys;
pub(crate) mod lister;
pub(crate) mod moves;
pub(crate) mod nearest;
pub(crate) mod nodes;
pub(crate) mod outputs;
pub(crate) mod partial;
pub(crate) mod ranges;
pub(crate) mod setup;
pub(crate) mod shell;
pub(crate) mod skew;
pub(crate) mod slot_table;
pub(crate) mod steps;
pub(crate) mod strategy;
pub(crate) mod typed;
pub(crate) mod written;
