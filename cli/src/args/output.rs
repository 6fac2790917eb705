//! Options for the output.

use clap::Args;

use crate::output::Format;

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// The format of the answer
    #[arg(short = 'f', long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    /// Do not show progress or notes
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}
