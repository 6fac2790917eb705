//! `strategies`, `dialects` and `hashes`: the lists of what is available.

use clap::Args;
use hashroute::HashFunction;
use hashroute::hash::Secret;
use hashroute::registry::{Excess, Leave, Param, Proof, Scheme, Weights};
use hashroute::{compat, strategy};
use serde_json::{Value, json};

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Cell, Column, Report, Table};
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
    let table = Table::new([
        Column::text("name", "strategy"),
        Column::text("weights", "weights"),
        Column::text("leave", "may leave"),
        Column::text("share", "peers share"),
        Column::text("excess", "excess"),
        Column::text("parameters", ""),
        Column::text("about", "about"),
    ]);
    let table = table.with_rows(strategy::ALL.iter().map(strategy_row));
    let params = Table::new([
        Column::text("", "strategy"),
        Column::text("", "parameter"),
        Column::text("", "default"),
        Column::text("", "about"),
    ]);
    let params = params.with_rows(
        strategy::ALL
            .iter()
            .flat_map(|row| param_rows(row.name, row.params)),
    );
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

fn strategy_row(strategy: &Scheme) -> Vec<Cell> {
    let caps = strategy.caps();
    let weights = match caps.map(|caps| caps.weights) {
        Some(Weights::Any) => "any",
        Some(Weights::One) => "1 only",
        _ => "other",
    };
    let leave = match caps.map(|caps| caps.leave) {
        Some(Leave::Any) => "any",
        Some(Leave::Last) => "the last",
        _ => "other",
    };
    vec![
        Cell::text(strategy.name),
        Cell::text(weights),
        Cell::text(leave),
        Cell::text(strategy.agree().name()),
        excess(caps.map(|caps| caps.excess)),
        Cell::new(params(strategy.params), ""),
        Cell::text(strategy.about),
    ]
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

fn param_rows<'a>(owner: &'a str, params: &'a [Param]) -> impl Iterator<Item = Vec<Cell>> + 'a {
    params.iter().map(move |param| {
        [owner, param.name, param.default, param.about]
            .map(Cell::text)
            .into()
    })
}

/// List the dialects of real systems: versions, how each was verified, options
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hashroute dialects --format json")]
pub(crate) struct DialectsArgs {
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn dialects(args: &DialectsArgs) -> Result<(), Failure> {
    let table = Table::new([
        Column::text("name", "dialect"),
        Column::text("version", "version"),
        Column::text("proof", "proof"),
        Column::text("config", "file"),
        Column::text("parameters", ""),
        Column::text("about", "about"),
    ]);
    let table = table.with_rows(compat::ALL.iter().map(dialect_row));
    let params = Table::new([
        Column::text("", "dialect"),
        Column::text("", "option"),
        Column::text("", "default"),
        Column::text("", "about"),
    ]);
    let rows = compat::ALL.iter();
    let params = params.with_rows(rows.flat_map(|row| param_rows(row.name, row.params)));
    let legend = "\
         proof: recorded means verified against recorded answers of the running program.\n\
         file: whether --config takes the system's own configuration file.\n\
         An option is set with --set, as in --dialect nginx --set method=hash.";
    Report::of(table)?
        .with_table(params)
        .with_text(legend.lines())
        .print(args.output.format)
}

fn dialect_row(dialect: &Scheme) -> Vec<Cell> {
    let reads = dialect.reads_config();
    let origin = dialect.origin();
    vec![
        Cell::text(dialect.name),
        Cell::text(origin.map_or("", |origin| origin.version)),
        Cell::text(origin.map_or("", |origin| Proof::name(origin.proof))),
        Cell::new(reads, if reads { "yes" } else { "-" }),
        Cell::new(params(dialect.params), ""),
        Cell::text(dialect.about),
    ]
}

/// List the hash functions: their bits, and the seed or key they take
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hashroute hashes --format markdown")]
pub(crate) struct HashesArgs {
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn hashes(args: &HashesArgs) -> Result<(), Failure> {
    let table = Table::new([
        Column::text("name", "hash"),
        Column::number("bits", "bits"),
        Column::text("secret", "seed or key"),
        Column::text("spread", "even"),
        Column::text("about", "about"),
    ]);
    let table = table.with_rows(HashFunction::ALL.iter().map(|&function| hash_row(function)));
    let legend = "\
         seed or key: what the hash takes from --hash-seed or --hash-key.\n\
         even: whether similar keys get very different values over all 64 bits. Values of the other functions\n\
         are mixed first; mixing spreads a narrow value, but adds no information.";
    Report::of(table)?
        .with_text(legend.lines())
        .print(args.output.format)
}

fn hash_row(function: HashFunction) -> Vec<Cell> {
    let secret = match function.secret() {
        Secret::None => Cell::new(Value::Null, "-"),
        Secret::Seed32 => Cell::text("seed of 32 bits"),
        Secret::Seed64 => Cell::text("seed of 64 bits"),
        Secret::Key128 => Cell::text("key of 128 bits"),
        _ => Cell::text("other"),
    };
    let spread = function.is_spread();
    vec![
        Cell::text(function.name()),
        Cell::new(function.bits(), function.bits().to_string()),
        secret,
        Cell::new(spread, if spread { "yes" } else { "no" }),
        Cell::text(function.about()),
    ]
}
