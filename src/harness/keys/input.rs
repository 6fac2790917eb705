//! Keys from files: lines, CSV and JSON lines.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use std::io::{self, BufRead, Read};

use serde_json::Value;

use super::Keys;

/// Why keys could not be read. The message says where, and what would be right.
///
/// ```
/// use hashroute::harness::Keys;
///
/// let error = Keys::csv(&b"key,size\na,12\nb,many\n"[..]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 3: size \"many\" is not a number: expected a whole number from 0 to 18446744073709551615"
/// );
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum InputError {
    /// The input could not be read.
    Io(io::Error),
    /// A line is not what it should be.
    Line {
        /// Which, from 1.
        line: u64,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the keys could not be read: {error}"),
            Self::Line { line, problem } => write!(f, "line {line}: {problem}"),
        }
    }
}

impl core::error::Error for InputError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Line { .. } => None,
        }
    }
}

impl From<io::Error> for InputError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Keys {
    /// One key a line: its bytes as they are, the line feed removed and nothing else. A carriage
    /// return stays; an empty line is the empty key; the last line need not end.
    ///
    /// # Errors
    /// [`InputError::Io`].
    ///
    /// ```
    /// # use hashroute::harness::Keys;
    /// let keys = Keys::lines(&b"a\r\n\n\xff"[..])?;
    /// assert!(keys.iter().eq([&b"a\r"[..], b"", b"\xff"]));
    /// # Ok::<(), hashroute::harness::InputError>(())
    /// ```
    pub fn lines(mut input: impl BufRead) -> Result<Self, InputError> {
        let mut keys = Self::default();
        while input.read_until(b'\n', &mut keys.bytes)? > 0 {
            if keys.bytes.last() == Some(&b'\n') {
                keys.bytes.pop();
            }
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }

    /// Comma separated values with a header: `key` and, where known, `size` (the bytes it
    /// stores) and `requests`. Other columns are passed over. Keys need not be UTF-8.
    ///
    /// # Errors
    /// [`InputError::Line`] for a header without `key`, a line with too few or too many fields,
    /// and a size or a number of requests that is not a whole number; [`InputError::Io`].
    ///
    /// ```
    /// # use hashroute::harness::Keys;
    /// let keys = Keys::csv(&b"key,size\na,10\n\"b,c\",20\n"[..])?;
    /// assert!(keys.iter().eq([&b"a"[..], b"b,c"]));
    /// assert_eq!((keys.sizes(), keys.requests()), (Some(&[10, 20][..]), None));
    /// # Ok::<(), hashroute::harness::InputError>(())
    /// ```
    pub fn csv(mut input: impl Read) -> Result<Self, InputError> {
        let mut text = Vec::new();
        input.read_to_end(&mut text)?;
        let mut reader = csv::Reader::from_reader(text.as_slice());
        let header = reader
            .byte_headers()
            .map_err(|error| csv_error(&text, error))?;
        let columns = Columns::find(header)?;
        let mut keys = Self {
            sizes: columns.size.map(|_| Vec::new()),
            requests: columns.requests.map(|_| Vec::new()),
            ..Self::default()
        };
        for record in reader.byte_records() {
            let record = record.map_err(|error| csv_error(&text, error))?;
            let added = keys.push_record(&record, &columns);
            added.map_err(|problem| at(&text, record.position(), problem))?;
        }
        Ok(keys)
    }

    /// One JSON value a line: a string means its UTF-8 bytes, `{"hex":"8b"}` raw bytes.
    ///
    /// # Errors
    /// [`InputError::Line`] for a line that is neither; [`InputError::Io`].
    ///
    /// ```
    /// # use hashroute::harness::Keys;
    /// let keys = Keys::jsonl(&b"\"user:1\"\n{\"hex\":\"8b00\"}\n"[..])?;
    /// assert!(keys.iter().eq([&b"user:1"[..], &[0x8b, 0]]));
    /// # Ok::<(), hashroute::harness::InputError>(())
    /// ```
    pub fn jsonl(input: impl BufRead) -> Result<Self, InputError> {
        let mut keys = Self::default();
        for (line, text) in (1..).zip(input.split(b'\n')) {
            let key = json_key(&text?).map_err(|problem| InputError::Line { line, problem })?;
            keys.push(&key);
        }
        Ok(keys)
    }

    fn push_record(&mut self, record: &csv::ByteRecord, columns: &Columns) -> Result<(), String> {
        let field = |column: usize| record.get(column).unwrap_or_default();
        self.bytes.extend_from_slice(field(columns.key));
        self.ends.push(self.bytes.len());
        if let Some((sizes, column)) = self.sizes.as_mut().zip(columns.size) {
            sizes.push(number(field(column), "size")?);
        }
        if let Some((requests, column)) = self.requests.as_mut().zip(columns.requests) {
            requests.push(number(field(column), "requests")?);
        }
        Ok(())
    }
}

/// Where the columns of a CSV file are.
struct Columns {
    key: usize,
    size: Option<usize>,
    requests: Option<usize>,
}

impl Columns {
    fn find(header: &csv::ByteRecord) -> Result<Self, InputError> {
        let wrong = |problem| InputError::Line { line: 1, problem };
        let find = |name: &str| {
            let mut places =
                (0..header.len()).filter(|&at| header.get(at) == Some(name.as_bytes()));
            match (places.next(), places.next()) {
                (_, Some(_)) => Err(wrong(format!(
                    "the header names {name:?} twice: expected it once"
                ))),
                (place, None) => Ok(place),
            }
        };
        let missing =
            "the header has no column \"key\": expected key and, where known, size and requests";
        let key = find("key")?.ok_or_else(|| wrong(missing.to_owned()))?;
        Ok(Self {
            key,
            size: find("size")?,
            requests: find("requests")?,
        })
    }
}

fn number(field: &[u8], name: &str) -> Result<u64, String> {
    let text = core::str::from_utf8(field).unwrap_or_default();
    text.trim().parse().map_err(|_| {
        let (shown, most) = (field.escape_ascii(), u64::MAX);
        format!("{name} \"{shown}\" is not a number: expected a whole number from 0 to {most}")
    })
}

/// The line of a record. The reader's own count stops before the empty lines that it skips.
fn at(text: &[u8], position: Option<&csv::Position>, problem: String) -> InputError {
    let start = position.and_then(|position| usize::try_from(position.byte()).ok());
    let start = start.unwrap_or(0).min(text.len());
    let skipped = text[start..]
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'))
        .count();
    let line = text[..start + skipped].split(|byte| *byte == b'\n').count() as u64;
    InputError::Line { line, problem }
}

fn csv_error(text: &[u8], error: csv::Error) -> InputError {
    let position = error.position().cloned();
    let problem = match error.into_kind() {
        csv::ErrorKind::Io(error) => return InputError::Io(error),
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!(
                "{len} fields: expected {expected_len}, as in the header (quote a key with a comma)"
            )
        }
        other => format!("not CSV ({other:?}): expected a header and one key a line"),
    };
    at(text, position.as_ref(), problem)
}

fn json_key(line: &[u8]) -> Result<Vec<u8>, String> {
    const RIGHT: &str = "expected a string, or {\"hex\":\"…\"} with two digits a byte";
    match serde_json::from_slice(line) {
        Ok(Value::String(text)) => Ok(text.into_bytes()),
        Ok(Value::Object(object)) if object.len() == 1 => {
            let hex = object
                .get("hex")
                .and_then(Value::as_str)
                .and_then(bytes_of_hex);
            hex.ok_or_else(|| format!("not a key: {RIGHT}"))
        }
        Ok(_) => Err(format!("not a key: {RIGHT}")),
        Err(error) => Err(format!("not JSON ({error}): {RIGHT}")),
    }
}

fn bytes_of_hex(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    };
    hex.as_bytes().chunks(2).map(byte).collect()
}
