//! The formats, and the key that a line of any of them names.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The program that printed the keys, and its mode.
///
/// ```
/// use hashroute_harness::DumpFormat;
/// assert_eq!(DumpFormat::MemKeys.to_string(), "memkeys");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DumpFormat {
    /// `redis-cli --bigkeys`.
    BigKeys,
    /// `redis-cli --memkeys`.
    MemKeys,
    /// `redis-cli --keystats`.
    KeyStats,
    /// `redis-cli --hotkeys`.
    HotKeys,
    /// `redis-cli --scan`, or the replies to `SCAN`.
    Scan,
    /// memcached's `lru_crawler metadump all`.
    Metadump,
}

impl DumpFormat {
    /// Returns whether the format lists only the largest or the hottest keys, which are few.
    pub(crate) fn is_short(self) -> bool {
        !matches!(self, Self::Scan | Self::Metadump)
    }
}

impl fmt::Display for DumpFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::BigKeys => "bigkeys",
            Self::MemKeys => "memkeys",
            Self::KeyStats => "keystats",
            Self::HotKeys => "hotkeys",
            Self::Scan => "scan",
            Self::Metadump => "metadump",
        })
    }
}

/// A key that a line names.
///
/// ```
/// use hashroute_harness::{DumpFormat, DumpReader};
///
/// let row = DumpReader::new(DumpFormat::Scan).line(b"\"a\\x00\"")?.expect("a key");
/// assert_eq!((row.key.as_slice(), row.size), (&b"a\0"[..], None));
/// # Ok::<(), hashroute_harness::InputError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DumpRow {
    /// The bytes of the key.
    pub key: Vec<u8>,
    /// The bytes that it stores, if the line says so.
    pub size: Option<u64>,
    /// How often it is used, if the line says so: the counter of `--hotkeys`.
    pub requests: Option<u64>,
}

/// The result of a line: a key, nothing, or the problem.
pub(super) type Parsed = Result<Option<DumpRow>, String>;

/// What a parser knows at the end about all keys of the store.
#[derive(Debug, Default)]
pub(super) struct Whole {
    pub(super) keys: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) partial: bool,
    pub(super) limits: Vec<String>,
}
