//! Options for replicas.

use clap::{Args, ValueEnum};
use hashroute::Spread;

#[derive(Debug, Args)]
#[command(next_help_heading = "Replicas")]
pub(crate) struct ReplicaArgs {
    /// List N distinct nodes for each key, the owner first
    #[arg(short = 'r', long, value_name = "N", value_parser = replicas, allow_negative_numbers = true)]
    pub(crate) replicas: Option<u32>,
    /// Where the replicas should be
    #[arg(long, value_name = "HOW", default_value = "nodes")]
    pub(crate) spread: SpreadArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SpreadArg {
    /// On distinct nodes, in any zone and rack
    Nodes,
    /// On distinct racks first
    Racks,
    /// In distinct zones first, then on distinct racks
    Zones,
}

impl From<SpreadArg> for Spread {
    fn from(spread: SpreadArg) -> Self {
        match spread {
            SpreadArg::Nodes => Self::Nodes,
            SpreadArg::Racks => Self::Racks,
            SpreadArg::Zones => Self::Zones,
        }
    }
}

fn replicas(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| {
        "expected a whole number of at least 1; more than the number of nodes lists all nodes"
            .into()
    })
}
