//! Measures of keys.

use hashroute_harness::Keys;

use crate::args::Measure;

/// Returns the amount of each key; `None` if it is not known.
pub(super) fn amounts(measure: Measure, keys: &Keys) -> Option<Vec<u64>> {
    match measure {
        Measure::Keys => Some(vec![1; keys.len()]),
        Measure::Bytes => keys.sizes().map(<[u64]>::to_vec),
        Measure::Requests => keys.requests().map(<[u64]>::to_vec),
    }
}

/// Returns the name of a measure.
pub(super) const fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Keys => "keys",
        Measure::Bytes => "bytes",
        Measure::Requests => "requests",
    }
}
