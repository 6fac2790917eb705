//! Errors in configuration files, with their lines.

use alloc::format;
use alloc::string::String;

use crate::Error;

/// Builds an error for a line of a configuration.
pub(super) fn wrong(line: usize, reason: impl Into<String>) -> Error {
    Error::Config {
        line,
        reason: reason.into(),
    }
}

/// Builds an error for a wrong value.
pub(super) fn expected(line: usize, what: &str, value: &str, expected: &str) -> Error {
    wrong(line, format!("{what} {value:?}: expected {expected}"))
}
