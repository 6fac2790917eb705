//! YAML, and so JSON, as a tree of text with line numbers.
//!
//! Scalars stay text, because systems differ in what they accept as a number. Aliases are refused,
//! because a few of them can expand beyond all memory. Deep nesting is refused, because a tree is
//! dropped by recursion.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use crate::Error;
use crate::compat::config::wrong;

/// The maximum depth of a document, more than any configuration needs.
const DEPTH: usize = 64;

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
    /// Reads a text with exactly one document.
    pub(in crate::compat) fn document(text: &str) -> Result<Self, Error> {
        let mut events = Events(Parser::new_from_str(text));
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

struct Events<'t>(Parser<'t, StrInput<'t>>);

impl<'t> Events<'t> {
    /// Returns the next event and its line.
    fn next(&mut self) -> Result<(Event<'t>, usize), Error> {
        match self.0.next_event() {
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
        let value = match event {
            Event::Scalar(text, ..) => Value::Text(text.into_owned()),
            Event::SequenceStart(..) => self.list(depth)?,
            Event::MappingStart(..) => self.map(depth)?,
            Event::Alias(_) => return Err(wrong(line, "an alias: write the value itself")),
            _ => return Err(wrong(line, "no value here")),
        };
        Ok(Yaml {
            line,
            value,
            quoted,
        })
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
        let mut keys = alloc::collections::BTreeSet::new();
        loop {
            let (event, line) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(Value::Map(entries)),
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err(wrong(line, "a key that is not a single value")),
            };
            if !keys.insert(key.clone()) {
                return Err(wrong(line, format!("{key:?} is given twice")));
            }
            let (event, at) = self.next()?;
            let value = self.node(event, at, depth + 1)?;
            entries.push(Entry { line, key, value });
        }
    }
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
    fn deep_nesting_is_refused_without_a_crash() {
        for opening in ["[", "- ", "{a: ", "? ", "a:\n"] {
            let refusal = refusal(&opening.repeat(100_000));
            assert!(refusal.starts_with("line"), "{opening:?}: {refusal}");
        }
    }
}
