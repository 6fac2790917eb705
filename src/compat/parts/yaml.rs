//! YAML, and so JSON, as a tree of text with line numbers.
//!
//! Scalars stay text, because systems differ in what they accept as a number. Aliases are copied only
//! for systems that accept them, and up to a limit, because a few of them can expand beyond all memory.
//! Deep nesting is refused, because a tree is dropped by recursion.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use crate::Error;
use crate::compat::config::wrong;

/// The maximum depth of a document, more than any configuration needs.
const DEPTH: usize = 64;

/// The maximum number of values that aliases may copy in total.
const COPIES: usize = 1_000_000;

/// A value and the line, from 1, where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::compat) struct Yaml {
    pub(in crate::compat) line: usize,
    pub(in crate::compat) value: Value,
    /// Whether it is quoted text or a block: a string, even if it looks like a number.
    pub(in crate::compat) quoted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::compat) enum Value {
    Text(String),
    List(Vec<Yaml>),
    /// In the order of the file, without repeated keys.
    Map(Vec<Entry>),
}

/// A key of a map, with its line and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::compat) struct Entry {
    pub(in crate::compat) line: usize,
    pub(in crate::compat) key: String,
    pub(in crate::compat) value: Yaml,
}

impl Yaml {
    /// Reads a text with exactly one document. Refuses aliases.
    pub(in crate::compat) fn document(text: &str) -> Result<Self, Error> {
        Self::read(Events::new(text, None))
    }

    /// Reads a text with exactly one document. An alias is a copy of the value with its anchor, and
    /// `<<` adds the entries of another map to those that the map has itself.
    pub(in crate::compat) fn document_with_aliases(text: &str) -> Result<Self, Error> {
        Self::read(Events::new(text, Some(BTreeMap::new())))
    }

    fn read(mut events: Events<'_>) -> Result<Self, Error> {
        let mut document = None;
        loop {
            let (event, line) = events.next()?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) if document.is_some() => {
                    return Err(wrong(line, "a second document: expected one"));
                }
                Event::DocumentStart(_) => {
                    let (event, line) = events.next()?;
                    document = Some(events.node(event, line, 0)?);
                }
                _ => return Err(wrong(line, "a value outside of a document")),
            }
        }
        document.ok_or_else(|| wrong(1, "the text is empty: expected a document"))
    }

    /// Returns the number of values in it, and the number of levels.
    fn extent(&self) -> (usize, usize) {
        let sum = |(size, depth): (usize, usize), yaml: &Self| {
            let (more, deep) = yaml.extent();
            (size + more, depth.max(deep + 1))
        };
        match &self.value {
            Value::Text(_) => (1, 0),
            Value::List(list) => list.iter().fold((1, 0), sum),
            Value::Map(entries) => entries.iter().map(|entry| &entry.value).fold((1, 0), sum),
        }
    }

    pub(in crate::compat) fn text(&self, what: &str) -> Result<&str, Error> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(wrong(self.line, format!("{what}: expected a single value"))),
        }
    }

    pub(in crate::compat) fn list(&self, what: &str) -> Result<&[Self], Error> {
        match &self.value {
            Value::List(list) => Ok(list),
            _ => Err(wrong(self.line, format!("{what}: expected a list"))),
        }
    }

    pub(in crate::compat) fn map(&self, what: &str) -> Result<&[Entry], Error> {
        match &self.value {
            Value::Map(entries) => Ok(entries),
            _ => Err(wrong(
                self.line,
                format!("{what}: expected keys and values"),
            )),
        }
    }
}

struct Events<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// The values with an anchor, by its number, with their sizes; `None` if aliases are refused.
    anchors: Option<BTreeMap<usize, (Yaml, usize)>>,
    /// The number of values that aliases may still copy.
    copies: usize,
}

impl<'t> Events<'t> {
    fn new(text: &'t str, anchors: Option<BTreeMap<usize, (Yaml, usize)>>) -> Self {
        Self {
            parser: Parser::new_from_str(text),
            anchors,
            copies: COPIES,
        }
    }

    /// Returns the next event and its line.
    fn next(&mut self) -> Result<(Event<'t>, usize), Error> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, line(span))),
            Some(Err(error)) => Err(malformed(&error)),
            None => Ok((Event::StreamEnd, 1)),
        }
    }

    fn node(&mut self, event: Event<'t>, line: usize, depth: usize) -> Result<Yaml, Error> {
        if depth > DEPTH {
            return Err(wrong(line, format!("more than {DEPTH} levels deep")));
        }
        let quoted = matches!(event, Event::Scalar(_, style, ..) if style != ScalarStyle::Plain);
        // The number of an anchor, or 0 without one.
        let (anchor, value) = match event {
            Event::Scalar(text, _, anchor, _) => (anchor, Value::Text(text.into_owned())),
            Event::SequenceStart(anchor, _) => (anchor, self.list(depth)?),
            Event::MappingStart(anchor, _) => (anchor, self.map(depth)?),
            Event::Alias(anchor) => return self.copy(anchor, line, depth),
            _ => return Err(wrong(line, "no value here")),
        };
        let yaml = Yaml {
            line,
            value,
            quoted,
        };
        if let Some(anchors) = self.anchors.as_mut().filter(|_| anchor != 0) {
            let (size, _) = yaml.extent();
            self.copies = self
                .copies
                .checked_sub(size)
                .ok_or_else(|| too_many(line))?;
            anchors.insert(anchor, (yaml.clone(), size));
        }
        Ok(yaml)
    }

    /// Returns a copy of the value with this anchor.
    fn copy(&mut self, anchor: usize, line: usize, depth: usize) -> Result<Yaml, Error> {
        let Some(anchors) = &self.anchors else {
            return Err(wrong(line, "an alias: write the value itself"));
        };
        let (yaml, size) = anchors
            .get(&anchor)
            .ok_or_else(|| wrong(line, "an alias to a value that is not complete"))?;
        self.copies = self
            .copies
            .checked_sub(*size)
            .ok_or_else(|| too_many(line))?;
        if depth + yaml.extent().1 > DEPTH {
            return Err(wrong(line, format!("more than {DEPTH} levels deep")));
        }
        Ok(yaml.clone())
    }

    fn list(&mut self, depth: usize) -> Result<Value, Error> {
        let mut list = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::List(list)),
                (event, line) => list.push(self.node(event, line, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Error> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut keys = BTreeSet::new();
        let mut merged = Vec::new();
        loop {
            let (event, line) = self.next()?;
            let key = match event {
                Event::MappingEnd => break,
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err(wrong(line, "a key that is not a single value")),
            };
            if !keys.insert(key.clone()) {
                return Err(wrong(line, format!("{key:?} is given twice")));
            }
            let (event, at) = self.next()?;
            let value = self.node(event, at, depth + 1)?;
            if key == "<<" && self.anchors.is_some() {
                merged.push(value);
            } else {
                entries.push(Entry { line, key, value });
            }
        }
        for map in merged {
            merge(&mut entries, &mut keys, map)?;
        }
        Ok(Value::Map(entries))
    }
}

/// Adds the entries of a map, or of each map of a list, whose keys are new.
fn merge(entries: &mut Vec<Entry>, keys: &mut BTreeSet<String>, map: Yaml) -> Result<(), Error> {
    match map.value {
        Value::Map(others) => {
            entries.extend(
                others
                    .into_iter()
                    .filter(|other| keys.insert(other.key.clone())),
            );
        }
        Value::List(maps) => {
            for map in maps {
                merge(entries, keys, map)?;
            }
        }
        Value::Text(_) => return Err(wrong(map.line, "<<: expected keys and values")),
    }
    Ok(())
}

fn too_many(line: usize) -> Error {
    wrong(
        line,
        format!("anchors and aliases of more than {COPIES} values in total"),
    )
}

fn line(span: Span) -> usize {
    span.start.line().max(1)
}

fn malformed(error: &ScanError) -> Error {
    wrong(
        error.marker().line().max(1),
        format!("not YAML: {}", error.info()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        match Yaml::document(text) {
            Ok(tree) => format!("no error: {tree:?}"),
            Err(error) => format!("{error}"),
        }
    }

    #[test]
    fn values_have_the_line_where_they_start() -> Result<(), Error> {
        for text in [
            "a:\n  - 1\n  - \"x y\"\nb: true",
            "{\"a\":\n [1,\n  \"x y\"],\n \"b\": true}",
        ] {
            let tree = Yaml::document(text)?;
            let [a, b] = tree.map("all")? else {
                return Err(wrong(1, "not two keys"));
            };
            let list = a.value.list("a")?;
            assert_eq!((a.key.as_str(), b.key.as_str(), b.line), ("a", "b", 4));
            assert_eq!((list[0].text("1")?, list[1].text("2")?), ("1", "x y"));
            assert_eq!(list[1].line, 3);
            assert_eq!(b.value.text("b")?, "true");
            assert!(b.value.list("b").is_err() && b.value.map("b").is_err());
            assert!(a.value.text("a").is_err());
        }
        Ok(())
    }

    #[test]
    fn a_refusal_names_its_line() {
        for (text, start) in [
            ("", "line 1"),
            ("a: 1\na: 2", "line 2"),
            ("a: &x 1\nb: *x", "line 2: an alias"),
            ("a: 1\n--- \nb: 2", "line 2: a second"),
            ("a: 1\n b: [", "line 2"),
            ("? [a]\n: b", "line 1: a key"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.starts_with(start), "{text:?}: {refusal}");
        }
    }

    #[test]
    fn aliases_are_copies_and_merged_keys_give_way() -> Result<(), Error> {
        let text = "a: &x {b: 1, c: 2}\nd: *x\ne:\n  <<: *x\n  c: 3\nf: {<<: [*x, {g: 4}]}";
        let tree = Yaml::document_with_aliases(text)?;
        let all = tree.map("all")?;
        let keys = |at: usize| -> Vec<(&str, &str)> {
            let entries = all[at].value.map("a map").unwrap_or_default().iter();
            let text = |entry: &'_ Yaml| matches!(entry.value, Value::Text(_));
            entries
                .filter(|entry| text(&entry.value))
                .map(|entry| (&*entry.key, entry.value.text("").unwrap_or_default()))
                .collect()
        };
        assert_eq!(keys(1), [("b", "1"), ("c", "2")]);
        assert_eq!(keys(2), [("c", "3"), ("b", "1")]);
        assert_eq!(keys(3), [("b", "1"), ("c", "2"), ("g", "4")]);
        for wrong in ["a: &x [*x]", "a: *x", "a: {<<: 1}"] {
            assert!(Yaml::document_with_aliases(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }

    #[test]
    fn aliases_that_multiply_are_refused() {
        let levels = (1..20).map(|level| {
            let many = format!("*a{}, ", level - 1).repeat(10);
            format!("a{level}: &a{level} [{many}]\n")
        });
        let first = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        let text: String = core::iter::once(first).chain(levels).collect();
        let refusal = Yaml::document_with_aliases(&text).map(|_| ()).unwrap_err();
        assert!(format!("{refusal}").contains("more than"), "{refusal}");
    }

    #[test]
    fn deep_nesting_is_refused_without_a_crash() {
        for opening in ["[", "- ", "{a: ", "? ", "a:\n"] {
            let refusal = refusal(&opening.repeat(100_000));
            assert!(refusal.starts_with("line"), "{opening:?}: {refusal}");
        }
    }
}
