//! `merge`: one report from the counts of several parts.

use std::path::PathBuf;

use clap::Args;
use hashroute_harness::stream::Tally;

use crate::app::balance::{self, Context};
use crate::app::{keys, partial};
use crate::args::{OutputArgs, PartialArgs};
use crate::failure::Failure;

/// Add up files of `balance --partial` into one report
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MergeArgs {
    /// Files that `--partial` wrote, or several of them concatenated; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) partial: PartialArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Counts of parts add up exactly to the counts of the whole if all parts were routed the same way.

Examples:
  hashroute balance --count 60 --keys part-1.txt --partial part-1.counts
  hashroute merge part-*.counts
  ls part-*.txt | xargs -P 8 -I @ hashroute balance --keys @ --partial @.counts > /dev/null";

pub(crate) fn run(args: &MergeArgs) -> Result<(), Failure> {
    let mut sum: Option<Tally> = None;
    let add = |tally| {
        if let Some(sum) = &mut sum {
            return sum.merge(tally);
        }
        sum = Some(tally);
        Ok(())
    };
    partial::read_all(&args.files, "", Tally::read_all, Tally::keys, add)?;
    match sum {
        Some(sum) if sum.keys() > 0 || args.partial.partial.is_some() => {
            keys::tell_limits_of_parts(sum.sources());
            balance::finish(&sum, &args.partial, &args.output, Context::default())
        }
        _ => Err(Failure::input(
            "no keys in any of these files: expected at least one",
        )),
    }
}
