//! One description of an answer, written as a table, JSON, CSV or Markdown.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use clap::ValueEnum;
use comfy_table::{CellAlignment, ContentArrangement, TableComponent, presets};
use hashroute_harness::text::printable;
use serde::{Serialize, Serializer};
use serde_json::Value;

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

/// A column: its name for programs and its title for people. Without one of them it is left out
/// for those.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    right: bool,
    apart: bool,
}

impl Column {
    pub(crate) const fn text(key: &'static str, title: &'static str) -> Self {
        Self {
            key,
            title,
            right: false,
            apart: false,
        }
    }

    pub(crate) const fn number(key: &'static str, title: &'static str) -> Self {
        Self {
            key,
            title,
            right: true,
            apart: false,
        }
    }

    /// The same with more room to its left.
    pub(crate) const fn apart(self) -> Self {
        Self {
            apart: true,
            ..self
        }
    }
}

/// A value for programs and its form for people.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    value: Value,
    shown: String,
}

impl Cell {
    pub(crate) fn new(value: impl Into<Value>, shown: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            shown: shown.into(),
        }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            value: Value::String(text.clone()),
            shown: text,
        }
    }

    /// A text that may be missing.
    pub(crate) fn optional(text: Option<&str>) -> Self {
        text.map_or_else(Self::missing, Self::text)
    }

    /// A number that may be missing.
    pub(crate) fn number(value: Option<f64>, shown: fn(f64) -> String) -> Self {
        value.map_or_else(Self::missing, |value| Self::new(value, shown(value)))
    }

    pub(crate) fn missing() -> Self {
        Self::new(Value::Null, "-")
    }
}

/// Columns and rows of the same length.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    tight: bool,
}

impl Table {
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self {
            columns: columns.into(),
            rows: Vec::new(),
            tight: false,
        }
    }

    /// The same with one space between columns in place of two.
    pub(crate) fn tight(self) -> Self {
        Self {
            tight: true,
            ..self
        }
    }

    pub(crate) fn push(&mut self, row: impl Into<Vec<Cell>>) {
        let row = row.into();
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    pub(crate) fn with_rows(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        rows.into_iter().for_each(|row| self.push(row));
        self
    }

    fn titled(&self) -> impl Iterator<Item = &Column> {
        self.columns
            .iter()
            .filter(|column| !column.title.is_empty())
    }

    fn shown<'a>(&'a self, row: &'a [Cell]) -> impl Iterator<Item = String> + 'a {
        let titled = self
            .columns
            .iter()
            .zip(row)
            .filter(|(column, _)| !column.title.is_empty());
        titled.map(|(_, cell)| printable(&cell.shown))
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = comfy_table::Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        if table.width().is_none() {
            table.set_width(WIDTH);
        }
        table.set_style(TableComponent::HeaderLines, '─');
        table.set_style(TableComponent::MiddleHeaderIntersections, '─');
        table.set_header(self.titled().map(|column| column.title));
        table.add_rows(self.rows.iter().map(|row| self.shown(row)));
        for (column, description) in table.column_iter_mut().zip(self.titled()) {
            column.set_padding((u16::from(description.apart), u16::from(!self.tight)));
            if description.right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        writeln!(out, "{}", table.trim_fmt())
    }

    fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let titles = self
            .titled()
            .map(|column| column.title.replace("\n/", "/").replace('\n', " "));
        markdown_row(out, titles)?;
        markdown_row(
            out,
            self.titled()
                .map(|column| if column.right { "--:" } else { "---" }.into()),
        )?;
        self.rows
            .iter()
            .try_for_each(|row| markdown_row(out, self.shown(row)))
    }

    fn write_csv(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let keyed: Vec<_> = (0..self.columns.len())
            .filter(|&i| !self.columns[i].key.is_empty())
            .collect();
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(keyed.iter().map(|&i| self.columns[i].key))?;
        for row in &self.rows {
            writer.write_record(keyed.iter().map(|&i| csv_field(&row[i].value)))?;
        }
        Ok(writer.flush()?)
    }
}

/// An array of an object a row, the fields in the order of the columns.
impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.iter().map(|row| Row(&self.columns, row)))
    }
}

struct Row<'a>(&'a [Column], &'a [Cell]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keyed = self
            .0
            .iter()
            .zip(self.1)
            .filter(|(column, _)| !column.key.is_empty());
        serializer.collect_map(keyed.map(|(column, cell)| (column.key, &cell.value)))
    }
}

fn csv_field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(crate) fn markdown_row(
    out: &mut dyn Write,
    cells: impl Iterator<Item = String>,
) -> io::Result<()> {
    for cell in cells {
        write!(out, "| {} ", cell.replace('|', "\\|"))?;
    }
    writeln!(out, "|")
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
