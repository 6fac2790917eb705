//! `diff`: what moves between two set-ups.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use hashroute::{Basis, Diff, Flow, MovedRange, diff};
use hashroute_harness::Keys;
use serde_json::{Value, json};

use crate::app::best::{self, Best};
use crate::app::differences::{self, Difference, Kind};
use crate::app::keys::{self, Source};
use crate::app::lister::Lister;
use crate::app::moves::{self, Carried, Verdict};
use crate::app::nodes;
use crate::app::ranges::{hex, node, position};
use crate::app::setup::SetUp;
use crate::app::written;
use crate::args::{KeyArgs, NodeArgs, OutputArgs, StrategyArgs, TargetArgs};
use crate::failure::Failure;
use crate::output::{Cell, Column, Fields, MadeUp, Report, Table};
use crate::progress::Progress;
use crate::units;

/// The most rows that people see.
const SHOWN: usize = 20;

/// Show what moves between two set-ups, which may differ in nodes, strategy and hash
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Try the settings of --to-dialect, and show those that keep most keys on their node
    #[arg(long, help_heading = "Change", requires = "to_dialect")]
    #[arg(conflicts_with_all = ["to_config", "to_pool", "ranges", "list"])]
    pub(crate) best: bool,
    /// Write the second set-up, or the best, in the form of its system; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) write_config: Option<PathBuf>,
    /// List the hash ranges that move instead of the flows
    #[arg(long, help_heading = "Output")]
    pub(crate) ranges: bool,
    /// Print each key that moves instead: the key, the node before and the node after
    #[arg(long, help_heading = "Output", conflicts_with = "ranges")]
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
Exact between ring and maglev, and between slots and modulo, with one hash function. Otherwise
estimated from a sample of keys, or counted for the keys given. What no --to option changes stays.
--list writes a line per key, KEY TAB FROM TAB TO, or one object per line with --format json.

Examples:
  hashroute diff --nodes a,b,c --add d=2
  hashroute diff --count 10 --remove node-3 --ranges --format csv
  hashroute diff --dialect twemproxy --config a.yml --to-config b.yml --keys keys.txt
  hashroute diff --spec now.toml --to-spec next.toml --csv keys.csv --list > moved.tsv
  hashroute diff --dialect twemproxy --config a.yml --to-dialect haproxy --best";

pub(crate) fn run(args: &DiffArgs) -> Result<(), Failure> {
    if args.list {
        moves::check_keys(&args.keys)?;
    }
    let written = args.write_config.as_deref();
    let before = SetUp::read(&args.strategy, &args.nodes)?;
    let (after, words) = before.with(&args.target)?;
    let sides = [&before, &after];
    if args.list {
        nodes::tell_made_up(&args.nodes, args.strategy.spec.as_deref());
        let mut list = Lister::new(args.output.format, false);
        let counted = moves::count(&Source::of(&args.keys)?, sides, Some(&mut list))?;
        moves::tell(&counted.diff, sides, args.output.quiet);
        return written.map_or(Ok(()), |path| written::write(path, &after));
    }
    if args.best {
        let progress = Progress::start(args.output.quiet, "trying settings");
        let keys = keys::is_given(&args.keys).then(|| Source::of(&args.keys)?.read());
        let best = best::search(&before, &after, keys.transpose()?)?;
        drop(progress);
        print_best(&best, sides, args)?;
        return written.map_or(Ok(()), |path| written::write(path, best.first()));
    }
    let answer = answer(args, sides)?;
    report(&answer, sides, &words, args.ranges)?
        .with_labels(&labels(sides))?
        .with_made_up(&made_up(args))?
        .print(args.output.format)?;
    written.map_or(Ok(()), |path| written::write(path, &after))
}

/// Returns the labels of both set-ups; those after the change count.
fn labels(sides: [&SetUp; 2]) -> BTreeMap<String, String> {
    let [before, after] = sides.map(|side| side.choice.labels());
    before.into_iter().chain(after).collect()
}

/// What moves, and why.
struct Answer {
    diff: Diff,
    bytes: Option<Carried>,
    requests: Option<Carried>,
    verdict: Verdict,
    differences: Vec<Difference>,
}

/// Compares two set-ups: on the keys that the options give, or else by their structure.
fn answer(args: &DiffArgs, sides: [&SetUp; 2]) -> Result<Answer, Failure> {
    let [before, after] = sides;
    let progress = Progress::start(args.output.quiet, "comparing");
    let (mut bytes, mut requests, mut sample) = (None, None, None::<Keys>);
    let diff = if keys::is_given(&args.keys) {
        let counted = moves::count(&Source::of(&args.keys)?, sides, None)?;
        (bytes, requests) = (counted.bytes, counted.requests);
        sample = Some(counted.sample);
        counted.diff
    } else {
        diff(&*before.router, &*after.router)?
    };
    if args.ranges && diff.basis() != Basis::Hashes {
        return Err(Failure::input(
            "--ranges: these set-ups have no hash ranges to compare: expected ring and maglev, or slots and modulo, with one hash function and without keys",
        ));
    }
    progress.message("looking for what differs");
    let verdict = Verdict::of(sides);
    let mut differences = differences::differences(before, after, sample.as_ref());
    let mut routing = differences
        .iter_mut()
        .filter(|difference| difference.kind != Kind::Key);
    if let (Some(only), None) = (routing.next(), routing.next()) {
        (only.alone, only.matters) = (Some(diff.moved()), Some(diff.moved_count() > 0));
    }
    let answer = Answer {
        diff,
        bytes,
        requests,
        verdict,
        differences,
    };
    drop(progress);
    Ok(answer)
}

fn report(
    answer: &Answer,
    sides: [&SetUp; 2],
    words: &str,
    ranges: bool,
) -> Result<Report, Failure> {
    let diff = &answer.diff;
    let main = |shown: usize| {
        if ranges {
            range_table(diff, shown)
        } else {
            flow_table(diff, shown)
        }
    };
    let (all, what) = if ranges {
        (diff.ranges().len(), "first")
    } else {
        (diff.flows().len(), "largest")
    };
    let report = Report::new(&json_of(answer, sides, ranges), main(usize::MAX))?
        .with_text([sentence(answer), format!("Change: {words}.")])
        .with_text(reasons(answer))
        .with_table(figure_table(answer))
        .with_text([basis(diff)]);
    Ok(match all {
        0 => report,
        all if all > SHOWN => report
            .with_text([format!(
                "The {what} {SHOWN} of {all} (--format csv or json has all):"
            )])
            .with_table(main(SHOWN)),
        _ => report.with_table(main(SHOWN)),
    })
}

/// Answers in one sentence: equal, or how many keys move.
fn sentence(answer: &Answer) -> String {
    let diff = &answer.diff;
    let share = units::percent(diff.moved());
    let routes = match diff.basis() {
        _ if answer.verdict.has_same_routes() => return answer.verdict.sentence(0, 0),
        Basis::Hashes => format!("{share} of all keys move to another node."),
        Basis::Sample if diff.moved_count() == 0 => {
            "No key of a sample moves to another node. This is no proof for all keys.".into()
        }
        Basis::Sample => format!("About {share} of all keys move to another node."),
        _ => {
            let moved = moves::number(diff.moved_count());
            return answer.verdict.sentence(moved, keys_of(diff));
        }
    };
    match answer.verdict.warning() {
        Some(warning) => format!("{routes} {warning}"),
        None => routes,
    }
}

/// Lists what differs and what each difference moves.
fn reasons(answer: &Answer) -> Vec<String> {
    let of = match answer.diff.basis() {
        Basis::Keys => "these keys",
        Basis::Hashes => differences::ALL,
        _ => "the keys of a sample",
    };
    let only = answer.differences.len() == 1;
    let lines = answer.differences.iter();
    let lines = lines.map(|difference| difference.sentence(of, only));
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        return lines;
    }
    core::iter::once("What differs:".to_owned())
        .chain(lines)
        .collect()
}

/// Says what the shares refer to, and how exact they are.
fn basis(diff: &Diff) -> String {
    match diff.basis() {
        Basis::Hashes => {
            let count = units::counted(diff.ranges().len() as u64, "range");
            let of = match diff.modulus() {
                None => "of the hash space".into(),
                Some(modulus) => format!("of the hash mod {}", units::count(modulus)),
            };
            format!("Exact: {count} {of}.")
        }
        Basis::Sample => format!(
            "Estimated from {} keys: each share is within ±{} or better, 99 times in 100.",
            units::count(keys_of(diff)),
            units::percent(diff.error(0.5))
        ),
        _ => format!("Exact for these {} keys.", units::count(keys_of(diff))),
    }
}

fn keys_of(diff: &Diff) -> u64 {
    moves::number(diff.total())
}

fn figure_table(answer: &Answer) -> Table {
    let diff = &answer.diff;
    let line = |name: &str, share: f64| vec![Cell::text(name), Cell::text(units::percent(share))];
    let mut lines = vec![line("moved", diff.moved()), line("kept", diff.kept())];
    if diff.unowned_count() > 0 {
        lines.push(line("no node", diff.share(diff.unowned_count())));
    }
    for (name, carried) in [
        ("bytes moved", &answer.bytes),
        ("requests moved", &answer.requests),
    ] {
        lines.extend(
            carried
                .iter()
                .map(|carried| line(name, carried.moved_share())),
        );
    }
    let columns = [Column::text("", "figure"), Column::number("", "of all")];
    Table::new(columns).with_rows(lines)
}

fn flow_table(diff: &Diff, shown: usize) -> Table {
    let sampled = diff.basis() == Basis::Sample;
    let keyed = diff.basis() != Basis::Hashes;
    let fields = Fields::<Flow>::new()
        .text("from", "from", |flow| node(flow.from))
        .text("to", "to", |flow| node(flow.to))
        .number("share", "of all", |flow| {
            Cell::share(diff.share(flow.count))
        })
        .number("error", if sampled { "±" } else { "" }, |flow| {
            Cell::share(diff.error(diff.share(flow.count)))
        })
        .minor(2)
        .number("keys", if keyed { "keys" } else { "" }, |flow| {
            count(diff, flow).map_or_else(Cell::missing, Cell::count)
        });
    Table::of(fields, diff.flows().take(shown))
}

/// Returns the number of keys of a flow, if keys were counted.
fn count(diff: &Diff, flow: &Flow) -> Option<u64> {
    let keys = u64::try_from(flow.count).ok();
    keys.filter(|_| diff.basis() != Basis::Hashes)
}

fn range_table(diff: &Diff, shown: usize) -> Table {
    let modulus = diff.modulus();
    let fields = Fields::<MovedRange>::new()
        .number("first", "first", |range| position(range.first, modulus))
        .number("last", "last", |range| position(range.last, modulus))
        .text("from", "from", |range| node(range.from))
        .text("to", "to", |range| node(range.to));
    Table::of(fields, diff.ranges().take(shown))
}

fn json_of(answer: &Answer, sides: [&SetUp; 2], ranges: bool) -> Value {
    let diff = &answer.diff;
    let keyed = diff.basis() != Basis::Hashes;
    let bytes = answer
        .bytes
        .as_ref()
        .map(|bytes| moves::by_name(bytes, sides));
    let flow = |flow: Flow| {
        let share = diff.share(flow.count);
        let names = [flow.from, flow.to].map(|name| name.map(str::to_owned));
        let mut value = json!({ "from": flow.from, "to": flow.to, "share": share, "error": diff.error(share), "keys": count(diff, &flow) });
        if let Some(bytes) = &bytes {
            value["bytes"] = bytes.get(&names).copied().unwrap_or(0).into();
        }
        value
    };
    let difference = |of: &Difference| {
        json!({
            "kind": of.kind.name(),
            "details": of.details,
            "alone_share": of.alone,
            "matters": of.matters,
        })
    };
    let mut value = json!({
        "equal": answer.verdict.is_equal(),
        "equal_for_equal_keys": answer.verdict.has_same_routes(),
        "basis": match diff.basis() {
            Basis::Hashes => "hashes",
            Basis::Sample => "sample",
            _ => "keys",
        },
        "keys": keyed.then(|| keys_of(diff)),
        "moved": keyed.then(|| moves::number(diff.moved_count())),
        "moved_share": diff.moved(),
        "moved_error": diff.error(diff.moved()),
        "kept_share": diff.kept(),
        "unowned_share": diff.share(diff.unowned_count()),
        "all_moved_share": answer.verdict.of_all,
        "modulus": diff.modulus(),
        "differences": answer.differences.iter().map(difference).collect::<Vec<_>>(),
        "flows": diff.flows().map(flow).collect::<Vec<_>>(),
    });
    for (name, carried) in [("bytes", &answer.bytes), ("requests", &answer.requests)] {
        if let Some(of) = carried {
            let share = of.moved_share();
            value[name] = json!({ "total": of.total, "moved": of.moved, "moved_share": share });
        }
    }
    if ranges {
        let ranges = diff.ranges().map(|range| {
            json!({
                "first": range.first,
                "last": range.last,
                "first_hex": hex(range.first),
                "last_hex": hex(range.last),
                "from": range.from,
                "to": range.to,
            })
        });
        value["ranges"] = ranges.collect();
    }
    value
}

fn print_best(best: &Best, sides: [&SetUp; 2], args: &DiffArgs) -> Result<(), Failure> {
    let tried = &best.tried;
    let fields = |all: bool| {
        Fields::<best::Tried>::new()
            .text("settings", "settings", |tried| {
                Cell::text(tried.settings.as_str())
            })
            .number("kept_share", "kept", |tried| Cell::share(tried.kept))
            .number("luck_share", "by luck", |tried| Cell::share(tried.luck))
            .number("busiest", "busiest", |tried| Cell::ratio(tried.busiest))
            .number("keys", if all { "keys" } else { "" }, |tried| {
                Cell::count(tried.keys)
            })
    };
    let shown = tried.iter().take(best::SHOWN);
    let rows: Vec<_> = tried
        .iter()
        .map(|one| json!({ "settings": one.settings, "kept_share": one.kept, "luck_share": one.luck, "busiest": one.busiest, "keys": one.keys }))
        .collect();
    let value = json!({
        "dialect": sides[1].choice.scheme.name,
        "tried": best.count,
        "chance_share": best.chance,
        "settings": rows,
    });
    let report = Report::new(&value, Table::of(fields(true), tried))?
        .with_text(best.sentences(sides))
        .with_table(Table::of(fields(false), shown));
    report
        .with_made_up(&made_up(args))?
        .print(args.output.format)
}

/// Returns the nodes before the change, if nobody gave them. Keys that nobody gave are a sample, of
/// which the answer tells.
fn made_up(args: &DiffArgs) -> MadeUp {
    MadeUp {
        keys: None,
        nodes: nodes::made_up(&args.nodes, args.strategy.spec.as_deref()),
    }
}
