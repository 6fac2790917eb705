//! Templates of keys: the text, with gaps for the numbers, and the gap that varies.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::text::key_text;

/// A template of keys and the share that they carry.
///
/// ```
/// # use hashroute_harness::skew::TemplateShare;
/// let text = r#"{"template":"user:{i}","keys":10,"share":0.5}"#;
/// let share: TemplateShare = serde_json::from_str(text)?;
/// assert_eq!(serde_json::to_string(&share)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TemplateShare {
    /// The template: each run of digits is `{i}`.
    pub template: String,
    /// The number of distinct keys with this template that carry any, among those looked at.
    pub keys: u64,
    /// The share of all that these carry; estimated if not all keys are in the sample.
    pub share: f64,
}

/// Returns the template of a key.
pub(super) fn of(key: &[u8]) -> String {
    let text = key_text(key);
    let mut template = String::with_capacity(text.len());
    let mut rest: &str = &text;
    while let Some(start) = rest.find(is_digit) {
        template.push_str(&rest[..start]);
        template.push_str("{i}");
        rest = rest[start..].trim_start_matches(is_digit);
    }
    template.push_str(rest);
    template
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Returns the positions of the runs of digits in a key.
fn runs(key: &[u8]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in key.iter().enumerate().filter(|(_, b)| b.is_ascii_digit()) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Another position or form of the part of a key that varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `metric:demo:7` is `7:metric:demo`.
    Front,
    /// `metric:demo:7` is `metric:7:demo`.
    Middle,
    /// `metric:demo:7` is `metric:demo:007`.
    Padded,
}

impl Shape {
    pub(super) const ALL: [Self; 3] = [Self::Front, Self::Middle, Self::Padded];
}

/// For each template, the run of digits that varies, and its greatest length.
#[derive(Debug)]
pub(super) struct Varying(BTreeMap<String, (usize, usize)>);

impl Varying {
    /// Learns from these keys: for each template the run with the most distinct values, the last of
    /// several.
    pub(super) fn of<'k>(keys: impl Iterator<Item = &'k [u8]>) -> Self {
        let mut values: BTreeMap<String, Vec<BTreeSet<&[u8]>>> = BTreeMap::new();
        for key in keys {
            let runs = runs(key);
            let seen = values.entry(of(key)).or_default();
            seen.resize_with(seen.len().max(runs.len()), BTreeSet::new);
            for (seen, run) in seen.iter_mut().zip(runs) {
                seen.insert(&key[run]);
            }
        }
        let varying = values.into_iter().filter_map(|(template, runs)| {
            let (gap, values) = runs
                .iter()
                .enumerate()
                .max_by_key(|(_, values)| values.len())?;
            let longest = values.iter().map(|value| value.len()).max()?;
            (values.len() > 1).then_some((template, (gap, longest)))
        });
        Self(varying.collect())
    }

    /// Returns the key in another shape; unchanged if nothing varies or it has that shape already.
    pub(super) fn reshape(&self, key: &[u8], shape: Shape) -> Vec<u8> {
        let known = self.0.get(&of(key));
        let run = known.and_then(|&(gap, _)| runs(key).get(gap).cloned());
        let (Some(run), Some(&(_, longest))) = (run, known) else {
            return key.to_vec();
        };
        let (before, digits, after) = (&key[..run.start], &key[run.clone()], &key[run.end..]);
        if shape == Shape::Padded {
            let zeros = longest.saturating_sub(digits.len());
            return [before, &b"0".repeat(zeros), digits, after].concat();
        }
        // The separator beside the digits moves with them.
        let is_mark = |byte: &&u8| !byte.is_ascii_alphanumeric();
        let (rest, mark) = match (before.last().filter(is_mark), after.first().filter(is_mark)) {
            (Some(&mark), _) => ([&before[..before.len() - 1], after].concat(), Some(mark)),
            (None, Some(&mark)) => ([before, &after[1..]].concat(), Some(mark)),
            (None, None) => ([before, after].concat(), None),
        };
        let at = if shape == Shape::Front {
            0
        } else {
            middle(&rest, mark)
        };
        let mark = mark.as_slice();
        [&rest[..at], digits, mark, &rest[at..]].concat()
    }
}

/// Returns the position after the separator nearest to the middle, or the middle.
fn middle(rest: &[u8], mark: Option<u8>) -> usize {
    let half = rest.len() / 2;
    let marks = rest.iter().enumerate().filter(|(_, b)| Some(**b) == mark);
    marks
        .map(|(at, _)| at + 1)
        .min_by_key(|at| at.abs_diff(half))
        .unwrap_or(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_a_gap_for_each_run_of_digits() {
        assert_eq!(of(b"user:12:v2"), "user:{i}:v{i}");
        assert_eq!(of(b"\xff7"), "\\xff{i}"); // the escape holds no digits
        assert_eq!(of(b""), "");
    }

    #[test]
    fn the_number_that_varies_moves_with_its_separator() {
        let keys: Vec<_> = (5..15).map(|i| format!("metric:demo:{i}:v2")).collect();
        let varying = Varying::of(keys.iter().map(String::as_bytes));
        let shaped = Shape::ALL.map(|shape| varying.reshape(b"metric:demo:7:v2", shape));
        assert_eq!(shaped[0], b"7:metric:demo:v2");
        assert_eq!(shaped[1], b"metric:7:demo:v2");
        assert_eq!(shaped[2], b"metric:demo:07:v2");
        assert_eq!(varying.reshape(b"other", Shape::Front), b"other");
    }
}
