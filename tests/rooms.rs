//! The house has floors, and arrows run down only: what a file of `src` names from another room
//! stands on a lower floor, so there is no circle between rooms.
//!
//! `cargo test --test rooms -- --nocapture` prints the arrows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, the lowest first. A room is a file or a folder of `src`; several files that make one
/// room stand together.
const FLOORS: &[&[&str]] = &[
    &["builder"],
    &["error"],
    &["sync"],
    &["text"],
    &["key"],
    &["node"],
    &["space"],
    &["load"],
    // The trait, its preference lists and its forwarding: each needs the others.
    &["router", "replicas", "forward"],
    &["registry"],
    &["wrap"],
    &["strategy"],
    &["change"],
    &["compat"],
    &["redis"],
    &["schemes"],
    &["spec"],
    &["harness"],
    &["plot"],
];

/// What every file may name and no room makes.
const EVERYWHERE: &[&str] = &["forward_router"];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The floor of a room.
fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

/// The code of a file, without comments and without its unit tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source file");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

/// The first name of each path after `prefix`: one, or all of a group in braces.
fn names(code: &str, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let rest = &code[at + prefix.len()..];
        let ident = |text: &str| -> String {
            let text = text.trim_start();
            text.chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect()
        };
        let Some(group) = rest.strip_prefix('{') else {
            found.push(ident(rest));
            continue;
        };
        let (mut depth, mut item) = (0, String::new());
        for c in group.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => found.push(ident(&std::mem::take(&mut item))),
                _ => {}
            }
            if c != ',' || depth > 0 {
                item.push(c);
            }
        }
        found.push(ident(&item));
    }
    found.retain(|name| !name.is_empty());
    found
}

/// The names that `lib.rs` gives at the root, with their rooms.
fn roots() -> BTreeMap<String, String> {
    let code = code(&source().join("lib.rs"));
    let mut roots = BTreeMap::new();
    for statement in code.split(';') {
        let Some(at) = statement.find("pub use ") else {
            continue;
        };
        let path = statement[at + 8..].trim();
        let room = path.split("::").next().unwrap_or(path).to_owned();
        let last = path.rsplit_once("::").map_or(path, |(_, last)| last);
        let list = path.find('{').map_or(last, |at| &path[at..]);
        for name in list.trim_matches(['{', '}']).split(',') {
            let name = name.trim();
            let name = if name == "self" {
                let before = path.split("::{").next().unwrap_or(path);
                before.rsplit("::").next().unwrap_or(before)
            } else {
                name.rsplit("::").next().unwrap_or(name)
            };
            if !name.is_empty() {
                roots.insert(name.to_owned(), room.clone());
            }
        }
    }
    roots
}

/// From room to room, with a file that draws the arrow.
fn arrows() -> BTreeMap<(String, String), PathBuf> {
    let (roots, source) = (roots(), source());
    let mut paths = Vec::new();
    files(&source, &mut paths);
    let mut arrows = BTreeMap::new();
    for path in paths {
        let inside = path.strip_prefix(&source).expect("a file of src");
        let first = inside.iter().next().and_then(|part| part.to_str());
        let room = first.unwrap_or_default().trim_end_matches(".rs").to_owned();
        let is_test = inside.ends_with("tests.rs") || inside.ends_with("interleavings.rs");
        if ["lib", "bin"].contains(&&*room) || is_test {
            continue;
        }
        for name in names(&code(&path), "crate::") {
            let to = match (floor(&name), roots.get(&name)) {
                (Some(_), _) => name,
                (None, Some(room)) => room.clone(),
                (None, None) if EVERYWHERE.contains(&&*name) => continue,
                (None, None) => panic!("{}: crate::{name} is in no room", path.display()),
            };
            if to != room {
                arrows
                    .entry((room.clone(), to))
                    .or_insert_with(|| inside.into());
            }
        }
    }
    arrows
}

#[test]
fn arrows_between_rooms_run_down() {
    let arrows = arrows();
    for ((from, to), path) in &arrows {
        println!("{from} -> {to} ({})", path.display());
        let [high, low] = [from, to].map(|room| floor(room).expect(room));
        assert!(high >= low, "{from} -> {to} runs up, in {}", path.display());
    }
    assert!(arrows.len() > 30, "the arrows were not found");
}

#[test]
fn every_file_of_the_source_is_in_a_room() {
    let mut rooms = BTreeSet::new();
    for entry in fs::read_dir(source()).expect("src") {
        let path = entry.expect("an entry").path();
        // Git leaves empty folders behind.
        if path.is_dir() && fs::read_dir(&path).expect("a folder").next().is_none() {
            continue;
        }
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("");
        rooms.insert(stem.to_owned());
    }
    rooms.retain(|room| !["lib", "bin"].contains(&&**room));
    let known = FLOORS.iter().flat_map(|rooms| rooms.iter());
    let known: BTreeSet<_> = known.map(|room| (*room).to_owned()).collect();
    assert_eq!(rooms, known);
}

/// One word for one thing, and one thing for one word.
#[test]
fn no_two_public_types_share_a_name() {
    let mut paths = Vec::new();
    files(&source(), &mut paths);
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in paths
        .iter()
        .filter(|path| !path.starts_with(source().join("bin")))
    {
        for line in code(path).lines() {
            let declared = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
            let rest = declared.iter().find_map(|start| line.strip_prefix(start));
            if let Some(rest) = rest {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
                places.entry(name).or_default().push(path.clone());
            }
        }
    }
    assert!(places.len() > 150, "the types were not found");
    places.retain(|_, paths| paths.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}
