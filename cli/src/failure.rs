//! Why a command ended early.

use core::fmt;
use std::io;

use hashroute_harness::text::printable;

/// Bad usage or input, a check that did not hold, or output that could not be written.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was wrong and what would be right, in one message.
    Input(String),
    /// What did not hold, in one message; the answer is written.
    Check(String),
    /// Standard output would not take more.
    Output(io::Error),
}

impl Failure {
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }

    /// Exit codes that scripts rely on.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Check(_) => 1,
            Self::Input(_) | Self::Output(_) => 2,
        }
    }

    /// Whether the reader of the output went away, which is no error.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// On one line: names and keys in it may hold anything.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Check(message) => f.write_str(&printable(message)),
            Self::Output(error) => write!(f, "cannot write to standard output: {error}"),
        }
    }
}

impl From<hashroute::Error> for Failure {
    fn from(error: hashroute::Error) -> Self {
        Self::Input(error.to_string())
    }
}

/// For writing only: what goes wrong in reading is told with the name of the input.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<csv::Error> for Failure {
    fn from(error: csv::Error) -> Self {
        Self::Output(match error.into_kind() {
            csv::ErrorKind::Io(error) => error,
            other => io::Error::other(format!("{other:?}")),
        })
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}
