//! Names in a picture: short, and as different as the names themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::text;

/// The short names of a picture, by full name.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    shown: BTreeMap<String, String>,
    caption: Option<String>,
}

impl Names {
    /// Shortens names to this width, in units of their size. If not all fit, what all have in common
    /// is left out first: whole parts at the end, then at the start. A name that is still too long
    /// loses its middle. Distinct names stay distinct. O(names log names).
    pub(super) fn new<'n>(names: impl IntoIterator<Item = &'n str>, room: f64) -> Self {
        let full: BTreeSet<&str> = names.into_iter().collect();
        let whole: Vec<_> = full.iter().map(|name| text::whole(name)).collect();
        let texts: Vec<&str> = whole.iter().map(String::as_str).collect();
        let (start, end) = left_out(&texts, room);
        let kept = texts
            .iter()
            .map(|text| text[start..text.len() - end].to_owned());
        let mut kept: Vec<_> = kept.collect();
        let parts = texts
            .first()
            .map_or(("", ""), |text| (&text[..start], &text[text.len() - end..]));
        let caption = caption(parts).or_else(|| shorten_long(&mut kept, room));
        let shown = told_apart(&kept, room).into_iter();
        Self {
            shown: full.into_iter().map(Into::into).zip(shown).collect(),
            caption,
        }
    }

    /// Returns the short form of one of the names.
    pub(super) fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.shown.get(name).map_or(name, String::as_str)
    }

    /// Returns the width of the widest name, in units of its size.
    pub(super) fn widest(&self) -> f64 {
        let widths = self.shown.values().map(|name| text::width(name));
        widths.fold(0.0, f64::max)
    }

    /// Returns a sentence that says what was left out of all names.
    pub(super) fn caption(&self) -> Option<String> {
        self.caption.clone()
    }
}

fn caption((start, end): (&str, &str)) -> Option<String> {
    let [start, end] = [start, end].map(|part| text::shortened(part, 40.0));
    match (start.as_str(), end.as_str()) {
        ("", "") => None,
        ("", end) => Some(format!("All names end with {end}, which is left out.")),
        (start, "") => Some(format!("All names start with {start}, which is left out.")),
        (start, end) => Some(format!(
            "All names start with {start} and end with {end}; both are left out."
        )),
    }
}

/// Replaces what all texts that are too long share by an ellipsis. Returns a sentence that says so.
fn shorten_long(texts: &mut [String], room: f64) -> Option<String> {
    let long = texts.iter().map(String::as_str);
    let long: Vec<_> = long.filter(|text| text::width(text) > room).collect();
    let (start, end) = left_out(&long, room - 2.0 * text::width("…"));
    let first = *long.first()?;
    let (head, tail) = (&first[..start], &first[first.len() - end..]);
    let [head, tail] = [head, tail].map(|part| text::shortened(part, 40.0));
    for text in texts.iter_mut().filter(|text| text::width(text) > room) {
        let [before, after] = [start, end].map(|bytes| if bytes > 0 { "…" } else { "" });
        *text = format!("{before}{}{after}", &text[start..text.len() - end]);
    }
    match (start, end) {
        (0, 0) => None,
        (0, _) => Some(format!("In long names, … stands for {tail}.")),
        (_, 0) => Some(format!("In long names, … stands for {head}.")),
        _ => Some(format!(
            "In long names, … stands for {head} at the start and for {tail} at the end."
        )),
    }
}

/// Returns the number of bytes at the start and at the end that all texts share and that must be
/// left out to make them fit.
fn left_out(texts: &[&str], room: f64) -> (usize, usize) {
    let (start, end) = shared(texts);
    let fits = |(start, end): &(usize, usize)| {
        let kept = texts.iter().map(|text| &text[*start..text.len() - end]);
        kept.into_iter().all(|text| text::width(text) <= room)
    };
    let tries = [(0, 0), (0, end), (start, 0)];
    tries.into_iter().find(fits).unwrap_or((start, end))
}

/// Returns the number of bytes at the start and at the end that all texts share: whole parts, and
/// never the whole of a text.
fn shared(texts: &[&str]) -> (usize, usize) {
    let [first, others @ ..] = texts else {
        return (0, 0);
    };
    if others.is_empty() {
        return (0, 0);
    }
    let alike = |a: &str, b: &str| -> usize {
        let pairs = a.chars().zip(b.chars());
        pairs
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a.len_utf8())
            .sum()
    };
    let alike_at_end = |a: &str, b: &str| -> usize {
        let pairs = a.chars().rev().zip(b.chars().rev());
        pairs
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a.len_utf8())
            .sum()
    };
    let least = |alike: &dyn Fn(&str, &str) -> usize| {
        others
            .iter()
            .map(|other| alike(first, other))
            .min()
            .unwrap_or(0)
    };
    let start = &first[..least(&alike)];
    let start = start.rfind(is_boundary).map_or(0, |at| at + 1); // boundaries are one byte long
    let end = &first[first.len() - least(&alike_at_end)..];
    let end = end.find(is_boundary).map_or(0, |at| end.len() - at);
    let shortest = texts.iter().map(|text| text.len()).min().unwrap_or(0);
    let end = if end < shortest { end } else { 0 };
    let start = if start + end < shortest { start } else { 0 };
    (start, end)
}

fn is_boundary(c: char) -> bool {
    matches!(c, '.' | '-' | ':' | '/' | '_' | '@' | ' ')
}

/// Shortens texts that are distinct, so that they stay distinct.
fn told_apart(texts: &[String], room: f64) -> Vec<String> {
    let mut shown: Vec<_> = texts
        .iter()
        .map(|text| text::shortened(text, room))
        .collect();
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, text) in shown.iter().enumerate() {
        groups.entry(text.clone()).or_default().push(index);
    }
    for group in groups.values().filter(|group| group.len() > 1) {
        let alike: Vec<_> = group.iter().map(|&index| texts[index].as_str()).collect();
        let (start, end) = shared(&alike);
        let [before, after] = [start, end].map(|bytes| if bytes > 0 { "…" } else { "" });
        for (&index, text) in group.iter().zip(alike) {
            let own = &text[start..text.len() - end];
            shown[index] = text::shortened(&format!("{before}{own}{after}"), room);
        }
    }
    let mut used = BTreeSet::new();
    let mut number = 1;
    for (text, whole) in shown.iter_mut().zip(texts) {
        // Nothing but a number tells these apart.
        while !used.insert(text.clone()) {
            number += 1;
            let mark = format!(" #{number}");
            *text = text::shortened(whole, (room - text::width(&mark)).max(1.0)) + &mark;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    /// The same inputs in every run.
    fn fixed() -> ProptestConfig {
        ProptestConfig {
            rng_seed: RngSeed::Fixed(0),
            failure_persistence: None,
            ..ProptestConfig::default()
        }
    }

    fn shown(names: &[&str], room: f64) -> Vec<String> {
        let short = Names::new(names.iter().copied(), room);
        names.iter().map(|name| short.of(name).into()).collect()
    }

    #[test]
    fn what_all_names_share_is_left_out_at_parts_and_said() {
        let names = [
            "cache-blue-01.prod.example.com:6379",
            "cache-blue-02.prod.example.com:6379",
            "cache-green-01.prod.example.com:6379",
        ];
        let short = Names::new(names, 10.0);
        assert_eq!(
            shown(&names, 10.0),
            ["cache-blue-01", "cache-blue-02", "cache-green-01"]
        );
        let caption = short.caption().unwrap_or_default();
        assert_eq!(
            caption,
            "All names end with .prod.example.com:6379, which is left out."
        );
        assert_eq!(shown(&names, 7.0), ["blue-01", "blue-02", "green-01"]);
        assert_eq!(Names::new(names, 40.0).caption(), None);
    }

    #[test]
    fn one_other_name_does_not_make_the_rest_alike() {
        let hosts = (1..=12).map(|i| format!("cache-blue-{i:02}.prod.example.com:6379"));
        let names: Vec<_> = hosts.chain(["localhost".into()]).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let shown = shown(&names, 9.0);
        assert_eq!(shown[0], "…01…", "{shown:?}");
        let caption = Names::new(names.iter().copied(), 9.0)
            .caption()
            .unwrap_or_default();
        assert!(
            caption.starts_with("In long names, … stands for cache-blue- at the start"),
            "{caption}"
        );
        assert_eq!(shown[12], "localhost");
    }

    proptest! {
        #![proptest_config(fixed())]

        /// Any set of distinct names, also with control characters, and of any length.
        #[test]
        fn distinct_names_are_shown_distinct(
            names in prop::collection::btree_set("[ab.\u{7}\u{202e}é-]{0,40}|x{590,620}y?", 0..30),
            room in 1.0_f64..30.0,
        ) {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let shown = shown(&names, room);
            let distinct: BTreeSet<_> = shown.iter().collect();
            prop_assert_eq!(distinct.len(), names.len(), "{:?}", shown);
            if room > 4.0 {
                prop_assert!(shown.iter().all(|name| text::width(name) <= room), "{:?}", shown);
            }
        }
    }
}
