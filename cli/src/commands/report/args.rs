//! The options of `report`.

use std::path::PathBuf;

use clap::Args;

use crate::args::{ContestArgs, Counts, SPECIFIED, StrategyArgs, counts};
use crate::failure::Failure;

/// Write an HTML page: a comparison, or with --skew the reasons for an uneven balance
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Explain an uneven balance of one strategy, instead of comparing
    #[arg(long, conflicts_with_all = ["add", "remove", "costs"])]
    pub(crate) skew: bool,
    /// With --skew, also test these numbers of nodes: 8,16 or 2..=128
    #[arg(long, value_name = "LIST", requires = "skew", value_parser = counts)]
    pub(crate) node_counts: Option<Counts>,
    /// With --skew, a file of `hashroute spec write`, instead of nodes and strategy
    #[arg(long, value_name = "FILE", requires = "skew", conflicts_with_all = SPECIFIED)]
    pub(crate) spec: Option<PathBuf>,
    /// Also measure times and memory; the page then differs from run to run
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
    /// The file to write, ending in .html; - is standard output
    #[arg(short = 'o', long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// Do not show progress
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

const EXAMPLES: &str = "\
The page needs no network and no script. It also holds its figures as JSON.

Examples:
  hashroute report --out report.html
  hashroute report --strategy ring,maglev --nodes a,b,c --add d --keys keys.txt --out report.html
  hashroute report --skew --strategy modulo --count 60 --keys keys.txt --out skew.html";

impl ReportArgs {
    /// Returns the strategy that `--skew` analyses.
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
