//! Files of counts, which `--partial` writes, and which `merge` and `skew --parts` read.

use core::cell::RefCell;
use core::fmt::Display;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hashroute::Error;
use hashroute_harness::{InputError, text::printable};
use xxhash_rust::xxh3::Xxh3;

use super::keys::{self, Input};
use super::outputs;
use crate::failure::Failure;
use crate::output;

/// Reads everything in all files and passes it to `add`. A file without any content is an error, and
/// so is a file that is named twice. Different files with equal parts are possible, though copies
/// are more likely: they are noted. `keys` returns the number of keys of a part.
pub(crate) fn read_all<T, I: Iterator<Item = Result<T, InputError>>>(
    files: &[PathBuf],
    option: &str,
    read: impl Fn(Input) -> I,
    keys: impl Fn(&T) -> u64,
    mut add: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Failure> {
    let (mut paths, mut parts) = (BTreeMap::new(), BTreeMap::new());
    for path in files {
        let wrong =
            |error: &dyn Display| Failure::Input(format!("{option}{}: {error}", path.display()));
        let same = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if let Some(first) = paths.insert(same, path) {
            return Err(wrong(&format!(
                "the same file as {}: its keys would count twice: expected each part once",
                first.display()
            )));
        }
        let digests = Digests::default();
        let input = keys_of(path, digests.clone()).map_err(|error| wrong(&error))?;
        let mut papers = read(input).peekable();
        if papers.peek().is_none() {
            return Err(wrong(&"empty: expected a file that --partial wrote"));
        }
        let mut counts = Vec::new();
        for paper in papers {
            let paper = paper.map_err(|error| wrong(&error))?;
            counts.push(keys(&paper));
            add(paper).map_err(|error| wrong(&error))?;
        }
        let full = digests.take().into_iter().zip(counts);
        for (digest, _) in full.filter(|(_, keys)| *keys > 0) {
            if let Some(first) = parts.insert(digest, path) {
                note_equal(path, first);
            }
        }
    }
    Ok(())
}

fn note_equal(path: &Path, first: &Path) {
    let [path, first] = [path, first].map(|path| printable(&path.display().to_string()));
    // Standard error may be closed; there is no other place for the message.
    let _ = writeln!(
        io::stderr(),
        "note: {path}: a part equal to one of {first}: if it is a copy, its keys count twice"
    );
}

/// The hash of each line that was read so far.
type Digests = Rc<RefCell<Vec<u128>>>;

fn keys_of(path: &Path, digests: Digests) -> io::Result<Input> {
    let lines: Box<dyn Read> = Box::new(Lines {
        input: keys::open(path)?,
        line: Xxh3::new(),
        length: 0,
        digests,
    });
    Ok(Box::new(BufReader::new(lines)))
}

/// The most bytes of a line: a part is in memory as a whole while it is read.
const LONGEST: usize = 1 << 28;

/// Passes bytes on and hashes each line of them.
struct Lines<R> {
    input: R,
    line: Xxh3,
    /// The bytes of the line so far.
    length: usize,
    digests: Digests,
}

impl<R> Lines<R> {
    fn end(&mut self) {
        if core::mem::take(&mut self.length) > 0 {
            self.digests.borrow_mut().push(self.line.digest128());
            self.line.reset();
        }
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        for piece in buffer[..count].split_inclusive(|&byte| byte == b'\n') {
            let text = piece.strip_suffix(b"\n");
            self.line.update(text.unwrap_or(piece));
            self.length += text.unwrap_or(piece).len();
            if self.length > LONGEST {
                return Err(io::Error::other(format!(
                    "a line is too long: expected at most {LONGEST} bytes"
                )));
            }
            if text.is_some() {
                self.end();
            }
        }
        if count == 0 && !buffer.is_empty() {
            self.end();
        }
        Ok(count)
    }
}

/// Writes counts. Returns whether they went to standard output, where nothing else may follow.
pub(crate) fn write(
    path: &Path,
    counts: impl Fn(&mut dyn Write) -> io::Result<()>,
) -> Result<bool, Failure> {
    if path.as_os_str() == "-" {
        counts(&mut output::stdout())?;
        return Ok(true);
    }
    let mut text = Vec::new();
    counts(&mut text).map_err(|error| Failure::file("--partial", path, error))?;
    outputs::write("--partial", path, &text)?;
    Ok(false)
}
