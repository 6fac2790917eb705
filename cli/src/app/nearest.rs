//! Suggestions for mistyped names.

/// The least similarity, from 0 to 1, to suggest a name; clap uses the same for options.
const ALIKE: f64 = 0.7;

/// Suggests the name that is most similar to `typed`, if one is similar enough and differs in more
/// than digits.
pub(crate) fn hint<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    Some(format!("did you mean {}?", name(typed, names)?))
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
    use super::{field_hint, hint};

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
