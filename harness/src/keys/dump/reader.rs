//! Reads an output line by line.

use super::biggest::Biggest;
use super::format::{DumpFormat, DumpRow, Parsed};
use super::hot::Hot;
use super::metadump::Metadump;
use super::scan::Scan;
use super::source::{BadLine, DumpSource};
use crate::keys::error::{InputError, LONGEST, too_long};

/// The number of bad lines that are kept with their problem.
const KEPT: usize = 5;

/// Reads the output of `redis-cli` or memcached line by line. Memory: only the largest keys that
/// `redis-cli` lists.
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
    Hot(Hot),
    Scan(Scan),
    Metadump(Metadump),
}

impl DumpReader {
    /// Starts at the beginning of an output.
    pub fn new(format: DumpFormat) -> Self {
        let parser = match format {
            DumpFormat::HotKeys => Parser::Hot(Hot::default()),
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

    /// Returns the key that the next line names, if it names one. The line comes without its line
    /// feed.
    ///
    /// # Errors
    /// [`InputError::Line`] for a line that neither names a key nor is something else that the
    /// program prints. The line is counted, and the reader can go on.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<DumpRow>, InputError> {
        self.lines += 1;
        if line.len() > LONGEST {
            return Err(self.bad(too_long()));
        }
        let parsed = match &mut self.parser {
            Parser::Biggest(parser) => parser.line(line),
            Parser::Hot(parser) => parser.line(line),
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
                self.bytes =
                    sum.ok_or("the sum with this size is too large: expected less than 2^64")?;
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

    /// Returns what is known at the end of the output.
    pub fn finish(self) -> DumpSource {
        let mut whole = match self.parser {
            Parser::Biggest(parser) => parser.finish(self.keys),
            Parser::Hot(parser) => parser.finish(self.keys),
            Parser::Scan(parser) => parser.finish(),
            Parser::Metadump(parser) => parser.finish(),
        };
        let has_sizes = self.keys > 0 && self.unsized_keys == 0;
        if self.unsized_keys > 0 && self.format == DumpFormat::BigKeys {
            let limit = "sizes are left out: --bigkeys counts lists, sets, hashes and streams in elements, not bytes (--memkeys counts bytes)";
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
