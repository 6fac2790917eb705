//! What is counted: keys, bytes or requests.

use core::fmt;

use serde::{Deserialize, Serialize};

/// What is counted on the nodes.
///
/// ```
/// assert_eq!(hashroute_harness::Measure::Bytes.to_string(), "bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Measure {
    /// Keys; a repeated key counts each time.
    Keys,
    /// The bytes that keys store.
    Bytes,
    /// The requests that keys get.
    Requests,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Keys => "keys",
            Self::Bytes => "bytes",
            Self::Requests => "requests",
        })
    }
}
