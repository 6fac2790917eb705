//! The findings of a clause.

use core::fmt::Debug;

/// A case in which a law does not hold.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) input: String,
    pub(super) expected: String,
    pub(super) found: String,
}

/// Whether a clause holds. Boxed, because it nearly always does.
pub(super) type Held<T = ()> = Result<T, Box<Finding>>;

/// The longest text of a value in a finding, in characters.
const LONGEST: usize = 400;

/// Refuses a case.
pub(super) fn fail<T>(
    input: impl Into<String>,
    expected: impl Into<String>,
    found: impl Into<String>,
) -> Held<T> {
    Err(Box::new(Finding {
        input: input.into(),
        expected: expected.into(),
        found: found.into(),
    }))
}

/// Refuses two values that should be equal and are not.
pub(super) fn equal<T: PartialEq<U> + Debug + ?Sized, U: Debug + ?Sized>(
    input: impl FnOnce() -> String,
    expected: &T,
    found: &U,
) -> Held {
    if *expected == *found {
        return Ok(());
    }
    let [expected, found] = [format!("{expected:?}"), format!("{found:?}")];
    let start = if expected.len().max(found.len()) > LONGEST {
        difference(&expected, &found)
    } else {
        0
    };
    fail(input(), cut(&expected, start), cut(&found, start))
}

/// Returns a position a little before the first difference of two long texts.
fn difference(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let start = same.saturating_sub(LONGEST / 4);
    let both = |at: &usize| a.is_char_boundary(*at) && b.is_char_boundary(*at);
    (0..=start).rev().find(both).unwrap_or(0)
}

/// Refuses a case that does not hold.
pub(super) fn ensure(
    holds: bool,
    input: impl FnOnce() -> String,
    expected: &str,
    found: impl FnOnce() -> String,
) -> Held {
    if holds {
        return Ok(());
    }
    fail(input(), expected, found())
}

/// Writes a value, cut if it is long.
pub(super) fn short<T: Debug + ?Sized>(value: &T) -> String {
    cut(&format!("{value:?}"), 0)
}

/// Writes a text from a byte on, as long as a finding shows it.
fn cut(text: &str, start: usize) -> String {
    let before = if start > 0 { ".." } else { "" };
    let text = &text[start..];
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{before}{}..", &text[..at]),
        None => format!("{before}{text}"),
    }
}
