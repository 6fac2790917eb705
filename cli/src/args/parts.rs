//! Options for results of a part of the keys, which `merge` and `skew --parts` add up.

use std::path::PathBuf;

use clap::Args;

use super::keys::KEY_SOURCES;

#[derive(Debug, Args)]
#[command(next_help_heading = "Counts")]
pub(crate) struct PartialArgs {
    /// Also write the counts, for `hashroute merge`; - writes them instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) partial: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Parts")]
pub(crate) struct PartsArgs {
    /// Also write the evidence from these keys, for --parts; - writes it instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) partial: Option<PathBuf>,
    /// Read files of --partial instead of keys; - is standard input
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = KEY_SOURCES)]
    pub(crate) parts: Vec<PathBuf>,
}
