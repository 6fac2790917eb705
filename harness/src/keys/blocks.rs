//! Blocks of whole lines, as large as the input delivers them.

use core::mem;
use std::io::{self, ErrorKind, Read};

use super::error::{ENDLESS, LONGEST, endless};

/// The number of bytes that one read asks for.
const BLOCK: usize = 1 << 18;

/// Reads blocks of whole lines, each with the number of its first line. A line that is too long for
/// a key may lose bytes at its end.
#[derive(Debug)]
pub(super) struct Blocks<R> {
    input: R,
    /// The start of a line that has not been read to its end.
    rest: Vec<u8>,
    line: u64,
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            rest: Vec::new(),
            line: 1,
        }
    }

    /// Returns the next lines, as many as have arrived; `None` at the end.
    pub(super) fn advance(&mut self) -> io::Result<Option<(Vec<u8>, u64)>> {
        let mut block = mem::take(&mut self.rest);
        let mut passed = 0;
        loop {
            let start = block.len();
            block.resize(start + BLOCK, 0);
            let count = match self.input.read(&mut block[start..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => 0,
                Ok(0) => {
                    block.truncate(start);
                    return Ok((start > 0).then(|| self.give(block)));
                }
                read => read?,
            };
            block.truncate(start + count);
            if let Some(end) = memchr::memrchr(b'\n', &block[start..]) {
                self.rest = block.split_off(start + end + 1);
                return Ok(Some(self.give(block)));
            }
            passed += count;
            if passed > ENDLESS {
                return Err(endless(self.line));
            }
            // One byte beyond the limit is enough for the parser to refuse the line, and keeps
            // a file without line feeds from filling the memory.
            block.truncate(LONGEST + 1);
        }
    }

    fn give(&mut self, block: Vec<u8>) -> (Vec<u8>, u64) {
        let first = self.line;
        self.line += memchr::memchr_iter(b'\n', &block).count() as u64;
        (block, first)
    }
}
