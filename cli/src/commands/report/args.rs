//! The options of `report`, as they are typed.

use std::path::PathBuf;

use clap::Args;

use crate::args::{ContestArgs, Counts, SPECIFIED, StrategyArgs, counts};
use crate::failure::Failure;

/// Write a page for the browser: a comparison, or with --skew why keys lie unevenly
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Say why the keys lie unevenly with one strategy or dialect, in place of a comparison
    #[arg(long, conflicts_with_all = ["add", "remove", "costs"])]
    pub(crate) skew: bool,
    /// With --skew, look at these numbers of nodes: 8,16 or 2..=128
    #[arg(long, value_name = "LIST", requires = "skew", value_parser = counts)]
    pub(crate) node_counts: Option<Counts>,
    /// With --skew, all that peers share, in place of nodes and strategy
    #[arg(long, value_name = "FILE", requires = "skew", conflicts_with_all = SPECIFIED)]
    pub(crate) spec: Option<PathBuf>,
    /// Measure times and memory too; the page is then another each time
    #[arg(long)]
    pub(crate) costs: bool,
    #[command(flatten)]
    pub(crate) contest: ContestArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PageArgs {
    /// Where the page goes, a name that ends in .html; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

const EXAMPLES: &str = "\
The page needs no network and no script, and holds its figures as JSON too.

Examples:
  hashroute report --out report.html
  hashroute report --strategy ring,maglev --nodes a,b,c --add d --keys keys.txt --out report.html
  hashroute report --skew --strategy modulo --count 60 --keys keys.txt --out skew.html";

impl ReportArgs {
    /// What is analysed with `--skew`.
    pub(super) fn strategy(&self) -> Result<StrategyArgs, Failure> {
        let strategy = match self.contest.strategy.as_slice() {
            [] => "ring".into(),
            [only] => only.clone(),
            many => {
                let many = many.join(",");
                return Err(Failure::Input(format!(
                    "--strategy {many}: expected one with --skew"
                )));
            }
        };
        Ok(StrategyArgs {
            strategy,
            tuning: self.contest.tuning.clone(),
            spec: self.spec.clone(),
        })
    }
}
