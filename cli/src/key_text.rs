//! Keys, which are bytes, written as text.

use hashroute_harness::text::printable;
use serde_json::{Value, json};

/// Returns the JSON field of a key and its value: `key` for text, `hex` for other bytes.
pub(crate) fn field(key: &[u8]) -> (&'static str, String) {
    match core::str::from_utf8(key) {
        Ok(text) => ("key", text.to_owned()),
        Err(_) => ("hex", hex(key)),
    }
}

/// Returns a key as a JSON value: a string, or `{"hex": ...}` as `--jsonl` reads it.
pub(crate) fn json(key: &[u8]) -> Value {
    match field(key) {
        ("key", text) => Value::String(text),
        (name, digits) => json!({ name: digits }),
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16);
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(digit)
        .collect()
}

/// Returns a key on one line: text unchanged, other bytes escaped.
pub(crate) fn shown(key: &[u8]) -> String {
    match core::str::from_utf8(key) {
        Ok(text) => printable(text),
        Err(_) => key.escape_ascii().to_string(),
    }
}
