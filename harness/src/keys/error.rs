//! Why keys could not be read.

use core::fmt;
use std::io;

/// A line, or a row of comma separated values, of more bytes holds no key: what is kept of keys
/// stays bounded.
pub(crate) const LONGEST: usize = 1 << 16;

pub(crate) fn too_long() -> String {
    format!("longer than {LONGEST} bytes: expected at most so many for a key")
}

/// Why keys could not be read. The message says where, and what would be right.
///
/// ```
/// use hashroute_harness::Keys;
///
/// let error = Keys::csv(&b"key,size\na,12\nb,many\n"[..]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 3: size \"many\" is not a number: expected a whole number from 0 to 18446744073709551615"
/// );
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum InputError {
    /// The input could not be read.
    Io(io::Error),
    /// A line is not what it should be.
    Line {
        /// Which, from 1.
        line: u64,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the keys could not be read: {error}"),
            Self::Line { line, problem } => write!(f, "line {line}: {problem}"),
        }
    }
}

impl core::error::Error for InputError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Line { .. } => None,
        }
    }
}

impl From<io::Error> for InputError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What to do with a line that cannot be used.
pub(crate) type Bad<'a> = &'a mut dyn FnMut(InputError) -> Result<(), InputError>;

/// What is wrong with a JSON text, without a line: that of the file is another.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let told = error.to_string();
    let reason = told.rsplit_once(" at line ");
    reason.map_or(told.clone(), |(reason, _)| reason.into())
}
