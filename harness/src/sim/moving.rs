//! A move under way: its slot, its ends, and the commands that are left.

use std::collections::VecDeque;
use std::vec;

/// One way to move a slot wrongly.
///
/// ```
/// assert_ne!(
///     hashroute_harness::sim::Mistake::KeysLeft,
///     hashroute_harness::sim::Mistake::SourceFirst
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mistake {
    /// The slot is given away while keys are left in it.
    KeysLeft,
    /// The target is not told to import.
    NoImporting,
    /// The source is told of the new owner before the target.
    SourceFirst,
}

/// One command of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `SETSLOT IMPORTING` at the target.
    Importing,
    /// `SETSLOT MIGRATING` at the source.
    Migrating,
    /// `MIGRATE`, until no key is left.
    Keys,
    /// `SETSLOT NODE` at the target, which raises its epoch and tells the others.
    Target,
    /// `SETSLOT NODE` at the source.
    Source,
    /// `SETSLOT NODE` at half of the other servers, half 0 or 1. Only without gossip.
    Others(usize),
}

/// A move under way.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    pub(super) slot: u32,
    pub(super) from: usize,
    pub(super) to: usize,
    /// The steps that are left.
    pub(super) steps: VecDeque<Step>,
}

/// Returns the steps of a move in the order that keeps the laws, or with a mistake.
pub(super) fn steps(gossips: bool, mistake: Option<Mistake>) -> VecDeque<Step> {
    // The target imports before the source sends clients there, and owns the slot before the
    // source gives it up: at each moment exactly one of them serves a key.
    let mut steps = vec![
        Step::Importing,
        Step::Migrating,
        Step::Keys,
        Step::Target,
        Step::Source,
    ];
    if !gossips {
        steps.extend([Step::Others(0), Step::Others(1)]);
    }
    match mistake {
        None => {}
        Some(Mistake::KeysLeft) => steps.retain(|step| *step != Step::Keys),
        Some(Mistake::NoImporting) => steps.retain(|step| *step != Step::Importing),
        Some(Mistake::SourceFirst) => steps.swap(3, 4),
    }
    steps.into()
}
