//! The result of a check.

use std::error::Error;

use hashroute::Router;

pub(crate) type Fallible<T> = Result<T, Box<dyn Error>>;
pub(crate) type Outcome = Fallible<Tally>;

/// The number of compared routes and of differences.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) what: String,
    pub(crate) compared: usize,
    pub(crate) failed: usize,
}

impl Tally {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ..Self::default()
        }
    }

    /// Counts a route and prints the first few differences.
    pub(crate) fn compare(&mut self, pool: &str, key: &[u8], theirs: &str, ours: &str) {
        self.compared += 1;
        if theirs != ours {
            self.failed += 1;
            if self.failed <= 10 {
                let key = key.escape_ascii();
                eprintln!("{pool}, key \"{key}\": the server says {theirs}, we say {ours}");
            }
        }
    }
}

/// Returns the name of the owner of a key, `-` for none.
pub(crate) fn owner<'a>(router: &'a dyn Router, key: &[u8]) -> &'a str {
    router.route(key).map_or("-", hashroute::Node::name)
}
