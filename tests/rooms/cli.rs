//! The floors of the program; no command names another either.

use std::fs;
use std::path::{Path, PathBuf};

use hashroute_test_support::rooms::House;

const HOUSE: House = House {
    source: concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/src"),
    floors: FLOORS,
    everywhere: &[],
    closed: &[],
};

/// The rooms, the lowest first.
const FLOORS: &[&[&str]] = &[
    &["key_text", "synonyms", "units"],
    &["failure"],
    &["output", "progress"],
    &["args"],
    &["app"],
    &["commands", "help", "settings", "usage"],
];

#[test]
fn arrows_between_rooms_run_down() {
    HOUSE.arrows_run_down();
}

#[test]
fn every_file_of_the_source_is_in_a_room() {
    HOUSE.every_file_is_in_a_room();
}

#[test]
fn files_of_a_room_have_no_circle() {
    HOUSE.files_have_no_circle();
}

#[test]
fn no_command_names_another() {
    let commands = Path::new(HOUSE.source).join("commands");
    let mut checked = 0;
    for entry in fs::read_dir(&commands).expect("commands") {
        let path = entry.expect("an entry").path();
        let command = path.file_stem().and_then(|stem| stem.to_str());
        let command = command.expect("a name in ASCII").to_owned();
        if command == "mod" {
            continue;
        }
        for file in files(&path) {
            // What `super::` means in the file of the command itself: all commands.
            let is_root = file == path || file.ends_with("mod.rs") && file.parent() == Some(&path);
            for line in code(&file) {
                let others = line.replace(&format!("crate::commands::{command}"), "");
                let is_above = is_root && names_super(&line) || line.contains("super::super::");
                assert!(
                    !others.contains("crate::commands") && !is_above,
                    "{}: {line}",
                    file.display()
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 30, "the files were not found: {checked}");
}

/// Whether a path begins with `super::`; `pub(super)` is none.
fn names_super(line: &str) -> bool {
    line.match_indices("super::").any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before != Some(':')
    })
}

/// The lines of a file without comments and unit tests.
fn code(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("a source file");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    let lines = text.lines();
    lines
        .map(|line| line.split("//").next().unwrap_or("").to_owned())
        .collect()
}

/// The file itself, or all files in a folder.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).expect("a folder");
    entries
        .flat_map(|entry| files(&entry.expect("an entry").path()))
        .collect()
}
