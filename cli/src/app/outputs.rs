//! The files that a command writes. All go through here, so that none is lost.
//!
//! Before the work, each output is checked: it must be possible to write it, and it must be neither
//! an input nor another output. After the work, a regular file is written beside its old version
//! and renamed over it, so that a full disk leaves the old version whole. Anything else, such as a
//! pipe or `/dev/stdout`, is written in place.

mod place;
mod same;

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};

use self::place::{Place, resolved};
use self::same::{File, standard};
use crate::failure::Failure;

/// The options that name a file to write. Every other path is an input.
const OUTPUTS: [&str; 5] = ["partial", "out", "junit", "save-baseline", "write-config"];

/// The command whose `--out` is a folder.
const OF_FOLDERS: &str = "man";

/// A path on the command line, with the option that names it.
struct Named {
    option: String,
    path: PathBuf,
}

impl Named {
    fn is_output(&self) -> bool {
        let option = self.option.strip_prefix("--");
        option.is_some_and(|option| OUTPUTS.contains(&option))
    }
}

/// Checks all outputs of a command line against each other and against all inputs. `settings` is
/// the file of options. Creates and changes nothing.
pub(crate) fn check(
    program: &Command,
    matches: &ArgMatches,
    settings: Option<&Path>,
) -> Result<(), Failure> {
    let (command, matches) = last(program, matches);
    if command.get_name() == OF_FOLDERS {
        return Ok(());
    }
    let (outputs, mut inputs): (Vec<_>, Vec<_>) = paths(command, matches)
        .into_iter()
        .filter(|named| named.path.as_os_str() != "-")
        .partition(Named::is_output);
    inputs.extend(settings.map(|path| Named {
        option: "--options".into(),
        path: path.to_owned(),
    }));
    let told = |named: &Named| format!("{} {}", named.option, named.path.display());
    let mut inputs: Vec<_> = inputs
        .iter()
        .filter_map(|named| Some((File::of(&named.path)?, told(named))))
        .collect();
    inputs.extend(standard(&io::stdin()).map(|file| (file, "standard input".into())));
    let mut written = Vec::new();
    if let Some(file) = standard(&io::stdout()) {
        written.push((file, "standard output".to_owned()));
    }
    if let Some((_, input)) = written.iter().find_map(|(file, _)| find(&inputs, file)) {
        return Err(Failure::Input(format!(
            "standard output: the same file as {input}: expected another file"
        )));
    }
    for output in &outputs {
        let wrong = |why: String| Failure::file(&output.option, &output.path, why);
        writable(&output.path).map_err(|error| wrong(error.to_string()))?;
        // A name such as /dev/stdout means what the shell opened, whatever that is.
        let Some(file) = File::of(&output.path).filter(|_| !place::is_open(&output.path)) else {
            continue;
        };
        if let Some((_, input)) = find(&inputs, &file) {
            return Err(wrong(format!(
                "the same file as {input}, an input: expected another file"
            )));
        }
        if let Some((_, other)) = find(&written, &file) {
            return Err(wrong(format!(
                "the same file as {other}, another output: expected another file"
            )));
        }
        written.push((file, told(output)));
    }
    Ok(())
}

fn find<'a>(all: &'a [(File, String)], file: &File) -> Option<&'a (File, String)> {
    all.iter().find(|(other, _)| other == file)
}

/// Returns the command that runs, and its options.
fn last<'a>(
    mut command: &'a Command,
    mut matches: &'a ArgMatches,
) -> (&'a Command, &'a ArgMatches) {
    while let Some((name, below)) = matches.subcommand() {
        let Some(sub) = command.find_subcommand(name) else {
            break;
        };
        (command, matches) = (sub, below);
    }
    (command, matches)
}

/// Returns every path that an option or an argument names.
fn paths(command: &Command, matches: &ArgMatches) -> Vec<Named> {
    let mut all = Vec::new();
    for arg in command.get_arguments() {
        let named = matches.try_get_many::<PathBuf>(arg.get_id().as_str());
        let option = arg.get_long().map_or_else(
            || arg.get_id().as_str().to_uppercase(),
            |long| format!("--{long}"),
        );
        all.extend(
            named
                .ok()
                .flatten()
                .into_iter()
                .flatten()
                .map(|path| Named {
                    option: option.clone(),
                    path: path.clone(),
                }),
        );
    }
    all
}

/// Checks that a file can be written. Creates and changes nothing.
fn writable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        // Opening and closing a pipe would end it for its reader.
        Ok(there) if there.is_file() || there.is_dir() => {
            OpenOptions::new().append(true).open(path).map(drop)
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Err(_) => {
            let target = resolved(path)?;
            fs::metadata(place::folder(&target)).map(drop)
        }
    }
}

/// Writes a file that `option` names.
pub(crate) fn write(option: &str, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    put(path, bytes, false).map_err(|error| Failure::file(option, path, error))
}

/// Writes a file that holds a secret: only its owner can read it, unless it was there before with
/// other permissions, which stay and are noted.
pub(crate) fn write_secret(option: &str, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    put(path, bytes, true).map_err(|error| Failure::file(option, path, error))?;
    if fs::metadata(path).is_ok_and(|data| is_open_to_others(&data)) {
        note_open(&format!("{option} {}", path.display()));
    }
    Ok(())
}

/// Notes that standard output is a file which others can read.
pub(crate) fn note_secret_on_output() {
    if !io::stdout().is_terminal()
        && same::data(&io::stdout()).is_some_and(|data| data.is_file() && is_open_to_others(&data))
    {
        note_open("standard output");
    }
}

fn note_open(what: &str) {
    crate::output::note(&format!(
        "{what}: holds a secret key, and others may read this file: chmod 600 makes it private"
    ));
}

#[cfg(unix)]
fn is_open_to_others(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    data.is_file() && data.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &fs::Metadata) -> bool {
    false
}

fn put(path: &Path, bytes: &[u8], secret: bool) -> io::Result<()> {
    match Place::of(path)? {
        Place::Open(1) => crate::output::standard(bytes),
        Place::Open(2) => io::stderr().write_all(bytes),
        Place::Open(_) => OpenOptions::new().append(true).open(path)?.write_all(bytes),
        Place::Device => OpenOptions::new().write(true).open(path)?.write_all(bytes),
        Place::File(target) => place::replace(&target, bytes, secret),
    }
}
