//! What a command made up since nobody gave it.

/// Keys and nodes that were made up, as their first and last name.
#[derive(Clone, Debug, Default)]
pub(crate) struct MadeUp {
    pub(crate) keys: Option<String>,
    pub(crate) nodes: Option<String>,
}

impl MadeUp {
    /// Returns the lines that say so, for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |(what, names): (&str, &String)| format!("no {what} given: {names}");
        self.all().map(line).collect()
    }

    /// Iterates over what was made up: what it is, and its first and last name.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let all = [("keys", &self.keys), ("nodes", &self.nodes)].into_iter();
        all.filter_map(|(what, names)| Some((what, names.as_ref()?)))
    }
}
