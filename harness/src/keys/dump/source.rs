//! What a list says of itself.

use serde::{Deserialize, Serialize};

use super::format::DumpFormat;

/// A line that is not what it should be.
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
    /// Which, from 1.
    pub line: u64,
    /// What is wrong with it, and what would be right.
    pub problem: String,
}

/// Where keys came from, and what is not known of them.
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
    /// What it is.
    pub format: DumpFormat,
    /// How many keys it lists.
    pub keys_listed: u64,
    /// The bytes of these; `None` where some have no size.
    pub bytes_listed: Option<u64>,
    /// How many keys its maker saw, where it says so.
    pub keys_seen: Option<u64>,
    /// The bytes of those, where it says so.
    pub bytes_seen: Option<u64>,
    /// Whether there are keys that it does not list.
    pub partial: bool,
    /// In words, what is missing or not exact.
    pub limits: Vec<String>,
    /// How many lines could not be read.
    pub bad_lines: u64,
    /// The first five of them.
    pub first_bad: Vec<BadLine>,
}
