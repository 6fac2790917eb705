//! `plan`: the steps from one set-up to another.

use std::collections::BTreeMap;

use clap::Args;
use hashroute::Error;
use hashroute::plan::{Budget, Plan, PlannedRange, Replicas, Step, Transfer};
use serde_json::{Value, json};

use crate::app::keys::{self, Source};
use crate::app::lister::Lister;
use crate::app::moves::{self, Verdict};
use crate::app::nodes;
use crate::app::ranges::{hex, position};
use crate::app::setup::SetUp;
use crate::app::steps::{self, Tally};
use crate::args::{self, KeyArgs, NodeArgs, OutputArgs, ReplicaArgs, StrategyArgs, TargetArgs};
use crate::failure::{Asked, Failure};
use crate::output::{Cell, Fields, MadeUp, Report, Table};
use crate::progress::Progress;
use crate::units;

/// The most rows of a table that people see.
const SHOWN: usize = 30;

/// Plan a change in steps within a budget: what each node copies, receives and deletes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The largest share of all keys that one step may move: 0.05 or 5%
    #[arg(long, value_name = "SHARE", default_value = "1", help_heading = "Budget", value_parser = share)]
    pub(crate) max_step: f64,
    /// The largest share of all keys that a node may receive in one step
    #[arg(long, value_name = "SHARE", default_value = "1", help_heading = "Budget", value_parser = share)]
    pub(crate) max_in: f64,
    /// The largest share of all keys that a node may send in one step
    #[arg(long, value_name = "SHARE", default_value = "1", help_heading = "Budget", value_parser = share)]
    pub(crate) max_out: f64,
    #[command(flatten)]
    pub(crate) replicas: ReplicaArgs,
    /// Show only this step, counted from 1, with its copies and ranges
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(crate) step: Option<usize>,
    /// Print each key that moves instead: its step, the key, the node that copies and the node that
    /// gets it
    #[arg(long, help_heading = "Output")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
With keys, each step is counted in keys, and in bytes where their sizes are known. --list writes a
line per copy, STEP TAB KEY TAB FROM TAB TO, or one object per line with --format json.

Examples:
  hashroute plan --count 10 --add node-10 --max-step 2%
  hashroute plan --nodes-file now.toml --to-nodes-file next.toml --replicas 3 --spread zones
  hashroute plan --count 10 --to-strategy maglev --max-in 1% --step 1
  hashroute plan --spec now.toml --to-spec next.toml --max-step 5% --csv keys.csv --step 2 --list";

/// Parses a share of all keys, as a fraction or in percent.
fn share(text: &str) -> Result<f64, String> {
    let share = args::share(text).filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a share above 0, at most 1, such as 0.05 or 5%".into())
}

pub(crate) fn run(args: &PlanArgs) -> Result<(), Failure> {
    if args.list {
        moves::check_keys(&args.keys)?;
    }
    let before = SetUp::read(&args.strategy, &args.nodes)?;
    let (after, words) = before.with(&args.target)?;
    let replicas = Replicas::new(
        args.replicas.replicas.unwrap_or(1) as usize,
        args.replicas.spread.into(),
    );
    let budget = Budget::default()
        .with_step(args.max_step)
        .with_node_in(args.max_in)
        .with_node_out(args.max_out);
    let progress = Progress::start(args.output.quiet, "planning");
    let plan = Plan::new(&*before.router, &*after.router, replicas, budget).map_err(refusal)?;
    drop(progress);
    let steps: Vec<_> = (1..).zip(plan.steps()).collect();
    let shown = match args.step {
        None => &steps[..],
        Some(number) => match steps.get(number.wrapping_sub(1)..number) {
            Some(one) => one,
            None => {
                return Err(Failure::Input(format!(
                    "--step {number}: no such step: the plan has {}, counted from 1",
                    units::counted(steps.len() as u64, "step")
                )));
            }
        },
    };
    if args.list {
        nodes::tell_made_up(&args.nodes, args.strategy.spec.as_deref());
        let mut list = Lister::new(args.output.format, true);
        let source = Source::of(&args.keys)?;
        let told = steps::count(&source, &plan, [before, after], args.step, Some(&mut list))?;
        if !args.output.quiet {
            eprintln!("note: {}", told.sentence(args.step));
        }
        return Ok(());
    }
    let verdict = Verdict::of([&before, &after]);
    let same = plan.steps().len() == 0 && verdict.has_same_routes();
    let said = if same {
        Some(verdict.sentence(0, 0))
    } else {
        verdict.warning()
    };
    let words = match said {
        Some(said) => format!("{said} Change: {words}."),
        None => words,
    };
    let labels = after.choice.labels();
    let tally = if keys::is_given(&args.keys) {
        let source = Source::of(&args.keys)?;
        Some(steps::count(&source, &plan, [before, after], None, None)?)
    } else {
        None
    };
    let made_up = MadeUp {
        keys: None,
        nodes: nodes::made_up(&args.nodes, args.strategy.spec.as_deref()),
    };
    report(&plan, shown, &words, args.step.is_some(), tally.as_ref())?
        .with_labels(&labels)?
        .with_made_up(&made_up)?
        .print(args.output.format)
}

/// Makes a failure that names the option that caused the error.
fn refusal(error: Error) -> Failure {
    let option = match &error {
        Error::Parameter { name, .. } => match &**name {
            "step" => "--max-step",
            "node_in" => "--max-in",
            "node_out" => "--max-out",
            _ => "--replicas",
        },
        _ => return error.into(),
    };
    Asked::Value(option).refused(error)
}

type Numbered<'a> = (usize, Step<'a>);

fn report(
    plan: &Plan,
    steps: &[Numbered],
    words: &str,
    detail: bool,
    tally: Option<&Tally>,
) -> Result<Report, Failure> {
    let json = json_of(plan, steps, tally);
    let report = Report::new(&json, range_table(plan, steps, usize::MAX))?
        .with_text([words.to_owned(), summary(plan)])
        .with_text(tally.map(|tally| format!("Of the keys given: {}.", tally.sentence(None))));
    if plan.steps().len() == 0 {
        return Ok(report);
    }
    let report = cut(report, step_table(steps, tally), steps.len(), "steps");
    let Some((_, step)) = steps.first().filter(|_| detail) else {
        return Ok(report);
    };
    let transfers = step.transfers();
    let report = cut(
        report,
        transfer_table(&transfers),
        transfers.len(),
        "copies",
    );
    if !plan.is_exact() {
        return Ok(report);
    }
    let table = range_table(plan, steps, SHOWN);
    Ok(cut(report, table, step.ranges().len(), "ranges"))
}

/// Adds the table, and a note if people do not see all of it.
fn cut(report: Report, table: Table, all: usize, what: &str) -> Report {
    let report = report.with_table(table);
    if all <= SHOWN {
        return report;
    }
    report.with_text([format!(
        "The first {SHOWN} of {} {what} (--format csv or json has all).",
        units::count(all as u64)
    )])
}

fn summary(plan: &Plan) -> String {
    let steps = units::counted(plan.steps().len() as u64, "step");
    let of = match (plan.is_exact(), plan.modulus()) {
        (false, _) => {
            "estimated from a sample; ranges are parts of all keys, selected by hash".into()
        }
        (true, None) => "exact; ranges are of the hash".into(),
        (true, Some(modulus)) => format!(
            "exact; ranges are of the hash modulo {}",
            units::count(modulus)
        ),
    };
    format!(
        "{} of all keys change nodes, in {steps}: {of}.",
        units::percent(plan.moved())
    )
}

/// Returns the node that has most to do on one side of a step, and its share of all keys.
fn busiest(step: &Numbered, side: for<'t> fn(&Transfer<'t>) -> &'t str) -> Option<(String, f64)> {
    let transfers = step.1.transfers();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for transfer in &transfers {
        *sums.entry(side(transfer)).or_default() += transfer.share;
    }
    let most = sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    most.map(|(name, share)| (name.to_owned(), share))
}

fn step_table(steps: &[Numbered], tally: Option<&Tally>) -> Table {
    let takes = |step: &Numbered| busiest(step, |transfer| transfer.to);
    let gives = |step: &Numbered| busiest(step, |transfer| transfer.from);
    let name = |most: Option<(String, f64)>| {
        let name = most.map(|(name, _)| name);
        Cell::optional(name.as_deref())
    };
    let share = |most: Option<(String, f64)>| {
        let share = most.map(|(_, share)| share);
        Cell::number(share, units::percent)
    };
    let fields = Fields::<Numbered>::new()
        .number("", "step", |step| Cell::count(step.0 as u64))
        .number("", "moved", |step| Cell::share(step.1.moved()))
        .number("", if tally.is_some() { "keys" } else { "" }, |step| {
            tally.map_or_else(Cell::missing, |tally| Cell::count(tally.step(step.0).keys))
        })
        .number(
            "",
            if tally.is_some_and(Tally::has_sizes) {
                "bytes"
            } else {
                ""
            },
            |step| tally.map_or_else(Cell::missing, |tally| Cell::bytes(tally.step(step.0).bytes)),
        )
        .number("", "copied", |step| {
            let transfers = step.1.transfers();
            Cell::share(transfers.iter().map(|transfer| transfer.share).sum())
        })
        .minor(2)
        .number("", "ranges", |step| {
            Cell::count(step.1.ranges().len() as u64)
        })
        .minor(1)
        .text("", "takes most", |step| name(takes(step)))
        .number("", "in", |step| share(takes(step)))
        .text("", "gives most", |step| name(gives(step)))
        .number("", "out", |step| share(gives(step)));
    Table::of(fields, steps.iter().take(SHOWN))
}

fn transfer_table(transfers: &[Transfer]) -> Table {
    let fields = Fields::<Transfer>::new()
        .text("", "copy from", |of| Cell::text(of.from))
        .text("", "to", |of| Cell::text(of.to))
        .number("", "of all", |of| Cell::share(of.share));
    Table::of(fields, transfers.iter().take(SHOWN))
}

/// Builds the table of ranges, with their copies as `from>to`.
fn range_table(plan: &Plan, steps: &[Numbered], shown: usize) -> Table {
    type Row<'a> = (usize, PlannedRange<'a>);
    let modulus = plan.modulus();
    let fields = Fields::<Row>::new()
        .number("step", "", |row| Cell::count(row.0 as u64))
        .number("first", "first", |row| position(row.1.first(), modulus))
        .number("last", "last", |row| position(row.1.last(), modulus))
        .number("share", "of all", |row| {
            Cell::new(row.1.moved(), format!("{:.4}%", row.1.moved() * 100.0))
        })
        .prose("copies", "copies", |row| {
            let copies = row.1.transfers();
            let copies: Vec<_> = copies
                .map(|copy| format!("{}>{}", copy.from, copy.to))
                .collect();
            Cell::text(copies.join(" "))
        })
        .prose("deletes", "then deletes", |row| {
            let deletes: Vec<_> = row.1.deletes().map(|(name, _)| name).collect();
            Cell::text(deletes.join(" "))
        });
    let ranges = steps
        .iter()
        .flat_map(|(number, step)| step.ranges().map(move |range| (*number, range)));
    Table::of(fields, ranges.take(shown))
}

fn json_of(plan: &Plan, steps: &[Numbered], tally: Option<&Tally>) -> Value {
    let transfer = |transfer: Transfer| json!({ "from": transfer.from, "to": transfer.to, "share": transfer.share });
    let steps = steps.iter().map(|(number, step)| {
        let ranges = step.ranges().map(|range| {
            let deletes = range
                .deletes()
                .map(|(name, share)| json!({ "node": name, "share": share }));
            json!({
                "first": range.first(),
                "last": range.last(),
                "first_hex": hex(range.first()),
                "last_hex": hex(range.last()),
                "share": range.moved(),
                "copies": range.transfers().map(transfer).collect::<Vec<_>>(),
                "deletes": deletes.collect::<Vec<_>>(),
            })
        });
        let mut value = json!({
            "step": number,
            "moved_share": step.moved(),
            "copies": step.transfers().into_iter().map(transfer).collect::<Vec<_>>(),
            "ranges": ranges.collect::<Vec<_>>(),
        });
        if let Some(tally) = tally {
            value["keys"] = tally.step(*number).keys.into();
            if tally.has_sizes() {
                value["bytes"] = tally.step(*number).bytes.into();
            }
        }
        value
    });
    json!({
        "exact": plan.is_exact(),
        "modulus": plan.modulus(),
        "replicas": plan.replicas().n,
        "moved_share": plan.moved(),
        "steps": steps.collect::<Vec<_>>(),
    })
}
