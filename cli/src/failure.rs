//! Why a command ended early, as one message.

use core::fmt;
use std::io;
use std::path::Path;

use hashroute::Error;
use hashroute_harness::text::printable;

/// Bad usage or input, a check that failed, or output that could not be written.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What is wrong and what would be right.
    Input(String),
    /// Another failure, and what to try next on a line of its own.
    Hinted {
        /// The failure itself.
        failure: Box<Failure>,
        /// What to try next.
        hint: String,
    },
    /// The library refused what an option asked for.
    Refused(Asked, Error),
    /// A check failed; the answer is already written.
    Check(String),
    /// Two things that were compared differ: an answer, already written, and no error.
    Differ(String),
    /// Part of the answer is missing; the rest is written, and a note says what is missing.
    Told,
    /// Standard output would not take more.
    Output(io::Error),
}

/// What asked for something, as an error names it.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// A parameter of a strategy, set by this option. Errors that are about no parameter name the
    /// strategy instead.
    Set {
        /// `--set` or `--to-set`.
        option: &'static str,
        /// The strategy or dialect, such as `strategy ring`.
        title: String,
    },
    /// Nothing that is known: the error stands alone.
    Unknown,
    /// An option of the name that the error gives the parameter, such as `--hash-seed`.
    Named,
    /// An option whose value the error holds, such as `--max-step`.
    Value(&'static str),
    /// An option whose value is a parameter as a whole: `--template 'user:{i}'`.
    Option(String),
    /// An option or a file, whatever is wrong with it: `--spec peers.toml`.
    At(String),
}

impl Asked {
    /// Returns what asked by a file.
    pub(crate) fn file(option: &str, path: &Path) -> Self {
        Self::At(format!("{option} {}", path.display()))
    }

    /// Makes the failure of an error that this caused.
    pub(crate) fn refused(self, error: Error) -> Failure {
        Failure::Refused(self, error)
    }

    fn write(&self, f: &mut impl fmt::Write, error: &Error) -> fmt::Result {
        match (self, error) {
            (
                Self::Set { option, .. },
                Error::Parameter {
                    name,
                    value,
                    expected,
                },
            ) => write!(f, "{option} {name}={value}: expected {expected}"),
            (Self::Set { option, .. }, Error::TableSize { size, .. }) => {
                write!(f, "{option} table-size={size}: {error}")
            }
            (Self::Set { title, .. }, _) => write!(f, "{title}: {error}"),
            (
                Self::Named,
                Error::Parameter {
                    name,
                    value,
                    expected,
                },
            ) => write!(f, "--{name} {value}: expected {expected}"),
            (
                Self::Value(option),
                Error::Parameter {
                    value, expected, ..
                },
            ) => write!(f, "{option} {value}: expected {expected}"),
            (Self::Option(option), Error::Parameter { expected, .. }) => {
                write!(f, "{option}: expected {expected}")
            }
            (Self::Option(option) | Self::At(option), _) => write!(f, "{option}: {error}"),
            (Self::Unknown | Self::Named | Self::Value(_), _) => write!(f, "{error}"),
        }
    }
}

impl Failure {
    /// Makes a failure of bad usage or input.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }

    /// Makes a failure about a file that an option names.
    pub(crate) fn file(option: &str, path: &Path, wrong: impl fmt::Display) -> Self {
        Self::Input(format!("{option} {}: {wrong}", path.display()))
    }

    /// Adds what to try next, if there is something.
    pub(crate) fn with_hint(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => Self::Hinted {
                failure: Box::new(self),
                hint,
            },
            None => self,
        }
    }

    /// Returns what to try next.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Hinted { hint, .. } => Some(printable(hint)),
            _ => None,
        }
    }

    /// Returns the exit code; scripts rely on it.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Check(_) | Self::Differ(_) | Self::Told => 1,
            Self::Hinted { failure, .. } => failure.code(),
            Self::Input(_) | Self::Refused(..) | Self::Output(_) => 2,
        }
    }

    /// Returns the word before the message.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Differ(_) => "note",
            Self::Hinted { failure, .. } => failure.word(),
            _ => "error",
        }
    }

    /// Returns whether a note has said everything already.
    pub(crate) fn is_told(&self) -> bool {
        matches!(self, Self::Told)
    }

    /// Returns whether the reader of the output went away, which is no error.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Writes the message on one line: names and keys in it may hold anything.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Check(message) | Self::Differ(message) => {
                f.write_str(&printable(message))
            }
            Self::Hinted { failure, .. } => failure.fmt(f),
            Self::Refused(asked, error) => {
                let mut message = String::new();
                asked.write(&mut message, error)?;
                f.write_str(&printable(&message))
            }
            Self::Told => f.write_str("a part of the answer is missing"),
            Self::Output(error) => write!(f, "cannot write to standard output: {error}"),
        }
    }
}

/// Keeps an error that no option is known to have caused.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(Asked::Unknown, error)
    }
}

/// For writing only: an error of reading is told with the name of the input.
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
