//! Figures as people read them.

const TIMES: &[&str] = &["ns", "µs", "ms", "s"];
const SIZES: &[&str] = &["B", "KiB", "MiB", "GiB", "TiB"];

/// 1,234,567.
pub(crate) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// "1 node", "2 nodes".
pub(crate) fn counted(value: u64, what: &str) -> String {
    let s = if value == 1 { "" } else { "s" };
    format!("{} {what}{s}", count(value))
}

/// A figure that may have a fraction, which is told where it matters: 1,234,567 or 16.7.
pub(crate) fn rounded(value: f64) -> String {
    if value < 100.0 {
        significant(value)
    } else {
        grouped(&format!("{value:.0}"))
    }
}

/// 0.998, 12.345, 998.9: what is large needs fewer digits.
pub(crate) fn ratio(value: f64) -> String {
    let decimals = if value < 99.95 { 3 } else { 1 };
    format!("{value:.decimals$}")
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// 512 B, 1.46 KiB, 27.3 MiB.
pub(crate) fn size(bytes: f64) -> String {
    scaled(bytes, 1024.0, SIZES)
}

/// 12ns, 4.6µs: in tables without room.
pub(crate) fn short_duration(ns: f64) -> String {
    short(ns, 1000.0, TIMES)
}

/// 512B, 43KiB: in tables without room.
pub(crate) fn short_size(bytes: f64) -> String {
    short(bytes, 1024.0, SIZES)
}

/// 9.09%, 0.03%.
pub(crate) fn percent(share: f64) -> String {
    // A sum of nothing is -0.
    format!("{:.2}%", share * 100.0 + 0.0)
}

/// A probability: 0.042, < 0.001.
pub(crate) fn chance(p: f64) -> String {
    if p < 0.0005 {
        "< 0.001".into()
    } else {
        format!("{p:.3}")
    }
}

fn scaled(value: f64, step: f64, units: &[&'static str]) -> String {
    let (value, unit) = in_units(value, step, units);
    format!("{} {unit}", significant(value))
}

fn short(value: f64, step: f64, units: &[&'static str]) -> String {
    let (value, unit) = in_units(value, step, units);
    let decimals = usize::from(value < 9.95 && value.fract() != 0.0);
    format!("{value:.decimals$}{unit}")
}

fn in_units(mut value: f64, step: f64, units: &[&'static str]) -> (f64, &'static str) {
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    // 999.5 would be written as a thousand of its unit.
    while value >= step - 0.5 {
        let Some(larger) = units.next() else { break };
        (value, unit) = (value / step, larger);
    }
    (value, unit)
}

/// Three digits, but no digits of whole numbers lost.
pub(crate) fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let whole = value.fract() == 0.0;
    format!("{value:.*}", if whole { 0 } else { decimals })
}

/// A sentence on lines that were passed over, if there are any.
pub(crate) fn unreadable(lines: u64) -> Option<String> {
    (lines > 0).then(|| {
        let lines = counted(lines, "line");
        format!("{lines} could not be read and are not counted.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits() {
        assert_eq!(
            [count(7), count(1000), count(1_234_567)],
            ["7", "1,000", "1,234,567"]
        );
        assert_eq!(
            [
                short_duration(0.5),
                short_duration(999.7),
                short_duration(12_345.0)
            ],
            ["0.5ns", "1.0µs", "12µs"]
        );
        assert_eq!(
            [size(0.0), size(512.0), size(1536.0), size(1_048_576.0)],
            ["0 B", "512 B", "1.50 KiB", "1 MiB"]
        );
        assert_eq!(
            [
                short_size(876.0),
                short_size(43_929.0),
                short_duration(1543.0)
            ],
            ["876B", "43KiB", "1.5µs"]
        );
        assert_eq!(
            [rounded(16.666), rounded(12.0), rounded(1234.5)],
            ["16.7", "12", "1,234"]
        );
        assert_eq!([ratio(0.9981), ratio(1000.027)], ["0.998", "1000.0"]);
        assert_eq!(percent(0.0909), "9.09%");
    }
}
