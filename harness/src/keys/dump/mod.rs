//! Keys from what people have already: the output of `redis-cli` and memcached.
//!
//! | format | made by | keys | sizes |
//! |---|---|---|---|
//! | [`BigKeys`](DumpFormat::BigKeys) | `redis-cli --bigkeys` | the largest of each type | of strings alone |
//! | [`MemKeys`](DumpFormat::MemKeys) | `redis-cli --memkeys` | the largest of each type | bytes of memory |
//! | [`KeyStats`](DumpFormat::KeyStats) | `redis-cli --keystats` | the largest of all | bytes of memory, rounded |
//! | [`Scan`](DumpFormat::Scan) | `redis-cli --scan`, `SCAN` again and again | all | none |
//! | [`Metadump`](DumpFormat::Metadump) | memcached's `lru_crawler metadump all` | all | bytes of the item |
//!
//! Those of Redis 7.0.15 and memcached 1.6.18 were recorded; `--keystats`, and the shape that
//! `--bigkeys` has since Redis 7.4, are read as the source of `redis-cli` 7.4 prints them.

use core::fmt;
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::error::{Bad, InputError, LONGEST, too_long};
use super::list::Keys;

mod biggest;
mod metadump;
mod scan;

use biggest::Biggest;
use metadump::Metadump;
use scan::Scan;

/// How many bad lines are kept with their words.
const KEPT: usize = 5;

/// Which program printed the keys, and how.
///
/// ```
/// use hashroute_harness::DumpFormat;
/// assert_eq!(DumpFormat::MemKeys.to_string(), "memkeys");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DumpFormat {
    /// `redis-cli --bigkeys`.
    BigKeys,
    /// `redis-cli --memkeys`.
    MemKeys,
    /// `redis-cli --keystats`.
    KeyStats,
    /// `redis-cli --scan`, or the replies to `SCAN`.
    Scan,
    /// memcached's `lru_crawler metadump all`.
    Metadump,
}

impl DumpFormat {
    /// Whether it lists the largest keys alone, which are few.
    pub(crate) fn is_short(self) -> bool {
        !matches!(self, Self::Scan | Self::Metadump)
    }
}

impl fmt::Display for DumpFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::BigKeys => "bigkeys",
            Self::MemKeys => "memkeys",
            Self::KeyStats => "keystats",
            Self::Scan => "scan",
            Self::Metadump => "metadump",
        })
    }
}

/// A key that a line names.
///
/// ```
/// use hashroute_harness::{DumpFormat, DumpReader};
///
/// let row = DumpReader::new(DumpFormat::Scan).line(b"\"a\\x00\"")?.expect("a key");
/// assert_eq!((row.key.as_slice(), row.size), (&b"a\0"[..], None));
/// # Ok::<(), hashroute_harness::InputError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DumpRow {
    /// Its bytes.
    pub key: Vec<u8>,
    /// The bytes that it stores, where the line says so.
    pub size: Option<u64>,
}

/// A line that is not what it should be.
///
/// ```
/// # use hashroute_harness::BadLine;
/// let bad: BadLine = serde_json::from_str(r#"{"line":3,"problem":"no size"}"#)?;
/// assert_eq!((bad.line, bad.problem.as_str()), (3, "no size"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BadLine {
    /// Which, from 1.
    pub line: u64,
    /// What is wrong with it, and what would be right.
    pub problem: String,
}

/// Where keys came from, and what is not known of them.
///
/// ```
/// use hashroute_harness::{DumpFormat, Keys};
///
/// let text = "key=a exp=-1 la=1 cas=1 fetch=no cls=1 size=65\n";
/// let source = Keys::dump(DumpFormat::Metadump, text.as_bytes(), true)?.source;
/// assert_eq!((source.keys_listed, source.bytes_listed), (1, Some(65)));
/// assert!(source.partial && source.limits[0].contains("END"));
/// # Ok::<(), hashroute_harness::InputError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DumpSource {
    /// What it is.
    pub format: DumpFormat,
    /// How many keys it lists.
    pub keys_listed: u64,
    /// The bytes of these; `None` where some have no size.
    pub bytes_listed: Option<u64>,
    /// How many keys its maker saw, where it says so.
    pub keys_seen: Option<u64>,
    /// The bytes of those, where it says so.
    pub bytes_seen: Option<u64>,
    /// Whether there are keys that it does not list.
    pub partial: bool,
    /// In words, what is missing or not exact.
    pub limits: Vec<String>,
    /// How many lines could not be read.
    pub bad_lines: u64,
    /// The first five of them.
    pub first_bad: Vec<BadLine>,
}

/// Keys, and where they came from.
///
/// ```
/// # use hashroute_harness::{DumpFormat, Keys};
/// let dump = Keys::dump(DumpFormat::Scan, &b"user:1\nuser:2\n"[..], true)?;
/// assert_eq!((dump.keys.len(), dump.source.partial), (2, false));
/// # Ok::<(), hashroute_harness::InputError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dump {
    /// The keys in order, with sizes where every one has one.
    pub keys: Keys,
    /// Where they came from.
    pub source: DumpSource,
}

impl Keys {
    /// The keys of such a text. Lines that cannot be read are counted and passed over, or with
    /// `strict` an error. Memory for the keys alone; O(1) a byte.
    ///
    /// # Errors
    /// [`InputError::Io`]; with `strict`, [`InputError::Line`] for the first line that is neither
    /// a key nor what the program prints beside keys.
    ///
    /// ```
    /// # use hashroute_harness::{DumpFormat, Keys};
    /// let text = "1) \"0\"\n2) 1) \"a\\x00\"\n   2) what\n";
    /// let dump = Keys::dump(DumpFormat::Scan, text.as_bytes(), false)?;
    /// assert!(dump.keys.iter().eq([b"a\0"]));
    /// assert_eq!((dump.source.bad_lines, dump.source.first_bad[0].line), (1, 3));
    /// assert!(Keys::dump(DumpFormat::Scan, text.as_bytes(), true).is_err());
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn dump(format: DumpFormat, input: impl BufRead, strict: bool) -> Result<Dump, InputError> {
        let (mut reader, mut keys) = (DumpReader::new(format), DumpKeys::default());
        let mut bad = |error| if strict { Err(error) } else { Ok(()) };
        keys.read(&mut reader, input, &mut bad)?;
        let (keys, source) = (keys.finish(), reader.finish());
        Ok(Dump { keys, source })
    }
}

/// Keys as they are read.
#[derive(Debug, Default)]
pub(crate) struct DumpKeys {
    keys: Keys,
    /// Of those that have one.
    sizes: Vec<u64>,
}

impl DumpKeys {
    /// The keys of these lines too; `bad` says what to do with a line that cannot be used.
    pub(crate) fn read(
        &mut self,
        reader: &mut DumpReader,
        mut lines: impl BufRead,
        bad: Bad,
    ) -> Result<(), InputError> {
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            match reader.line(line.strip_suffix(b"\n").unwrap_or(&line)) {
                Ok(Some(row)) => {
                    self.keys.push(&row.key);
                    self.sizes.extend(row.size);
                }
                Ok(None) => {}
                Err(error) => bad(error)?,
            }
            line.clear();
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// With sizes where every key has one.
    pub(crate) fn finish(self) -> Keys {
        let Self { mut keys, sizes } = self;
        keys.sizes = (!keys.is_empty() && sizes.len() == keys.len()).then_some(sizes);
        keys
    }
}

/// Reads such a text line by line. Memory for the largest keys of `redis-cli`'s lists alone.
///
/// ```
/// use hashroute_harness::{DumpFormat, DumpReader};
///
/// let mut reader = DumpReader::new(DumpFormat::MemKeys);
/// let line = br#"[00.00%] Biggest string found so far '"user:34"' with 104 bytes"#;
/// let row = reader.line(line)?.expect("a key");
/// assert_eq!((row.key.as_slice(), row.size), (&b"user:34"[..], Some(104)));
/// assert_eq!(reader.line(b"Biggest string found '\"user:34\"' has 104 bytes")?, None); // again
/// assert_eq!(reader.finish().keys_listed, 1);
/// # Ok::<(), hashroute_harness::InputError>(())
/// ```
#[derive(Debug)]
pub struct DumpReader {
    format: DumpFormat,
    parser: Parser,
    lines: u64,
    keys: u64,
    bytes: u64,
    unsized_keys: u64,
    bad_lines: u64,
    first_bad: Vec<BadLine>,
}

#[derive(Debug)]
enum Parser {
    Biggest(Biggest),
    Scan(Scan),
    Metadump(Metadump),
}

/// What a parser makes of a line: a key, nothing, or what is wrong.
type Parsed = Result<Option<DumpRow>, String>;

/// What a parser knows at the end of all keys that its format is about.
#[derive(Debug, Default)]
struct Whole {
    keys: Option<u64>,
    bytes: Option<u64>,
    partial: bool,
    limits: Vec<String>,
}

impl DumpReader {
    /// At the start of such a text.
    ///
    /// ```
    /// # use hashroute_harness::{DumpFormat, DumpReader};
    /// assert_eq!(DumpReader::new(DumpFormat::Scan).finish().keys_listed, 0);
    /// ```
    pub fn new(format: DumpFormat) -> Self {
        let parser = match format {
            DumpFormat::Scan => Parser::Scan(Scan::default()),
            DumpFormat::Metadump => Parser::Metadump(Metadump::default()),
            list => Parser::Biggest(Biggest::new(list)),
        };
        Self {
            format,
            parser,
            lines: 0,
            keys: 0,
            bytes: 0,
            unsized_keys: 0,
            bad_lines: 0,
            first_bad: Vec::new(),
        }
    }

    /// The key that the next line names, if it names one. The line comes without its line feed.
    ///
    /// # Errors
    /// [`InputError::Line`] for a line that is neither a key nor what the program prints beside
    /// keys. It is counted, and the reader can go on.
    ///
    /// ```
    /// # use hashroute_harness::{DumpFormat, DumpReader};
    /// let mut reader = DumpReader::new(DumpFormat::Metadump);
    /// assert_eq!(reader.line(b"BUSY").unwrap_err().to_string(), "line 1: memcached says BUSY: expected key=... size=...");
    /// assert_eq!(reader.finish().bad_lines, 1);
    /// ```
    pub fn line(&mut self, line: &[u8]) -> Result<Option<DumpRow>, InputError> {
        self.lines += 1;
        if line.len() > LONGEST {
            return Err(self.bad(too_long()));
        }
        let parsed = match &mut self.parser {
            Parser::Biggest(parser) => parser.line(line),
            Parser::Scan(parser) => parser.line(line),
            Parser::Metadump(parser) => parser.line(line),
        };
        match parsed.and_then(|row| self.count(row)) {
            Ok(row) => Ok(row),
            Err(problem) => Err(self.bad(problem)),
        }
    }

    fn count(&mut self, row: Option<DumpRow>) -> Parsed {
        match row.as_ref().map(|row| row.size) {
            None => return Ok(row),
            Some(None) => self.unsized_keys += 1,
            Some(Some(size)) => {
                let sum = self.bytes.checked_add(size);
                self.bytes = sum.ok_or("with this size the sum is beyond 2^64")?;
            }
        }
        self.keys += 1;
        Ok(row)
    }

    fn bad(&mut self, problem: String) -> InputError {
        let line = self.lines;
        self.bad_lines += 1;
        if self.first_bad.len() < KEPT {
            let problem = problem.clone();
            self.first_bad.push(BadLine { line, problem });
        }
        InputError::Line { line, problem }
    }

    /// What is known at the end of the text.
    ///
    /// ```
    /// # use hashroute_harness::{DumpFormat, DumpReader};
    /// let mut reader = DumpReader::new(DumpFormat::MemKeys);
    /// reader.line(b"Sampled 49 keys in the keyspace!")?;
    /// assert_eq!(reader.finish().keys_seen, Some(49));
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn finish(self) -> DumpSource {
        let mut whole = match self.parser {
            Parser::Biggest(parser) => parser.finish(self.keys),
            Parser::Scan(parser) => parser.finish(),
            Parser::Metadump(parser) => parser.finish(),
        };
        let has_sizes = self.keys > 0 && self.unsized_keys == 0;
        if self.unsized_keys > 0 && self.format == DumpFormat::BigKeys {
            let limit = "sizes are left out: lists, sets, hashes and streams are told in elements, not in bytes (--memkeys tells bytes)";
            whole.limits.push(limit.to_owned());
        }
        DumpSource {
            format: self.format,
            keys_listed: self.keys,
            bytes_listed: has_sizes.then_some(self.bytes),
            keys_seen: whole.keys,
            bytes_seen: whole.bytes,
            partial: whole.partial,
            limits: whole.limits,
            bad_lines: self.bad_lines,
            first_bad: self.first_bad,
        }
    }
}

/// A line without a carriage return at its end.
fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The start of a line, to show what is wrong with it.
fn shown(line: &[u8]) -> String {
    const MOST: usize = 60;
    let start = line[..line.len().min(MOST)].escape_ascii().to_string();
    if line.len() > MOST {
        format!("{start}...")
    } else {
        start
    }
}

/// A whole number in decimal digits alone.
fn digits(text: &[u8]) -> Option<u64> {
    let plain = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(text)
        .ok()
        .filter(|_| plain)?
        .parse()
        .ok()
}

/// A text split before and after the first occurrence of another.
fn split<'t>(text: &'t [u8], at: &str) -> Option<(&'t [u8], &'t [u8])> {
    let start = memchr::memmem::find(text, at.as_bytes())?;
    Some((&text[..start], &text[start + at.len()..]))
}
