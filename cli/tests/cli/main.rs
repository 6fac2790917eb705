//! The command line as scripts see it: options, output and exit codes.

mod baselines;
mod changes;
mod check;
mod dialects;
mod diffs_and_plans;
mod draw;
mod dumps;
mod hashed_keys;
mod inputs;
mod json_fields;
mod key_files;
#[cfg(unix)]
mod limits;
mod lists;
mod made_up;
mod messages;
#[cfg(unix)]
mod outputs;
mod pages;
#[cfg(unix)]
mod progress;
mod questions;
mod recipes;
mod reports;
mod routes;
#[cfg(unix)]
mod safe_text;
mod scale;
mod second_state;
mod settings;
mod skew;
mod slots;
mod slots_inputs;
mod slots_keys;
mod slots_messages;
mod slots_plans;
mod slots_shell;
mod spec;
#[cfg(unix)]
mod terminal;
mod tool;
mod two_files;
mod widths;
mod written;

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hashroute"));
    command.args(args);
    // What the terminal and the settings of whoever runs the tests would change.
    for (name, _) in env::vars_os().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
    command
}

fn is_setting(name: &OsStr) -> bool {
    // On a terminal, `CI` stands for one that shows colors.
    let terminal = ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"];
    name.as_encoded_bytes().starts_with(b"HASHROUTE_")
        || terminal.iter().any(|other| name == *other)
}

fn run(line: &str) -> Output {
    command(words(line))
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

/// Splits a line into words; text in single quotes stays together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, piece) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Returns standard output of a run that must succeed and write nothing to standard error.
fn stdout(line: &str) -> String {
    let output = run(line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "{line}: {errors}"
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(line: &str) -> Value {
    serde_json::from_str(&stdout(&format!("{line} --format json"))).expect("JSON")
}

thread_local! {
    /// The directory of one test, since each test has a thread. Removed when the thread ends.
    static DIRECTORY: TempDir =
        TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
}

/// Returns the directory that this test shares with no other test and no other run.
fn directory() -> PathBuf {
    DIRECTORY.with(|directory| directory.path().to_owned())
}

/// Writes a file of this name into the directory of this test.
fn file(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = directory().join(name);
    fs::write(&path, content).expect("the directory of the test can be written");
    path
}
