//! A client: its map, and its command under way.

use std::vec::Vec;

use hashroute::Error;
use hashroute::redis::{Address, Call, Command, SlotMap, Table};

/// The operation of a command.
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
    /// `SET key value GET`: writes, and returns the previous value.
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

/// A client, which has at most one command under way.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) map: SlotMap,
    pub(super) job: Option<Job>,
    /// The time at which the client sends again.
    pub(super) wakes: u64,
    /// Error replies since the map was last filled from a server's table.
    pub(super) errors: u32,
}

impl Operation {
    /// Returns whether the reply has the values of the keys.
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
            errors: 0,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.job.is_some()
    }

    pub(super) fn is_waiting(&self, now: u64) -> bool {
        self.wakes > now
    }

    /// Returns the number of error replies since the map was last filled from a server's table.
    pub(super) fn errors(&self) -> u32 {
        self.errors
    }

    /// Returns whether the client's map has these owners, slot by slot.
    pub(super) fn knows(&self, owners: &[Option<Address>]) -> bool {
        let mut slots = (0..).zip(owners);
        slots.all(|(slot, owner)| self.map.owner(slot) == owner.as_ref())
    }

    pub(super) fn refill(&mut self, table: &Table) -> Result<(), Error> {
        self.errors = 0;
        self.map.refill(table)
    }
}
