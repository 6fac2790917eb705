//! Comma separated values under a header, row by row.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::io::{self, Read};

use super::InputError;

/// The rows of comma separated values under a header that names the columns, each with the line
/// on which it starts. A byte order mark and empty lines are passed over; fields are bytes.
///
/// Memory for one row and a buffer; O(1) a byte.
///
/// ```
/// use hashroute::harness::Rows;
///
/// let mut rows = Rows::new(&b"name, weight\na,1\n\n\nb,2\n"[..], &["name", "zone", "weight"])?;
/// assert!(rows.advance()? && rows.advance()?);
/// assert_eq!((rows.field(0), rows.field(1), rows.field(2)), (Some(&b"b"[..]), None, Some(&b"2"[..])));
/// assert_eq!(rows.wrong("too light").to_string(), "line 5: too light");
/// assert!(!rows.advance()?);
/// # Ok::<(), hashroute::harness::InputError>(())
/// ```
#[derive(Debug)]
pub struct Rows<R> {
    reader: csv::Reader<Tap<R>>,
    /// By column asked for, its place in the file.
    places: Vec<Option<usize>>,
    width: usize,
    row: csv::ByteRecord,
    line: u64,
}

impl<R: Read> Rows<R> {
    /// Read the header. It may name any of `columns`, each once, in any order; the first of them
    /// it must. Blanks around a name do not count.
    ///
    /// # Errors
    /// [`InputError::Line`] for a header that names another column, one twice, or not the first;
    /// [`InputError::Io`].
    ///
    /// ```
    /// # use hashroute::harness::Rows;
    /// let error = Rows::new(&b"name,wieght\na,1\n"[..], &["name", "weight"]).unwrap_err();
    /// assert_eq!(error.to_string(), "line 1: unknown column \"wieght\": expected name,weight");
    /// # Ok::<(), hashroute::harness::InputError>(())
    /// ```
    pub fn new(input: R, columns: &[&str]) -> Result<Self, InputError> {
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(Tap::new(input));
        let mut rows = Self {
            reader,
            places: Vec::new(),
            width: 0,
            row: csv::ByteRecord::new(),
            line: 1,
        };
        rows.read()?;
        rows.width = rows.row.len();
        let places = places(&rows.row, columns);
        rows.places = places.map_err(|problem| rows.wrong(problem))?;
        Ok(rows)
    }

    /// Go to the next row; `false` at the end.
    ///
    /// # Errors
    /// [`InputError::Line`] for too few or too many fields, or a quote that does not end;
    /// [`InputError::Io`].
    ///
    /// ```
    /// # use hashroute::harness::Rows;
    /// assert!(Rows::new(&b"key\na,b\n"[..], &["key"])?.advance().is_err());
    /// assert!(Rows::new(&b"key\n\"a\n"[..], &["key"])?.advance().is_err());
    /// # Ok::<(), hashroute::harness::InputError>(())
    /// ```
    pub fn advance(&mut self) -> Result<bool, InputError> {
        if !self.read()? {
            return Ok(false);
        }
        match (self.row.len(), self.width) {
            (found, width) if found != width => Err(self.wrong(format!(
                "{found} fields: expected {width}, as in the header (quote what holds a comma)"
            ))),
            _ => Ok(true),
        }
    }

    fn read(&mut self) -> Result<bool, InputError> {
        let start = self.reader.position().byte();
        self.reader.get_mut().forget(start);
        let found = self.reader.read_byte_record(&mut self.row);
        let found = found.map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => InputError::Io(error),
            other => self.wrong(format!("not CSV: {other:?}")),
        })?;
        let (end, tap) = (self.reader.position().byte(), self.reader.get_ref());
        self.line = tap.line();
        // Nothing but the end of the input ends a quote that is never closed.
        if found && tap.is_end(end) && is_open(tap.rest(), &self.row) {
            return Err(self.wrong("a quote opens and never ends: expected a closing one"));
        }
        Ok(found)
    }

    /// Whether the file has this one of the columns asked for.
    ///
    /// ```
    /// # use hashroute::harness::Rows;
    /// let rows = Rows::new(&b"key\n"[..], &["key", "size"])?;
    /// assert!(rows.has(0) && !rows.has(1));
    /// # Ok::<(), hashroute::harness::InputError>(())
    /// ```
    pub fn has(&self, column: usize) -> bool {
        self.places.get(column).copied().flatten().is_some()
    }

    /// What this row has in this one of the columns asked for; `None` where the file lacks it.
    ///
    /// ```
    /// # use hashroute::harness::Rows;
    /// let mut rows = Rows::new(&b"size,key\n7,\n"[..], &["key", "size"])?;
    /// rows.advance()?;
    /// assert_eq!((rows.field(0), rows.field(1)), (Some(&b""[..]), Some(&b"7"[..])));
    /// # Ok::<(), hashroute::harness::InputError>(())
    /// ```
    pub fn field(&self, column: usize) -> Option<&[u8]> {
        self.row.get(self.places.get(column).copied().flatten()?)
    }

    /// An error about this row.
    ///
    /// ```
    /// # use hashroute::harness::Rows;
    /// let rows = Rows::new(&b"key\n"[..], &["key"])?;
    /// assert_eq!(rows.wrong("nothing below").to_string(), "line 1: nothing below");
    /// # Ok::<(), hashroute::harness::InputError>(())
    /// ```
    pub fn wrong(&self, problem: impl Into<String>) -> InputError {
        InputError::Line {
            line: self.line,
            problem: problem.into(),
        }
    }
}

/// Where each of `columns` stands in the header.
fn places(header: &csv::ByteRecord, columns: &[&str]) -> Result<Vec<Option<usize>>, String> {
    let names: Vec<_> = header.iter().map(<[u8]>::trim_ascii).collect();
    let known = columns.join(",");
    let is_unknown = |name: &&&[u8]| !columns.iter().any(|column| column.as_bytes() == **name);
    let find = |column: &&str| {
        let mut places = (0..names.len()).filter(|&place| names[place] == column.as_bytes());
        match (places.next(), places.next()) {
            (_, Some(_)) => Err(format!(
                "the header names {column:?} twice: expected it once"
            )),
            (place, None) => Ok(place),
        }
    };
    let places: Vec<_> = columns.iter().map(find).collect::<Result<_, _>>()?;
    match (columns, places.first()) {
        ([first, ..], Some(None)) => Err(format!(
            "no column {first:?}: the first line names the columns, {known}"
        )),
        _ => match names.iter().find(is_unknown) {
            Some(name) => Err(format!(
                "unknown column \"{}\": expected {known}",
                String::from_utf8_lossy(name)
            )),
            None => Ok(places),
        },
    }
}

/// Whether the last row ends within quotes: then a line feed more is one more in its last field.
fn is_open(text: &[u8], row: &csv::ByteRecord) -> bool {
    let mut again = csv::ByteRecord::new();
    let read = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader([text, b"\n"].concat().as_slice())
        .read_byte_record(&mut again);
    read.is_ok() && again != *row
}

/// Passes bytes on and keeps those of the row that is being read: the reader's own count of lines
/// stops before the empty ones that it skips.
#[derive(Debug)]
struct Tap<R> {
    input: R,
    kept: Vec<u8>,
    /// How many of these are of earlier rows.
    done: usize,
    /// How many bytes, and how many lines, are of earlier rows in all.
    bytes: u64,
    lines: u64,
    ended: bool,
}

impl<R> Tap<R> {
    fn new(input: R) -> Self {
        Self {
            input,
            kept: Vec::new(),
            done: 0,
            bytes: 0,
            lines: 0,
            ended: false,
        }
    }

    /// What stands before this place is of earlier rows.
    fn forget(&mut self, place: u64) {
        let start = self.done;
        let gone = usize::try_from(place.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        self.done = start.saturating_add(gone).min(self.kept.len());
        self.bytes = place;
        self.lines += memchr::memchr_iter(b'\n', &self.kept[start..self.done]).count() as u64;
    }

    fn rest(&self) -> &[u8] {
        &self.kept[self.done..]
    }

    fn is_end(&self, place: u64) -> bool {
        self.ended && self.bytes + self.rest().len() as u64 == place
    }

    /// Where the row starts, behind empty lines.
    fn line(&self) -> u64 {
        let empty = self.rest().iter().take_while(|byte| b"\r\n".contains(byte));
        1 + self.lines + empty.filter(|byte| **byte == b'\n').count() as u64
    }
}

impl<R: Read> Read for Tap<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.kept.drain(..core::mem::take(&mut self.done));
        let count = self.input.read(buffer)?;
        self.kept.extend_from_slice(&buffer[..count]);
        self.ended = count == 0;
        Ok(count)
    }
}
