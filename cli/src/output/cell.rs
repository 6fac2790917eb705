//! Values, each with a form for programs and a form for people.

use serde_json::Value;

use super::screen::Tone;
use crate::units;

/// A value for programs and the text that people see.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(super) value: Value,
    pub(super) shown: String,
    pub(super) tone: Tone,
}

impl Cell {
    /// Creates a cell whose text differs from its value.
    pub(crate) fn new(value: impl Into<Value>, shown: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            shown: shown.into(),
            tone: Tone::Plain,
        }
    }

    /// Creates a cell of text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            value: Value::String(text.clone()),
            shown: text,
            tone: Tone::Plain,
        }
    }

    /// Sets how the cell stands out where colours are shown.
    pub(crate) fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// Creates a cell of text that may be missing.
    pub(crate) fn optional(text: Option<&str>) -> Self {
        text.map_or_else(Self::missing, Self::text)
    }

    /// Creates a cell of a number that may be missing.
    pub(crate) fn number(value: Option<f64>, shown: fn(f64) -> String) -> Self {
        value.map_or_else(Self::missing, |value| Self::new(value, shown(value)))
    }

    /// Creates a cell of a count, such as 1,000.
    pub(crate) fn count(count: u64) -> Self {
        Self::new(count, units::count(count))
    }

    /// Creates a cell of a number of bytes, such as 27.3 KiB.
    pub(crate) fn bytes(bytes: u64) -> Self {
        Self::new(bytes, units::size(bytes as f64))
    }

    /// Creates a cell of a share, in percent.
    pub(crate) fn share(share: f64) -> Self {
        Self::new(share, units::percent(share))
    }

    /// Creates a cell of a ratio with four decimals, such as a coefficient of variation.
    pub(crate) fn four(ratio: f64) -> Self {
        Self::new(ratio, units::four(ratio))
    }

    /// Creates a cell of a ratio with three decimals, such as most / mean.
    pub(crate) fn ratio(ratio: f64) -> Self {
        Self::new(ratio, units::ratio(ratio))
    }

    /// Creates a cell of a p-value.
    pub(crate) fn chance(p: f64) -> Self {
        Self::new(p, units::chance(p))
    }

    /// Creates a cell without a value.
    pub(crate) fn missing() -> Self {
        Self::new(Value::Null, "-")
    }

    /// Returns the value for programs.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the text for people.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }
}
