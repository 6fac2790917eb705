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

/// The most characters of a name that are shown anywhere: a name may be arbitrarily long.
const LONGEST: usize = 600;

/// Writes a name as XML can hold it, safe to show and complete up to 600 characters.
pub(super) fn whole(text: &str) -> String {
    let safe = |part: &str| printable(part).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    let half = LONGEST / 2;
    let head = text.char_indices().nth(half).map(|(at, _)| at);
    let tail = text.char_indices().rev().nth(half - 1).map(|(at, _)| at);
    match (head, tail) {
        (Some(head), Some(tail)) if head < tail => {
            format!("{}…{}", safe(&text[..head]), safe(&text[tail..]))
        }
        _ => safe(text),
    }
}

/// Writes a name within a width in units of its size. It is safe to show, and shortened in the
/// middle, since names mostly differ at their ends.
pub(super) fn name(text: &str, room: f64) -> String {
    shortened(&whole(text), room)
}

/// Shortens a text that is safe to show.
pub(super) fn shortened(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.into();
    }
    let tail: String = fitting(text.chars().rev(), room * 0.4);
    let tail: String = tail.chars().rev().collect();
    let head = fitting(text.chars(), room - letter('…') - width(&tail));
    format!("{head}…{tail}")
}

/// Breaks a text into lines of at most this width, between words where it can.
pub(super) fn wrapped(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = shortened(word, room);
        match lines.last_mut() {
            Some(line) if width(line) + letter(' ') + width(&word) <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Writes a change of the nodes, such as "add node-12" or "add 3 nodes, remove node-1".
pub(super) fn change(added: &[&str], removed: &[&str], reweighted: &[&str]) -> String {
    let verbs = [
        ("add", added),
        ("remove", removed),
        ("reweight", reweighted),
    ];
    let part = |(verb, names): &(&str, &[&str])| match *names {
        [] => None,
        [only] => Some(format!("{verb} {}", name(only, 30.0))),
        all => Some(format!("{verb} {}", counted(all.len() as u64, "node"))),
    };
    verbs.iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

/// Writes where the keys come from: "20,000 keys from keys.txt, hashed by xxh3."
pub(super) fn keys(keys: u64, source: &str, hash: &str) -> String {
    let from = if source.is_empty() {
        String::new()
    } else {
        format!(" from {}", name(source, 60.0))
    };
    let hash = if hash == "its own" {
        "its own function"
    } else {
        hash
    };
    let hash = if hash.is_empty() {
        String::new()
    } else {
        format!(", hashed by {}", name(hash, 30.0))
    };
    format!("{}{from}{hash}.", counted(keys, "key"))
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
            &"y".repeat(601),
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
    fn lines_break_between_words_and_lose_none() {
        let text = "one two three-four five six seven";
        for room in [3.5, 6.0, 9.0, 40.0] {
            let lines = wrapped(text, room);
            assert!(lines.iter().all(|line| width(line) <= room), "{lines:?}");
            if room > 7.0 {
                assert_eq!(lines.join(" "), text);
            }
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
