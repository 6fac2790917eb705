//! The load of each slot, from a file.

use std::io::{BufRead, Read};
use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use hashroute::redis::{Heat, SlotPlan, SlotRule};
use hashroute_harness::{FileKind, InputError, Keys, Rows};

use super::measure::{amounts, name};
use crate::app::keys::{self, Source};
use crate::args::{KEY_SOURCES, KeyArgs, Measure};
use crate::failure::Failure;

/// The number of keys in one batch.
const BATCH: usize = 16_384;
const COLUMNS: [&str; 2] = ["slot", "load"];

#[derive(Debug, Args)]
#[command(next_help_heading = "Loads")]
pub(crate) struct LoadArgs {
    /// Weigh slots by load, from a CSV file of slot,load or of key,size,requests; or give keys
    #[arg(long, value_name = "CSV", conflicts_with_all = KEY_SOURCES)]
    pub(crate) loads: Option<PathBuf>,
    /// The measure that counts [default: requests, bytes or keys, the first that the file has]
    #[arg(long, alias = "measure", value_name = "WHAT")]
    pub(crate) by: Option<Measure>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}

/// The load of each slot, and its measure.
pub(super) struct Loads {
    pub(super) of: Vec<u64>,
    pub(super) what: &'static str,
    /// The other measures of the slots.
    also: Vec<(&'static str, Vec<u64>)>,
}

impl Loads {
    /// Returns for each measure its name, how much of it a plan moves, and how much there is.
    pub(super) fn travel(&self, plan: &SlotPlan) -> Vec<(&'static str, u64, u64)> {
        let sum = |loads: &mut dyn Iterator<Item = u64>| loads.fold(0, u64::saturating_add);
        let first = (self.what, &self.of);
        let all = core::iter::once(first).chain(self.also.iter().map(|(what, of)| (*what, of)));
        let rows = all.map(|(what, of)| {
            let at = |slot: u32| of.get(slot as usize).copied().unwrap_or(0);
            let moved = sum(&mut plan.moves().map(|step| at(step.slot)));
            (what, moved, sum(&mut of.iter().copied()))
        });
        rows.collect()
    }
}

/// Reads the loads, if the options name a file.
pub(super) fn read(args: &LoadArgs) -> Result<Option<Loads>, Failure> {
    let LoadArgs { loads, by, keys } = args;
    match (loads, by) {
        (Some(path), by) => read_file(path, *by)
            .map(Some)
            .map_err(|error| Failure::file("--loads", path, error)),
        (None, by) if keys.is_given() => of_source(keys, *by).map(Some),
        (None, Some(_)) => Err(Failure::input(
            "--by: nothing to measure: expected --loads or keys, such as --scan FILE",
        )),
        (None, None) => Ok(None),
    }
}

/// Returns whether the options name loads.
pub(super) fn is_given(args: &LoadArgs) -> bool {
    args.loads.is_some() || args.keys.is_given()
}

fn read_file(path: &Path, by: Option<Measure>) -> Result<Loads, InputError> {
    let mut input = keys::open(path)?;
    let start = input.fill_buf()?;
    if let Some(kind) = FileKind::of(start).filter(|kind| *kind != FileKind::Csv) {
        let read = match kind {
            FileKind::Biggest => "; expected --bigkeys or --memkeys in place of --loads".into(),
            kind => kind.option().map_or_else(String::new, |option| {
                format!("; expected {option} in place of --loads")
            }),
        };
        return Err(InputError::Line {
            line: 1,
            problem: format!("this is {kind}{read}"),
        });
    }
    let header = start
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let is_slots = header
        .split(|byte| *byte == b',')
        .any(|field| field.trim_ascii() == b"slot");
    match by {
        _ if !is_slots => of_keys(input, by),
        None => of_slots(input),
        Some(by) => Err(InputError::Line {
            line: 1,
            problem: format!(
                "the file has slot,load: expected key,size,requests for --by {}",
                name(by)
            ),
        }),
    }
}

fn of_slots(input: impl Read) -> Result<Loads, InputError> {
    let mut rows = Rows::new(input, &COLUMNS)?;
    if !rows.has(1) {
        return Err(rows.wrong("no column \"load\": expected slot,load"));
    }
    let slots = SlotRule::REDIS.slots();
    let mut of = vec![None; slots as usize];
    while rows.advance()? {
        let slot = number(rows.field(0)).filter(|slot| *slot < u64::from(slots));
        let entry = slot.and_then(|slot| of.get_mut(usize::try_from(slot).ok()?));
        let load = number(rows.field(1));
        let expected = match (entry, load) {
            (None, _) => format!("a slot from 0 to {}", slots - 1),
            (_, None) => format!("a load that is a whole number from 0 to {}", u64::MAX),
            (Some(Some(_)), _) => "each slot once".into(),
            (Some(entry), load) => {
                *entry = load;
                continue;
            }
        };
        let found: Vec<_> = (0..2)
            .map(|i| String::from_utf8_lossy(rows.field(i).unwrap_or_default()))
            .collect();
        return Err(rows.wrong(format!("\"{}\": expected {expected}", found.join(","))));
    }
    let of = of.into_iter().map(Option::unwrap_or_default).collect();
    Ok(Loads {
        of,
        what: "load",
        also: Vec::new(),
    })
}

fn number(field: Option<&[u8]>) -> Option<u64> {
    core::str::from_utf8(field?).ok()?.trim().parse().ok()
}

fn of_keys(input: impl Read, by: Option<Measure>) -> Result<Loads, InputError> {
    let mut rows = Rows::new(input, &Keys::COLUMNS)?;
    let best = match (rows.has(2), rows.has(1)) {
        (true, _) => Measure::Requests,
        (false, true) => Measure::Bytes,
        (false, false) => Measure::Keys,
    };
    let by = by.unwrap_or(best);
    let column = match by {
        Measure::Keys => 0,
        Measure::Bytes => 1,
        Measure::Requests => 2,
    };
    if !rows.has(column) {
        let (what, by) = (Keys::COLUMNS[column], name(by));
        return Err(rows.wrong(format!("no column \"{what}\": expected it for --by {by}")));
    }
    let mut heats = Heats::default();
    loop {
        let keys = Keys::from_rows(&mut rows, BATCH)?;
        if keys.is_empty() {
            break;
        }
        heats.feed(&keys);
    }
    Ok(heats.finish(Some(by)).unwrap_or(Loads {
        of: vec![0; SlotRule::REDIS.slots() as usize],
        what: name(by),
        also: Vec::new(),
    }))
}

fn of_source(args: &KeyArgs, by: Option<Measure>) -> Result<Loads, Failure> {
    let source = Source::of(args)?;
    let mut heats = Heats::default();
    source.stream(&mut |keys| {
        heats.feed(keys);
        Ok(())
    })?;
    heats.finish(by).ok_or_else(|| {
        let by = by.map_or("keys", name);
        Failure::Input(format!(
            "{}: keys without {by}: expected another measure than --by {by}",
            source.named()
        ))
    })
}

/// Counts of each measure that the keys have.
#[derive(Default)]
struct Heats(Vec<(Measure, Heat)>);

impl Heats {
    fn feed(&mut self, keys: &Keys) {
        // The first that the keys have is the default.
        for measure in [Measure::Requests, Measure::Bytes, Measure::Keys] {
            let Some(amounts) = amounts(measure, keys) else {
                continue;
            };
            let at = self.0.iter().position(|(known, _)| *known == measure);
            let at = at.unwrap_or_else(|| {
                self.0.push((measure, Heat::new(SlotRule::REDIS, 1)));
                self.0.len() - 1
            });
            for (key, amount) in keys.iter().zip(amounts) {
                self.0[at].1.feed(key, amount);
            }
        }
    }

    /// Returns the loads by a measure; `None` if the keys do not have it.
    fn finish(mut self, by: Option<Measure>) -> Option<Loads> {
        let by = by.or(self.0.first().map(|(measure, _)| *measure))?;
        let at = self.0.iter().position(|(measure, _)| *measure == by)?;
        let (_, heat) = self.0.remove(at);
        let also = self.0.iter();
        Some(Loads {
            of: heat.loads().to_vec(),
            what: name(by),
            also: also
                .map(|(measure, heat)| (name(*measure), heat.loads().to_vec()))
                .collect(),
        })
    }
}
