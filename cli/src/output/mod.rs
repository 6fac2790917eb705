//! Reports: an answer described once, printed as a table, JSON, CSV or Markdown.

mod cell;
mod field;
mod layout;
mod made_up;
mod safe;
mod screen;
mod table;

use std::collections::BTreeMap;
use std::io::{self, Write};

use clap::ValueEnum;
use hashroute_harness::text::{json_escaped, printable};
use serde::Serialize;

pub(crate) use self::cell::Cell;
pub(crate) use self::field::{Column, Field, Fields};
pub(crate) use self::made_up::MadeUp;
pub(crate) use self::safe::{
    JsonWriter, Stdout, csv_field, key_field, name_field, set_verbatim, stdout, write_json,
};
use self::screen::Screen;
pub(crate) use self::screen::{Color, Tone};
pub(crate) use self::table::{Table, markdown_row};
use crate::failure::Failure;

/// The format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// All fields, with exact numbers
    Json,
    /// The main table, with a header
    Csv,
    /// Like table, to paste into a document
    Markdown,
}

/// A part of a report for people.
#[derive(Debug)]
enum Part {
    /// Lines, with control characters escaped.
    Text(Vec<String>),
    /// Commands to copy: never broken, with control characters escaped.
    Commands(Vec<String>),
    Table(Table),
}

/// An answer in all its forms.
#[derive(Debug)]
pub(crate) struct Report {
    json: Vec<u8>,
    /// The table that CSV prints.
    table: Table,
    /// What people see, in order.
    parts: Vec<Part>,
    /// The lines about what was made up since nobody gave it.
    made_up: Vec<String>,
}

impl Report {
    /// Creates a report from the answer for JSON and the table for CSV, with nothing for people
    /// yet.
    pub(crate) fn new(json: &impl Serialize, table: Table) -> Result<Self, Failure> {
        Ok(Self {
            json: json_escaped(&serde_json::to_string_pretty(json)?)
                .into_owned()
                .into_bytes(),
            table,
            parts: Vec::new(),
            made_up: Vec::new(),
        })
    }

    /// Says first, in every form, what was made up since nobody gave it.
    pub(crate) fn with_made_up(mut self, made_up: &MadeUp) -> Result<Self, Failure> {
        let lines = made_up.lines();
        if lines.is_empty() {
            return Ok(self);
        }
        let all: Vec<_> = made_up.all().collect();
        for (what, names) in all.into_iter().rev() {
            self.put_first(&format!("made_up_{what}"), names)?;
        }
        let shown = lines.iter().map(|line| printable(line)).collect();
        self.parts.insert(0, Part::Text(shown));
        self.made_up = lines;
        Ok(self)
    }

    /// Shows the label of each node that has one: behind its name in tables for people, and in the
    /// field `labels` of JSON.
    pub(crate) fn with_labels(
        mut self,
        labels: &BTreeMap<String, String>,
    ) -> Result<Self, Failure> {
        if labels.is_empty() {
            return Ok(self);
        }
        self.put_first("labels", labels)?;
        for part in &mut self.parts {
            if let Part::Table(table) = part {
                table.label(labels);
            }
        }
        Ok(self)
    }

    /// Puts a field in front of the answer for programs, which is an object.
    fn put_first(&mut self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        if let Some(fields) = self.json.strip_prefix(b"{\n") {
            let value = serde_json::to_string(value)?;
            let mut json = b"{\n".to_vec();
            writeln!(json, "  \"{name}\": {},", json_escaped(&value))?;
            json.extend(fields);
            self.json = json;
        }
        Ok(())
    }

    /// Creates a report that is one table in every form.
    pub(crate) fn of(table: Table) -> Result<Self, Failure> {
        Ok(Self::new(&table, table.clone())?.with_table(table))
    }

    /// Adds a table for people.
    pub(crate) fn with_table(mut self, table: Table) -> Self {
        self.parts.push(Part::Table(table));
        self
    }

    /// Adds lines for people, if there are any.
    pub(crate) fn with_text<L: AsRef<str>>(mut self, lines: impl IntoIterator<Item = L>) -> Self {
        let lines = lines.into_iter().map(|line| printable(line.as_ref()));
        let lines: Vec<_> = lines.collect();
        if !lines.is_empty() {
            self.parts.push(Part::Text(lines));
        }
        self
    }

    /// Adds command lines to copy, if there are any.
    pub(crate) fn with_commands<L: AsRef<str>>(
        mut self,
        lines: impl IntoIterator<Item = L>,
    ) -> Self {
        let lines: Vec<_> = lines
            .into_iter()
            .map(|line| printable(line.as_ref()))
            .collect();
        if !lines.is_empty() {
            self.parts.push(Part::Commands(lines));
        }
        self
    }

    /// Prints the report to standard output.
    pub(crate) fn print(&self, format: Format) -> Result<(), Failure> {
        let mut out = match format {
            Format::Table => safe::colored(),
            _ => stdout(),
        };
        match format {
            Format::Json => {
                out.write_all(&self.json)?;
                writeln!(out)?;
            }
            Format::Csv => {
                // A comment would be a row for most readers.
                for line in &self.made_up {
                    let _ = writeln!(io::stderr(), "note: {}", printable(line));
                }
                self.table.write_csv(&mut out)?;
            }
            Format::Table => self.write_parts(&mut out, false)?,
            Format::Markdown => self.write_parts(&mut out, true)?,
        }
        Ok(out.flush()?)
    }

    fn write_parts(&self, out: &mut dyn Write, markdown: bool) -> io::Result<()> {
        let screen = Screen::of_output();
        // In Markdown, four spaces make a block of code.
        let indent = if markdown { 4 } else { 2 };
        for (index, part) in self.parts.iter().enumerate() {
            // Commands belong to the line above them.
            if index > 0 && (markdown || !matches!(part, Part::Commands(_))) {
                writeln!(out)?;
            }
            match part {
                // In Markdown, two spaces at the end of a line keep the line break.
                Part::Text(lines) if markdown => {
                    let lines: Vec<_> = lines.iter().map(|line| safe::markdown(line)).collect();
                    writeln!(out, "{}", lines.join("  \n"))?;
                }
                Part::Text(lines) => lines
                    .iter()
                    .flat_map(|line| screen.wrapped(line))
                    .try_for_each(|line| writeln!(out, "{line}"))?,
                Part::Commands(lines) => lines
                    .iter()
                    .try_for_each(|line| writeln!(out, "{}{line}", " ".repeat(indent)))?,
                Part::Table(table) if markdown => table.write_markdown(out)?,
                Part::Table(table) => table.write_text(out, screen)?,
            }
        }
        Ok(())
    }
}

/// Writes a note to standard error.
pub(crate) fn note(text: &str) {
    // Standard error may be closed; there is no other place for the message.
    let _ = writeln!(io::stderr(), "note: {}", printable(text));
}

/// Writes bytes to standard output.
pub(crate) fn standard(bytes: &[u8]) -> io::Result<()> {
    let mut out = stdout();
    out.write_all(bytes)?;
    out.flush()
}
