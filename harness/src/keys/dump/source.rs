//! What a list of keys says about itself.

use serde::{Deserialize, Serialize};

use super::format::DumpFormat;

/// A line that is not in the expected format.
///
/// ```
/// # use hashroute_harness::BadLine;
/// let bad: BadLine = serde_json::from_str(r#"{"line":3,"problem":"no size"}"#)?;
/// assert_eq!((bad.line, bad.problem.as_str()), (3, "no size"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BadLine {
    /// The number of the line, from 1.
    pub line: u64,
    /// What is wrong with the line, and what is expected.
    pub problem: String,
}

/// Where keys came from, and what is missing or inexact.
///
/// ```
/// use hashroute_harness::{DumpFormat, Keys};
///
/// let text = "key=a exp=-1 la=1 cas=1 fetch=no cls=1 size=65\n";
/// let source = Keys::dump(DumpFormat::Metadump, text.as_bytes(), true)?.source;
/// assert_eq!((source.keys_listed, source.bytes_listed), (1, Some(65)));
/// assert!(source.partial && source.limits[0].contains("END"));
/// # Ok::<(), hashroute_harness::InputError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DumpSource {
    /// The format.
    pub format: DumpFormat,
    /// The number of keys in the list.
    pub keys_listed: u64,
    /// The bytes of the listed keys; `None` if some have no size.
    pub bytes_listed: Option<u64>,
    /// The number of keys that the program saw, if it says so.
    pub keys_seen: Option<u64>,
    /// The bytes of those keys, if it says so.
    pub bytes_seen: Option<u64>,
    /// Whether the store has keys that are not in the list.
    pub partial: bool,
    /// Sentences on what is missing or not exact.
    pub limits: Vec<String>,
    /// The number of lines that could not be read.
    pub bad_lines: u64,
    /// The first five of those lines.
    pub first_bad: Vec<BadLine>,
}
