//! Counts of a part of the keys, in files.

use std::path::PathBuf;

use clap::Args;

use super::keys::KEY_SOURCES;

#[derive(Debug, Args)]
#[command(next_help_heading = "Counts")]
pub(crate) struct PartialArgs {
    /// Write the counts as well, for `hashroute merge`; - writes them in place of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) partial: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Parts of the keys")]
pub(crate) struct PartsArgs {
    /// Write what was found in these keys as well; - writes it in place of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) partial: Option<PathBuf>,
    /// What --partial wrote with these nodes and strategy, in place of keys; - is standard input
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = KEY_SOURCES)]
    pub(crate) parts: Vec<PathBuf>,
}
