//! Sources of keys, read in batches.

use core::fmt;
use core::ops::Range;
use std::io::Read;

use super::blocks::Blocks;
use super::dump::{BadLine, DumpFormat, DumpKeys, DumpReader, DumpSource};
use super::error::InputError;
use super::list::Keys;
use super::rows::Rows;
use hashroute::Error;

/// The number of keys of a template, or of CSV rows, in a batch.
const BATCH: usize = 16_384;
/// The most bytes of keys in a batch of CSV rows.
const BYTES: usize = 1 << 20;
/// The number of bad lines that are kept with their problem.
const KEPT: usize = 5;

/// The lines that were skipped, their number and the first five; and the keys that end in a carriage
/// return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadLines {
    /// The number of skipped lines.
    pub count: u64,
    /// The first of them, in order.
    pub first: Vec<BadLine>,
    /// The number of plain keys that end in a carriage return, which is part of the key. They are
    /// not skipped.
    pub returns: u64,
    /// The number of plain keys that were read from lines.
    pub lines: u64,
}

impl BadLines {
    /// Counts an error of a line, and returns any other error.
    ///
    /// # Errors
    /// An error that is not about a line.
    ///
    /// ```
    /// # use hashroute_harness::{InputError, stream::BadLines};
    /// let mut bad = BadLines::default();
    /// bad.note(InputError::Line { line: 7, problem: "not a key".into() })?;
    /// assert_eq!((bad.count, bad.first[0].line), (1, 7));
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn note(&mut self, error: InputError) -> Result<(), InputError> {
        match error {
            InputError::Line { line, problem } => {
                self.count += 1;
                self.keep(BadLine { line, problem });
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Returns the first of them as an error if reading is strict.
    pub(super) fn refuse(&self, strict: bool) -> Result<(), InputError> {
        match self.first.first() {
            Some(BadLine { line, problem }) if strict => Err(InputError::Line {
                line: *line,
                problem: problem.clone(),
            }),
            _ => Ok(()),
        }
    }

    fn keep(&mut self, bad: BadLine) {
        let index = self.first.partition_point(|other| other.line <= bad.line);
        self.first.insert(index, bad);
        self.first.truncate(KEPT);
    }

    /// Adds the lines that another value noted.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.returns += other.returns;
        self.lines += other.lines;
        other.first.into_iter().for_each(|bad| self.keep(bad));
    }
}

/// A source of keys in batches, so that the keys need not fit into memory.
///
/// ```
/// use hashroute_harness::stream::{BadLines, KeySource};
///
/// let (mut source, mut bad) = (KeySource::jsonl(&b"\"a\"\nb\n\"c\"\n"[..]), BadLines::default());
/// let keys = source.next_keys(&mut bad)?.expect("a first batch");
/// assert!(keys.iter().eq([b"a", b"c"]));
/// assert_eq!((bad.count, bad.first[0].line), (1, 2));
/// assert!(source.next_keys(&mut bad)?.is_none());
/// # Ok::<(), hashroute_harness::InputError>(())
/// ```
pub struct KeySource<'a>(Kind<'a>);

type Next<'a> = dyn FnMut(&mut BadLines) -> Result<Option<Keys>, InputError> + 'a;

enum Kind<'a> {
    /// Lines, and whether each is a JSON value.
    Lines(Blocks<Box<dyn Read + 'a>>, bool),
    Template(String, Range<u64>),
    /// A source that only one thread can read, such as quoted fields that span lines.
    Batches(Box<Next<'a>>),
}

impl fmt::Debug for KeySource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Lines(..) => "KeySource::Lines",
            Kind::Template(..) => "KeySource::Template",
            Kind::Batches(_) => "KeySource::Batches",
        })
    }
}

impl<'a> KeySource<'a> {
    /// Reads one key from each line, as [`Keys::lines`] does, except that a line too long for a key
    /// is a bad line.
    pub fn lines(input: impl Read + 'a) -> Self {
        Self(Kind::Lines(Blocks::new(Box::new(input)), false))
    }

    /// Reads one JSON value from each line, as [`Keys::jsonl`] does.
    pub fn jsonl(input: impl Read + 'a) -> Self {
        Self(Kind::Lines(Blocks::new(Box::new(input)), true))
    }

    /// Reads comma-separated values, as [`Keys::csv`] does. A quoted field may span lines, so one
    /// thread does all the reading.
    ///
    /// # Errors
    /// [`InputError`] for a header that cannot be used.
    pub fn csv(input: impl Read + 'a) -> Result<Self, InputError> {
        Ok(Self::rows(Rows::new(input, &Keys::COLUMNS)?))
    }

    /// Reads keys from rows whose columns are, in this order, the key, its size and its requests,
    /// whatever their names are.
    ///
    /// ```
    /// # use hashroute_harness::stream::{BadLines, KeySource};
    /// use hashroute_harness::Rows;
    /// let rows = Rows::choose(&b"hits,url\n3,/a\n"[..], &["url", "size", "hits"])?;
    /// let keys = KeySource::rows(rows).next_keys(&mut BadLines::default())?.expect("a batch");
    /// assert_eq!((keys.get(0), keys.requests()), (Some(&b"/a"[..]), Some(&[3][..])));
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn rows(mut rows: Rows<impl Read + 'a>) -> Self {
        Self::batches(move |bad| {
            let mut note = |error| bad.note(error);
            let (keys, more) = Keys::read_rows(&mut rows, BATCH, BYTES, &mut note)?;
            Ok((more || !keys.is_empty()).then_some(keys))
        })
    }

    /// Fills a template with each number of a range, as [`Keys::template`] does, for any number of
    /// keys.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a template that cannot be used.
    ///
    /// ```
    /// # use hashroute_harness::stream::KeySource;
    /// let source = KeySource::template("user:{i}", 0..1 << 40)?;
    /// assert!(KeySource::template("user", 0..9).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn template(template: &str, range: Range<u64>) -> Result<Self, Error> {
        Keys::template(template, range.start..range.start)?;
        Ok(Self(Kind::Template(template.to_owned(), range)))
    }

    /// Reads the output of `redis-cli` or memcached, as [`Keys::dump`] does. The meaning of a line
    /// may depend on earlier lines, so one thread does all the reading. At the end, `end` receives
    /// what the output says about itself.
    ///
    /// ```
    /// # use hashroute_harness::stream::{BadLines, KeySource};
    /// use hashroute_harness::DumpFormat;
    /// let mut listed = 0;
    /// let mut source =
    ///     KeySource::dump(DumpFormat::Scan, &b"a\nb\n"[..], |source| listed = source.keys_listed);
    /// let keys = source.next_keys(&mut BadLines::default())?.expect("a batch");
    /// assert!(keys.iter().eq([b"a", b"b"]));
    /// assert!(source.next_keys(&mut BadLines::default())?.is_none());
    /// drop(source);
    /// assert_eq!(listed, 2);
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn dump(
        format: DumpFormat,
        input: impl Read + 'a,
        mut end: impl FnMut(DumpSource) + 'a,
    ) -> Self {
        let (mut blocks, mut reader) = (Blocks::new(input), Some(DumpReader::new(format)));
        Self::batches(move |bad| {
            let Some(open) = &mut reader else {
                return Ok(None);
            };
            let mut keys = DumpKeys::default();
            // Keys have sizes only if all of a list do. A short list is read to its end to know.
            while keys.is_empty() || format.is_short() {
                let Some((lines, _)) = blocks.advance()? else {
                    reader.take().map(DumpReader::finish).map(&mut end);
                    break;
                };
                keys.read(open, &*lines, &mut |error| bad.note(error))?;
            }
            let keys = keys.finish();
            Ok(Some(keys).filter(|keys| !keys.is_empty()))
        })
    }

    /// Takes batches from `next` until it returns `None`. `next` notes the lines that it skips.
    ///
    /// ```
    /// # use hashroute_harness::stream::{BadLines, KeySource};
    /// use hashroute_harness::Keys;
    /// let mut some = Keys::lines(&b"a\nb\n"[..]).ok();
    /// let mut source = KeySource::batches(move |_| Ok(some.take()));
    /// let keys = source.next_keys(&mut BadLines::default())?.expect("a batch");
    /// assert!(keys.iter().eq([b"a", b"b"]));
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn batches(
        next: impl FnMut(&mut BadLines) -> Result<Option<Keys>, InputError> + 'a,
    ) -> Self {
        Self(Kind::Batches(Box::new(next)))
    }

    /// Returns the next keys, and notes the lines that were skipped; `None` at the end. A batch may
    /// be empty.
    ///
    /// # Errors
    /// [`InputError`] that is not about one line.
    pub fn next_keys(&mut self, bad: &mut BadLines) -> Result<Option<Keys>, InputError> {
        let chunk = self.next_chunk(bad)?;
        chunk.map(|chunk| chunk.keys(bad)).transpose()
    }

    /// Returns the next chunk of work; `None` at the end.
    pub(super) fn next_chunk(&mut self, bad: &mut BadLines) -> Result<Option<Chunk>, InputError> {
        Ok(match &mut self.0 {
            Kind::Lines(blocks, json) => {
                let json = *json;
                blocks
                    .advance()?
                    .map(|(lines, first)| Chunk::Lines { lines, first, json })
            }
            Kind::Template(template, range) => {
                let start = range.start;
                range.start = range.end.min(start.saturating_add(BATCH as u64));
                (start < range.end).then(|| Chunk::Template(template.clone(), start..range.start))
            }
            Kind::Batches(next) => next(bad)?.map(Chunk::Keys),
        })
    }
}

/// A chunk of work that any thread can do: lines to parse, or keys.
#[derive(Debug)]
pub(super) enum Chunk {
    Lines {
        lines: Vec<u8>,
        first: u64,
        json: bool,
    },
    Template(String, Range<u64>),
    Keys(Keys),
}

impl Chunk {
    pub(super) fn keys(self, bad: &mut BadLines) -> Result<Keys, InputError> {
        match self {
            Self::Lines { lines, first, json } => {
                let mut note = |error| bad.note(error);
                if json {
                    return Keys::read_jsonl(&*lines, first, &mut note);
                }
                let keys = Keys::read_lines(&*lines, first, &mut note)?;
                bad.returns += keys.iter().filter(|key| key.ends_with(b"\r")).count() as u64;
                bad.lines += keys.len() as u64;
                Ok(keys)
            }
            // `KeySource::template` has refused a template that cannot be filled.
            Self::Template(template, range) => {
                Keys::template(&template, range).map_err(|error| InputError::Line {
                    line: 0,
                    problem: error.to_string(),
                })
            }
            Self::Keys(keys) => Ok(keys),
        }
    }
}
