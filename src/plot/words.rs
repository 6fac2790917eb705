//! Figures and names as they stand in pictures.

use alloc::format;
use alloc::string::String;

use crate::harness::printable;

/// 1,234,567.
pub(super) fn count(value: u64) -> String {
    let digits = format!("{value}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "1 node", "2 nodes".
pub(super) fn counted(value: u64, what: &str) -> String {
    let s = if value == 1 { "" } else { "s" };
    format!("{} {what}{s}", count(value))
}

/// 9.09%.
pub(super) fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// How wide a text is at most, in units of its size. Bold letters of `DejaVu Sans`, the widest
/// of the fonts asked for, are 0.7 on the average, and ideographs 1.
pub(super) fn width(text: &str) -> f64 {
    text.chars().map(letter).sum()
}

fn letter(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' => 0.37,
        'f' | 't' | 'r' | '-' | '(' | ')' | '[' | ']' | '/' | ' ' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.98,
        c if c.is_ascii_uppercase() => 0.74,
        c if u32::from(c) < 0x1100 => 0.64,
        _ => 1.05,
    }
}

/// A name in at most this many units of its size: safe to show, and shortened in the middle,
/// since names that differ mostly differ at their ends.
pub(super) fn name(text: &str, room: f64) -> String {
    // What a picture cannot hold has no shape either; a name may be as long as memory.
    let start: String = text.chars().take(400).collect();
    let whole = start.len() == text.len();
    let text = printable(&start).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    if whole && width(&text) <= room {
        return text;
    }
    let end = if whole { room * 0.4 } else { 0.0 };
    let tail: String = fitting(text.chars().rev(), end).chars().rev().collect();
    let head = fitting(text.chars(), room - letter('…') - width(&tail));
    format!("{head}…{tail}")
}

/// As many letters as there is room for.
fn fitting(letters: impl Iterator<Item = char>, mut room: f64) -> String {
    letters
        .take_while(|c| {
            room -= letter(*c);
            room >= 0.0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_both_ends_and_their_room() {
        assert_eq!(name("cache-1", 10.0), "cache-1");
        let short = name("cache-eu-central-1.internal.example:11211", 12.0);
        assert!(
            short.starts_with("cache") && short.ends_with("211"),
            "{short}"
        );
        for text in [
            "",
            "日本語の長い名前のノード",
            "a\u{7}b\u{ffff}",
            &"x".repeat(100_000),
        ] {
            let shown = name(text, 9.0);
            assert!(width(&shown) <= 9.0, "{shown}");
            assert!(!shown.contains(['\u{7}', '\u{ffff}']));
        }
    }

    #[test]
    fn figures_are_grouped() {
        assert_eq!([count(999), count(1_234_567)], ["999", "1,234,567"]);
        assert_eq!(counted(1, "node"), "1 node");
        assert_eq!(percent(0.0909), "9.09%");
    }
}
