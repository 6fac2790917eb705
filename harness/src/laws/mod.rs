//! The laws that every row of the registry keeps, as checks for rows of any crate.
//!
//! A [`Law`] is one promise of the design. It is made of [`Clause`]s: each builds routers of a row,
//! puts them to the test, and stops at its first breach. A clause that asks for more than a row
//! promises is [waived](Clause::waiver), with the reason.
//!
//! ```
//! use hashroute::Rendezvous;
//! use hashroute_harness::laws;
//! use hashroute::registry::{Caps, Scheme};
//!
//! static OURS: Scheme = Scheme::strategy("ours", "rendezvous by another name", Caps::SET, |nodes, params| {
//!     Ok(Box::new(Rendezvous::new(nodes)?.with_hasher(params.hasher())))
//! });
//! // All of them, in a test: laws::assert_holds(&OURS).
//! let sixth = laws::LAWS.iter().find(|law| law.number == 6).expect("twelve laws");
//! assert!(sixth.check(&OURS).is_empty());
//! ```
//!
//! # What is random
//!
//! Nothing: keys, clusters and histories come from a generator with fixed seeds, and no clock is
//! read. A row that passes will pass again. Where a sample of keys is held against a share, the
//! bound is computed so that a row which keeps all laws would fail with a probability of at most
//! [`SIGNIFICANCE`], over all tests of [`check`] together, if the keys were drawn anew.
//!
//! # What is not checked
//!
//! Law 1 speaks of other platforms and versions, which takes recorded answers. Law 8 says that
//! lookups do not allocate, which takes an allocator that counts. A lookup that never returns hangs
//! the check.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use self::subject::Subject;
use self::trial::{Finding, Held};
use hashroute::registry::Scheme;

mod agreement;
mod chance;
mod keys;
mod lists;
mod moves;
mod random;
mod ranges;
mod refusals;
mod restores;
mod shares;
mod subject;
mod trial;
mod waivers;
mod wrappers;

pub use chance::SIGNIFICANCE;

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
    /// What it says.
    pub name: &'static str,
    /// What is checked of it.
    pub clauses: &'static [Clause],
}

/// One check of a law.
#[derive(Clone, Copy)]
pub struct Clause {
    name: &'static str,
    waiver: fn(&Scheme) -> Option<&'static str>,
    run: fn(&Subject) -> Held,
}

/// A law that a row does not keep: the first case that shows it.
///
/// Displayed as a line or two for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breach {
    /// The law's number.
    pub law: u8,
    /// What the law says.
    pub name: &'static str,
    /// What was checked of it.
    pub clause: &'static str,
    /// The row.
    pub scheme: String,
    /// The router and the key or the change.
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

    /// Checks a row: at most one breach for each clause. A panic is a breach.
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

impl Clause {
    const fn new(name: &'static str, run: fn(&Subject) -> Held) -> Self {
        Self {
            name,
            waiver: waivers::never,
            run,
        }
    }

    /// Sets for which rows it is not checked, and why.
    const fn unless(self, waiver: fn(&Scheme) -> Option<&'static str>) -> Self {
        Self { waiver, ..self }
    }

    /// Returns what it says.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns why a row is not held to it; `None` where it is.
    ///
    /// ```
    /// use hashroute_harness::laws::LAWS;
    /// let jump = hashroute::scheme("jump")?;
    /// let waivers: Vec<_> = LAWS[1].clauses.iter().map(|clause| clause.waiver(jump)).collect();
    /// assert!(waivers.iter().all(|waiver| *waiver == Some("the order of the members decides its routes")));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn waiver(&self, scheme: &Scheme) -> Option<&'static str> {
        (self.waiver)(scheme)
    }

    /// The first breach, if there is one.
    fn find(&self, subject: &Subject) -> Option<Finding> {
        let run = || (self.run)(subject);
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(held) => held.err().map(|finding| *finding),
            Err(payload) => Some(Finding {
                input: String::from("a call that the panic's own message locates"),
                expected: String::from("no panic"),
                found: format!("a panic: {}", message(&*payload)),
            }),
        }
    }
}

impl fmt::Debug for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clause")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The text of a panic.
fn message(payload: &(dyn core::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| String::from("without a message"))
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
/// Panics with the [breaches](Breach) where it does not.
pub fn assert_holds(scheme: &'static Scheme) {
    let breaches = check(scheme);
    let lines: Vec<_> = breaches.iter().map(Breach::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}
