//! Keys from files: lines, CSV and JSON lines.

use std::io::{BufRead, Read};

use serde_json::Value;

use super::error::{Bad, InputError, LONGEST, reason, too_long};
use super::list::Keys;
use super::rows::Rows;

/// A UTF-8 byte order mark, which some programs write at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
impl Keys {
    /// Reads one key from each line: the bytes before the line feed, unchanged. A carriage return
    /// belongs to the key, an empty line is the empty key, and the last line needs no line feed.
    ///
    /// # Errors
    /// [`InputError::Io`].
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// let keys = Keys::lines(&b"a\r\n\n\xff"[..])?;
    /// assert!(keys.iter().eq([&b"a\r"[..], b"", b"\xff"]));
    /// # Ok::<(), hashroute_harness::InputError>(())
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

    /// Reads as [`lines`](Self::lines) does, from line `first` of a file on. Passes lines that are
    /// too long to `bad`.
    pub(crate) fn read_lines(
        input: impl BufRead,
        first: u64,
        bad: Bad,
    ) -> Result<Self, InputError> {
        let mut keys = Self::lines(input)?;
        let is_long = |key: &[u8]| key.len() > LONGEST;
        if keys.iter().any(is_long) {
            let all = core::mem::take(&mut keys);
            for (line, key) in (first..).zip(all.iter()) {
                if is_long(key) {
                    let problem = too_long();
                    bad(InputError::Line { line, problem })?;
                } else {
                    keys.push(key);
                }
            }
        }
        Ok(keys)
    }

    /// The columns of a CSV file of keys: `key`, `size` and `requests`.
    pub const COLUMNS: [&str; 3] = ["key", "size", "requests"];

    /// Reads comma-separated values with a header. The column `key` is required; `size`, the bytes
    /// that the key stores, and `requests` are optional. Keys need not be UTF-8.
    ///
    /// # Errors
    /// [`InputError::Line`] for a header without `key` or with other columns, a row with too few or
    /// too many fields, a size or a number of requests that is not a whole number, and sums of 2^64
    /// or more; [`InputError::Io`].
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// let keys = Keys::csv(&b"key,size\na,10\n\"b,c\",20\n"[..])?;
    /// assert!(keys.iter().eq([&b"a"[..], b"b,c"]));
    /// assert_eq!((keys.sizes(), keys.requests()), (Some(&[10, 20][..]), None));
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn csv(input: impl Read) -> Result<Self, InputError> {
        let mut rows = Rows::new(input, &Self::COLUMNS)?;
        Ok(Self::read_rows(&mut rows, usize::MAX, usize::MAX, &mut Err)?.0)
    }

    /// Reads up to `most` keys from rows with the columns [`COLUMNS`](Self::COLUMNS), so that a
    /// file larger than memory can be read in parts. Returns no keys at the end.
    ///
    /// # Errors
    /// As [`csv`](Self::csv). Sums are limited for each call, not for the file.
    ///
    /// ```
    /// # use hashroute_harness::{Keys, Rows};
    /// let mut rows = Rows::new(&b"key\na\nb\nc\n"[..], &Keys::COLUMNS)?;
    /// assert_eq!(Keys::from_rows(&mut rows, 2)?.len(), 2);
    /// assert_eq!(Keys::from_rows(&mut rows, 2)?.len(), 1);
    /// assert!(Keys::from_rows(&mut rows, 2)?.is_empty());
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn from_rows(rows: &mut Rows<impl Read>, most: usize) -> Result<Self, InputError> {
        Ok(Self::read_rows(rows, most, usize::MAX, &mut Err)?.0)
    }

    /// Reads as [`from_rows`](Self::from_rows) does, and stops after `bytes` bytes of keys. Passes
    /// rows that cannot be used to `bad`. Also returns whether there may be more rows.
    pub(crate) fn read_rows(
        rows: &mut Rows<impl Read>,
        most: usize,
        bytes: usize,
        bad: Bad,
    ) -> Result<(Self, bool), InputError> {
        let mut keys = Self::default();
        let mut columns = [1, 2].map(|column| rows.has(column).then(Numbers::default));
        let mut more = true;
        for _ in 0..most {
            if keys.bytes.len() >= bytes {
                break;
            }
            let numbers = match next_numbers(rows) {
                Ok(Some(numbers)) => numbers,
                Ok(None) => {
                    more = false;
                    break;
                }
                Err(error) => {
                    bad(error)?;
                    continue;
                }
            };
            if let Err(problem) = push(&mut columns, numbers) {
                bad(rows.wrong(problem))?;
                continue;
            }
            keys.push(rows.field(0).unwrap_or_default());
        }
        [keys.sizes, keys.requests] = columns.map(|numbers| Some(numbers?.all));
        Ok((keys, more))
    }

    /// Reads one JSON value from each line: a string stands for its UTF-8 bytes, `{"hex":"8b"}` for
    /// raw bytes. A byte order mark at the start is skipped.
    ///
    /// # Errors
    /// [`InputError::Line`] for any other value; [`InputError::Io`].
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// let keys = Keys::jsonl(&b"\"user:1\"\n{\"hex\":\"8b00\"}\n"[..])?;
    /// assert!(keys.iter().eq([&b"user:1"[..], &[0x8b, 0]]));
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn jsonl(input: impl BufRead) -> Result<Self, InputError> {
        Self::read_jsonl(input, 1, &mut Err)
    }

    /// Reads as [`jsonl`](Self::jsonl) does, from line `first` of a file on. Passes lines that
    /// cannot be used to `bad`.
    pub(crate) fn read_jsonl(
        input: impl BufRead,
        first: u64,
        bad: Bad,
    ) -> Result<Self, InputError> {
        let mut keys = Self::default();
        for (line, text) in (first..).zip(input.split(b'\n')) {
            let text = text?;
            let marked = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| line == 1);
            let key = match marked.unwrap_or(&text) {
                long if long.len() > LONGEST => Err(too_long()),
                text => json_key(text),
            };
            match key {
                Ok(key) => keys.push(&key),
                Err(problem) => bad(InputError::Line { line, problem })?,
            }
        }
        Ok(keys)
    }
}

/// Reads the size and the requests of the next row; `None` at the end.
fn next_numbers(rows: &mut Rows<impl Read>) -> Result<Option<[Option<u64>; 2]>, InputError> {
    if !rows.advance()? {
        return Ok(None);
    }
    let number = |column: usize| {
        let number = rows
            .field(column)
            .map(|field| number(field, Keys::COLUMNS[column]));
        number.transpose().map_err(|problem| rows.wrong(problem))
    };
    Ok(Some([number(1)?, number(2)?]))
}

/// A column of numbers and their sum.
#[derive(Default)]
struct Numbers {
    all: Vec<u64>,
    sum: u64,
}

/// Adds the size and the requests of a row, or neither if a sum is too large.
fn push(columns: &mut [Option<Numbers>; 2], numbers: [Option<u64>; 2]) -> Result<(), String> {
    let mut sums = [0; 2];
    for (index, (column, number)) in columns.iter().zip(numbers).enumerate() {
        let before = column.as_ref().map_or(0, |column| column.sum);
        let (sum, name) = (
            before.checked_add(number.unwrap_or(0)),
            Keys::COLUMNS[index + 1],
        );
        sums[index] = sum.ok_or_else(|| {
            format!(
                "the sum with this {name} is too large: expected at most {}",
                u64::MAX
            )
        })?;
    }
    for ((column, number), sum) in columns.iter_mut().zip(numbers).zip(sums) {
        if let (Some(column), Some(number)) = (column, number) {
            column.all.push(number);
            column.sum = sum;
        }
    }
    Ok(())
}

fn number(field: &[u8], name: &str) -> Result<u64, String> {
    let text = core::str::from_utf8(field).unwrap_or_default();
    text.trim().parse().map_err(|_| {
        let (shown, most) = (field.escape_ascii(), u64::MAX);
        format!("{name} \"{shown}\" is not a number: expected a whole number from 0 to {most}")
    })
}

fn json_key(line: &[u8]) -> Result<Vec<u8>, String> {
    const EXPECTED: &str = "expected a string, or {\"hex\":\"…\"} with two digits for each byte";
    match serde_json::from_slice(line) {
        Ok(Value::String(text)) => Ok(text.into_bytes()),
        Ok(Value::Object(object)) if object.len() == 1 => {
            let hex = object
                .get("hex")
                .and_then(Value::as_str)
                .and_then(bytes_of_hex);
            hex.ok_or_else(|| format!("not a key: {EXPECTED}"))
        }
        Ok(_) => Err(format!("not a key: {EXPECTED}")),
        Err(error) => Err(format!("{}: {EXPECTED}", reason(&error))),
    }
}

pub(crate) fn bytes_of_hex(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    };
    hex.as_bytes().chunks(2).map(byte).collect()
}
