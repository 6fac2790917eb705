//! A clause: one check of a law.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use super::subject::Subject;
use super::trial::{Finding, Held};
use super::waivers;
use hashroute::registry::Scheme;

/// One check of a law.
#[derive(Clone, Copy)]
pub struct Clause {
    pub(super) name: &'static str,
    waiver: fn(&Scheme) -> Option<&'static str>,
    run: fn(&Subject) -> Held,
}

impl Clause {
    pub(super) const fn new(name: &'static str, run: fn(&Subject) -> Held) -> Self {
        Self {
            name,
            waiver: waivers::never,
            run,
        }
    }

    /// Sets the rows that the clause does not check, and why.
    pub(super) const fn unless(self, waiver: fn(&Scheme) -> Option<&'static str>) -> Self {
        Self { waiver, ..self }
    }

    /// Returns what the clause says.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns why the clause does not check a row; `None` if it does.
    pub fn waiver(&self, scheme: &Scheme) -> Option<&'static str> {
        (self.waiver)(scheme)
    }

    /// Returns the first breach, if there is one.
    pub(super) fn find(&self, subject: &Subject) -> Option<Finding> {
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

/// Returns the text of a panic.
fn message(payload: &(dyn core::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| String::from("without a message"))
}
