//! Figures and names as they stand in pictures.

use crate::text::printable;
pub(super) use crate::text::{count, counted, percent};

/// Writes 0.25, 1.5 or 2: up to four decimals, without trailing zeros.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Returns five to eleven round numbers from 0 up to this one.
pub(super) fn steps(most: f64) -> impl Iterator<Item = f64> {
    let mut step = 0.0001;
    for factor in [2.5, 2.0, 2.0].into_iter().cycle().take(60) {
        if most / step <= 10.0 {
            break;
        }
        step *= factor;
    }
    let steps = (0..=10).map(move |i| step * f64::from(i));
    steps.take_while(move |at| *at <= most)
}

/// Returns the greatest width of a text, in units of its size. Bold letters of `DejaVu Sans`, the
/// widest font in use, are 0.7 wide on average, and ideographs 1.
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

/// Writes a name within a width in units of its size. It is safe to show, and shortened in the
/// middle, since names mostly differ at their ends.
pub(super) fn name(text: &str, room: f64) -> String {
    // A name may be arbitrarily long, and XML cannot hold some characters.
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

/// Returns the letters that fit.
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
    fn a_shortened_name_keeps_both_ends_and_fits() {
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
    fn steps_are_round_and_few() {
        let all = |most| steps(most).collect::<Vec<_>>();
        for most in [0.001, 0.0123, 0.9, 1.2, 9.289, 77.0, 1e9] {
            assert!(
                (5..=11).contains(&all(most).len()),
                "{most} {:?}",
                all(most)
            );
        }
        assert_eq!(
            all(1.2).iter().map(|step| short(*step)).collect::<Vec<_>>(),
            ["0", "0.25", "0.5", "0.75", "1"]
        );
        assert!(all(f64::INFINITY).len() <= 11 && all(f64::NAN).is_empty());
    }
}
