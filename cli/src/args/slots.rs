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
    /// The bytes that the keys store (column size)
    Bytes,
    /// The requests that the keys get (column requests)
    Requests,
}

impl From<Measure> for hashroute_harness::Measure {
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::Keys => Self::Keys,
            Measure::Bytes => Self::Bytes,
            Measure::Requests => Self::Requests,
        }
    }
}
