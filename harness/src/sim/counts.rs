//! Counts of commands, replies and server events.

use std::collections::BTreeMap;

use super::client::Operation;

/// Counts of commands, replies and server events.
///
/// ```
/// let counts = hashroute_harness::sim::Counts::default();
/// assert_eq!((counts.commands(), counts.sends), (0, 0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Commands that read.
    pub reads: u64,
    /// Commands that write.
    pub writes: u64,
    /// Commands that delete.
    pub deletes: u64,
    /// Commands with several keys.
    pub multi: u64,
    /// The number of sends.
    pub sends: u64,
    /// Replies `MOVED`: the client's map, or the server's view, was stale.
    pub moved: u64,
    /// Replies `ASK`: the key has moved, its slot has not.
    pub ask: u64,
    /// Replies `TRYAGAIN`: one key of a command has moved, another has not.
    pub try_again: u64,
    /// Replies `CLUSTERDOWN`: the server believes that a node failed.
    pub down: u64,
    /// Other errors.
    pub other: u64,
    /// Commands that a client gave up.
    pub gave_up: u64,
    /// Slot maps that clients reloaded.
    pub refreshes: u64,
    /// The number of commands for each number of sends.
    pub attempts: BTreeMap<u32, u64>,
    /// Migrated keys.
    pub migrated: u64,
    /// Finished moves.
    pub finished: u64,
    /// Sources and targets of moves that a replica replaced after a failover.
    pub reopened: u64,
    /// Replicas that won an election.
    pub elected: u64,
    /// Replicas that lost an election.
    pub denied: u64,
    /// Servers that began to copy another primary, after they or their primary lost the last slot.
    pub followed: u64,
    /// Failed servers that returned as replicas.
    pub returned: u64,
}

impl Counts {
    /// Returns the number of commands.
    pub const fn commands(&self) -> u64 {
        self.reads + self.writes + self.deletes
    }

    pub(super) fn begin(&mut self, operation: Operation, keys: usize) {
        *match operation {
            Operation::Read => &mut self.reads,
            Operation::Write | Operation::Swap => &mut self.writes,
            Operation::Delete => &mut self.deletes,
        } += 1;
        self.multi += u64::from(keys > 1);
    }

    pub(super) fn meet(&mut self, error: &str) {
        *match error.split(' ').next() {
            Some("MOVED") => &mut self.moved,
            Some("ASK") => &mut self.ask,
            Some("TRYAGAIN") => &mut self.try_again,
            Some("CLUSTERDOWN") => &mut self.down,
            _ => &mut self.other,
        } += 1;
    }
}
