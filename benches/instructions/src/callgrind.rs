//! Starts this program again under callgrind and reads what was counted.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use crate::counts::{ANY, Row};
use crate::work::{COUNTED, OPERATIONS};

/// The argument that tells the child from the guard.
pub(crate) const CHILD: &str = "under-callgrind";

/// The version of valgrind; `None` when there is none.
pub(crate) fn version() -> io::Result<Option<String>> {
    match Command::new("valgrind").arg("--version").output() {
        Ok(output) => Ok(Some(String::from_utf8_lossy(&output.stdout).trim().into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The kind of CPU that the crate saw, and a row for each operation.
pub(crate) fn count(strategy: &str, nodes: usize) -> Result<(String, Vec<Row>), Box<dyn Error>> {
    let program = env::current_exe()?;
    let directory = program.with_file_name("callgrind");
    fs::create_dir_all(&directory)?;
    let profile = directory.join(format!("{strategy}.{nodes}"));
    for part in 1..=OPERATIONS.len() {
        match fs::remove_file(part_of(&profile, part)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }

    // Callgrind heeds one option alone when a pattern ends in a star, so this one does not.
    let output = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--compress-strings=no"])
        .arg(format!("--toggle-collect=*::{COUNTED}"))
        .arg(format!("--dump-after=*::{COUNTED}"))
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args([CHILD, strategy, &nodes.to_string()])
        .output()?;
    let failed = |why: &str| {
        let error = String::from_utf8_lossy(&output.stderr);
        format!("{strategy} with {nodes} nodes: {why}\n{error}")
    };
    if !output.status.success() {
        return Err(failed(&output.status.to_string()).into());
    }
    let cpu = String::from_utf8(output.stdout.clone())?.trim().to_owned();
    let mut rows = Vec::new();
    for ((operation, times), part) in OPERATIONS.into_iter().zip(1..) {
        let text = fs::read_to_string(part_of(&profile, part))
            .map_err(|error| failed(&format!("no profile of {operation}: {error}")))?;
        let total = total(&text).ok_or_else(|| failed("a profile without a total"))?;
        rows.push(Row {
            strategy: strategy.into(),
            nodes,
            operation: operation.into(),
            cpu: if is_for_cpu(&text) { &cpu } else { ANY }.into(),
            count: (total as f64 * 100.0 / times as f64).round() / 100.0, // as it is kept
        });
    }
    Ok((cpu, rows))
}

/// Callgrind numbers the parts of a profile from 1.
fn part_of(profile: &Path, part: usize) -> PathBuf {
    profile.with_file_name(format!(
        "{}.{part}",
        profile.file_name().unwrap_or_default().to_string_lossy()
    ))
}

/// A profile that counted nothing is a mistake of the guard.
fn total(profile: &str) -> Option<u64> {
    let total = profile
        .lines()
        .find_map(|line| line.strip_prefix("totals:"))?;
    total.trim().parse().ok().filter(|&total| total > 0)
}

/// Whether a function ran that was chosen by the CPU: those of this crate and of the C library
/// are named for it.
fn is_for_cpu(profile: &str) -> bool {
    let mut functions = profile.lines().filter_map(|line| line.strip_prefix("fn="));
    functions.any(|function| function.contains("avx"))
}
