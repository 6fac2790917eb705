//! `spec`: files of everything that peers must share; writes, checks, compares and converts them.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use hashroute::hash::Secret;
use hashroute::{Error, Limit, Router, Spec};
use hashroute_harness::text::json_escaped;
use serde_json::json;

use crate::app::strategy::Choice;
use crate::app::{changes, files, nodes, outputs};
use crate::args::{ChangeArgs, NodeArgs, OutputArgs, StrategyArgs};
use crate::failure::{Asked, Failure};
use crate::output::{self, Cell, Column, Format, Report, Table};
use crate::units;

/// Write, check, compare and convert files of everything that peers must share
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SpecArgs {
    #[command(subcommand)]
    command: SpecCommand,
}

const EXAMPLES: &str = "\
FILE is TOML or JSON as `write` prints it; - is standard input. It contains the secret key of a
keyed hash. Other commands read it with --spec FILE.

Examples:
  hashroute spec write --nodes a,b=2,c --strategy maglev > spec.toml
  hashroute spec write --spec spec.toml --add d --out next.toml
  hashroute spec fingerprint spec.toml next.toml
  hashroute spec check spec.toml --fingerprint 0123456789abcdef";

#[derive(Debug, Subcommand)]
enum SpecCommand {
    /// Check whether a spec can be used, and show what it holds
    Check(CheckArgs),
    /// Print the fingerprint of each spec; exit with 1 if they differ
    Fingerprint(FingerprintArgs),
    /// Print a spec in another form
    Convert(ConvertArgs),
    /// Print a spec made of nodes and a strategy, or of another spec with changes
    Write(Box<WriteArgs>),
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// A spec in TOML or JSON; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The expected fingerprint; exit with 1 if it differs
    #[arg(long, value_name = "HEX16", value_parser = fingerprint)]
    fingerprint: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
struct FingerprintArgs {
    /// Specs in TOML or JSON; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
struct ConvertArgs {
    /// A spec in TOML or JSON; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The form to print
    #[arg(long, value_name = "FORM")]
    to: Form,
    #[command(flatten)]
    out: OutArgs,
}

#[derive(Debug, Args)]
struct WriteArgs {
    #[command(flatten)]
    changes: ChangeArgs,
    /// The epoch [default: 0 or the epoch of --spec, plus 1 for each change]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// The form to print
    #[arg(long, value_name = "FORM", default_value = "toml")]
    to: Form,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    strategy: StrategyArgs,
}

#[derive(Debug, Args)]
struct OutArgs {
    /// The file to write, if not standard output; with a secret key, only its owner can read it
    #[arg(short = 'o', long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// For people to read and edit
    Toml,
    /// The same fields as JSON
    Json,
    /// Only the nodes, as CSV for --nodes-file
    Nodes,
    /// The bytes that the fingerprint hashes
    Canonical,
}

pub(crate) fn run(args: &SpecArgs) -> Result<(), Failure> {
    match &args.command {
        SpecCommand::Check(args) => check(args),
        SpecCommand::Fingerprint(args) => fingerprints(args),
        SpecCommand::Convert(args) => {
            let spec = files::read_spec(&args.file, "FILE")?;
            print(&spec, args.to, &args.out)
        }
        SpecCommand::Write(args) => write(args),
    }
}

fn fingerprint(text: &str) -> Result<u64, String> {
    let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u64::from_str_radix(text, 16).ok().filter(|_| is_hex);
    number.ok_or_else(|| "expected 16 hexadecimal digits".into())
}

fn hex(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let (spec, router) = files::read_router(&args.file, "FILE")?;
    let found = spec.fingerprint();
    report(&spec, &*router)?.print(args.output.format)?;
    match args.fingerprint {
        Some(wanted) if wanted != found => Err(Failure::Check(format!(
            "fingerprint {}: expected {}; peers that differ may send a key to different nodes",
            hex(found),
            hex(wanted)
        ))),
        _ => Ok(()),
    }
}

fn report(spec: &Spec, router: &dyn Router) -> Result<Report, Failure> {
    let nodes = spec.nodes();
    let weighted = nodes.iter().filter(|node| node.weight() > 0).count();
    let weight: u64 = nodes.iter().map(|node| u64::from(node.weight())).sum();
    let hash = spec.hasher().map(|hasher| hasher.function().name());
    let kind = if spec.scheme().is_dialect() {
        "dialect"
    } else {
        "strategy"
    };
    let print = hex(spec.fingerprint());
    let unowned = unowned(spec, router)?;
    let mut facts = vec![
        (kind, spec.name().to_owned()),
        ("hash", hash.unwrap_or("the system's own").to_owned()),
        ("nodes", nodes.len().to_string()),
        ("with weight", weighted.to_string()),
        ("total weight", weight.to_string()),
        ("epoch", spec.epoch().to_string()),
        ("fingerprint", print.clone()),
    ];
    if let Some(slots) = unowned {
        facts.push(("slots without a node", units::count(slots as u64)));
    }
    let columns = [
        Column::text("fact", "fact"),
        Column::prose("value", "value"),
    ];
    let json = json!({
        kind: spec.name(),
        "hash": hash,
        "nodes": nodes.len(),
        "weighted": weighted,
        "total_weight": weight,
        "epoch": spec.epoch(),
        "fingerprint": print,
        "unowned_slots": unowned,
    });
    let table = Table::new(columns).with_rows(
        facts
            .into_iter()
            .map(|(name, value)| vec![Cell::text(name), Cell::text(value)]),
    );
    Ok(Report::new(&json, table.clone())?.with_table(table))
}

/// Counts the slots of a table without an owner: a table written by hand may have gaps.
fn unowned(spec: &Spec, router: &dyn Router) -> Result<Option<usize>, Failure> {
    let Some(table) = spec.scheme().table else {
        return Ok(None);
    };
    let owners = (table.save)(router, &spec.params())?;
    Ok(Some(owners.iter().filter(|owner| owner.is_none()).count()))
}

fn fingerprints(args: &FingerprintArgs) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for path in &args.files {
        let print = files::read_spec(path, "FILE")?.fingerprint();
        rows.push((print, path.display().to_string()));
    }
    let columns = [
        Column::text("fingerprint", "fingerprint"),
        Column::text("file", "file"),
    ];
    let cells = rows
        .iter()
        .map(|(print, file)| vec![Cell::text(hex(*print)), Cell::text(file.as_str())]);
    match args.output.format {
        Format::Table => {
            let mut out = output::stdout();
            for (print, file) in &rows {
                writeln!(out, "{}\t{}", hex(*print), output::name_field(file))?;
            }
            out.flush()?;
        }
        format => Report::of(Table::new(columns).with_rows(cells))?.print(format)?,
    }
    match rows.iter().find(|(print, _)| *print != rows[0].0) {
        None => Ok(()),
        Some((_, file)) => {
            let first = &rows[0].1;
            let told = format!(
                "{first} and {file} differ: peers with different specs may send a key to different nodes"
            );
            let hint = format!("which keys: hashroute diff --spec {first} --to-spec {file}");
            Err(Failure::Differ(told).with_hint(Some(hint)))
        }
    }
}

fn write(args: &WriteArgs) -> Result<(), Failure> {
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    nodes::tell_made_up(&args.nodes, args.strategy.spec.as_deref());
    let choice = choice.with_labels(&args.changes)?;
    let changes = choice.resolve(&nodes, &args.changes)?;
    changes::check(&nodes, &changes)?;
    let mut spec = choice.spec(&nodes)?;
    for change in &changes {
        spec.apply(change).map_err(|error| match error {
            Error::Capacity {
                what: Limit::Epochs,
                ..
            } => Asked::At("--spec".into()).refused(error),
            _ => choice.refusal(error),
        })?;
    }
    spec = choice.label_spec(spec)?;
    if let Some(epoch) = args.epoch {
        let asked = Asked::At(format!("--epoch {epoch}"));
        spec = spec
            .with_epoch(epoch)
            .map_err(|error| asked.refused(error))?;
    }
    print(&spec, args.to, &args.out)
}

fn print(spec: &Spec, form: Form, args: &OutArgs) -> Result<(), Failure> {
    let text = text(spec, form)?;
    // The canonical form has a hash of the key in its place.
    let secret = matches!(form, Form::Toml | Form::Json) && has_secret(spec);
    match args.out.as_deref().filter(|path| path.as_os_str() != "-") {
        Some(path) if secret => return outputs::write_secret("--out", path, &text),
        Some(path) => return outputs::write("--out", path, &text),
        None if secret => outputs::note_secret_on_output(),
        None => {}
    }
    let mut out = output::stdout();
    out.write_all(&text)?;
    Ok(out.flush()?)
}

/// Returns whether a spec holds a secret key.
fn has_secret(spec: &Spec) -> bool {
    let secret = spec.hasher().map(|hasher| hasher.function().secret());
    secret == Some(Secret::Key128)
}

fn text(spec: &Spec, form: Form) -> Result<Vec<u8>, Failure> {
    Ok(match form {
        Form::Toml => spec.to_toml().into_bytes(),
        Form::Json => (json_escaped(&spec.to_json()).into_owned() + "\n").into_bytes(),
        Form::Canonical => spec.canonical().into_bytes(),
        Form::Nodes => {
            let mut text = Vec::new();
            let mut csv = csv::Writer::from_writer(&mut text);
            // Most lists have no labels, and need no column for them.
            let labelled = spec.servers().iter().any(|one| one.own_label().is_some());
            let columns = if labelled { 5 } else { 4 };
            csv.write_record(&["name", "weight", "zone", "rack", "label"][..columns])?;
            for server in spec.servers() {
                let node = server.to_node();
                let weight = node.weight().to_string();
                let [zone, rack] = [node.zone(), node.rack()].map(Option::unwrap_or_default);
                let label = server.own_label().unwrap_or_default();
                csv.write_record(&[node.name(), &weight, zone, rack, label][..columns])?;
            }
            csv.flush()?;
            drop(csv);
            text
        }
    })
}
