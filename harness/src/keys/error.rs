//! Errors of reading keys.

use core::fmt;
use std::io;

use serde_json::error::Category;

/// The most bytes of a line, or of a row of comma-separated values, that is read as a key. The
/// limit bounds the memory that a bad file can take.
pub(crate) const LONGEST: usize = 1 << 16;

/// The most bytes of a line that is passed over. A file with a longer one, such as a device that
/// never ends, is no file of keys.
pub(crate) const ENDLESS: usize = 1 << 26;

/// Ends the reading of a file with an endless line.
pub(crate) fn endless(line: u64) -> io::Error {
    io::Error::other(format!(
        "line {line} is no key: expected lines of at most {LONGEST} bytes, found one of more than {ENDLESS}"
    ))
}

pub(crate) fn too_long() -> String {
    format!("too long for a key: expected at most {LONGEST} bytes")
}

/// An error of reading keys. The message says where it is, what is wrong and what is expected.
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
    /// A line is not in the expected format.
    Line {
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong with the line, and what is expected.
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

/// Decides about a line that cannot be used: `Ok` skips it, an error ends the reading.
pub(crate) type Bad<'a> = &'a mut dyn FnMut(InputError) -> Result<(), InputError>;

/// Returns what is wrong with a JSON text: in plain words, or for a wrong field in those of the
/// parser without the position, which counts from the start of the text, not of the file.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Syntax => return "not JSON".into(),
        Category::Eof => return "not JSON, it ends too early".into(),
        Category::Data | Category::Io => {}
    }
    let told = error.to_string();
    let reason = told.rsplit_once(" at line ");
    reason.map_or(told.clone(), |(reason, _)| reason.into())
}
