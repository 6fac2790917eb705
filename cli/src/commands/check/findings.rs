//! What `check` found: the balances, the checks and the comparison.

use std::collections::BTreeMap;

use hashroute_harness::Balance;

use super::compare::Comparison;
use super::limits::Check;
use crate::app::keys::Counted;

/// The results of all sets of nodes.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) balances: Vec<Balance>,
    pub(super) checks: Vec<Check>,
    pub(super) comparison: Option<Comparison>,
    pub(super) read: Counted,
    /// The labels of nodes, by name.
    pub(super) labels: BTreeMap<String, String>,
}

impl Findings {
    /// Starts without results.
    pub(super) fn of(read: Counted, comparison: Option<Comparison>) -> Self {
        Self {
            balances: Vec::new(),
            checks: Vec::new(),
            comparison,
            read,
            labels: BTreeMap::new(),
        }
    }

    /// Counts the checks that did not hold.
    pub(super) fn failed(&self) -> usize {
        self.checks.iter().filter(|check| !check.passed).count()
    }
}
