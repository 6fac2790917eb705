//! What several commands do: read their input, set up what routes, say what came of it.

pub(crate) mod balance;
pub(crate) mod changes;
mod config;
pub(crate) mod contest;
pub(crate) mod figures;
pub(crate) mod files;
pub(crate) mod keys;
pub(crate) mod moves;
mod nearest;
pub(crate) mod nodes;
pub(crate) mod partial;
pub(crate) mod ranges;
pub(crate) mod setup;
pub(crate) mod skew;
pub(crate) mod slot_table;
pub(crate) mod strategy;
