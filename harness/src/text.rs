//! Figures and names as people read them: in tables, sentences and pictures. Each exists once,
//! here.
//!
//! ```
//! use hashroute_harness::text;
//!
//! assert_eq!(text::counted(1_234_567, "key"), "1,234,567 keys");
//! assert_eq!(text::percent(0.0909), "9.09%");
//! ```

use core::cmp::Ordering;
use std::borrow::Cow;

use hashroute::Router;

const TIMES: &[&str] = &["ns", "µs", "ms", "s"];
const SIZES: &[&str] = &["B", "KiB", "MiB", "GiB", "TiB"];

/// Writes a whole number with separators between thousands.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// Writes a number of things, in the plural unless it is one.
///
/// ```
/// # use hashroute_harness::text::counted;
/// assert_eq!([counted(1, "node"), counted(2000, "node")], ["1 node", "2,000 nodes"]);
/// ```
pub fn counted(value: u64, what: &str) -> String {
    let s = if value == 1 { "" } else { "s" };
    format!("{} {what}{s}", count(value))
}

/// Writes a figure that may have a fraction: three digits below 100, a whole number from 100 on.
///
/// ```
/// # use hashroute_harness::text::rounded;
/// assert_eq!([rounded(16.66), rounded(12.0), rounded(1234.5)], ["16.7", "12", "1,234"]);
/// ```
pub fn rounded(value: f64) -> String {
    if value < 100.0 {
        significant(value)
    } else {
        grouped(&format!("{value:.0}"))
    }
}

/// Writes a ratio with three decimals, or one decimal from 100 on.
///
/// ```
/// # use hashroute_harness::text::ratio;
/// assert_eq!([ratio(0.9981), ratio(12.3456), ratio(1000.03)], ["0.998", "12.346", "1000.0"]);
/// ```
pub fn ratio(value: f64) -> String {
    let decimals = if value < 99.95 { 3 } else { 1 };
    format!("{value:.decimals$}")
}

/// Writes a number of bytes with three digits and a unit.
///
/// ```
/// # use hashroute_harness::text::size;
/// assert_eq!([size(512.0), size(1536.0)], ["512 B", "1.50 KiB"]);
/// ```
pub fn size(bytes: f64) -> String {
    let (value, unit) = in_units(bytes, 1024.0, SIZES);
    format!("{} {unit}", significant(value))
}

/// Writes nanoseconds in little space.
///
/// ```
/// # use hashroute_harness::text::short_duration;
/// assert_eq!([short_duration(0.5), short_duration(12_345.0)], ["0.5ns", "12µs"]);
/// ```
pub fn short_duration(ns: f64) -> String {
    short(ns, 1000.0, TIMES)
}

/// Writes a number of bytes in little space.
///
/// ```
/// # use hashroute_harness::text::short_size;
/// assert_eq!([short_size(876.0), short_size(43_929.0)], ["876B", "43KiB"]);
/// ```
pub fn short_size(bytes: f64) -> String {
    short(bytes, 1024.0, SIZES)
}

/// Writes a share in percent, with two decimals.
pub fn percent(share: f64) -> String {
    // An empty sum is -0.0; adding 0.0 removes the sign.
    format!("{:.2}%", share * 100.0 + 0.0)
}

/// Writes a share in percent with one decimal, for sentences.
///
/// ```
/// assert_eq!(hashroute_harness::text::rough_percent(0.0909), "9.1%");
/// ```
pub fn rough_percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0 + 0.0)
}

/// Writes a probability with three decimals.
///
/// ```
/// # use hashroute_harness::text::chance;
/// assert_eq!([chance(0.042), chance(0.0004)], ["0.042", "< 0.001"]);
/// ```
pub fn chance(p: f64) -> String {
    if p < 0.0005 {
        "< 0.001".into()
    } else {
        format!("{p:.3}")
    }
}

/// Writes a figure with three digits, or with all digits of its whole part.
///
/// ```
/// # use hashroute_harness::text::significant;
/// assert_eq!([significant(1.0), significant(1.234), significant(1234.5)], ["1", "1.23", "1234"]);
/// ```
pub fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let whole = value.fract() == 0.0;
    format!("{value:.*}", if whole { 0 } else { decimals })
}

/// Writes a text on one line, safe to print: control characters, and characters that nobody sees or
/// that change the direction of text, become escapes.
///
/// ```
/// use hashroute_harness::text::printable;
///
/// assert_eq!(printable("bell\u{7}\n"), "bell\\u{7}\\n");
/// assert_eq!(printable("\u{202e}evil"), "\\u{202e}evil");
/// ```
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Compares names as people count: `node-2` comes before `node-10`.
///
/// ```
/// # use hashroute_harness::text::natural;
/// let mut names = ["node-10", "node-2", "node-1"];
/// names.sort_by(|a, b| natural(a, b));
/// assert_eq!(names, ["node-1", "node-2", "node-10"]);
/// ```
pub fn natural(a: &str, b: &str) -> Ordering {
    let mut pairs = runs(a).zip(runs(b)).map(|(a, b)| {
        let number = |run: &str| run.starts_with(|c: char| c.is_ascii_digit());
        if number(a) && number(b) {
            let [a, b] = [a, b].map(|digits| digits.trim_start_matches('0'));
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        } else {
            a.cmp(b)
        }
    });
    let first = pairs.find(|order| order.is_ne());
    // One is the start of the other, or they differ by leading zeros.
    first.unwrap_or_else(|| runs(a).count().cmp(&runs(b).count()).then_with(|| a.cmp(b)))
}

/// Splits a text into runs of digits and of other characters.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let is_digit = rest.chars().next()?.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_digit);
        let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(run)
    })
}

/// Returns a key as text; one that is not UTF-8 with escapes such as `\xff`.
pub(crate) fn key_text(key: &[u8]) -> Cow<'_, str> {
    core::str::from_utf8(key).map_or_else(|_| key.escape_ascii().to_string().into(), Cow::Borrowed)
}

/// Returns whether a character must not reach a terminal as it is: a control character, or one
/// that nobody sees.
///
/// ```
/// use hashroute_harness::text::is_unsafe;
///
/// assert!(['\u{1b}', '\u{9b}', '\u{ad}', '\u{202e}', '\u{3164}'].into_iter().all(is_unsafe));
/// assert!(!['a', ' ', 'é', '日'].into_iter().any(is_unsafe));
/// ```
pub fn is_unsafe(c: char) -> bool {
    if c < '\u{80}' {
        return c.is_control();
    }
    c.is_control() || is_unseen(c)
}

/// Returns whether a character has no picture, is a mark of direction or format, or ends a line:
/// text with it may read as another text.
fn is_unseen(c: char) -> bool {
    UNSEEN
        .binary_search_by(|&(first, last)| {
            if last < c {
                Ordering::Less
            } else if first > c {
                Ordering::Greater
            } else {
                Ordering::Equal
            }
        })
        .is_ok()
}

/// The characters of Unicode 16 that are ignored by default (`Default_Ignorable_Code_Point`), are
/// marks of format without a picture (general category Cf), or separate lines (Zl, Zp). Braille
/// without dots and the null note head are symbols, but nobody sees them either.
const UNSEEN: [(char, char); 23] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{16fe4}', '\u{16fe4}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Writes JSON so that it is safe to print: a character that [`is_unsafe`] becomes `\uXXXX`. A parser
/// reads the same values, since JSON has such characters within strings alone.
///
/// ```
/// use hashroute_harness::text::json_escaped;
///
/// assert_eq!(json_escaped("[\"\u{9b}31m\"]"), "[\"\\u009b31m\"]");
/// assert_eq!(json_escaped("{\n\"a\": \"日\"}"), "{\n\"a\": \"日\"}");
/// ```
pub fn json_escaped(json: &str) -> Cow<'_, str> {
    // Between values, line feeds and tabs are blanks.
    let is_unsafe = |c: char| c >= '\u{7f}' && is_unsafe(c);
    if !json.contains(is_unsafe) {
        return json.into();
    }
    let mut safe = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_unsafe(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let digit = |shift: u16| char::from_digit((*unit >> shift & 15).into(), 16);
                safe.push_str("\\u");
                safe.extend([12, 8, 4, 0].into_iter().filter_map(digit));
            }
        } else {
            safe.push(c);
        }
    }
    safe.into()
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

fn short(value: f64, step: f64, units: &[&'static str]) -> String {
    let (value, unit) = in_units(value, step, units);
    let decimals = usize::from(value < 9.95 && value.fract() != 0.0);
    format!("{value:.decimals$}{unit}")
}

fn in_units(mut value: f64, step: f64, units: &[&'static str]) -> (f64, &'static str) {
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    // From 999.5 on, rounding would write a thousand of this unit.
    while value >= step - 0.5 {
        let Some(larger) = units.next() else { break };
        (value, unit) = (value / step, larger);
    }
    (value, unit)
}

/// Returns the name of a router's key hash, or `its own` for a system that hashes in its own way.
pub fn hash_name(router: &dyn Router) -> &'static str {
    let id = router.hash_id();
    id.hasher()
        .map_or("its own", |hasher| hasher.function().name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_the_right_unit() {
        assert_eq!([count(7), count(999), count(1000)], ["7", "999", "1,000"]);
        assert_eq!(
            [short_duration(999.7), short_duration(1543.0)],
            ["1.0µs", "1.5µs"]
        );
        assert_eq!([size(0.0), size(1_048_576.0)], ["0 B", "1 MiB"]);
        assert_eq!([rounded(99.94), rounded(99.96)], ["99.9", "100"]);
        assert_eq!([ratio(99.949), ratio(99.951)], ["99.949", "100.0"]);
    }

    /// Every character that Unicode says nobody sees or that turns text around.
    #[test]
    fn what_nobody_sees_is_escaped() {
        let attacks = "\u{ad}\u{2060}\u{2064}\u{206a}\u{206f}\u{fff9}\u{fffb}\u{e0000}\u{e0001}\u{e007f}\u{3164}\u{180e}\u{200b}\u{202e}\u{2066}\u{feff}\u{34f}\u{115f}\u{ffa0}\u{fe0f}\u{e0100}\u{1d173}\u{2800}\u{7f}\u{85}\u{9b}\u{2028}";
        for c in attacks.chars() {
            assert!(is_unsafe(c), "{c:?}");
            assert!(printable(&c.to_string()).is_ascii(), "{c:?}");
        }
        for range in UNSEEN.windows(2) {
            assert!(range[0].1 < range[1].0, "in order: {range:?}");
        }
        let seen = "a é日ñ✓❤🚀اب€e\u{301}";
        assert_eq!(printable(seen), seen);
    }

    #[test]
    fn json_is_the_same_after_it_is_parsed() {
        let all: String = (0..=0x0010_ffff).filter_map(char::from_u32).collect();
        let json = serde_json::to_string(&all).expect("a string");
        let safe = json_escaped(&json);
        assert!(!safe.chars().any(is_unsafe));
        assert_eq!(serde_json::from_str::<String>(&safe).expect("JSON"), all);
    }

    #[test]
    fn zero_has_no_sign() {
        assert_eq!([percent(-0.0), rough_percent(-0.0)], ["0.00%", "0.0%"]);
    }
}
