//! HTML tables and figures. Each figure has a JSON pointer to its value in the page.

use hashroute_harness::text::printable;
use maud::{Markup, html};

use crate::output::{Cell, Field};

/// A row of a table, and the JSON pointer to it in the page.
#[derive(Clone, Debug)]
pub(super) struct Line<'a, T> {
    pub(super) at: String,
    pub(super) row: &'a T,
}

/// Returns a line for each element of the array at the JSON pointer `at`.
pub(super) fn lines<'a, T>(at: &str, rows: &'a [T]) -> Vec<Line<'a, T>> {
    let rows = rows.iter().enumerate();
    rows.map(|(index, row)| Line {
        at: format!("{at}/{index}"),
        row,
    })
    .collect()
}

/// Shows a figure: the exact value and its pointer for programs, the short form for people.
pub(super) fn figure<T>(at: &str, row: &T, field: &Field<'_, T>) -> Markup {
    shown(at, field.key(), &field.cell(row))
}

fn shown(at: &str, key: &str, cell: &Cell) -> Markup {
    let value = cell.value();
    html! {
        @if value.is_number() {
            data data-field={ (at) "/" (key) } value=(value) { (cell.shown()) }
        } @else if value.is_null() { "–" } @else { (printable(cell.shown())) }
    }
}

/// Builds a table. The first field is the heading of its row. On a narrow screen the table scrolls
/// within the page.
pub(super) fn table<T>(caption: &str, lines: &[Line<'_, T>], fields: &[Field<'_, T>]) -> Markup {
    let class = |field: &Field<'_, T>| field.is_number().then_some("number");
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for field in fields { th scope="col" class=[class(field)] { (field.title()) } } } }
                tbody {
                    @for line in lines {
                        tr {
                            @for (index, field) in fields.iter().enumerate() {
                                @if index == 0 {
                                    th scope="row" class=[class(field)] { (figure(&line.at, line.row, field)) }
                                } @else {
                                    td class=[class(field)] { (figure(&line.at, line.row, field)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
