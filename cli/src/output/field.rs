//! Columns, and how a typed row fills them.

use core::fmt;
use core::ops::Deref;
use std::borrow::Cow;
use std::vec;

use super::cell::Cell;

/// A column with two names: `key` for CSV and JSON, `title` for people.
///
/// An empty name leaves the column out of that form.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(super) key: Cow<'static, str>,
    pub(super) title: &'static str,
    pub(super) right: bool,
    pub(super) apart: bool,
    /// Whether the cells are sentences or lists, which may be broken between words.
    pub(super) prose: bool,
    /// How early the column is left out where the table is too wide: 0 never, higher numbers first.
    pub(super) minor: u8,
}

impl Column {
    /// Creates a column of text, aligned to the left.
    pub(crate) fn text(key: impl Into<Cow<'static, str>>, title: &'static str) -> Self {
        Self {
            key: key.into(),
            title,
            right: false,
            apart: false,
            prose: false,
            minor: 0,
        }
    }

    /// Creates a column of numbers, aligned to the right.
    pub(crate) fn number(key: impl Into<Cow<'static, str>>, title: &'static str) -> Self {
        Self {
            right: true,
            ..Self::text(key, title)
        }
    }

    /// Creates a column of sentences or lists, which may be broken between words.
    pub(crate) fn prose(key: impl Into<Cow<'static, str>>, title: &'static str) -> Self {
        Self {
            prose: true,
            ..Self::text(key, title)
        }
    }

    /// Lets a narrow table do without this column: higher ranks are left out first.
    pub(crate) fn minor(self, rank: u8) -> Self {
        Self {
            minor: rank,
            ..self
        }
    }

    /// Returns the title for people without line breaks.
    pub(super) fn on_one_line(&self) -> String {
        self.title.replace("\n/", "/").replace('\n', " ")
    }
}

/// A column that reads its cell from a row of type `T`.
///
/// The accessor is typed, so a renamed field of a result is a compile error.
pub(crate) struct Field<'a, T> {
    pub(super) column: Column,
    cell: Box<dyn Fn(&T) -> Cell + 'a>,
    pub(super) foot: Option<Cell>,
}

impl<'a, T> Field<'a, T> {
    /// Creates a field of text.
    pub(crate) fn text(
        key: impl Into<Cow<'static, str>>,
        title: &'static str,
        cell: impl Fn(&T) -> Cell + 'a,
    ) -> Self {
        Self {
            column: Column::text(key, title),
            cell: Box::new(cell),
            foot: None,
        }
    }

    /// Creates a field of numbers.
    pub(crate) fn number(
        key: impl Into<Cow<'static, str>>,
        title: &'static str,
        cell: impl Fn(&T) -> Cell + 'a,
    ) -> Self {
        Self {
            column: Column::number(key, title),
            cell: Box::new(cell),
            foot: None,
        }
    }

    /// Lets cells be broken between words: they are sentences or lists.
    pub(crate) fn prose(mut self) -> Self {
        self.column.prose = true;
        self
    }

    /// Lets a narrow table do without this column: higher ranks are left out first.
    pub(crate) fn minor(mut self, rank: u8) -> Self {
        self.column.minor = rank;
        self
    }

    /// Adds room to the left of the column.
    pub(crate) fn apart(mut self) -> Self {
        self.column.apart = true;
        self
    }

    /// Sets the title for people.
    pub(crate) fn titled(mut self, title: &'static str) -> Self {
        self.column.title = title;
        self
    }

    /// Sets the cell below all rows, which people see and programs do not.
    pub(crate) fn with_foot(mut self, foot: Option<Cell>) -> Self {
        self.foot = foot;
        self
    }

    /// Reads the field from a part of a larger row, under another key; the cell is missing where
    /// the row has no such part.
    pub(crate) fn within<R>(
        self,
        key: impl Into<Cow<'static, str>>,
        part: impl Fn(&R) -> Option<&T> + 'a,
    ) -> Field<'a, R>
    where
        T: 'a,
    {
        let cell = self.cell;
        Field {
            column: Column {
                key: key.into(),
                ..self.column
            },
            cell: Box::new(move |row| part(row).map_or_else(Cell::missing, &cell)),
            foot: self.foot,
        }
    }

    /// Returns the name for programs.
    pub(crate) fn key(&self) -> &str {
        &self.column.key
    }

    /// Returns the title for people.
    pub(crate) fn title(&self) -> &'static str {
        self.column.title
    }

    /// Returns whether the column holds numbers.
    pub(crate) fn is_number(&self) -> bool {
        self.column.right
    }

    /// Returns the cell of a row.
    pub(crate) fn cell(&self, row: &T) -> Cell {
        (self.cell)(row)
    }
}

impl<T> fmt::Debug for Field<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field")
            .field("column", &self.column)
            .field("foot", &self.foot)
            .finish_non_exhaustive()
    }
}

/// The columns of a table, in order.
///
/// The type of the rows stands once, at [`Fields::new`]; accessors take it from there.
pub(crate) struct Fields<'a, T>(Vec<Field<'a, T>>);

impl<'a, T> Fields<'a, T> {
    /// Creates an empty list of columns.
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a field of text.
    pub(crate) fn text(
        mut self,
        key: impl Into<Cow<'static, str>>,
        title: &'static str,
        cell: impl Fn(&T) -> Cell + 'a,
    ) -> Self {
        self.0.push(Field::text(key, title, cell));
        self
    }

    /// Adds a field of numbers.
    pub(crate) fn number(
        mut self,
        key: impl Into<Cow<'static, str>>,
        title: &'static str,
        cell: impl Fn(&T) -> Cell + 'a,
    ) -> Self {
        self.0.push(Field::number(key, title, cell));
        self
    }

    /// Adds a field of sentences or lists, which may be broken between words.
    pub(crate) fn prose(
        mut self,
        key: impl Into<Cow<'static, str>>,
        title: &'static str,
        cell: impl Fn(&T) -> Cell + 'a,
    ) -> Self {
        self.0.push(Field::text(key, title, cell).prose());
        self
    }

    /// Lets a narrow table do without the last field: higher ranks are left out first.
    pub(crate) fn minor(mut self, rank: u8) -> Self {
        if let Some(last) = self.0.pop() {
            self.0.push(last.minor(rank));
        }
        self
    }

    /// Adds fields that were made elsewhere.
    pub(crate) fn with(mut self, fields: impl IntoIterator<Item = Field<'a, T>>) -> Self {
        self.0.extend(fields);
        self
    }
}

impl<'a, T> Deref for Fields<'a, T> {
    type Target = [Field<'a, T>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a, T> IntoIterator for Fields<'a, T> {
    type Item = Field<'a, T>;
    type IntoIter = vec::IntoIter<Field<'a, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
