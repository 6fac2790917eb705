//! What must hold all the way.

/// One law: how often it was looked at, how often it did not hold.
#[derive(Clone, Debug)]
pub(crate) struct Law {
    pub(crate) name: &'static str,
    pub(crate) checked: u64,
    pub(crate) broken: u64,
    /// The first time it did not hold.
    pub(crate) first: Option<String>,
}

impl Law {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            checked: 0,
            broken: 0,
            first: None,
        }
    }

    pub(super) fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        self.checked += 1;
        if !holds {
            self.broken += 1;
            self.first.get_or_insert_with(what);
        }
    }
}

#[derive(Debug)]
pub(super) struct Laws {
    /// Whoever is asked: the command ends at the same one server.
    pub(super) one_server: Law,
    pub(super) last_write: Law,
    pub(super) one_copy: Law,
    pub(super) answered: Law,
    pub(super) all_there: Law,
    pub(super) agreed: Law,
}

impl Laws {
    pub(super) const fn new() -> Self {
        Self {
            one_server: Law::new("one server, and no other, takes a write"),
            last_write: Law::new("a read gives what was written last"),
            one_copy: Law::new("a key is on one server at most"),
            answered: Law::new("a command is answered in time"),
            all_there: Law::new("at the end a key is with its owner, as written last"),
            agreed: Law::new("at the end servers agree with the plan"),
        }
    }
}

impl From<Laws> for Vec<Law> {
    fn from(laws: Laws) -> Self {
        vec![
            laws.one_server,
            laws.last_write,
            laws.one_copy,
            laws.answered,
            laws.all_there,
            laws.agreed,
        ]
    }
}
