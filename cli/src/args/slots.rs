//! What a server printed of its cluster, and what of keys counts.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct TableArg {
    /// What a server printed: CLUSTER NODES, SHARDS or SLOTS, or nodes.conf; - is standard input
    #[arg(value_name = "TABLE")]
    pub(crate) file: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measure {
    /// Each counts as one
    Keys,
    /// Column size
    Bytes,
    /// Column requests
    Requests,
}
