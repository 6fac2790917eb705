//! Measures of keys.

use clap::Arg;
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

/// Removes the default from the heading of keys: these commands make up no keys.
pub(super) fn without_default(arg: Arg) -> Arg {
    let heading = arg.get_help_heading().unwrap_or_default();
    if heading.starts_with("Keys (") {
        arg.help_heading("Keys")
    } else {
        arg
    }
}
