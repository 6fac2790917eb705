//! Slot tables, as servers print them.

use std::path::Path;

use hashroute::redis::{SlotRule, Table};
use hashroute_harness::FileKind;

use super::files;
use crate::failure::{Asked, Failure};

/// Reads a table from a file or from standard input (-).
pub(crate) fn read(path: &Path) -> Result<Table, Failure> {
    let text = files::read(path, "TABLE", Table::MAX_TEXT, "what a server printed")?;
    Table::from_text(&text, SlotRule::REDIS).map_err(|error| {
        other_kind(path, &text).unwrap_or_else(|| Asked::file("TABLE", path).refused(error))
    })
}

/// Says what a file is that holds no table: keys, or a list of them that a server printed.
fn other_kind(path: &Path, text: &str) -> Option<Failure> {
    let file = path.display();
    let (told, option) = match FileKind::of(text.as_bytes()) {
        Some(FileKind::Biggest) => (FileKind::Biggest.to_string(), "--bigkeys"),
        Some(kind @ (FileKind::Dump(_) | FileKind::Csv | FileKind::JsonLines)) => {
            (kind.to_string(), kind.option()?)
        }
        None if are_keys(text) => ("a list of keys".into(), "--keys"),
        _ => return None,
    };
    let wrong = format!("{told}: expected the output of CLUSTER NODES");
    let check = match option {
        "--keys" => format!("hashroute slots check {file}"),
        option => format!("hashroute slots check {option} {file}"),
    };
    let hint = format!(
        "{check} looks for hot slots; slots plan TABLE {option} {file} weighs slots by these keys"
    );
    Some(Failure::file("TABLE", path, wrong).with_hint(Some(hint)))
}

/// Returns whether a text looks like one key a line: a line of a table has several words.
fn are_keys(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_key = |line: &str| {
        let is_name = line.bytes().any(|byte| byte.is_ascii_alphabetic());
        is_name && !line.contains(char::is_whitespace) && !line.starts_with(['[', '{', '*', '$'])
    };
    lines.clone().next().is_some() && lines.all(is_key)
}
