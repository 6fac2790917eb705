//! Comma separated values under a header, row by row.

use std::io::{self, Cursor, Read};

use super::error::{InputError, LONGEST, too_long};

/// The rows of comma separated values under a header that names the columns, each with the line
/// on which it starts. A byte order mark and empty lines are passed over; fields are bytes.
///
/// Memory for one row and a buffer; O(1) a byte.
///
/// ```
/// use hashroute_harness::Rows;
///
/// let mut rows = Rows::new(&b"name, weight\na,1\n\n\nb,2\n"[..], &["name", "zone", "weight"])?;
/// assert!(rows.advance()? && rows.advance()?);
/// assert_eq!((rows.field(0), rows.field(1), rows.field(2)), (Some(&b"b"[..]), None, Some(&b"2"[..])));
/// assert_eq!(rows.wrong("too light").to_string(), "line 5: too light");
/// assert!(!rows.advance()?);
/// # Ok::<(), hashroute_harness::InputError>(())
/// ```
#[derive(Debug)]
pub struct Rows<R> {
    reader: csv::Reader<Tap<R>>,
    /// By column asked for, its index in the file.
    indexes: Vec<Option<usize>>,
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
    /// # use hashroute_harness::Rows;
    /// let error = Rows::new(&b"name,wieght\na,1\n"[..], &["name", "weight"]).unwrap_err();
    /// assert_eq!(error.to_string(), "line 1: unknown column \"wieght\": expected name,weight");
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn new(input: R, columns: &[&str]) -> Result<Self, InputError> {
        let mut rows = Self {
            reader: reader(Tap::new(input)),
            indexes: Vec::new(),
            width: 0,
            row: csv::ByteRecord::new(),
            line: 1,
        };
        rows.read()?;
        rows.width = rows.row.len();
        let indexes = indexes(&rows.row, columns);
        rows.indexes = indexes.map_err(|problem| rows.wrong(problem))?;
        Ok(rows)
    }

    /// Go to the next row; `false` at the end.
    ///
    /// # Errors
    /// [`InputError::Line`] for too few or too many fields, or a quote that does not end;
    /// [`InputError::Io`].
    ///
    /// ```
    /// # use hashroute_harness::Rows;
    /// assert!(Rows::new(&b"key\na,b\n"[..], &["key"])?.advance().is_err());
    /// assert!(Rows::new(&b"key\n\"a\n"[..], &["key"])?.advance().is_err());
    /// # Ok::<(), hashroute_harness::InputError>(())
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
        let problem = if tap.is_too_long(end) {
            format!("{}, or is a quote not closed?", too_long())
        } else if found && tap.is_end(end) && is_open(tap.rest(), &self.row) {
            // Nothing but the end of the input ends a quote that is never closed.
            "a quote opens and never ends: expected a closing one".into()
        } else {
            return Ok(found);
        };
        self.skip_line();
        Err(self.wrong(problem))
    }

    /// Read on behind the first line of a row that cannot be one, whatever it took for its own.
    fn skip_line(&mut self) {
        let again = self.reader.get_mut().behind_line(self.line);
        self.reader = reader(again);
    }

    /// Whether the file has this one of the columns asked for.
    ///
    /// ```
    /// # use hashroute_harness::Rows;
    /// let rows = Rows::new(&b"key\n"[..], &["key", "size"])?;
    /// assert!(rows.has(0) && !rows.has(1));
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn has(&self, column: usize) -> bool {
        self.indexes.get(column).copied().flatten().is_some()
    }

    /// What this row has in this one of the columns asked for; `None` where the file lacks it.
    ///
    /// ```
    /// # use hashroute_harness::Rows;
    /// let mut rows = Rows::new(&b"size,key\n7,\n"[..], &["key", "size"])?;
    /// rows.advance()?;
    /// assert_eq!((rows.field(0), rows.field(1)), (Some(&b""[..]), Some(&b"7"[..])));
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn field(&self, column: usize) -> Option<&[u8]> {
        self.row.get(self.indexes.get(column).copied().flatten()?)
    }

    /// An error about this row.
    ///
    /// ```
    /// # use hashroute_harness::Rows;
    /// let rows = Rows::new(&b"key\n"[..], &["key"])?;
    /// assert_eq!(rows.wrong("nothing below").to_string(), "line 1: nothing below");
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn wrong(&self, problem: impl Into<String>) -> InputError {
        InputError::Line {
            line: self.line,
            problem: problem.into(),
        }
    }
}

/// Where each of `columns` stands in the header.
fn indexes(header: &csv::ByteRecord, columns: &[&str]) -> Result<Vec<Option<usize>>, String> {
    let names: Vec<_> = header.iter().map(<[u8]>::trim_ascii).collect();
    let known = columns.join(",");
    let is_unknown = |name: &&&[u8]| !columns.iter().any(|column| column.as_bytes() == **name);
    let find = |column: &&str| {
        let mut indexes = (0..names.len()).filter(|&index| names[index] == column.as_bytes());
        match (indexes.next(), indexes.next()) {
            (_, Some(_)) => Err(format!(
                "the header names {column:?} twice: expected it once"
            )),
            (index, None) => Ok(index),
        }
    };
    let indexes: Vec<_> = columns.iter().map(find).collect::<Result<_, _>>()?;
    match (columns, indexes.first()) {
        ([first, ..], Some(None)) => Err(format!(
            "no column {first:?}: the first line names the columns, {known}"
        )),
        _ => match names.iter().find(is_unknown) {
            Some(name) => Err(format!(
                "unknown column \"{}\": expected {known}",
                String::from_utf8_lossy(name)
            )),
            None => Ok(indexes),
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

fn reader<R: Read>(input: Tap<R>) -> csv::Reader<Tap<R>> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(input)
}

/// Passes bytes on and keeps those of the row that is being read: the reader's own count of lines
/// stops before the empty ones that it skips.
#[derive(Debug)]
struct Tap<R> {
    /// None once another tap has taken over.
    input: Option<R>,
    /// What comes before the rest of the input.
    again: Cursor<Vec<u8>>,
    /// Whether what comes up to the next line feed is left out.
    skipping: bool,
    kept: Vec<u8>,
    /// How many of these are of earlier rows.
    done: usize,
    /// How many bytes, and how many lines, are of earlier rows in all.
    bytes: u64,
    lines: u64,
    ended: bool,
    /// Whether the row is too long, and was ended for that.
    full: bool,
}

impl<R> Tap<R> {
    fn new(input: R) -> Self {
        Self {
            input: Some(input),
            again: Cursor::default(),
            skipping: false,
            kept: Vec::new(),
            done: 0,
            bytes: 0,
            lines: 0,
            ended: false,
            full: false,
        }
    }

    /// One that goes on behind the first line of the row that is being read, which is this line
    /// of the file.
    fn behind_line(&mut self, line: u64) -> Self {
        let row = &self.rest()[self.blank()..];
        let end = memchr::memchr(b'\n', row);
        let mut again = end.map_or_else(Vec::new, |end| row[end + 1..].to_vec());
        let unread = usize::try_from(self.again.position()).unwrap_or(usize::MAX);
        again.extend(self.again.get_ref().iter().skip(unread));
        Self {
            input: self.input.take(),
            again: Cursor::new(again),
            skipping: end.is_none(),
            kept: Vec::new(),
            done: 0,
            bytes: 0,
            lines: line,
            ended: false,
            full: false,
        }
    }

    /// What stands before this offset is of earlier rows.
    fn forget(&mut self, offset: u64) {
        let gone = usize::try_from(offset.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        self.pass(gone.min(self.rest().len()));
        self.bytes = offset;
    }

    /// So many bytes more are of earlier rows, or empty lines.
    fn pass(&mut self, count: usize) {
        let gone = &self.rest()[..count];
        self.lines += memchr::memchr_iter(b'\n', gone).count() as u64;
        self.done += count;
        self.bytes += count as u64;
    }

    fn rest(&self) -> &[u8] {
        &self.kept[self.done..]
    }

    fn is_end(&self, offset: u64) -> bool {
        self.ended && self.bytes + self.rest().len() as u64 == offset
    }

    /// How many bytes of empty lines stand before the row.
    fn blank(&self) -> usize {
        let empty = self.rest().iter().take_while(|byte| b"\r\n".contains(byte));
        empty.count()
    }

    /// Where the row starts, behind empty lines.
    fn line(&self) -> u64 {
        let empty = &self.rest()[..self.blank()];
        1 + self.lines + memchr::memchr_iter(b'\n', empty).count() as u64
    }

    /// Whether the row up to this offset is longer than a row can be.
    fn is_too_long(&self, end: u64) -> bool {
        let start = self.bytes + self.blank() as u64;
        self.full || end.saturating_sub(start) > LONGEST as u64
    }
}

impl<R: Read> Tap<R> {
    fn fetch(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match (self.again.read(buffer)?, &mut self.input) {
            (0, Some(input)) => input.read(buffer),
            (count, _) => Ok(count),
        }
    }

    /// Past the next line feed, if that is asked for.
    fn fetch_wanted(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.fetch(buffer)?;
            if !self.skipping || count == 0 {
                return Ok(count);
            }
            if let Some(end) = memchr::memchr(b'\n', &buffer[..count]) {
                self.skipping = false;
                buffer.copy_within(end + 1..count, 0);
                if end + 1 < count {
                    return Ok(count - end - 1);
                }
            }
        }
    }
}

impl<R: Read> Read for Tap<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.pass(self.blank());
        self.kept.drain(..core::mem::take(&mut self.done));
        if self.kept.len() > LONGEST {
            self.full = true;
            return Ok(0);
        }
        let count = self.fetch_wanted(buffer)?;
        self.kept.extend_from_slice(&buffer[..count]);
        self.ended = count == 0;
        Ok(count)
    }
}
