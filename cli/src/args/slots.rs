//! Options for tables of a Redis Cluster, and for what is counted.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct TableArg {
    /// The output of CLUSTER NODES, SHARDS or SLOTS, or a nodes.conf; - is standard input
    #[arg(value_name = "TABLE")]
    pub(crate) file: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measure {
    /// The number of keys
    Keys,
    /// The bytes they store, from the column size
    Bytes,
    /// The requests they get, from the column requests
    Requests,
}
