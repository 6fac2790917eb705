//! Rows of comma-separated values with a header.

use std::io::{self, Cursor, Read};

use super::error::{ENDLESS, InputError, LONGEST, endless, too_long};

/// Reads comma-separated values row by row. A header names the columns. A byte order mark and empty
/// lines are skipped; fields are bytes. A header with a tab, or with a semicolon and no comma, says
/// that fields are separated by these.
///
/// Memory: one row and a buffer. O(1) a byte.
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
    separator: u8,
    /// For each column asked for, its index in the file.
    indexes: Vec<Option<usize>>,
    width: usize,
    row: csv::ByteRecord,
    line: u64,
}

impl<R: Read> Rows<R> {
    /// Reads the header. It may name any of `columns` once, in any order; the first of them is
    /// required. Blanks around a name are ignored.
    ///
    /// # Errors
    /// [`InputError::Line`] for a header with another column, with a column twice, or without the
    /// first; [`InputError::Io`].
    ///
    /// ```
    /// # use hashroute_harness::Rows;
    /// let error = Rows::new(&b"name,wieght\na,1\n"[..], &["name", "weight"]).unwrap_err();
    /// assert_eq!(error.to_string(), "line 1: unknown column \"wieght\": expected name,weight");
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn new(input: R, columns: &[&str]) -> Result<Self, InputError> {
        Self::open(input, columns, false)
    }

    /// Reads the header as [`new`](Self::new) does, and ignores columns that are not asked for.
    ///
    /// # Errors
    /// As [`new`](Self::new), except for other columns.
    ///
    /// ```
    /// # use hashroute_harness::Rows;
    /// let mut rows = Rows::choose(&b"id;hits;url\n7;3;/a\n"[..], &["url", "hits"])?;
    /// assert!(rows.advance()?);
    /// assert_eq!((rows.field(0), rows.field(1)), (Some(&b"/a"[..]), Some(&b"3"[..])));
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn choose(input: R, columns: &[&str]) -> Result<Self, InputError> {
        Self::open(input, columns, true)
    }

    fn open(mut input: R, columns: &[&str], others: bool) -> Result<Self, InputError> {
        let head = head(&mut input)?;
        let separator = separator(&head);
        let mut rows = Self {
            reader: reader(Tap::new(input, head), separator),
            separator,
            indexes: Vec::new(),
            width: 0,
            row: csv::ByteRecord::new(),
            line: 1,
        };
        rows.read()?;
        rows.width = rows.row.len();
        let indexes = indexes(&rows.row, columns, others, char::from(separator));
        rows.indexes = indexes.map_err(|problem| rows.wrong(problem))?;
        Ok(rows)
    }

    /// Reads the next row; returns `false` at the end.
    ///
    /// # Errors
    /// [`InputError::Line`] for too few or too many fields, or a quote that is not closed;
    /// [`InputError::Io`].
    pub fn advance(&mut self) -> Result<bool, InputError> {
        if !self.read()? {
            return Ok(false);
        }
        match (self.row.len(), self.width) {
            (found, width) if found != width => Err(self.wrong(format!(
                "{found} fields: expected {width}, as in the header (quote a field that holds a {})",
                title(char::from(self.separator))
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
            format!("{}; is a quote not closed?", too_long())
        } else if found && tap.is_end(end) && is_open(tap.rest(), &self.row, self.separator) {
            // The CSV reader accepts a quote that only the end of the input closes.
            "a quote is not closed: expected a closing quote".into()
        } else {
            return Ok(found);
        };
        self.skip_line();
        Err(self.wrong(problem))
    }

    /// Continues after the first line of a row that is refused, however many lines the CSV reader
    /// took for it: one open quote must not swallow the rest of the file.
    fn skip_line(&mut self) {
        let again = self.reader.get_mut().behind_line(self.line);
        self.reader = reader(again, self.separator);
    }

    /// Returns whether the file has a column, by its index among the columns asked for.
    pub fn has(&self, column: usize) -> bool {
        self.indexes.get(column).copied().flatten().is_some()
    }

    /// Returns the field of this row in a column, by its index among the columns asked for; `None`
    /// if the file lacks it.
    pub fn field(&self, column: usize) -> Option<&[u8]> {
        self.row.get(self.indexes.get(column).copied().flatten()?)
    }

    /// Builds an error about this row.
    pub fn wrong(&self, problem: impl Into<String>) -> InputError {
        InputError::Line {
            line: self.line,
            problem: problem.into(),
        }
    }
}

/// Returns the index in the header of each of `columns`.
fn indexes(
    header: &csv::ByteRecord,
    columns: &[&str],
    others: bool,
    separator: char,
) -> Result<Vec<Option<usize>>, String> {
    let names: Vec<_> = header.iter().map(<[u8]>::trim_ascii).collect();
    let known = columns.join(",");
    let is_unknown = |name: &&&[u8]| !columns.iter().any(|column| column.as_bytes() == **name);
    let find = |column: &&str| {
        let mut indexes = (0..names.len()).filter(|&index| names[index] == column.as_bytes());
        match (indexes.next(), indexes.next()) {
            (_, Some(_)) => Err(format!(
                "the header names {column:?} twice: expected each column once"
            )),
            (index, None) => Ok(index),
        }
    };
    let indexes: Vec<_> = columns.iter().map(find).collect::<Result<_, _>>()?;
    match (columns, indexes.first()) {
        ([first, ..], Some(None)) => Err(format!(
            "no column {first:?}: expected a first line that names columns, {known}; found {}",
            found(&names, separator)
        )),
        _ if others => Ok(indexes),
        _ => match names.iter().find(is_unknown) {
            Some(name) => Err(format!(
                "unknown column \"{}\": expected {known}",
                String::from_utf8_lossy(name)
            )),
            None => Ok(indexes),
        },
    }
}

/// Returns whether the last row ends inside quotes: then one more line feed belongs to its last
/// field.
fn is_open(text: &[u8], row: &csv::ByteRecord, separator: u8) -> bool {
    let mut again = csv::ByteRecord::new();
    let read = csv::ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .from_reader([text, b"\n"].concat().as_slice())
        .read_byte_record(&mut again);
    read.is_ok() && again != *row
}

/// Reads the start of a file, up to the end of its first line that is not empty.
fn head(input: &mut impl Read) -> io::Result<Vec<u8>> {
    const PIECE: usize = 1 << 12;
    let mut head = Vec::new();
    loop {
        let start = head.len();
        head.resize(start + PIECE, 0);
        let count = match input.read(&mut head[start..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                head.truncate(start);
                continue;
            }
            count => count?,
        };
        head.truncate(start + count);
        let text = head.iter().position(|byte| !b"\r\n".contains(byte));
        let has_line = text.is_some_and(|start| head[start..].contains(&b'\n'));
        if count == 0 || has_line || head.len() > LONGEST {
            return Ok(head);
        }
    }
}

/// Returns the separator that the first line uses.
fn separator(head: &[u8]) -> u8 {
    let mut lines = head.split(|byte| b"\r\n".contains(byte));
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let has = |separator| memchr::memchr(separator, first).is_some();
    match (has(b'\t'), has(b','), has(b';')) {
        (true, false, _) => b'\t',
        (_, false, true) => b';',
        _ => b',',
    }
}

/// Returns the name of a separator.
fn title(separator: char) -> &'static str {
    match separator {
        '\t' => "tab",
        ';' => "semicolon",
        _ => "comma",
    }
}

/// Lists the columns of a header, for messages.
fn found(names: &[&[u8]], separator: char) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN);
    let mut shown: Vec<_> = shown
        .map(|name| format!("{:?}", String::from_utf8_lossy(&name[..name.len().min(32)])))
        .collect();
    if names.len() > SHOWN {
        shown.push("...".into());
    }
    match names.len() {
        0 => "nothing".into(),
        1 => shown.join(""),
        _ => format!("{} (separated by a {})", shown.join(", "), title(separator)),
    }
}

fn reader<R: Read>(input: Tap<R>, separator: u8) -> csv::Reader<Tap<R>> {
    csv::ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .from_reader(input)
}

/// Passes bytes on and keeps those of the current row. It counts lines itself, because the CSV
/// reader does not count the empty lines that it skips.
#[derive(Debug)]
struct Tap<R> {
    /// `None` once another tap has taken over.
    input: Option<R>,
    /// Bytes that are read once more before the rest of the input.
    again: Cursor<Vec<u8>>,
    /// Whether bytes up to the next line feed are dropped.
    skipping: bool,
    kept: Vec<u8>,
    /// The number of kept bytes that belong to earlier rows.
    done: usize,
    /// The bytes and the lines of all earlier rows.
    bytes: u64,
    lines: u64,
    ended: bool,
    /// Whether the row is too long and was cut off.
    full: bool,
}

impl<R> Tap<R> {
    /// Reads `head`, then the input.
    fn new(input: R, head: Vec<u8>) -> Self {
        Self {
            input: Some(input),
            again: Cursor::new(head),
            skipping: false,
            kept: Vec::new(),
            done: 0,
            bytes: 0,
            lines: 0,
            ended: false,
            full: false,
        }
    }

    /// Returns a tap that continues after the first line of the current row, which is line `line`
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

    /// Counts the bytes before this offset as earlier rows.
    fn forget(&mut self, offset: u64) {
        let gone = usize::try_from(offset.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        self.pass(gone.min(self.rest().len()));
        self.bytes = offset;
    }

    /// Counts `count` more bytes as earlier rows or empty lines.
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

    /// Returns the number of bytes of empty lines before the row.
    fn blank(&self) -> usize {
        let empty = self.rest().iter().take_while(|byte| b"\r\n".contains(byte));
        empty.count()
    }

    /// Returns the line on which the row starts, after empty lines.
    fn line(&self) -> u64 {
        let empty = &self.rest()[..self.blank()];
        1 + self.lines + memchr::memchr_iter(b'\n', empty).count() as u64
    }

    /// Returns whether the row up to this offset is too long.
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

    /// Reads bytes; drops those up to the next line feed if `skipping`.
    fn fetch_wanted(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut passed = 0;
        loop {
            let count = self.fetch(buffer)?;
            if !self.skipping || count == 0 {
                return Ok(count);
            }
            passed += count;
            if passed > ENDLESS {
                return Err(endless(self.lines));
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
