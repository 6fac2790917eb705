//! `slots check`: requests that cross slots, and tags and slots that hold too much.

use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use hashroute::redis::{Heat, HotSlot, HotTag, SlotRule};
use hashroute::{Error, compat, redis};
use hashroute_harness::{FileKind, Keys};
use serde_json::{Value, json};

use super::measure::{self, amounts, name};
use crate::app::files;
use crate::app::keys::{self, Source};
use crate::args::{self, KEY_SOURCES, KeyArgs, Measure, OutputArgs};
use crate::failure::Failure;
use crate::output::{Cell, Column, Report, Table};
use crate::progress::Progress;
use crate::{key_text, units};

/// The number of tag counters: enough to find every tag with more than 1/65,536 of the total.
const COUNTERS: usize = Heat::MAX_COUNTERS;

/// Check keys: requests that cross slots, tags and slots that hold too much
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_args(measure::without_default))]
pub(crate) struct CheckCommand {
    /// One key per line, or the keys of one request separated by tabs; - is standard input
    #[arg(value_name = "KEYS-FILE", conflicts_with_all = KEY_SOURCES)]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// The number of slots, tags and groups to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
A slot is always on one node, and a tag in one slot. An even slot holds 0.006% of the keys. Without
--max-slot and --max-tag, a slot or a tag with more than 5% is too much: on 10 nodes, that is half
of what one of them should hold. This default is not applied to fewer than 21 keys, nor to slots
and tags with fewer than 3 of them. To see real keys on the nodes of a real table:

  hashroute balance --dialect redis-cluster --config nodes.txt --scan scan.txt
  hashroute skew --dialect redis-cluster --config nodes.txt --scan scan.txt

Examples:
  hashroute slots check keys.txt
  hashroute slots check requests.tsv --max-cross 5
  redis-cli --hotkeys | hashroute slots check --hotkeys -
  hashroute slots check --csv keys.csv --max-slot 0.01 --max-tag 0.05 --format json";

#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "as the options are named")]
#[command(next_help_heading = "Limits (exit with 1 if one is exceeded)")]
pub(crate) struct Limits {
    /// The most groups whose keys may be in different slots
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = KEY_SOURCES)]
    pub(crate) max_cross: u64,
    /// The largest share of the keys, bytes or requests that one tag may hold [default: 0.05]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) max_tag: Option<f64>,
    /// The largest share of the keys, bytes or requests that one slot may hold [default: 0.05]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) max_slot: Option<f64>,
}

/// The share that a slot or a tag may hold without an option.
const MOST: f64 = 0.05;
/// The fewest keys of a slot or a tag to which that limit applies.
const FEWEST: u64 = 3;

/// A limit of a share.
#[derive(Clone, Copy)]
struct Limit {
    share: f64,
    /// Whether it is the default.
    is_default: bool,
}

impl Limit {
    fn of(option: Option<f64>) -> Self {
        Self {
            share: option.unwrap_or(MOST),
            is_default: option.is_none(),
        }
    }

    /// Returns whether a count of a total from this many lines is above the limit.
    fn is_exceeded(self, measure: Measure, count: u64, heat: &Heat, lines: u64) -> bool {
        // With a single line, one tag and one slot hold everything: shares say nothing.
        let says = if self.is_default {
            let enough = measure != Measure::Keys || count >= FEWEST;
            enough && lines as f64 * self.share > 1.0
        } else {
            lines > 1
        };
        says && share(count, heat) > self.share
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share = args::share(text).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0 to 1, such as 0.25 or 25%".into())
}

pub(crate) fn run(args: &CheckCommand) -> Result<(), Failure> {
    let progress = Progress::start(args.output.quiet, "reading keys");
    let mut found = Found::new(args.top);
    match &args.file {
        Some(file) => found.read_lines(file)?,
        None if args.keys.is_given() => found.read_source(&args.keys)?,
        None => {
            return Err(Failure::input(
                "no keys: expected KEYS-FILE, --keys, --csv, --scan or another list of keys",
            ));
        }
    }
    drop(progress);
    let failures = found.failures(&args.limits);
    report(&found, args.top, &failures)?.print(args.output.format)?;
    if failures.is_empty() {
        return Ok(());
    }
    Err(Failure::Check(failures.join("; ")))
}

/// What was read and counted.
struct Found {
    heats: Vec<(Measure, Heat)>,
    lines: u64,
    keys: u64,
    /// The number of lines with several keys.
    groups: u64,
    /// The number of these lines whose keys are in different slots.
    cross: u64,
    /// The first of these lines, with their numbers.
    examples: Vec<(u64, Error)>,
    top: usize,
}

impl Found {
    fn new(top: usize) -> Self {
        Self {
            heats: vec![(Measure::Keys, Heat::new(SlotRule::REDIS, COUNTERS))],
            lines: 0,
            keys: 0,
            groups: 0,
            cross: 0,
            examples: Vec::new(),
            top,
        }
    }

    fn read_lines(&mut self, path: &Path) -> Result<(), Failure> {
        let wrong = |problem: String| Failure::file("KEYS-FILE", path, problem);
        let mut input = keys::open(path).map_err(|error| wrong(error.to_string()))?;
        let start = input.fill_buf().map_err(|error| wrong(error.to_string()))?;
        if let Some(problem) = no_keys(start) {
            return Err(wrong(problem));
        }
        if start.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        let mut line = Vec::new();
        while files::read_line(&mut input, &mut line).map_err(|error| wrong(error.to_string()))? {
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            if line.len() > files::LONGEST {
                let number = self.lines + 1;
                return Err(wrong(format!(
                    "line {number} is too long: expected at most {} bytes",
                    files::LONGEST
                )));
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // A blank line is no key.
            if line.is_empty() {
                self.lines += 1;
            } else {
                self.group(line);
            }
        }
        if self.keys == 0 {
            return Err(wrong("no keys: expected at least one".into()));
        }
        Ok(())
    }

    /// Counts the keys of one line.
    fn group(&mut self, line: &[u8]) {
        self.lines += 1;
        let keys: Vec<_> = line.split(|byte| *byte == b'\t').collect();
        self.keys += keys.len() as u64;
        self.groups += u64::from(keys.len() > 1);
        for key in &keys {
            self.heats[0].1.feed(key, 1);
        }
        if let Err(error) = SlotRule::REDIS.same_slot(keys) {
            self.cross += 1;
            if self.examples.len() < self.top {
                self.examples.push((self.lines, error));
            }
        }
    }

    fn read_source(&mut self, args: &KeyArgs) -> Result<(), Failure> {
        Source::of(args)?.stream(&mut |keys| {
            self.lines += keys.len() as u64;
            self.keys += keys.len() as u64;
            for measure in [Measure::Keys, Measure::Bytes, Measure::Requests] {
                self.feed(measure, keys);
            }
            Ok(())
        })?;
        Ok(())
    }

    fn feed(&mut self, measure: Measure, keys: &Keys) {
        let Some(amounts) = amounts(measure, keys) else {
            return;
        };
        let index = self.heats.iter().position(|(known, _)| *known == measure);
        let index = index.unwrap_or_else(|| {
            self.heats
                .push((measure, Heat::new(SlotRule::REDIS, COUNTERS)));
            self.heats.len() - 1
        });
        for (key, amount) in keys.iter().zip(amounts) {
            self.heats[index].1.feed(key, amount);
        }
    }

    /// Says what exceeds a limit.
    fn failures(&self, limits: &Limits) -> Vec<String> {
        let mut failures = Vec::new();
        if self.cross > limits.max_cross {
            failures.push(format!(
                "{} into several slots: give their keys the same {{tag}} (--max-cross {})",
                units::counted(self.cross, "group")
                    + if self.cross == 1 { " falls" } else { " fall" },
                limits.max_cross
            ));
        }
        let limits = (Limit::of(limits.max_tag), Limit::of(limits.max_slot));
        let lines = self.lines;
        let held = self
            .heats
            .iter()
            .flat_map(|heat| too_much(heat, limits, lines));
        failures.extend(held);
        failures
    }
}

/// Says what a file is whose lines are no keys.
fn no_keys(start: &[u8]) -> Option<String> {
    let Some(kind) = FileKind::of(start) else {
        let system = compat::recognize(&String::from_utf8_lossy(start))?.name;
        return Some(format!(
            "this is a configuration of {system}: expected keys"
        ));
    };
    if kind == FileKind::ServerError {
        let mut lines = start.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        return Some(format!("an error of a server in place of keys: {first}"));
    }
    let read = match kind {
        FileKind::Biggest => "; read it by --bigkeys or --memkeys".into(),
        kind => kind
            .option()
            .map_or_else(String::new, |option| format!("; read it by {option}")),
    };
    Some(format!("this is {kind}: expected keys{read}"))
}

fn too_much(
    (measure, heat): &(Measure, Heat),
    (most_of_tag, most_of_slot): (Limit, Limit),
    lines: u64,
) -> Vec<String> {
    let what = name(*measure);
    let tag = heat.top_tags(1).pop();
    let tag = tag.filter(|tag| most_of_tag.is_exceeded(*measure, tag.at_least, heat, lines));
    let mut failures: Vec<_> = tag.iter().map(|tag| {
        format!(
            "tag {{{}}} holds {} of the {what}, all in slot {} (--max-tag {}): spread them over several tags",
            key_text::shown(&tag.tag),
            units::percent(share(tag.at_least, heat)),
            tag.slot,
            most_of_tag.share
        )
    }).collect();
    let slot = heat.top_slots(1).pop();
    let slot = slot.filter(|slot| most_of_slot.is_exceeded(*measure, slot.count, heat, lines));
    // A tag that was already reported explains its slot.
    let slot = slot.filter(|slot| tag.is_none_or(|tag| tag.slot != slot.slot));
    failures.extend(slot.map(|slot| {
        format!(
            "slot {} holds {} of the {what} (--max-slot {})",
            slot.slot,
            units::percent(share(slot.count, heat)),
            most_of_slot.share
        )
    }));
    failures
}

fn share(count: u64, heat: &Heat) -> f64 {
    if heat.total() == 0 {
        0.0
    } else {
        count as f64 / heat.total() as f64
    }
}

fn report(found: &Found, top: usize, failures: &[String]) -> Result<Report, Failure> {
    let json = json!({
        "lines": found.lines,
        "keys": found.keys,
        "groups": found.groups,
        "cross_slot": found.cross,
        "cross_slot_examples": found.examples.iter().map(example_json).collect::<Value>(),
        "measures": found.heats.iter().map(|heat| heat_json(heat, top)).collect::<Value>(),
        "passed": failures.is_empty(),
        "failed": failures.len(),
        "failures": failures,
        "ok": failures.is_empty(),
    });
    let mut report = Report::new(&json, for_programs(found, top))?.with_text([summary(found)]);
    if !found.examples.is_empty() {
        report = report.with_table(cross_table(found));
    }
    for (measure, heat) in &found.heats {
        let tags = heat.top_tags(top);
        if !tags.is_empty() {
            report = report.with_table(tag_table(*measure, heat, &tags));
        }
        report = report.with_table(slot_table(*measure, heat, &heat.top_slots(top)));
    }
    let verdict = if failures.is_empty() {
        vec!["All limits hold.".to_owned()]
    } else {
        failures
            .iter()
            .map(|failure| format!("Exceeds a limit: {failure}."))
            .collect()
    };
    Ok(report.with_text(verdict))
}

fn summary(found: &Found) -> String {
    let keys = units::counted(found.keys, "key");
    let used = found.heats[0].1.loads().iter().filter(|count| **count > 0);
    let used = units::counted(used.count() as u64, "slot");
    let groups = match found.groups {
        0 => String::new(),
        groups => format!(
            "; {} with several keys, {} of them across slots",
            units::counted(groups, "group"),
            units::count(found.cross)
        ),
    };
    format!("{keys} in {used} of 16,384{groups}.")
}

fn example_json((line, error): &(u64, Error)) -> Value {
    match error {
        Error::CrossSlot {
            first,
            first_slot,
            other,
            other_slot,
        } => json!({
            "line": line,
            "first": key_text::json(first),
            "first_slot": first_slot,
            "other": key_text::json(other),
            "other_slot": other_slot,
        }),
        _ => json!({ "line": line }),
    }
}

fn cross_table(found: &Found) -> Table {
    let columns = [
        Column::number("line", "line"),
        Column::text("first", "key"),
        Column::number("first_slot", "slot"),
        Column::text("other", "another key"),
        Column::number("other_slot", "slot"),
    ];
    let number = |value: u64| Cell::new(value, value.to_string());
    Table::new(columns).with_rows(found.examples.iter().filter_map(|(line, error)| {
        let Error::CrossSlot {
            first,
            first_slot,
            other,
            other_slot,
        } = error
        else {
            return None;
        };
        Some(vec![
            number(*line),
            Cell::text(key_text::shown(first)),
            number((*first_slot).into()),
            Cell::text(key_text::shown(other)),
            number((*other_slot).into()),
        ])
    }))
}

fn heat_json((measure, heat): &(Measure, Heat), top: usize) -> Value {
    let slots = heat.top_slots(top).into_iter().map(
        |hot| json!({ "slot": hot.slot, "amount": hot.count, "share": share(hot.count, heat) }),
    );
    let tags = heat.top_tags(top).into_iter().map(|hot| {
        json!({
            "tag": key_text::json(&hot.tag),
            "slot": hot.slot,
            "at_least": hot.at_least,
            "at_most": hot.at_most,
            "share": share(hot.at_least, heat),
        })
    });
    json!({
        "measure": name(*measure),
        "total": heat.total(),
        "tagged": heat.tagged(),
        "slots_used": heat.loads().iter().filter(|load| **load > 0).count(),
        "slots": slots.collect::<Value>(),
        "tags": tags.collect::<Value>(),
    })
}

fn shown(measure: Measure, amount: u64) -> Cell {
    Cell::new(
        amount,
        match measure {
            Measure::Bytes => units::size(amount as f64),
            Measure::Keys | Measure::Requests => units::count(amount),
        },
    )
}

fn slot_table(measure: Measure, heat: &Heat, slots: &[HotSlot]) -> Table {
    let columns = [
        Column::number("", "largest slots"),
        Column::number("", name(measure)),
        Column::number("", "share"),
    ];
    Table::new(columns).with_rows(slots.iter().map(|hot| {
        let share = units::percent(share(hot.count, heat));
        vec![
            Cell::text(hot.slot.to_string()),
            shown(measure, hot.count),
            Cell::text(share),
        ]
    }))
}

fn tag_table(measure: Measure, heat: &Heat, tags: &[HotTag]) -> Table {
    let columns = [
        Column::text("", "largest tags"),
        Column::number("", "slot"),
        Column::number("", name(measure)),
        Column::number("", "share"),
    ];
    Table::new(columns).with_rows(tags.iter().map(|hot| {
        vec![
            Cell::text(key_text::shown(&hot.tag)),
            Cell::text(hot.slot.to_string()),
            shown(measure, hot.at_least),
            Cell::text(units::percent(share(hot.at_least, heat))),
        ]
    }))
}

/// Builds the table for CSV: a row for each slot and each tag of each measure.
fn for_programs(found: &Found, top: usize) -> Table {
    let columns = ["measure", "tag", "slot", "amount", "share"];
    let mut table = Table::new(columns.map(|key| Column::text(key, key)));
    for (measure, heat) in &found.heats {
        let mut push = |tag: Cell, slot: u32, amount: u64| {
            table.push([
                Cell::text(name(*measure)),
                tag,
                Cell::new(slot, slot.to_string()),
                shown(*measure, amount),
                Cell::new(share(amount, heat), ""),
            ]);
        };
        for redis::HotTag {
            tag,
            slot,
            at_least,
            ..
        } in heat.top_tags(top)
        {
            push(Cell::text(key_text::shown(&tag)), slot, at_least);
        }
        for hot in heat.top_slots(top) {
            push(Cell::missing(), hot.slot, hot.count);
        }
    }
    table
}
