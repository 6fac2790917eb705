//! Keys on the command line that were most likely meant as files.

use std::ffi::OsString;
use std::fs;

use hashroute_harness::text::printable;

use crate::failure::Failure;

/// Refuses typed keys if all are files or pipes, such as `/dev/fd/63`, for which a shell writes
/// `<(...)`. Notes those that are files beside other keys. `remedy` reads the keys of a file.
pub(crate) fn refuse_files(keys: &[OsString], remedy: &str) -> Result<(), Failure> {
    if keys.iter().any(|key| key == "-") {
        let wrong = Failure::input("-: expected --keys - for keys on standard input");
        let hint = "for a key of this name, write --hex 2d";
        return Err(wrong.with_hint(Some(hint.into())));
    }
    let is_file = |key: &&OsString| fs::metadata(key).is_ok_and(|data| !data.is_dir());
    let files: Vec<_> = keys.iter().filter(is_file).collect();
    let Some(first) = files.first().map(|file| file.to_string_lossy()) else {
        let mut missing = keys.iter().map(|key| key.to_string_lossy());
        if let Some(path) = missing.find(|key| key.starts_with("./") || key.starts_with("../")) {
            eprintln!(
                "note: {}: there is no such file; it is taken as a key",
                printable(&path)
            );
        }
        return Ok(());
    };
    // A shell names its pipes so; no key is meant.
    let are_pipes = first.starts_with("/dev/fd/") || first.starts_with("/proc/self/fd/");
    if files.len() < keys.len() && !are_pipes {
        eprintln!(
            "note: {first}: a file, and its name is taken as a key; {remedy} {first} takes the keys in it",
            first = printable(&first),
        );
        return Ok(());
    }
    let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    let files = files.join(" ");
    let wrong = Failure::Input(format!(
        "{files}: a file, not a key: expected {remedy} {files} for the keys in it"
    ));
    let hint = "for a key of this name, write it with --hex, or as a line on standard input";
    Err(wrong.with_hint(Some(hint.into())))
}
