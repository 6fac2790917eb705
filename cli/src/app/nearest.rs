//! Suggestions for mistyped names.

/// The least similarity, from 0 to 1, to suggest a name; clap uses the same for options.
const ALIKE: f64 = 0.7;

/// The most names that a hint lists.
const LISTED: usize = 8;

/// Suggests the name that is most similar to `typed`, if one is similar enough and differs in more
/// than digits.
pub(crate) fn hint<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    Some(format!("did you mean {}?", name(typed, names)?))
}

/// Suggests the most similar name or, if none is similar enough, lists the names that there are.
pub(crate) fn hint_or_list<'a>(
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let names: Vec<_> = names.into_iter().collect();
    if let Some(hint) = hint(typed, names.iter().copied()) {
        return Some(hint);
    }
    let rest = match names.len().saturating_sub(LISTED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    let some: Vec<_> = names.iter().copied().take(LISTED).collect();
    (!some.is_empty()).then(|| format!("there are {}{rest}", some.join(", ")))
}

/// Returns the name that is most similar to `typed`, if one is similar enough and differs in more
/// than digits.
pub(crate) fn name<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Another number names another thing: node-9 is no typing mistake for node-2.
    let words = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    let typed_words = words(typed);
    let alike = names
        .into_iter()
        .filter(|name| words(name) != typed_words)
        .map(|name| (strsim::jaro(typed, name), name));
    let nearest = alike.max_by(|a, b| a.0.total_cmp(&b.0));
    let (_, name) = nearest.filter(|(alike, _)| *alike > ALIKE)?;
    Some(name)
}

/// Suggests a name for an unknown field. The message of serde lists the known fields, each in
/// backticks.
pub(crate) fn field_hint(message: &str) -> Option<String> {
    let (typed, known) = message
        .strip_prefix("unknown field `")?
        .split_once("`, expected ")?;
    hint(typed, known.split('`').skip(1).step_by(2))
}

#[cfg(test)]
mod tests {
    use super::{field_hint, hint, hint_or_list};

    #[test]
    fn names_are_listed_if_none_is_near() {
        let names: Vec<_> = (0..10).map(|i| format!("node-{i}")).collect();
        let listed = |typed| hint_or_list(typed, names.iter().map(String::as_str));
        let all =
            "there are node-0, node-1, node-2, node-3, node-4, node-5, node-6, node-7 and 2 more";
        assert_eq!(listed("2"), Some(all.into()));
        assert_eq!(listed("ndoe-3").as_deref(), Some("did you mean node-3?"));
        assert_eq!(hint_or_list("c", ["a", "b"]), Some("there are a, b".into()));
        assert_eq!(hint_or_list("c", []), None);
    }

    #[test]
    fn other_numbers_are_not_suggested() {
        assert_eq!(hint("node-9", ["node-2"]), None);
        assert!(hint("ndoe-9", ["node-2"]).is_some());
    }

    #[test]
    fn an_unknown_field_gets_the_nearest_known_one() {
        let message = "unknown field `wieght`, expected one of `name`, `weight`";
        assert_eq!(field_hint(message), Some("did you mean weight?".into()));
        assert_eq!(field_hint("missing field `name`"), None);
    }

    #[test]
    fn the_nearest_name_is_suggested_if_it_is_near() {
        let names = ["points", "labels", "table-size"];
        let near = |typed| hint(typed, names);
        assert_eq!(near("pionts"), Some("did you mean points?".into()));
        assert_eq!(near("tablesize"), Some("did you mean table-size?".into()));
        assert_eq!(near("load"), None);
        assert_eq!(hint("a", []), None);
    }
}
