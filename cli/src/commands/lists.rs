//! `strategies`, `dialects` and `hashes`: the lists of what is available.

use clap::Args;
use hashroute::HashFunction;
use hashroute::hash::Secret;
use hashroute::registry::{Excess, Leave, Param, Proof, Scheme, Weights};
use hashroute::{compat, strategy};
use serde_json::{Value, json};

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Cell, Field, Report, Table};
use crate::units;

/// The number of nodes for which the bound on excess moves is shown.
const NODES: usize = 10;

/// List the strategies: what they can do, what peers must share, their parameters
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hashroute strategies --format json")]
pub(crate) struct StrategiesArgs {
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn strategies(args: &StrategiesArgs) -> Result<(), Failure> {
    let fields = vec![
        Field::text("name", "strategy", |row: &Scheme| Cell::text(row.name)),
        Field::text("weights", "weights", |row: &Scheme| {
            Cell::text(match row.caps().map(|caps| caps.weights) {
                Some(Weights::Any) => "any",
                Some(Weights::One) => "1 only",
                _ => "other",
            })
        }),
        Field::text("leave", "may leave", |row: &Scheme| {
            Cell::text(match row.caps().map(|caps| caps.leave) {
                Some(Leave::Any) => "any",
                Some(Leave::Last) => "the last",
                _ => "other",
            })
        }),
        Field::text("share", "peers share", |row: &Scheme| {
            Cell::text(row.agree().name())
        }),
        Field::text("excess", "excess", |row: &Scheme| {
            excess(row.caps().map(|caps| caps.excess))
        }),
        Field::text("parameters", "", |row: &Scheme| {
            Cell::new(params(row.params), "")
        }),
        Field::text("about", "about", |row: &Scheme| Cell::text(row.about)),
    ];
    let table = Table::of(fields, strategy::ALL);
    let params = param_table("strategy", "parameter", strategy::ALL);
    let legend = format!(
        "peers share: what two processes must share to send every key to the same node.\n\
         excess: the share of keys that a change of one node may move beyond the minimum, with {NODES} nodes.\n\
         A parameter is set with --set, as in --set points=100."
    );
    Report::of(table)?
        .with_table(params)
        .with_text(legend.lines())
        .print(args.output.format)
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

/// Builds the table of all parameters, under the titles of the row and of the parameter.
fn param_table(row: &'static str, param: &'static str, rows: &[Scheme]) -> Table {
    type Owned<'a> = (&'a str, &'a Param);
    let fields = vec![
        Field::text("", row, |(owner, _): &Owned| Cell::text(*owner)),
        Field::text("", param, |(_, param): &Owned| Cell::text(param.name)),
        Field::text("", "default", |(_, param): &Owned| {
            Cell::text(param.default)
        }),
        Field::text("", "about", |(_, param): &Owned| Cell::text(param.about)),
    ];
    let params = rows
        .iter()
        .flat_map(|row| row.params.iter().map(|param| (row.name, param)));
    Table::of(fields, params)
}

/// List the dialects of real systems: versions, how each was verified, options
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hashroute dialects --format json")]
pub(crate) struct DialectsArgs {
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn dialects(args: &DialectsArgs) -> Result<(), Failure> {
    let fields = vec![
        Field::text("name", "dialect", |row: &Scheme| Cell::text(row.name)),
        Field::text("version", "version", |row: &Scheme| {
            Cell::text(row.origin().map_or("", |origin| origin.version))
        }),
        Field::text("proof", "proof", |row: &Scheme| {
            Cell::text(row.origin().map_or("", |origin| Proof::name(origin.proof)))
        }),
        Field::text("config", "file", |row: &Scheme| {
            let reads = row.reads_config();
            Cell::new(reads, if reads { "yes" } else { "-" })
        }),
        Field::text("parameters", "", |row: &Scheme| {
            Cell::new(params(row.params), "")
        }),
        Field::text("about", "about", |row: &Scheme| Cell::text(row.about)),
    ];
    let table = Table::of(fields, compat::ALL);
    let params = param_table("dialect", "option", compat::ALL);
    let legend = "\
         proof: recorded means verified against recorded answers of the running program.\n\
         file: whether --config takes the system's own configuration file.\n\
         An option is set with --set, as in --dialect nginx --set method=hash.";
    Report::of(table)?
        .with_table(params)
        .with_text(legend.lines())
        .print(args.output.format)
}

/// List the hash functions: their bits, and the seed or key they take
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hashroute hashes --format markdown")]
pub(crate) struct HashesArgs {
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn hashes(args: &HashesArgs) -> Result<(), Failure> {
    let fields = vec![
        Field::text("name", "hash", |function: &HashFunction| {
            Cell::text(function.name())
        }),
        Field::number("bits", "bits", |function: &HashFunction| {
            Cell::count(function.bits().into())
        }),
        Field::text(
            "secret",
            "seed or key",
            |function: &HashFunction| match function.secret() {
                Secret::None => Cell::missing(),
                Secret::Seed32 => Cell::text("seed of 32 bits"),
                Secret::Seed64 => Cell::text("seed of 64 bits"),
                Secret::Key128 => Cell::text("key of 128 bits"),
                _ => Cell::text("other"),
            },
        ),
        Field::text("spread", "even", |function: &HashFunction| {
            let spread = function.is_spread();
            Cell::new(spread, if spread { "yes" } else { "no" })
        }),
        Field::text("about", "about", |function: &HashFunction| {
            Cell::text(function.about())
        }),
    ];
    let table = Table::of(fields, HashFunction::ALL);
    let legend = "\
         seed or key: what the hash takes from --hash-seed or --hash-key.\n\
         even: whether similar keys get very different values over all 64 bits. Values of the other functions\n\
         are mixed first; mixing spreads a narrow value, but adds no information.";
    Report::of(table)?
        .with_text(legend.lines())
        .print(args.output.format)
}
