//! The laws of a world, and their records.

use std::string::String;

/// The number of checks of a law, the number of failed checks, and the first failure.
///
/// ```
/// use hashroute_harness::sim::Laws;
///
/// let record = &Laws::default().last_write;
/// assert_eq!((record.checked, record.broken, &record.first), (0, 0, &None));
/// assert_eq!(record.name, "a read gives what was written last");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LawRecord {
    /// The law in one sentence.
    pub name: &'static str,
    /// The number of checks.
    pub checked: u64,
    /// The number of checks that failed.
    pub broken: u64,
    /// The finding of the first failed check.
    pub first: Option<String>,
}

/// The laws of a world.
///
/// ```
/// use hashroute_harness::sim::Laws;
///
/// let laws = Laws::default();
/// assert_eq!(laws.iter().count(), 6);
/// assert_eq!(laws.broken().count(), 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Laws {
    /// Redirections of a write lead from every server to the same single server. While a server is
    /// down, or believed to be down, they may lead to none.
    pub one_server: LawRecord,
    /// A command that returns a value returns the last written value.
    pub last_write: LawRecord,
    /// At most one running server holds a key.
    pub one_copy: LawRecord,
    /// A command is answered before the client's patience ends. While no server is down,
    /// redirections do not send it in circles.
    pub answered: LawRecord,
    /// At the end only the owner of a key holds it, with the last written value.
    pub all_there: LawRecord,
    /// At the end all servers agree about the owner of every slot, and no slot is on the move.
    pub agreed: LawRecord,
}

impl LawRecord {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            checked: 0,
            broken: 0,
            first: None,
        }
    }

    pub(super) fn check(&mut self, holds: bool, found: impl FnOnce() -> String) {
        self.checked += 1;
        if !holds {
            self.broken += 1;
            self.first.get_or_insert_with(found);
        }
    }
}

impl Default for Laws {
    fn default() -> Self {
        Self {
            one_server: LawRecord::new("one server, and no other, takes a write"),
            last_write: LawRecord::new("a read gives what was written last"),
            one_copy: LawRecord::new("a key is on one server at most"),
            answered: LawRecord::new("a command is answered in time"),
            all_there: LawRecord::new("at the end a key is with its owner, as written last"),
            agreed: LawRecord::new("at the end servers agree with the plan"),
        }
    }
}

impl Laws {
    /// Returns all six laws. Those that are checked at every moment come first.
    pub fn iter(&self) -> impl Iterator<Item = &LawRecord> {
        let all = [
            &self.one_server,
            &self.last_write,
            &self.one_copy,
            &self.answered,
            &self.all_there,
            &self.agreed,
        ];
        all.into_iter()
    }

    /// Returns the broken laws.
    pub fn broken(&self) -> impl Iterator<Item = &LawRecord> {
        self.iter().filter(|law| law.broken > 0)
    }
}
