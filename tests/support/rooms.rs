//! Floors of a package: which room of its source may name which.
//!
//! A room is a file or a folder of `src`. Arrows run down only: what a file names from another room
//! stands on a lower floor, so there is no circle between rooms.

use core::iter;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The source of a package with its floors.
#[derive(Clone, Copy, Debug)]
pub struct House<'a> {
    /// The folder `src`.
    pub source: &'a str,
    /// The rooms, the lowest first. Several that need each other stand on one floor.
    pub floors: &'a [&'a [&'a str]],
    /// What every file may name and no room makes, such as exported macros.
    pub everywhere: &'a [&'a str],
    /// Public data that has a literal outside the package, since there is nothing it could grow by.
    pub closed: &'a [&'a str],
}

impl House<'_> {
    /// The file at the top: `lib.rs`, or `main.rs` of a program.
    fn entry(&self) -> &'static str {
        let library = Path::new(self.source).join("lib.rs");
        if library.exists() {
            "lib.rs"
        } else {
            "main.rs"
        }
    }

    /// The floor of a room.
    fn floor(&self, room: &str) -> Option<usize> {
        self.floors.iter().position(|rooms| rooms.contains(&room))
    }

    /// The names that `lib.rs` gives at the root, with their rooms.
    fn roots(&self) -> BTreeMap<String, String> {
        let code = code(&Path::new(self.source).join(self.entry()));
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
    fn arrows(&self) -> BTreeMap<(String, String), PathBuf> {
        let (roots, source) = (self.roots(), Path::new(self.source));
        let mut paths = Vec::new();
        files(source, &mut paths);
        let mut arrows = BTreeMap::new();
        for path in paths {
            let inside = path.strip_prefix(source).expect("a file of src");
            let first = inside.iter().next().and_then(|part| part.to_str());
            let room = first.unwrap_or_default().trim_end_matches(".rs").to_owned();
            let is_test = inside.ends_with("tests.rs") || inside.ends_with("interleavings.rs");
            if ["lib", "main"].contains(&&*room) || is_test {
                continue;
            }
            for name in names(&code(&path), "crate::") {
                let to = match (self.floor(&name), roots.get(&name)) {
                    (Some(_), _) => name,
                    (None, Some(room)) => room.clone(),
                    (None, None) if self.everywhere.contains(&&*name) => continue,
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

    /// Panics where a file names a room on a higher floor, or another on its own.
    pub fn arrows_run_down(&self) {
        let arrows = self.arrows();
        for ((from, to), path) in &arrows {
            println!("{from} -> {to} ({})", path.display());
            let [high, low] = [from, to].map(|room| self.floor(room).expect(room));
            assert!(high >= low, "{from} -> {to} runs up, in {}", path.display());
        }
        assert!(
            arrows.len() > self.floors.len(),
            "the arrows were not found"
        );
    }

    /// Panics where a file of the source is in no room, or a room has no file.
    pub fn every_file_is_in_a_room(&self) {
        let mut rooms = BTreeSet::new();
        for entry in fs::read_dir(self.source).expect("src") {
            let path = entry.expect("an entry").path();
            // Git leaves empty folders behind.
            if path.is_dir() && fs::read_dir(&path).expect("a folder").next().is_none() {
                continue;
            }
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            rooms.insert(stem.unwrap_or_default().to_owned());
        }
        rooms.retain(|room| !["lib", "main"].contains(&&**room));
        let known = self.floors.iter().flat_map(|rooms| rooms.iter());
        let known: BTreeSet<_> = known.map(|room| (*room).to_owned()).collect();
        assert_eq!(rooms, known);
    }

    /// Panics where two public types have one name: one word for one thing.
    pub fn public_types_have_names_of_their_own(&self) {
        let mut files_of: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for path in self.files() {
            for line in code(&path).lines() {
                let declared = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
                let rest = declared.iter().find_map(|start| line.strip_prefix(start));
                if let Some(rest) = rest {
                    let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
                    files_of.entry(name).or_default().push(path.clone());
                }
            }
        }
        assert!(files_of.len() > 40, "the types were not found");
        files_of.retain(|_, paths| paths.len() > 1);
        assert!(files_of.is_empty(), "{files_of:#?}");
    }

    /// Panics where a field, a variant or an option more would break who uses the package.
    pub fn public_data_has_room_to_grow(&self) {
        let (mut open, mut closed) = (0, BTreeSet::new());
        for path in self.files() {
            let code = code(&path);
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
        assert!(open > 40, "the declarations were not found: {open}");
        let known = self.closed.iter().map(|name| (*name).to_owned());
        assert_eq!(closed, known.collect());
    }

    /// Panics where a path by `super` leaves its room: only `crate::` may.
    pub fn super_stays_inside(&self) {
        for file in self.modules() {
            let inside = file.paths().iter().all(Option::is_some);
            assert!(inside, "{}", file.inside.display());
        }
    }

    /// Panics where files of a room name each other in a circle.
    pub fn files_have_no_circle(&self) {
        let files = self.modules();
        let modules: BTreeSet<_> = files.iter().map(|file| file.path.clone()).collect();
        let arrow = |from: &Module, path: Vec<String>| {
            // A name that is no file is one of the file above it.
            let prefixes = (0..=path.len()).rev().map(|len| path[..len].to_vec());
            let to = prefixes.into_iter().find(|path| modules.contains(path))?;
            (to != from.path && !to.is_empty()).then_some(to)
        };
        let mut arrows: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for file in &files {
            let to = file.paths().into_iter().flatten();
            let to = to.filter_map(|path| arrow(file, path));
            // What a mod.rs re-exports it names, too.
            let below = modules
                .iter()
                .filter(|module| file.is_list() && module.len() == file.path.len() + 1)
                .filter(|module| module.starts_with(&file.path));
            arrows.insert(file.path.clone(), to.chain(below.cloned()).collect());
        }
        let count: usize = arrows.values().map(BTreeSet::len).sum();
        assert!(count > files.len(), "the arrows were not found: {count}");
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

    /// The files of all rooms, each without comments and unit tests.
    fn modules(&self) -> Vec<Module> {
        let files = self.files().into_iter().map(|file| {
            let inside = file.strip_prefix(self.source).expect("a file of src");
            let path = inside.with_extension("");
            let path = if path.ends_with("mod") {
                path.parent().expect("a room")
            } else {
                &path
            };
            let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
            Module {
                inside: inside.to_path_buf(),
                path: parts.collect(),
                code: code(&file),
            }
        });
        files
            .filter(|file| file.path != ["lib"] && file.path != ["main"])
            .collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        files(Path::new(self.source), &mut found);
        found
    }
}

/// A source file in a room.
struct Module {
    inside: PathBuf,
    /// Its path, such as `["keys", "dump", "scan"]`.
    path: Vec<String>,
    code: String,
}

impl Module {
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
            let base = self.path.len().checked_sub(up).filter(|len| *len > 0);
            let paths = paths(rest);
            found.extend(paths.into_iter().map(|name| {
                let base = self.path[..base?].iter().cloned();
                Some(base.chain(name).collect())
            }));
        }
        let own = format!("crate::{}::", self.path[0]);
        for (at, _) in self.code.match_indices(&own) {
            let room = iter::once(self.path[0].clone());
            let paths = paths(&self.code[at + own.len()..]).into_iter();
            found.extend(paths.map(|name| Some(room.clone().chain(name).collect())));
        }
        found
    }
}

/// The paths that start here: one, or all of a group in braces.
fn paths(rest: &str) -> Vec<Vec<String>> {
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
