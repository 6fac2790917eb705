//! How the answer is written.

use clap::Args;

use crate::output::Format;

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// How the answer is written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}
