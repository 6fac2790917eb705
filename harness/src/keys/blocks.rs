//! Whole lines of an input, as many as arrive together.

use core::mem;
use std::io::{self, ErrorKind, Read};

use super::error::LONGEST;

/// How much is read at once.
const BLOCK: usize = 1 << 18;

/// Blocks of whole lines, each with the number of its first line. Of a line that is too long for a
/// key, some may be left out.
#[derive(Debug)]
pub(super) struct Blocks<R> {
    input: R,
    /// The start of a line whose end has not been read.
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

    /// The next line and those that have arrived with it; `None` at the end.
    pub(super) fn advance(&mut self) -> io::Result<Option<(Vec<u8>, u64)>> {
        let mut block = mem::take(&mut self.rest);
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
            // Who parses it sees from this much that the line is too long.
            block.truncate(LONGEST + 1);
        }
    }

    fn give(&mut self, block: Vec<u8>) -> (Vec<u8>, u64) {
        let first = self.line;
        self.line += memchr::memchr_iter(b'\n', &block).count() as u64;
        (block, first)
    }
}
