//! Texts read as a whole: tables that servers print, and specs.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use hashroute::{Router, Spec};

use crate::failure::{Asked, Failure};

/// Reads the text of a file or of standard input (-).
///
/// At most `most` + 1 bytes are read, so that the parser of the text can report a text that is too
/// long. Errors name `option` and what was `expected` in the file.
pub(crate) fn read(
    path: &Path,
    option: &str,
    most: usize,
    expected: &str,
) -> Result<String, Failure> {
    let bytes = read_bytes(path, most).map_err(|error| Failure::file(option, path, error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let lines = before.split(|byte| *byte == b'\n');
        let line = lines.count();
        let wrong = format!("line {line} is not UTF-8: expected {expected}");
        Failure::file(option, path, wrong)
    })?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

fn read_bytes(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let input: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path)?)
    };
    let mut bytes = Vec::new();
    input.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a spec from a file or from standard input (-).
pub(crate) fn read_spec(path: &Path, option: &str) -> Result<Spec, Failure> {
    Ok(read_router(path, option)?.0)
}

/// Reads a spec and builds its router.
pub(crate) fn read_router(path: &Path, option: &str) -> Result<(Spec, Box<dyn Router>), Failure> {
    let text = read(path, option, Spec::MAX_TEXT, "a spec in TOML or JSON")?;
    Spec::read(&text).map_err(|error| Asked::file(option, path).refused(error))
}
