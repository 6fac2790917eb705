//! One description of an answer, written as a table, JSON, CSV or Markdown.

mod cell;
mod field;
mod table;

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use clap::ValueEnum;
use hashroute_harness::text::printable;
use serde::Serialize;

pub(crate) use self::cell::Cell;
pub(crate) use self::field::{Column, Field};
pub(crate) use self::table::{Table, markdown_row};
use crate::failure::Failure;

/// How wide text is, and tables where there is no terminal to ask.
const WIDTH: u16 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// Every field, numbers as numbers
    Json,
    /// The main table, with a header
    Csv,
    /// As the table, to paste into a document
    Markdown,
}

/// A line in pieces of up to [`WIDTH`] characters, split between words where it can be.
fn wrapped(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut width = 0;
    for word in line.split(' ') {
        let more = word.chars().count();
        if let Some(last) = lines
            .last_mut()
            .filter(|last| last.is_empty() || width + more < usize::from(WIDTH))
        {
            if !last.is_empty() {
                last.push(' ');
                width += 1;
            }
            last.push_str(word);
            width += more;
        } else {
            lines.push(format!("  {word}"));
            width = 2 + more;
        }
    }
    lines
}

/// What people see, in order.
#[derive(Debug)]
enum Part {
    /// Lines; control characters in them are shown as escapes.
    Text(Vec<String>),
    Table(Table),
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Report {
    json: Vec<u8>,
    /// For CSV.
    table: Table,
    /// For people.
    parts: Vec<Part>,
}

impl Report {
    /// The answer as JSON, its main table for CSV, and nothing for people yet.
    pub(crate) fn new(json: &impl Serialize, table: Table) -> Result<Self, Failure> {
        Ok(Self {
            json: serde_json::to_vec_pretty(json)?,
            table,
            parts: Vec::new(),
        })
    }

    /// A report that is one table.
    pub(crate) fn of(table: Table) -> Result<Self, Failure> {
        Ok(Self::new(&table, table.clone())?.with_table(table))
    }

    pub(crate) fn with_table(mut self, table: Table) -> Self {
        self.parts.push(Part::Table(table));
        self
    }

    /// The same with these lines below, if there are any.
    pub(crate) fn with_text<L: AsRef<str>>(mut self, lines: impl IntoIterator<Item = L>) -> Self {
        let lines = lines.into_iter().map(|line| printable(line.as_ref()));
        let lines: Vec<_> = lines.collect();
        if !lines.is_empty() {
            self.parts.push(Part::Text(lines));
        }
        self
    }

    pub(crate) fn print(&self, format: Format) -> Result<(), Failure> {
        let mut out = stdout();
        match format {
            Format::Json => {
                out.write_all(&self.json)?;
                writeln!(out)?;
            }
            Format::Csv => self.table.write_csv(&mut out)?,
            Format::Table => self.write_parts(&mut out, false)?,
            Format::Markdown => self.write_parts(&mut out, true)?,
        }
        Ok(out.flush()?)
    }

    fn write_parts(&self, out: &mut dyn Write, markdown: bool) -> io::Result<()> {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            match part {
                // Two spaces keep the end of a line.
                Part::Text(lines) if markdown => writeln!(out, "{}", lines.join("  \n"))?,
                Part::Text(lines) => lines
                    .iter()
                    .flat_map(|line| wrapped(line))
                    .try_for_each(|line| writeln!(out, "{line}"))?,
                Part::Table(table) if markdown => table.write_markdown(out)?,
                Part::Table(table) => table.write_text(out)?,
            }
        }
        Ok(())
    }
}

/// Standard output, locked and buffered. Flush it, or what fails at the end goes unseen.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Whether a file can be written, to say so before the work is done. Nothing is made or changed.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
    match fs::metadata(path) {
        // To open a pipe would end it for whoever reads.
        Ok(there) if there.is_file() || there.is_dir() => {
            OpenOptions::new().append(true).open(path).map(drop)
        }
        Ok(_) => Ok(()),
        Err(_) => fs::metadata(folder.unwrap_or(Path::new("."))).map(drop),
    }
}
