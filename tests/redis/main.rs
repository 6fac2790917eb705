//! Slots of Redis Cluster, compared with the texts and answers of real servers (`data/redis`) and
//! with models.
//!
//! | subject | where |
//! |---|---|
//! | keys, tags, slots | `keys` |
//! | what servers print, read and written | `texts` |
//! | other programs and ways to print, texts that are no table | `kin` |
//! | a server's decisions, request by request | `decisions` |
//! | a client's decisions | `clients` |
//! | failover, claims, coverage | `failovers` |
//! | plans: the fewest moves, budgets, going on, commands | `plans` |
//! | what a resharding that stopped has left | `finishes` |
//! | hot slots and tags | `heats` |

mod clients;
mod decisions;
mod failovers;
mod finishes;
mod heats;
mod keys;
mod kin;
mod plans;
mod texts;

use std::fs;
use std::path::{Path, PathBuf};

use hashroute::redis::{SlotRule, Table};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data")
        .join(name)
}

/// Reads a file of `data/redis`.
fn printed(file: &str) -> Result<String, std::io::Error> {
    fs::read_to_string(folder("redis").join(file))
}

fn table(file: &str) -> Result<Table, Box<dyn core::error::Error>> {
    Ok(Table::from_text(&printed(file)?, SlotRule::REDIS)?)
}
