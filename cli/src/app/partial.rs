//! Files of counts, which `--partial` writes, and which `merge` and `skew --parts` read.

use core::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hashroute::Error;
use hashroute_harness::InputError;

use super::keys::{self, Input};
use crate::failure::Failure;
use crate::output;

/// Refuses a file that cannot be written, or that the keys come from, before all keys are read.
/// Creates and changes nothing.
pub(crate) fn check(path: Option<&PathBuf>, keys: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
        return Ok(());
    };
    let [target, source] = [Some(path.as_path()), keys].map(|path| fs::canonicalize(path?).ok());
    if target.is_some() && target == source {
        let path = path.display();
        return Err(Failure::Input(format!(
            "--partial {path}: the keys come from this file: expected another one"
        )));
    }
    output::check(path).map_err(|error| refused(path, &error))
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::file("--partial", path, error)
}

/// Reads everything in all files and passes it to `add`. A file without any content is an error.
pub(crate) fn read_all<T, I: Iterator<Item = Result<T, InputError>>>(
    files: &[PathBuf],
    option: &str,
    read: impl Fn(Input) -> I,
    mut add: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Failure> {
    for path in files {
        let wrong =
            |error: &dyn Display| Failure::Input(format!("{option}{}: {error}", path.display()));
        let mut papers = read(keys::open(path).map_err(|error| wrong(&error))?).peekable();
        if papers.peek().is_none() {
            return Err(wrong(&"empty: expected a file that --partial wrote"));
        }
        for paper in papers {
            let paper = paper.map_err(|error| wrong(&error))?;
            add(paper).map_err(|error| wrong(&error))?;
        }
    }
    Ok(())
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
    let written = counts(&mut text).and_then(|()| fs::write(path, text));
    written.map_err(|error| refused(path, &error))?;
    Ok(false)
}
