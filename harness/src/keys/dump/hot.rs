//! `redis-cli --hotkeys`: the keys with the highest access counters.

use std::collections::BTreeSet;

use super::biggest::{is_beside, number_in, without_escapes, without_progress, wrong};
use super::format::{DumpRow, Parsed, Whole};
use super::text::{digits, split, trimmed};
use hashroute::redis::unquote;

/// The most keys of a list, far more than `redis-cli` lists.
const MOST: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Hot {
    /// Keys that were listed. The summary repeats them.
    seen: BTreeSet<Vec<u8>>,
    keys: Option<u64>,
    interrupted: bool,
}

impl Hot {
    pub(super) fn line(&mut self, line: &[u8]) -> Parsed {
        let line = without_escapes(trimmed(line));
        let interrupted = line.starts_with(b"[");
        let line = without_progress(&line);
        if line.starts_with(b"Hot key ") || line.starts_with(b"hot key found with counter: ") {
            let row = so_far(line).or_else(|| at_the_end(line));
            let row = row.ok_or_else(|| wrong(line, "a key in quotes and its counter"))?;
            if self.seen.len() >= MOST {
                return Err(format!(
                    "more than {MOST} keys: expected a list of the hottest keys"
                ));
            }
            return Ok(self.seen.insert(row.key.clone()).then_some(row));
        }
        if let Some(count) = number_in(line, "Sampled ", " keys in the keyspace!") {
            (self.keys, self.interrupted) = (Some(count), interrupted);
        } else if let Some(count) = number_in(line, "Keys sampled: ", "") {
            self.keys = Some(count);
        } else if !is_beside(line) {
            return Err(wrong(line, "what redis-cli --hotkeys prints"));
        }
        Ok(None)
    }

    pub(super) fn finish(self, listed: u64) -> Whole {
        let mut limits = vec![match self.keys {
            Some(keys) => format!(
                "only the hottest keys are listed, {listed} of {keys}; figures cover only these"
            ),
            None => format!(
                "the end is missing, which states the number of keys; {listed} are listed, the hottest so far"
            ),
        }];
        limits.push(
            "counters stand for requests, but grow with their logarithm (0 to 255): the real shares differ more".into(),
        );
        if self.interrupted {
            limits.push("the scan was interrupted".into());
        }
        Whole {
            keys: self.keys,
            bytes: None,
            partial: self.keys.is_none_or(|keys| keys > listed) || self.interrupted,
            limits,
        }
    }
}

/// Reads `Hot key '"user:77"' found so far with counter 13`.
fn so_far(line: &[u8]) -> Option<DumpRow> {
    let rest = line.strip_prefix(b"Hot key ")?;
    let end = memchr::memmem::rfind(rest, b" found so far with counter ")?;
    let (key, rest) = rest.split_at(end);
    let (_, counter) = split(rest, "counter ")?;
    let bare = key
        .strip_prefix(b"'")
        .and_then(|key| key.strip_suffix(b"'"));
    row(bare.unwrap_or(key), counter)
}

/// Reads `hot key found with counter: 13`, a tab, and `keyname: "user:77"`.
fn at_the_end(line: &[u8]) -> Option<DumpRow> {
    let rest = line.strip_prefix(b"hot key found with counter: ")?;
    let (counter, key) = split(rest, "keyname: ")?;
    row(key, counter.trim_ascii())
}

/// The names are quoted since Redis 6.
fn row(key: &[u8], counter: &[u8]) -> Option<DumpRow> {
    let key = match unquote(key) {
        Some(key) => key,
        None if !key.is_empty() && !key.starts_with(b"\"") => key.to_vec(),
        None => return None,
    };
    Some(DumpRow {
        key,
        size: None,
        requests: Some(digits(counter)?),
    })
}
