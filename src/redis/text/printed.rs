//! Replies as `redis-cli` prints them to a terminal.
//!
//! An element is `number) value`, a pair is `number# key => value`. All numbers of one list end in
//! the same column: the column shows where a nested list ends.

use alloc::vec::Vec;

use super::quoted::unquote;
use super::reply::MAX_DEPTH;
use super::{Reply, check_size, wrong};
use crate::Error;

impl Reply {
    /// Reads the output of `redis-cli --no-raw`, which [`Display`](core::fmt::Display) writes.
    /// Linear in the text.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] with the line; [`Error::Capacity`] beyond 64 MiB.
    ///
    /// ```
    /// use hashroute::redis::Reply;
    ///
    /// let text = "1) 1) (integer) 0\n   2) (nil)\n2) \"\\xff\"\n";
    /// assert_eq!(Reply::from_printed(text)?.to_string(), text);
    /// assert!(Reply::from_printed("1) what").is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn from_printed(text: &str) -> Result<Self, Error> {
        check_size(text)?;
        let lines: Vec<&str> = text.lines().collect();
        let mut reader = Reader { lines, line: 0 };
        // Blank lines stand where a prompt was.
        while reader
            .lines
            .get(reader.line)
            .is_some_and(|line| line.trim().is_empty())
        {
            reader.line += 1;
        }
        let reply = reader.value(0, 0)?;
        while let Some(line) = reader.lines.get(reader.line) {
            if !line.trim().is_empty() {
                return Err(reader.wrong("the end of the text, or the next number of the list"));
            }
            reader.line += 1;
        }
        Ok(reply)
    }
}

/// Returns the lines where the elements of the outermost list begin, counted from 1.
pub(super) fn starts(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let mut reader = Reader { lines, line: 0 };
    let (mut starts, mut end) = (Vec::new(), None);
    while reader.line < reader.lines.len() {
        let label = reader.label(0);
        if label.is_some_and(|label| *end.get_or_insert(label.end) == label.end) {
            starts.push(reader.line + 1);
        }
        reader.line += 1;
    }
    starts
}

struct Reader<'t> {
    lines: Vec<&'t str>,
    /// The index of the current line, from 0.
    line: usize,
}

/// The text before an element, such as `  12) `.
struct Label {
    number: usize,
    mark: u8,
    /// The column after it.
    end: usize,
}

impl<'t> Reader<'t> {
    fn wrong(&self, expected: &str) -> Error {
        wrong(self.line + 1, alloc::format!("expected {expected}"))
    }

    fn rest(&self, column: usize) -> &'t str {
        let line = self.lines.get(self.line).copied();
        line.and_then(|line| line.get(column..)).unwrap_or("")
    }

    /// Reads the label at `column`, after any spaces.
    fn label(&self, column: usize) -> Option<Label> {
        let rest = self.rest(column).as_bytes();
        let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
        let digits = rest[spaces..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let length = digits.count();
        let text = core::str::from_utf8(&rest[spaces..spaces + length]).ok()?;
        let [mark @ (b')' | b'#' | b'~'), b' ', ..] = rest[spaces + length..] else {
            return None;
        };
        Some(Label {
            number: text.parse().ok()?,
            mark,
            end: column + spaces + length + 2,
        })
    }

    fn value(&mut self, column: usize, depth: usize) -> Result<Reply, Error> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("at most 32 nested lists"));
        }
        match self.label(column) {
            Some(label) if label.mark == b'#' => self.map(&label, depth),
            Some(label) => self.array(&label, depth),
            None => {
                let value = scalar(self.rest(column));
                let value = value.ok_or_else(|| self.wrong(SCALAR))?;
                self.line += 1;
                Ok(value)
            }
        }
    }

    fn array(&mut self, first: &Label, depth: usize) -> Result<Reply, Error> {
        let mut items = Vec::new();
        self.check(first, 1)?;
        loop {
            items.push(self.value(first.end, depth + 1)?);
            if !self.goes_on(first, items.len() + 1)? {
                return Ok(Reply::Array(items));
            }
        }
    }

    fn map(&mut self, first: &Label, depth: usize) -> Result<Reply, Error> {
        let mut pairs = Vec::new();
        self.check(first, 1)?;
        loop {
            let entry = self.rest(first.end);
            let (key, value) = split_pair(entry).ok_or_else(|| self.wrong("key => value"))?;
            let key = scalar(key).ok_or_else(|| self.wrong(SCALAR))?;
            let value = match value.trim() {
                "" => {
                    self.line += 1;
                    self.value(first.end, depth + 1)?
                }
                value => {
                    let value = scalar(value).ok_or_else(|| self.wrong(SCALAR))?;
                    self.line += 1;
                    value
                }
            };
            pairs.push((key, value));
            if !self.goes_on(first, pairs.len() + 1)? {
                return Ok(Reply::Map(pairs));
            }
        }
    }

    /// Returns whether this line has the next element of the list that `first` started.
    fn goes_on(&self, first: &Label, number: usize) -> Result<bool, Error> {
        match self.label(0) {
            Some(label) if label.end == first.end => self.check(&label, number).map(|()| true),
            _ => Ok(false),
        }
    }

    fn check(&self, label: &Label, number: usize) -> Result<(), Error> {
        if label.number == number {
            return Ok(());
        }
        Err(self.wrong(&alloc::format!("{number} as the number of the element")))
    }
}

/// Splits a pair at its arrow into key and value. A quoted key may contain an arrow.
fn split_pair(entry: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let quote = |byte: u8| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    };
    let end = match entry.strip_prefix('"') {
        Some(rest) => rest.bytes().position(quote)? + 2,
        None => entry.find(" =>")?,
    };
    let (key, rest) = entry.split_at_checked(end)?;
    Some((key, rest.strip_prefix(" =>")?))
}

const SCALAR: &str = "(integer) n, (nil), (empty array) or a quoted string";

fn scalar(text: &str) -> Option<Reply> {
    let text = text.trim();
    match text {
        "(nil)" => return Some(Reply::Null),
        "(empty array)" | "(empty list or set)" | "(empty set)" => {
            return Some(Reply::Array(Vec::new()));
        }
        "(empty hash)" => return Some(Reply::Map(Vec::new())),
        _ => {}
    }
    if let Some(number) = text.strip_prefix("(integer) ") {
        return number.parse().ok().map(Reply::Integer);
    }
    unquote(text.as_bytes()).map(|bytes| Reply::Bytes(bytes.into()))
}
