//! The options of `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::{self, Counts, KeyArgs, Measure, NodeArgs, StrategyArgs, counts};
use crate::output::Format;

/// Check the balance against thresholds and a baseline, for CI; exit with 1 on failure
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    /// Apply the thresholds to these measures (repeatable) [default: all measures of the keys]
    #[arg(
        long,
        alias = "by",
        value_name = "MEASURE",
        value_delimiter = ',',
        help_heading = "Thresholds"
    )]
    pub(super) measure: Vec<Measure>,
    /// Check each of these numbers of nodes, named node-0 and so on: 8,16 or 2..=128
    #[arg(long, value_name = "LIST", help_heading = "Nodes (needed)")]
    #[arg(value_parser = counts, conflicts_with_all = ["members", "spec"])]
    pub(super) node_counts: Option<Counts>,
    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE", help_heading = "Output", value_parser = file)]
    pub(super) junit: Option<PathBuf>,
    /// Show the figures that differ from this baseline, and the keys that moved since
    #[arg(long, value_name = "FILE", help_heading = "Baseline")]
    pub(super) baseline: Option<PathBuf>,
    /// Show all figures that differ from the baseline, not only the main ones
    #[arg(long, help_heading = "Baseline", requires = "baseline")]
    pub(super) all_figures: bool,
    /// Write figures and set-up, without the hash key, to this file if all checks hold
    #[arg(long, value_name = "FILE", help_heading = "Baseline")]
    pub(super) save_baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(super) nodes: NodeArgs,
    #[command(flatten)]
    pub(super) strategy: StrategyArgs,
    #[command(flatten)]
    pub(super) keys: KeyArgs,
    #[command(flatten)]
    pub(super) output: CheckOutputArgs,
}

impl CheckArgs {
    /// Returns the measures asked for; none means all.
    pub(super) fn measures(&self) -> Vec<hashroute_harness::Measure> {
        self.measure.iter().map(|&one| one.into()).collect()
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct CheckOutputArgs {
    /// The format of the answer
    #[arg(short = 'f', long, value_name = "FORMAT", default_value = "table")]
    pub(super) format: CheckFormat,
    /// Do not show progress or notes
    #[arg(short = 'q', long)]
    pub(super) quiet: bool,
}

/// The formats of other commands, and one for GitHub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CheckFormat {
    /// For people
    Table,
    /// All fields, with exact numbers
    Json,
    /// The main table, with a header
    Csv,
    /// Like table, for a document or the summary of a step on GitHub
    Markdown,
    /// Like table, after a line for each failed check that GitHub shows on the run
    Github,
}

impl CheckFormat {
    /// Returns the format of the report.
    pub(super) const fn of_report(self) -> Format {
        match self {
            Self::Json => Format::Json,
            Self::Csv => Format::Csv,
            Self::Markdown => Format::Markdown,
            Self::Table | Self::Github => Format::Table,
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Thresholds")]
pub(super) struct LimitArgs {
    /// The largest coefficient of variation, stddev / mean: 0.1 or 10%
    #[arg(long, value_name = "X", value_parser = amount, allow_negative_numbers = true)]
    pub(super) max_cv: Option<f64>,
    /// The largest load of a node divided by the mean: 1.3 or 130%
    #[arg(long, value_name = "X", value_parser = amount, allow_negative_numbers = true)]
    pub(super) max_over_mean: Option<f64>,
    /// The largest number of nodes that have weight but hold nothing
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) max_empty: Option<u64>,
    /// The largest share of the N fullest nodes together: 0.2@3 or 20%@3 (repeatable)
    #[arg(long, value_name = "SHARE@N", value_parser = top, allow_negative_numbers = true)]
    pub(super) max_top: Vec<Top>,
    /// The smallest p-value: with 0.01, one even set of keys in 100 fails
    #[arg(long, value_name = "P", value_parser = chance, allow_negative_numbers = true)]
    pub(super) significance: Option<f64>,
    /// The largest share of keys that have another node than in the baseline
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "baseline")]
    #[arg(allow_negative_numbers = true)]
    pub(super) max_moved: Option<f64>,
}

const EXAMPLES: &str = "\
A figure that equals its limit holds. Exit codes: 0 all checks hold, 1 a check failed, 2 bad input.

Examples:
  hashroute check --strategy maglev --count 60 --keys keys.txt --max-over-mean 1.05
  hashroute check --csv keys.csv --node-counts 8,16,32..=64 --max-cv 0.1 --max-empty 0
  hashroute check -c 10 -k keys.txt --max-top 20%@1 --save-baseline baseline.json
  hashroute check -c 11 -k keys.txt --max-cv 0.1 --baseline baseline.json --max-moved 10%
  hashroute check -c 10 -k keys.txt --max-over-mean 130% --format github --junit out.xml";

/// A limit for the share of the `n` fullest nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Top {
    pub(super) share: f64,
    pub(super) n: usize,
}

fn amount(text: &str) -> Result<f64, String> {
    let amount = args::share(text).filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "expected a number of at least 0, such as 1.3 or 130%".into())
}

/// Parses a p-value that another one can be below.
fn chance(text: &str) -> Result<f64, String> {
    let chance = share(text)?;
    let can_fail = Some(chance).filter(|chance| *chance > 0.0);
    can_fail
        .ok_or_else(|| "no p-value is below 0, so this never fails: expected more than 0".into())
}

/// Parses the name of a file; standard output is taken by the table.
fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("standard output has the table: expected the name of a file".into()),
        _ => Ok(text.into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = args::share(text).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0 to 1, or from 0% to 100%".into())
}

fn top(text: &str) -> Result<Top, String> {
    let parsed = text.split_once('@').and_then(|(part, count)| {
        let n = count.parse().ok().filter(|&n| n > 0)?;
        let share = share(part).ok()?;
        Some(Top { share, n })
    });
    let top: Top = parsed.ok_or("expected SHARE@N, such as 0.2@3 or 20%@3")?;
    if top.share >= 1.0 {
        return Err("no share is above 100%, so this never fails: expected less than 100%".into());
    }
    Ok(top)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_fractions_or_percent() {
        assert_eq!(
            [share("0.2"), share("20%"), share("1")],
            [Ok(0.2), Ok(0.2), Ok(1.0)]
        );
        for wrong in ["", "%", "1.1", "-0.1", "101%", "NaN", "inf", "a"] {
            assert!(
                share(wrong).is_err() && top(&format!("{wrong}@1")).is_err(),
                "{wrong}"
            );
        }
        assert_eq!([amount("1.3"), amount("130%")], [Ok(1.3), Ok(1.3)]);
        assert!(
            ["", "%", "-1", "-1%", "NaN", "inf", "1.3x"]
                .iter()
                .all(|text| amount(text).is_err())
        );
        assert!(top("0.2@3").is_ok_and(|top| top.n == 3));
        for wrong in ["0.2", "0.2@0", "0.2@", "@3", "0.2@x"] {
            assert!(top(wrong).is_err(), "{wrong}");
        }
    }
}
