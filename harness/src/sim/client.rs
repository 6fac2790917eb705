//! A client: its map, and its command under way.

use std::vec::Vec;

use hashroute::Error;
use hashroute::redis::{Address, Call, Command, SlotMap, Table};

/// What a client does with a key.
///
/// ```
/// use hashroute_harness::sim::Operation;
///
/// assert!(Operation::Swap.returns_values() && !Operation::Write.returns_values());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// `GET`.
    Read,
    /// `SET`.
    Write,
    /// `SET key value GET`: writes, and returns what was there.
    Swap,
    /// `DEL`.
    Delete,
}

/// A command under way.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) call: Call,
    pub(super) operation: Operation,
    pub(super) keys: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) map: SlotMap,
    pub(super) job: Option<Job>,
    /// It waits until then.
    pub(super) wakes: u64,
    /// Errors since the map was filled.
    pub(super) redirected: u32,
}

impl Operation {
    /// Returns whether the answer has the values of the keys.
    pub const fn returns_values(self) -> bool {
        matches!(self, Self::Read | Self::Swap)
    }

    pub(super) const fn command(self) -> Command {
        match self {
            Self::Read => Command::Read,
            Self::Write | Self::Swap | Self::Delete => Command::Write,
        }
    }
}

impl Client {
    pub(super) fn new(map: SlotMap) -> Self {
        Self {
            map,
            job: None,
            wakes: 0,
            redirected: 0,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.job.is_some()
    }

    pub(super) fn is_waiting(&self, now: u64) -> bool {
        self.wakes > now
    }

    /// Returns the errors that it met since its map was filled.
    pub(super) fn redirected(&self) -> u32 {
        self.redirected
    }

    /// Returns whether its map has these owners, slot by slot.
    pub(super) fn knows(&self, owners: &[Option<Address>]) -> bool {
        let mut slots = (0..).zip(owners);
        slots.all(|(slot, owner)| self.map.owner(slot) == owner.as_ref())
    }

    pub(super) fn refill(&mut self, table: &Table) -> Result<(), Error> {
        self.redirected = 0;
        self.map.refill(table)
    }
}
