//! Files and standard input; texts read as a whole: tables that servers print, and specs.

use core::sync::atomic::{AtomicBool, Ordering};
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use hashroute::{Error, Router, Spec, compat, strategy};
use hashroute_harness::FileKind;
use serde::de::IgnoredAny;

use super::nearest;
use crate::failure::{Asked, Failure};

/// Reads the text of a file or of standard input (-), of at most `most` bytes. Errors name `option`
/// and what was `expected` in the file.
pub(crate) fn read(
    path: &Path,
    option: &str,
    most: usize,
    expected: &str,
) -> Result<String, Failure> {
    let bytes = read_bytes(path, most).map_err(|error| Failure::file(option, path, error))?;
    if let Some(kind) = not_text(&bytes) {
        let wrong = format!("{kind}: expected {expected}");
        return Err(Failure::file(option, path, wrong).with_hint(as_text(kind, path)));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let lines = before.split(|byte| *byte == b'\n');
        let line = lines.count();
        let wrong = format!("line {line} is not UTF-8: expected {expected}");
        Failure::file(option, path, wrong)
    })?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// Whether some option already reads standard input, which can be read only once.
static INPUT_TAKEN: AtomicBool = AtomicBool::new(false);

/// Opens a file, or standard input (-).
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path.as_os_str() != "-" {
        return Ok(Box::new(File::open(path)?));
    }
    if INPUT_TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other(
            "standard input is already read for another option: expected a file",
        ));
    }
    Ok(Box::new(io::stdin()))
}

/// Returns whether standard input is a pipe, a socket or a file that no option has read: then
/// somebody most likely gave it. A terminal and `/dev/null` are neither.
pub(crate) fn has_input() -> bool {
    !INPUT_TAKEN.load(Ordering::Relaxed) && is_given()
}

#[cfg(unix)]
fn is_given() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let handle = io::stdin().as_fd().try_clone_to_owned();
    let data = handle.and_then(|handle| File::from(handle).metadata());
    data.is_ok_and(|data| {
        let kind = data.file_type();
        kind.is_file() || kind.is_fifo() || kind.is_socket()
    })
}

#[cfg(not(unix))]
fn is_given() -> bool {
    use std::io::IsTerminal;
    !io::stdin().is_terminal()
}

/// Reads a file or standard input (-) of at most `most` bytes.
pub(crate) fn read_bytes(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let input = open(path)?;
    let mut bytes = Vec::new();
    input.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(io::Error::other(format!(
            "too long: expected at most {most} bytes"
        )));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `most` bytes, for a hint. A pipe is left to whoever reads it.
pub(crate) fn peek(path: &Path, most: usize) -> Option<Vec<u8>> {
    let is_file = std::fs::metadata(path).is_ok_and(|data| data.is_file());
    let bytes = is_file.then(|| read_bytes(path, most).ok());
    bytes.flatten()
}

/// The bytes by which the kind of a file is told.
pub(crate) const START: usize = 1 << 16;

/// Returns the kind of a file that is no text in UTF-8 by its first bytes.
pub(crate) fn not_text(bytes: &[u8]) -> Option<FileKind> {
    use FileKind::{Binary, Gzip, Utf16, Zstd};
    let kind = FileKind::of(&bytes[..bytes.len().min(START)])?;
    matches!(kind, Binary(_) | Gzip | Utf16 | Zstd).then_some(kind)
}

/// Says how to make text of such a file.
pub(crate) fn as_text(kind: FileKind, path: &Path) -> Option<String> {
    let path = path.display();
    match kind {
        FileKind::Gzip => Some(format!("gzip -dc {path} unpacks it")),
        FileKind::Zstd => Some(format!("zstd -dc {path} unpacks it")),
        FileKind::Utf16 => Some(format!("iconv -f UTF-16 -t UTF-8 {path} makes UTF-8 of it")),
        _ => None,
    }
}

/// The most bytes of TOML: its parser takes up to 80 bytes of memory for each.
const MOST_TOML: usize = 1 << 25;

/// Refuses more TOML than fits into memory.
pub(super) fn few_of_toml(text: &str) -> Result<(), String> {
    if text.len() > MOST_TOML {
        return Err(format!(
            "too long for TOML: expected at most {MOST_TOML} bytes, or JSON"
        ));
    }
    Ok(())
}

/// The most bytes of a line of keys.
pub(crate) const LONGEST: usize = 1 << 16;

/// Reads the next line with its line feed, or as much of it as shows that it is too long. Returns
/// `false` at the end.
pub(crate) fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let most = LONGEST as u64 + 1;
    Ok(input.take(most).read_until(b'\n', line)? > 0)
}

/// Reads a spec from a file or from standard input (-).
pub(crate) fn read_spec(path: &Path, option: &str) -> Result<Spec, Failure> {
    Ok(read_router(path, option)?.0)
}

/// Reads a spec and builds its router.
pub(crate) fn read_router(path: &Path, option: &str) -> Result<(Spec, Box<dyn Router>), Failure> {
    let text = read(path, option, Spec::MAX_TEXT, "a spec in TOML or JSON")?;
    if !text.trim_start().starts_with('{') {
        few_of_toml(&text).map_err(|wrong| Failure::file(option, path, wrong))?;
    }
    Spec::read(&text).map_err(|error| {
        let line = matches!(error, Error::Config { .. }).then(|| malformed(&text));
        if let Some(line) = line.flatten() {
            let wrong = format!(
                "line {line}: not a spec: expected TOML or JSON as `hashroute spec write` prints it"
            );
            return Failure::file(option, path, wrong).with_hint(list_hint(&text, path));
        }
        let hint = spec_hint(&error).or_else(|| list_hint(&text, path));
        Asked::file(option, path).refused(error).with_hint(hint)
    })
}

/// Returns the line where the text is neither TOML nor JSON; `None` if it is one of them.
fn malformed(text: &str) -> Option<usize> {
    if text.trim_start().starts_with('{') {
        let read = serde_json::from_str::<IgnoredAny>(text);
        return read.err().map(|error| error.line());
    }
    let error = toml::from_str::<IgnoredAny>(text).err()?;
    let start = error.span().map_or(0, |span| span.start);
    Some(text.get(..start)?.split('\n').count())
}

/// Says how to make a spec of a list of nodes.
fn list_hint(text: &str, path: &Path) -> Option<String> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let columns = || first.split([',', ';', '\t']).map(str::trim);
    let is_list = match first.as_bytes() {
        [b'[', b'[', ..] => first.contains("node"),
        [b'[', ..] => true,
        _ => columns().any(|column| column == "name"),
    };
    is_list.then(|| {
        format!(
            "a list of nodes is no spec; make one: hashroute spec write --nodes-file {}",
            path.display()
        )
    })
}

/// Suggests a name for a mistyped strategy, dialect or field.
fn spec_hint(error: &Error) -> Option<String> {
    match error {
        Error::Parameter { name, value, .. } if &**name == "strategy" => {
            nearest::hint(value, strategy::ALL.iter().map(|row| row.name))
        }
        Error::Parameter { name, value, .. } if &**name == "dialect" => {
            nearest::hint(value, compat::ALL.iter().map(|row| row.name))
        }
        Error::Config { reason, .. } => nearest::field_hint(reason),
        _ => None,
    }
}
