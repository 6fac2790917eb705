//! The health of a cluster: served slots and the majority of primaries.

use alloc::vec::Vec;

use super::claims::push;
use super::{ClusterNode, Role, SlotRange, Table};

/// The settings that decide what a server answers while slots are not served.
///
/// ```
/// use hashroute::redis::CoverageRule;
///
/// let policy = CoverageRule::default();
/// assert!(policy.require_full_coverage && !policy.reads_when_down);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CoverageRule {
    /// A single slot that nobody serves takes the whole cluster down
    /// (`cluster-require-full-coverage`); on by default.
    pub require_full_coverage: bool,
    /// Reads are answered while the cluster is down (`cluster-allow-reads-when-down`).
    pub reads_when_down: bool,
    /// Sharded channels work while the cluster is down
    /// (`cluster-allow-pubsubshard-when-down`); on by default.
    pub channels_when_down: bool,
}

impl Default for CoverageRule {
    fn default() -> Self {
        Self {
            require_full_coverage: true,
            reads_when_down: false,
            channels_when_down: true,
        }
    }
}

builder! { CoverageRule:
    with_require_full_coverage(require_full_coverage: bool),
    with_reads_when_down(reads_when_down: bool),
    with_channels_when_down(channels_when_down: bool),
}

/// All slots in three groups: served, unassigned, and owned by a failed primary.
///
/// ```
/// use hashroute::redis::{SlotRule, Table};
///
/// let coverage = Table::new(SlotRule::REDIS).coverage();
/// assert_eq!(coverage.unassigned, [0..=16_383]);
/// assert!(!coverage.is_full());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Coverage {
    /// Slots of a primary that works or is only suspected, ascending.
    pub served: Vec<SlotRange>,
    /// Slots without an owner, ascending.
    pub unassigned: Vec<SlotRange>,
    /// Slots of a primary that failed, ascending.
    pub failed: Vec<SlotRange>,
}

impl Coverage {
    /// Returns whether every slot is served.
    pub fn is_full(&self) -> bool {
        self.unassigned.is_empty() && self.failed.is_empty()
    }
}

/// The state of a cluster: whether it answers requests, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Health {
    /// It answers requests.
    Ok,
    /// A slot is unassigned or its primary failed, and full coverage is required.
    Uncovered,
    /// No majority of the primaries that own slots can be reached.
    Minority,
}

impl Health {
    /// Returns whether the cluster answers requests.
    pub fn is_ok(self) -> bool {
        self == Self::Ok
    }
}

/// The number of primaries that can vote, and how many of them can be reached.
///
/// ```
/// use hashroute::redis::Votes;
///
/// // Half of the primaries is no majority.
/// assert_eq!(Votes::new(4, 2).needed(), 3);
/// assert!(!Votes::new(4, 2).is_majority() && Votes::new(4, 3).is_majority());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Votes {
    /// Primaries that own at least one slot.
    pub primaries: usize,
    /// Those that are neither failed nor suspected.
    pub reachable: usize,
}

impl Votes {
    /// Builds the count from the number of primaries and the number of reachable ones.
    pub const fn new(primaries: usize, reachable: usize) -> Self {
        Self {
            primaries,
            reachable,
        }
    }

    /// Returns the number of votes that make a majority.
    pub const fn needed(self) -> usize {
        self.primaries / 2 + 1
    }

    /// Returns whether the reachable primaries are a majority.
    pub const fn is_majority(self) -> bool {
        self.reachable >= self.needed()
    }
}

impl Table {
    /// Groups all slots by whether they are served, unassigned, or owned by a failed primary.
    /// O(slots).
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Flags, SlotRule, Table};
    ///
    /// let failed = Flags::default().with_failed(true);
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?.with_flags(failed)];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// table.assign(0..=99, "a")?;
    /// table.assign(100..=199, "b")?;
    /// let coverage = table.coverage();
    /// assert_eq!((coverage.served, coverage.failed), (vec![0..=99], vec![100..=199]));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::default();
        for (range, owner) in self.runs() {
            let found = match owner {
                None => &mut coverage.unassigned,
                Some(node) if node.flags().failed => &mut coverage.failed,
                Some(_) => &mut coverage.served,
            };
            // Slot by slot: neighbouring runs of different owners join into one range.
            range.for_each(|slot| push(found, slot));
        }
        coverage
    }

    /// Counts the primaries that can vote: those that own slots. O(slots + n).
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let nodes = ["a", "b", "c"].map(ClusterNode::new);
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes.into_iter().collect::<Result<Vec<_>, _>>()?)?;
    /// table.assign(0..=16_383, "a")?;
    /// assert_eq!(table.votes().primaries, 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn votes(&self) -> Votes {
        let nodes = self.nodes().iter().zip(self.counts());
        let owners = nodes.filter(|(node, count)| node.role() == Role::Primary && *count > 0);
        let mut votes = Votes {
            primaries: 0,
            reachable: 0,
        };
        for (node, _) in owners {
            votes.primaries += 1;
            votes.reachable += usize::from(is_reachable(node));
        }
        votes
    }

    /// Returns the state of the cluster as a server with this table judges it. O(slots + n).
    ///
    /// Source: Redis Cluster specification, "Availability"; `cluster_state` of `CLUSTER INFO`.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Health, CoverageRule, SlotRule, Table};
    ///
    /// let mut table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// table.assign(1..=16_383, "a")?;
    /// let lax = CoverageRule::default().with_require_full_coverage(false);
    /// assert_eq!(table.health(CoverageRule::default()), Health::Uncovered);
    /// assert_eq!(table.health(lax), Health::Ok);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn health(&self, policy: CoverageRule) -> Health {
        let covered = |slot| self.owner(slot).is_some_and(|node| !node.flags().failed);
        if policy.require_full_coverage && !(0..self.rule().slots()).all(covered) {
            return Health::Uncovered;
        }
        if self.votes().is_majority() {
            Health::Ok
        } else {
            Health::Minority
        }
    }

    /// Returns the slots for which any node has a mark, ascending. O(marks).
    pub fn open_slots(&self) -> Vec<SlotRange> {
        let mut open = Vec::new();
        let mut last = None;
        for (slot, ..) in self.marks() {
            if last.replace(slot) != Some(slot) {
                push(&mut open, slot);
            }
        }
        open
    }
}

fn is_reachable(node: &ClusterNode) -> bool {
    !node.flags().failed && !node.flags().suspected
}
