//! All keys of an output at once.

use std::io::BufRead;

use super::format::DumpFormat;
use super::reader::DumpReader;
use super::source::DumpSource;
use crate::keys::error::{Bad, InputError};
use crate::keys::list::Keys;

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
    /// The keys, in order. They have sizes, or requests, if every key of the list has them.
    pub keys: Keys,
    /// Where they came from.
    pub source: DumpSource,
}

impl Keys {
    /// Reads the keys of an output. Lines that cannot be read are counted and skipped; if `strict`,
    /// the first is an error. Memory for the keys only; O(1) a byte.
    ///
    /// # Errors
    /// [`InputError::Io`]; if `strict`, [`InputError::Line`] for a line that neither names a key
    /// nor is something else that the program prints.
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

/// Keys that are being read.
#[derive(Debug, Default)]
pub(crate) struct DumpKeys {
    keys: Keys,
    /// The sizes of the keys that have one.
    sizes: Vec<u64>,
    /// The requests of the keys that have some.
    requests: Vec<u64>,
}

impl DumpKeys {
    /// Adds the keys of these lines. Passes lines that cannot be used to `bad`.
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
                    self.requests.extend(row.requests);
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

    /// Returns the keys, with sizes or requests if every key has them.
    pub(crate) fn finish(self) -> Keys {
        let Self {
            mut keys,
            sizes,
            requests,
        } = self;
        let whole = |numbers: Vec<u64>| {
            (!keys.is_empty() && numbers.len() == keys.len()).then_some(numbers)
        };
        (keys.sizes, keys.requests) = (whole(sizes), whole(requests));
        keys
    }
}
