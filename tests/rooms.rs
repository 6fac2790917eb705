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
    &["digest"],
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
                ',' if depth == 0 => found.push(ident(&core::mem::take(&mut item))),
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
        let tail = path.rsplit_once("::").map_or(path, |(_, tail)| tail);
        let list = path.find('{').map_or(tail, |at| &path[at..]);
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
    let mut files_of: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in paths
        .iter()
        .filter(|path| !path.starts_with(source().join("bin")))
    {
        for line in code(path).lines() {
            let declared = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
            let rest = declared.iter().find_map(|start| line.strip_prefix(start));
            if let Some(rest) = rest {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
                files_of.entry(name).or_default().push(path.clone());
            }
        }
    }
    assert!(files_of.len() > 150, "the types were not found");
    files_of.retain(|_, paths| paths.len() > 1);
    assert!(files_of.is_empty(), "{files_of:#?}");
}

/// Public data that has a literal outside the crate, since there is nothing it could grow by.
const CLOSED: &[(&str, &str)] = &[("Char", "a C compiler's `char` has a sign or has none")];

/// The declarations that start so, with their attributes and the lines of their bodies.
fn declarations(code: &str, start: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(start) {
        let (before, rest) = code.split_at(at);
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let (before, indent) = before.split_at(line);
        if !indent.trim().is_empty() {
            continue;
        }
        let attributes = before.rsplit("\n\n").next().unwrap_or_default();
        let name = rest[start.len()..].chars();
        let name = name.take_while(|c| c.is_alphanumeric()).collect();
        let head = rest.find(['{', ';']).unwrap_or(rest.len());
        let end = if rest[head..].starts_with('{') {
            rest.find(&format!("\n{indent}}}")).unwrap_or(rest.len())
        } else {
            head
        };
        found.push((name, attributes.to_owned(), rest[..end].to_owned()));
    }
    found
}

/// A field, a variant or an option more must not break who uses the crate.
#[test]
fn public_data_has_room_to_grow() {
    let mut paths = Vec::new();
    files(&source(), &mut paths);
    let (mut open, mut closed) = (0, BTreeSet::new());
    for path in paths
        .iter()
        .filter(|path| !path.starts_with(source().join("bin")))
    {
        let code = code(path);
        let structs = declarations(&code, "pub struct ");
        let data = structs.into_iter().filter(|(_, _, body)| {
            let mut lines = body.lines().skip(1);
            body.contains("(pub ") || lines.any(|line| line.trim_start().starts_with("pub "))
        });
        for (name, attributes, _) in data.chain(declarations(&code, "pub enum ")) {
            if attributes.contains("#[non_exhaustive]") {
                open += 1;
            } else {
                closed.insert(name);
            }
        }
    }
    assert!(open > 150, "the declarations were not found: {open}");
    let known = CLOSED.iter().map(|(name, _)| (*name).to_owned());
    assert_eq!(closed, known.collect());
}
