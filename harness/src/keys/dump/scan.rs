//! `redis-cli --scan`, and the replies to `SCAN` and `KEYS` as `redis-cli` prints them: numbered and quoted on
//! a terminal or with `--no-raw`, otherwise raw, one key a line.
//!
//! The first line decides which. In raw replies a line of digits is taken for a cursor: nothing
//! tells it from a key of digits. Raw keys are complete if they hold no line feed and, with
//! `--scan` of Redis 7.0, no zero byte; quoted keys are always complete.

use super::format::{DumpRow, Parsed, Whole};
use super::text::{digits, shown, split, trimmed};
use hashroute::redis::unquote;

#[derive(Debug, Default)]
pub(super) struct Scan {
    shape: Option<Shape>,
    /// The number of cursors, and the last one.
    cursors: u64,
    last: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Replies: `1) "62"`, then `2)  1) "user:34"`.
    Numbered,
    /// The reply to `KEYS` on a terminal: `1) "user:34"`, then `2) "user:35"`.
    Listed,
    /// `--scan` on a terminal: each key in quotes.
    Quoted,
    /// `--scan` in a pipe: each line is a key.
    Plain,
    /// Replies in a pipe: a cursor, then each line is a key.
    Cursors,
}

impl Scan {
    pub(super) fn line(&mut self, line: &[u8]) -> Parsed {
        let shape = match self.shape {
            Some(shape) => shape,
            None if trimmed(line).is_empty() || is_prompt(line) => return Ok(None),
            None if is_json(trimmed(line)) => return Err(JSON.into()),
            None => *self.shape.insert(Shape::of(trimmed(line))),
        };
        match shape {
            Shape::Plain => key(Some(line.to_vec()), line),
            Shape::Quoted if trimmed(line).is_empty() => Ok(None),
            Shape::Quoted => key(unquote(trimmed(line)), line),
            Shape::Listed if trimmed(line).is_empty() || is_prompt(line) => Ok(None),
            Shape::Listed => key(label(trimmed(line)).and_then(|(_, key)| unquote(key)), line),
            Shape::Cursors => self.raw(line),
            Shape::Numbered => self.numbered(trimmed(line)),
        }
    }

    fn raw(&mut self, line: &[u8]) -> Parsed {
        match digits(line) {
            Some(cursor) => self.cursor(cursor),
            // `redis-cli` prints an empty list as an empty line.
            None if line.is_empty() => {}
            None => return key(Some(line.to_vec()), line),
        }
        Ok(None)
    }

    fn numbered(&mut self, line: &[u8]) -> Parsed {
        if line.is_empty() || is_prompt(line) {
            return Ok(None);
        }
        let Some((number, value)) = label(line) else {
            return Err(wrong(line));
        };
        let within = line.starts_with(b" ");
        match (label(value), number) {
            (Some((_, value)), 2) if !within => key(unquote(value), line),
            (None, _) if within => key(unquote(value), line),
            (None, 1) => {
                let cursor = unquote(value).as_deref().and_then(digits);
                self.cursor(cursor.ok_or_else(|| wrong(line))?);
                Ok(None)
            }
            (None, 2) if value.starts_with(b"(empty ") => Ok(None),
            _ => Err(wrong(line)),
        }
    }

    fn cursor(&mut self, cursor: u64) {
        self.cursors += 1;
        self.last = Some(cursor);
    }

    pub(super) fn finish(self) -> Whole {
        let mut whole = Whole::default();
        if matches!(self.shape, Some(Shape::Cursors)) {
            let count = self.cursors;
            whole.limits.push(format!(
                "the first line is a cursor, so lines of digits ({count}) are read as cursors, not keys; redis-cli --no-raw distinguishes them"
            ));
        }
        if let Some(last) = self.last.filter(|&last| last != 0) {
            whole.partial = true;
            whole.limits.push(format!(
                "the last cursor is {last}: expected 0, so the scan is not complete"
            ));
        }
        whole
    }
}

impl Shape {
    fn of(first: &[u8]) -> Self {
        // A cursor is a number. A list that starts with a key of digits is told from it by nothing
        // on its line: its second line is refused.
        let listed = label(first).and_then(|(_, value)| unquote(value));
        if listed.is_some_and(|value| digits(&value).is_none()) {
            Self::Listed
        } else if first.starts_with(b"1)") {
            Self::Numbered
        } else if first.starts_with(b"\"") {
            Self::Quoted
        } else if digits(first).is_some() {
            Self::Cursors
        } else {
            Self::Plain
        }
    }
}

fn key(key: Option<Vec<u8>>, line: &[u8]) -> Parsed {
    match key {
        Some(key) => Ok(Some(DumpRow {
            key,
            size: None,
            requests: None,
        })),
        None => Err(wrong(line)),
    }
}

/// The error for the output of `redis-cli --json` and `--quoted-json`.
const JSON: &str = "this is JSON of a cursor and keys: expected redis-cli without --json";

/// Returns whether a line is a JSON array of a cursor and an array.
fn is_json(line: &[u8]) -> bool {
    let cursor = line.strip_prefix(b"[\"");
    let after = cursor.and_then(|rest| {
        let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        rest[end..].strip_prefix(b"\",").filter(|_| end > 0)
    });
    after.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"[") && line.ends_with(b"]]"))
}

fn wrong(line: &[u8]) -> String {
    format!(
        "\"{}\" is neither a cursor nor a key: expected 1) \"62\", 2) 1) \"key\" or \"key\"",
        shown(line)
    )
}

/// Returns the number and the value of ` 12) value`.
fn label(line: &[u8]) -> Option<(u64, &[u8])> {
    let line = line.trim_ascii_start();
    let end = line.iter().position(|byte| !byte.is_ascii_digit())?;
    let value = line[end..].strip_prefix(b") ")?;
    Some((digits(&line[..end])?, value))
}

/// Returns whether a line is a prompt, such as `127.0.0.1:6379> scan 0`.
fn is_prompt(line: &[u8]) -> bool {
    let command = split(line, "> ").map(|(_, command)| command);
    let name = command.and_then(|command| command.get(..5));
    name.is_some_and(|name| name.eq_ignore_ascii_case(b"scan "))
}
