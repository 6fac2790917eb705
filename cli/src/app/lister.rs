//! The list of keys that move, written key by key, so that it needs no memory.

use std::io::{self, Write};

use hashroute_harness::Keys;
use hashroute_harness::text::printable;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::key_text;
use crate::output::{self, Format, Stdout};

/// Writes one line for each key that moves: the key, the node before and the node after, then what
/// the keys carry. In JSON each line is an object.
pub(crate) struct Lister {
    out: Out,
    /// Whether the first column is the step of a plan.
    steps: bool,
    begun: bool,
}

enum Out {
    Tabs(Stdout),
    Json(Stdout),
    Csv(Box<csv::Writer<Stdout>>),
    Markdown(Stdout),
}

/// A key that moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved<'a> {
    /// The step of the plan, from 1.
    pub(crate) step: Option<u64>,
    pub(crate) key: &'a [u8],
    pub(crate) from: Option<&'a str>,
    pub(crate) to: Option<&'a str>,
    pub(crate) size: Option<u64>,
    pub(crate) requests: Option<u64>,
}

impl Lister {
    /// Creates a list, with the step of each key if `steps`.
    pub(crate) fn new(format: Format, steps: bool) -> Self {
        let out = output::stdout();
        Self {
            out: match format {
                Format::Table => Out::Tabs(out),
                Format::Json => Out::Json(out),
                Format::Csv => Out::Csv(Box::new(csv::Writer::from_writer(out))),
                Format::Markdown => Out::Markdown(out),
            },
            steps,
            begun: false,
        }
    }

    /// Writes the header once; the keys show which columns there are.
    pub(crate) fn begin(&mut self, keys: &Keys) -> Result<(), Failure> {
        if core::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let columns = [
            (self.steps, "step"),
            (true, "key"),
            (true, "from"),
            (true, "to"),
            (keys.sizes().is_some(), "size"),
            (keys.requests().is_some(), "requests"),
        ];
        let columns = columns.into_iter().filter(|(there, _)| *there);
        let titles: Vec<_> = columns.map(|(_, title)| title.to_owned()).collect();
        match &mut self.out {
            Out::Tabs(_) | Out::Json(_) => {}
            Out::Csv(out) => out.write_record(&titles)?,
            Out::Markdown(out) => {
                let rules = titles.iter().map(|_| "---".into());
                let rules: Vec<String> = rules.collect();
                output::markdown_row(out, titles.into_iter())?;
                output::markdown_row(out, rules.into_iter())?;
            }
        }
        Ok(())
    }

    /// Writes a key.
    pub(crate) fn write(&mut self, moved: &Moved) -> Result<(), Failure> {
        let nodes = [moved.from, moved.to].map(Option::unwrap_or_default);
        let step = moved.step.map(|step| step.to_string());
        let numbers = [moved.size, moved.requests].into_iter().flatten();
        let numbers: Vec<_> = numbers.map(|number| number.to_string()).collect();
        match &mut self.out {
            Out::Json(out) => {
                output::write_json(out, &object(moved))?;
                out.write_all(b"\n")?;
            }
            Out::Tabs(out) => {
                let texts = nodes.into_iter().chain(numbers.iter().map(String::as_str));
                tabs(out, step.as_deref(), moved.key, texts)?;
            }
            Out::Csv(out) => {
                let step = step.as_ref().map(String::as_bytes);
                let texts = nodes.into_iter().chain(numbers.iter().map(String::as_str));
                let texts = texts.map(str::as_bytes);
                let fields = step.into_iter().chain([moved.key]).chain(texts);
                out.write_record(fields.map(output::csv_field))?;
            }
            Out::Markdown(out) => {
                let cells = step.into_iter().chain([key_text::shown(moved.key)]);
                let cells = cells.chain(nodes.map(printable)).chain(numbers);
                output::markdown_row(out, cells)?;
            }
        }
        Ok(())
    }

    /// Passes on what is written: the next keys may take long to arrive.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.out {
            Out::Tabs(out) | Out::Json(out) | Out::Markdown(out) => out.flush()?,
            Out::Csv(out) => out.flush()?,
        }
        Ok(())
    }
}

fn object(moved: &Moved) -> Value {
    let (field, text) = key_text::field(moved.key);
    let mut object = Map::new();
    let mut add = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
    if let Some(step) = moved.step {
        add("step", step.into());
    }
    add(field, text.into());
    add("from", moved.from.into());
    add("to", moved.to.into());
    for (name, number) in [("size", moved.size), ("requests", moved.requests)] {
        if let Some(number) = number {
            add(name, number.into());
        }
    }
    Value::Object(object)
}

fn tabs<'a>(
    out: &mut dyn Write,
    step: Option<&str>,
    key: &[u8],
    texts: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    if let Some(step) = step {
        write!(out, "{step}\t")?;
    }
    out.write_all(&output::key_field(key))?;
    for text in texts {
        write!(out, "\t{}", output::name_field(text))?;
    }
    out.write_all(b"\n")
}
