//! `strategies`, `dialects` and `hashes`: the lists of what is available.

use clap::Args;
use hashroute::HashFunction;
use hashroute::hash::Secret;
use hashroute::registry::{Excess, Leave, Param, Proof, Scheme, Weights};
use hashroute::{compat, strategy};
use serde_json::{Value, json};

use crate::app::contest::PEERS_SHARE;
use crate::args::{Named, OutputArgs};
use crate::failure::Failure;
use crate::output::{Cell, Fields, Report, Table};
use crate::units;

/// The number of nodes for which the bound on excess moves is shown.
const NODES: usize = 10;

/// List the strategies: what they can do, what peers must share, their parameters
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hashroute strategies ring\n  hashroute strategies --format json"
)]
pub(crate) struct StrategiesArgs {
    /// Show only this one
    #[arg(value_name = "NAME", value_parser = Named::Strategy, hide_possible_values = true)]
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn strategies(args: &StrategiesArgs) -> Result<(), Failure> {
    let fields = Fields::<Scheme>::new()
        .text("name", "strategy", |row| Cell::text(row.name))
        .text("weights", "weights", |row| {
            Cell::text(match row.caps().map(|caps| caps.weights) {
                Some(Weights::Any) => "any",
                Some(Weights::One) => "1 only",
                _ => "other",
            })
        })
        .minor(3)
        .text("leave", "may leave", |row| {
            Cell::text(match row.caps().map(|caps| caps.leave) {
                Some(Leave::Any) => "any",
                Some(Leave::Last) => "the last",
                _ => "other",
            })
        })
        .minor(1)
        .text("share", "peers share", |row| Cell::text(row.agree().name()))
        .text("excess", "excess", |row| {
            excess(row.caps().map(|caps| caps.excess))
        })
        .minor(2)
        .text("parameters", "", |row| Cell::new(params(row.params), ""))
        .prose("about", "about", |row| Cell::text(row.about))
        .text("peers_share", "", |row| Cell::text(row.agree().name()));
    let rows = only(strategy::ALL, args.name.as_deref(), |row| row.name);
    let table = Table::of(fields, rows);
    let params = param_table("strategy", "parameter", rows);
    let legend = format!(
        "{PEERS_SHARE}\n\
         excess: the share of keys that a change of one node may move beyond the minimum, with {NODES} nodes.\n\
         A parameter is set with --set, as in --set points=100."
    );
    with_params(Report::of(table)?, params)
        .with_text(legend.lines())
        .print(args.output.format)
}

/// Returns the row of this name, or all.
fn only<'a, T>(rows: &'a [T], name: Option<&str>, name_of: fn(&T) -> &'static str) -> &'a [T] {
    let at = name.and_then(|name| rows.iter().position(|row| name_of(row) == name));
    at.map_or(rows, |at| &rows[at..=at])
}

/// Adds the table of parameters, if there are any.
fn with_params(report: Report, params: Option<Table>) -> Report {
    match params {
        Some(params) => report.with_table(params),
        None => report,
    }
}

fn excess(excess: Option<Excess>) -> Cell {
    match excess {
        Some(Excess::None) => Cell::text("none"),
        Some(Excess::AtMost(bound)) => {
            let share = units::percent(bound(NODES));
            Cell::new(format!("at most {share}"), format!("≤ {share}"))
        }
        _ => Cell::text("unbounded"),
    }
}

fn params(params: &[Param]) -> Value {
    let param = |param: &Param| json!({ "name": param.name, "default": param.default, "about": param.about });
    params.iter().map(param).collect()
}

/// Builds the table of all parameters, under the titles of the row and of the parameter; `None` if
/// the rows have none.
fn param_table(row: &'static str, param: &'static str, rows: &[Scheme]) -> Option<Table> {
    type Owned<'a> = (&'a str, &'a Param);
    let fields = Fields::<Owned>::new()
        .text("", row, |(owner, _)| Cell::text(*owner))
        .text("", param, |(_, param)| Cell::text(param.name))
        .text("", "default", |(_, param)| Cell::text(param.default))
        .prose("", "about", |(_, param)| Cell::text(param.about));
    let params = rows
        .iter()
        .flat_map(|row| row.params.iter().map(|param| (row.name, param)));
    let any = rows.iter().any(|row| !row.params.is_empty());
    any.then(|| Table::of(fields, params))
}

/// List the dialects of real systems: versions, how each was verified, options
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hashroute dialects twemproxy\n  hashroute dialects --format json"
)]
pub(crate) struct DialectsArgs {
    /// Show only this one
    #[arg(value_name = "NAME", value_parser = Named::Dialect, hide_possible_values = true)]
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn dialects(args: &DialectsArgs) -> Result<(), Failure> {
    let fields = Fields::<Scheme>::new()
        .text("name", "dialect", |row| Cell::text(row.name))
        .prose("version", "version", |row| {
            Cell::text(row.origin().map_or("", |origin| origin.version))
        })
        .text("proof", "proof", |row| {
            Cell::text(row.origin().map_or("", |origin| Proof::name(origin.proof)))
        })
        .minor(1)
        .text("config", "file", |row| {
            let reads = row.reads_config();
            Cell::new(reads, if reads { "yes" } else { "-" })
        })
        .minor(2)
        .text("parameters", "", |row| Cell::new(params(row.params), ""))
        .prose("about", "about", |row| Cell::text(row.about));
    let rows = only(compat::ALL, args.name.as_deref(), |row| row.name);
    let table = Table::of(fields, rows);
    let params = param_table("dialect", "option", rows);
    let legend = "\
         proof: recorded means verified against recorded answers of the running program.\n\
         file: whether --config takes the system's own configuration file.\n\
         An option is set with --set, as in --dialect nginx --set method=hash.";
    with_params(Report::of(table)?, params)
        .with_text(legend.lines())
        .print(args.output.format)
}

/// List the hash functions: their bits, and the seed or key they take
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hashroute hashes xxh3\n  hashroute hashes --format markdown")]
pub(crate) struct HashesArgs {
    /// Show only this one
    #[arg(value_name = "NAME", value_parser = Named::Hash, hide_possible_values = true)]
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn hashes(args: &HashesArgs) -> Result<(), Failure> {
    let fields = Fields::<HashFunction>::new()
        .text("name", "hash", |function| Cell::text(function.name()))
        .number("bits", "bits", |function| {
            Cell::count(function.bits().into())
        })
        .text("secret", "seed or key", |function| {
            match function.secret() {
                Secret::None => Cell::missing(),
                Secret::Seed32 => Cell::text("seed of 32 bits"),
                Secret::Seed64 => Cell::text("seed of 64 bits"),
                Secret::Key128 => Cell::text("key of 128 bits"),
                _ => Cell::text("other"),
            }
        })
        .text("spread", "even", |function| {
            let spread = function.is_spread();
            Cell::new(spread, if spread { "yes" } else { "no" })
        })
        .prose("about", "about", |function| Cell::text(function.about()));
    let rows = only(HashFunction::ALL, args.name.as_deref(), |function| {
        function.name()
    });
    let table = Table::of(fields, rows);
    let legend = "\
         seed or key: what the hash takes from --hash-seed or --hash-key.\n\
         even: whether similar keys get very different values over all 64 bits. Values of the other functions\n\
         are mixed first; mixing spreads a narrow value, but adds no information.";
    Report::of(table)?
        .with_text(legend.lines())
        .print(args.output.format)
}
