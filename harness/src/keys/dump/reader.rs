//! A text, line by line.

use super::biggest::Biggest;
use super::format::{DumpFormat, DumpRow, Parsed};
use super::metadump::Metadump;
use super::scan::Scan;
use super::source::{BadLine, DumpSource};
use crate::keys::error::{InputError, LONGEST, too_long};

/// How many bad lines are kept with their words.
const KEPT: usize = 5;

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
