//! The harness has floors, and arrows run down only: between its rooms, and between the files of a
//! room.
//!
//! `cargo test -p hashroute-harness --test rooms -- --nocapture` prints the arrows between rooms.

use core::iter;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use hashroute_test_support::rooms::House;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

const HOUSE: House = House {
    source: SOURCE,
    floors: FLOORS,
    everywhere: &[],
    closed: CLOSED,
};

/// The rooms, the lowest first.
const FLOORS: &[&[&str]] = &[
    // Pages of the documentation.
    &["guide"],
    // The `with_*` methods of options.
    &["builder"],
    // Names and figures as text.
    &["text"],
    // Keys: their sources and formats.
    &["keys"],
    // What keys carry: counts that merge. Knows no router.
    &["summary"],
    // Figures and verdicts of a router.
    &["measure"],
    // Why a load is skewed.
    &["diagnose"],
    // Partial files, which hold results of the two rooms below.
    &["wire"],
    &["laws"],
    &["sim"],
    &["plot"],
];

/// Public data that is complete: a field or a variant more would be another type.
const CLOSED: &[&str] = &[];

#[test]
fn arrows_between_rooms_run_down() {
    HOUSE.arrows_run_down();
}

#[test]
fn every_file_of_the_source_is_in_a_room() {
    HOUSE.every_file_is_in_a_room();
}

#[test]
fn no_two_public_types_share_a_name() {
    HOUSE.public_types_have_names_of_their_own();
}

#[test]
fn public_data_has_room_to_grow() {
    HOUSE.public_data_has_room_to_grow();
}

#[test]
fn no_path_by_super_leaves_its_room() {
    for file in files() {
        for path in file.paths() {
            assert!(path.is_some(), "{}", file.inside.display());
        }
    }
}

#[test]
fn files_of_a_room_have_no_circle() {
    let files = files();
    let modules: BTreeSet<_> = files.iter().map(|file| file.module.clone()).collect();
    let arrow = |from: &File, path: Vec<String>| {
        // A name that is no file is one of the file above it.
        let prefixes = (0..=path.len()).rev().map(|len| path[..len].to_vec());
        let to = prefixes.into_iter().find(|path| modules.contains(path))?;
        (to != from.module && !to.is_empty()).then_some(to)
    };
    let mut arrows: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for file in &files {
        let to = file.paths().into_iter().flatten();
        let to = to.filter_map(|path| arrow(file, path));
        // What a mod.rs re-exports it names, too.
        let below = modules
            .iter()
            .filter(|module| file.is_list() && module.len() == file.module.len() + 1)
            .filter(|module| module.starts_with(&file.module));
        arrows.insert(file.module.clone(), to.chain(below.cloned()).collect());
    }
    assert!(arrows.values().map(BTreeSet::len).sum::<usize>() > 150);
    // Files without arrows are at the bottom; take them away until no file is left.
    while !arrows.is_empty() {
        let bottom = |to: &BTreeSet<_>| !to.iter().any(|to| arrows.contains_key(to));
        let (down, rest): (Vec<_>, Vec<_>) = arrows.iter().partition(|(_, to)| bottom(to));
        assert!(!down.is_empty(), "a circle among {rest:#?}");
        arrows = rest
            .into_iter()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
    }
}

/// A source file in a room.
struct File {
    inside: PathBuf,
    /// Its path as a module, such as `["keys", "dump", "scan"]`.
    module: Vec<String>,
    code: String,
}

impl File {
    fn is_list(&self) -> bool {
        self.inside.ends_with("mod.rs")
    }

    /// The modules and items of its own room that it names; `None` for one that leaves the room by
    /// `super`.
    fn paths(&self) -> Vec<Option<Vec<String>>> {
        let mut found = Vec::new();
        for (at, _) in self.code.match_indices("super::") {
            if self.code[..at].ends_with("super::") {
                continue;
            }
            let rest = self.code[at..].trim_start_matches("super::");
            let up = (self.code.len() - at - rest.len()) / "super::".len();
            let base = self.module.len().checked_sub(up).filter(|len| *len > 0);
            let names = names(rest);
            found.extend(names.into_iter().map(|name| {
                let base = self.module[..base?].iter().cloned();
                Some(base.chain(name).collect())
            }));
        }
        let own = format!("crate::{}::", self.module[0]);
        for (at, _) in self.code.match_indices(&own) {
            let room = iter::once(self.module[0].clone());
            let paths = names(&self.code[at + own.len()..]).into_iter();
            found.extend(paths.map(|name| Some(room.clone().chain(name).collect())));
        }
        found
    }
}

/// The paths that start here: one, or all of a group in braces.
fn names(rest: &str) -> Vec<Vec<String>> {
    let path = |text: &str| -> Vec<String> {
        let end = text.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c)));
        let path = &text[..end.unwrap_or(text.len())];
        path.split("::")
            .filter(|name| !name.is_empty())
            .map(String::from)
            .collect()
    };
    let Some(group) = rest.strip_prefix('{') else {
        return vec![path(rest)];
    };
    let group = &group[..group.find(';').unwrap_or(group.len())];
    group.split(',').map(|item| path(item.trim())).collect()
}

/// The files of all rooms, each without comments and unit tests.
fn files() -> Vec<File> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(SOURCE)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(SOURCE).expect("a file of src");
            let module = inside.with_extension("");
            let module = if module.ends_with("mod") {
                module.parent().expect("a room").to_path_buf()
            } else {
                module
            };
            let module = module
                .iter()
                .map(|part| part.to_string_lossy().into_owned());
            let module: Vec<_> = module.collect();
            if module != ["lib"] {
                let (inside, code) = (inside.to_path_buf(), code(&path));
                found.push(File {
                    inside,
                    module,
                    code,
                });
            }
        }
    }
    found
}

fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source file");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}
