//! The commands: one file or folder each, with its options, its examples and what it does.
//!
//! A new command is such a file, and its lines in [`Command`] and in [`run`].

mod balance;
mod check;
mod compare;
mod diff;
mod draw;
mod explain;
mod lists;
mod merge;
mod plan;
mod remap;
mod report;
mod route;
mod skew;
mod slots;
mod spec;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::output::Color;

#[derive(Debug, Parser)]
#[command(name = "hashroute", version, about = "Given a key and a set of nodes, which node?", after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Whether tables have colors
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    color: Color,
}

const EXAMPLES: &str = "\
Examples:
  hashroute compare
  hashroute route --nodes a,b=2,c user:1 user:2
  hashroute balance --count 60 --keys keys.txt
  hashroute remap --nodes a,b,c --add d

Exit codes: 0 done, 1 a check did not hold, 2 bad usage or input.";

#[derive(Debug, Subcommand)]
enum Command {
    Compare(compare::CompareArgs),
    Route(route::RouteArgs),
    Balance(balance::BalanceArgs),
    Merge(merge::MergeArgs),
    Remap(remap::RemapArgs),
    Skew(skew::SkewArgs),
    Diff(diff::DiffArgs),
    Plan(plan::PlanArgs),
    Check(check::CheckArgs),
    Explain(explain::ExplainArgs),
    Slots(slots::SlotsArgs),
    Draw(draw::DrawArgs),
    Report(report::ReportArgs),
    Spec(spec::SpecArgs),
    Strategies(lists::StrategiesArgs),
    Dialects(lists::DialectsArgs),
    Hashes(lists::HashesArgs),
}

/// Runs the command.
pub(crate) fn run(cli: &Cli) -> Result<(), Failure> {
    cli.color.choose();
    match &cli.command {
        Command::Compare(args) => compare::run(args),
        Command::Route(args) => route::run(args),
        Command::Balance(args) => balance::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Remap(args) => remap::run(args),
        Command::Skew(args) => skew::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Check(args) => check::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Slots(args) => slots::run(args),
        Command::Draw(args) => draw::run(args),
        Command::Report(args) => report::run(args),
        Command::Spec(args) => spec::run(args),
        Command::Strategies(args) => lists::strategies(args),
        Command::Dialects(args) => lists::dialects(args),
        Command::Hashes(args) => lists::hashes(args),
    }
}
