//! Counts of commands, replies and server events.

use std::collections::BTreeMap;

use super::client::Operation;

/// What clients did and met, and what befell the servers.
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
    /// Those of all these that have several keys.
    pub multi: u64,
    /// How often commands were sent.
    pub sends: u64,
    /// Answers `MOVED`: the client's map, or the server's view, was stale.
    pub moved: u64,
    /// Answers `ASK`: the key has moved already, its slot has not.
    pub ask: u64,
    /// Answers `TRYAGAIN`: one key of a command has moved, another has not.
    pub try_again: u64,
    /// Answers `CLUSTERDOWN`.
    pub down: u64,
    /// Other errors.
    pub other: u64,
    /// Commands that the client gave up.
    pub gave_up: u64,
    /// Maps that were filled anew.
    pub refreshes: u64,
    /// Commands by how often each was sent.
    pub attempts: BTreeMap<u32, u64>,
    /// Keys that were migrated.
    pub migrated: u64,
    /// Moves that were finished.
    pub finished: u64,
    /// Ends of moves that a failover interrupted, opened again at the heir.
    pub reopened: u64,
    /// Replicas that won an election.
    pub elected: u64,
    /// Replicas that lost one.
    pub denied: u64,
    /// Servers that lost their last slot, or whose primary did, and copied another from then on.
    pub followed: u64,
    /// Servers that came back as replicas of their heirs.
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
