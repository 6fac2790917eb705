//! Tables of figures that are in the JSON of the page: each says which of its fields it is.

use hashroute_harness::text::printable;
use maud::{Markup, html};
use serde_json::Value;

use crate::units;

/// A column: its title, where its value is below that of the row, and how it is shown.
pub(super) struct Field {
    title: &'static str,
    at: &'static str,
    show: Show,
}

#[derive(Clone, Copy)]
enum Show {
    /// As it is.
    Text,
    /// A name of the program, in words.
    Word,
    Number(fn(f64) -> String),
}

impl Field {
    pub(super) const fn text(title: &'static str, at: &'static str) -> Self {
        let show = Show::Text;
        Self { title, at, show }
    }

    pub(super) const fn word(title: &'static str, at: &'static str) -> Self {
        let show = Show::Word;
        Self { title, at, show }
    }

    pub(super) const fn number(
        title: &'static str,
        at: &'static str,
        show: fn(f64) -> String,
    ) -> Self {
        let show = Show::Number(show);
        Self { title, at, show }
    }

    fn class(&self) -> Option<&'static str> {
        matches!(self.show, Show::Number(_)).then_some("number")
    }

    fn cell(&self, json: &Value, row: &str) -> Markup {
        let pointer = format!("{row}{}", self.at);
        match self.show {
            Show::Number(show) => figure(json, &pointer, show),
            Show::Text => html! { (words(json.pointer(&pointer))) },
            Show::Word => html! { (words(json.pointer(&pointer)).replace('_', " ")) },
        }
    }
}

/// A figure of the JSON: its exact value and its field for programs, and its short form for people.
pub(super) fn figure(json: &Value, pointer: &str, show: fn(f64) -> String) -> Markup {
    let value = json.pointer(pointer);
    html! {
        @if let Some((value, number)) = value.and_then(|value| Some((value, value.as_f64()?))) {
            data data-field=(pointer) value=(value) { (show(number)) }
        } @else { "–" }
    }
}

fn words(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "–".into(),
        Some(Value::String(text)) => printable(text),
        Some(Value::Bool(yes)) => if *yes { "yes" } else { "no" }.into(),
        Some(Value::Array(all)) => {
            let all: Vec<_> = all.iter().map(|one| words(Some(one))).collect();
            all.join(" ")
        }
        Some(other) => other.to_string(),
    }
}

/// The table of these rows; the first field heads each. On a narrow screen it scrolls by itself.
pub(super) fn table(json: &Value, caption: &str, rows: &[String], fields: &[Field]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for field in fields { th scope="col" class=[field.class()] { (field.title) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (index, field) in fields.iter().enumerate() {
                                @if index == 0 {
                                    th scope="row" class=[field.class()] { (field.cell(json, row)) }
                                } @else {
                                    td class=[field.class()] { (field.cell(json, row)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Where the elements of an array are.
pub(super) fn rows(json: &Value, pointer: &str) -> Vec<String> {
    let count = json
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    (0..count).map(|row| format!("{pointer}/{row}")).collect()
}

/// 0.0790.
pub(super) fn four(value: f64) -> String {
    format!("{value:.4}")
}

/// 512 B, 27.3 KiB.
pub(super) fn size(value: f64) -> String {
    units::size(value)
}
