//! The laws of a world, and the record of each.

use std::string::String;

/// How often a law was checked, how often it was broken, and by what first.
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
    /// What the law says.
    pub name: &'static str,
    /// The number of checks.
    pub checked: u64,
    /// The number of checks that failed.
    pub broken: u64,
    /// What the first failed check found.
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
    /// Wherever a client sends a write first, redirections lead to the same one server. While a
    /// server is down, or believed to be down, they may lead to none.
    pub one_server: LawRecord,
    /// Whatever returns a value returns the value that was written last.
    pub last_write: LawRecord,
    /// No two servers that run hold the same key.
    pub one_copy: LawRecord,
    /// A command is answered before the client's patience ends. While nobody is down, no
    /// redirections send it in circles.
    pub answered: LawRecord,
    /// At the end the owner of a key holds it, with the value that was written last, and nobody
    /// else does.
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
    /// Returns all six, those that hold all the way first.
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

    /// Returns those that were broken.
    pub fn broken(&self) -> impl Iterator<Item = &LawRecord> {
        self.iter().filter(|law| law.broken > 0)
    }
}
