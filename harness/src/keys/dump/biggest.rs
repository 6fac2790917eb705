//! `redis-cli --bigkeys`, `--memkeys` and `--keystats`: the largest keys, and sums over all keys.

use std::collections::BTreeSet;

use super::format::{DumpFormat, DumpRow, Parsed, Whole};
use super::text::{digits, shown, split, trimmed};
use hashroute::redis::unquote;

/// The most keys that are kept to recognise repetitions: far more than such a list holds.
const MOST: usize = 1 << 20;

/// The units of sizes; `?` for the types of modules.
const UNITS: [&[u8]; 6] = [b"bytes", b"items", b"fields", b"members", b"entries", b"?"];

#[derive(Debug)]
pub(super) struct Biggest {
    format: DumpFormat,
    /// Keys that were listed. A key that was the largest for a while is repeated in the summary.
    seen: BTreeSet<Vec<u8>>,
    /// Whether the current lines of `--keystats` list the largest keys.
    in_top: bool,
    keys: Option<u64>,
    bytes: Option<u64>,
    interrupted: bool,
}

impl Biggest {
    pub(super) fn new(format: DumpFormat) -> Self {
        Self {
            format,
            seen: BTreeSet::new(),
            in_top: false,
            keys: None,
            bytes: None,
            interrupted: false,
        }
    }

    pub(super) fn line(&mut self, line: &[u8]) -> Parsed {
        let line = without_escapes(trimmed(line));
        let line = line.as_slice();
        let row = match self.format {
            DumpFormat::KeyStats => self.key_stats(line)?,
            _ => self.big_keys(line)?,
        };
        let Some(row) = row else { return Ok(None) };
        if self.seen.len() >= MOST {
            return Err(format!(
                "more than {MOST} keys: expected a list of the largest keys"
            ));
        }
        Ok(self.seen.insert(row.key.clone()).then_some(row))
    }

    fn big_keys(&mut self, line: &[u8]) -> Parsed {
        let interrupted = line.starts_with(b"[");
        let line = without_progress(line);
        if let Some(rest) = line.strip_prefix(b"Biggest ") {
            return biggest(rest).map(Some).ok_or_else(|| {
                wrong(
                    line,
                    "Biggest TYPE found 'KEY' has N bytes, items, fields, members or entries",
                )
            });
        }
        if let Some(count) = number_in(line, "Sampled ", " keys in the keyspace!") {
            (self.keys, self.interrupted) = (Some(count), interrupted);
        } else if let Some(count) = number_in(line, "Keys sampled: ", "") {
            self.keys = Some(count);
        } else if let Some(bytes) = type_bytes(line) {
            let sum = self.bytes.unwrap_or(0).checked_add(bytes);
            // `--bigkeys` sums elements, not bytes, for some types.
            self.bytes = sum.filter(|_| self.format == DumpFormat::MemKeys);
        } else if !is_beside(line) {
            return Err(wrong(line, "what redis-cli prints"));
        }
        Ok(None)
    }

    fn key_stats(&mut self, line: &[u8]) -> Parsed {
        if line.starts_with(b"--- ") {
            self.in_top = line.starts_with(b"--- Top ") && line.ends_with(b" key sizes ---");
        } else if self.in_top && !line.is_empty() {
            return top_row(line)
                .map(Some)
                .ok_or_else(|| wrong(line, "1 5.07K string \"KEY\""));
        } else if let Some(count) = number_in(line, "Keys sampled: ", "") {
            self.keys = Some(count);
        } else if let Some(size) = line.strip_prefix(b"Keys size:") {
            self.bytes = human(size.trim_ascii());
        } else if line.starts_with(b"Scan interrupted") {
            self.interrupted = true;
        } else {
            self.in_top &= !line.is_empty();
        }
        Ok(None)
    }

    pub(super) fn finish(self, listed: u64) -> Whole {
        let mut limits = Vec::new();
        limits.push(match self.keys {
            Some(keys) => format!(
                "only the largest keys are listed, {listed} of {keys}; figures cover only these"
            ),
            None => format!(
                "the end is missing, which states the number of keys; {listed} are listed, the largest so far"
            ),
        });
        if self.interrupted {
            limits.push("the scan was interrupted".into());
        }
        if self.format == DumpFormat::KeyStats {
            limits.push("sizes are rounded to a hundredth of K, M or G".into());
        }
        Whole {
            keys: self.keys,
            bytes: self.bytes,
            partial: self.keys.is_none_or(|keys| keys > listed) || self.interrupted,
            limits,
        }
    }
}

pub(super) fn wrong(line: &[u8], expected: &str) -> String {
    format!("\"{}\": expected {expected}", shown(line))
}

/// Reads `string found so far '"user:34"' with 104 bytes` and `string found '"user:34"' has 104
/// bytes`. Redis 7.4 dropped the single quotes, and the double quotes came with Redis 6.
fn biggest(rest: &[u8]) -> Option<DumpRow> {
    let (_, rest) = split(rest, "found ")?;
    let rest = rest.strip_prefix(b"so far ").unwrap_or(rest);
    let words = [" with ", " has "];
    let end = words
        .iter()
        .filter_map(|word| memchr::memmem::rfind(rest, word.as_bytes()))
        .max()?;
    let (key, size) = rest.split_at(end);
    let mut words = size.split(|byte| *byte == b' ').skip(2);
    let size = digits(words.next()?)?;
    let unit = words.next().filter(|unit| UNITS.contains(unit))?;
    let bare = key
        .strip_prefix(b"'")
        .and_then(|key| key.strip_suffix(b"'"));
    let key = match (unquote(bare.unwrap_or(key)), bare) {
        (Some(key), _) => key,
        // A quoted key without a closing quote was cut off.
        (None, Some(key)) if !key.starts_with(b"\"") => key.to_vec(),
        _ => return None,
    };
    Some(DumpRow {
        key,
        size: (unit == UNITS[0]).then_some(size),
        requests: None,
    })
}

/// Reads ` 1 5.07K string "user:34"`.
fn top_row(line: &[u8]) -> Option<DumpRow> {
    let quote = line.iter().position(|byte| *byte == b'"')?;
    let (before, key) = line.split_at(quote);
    let mut words = before.split(|byte| *byte == b' ').filter(|w| !w.is_empty());
    digits(words.next()?)?;
    let size = human(words.next()?)?;
    Some(DumpRow {
        key: unquote(key)?,
        size: Some(size),
        requests: None,
    })
}

/// Reads `65B`, `5.07K` or `1.20G`: up to two decimals, in powers of 1024.
fn human(text: &[u8]) -> Option<u64> {
    const POWERS: &[u8] = b"BKMGTPE";
    let power = POWERS.iter().position(|power| text.last() == Some(power))?;
    let number = &text[..text.len() - 1];
    let (whole, decimals) = split(number, ".").unwrap_or((number, b"0"));
    let hundredths = match decimals {
        [tens] => digits(&[*tens])?.checked_mul(10)?,
        [_, _] => digits(decimals)?,
        _ => return None,
    };
    let hundredths = digits(whole)?.checked_mul(100)?.checked_add(hundredths)?;
    let bytes = (u128::from(hundredths) << (10 * power)) + 50;
    u64::try_from(bytes / 100).ok()
}

/// Reads the 8856 of `44 strings with 8856 bytes (89.80% of keys, avg size 201.27)`.
fn type_bytes(line: &[u8]) -> Option<u64> {
    let (kind, rest) = split(line, "s with ")?;
    let mut words = kind.splitn(2, |byte| *byte == b' ');
    digits(words.next()?)?;
    let (sum, rest) = split(rest, " ")?;
    split(rest, "% of keys, avg size ")?;
    digits(sum)
}

/// Returns whether a line names no key: it is empty, a comment, progress, a sum of lengths or a
/// warning.
pub(super) fn is_beside(line: &[u8]) -> bool {
    let starts: [&[u8]; 5] = [
        b"#",
        b"-------- summary",
        b"Total key length in bytes is ",
        b"Sampled ",
        b"Warning: ",
    ];
    line.is_empty() || starts.iter().any(|start| line.starts_with(start)) || is_bar(line)
}

/// Returns whether a line is `100.00% ||||||------` or `100.00% keys scanned`.
fn is_bar(line: &[u8]) -> bool {
    let (percent, bar) = split(line.trim_ascii_start(), "% ").unwrap_or_default();
    let number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let drawn = |byte: &u8| b"|-".contains(byte);
    !percent.is_empty()
        && percent.iter().all(number)
        && (bar == b"keys scanned" || bar.iter().all(drawn))
}

pub(super) fn number_in(line: &[u8], before: &str, after: &str) -> Option<u64> {
    let rest = line.strip_prefix(before.as_bytes())?;
    digits(rest.strip_suffix(after.as_bytes())?)
}

/// Removes `[12.34%] ` from the start of a line.
pub(super) fn without_progress(line: &[u8]) -> &[u8] {
    let rest = line
        .strip_prefix(b"[")
        .and_then(|rest| split(rest, "%] "))
        .map(|(_, rest)| rest);
    rest.unwrap_or(line)
}

/// Removes terminal control sequences: escape, bracket, up to a letter.
pub(super) fn without_escapes(line: &[u8]) -> Vec<u8> {
    let mut pieces = line.split(|byte| *byte == 0x1b);
    let mut text = pieces.next().unwrap_or_default().to_vec();
    for piece in pieces {
        let end = piece.iter().position(u8::is_ascii_alphabetic);
        text.extend_from_slice(end.map_or(&[], |end| &piece[end + 1..]));
    }
    let moved = text.iter().rposition(|byte| *byte == b'\r');
    text.drain(..moved.map_or(0, |at| at + 1));
    text
}
