//! Suggestions for mistyped names.

/// The least similarity, from 0 to 1, to suggest a name; clap uses the same for options.
const ALIKE: f64 = 0.7;

/// Suggests the name that is most similar to `typed`, if one is similar enough.
pub(crate) fn hint<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let alike = names
        .into_iter()
        .map(|name| (strsim::jaro(typed, name), name));
    let nearest = alike.max_by(|a, b| a.0.total_cmp(&b.0));
    let (_, name) = nearest.filter(|(alike, _)| *alike > ALIKE)?;
    Some(format!("did you mean {name}?"))
}

#[cfg(test)]
mod tests {
    use super::hint;

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
