//! Options for a comparison of several strategies.

use clap::Args;

use super::keys::KeyArgs;
use super::names::Named;
use super::nodes::{self, NodeArgs};
use super::strategy::TuningArgs;

#[derive(Debug, Args)]
pub(crate) struct ContestArgs {
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    /// Compare only these strategies and dialects [default: all strategies]
    #[arg(
        short = 's',
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Strategy"
    )]
    #[arg(value_parser = Named::Scheme, hide_possible_values = true)]
    pub(crate) strategy: Vec<String>,
    #[command(flatten)]
    pub(crate) tuning: TuningArgs,
    /// The node to add [default: the next number, such as node-10 after 10 nodes]
    #[arg(short = 'a', long, value_name = "NAME[=W]", help_heading = "Change", value_parser = nodes::parse)]
    pub(crate) add: Option<hashroute::Node>,
    /// The node to remove [default: the last one]
    #[arg(long, value_name = "NAME", help_heading = "Change")]
    pub(crate) remove: Option<String>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}
