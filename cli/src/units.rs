//! Numbers formatted for people.

pub(crate) use hashroute_harness::text::{
    chance, count, counted, percent, ratio, rounded, short_duration, short_size, significant, size,
};

/// Returns a sentence about lines that were skipped, if there are any.
pub(crate) fn unreadable(lines: u64) -> Option<String> {
    (lines > 0).then(|| {
        let lines = counted(lines, "line");
        format!("Skipped {lines} that could not be read.")
    })
}

/// Formats a ratio with four decimals, such as 0.0790.
pub(crate) fn four(ratio: f64) -> String {
    format!("{ratio:.4}")
}
