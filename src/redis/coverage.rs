//! Whether a cluster serves its slots.

use alloc::vec::Vec;

use super::claims::push;
use super::{ClusterNode, Role, SlotRange, Table};

/// What a server does while slots are missing.
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
    /// One slot that nobody serves stops all (`cluster-require-full-coverage`); on by default.
    pub require_full_coverage: bool,
    /// Reads are answered although the cluster is down (`cluster-allow-reads-when-down`).
    pub reads_when_down: bool,
    /// Sharded channels work although the cluster is down
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

/// All slots, sorted by whether somebody serves them.
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
    /// Slots of a primary that works, or is only suspected, ascending.
    pub served: Vec<SlotRange>,
    /// Slots of nobody.
    pub unassigned: Vec<SlotRange>,
    /// Slots of a primary that failed.
    pub failed: Vec<SlotRange>,
}

impl Coverage {
    /// Whether every slot is served.
    ///
    /// ```
    /// assert!(hashroute::redis::Coverage::default().is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        self.unassigned.is_empty() && self.failed.is_empty()
    }
}

/// Whether a cluster answers requests.
///
/// ```
/// use hashroute::redis::Health;
///
/// assert!(Health::Ok.is_ok() && !Health::Minority.is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Health {
    /// It does.
    Ok,
    /// A slot is unassigned or its primary failed, and full coverage is required.
    Uncovered,
    /// No majority of the primaries that serve slots is in reach.
    Minority,
}

impl Health {
    /// Whether it answers requests.
    ///
    /// ```
    /// assert!(!hashroute::redis::Health::Uncovered.is_ok());
    /// ```
    pub fn is_ok(self) -> bool {
        self == Self::Ok
    }
}

/// How many primaries vote.
///
/// ```
/// use hashroute::redis::{SlotRule, Table};
///
/// let votes = Table::new(SlotRule::REDIS).votes();
/// assert!(!votes.is_majority());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Votes {
    /// Primaries that own at least one slot.
    pub primaries: usize,
    /// Those of them that are neither failed nor suspected.
    pub reachable: usize,
}

impl Votes {
    /// Counts `primaries` in all, and those that can be reached.
    ///
    /// ```
    /// assert!(hashroute::redis::Votes::new(3, 2).is_majority());
    /// ```
    pub const fn new(primaries: usize, reachable: usize) -> Self {
        Self {
            primaries,
            reachable,
        }
    }

    /// Votes that a majority takes.
    ///
    /// ```
    /// use hashroute::redis::Votes;
    ///
    /// assert_eq!(Votes::new(4, 2).needed(), 3);
    /// ```
    pub const fn needed(self) -> usize {
        self.primaries / 2 + 1
    }

    /// Whether those in reach are a majority.
    ///
    /// ```
    /// use hashroute::redis::Votes;
    ///
    /// assert!(!Votes::new(2, 1).is_majority());
    /// ```
    pub const fn is_majority(self) -> bool {
        self.reachable >= self.needed()
    }
}

impl Table {
    /// Which slots are served, unassigned, or lost with a failed primary. O(slots).
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
            // Neighbours of two owners are one range here.
            range.for_each(|slot| push(found, slot));
        }
        coverage
    }

    /// Who may vote: primaries that own slots. O(slots + n).
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

    /// Whether the cluster answers requests, as a server with this table judges. O(slots + n).
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

    /// Slots that are on the move by anybody's word, ascending. O(marks).
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// assert!(Table::new(SlotRule::REDIS).open_slots().is_empty());
    /// ```
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
