//! The commands: one file or folder each, with its options, its examples and what it does.
//!
//! A new command is such a file, and its lines in [`Command`] and in [`run`].

mod balance;
mod check;
mod compare;
mod completions;
mod diff;
mod draw;
mod explain;
mod lists;
mod man;
mod merge;
mod plan;
mod remap;
mod report;
mod route;
mod skew;
mod slots;
mod spec;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Arg, CommandFactory, Parser, Subcommand};

use crate::failure::Failure;
use crate::output::{self, Color};

#[derive(Debug, Parser)]
#[command(name = "hashroute", version, long_version = VERSION.as_str())]
#[command(about = "Given a key and a set of nodes, which node?", after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// A TOML file of options, such as strategy = "maglev"; typed options count more
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help_heading = "Settings",
        hide_short_help = true
    )]
    options: Option<PathBuf>,
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
    /// Write names and keys into CSV and Markdown as they are, even formulas and markup
    #[arg(long, global = true, help_heading = "Output", hide_short_help = true)]
    verbatim: bool,
}

/// The version, with what was built in.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let pictures = if cfg!(feature = "png") {
        "SVG, PNG"
    } else {
        "SVG (PNG: cargo install hashroute-cli --features png)"
    };
    format!(
        "{}\npictures: {pictures}\nstrategies: {}, dialects: {}, hashes: {}\nplatform: {} {}",
        env!("CARGO_PKG_VERSION"),
        hashroute::strategy::ALL.len(),
        hashroute::compat::ALL.len(),
        hashroute::HashFunction::ALL.len(),
        std::env::consts::ARCH,
        std::env::consts::OS,
    )
});

/// Options that many commands share and that are in the short help, too.
const DAILY: &[&str] = &[
    "nodes",
    "count",
    "nodes-file",
    "config",
    "strategy",
    "set",
    "hash",
    "dialect",
    "keys",
    "csv",
    "add",
    "remove",
    "reweight",
    "replicas",
    "format",
    "quiet",
    "out",
];

/// From this number of commands on, an option is shared by many.
const MANY: usize = 3;

/// Builds the description of the command line.
pub(crate) fn program() -> clap::Command {
    let program = Cli::command();
    let mut counts = BTreeMap::new();
    count(&program, &mut counts);
    let mut program = shaped(program, &counts);
    program.build();
    program
}

/// Counts the commands that have each option.
fn count(command: &clap::Command, counts: &mut BTreeMap<String, usize>) {
    for long in command.get_arguments().filter_map(Arg::get_long) {
        *counts.entry(long.to_owned()).or_default() += 1;
    }
    command.get_subcommands().for_each(|sub| count(sub, counts));
}

/// Takes names of values in any case, and leaves the rare ones of the shared options to `--help`.
fn shaped(command: clap::Command, counts: &BTreeMap<String, usize>) -> clap::Command {
    let shape = |arg: Arg| {
        let long = arg.get_long().unwrap_or_default();
        let many = counts.get(long).is_some_and(|&count| count >= MANY);
        let hidden = arg.is_hide_short_help_set() || (many && !DAILY.contains(&long));
        let has_names = arg.get_action().takes_values() && !arg.get_possible_values().is_empty();
        arg.hide_short_help(hidden).ignore_case(has_names)
    };
    let command = command.mut_args(shape);
    command.mut_subcommands(|sub| shaped(sub, counts))
}

const EXAMPLES: &str = "\
A variable such as HASHROUTE_STRATEGY=maglev is the option --strategy maglev, and HASHROUTE_OPTIONS
names a file of options. Typed options count more.

Exit codes: 0 done, 1 a check did not hold, 2 bad usage or input.

Examples:
  hashroute compare
  hashroute route --nodes a,b=2,c user:1 user:2
  hashroute balance --count 60 --keys keys.txt
  hashroute remap --nodes a,b,c --add d";

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
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Runs the command. `program` describes the command line.
pub(crate) fn run(cli: &Cli, program: clap::Command) -> Result<(), Failure> {
    cli.color.choose();
    output::set_verbatim(cli.verbatim);
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
        Command::Completions(args) => completions::run(args, program),
        Command::Man(args) => man::run(args, &program),
    }
}

#[cfg(test)]
mod tests {
    use core::any::TypeId;
    use std::path::PathBuf;

    /// Outputs are compared with every path on the command line, found by its type.
    #[test]
    fn every_option_that_names_a_file_is_a_path() {
        fn check(command: &clap::Command) -> usize {
            let args = command.get_arguments().filter(|arg| {
                let names = arg.get_value_names().unwrap_or_default();
                let is_file = |name: &str| name.contains("FILE") || name.contains("TABLE");
                names.iter().any(|name| is_file(name)) && arg.get_action().takes_values()
            });
            let mut checked = 0;
            for arg in args {
                let named = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
                assert!(named, "{} {}", command.get_name(), arg.get_id());
                checked += 1;
            }
            checked + command.get_subcommands().map(check).sum::<usize>()
        }
        assert!(check(&super::program()) > 100);
    }
}
