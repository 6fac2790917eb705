//! The load of each slot, from a file.

use std::io::{BufRead, Read};
use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use hashroute::redis::{Heat, SlotRule};
use hashroute_harness::{InputError, Keys, Rows};

use super::measure::{amounts, name};
use crate::app::keys;
use crate::args::Measure;
use crate::failure::Failure;

/// The number of keys in one batch.
const BATCH: usize = 16_384;
const COLUMNS: [&str; 2] = ["slot", "load"];

#[derive(Debug, Args)]
#[command(next_help_heading = "Loads")]
pub(crate) struct LoadArgs {
    /// Weigh slots by load, from a CSV file of slot,load or of key,size,requests
    #[arg(long, value_name = "CSV")]
    pub(crate) loads: Option<PathBuf>,
    /// The measure that counts [default: requests, bytes or keys, the first that the file has]
    #[arg(long, value_name = "WHAT", requires = "loads")]
    pub(crate) by: Option<Measure>,
}

/// The load of each slot, and its measure.
pub(super) struct Loads {
    pub(super) of: Vec<u64>,
    pub(super) what: &'static str,
}

/// Reads the loads, if the options name a file.
pub(super) fn read(args: &LoadArgs) -> Result<Option<Loads>, Failure> {
    let Some(path) = args.loads.as_deref() else {
        return Ok(None);
    };
    let loads = read_file(path, args.by);
    loads
        .map(Some)
        .map_err(|error| Failure::file("--loads", path, error))
}

fn read_file(path: &Path, by: Option<Measure>) -> Result<Loads, InputError> {
    let mut input = keys::open(path)?;
    let start = input.fill_buf()?;
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
    Ok(Loads { of, what: "load" })
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
    let mut heat = Heat::new(SlotRule::REDIS, 1);
    loop {
        let keys = Keys::from_rows(&mut rows, BATCH)?;
        let Some(amounts) = amounts(by, &keys).filter(|_| !keys.is_empty()) else {
            break;
        };
        for (key, amount) in keys.iter().zip(amounts) {
            heat.feed(key, amount);
        }
    }
    Ok(Loads {
        of: heat.loads().to_vec(),
        what: name(by),
    })
}
