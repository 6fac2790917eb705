//! Tables, written as text, Markdown, CSV or JSON.

use core::borrow::Borrow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use hashroute_harness::text::printable;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::cell::Cell;
use super::field::{Column, Field};
use super::layout::{Sheet, Shown};
use super::safe::{csv_field, markdown};
use super::screen::Screen;
use crate::failure::Failure;

/// A table: each row has a cell for each column.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// The last line for people; empty if there is none.
    foot: Vec<Cell>,
    tight: bool,
}

impl Table {
    /// Creates a table without rows. Prefer [`Table::of`], which keeps each cell beside its column.
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self {
            columns: columns.into(),
            rows: Vec::new(),
            foot: Vec::new(),
            tight: false,
        }
    }

    /// Creates a table with a row for each of `rows` and a column for each field.
    pub(crate) fn of<'f, T: 'f>(
        fields: impl IntoIterator<Item = Field<'f, T>>,
        rows: impl IntoIterator<Item: Borrow<T>>,
    ) -> Self {
        let fields: Vec<_> = fields.into_iter().collect();
        let cells = |row: &T| fields.iter().map(|field| field.cell(row)).collect();
        let rows = rows.into_iter().map(|row| cells(row.borrow())).collect();
        let has_foot = fields.iter().any(|field| field.foot.is_some());
        let (columns, feet): (Vec<_>, Vec<_>) = fields
            .into_iter()
            .map(|field| (field.column, field.foot))
            .unzip();
        let foot = feet.into_iter().filter(|_| has_foot);
        Self {
            columns,
            rows,
            foot: foot
                .map(|cell| cell.unwrap_or_else(|| Cell::text("")))
                .collect(),
            tight: false,
        }
    }

    /// Separates columns by one space instead of two.
    pub(crate) fn tight(self) -> Self {
        Self {
            tight: true,
            ..self
        }
    }

    /// Adds a row, with a cell for each column.
    pub(crate) fn push(&mut self, row: impl Into<Vec<Cell>>) {
        let row = row.into();
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Adds rows, each with a cell for each column.
    pub(crate) fn with_rows(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        rows.into_iter().for_each(|row| self.push(row));
        self
    }

    /// Shows names of nodes with their labels, unless a column has the labels.
    pub(super) fn label(&mut self, labels: &BTreeMap<String, String>) {
        if self.columns.iter().any(|column| column.title == "label") {
            return;
        }
        for cell in self.rows.iter_mut().flatten() {
            if let Some(label) = cell.value.as_str().and_then(|name| labels.get(name)) {
                cell.shown = format!("{} ({label})", cell.shown);
            }
        }
    }

    fn titled(&self) -> impl Iterator<Item = &Column> {
        self.columns
            .iter()
            .filter(|column| !column.title.is_empty())
    }

    /// Returns the lines for people: the rows, then the foot if there is one.
    fn lines(&self) -> impl Iterator<Item = &[Cell]> {
        let foot = Some(self.foot.as_slice()).filter(|foot| !foot.is_empty());
        self.rows.iter().map(Vec::as_slice).chain(foot)
    }

    fn shown(&self, row: &[Cell]) -> impl Iterator<Item = Shown> {
        let titled = self
            .columns
            .iter()
            .zip(row)
            .filter(|(column, _)| !column.title.is_empty());
        titled.map(|(_, cell)| Shown {
            text: printable(&cell.shown),
            tone: cell.tone,
        })
    }

    /// Writes the table as aligned text that fits the screen.
    pub(super) fn write_text(&self, out: &mut dyn Write, screen: Screen) -> io::Result<()> {
        let sheet = Sheet {
            columns: self.titled().collect(),
            rows: self.lines().map(|row| self.shown(row).collect()).collect(),
            gap: if self.tight { 1 } else { 2 },
        };
        let mut lines = sheet.lines(screen).into_iter();
        lines.try_for_each(|line| writeln!(out, "{line}"))
    }

    /// Writes the table as Markdown.
    pub(super) fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let titles = self.titled().map(Column::on_one_line);
        markdown_row(out, titles)?;
        markdown_row(
            out,
            self.titled()
                .map(|column| if column.right { "--:" } else { "---" }.into()),
        )?;
        self.lines()
            .try_for_each(|row| markdown_row(out, self.shown(row).map(|shown| shown.text)))
    }

    /// Writes the table as CSV.
    pub(super) fn write_csv(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let keyed: Vec<_> = (0..self.columns.len())
            .filter(|&i| !self.columns[i].key.is_empty())
            .collect();
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(keyed.iter().map(|&i| &*self.columns[i].key))?;
        for row in &self.rows {
            writer.write_record(keyed.iter().map(|&i| csv_value(&row[i].value)))?;
        }
        Ok(writer.flush()?)
    }
}

/// Writes an array with one object per row, its fields in the order of the columns.
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
        serializer.collect_map(keyed.map(|(column, cell)| (&*column.key, &cell.value)))
    }
}

fn csv_value(value: &Value) -> Vec<u8> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) => csv_field(text.as_bytes()).into_owned(),
        other => other.to_string().into_bytes(),
    }
}

/// Writes one row of a Markdown table. No cell is HTML, a link or code.
pub(crate) fn markdown_row(
    out: &mut dyn Write,
    cells: impl Iterator<Item = String>,
) -> io::Result<()> {
    for cell in cells {
        write!(out, "| {} ", markdown(&cell).replace('|', "\\|"))?;
    }
    writeln!(out, "|")
}
