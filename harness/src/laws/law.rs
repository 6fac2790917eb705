//! All laws in order, and the breaches of a row.

use core::fmt;

use super::clause::Clause;
use super::subject::Subject;
use super::trial::Finding;
use super::{agreement, keys, lists, moves, ranges, refusals, restores, shares, wrappers};
use hashroute::registry::Scheme;

/// A promise that every row keeps, as far as its capabilities go.
///
/// ```
/// use hashroute_harness::laws::LAWS;
/// assert_eq!((LAWS.len(), LAWS[1].number), (12, 2));
/// assert_eq!(LAWS[1].name, "the order of insertion never matters to a set");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Law {
    /// Its number in the design, from 1.
    pub number: u8,
    /// What the law says.
    pub name: &'static str,
    /// The clauses that check it.
    pub clauses: &'static [Clause],
}

/// A law that a row breaks, with the first case that shows it.
///
/// Displays as a line or two for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breach {
    /// The law's number.
    pub law: u8,
    /// What the law says.
    pub name: &'static str,
    /// The clause that found it.
    pub clause: &'static str,
    /// The row.
    pub scheme: String,
    /// The router, and the key or the change.
    pub input: String,
    /// What the law expects.
    pub expected: String,
    /// What the row did instead.
    pub found: String,
}

/// Every law, in order.
pub static LAWS: &[Law] = &[
    Law::new(1, "the same input gives the same answer", agreement::SAME),
    Law::new(
        2,
        "the order of insertion never matters to a set",
        agreement::ORDER,
    ),
    Law::new(
        3,
        "a change moves keys only to or from its own node",
        moves::MOVES,
    ),
    Law::new(4, "the moved share is the ideal one", moves::SHARE),
    Law::new(5, "shares follow the weights", shares::SHARES),
    Law::new(
        6,
        "adding and then removing restores every route",
        restores::RESTORES,
    ),
    Law::new(
        7,
        "a change that fails changes nothing, and no input panics",
        refusals::REFUSALS,
    ),
    Law::new(8, "lookups share nothing that changes", refusals::THREADS),
    Law::new(
        9,
        "replicas are distinct, the owner first, each list a prefix of the next",
        lists::LISTS,
    ),
    Law::new(
        10,
        "a key goes where its hash goes, and a refused key nowhere",
        keys::KEYS,
    ),
    Law::new(
        11,
        "ranges and their shares agree with the routes",
        ranges::RANGES,
    ),
    Law::new(
        12,
        "every pair of wrappers keeps the promises of both",
        wrappers::WRAPPERS,
    ),
];

impl Law {
    const fn new(number: u8, name: &'static str, clauses: &'static [Clause]) -> Self {
        Self {
            number,
            name,
            clauses,
        }
    }

    /// Checks a row. Returns at most one breach for each clause. A panic is a breach.
    ///
    /// ```
    /// use hashroute_harness::laws::LAWS;
    /// assert!(LAWS[9].check(hashroute::scheme("ring")?).is_empty());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn check(&self, scheme: &'static Scheme) -> Vec<Breach> {
        self.check_of(&Subject::new(scheme))
    }

    fn check_of(&self, subject: &Subject) -> Vec<Breach> {
        let held = |clause: &&Clause| clause.waiver(subject.scheme).is_none();
        let clauses = self.clauses.iter().filter(held);
        let breach = |clause: &Clause| {
            let finding = clause.find(subject)?;
            Some(self.breach(clause, subject.scheme, finding))
        };
        clauses.filter_map(breach).collect()
    }

    fn breach(&self, clause: &Clause, scheme: &Scheme, finding: Finding) -> Breach {
        Breach {
            law: self.number,
            name: self.name,
            clause: clause.name,
            scheme: scheme.title(),
            input: finding.input,
            expected: finding.expected,
            found: finding.found,
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            law,
            name,
            clause,
            scheme,
            input,
            expected,
            found,
        } = self;
        write!(
            f,
            "{scheme} breaks law {law}, {name} ({clause}): {input}: expected {expected}, found {found}"
        )
    }
}

impl core::error::Error for Breach {}

/// Checks a row against every law.
///
/// Takes a second or two for most rows in a debug build.
#[must_use]
pub fn check(scheme: &'static Scheme) -> Vec<Breach> {
    let subject = Subject::new(scheme);
    let breaches = LAWS.iter().flat_map(|law| law.check_of(&subject));
    breaches.collect()
}

/// Asserts that a row keeps every law: one line in a test.
///
/// # Panics
/// Panics with the [breaches](Breach) if it does not.
pub fn assert_holds(scheme: &'static Scheme) {
    let breaches = check(scheme);
    let lines: Vec<_> = breaches.iter().map(Breach::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}
