//! A replica takes its primary's place.
//!
//! What a client sees on the way:
//!
//! | state | at the old primary | elsewhere |
//! |---|---|---|
//! | it just stopped | no connection | `MOVED` to it |
//! | a majority holds it for failed | no connection | `CLUSTERDOWN`; without full coverage `MOVED` to it |
//! | the replica was elected | no connection | `MOVED` to the heir, as servers learn it |
//! | the old one returns, has not heard yet | **serves its old slots**, for the time of a message at most | `MOVED` to the heir |
//! | it has heard | `MOVED` to the heir | `MOVED` to the heir |
//!
//! A server that was cut off refuses requests itself after the node timeout, and one that returns
//! refuses for a while before it serves: writes of that window are lost with its keys.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::claims::next_epoch;
use super::{Claim, ClusterNode, Flags, Mark, Role, SlotRange, Table};
use crate::{Error, Refusal};

/// How a replica comes to take over.
///
/// ```
/// assert_ne!(hashroute::redis::Promotion::Election, hashroute::redis::Promotion::Takeover);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Promotion {
    /// Its primary failed, and a majority of the primaries votes for it.
    Election,
    /// `CLUSTER FAILOVER`: its primary lets go, and a majority votes.
    Manual,
    /// `CLUSTER FAILOVER TAKEOVER`: nobody is asked, for when the majority is gone.
    Takeover,
}

/// What a promotion has changed.
///
/// ```
/// use hashroute::redis::{ClusterNode, Promotion, SlotRule, Table};
///
/// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?.with_primary("a")];
/// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
/// table.assign(0..=99, "a")?;
/// let failover = table.promote("b", Promotion::Takeover)?;
/// assert_eq!((&*failover.from, failover.epoch, failover.slots), ("a", 1, vec![0..=99]));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failover {
    /// The primary that was replaced.
    pub from: Box<str>,
    /// The replica that has it.
    pub to: Box<str>,
    /// Its new epoch, above all others.
    pub epoch: u64,
    /// The slots.
    pub slots: Vec<SlotRange>,
    /// Moves that were under way, as slot, node that said so, and what it said: replicas do not
    /// know the marks of their primary, so the moves must be opened again, or keys that went
    /// ahead cannot be found.
    pub open: Vec<(u32, Box<str>, Mark)>,
}

impl Table {
    /// Lets a replica take over: it becomes a primary under an epoch above all others, has the
    /// slots, and the other replicas copy it. The old primary stays as a primary without slots
    /// until it [comes back](Self::rejoin). O(slots + nodes + marks).
    ///
    /// Source: Redis Cluster specification, "Replica election and promotion".
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`]; [`Error::Parameter`] for a node that is no replica of a primary
    /// with slots, that failed or may not, or whose primary works (in an election);
    /// [`Error::Unsupported`] without a majority of the primaries that own slots.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Promotion, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?.with_primary("a")];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// table.assign(0..=16_383, "a")?;
    /// assert!(table.promote("b", Promotion::Election).is_err());
    /// table.promote("b", Promotion::Manual)?;
    /// assert_eq!(table.owner_of(b"foo").map(ClusterNode::id), Some("b"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn promote(&mut self, id: &str, how: Promotion) -> Result<Failover, Error> {
        let heir = self.nodes()[self.known(id)?].clone();
        let from = self.may_promote(&heir, how)?;
        let slots = self.ranges(&from);
        let epoch = next_epoch(self.current_epoch)?;
        self.replace(heir.with_role(Role::Primary).with_epoch(epoch))?;
        for range in &slots {
            self.assign(range.clone(), id)?;
        }
        let siblings: Vec<_> = self.replicas(&from).cloned().collect();
        for sibling in siblings {
            self.replace(sibling.with_primary(id).with_epoch(epoch))?;
        }
        let open = self.close_marks(&from);
        Ok(Failover {
            from,
            to: id.into(),
            epoch,
            slots,
            open,
        })
    }

    fn may_promote(&self, heir: &ClusterNode, how: Promotion) -> Result<Box<str>, Error> {
        let refuse =
            |expected: &str| Err(Error::parameter("replica to promote", heir.id(), expected));
        let primary = heir.primary().and_then(|id| self.node(id));
        let Some(primary) = primary.filter(|_| heir.role() == Role::Replica) else {
            return refuse("a replica of a primary that is in the table");
        };
        if self.count(primary.id()) == 0 {
            return refuse("a replica of a primary that owns slots");
        }
        if how != Promotion::Takeover && heir.flags().failed {
            return refuse("a replica that works");
        }
        if how == Promotion::Election && heir.flags().no_failover {
            return refuse("a replica without the flag nofailover");
        }
        if how == Promotion::Election && !primary.flags().failed {
            return refuse("a replica of a primary that failed; promote by hand where it works");
        }
        if how != Promotion::Takeover && !self.votes().is_majority() {
            return Err(Error::Unsupported {
                what: Refusal::PromotionWithoutMajority,
                advice: "bring primaries back, or take over if nobody else may serve the slots",
            });
        }
        Ok(primary.id().into())
    }

    /// Whether the reporting node, [`myself`](Self::myself), votes for a replica that wants to
    /// take over under `epoch`; `old` is what its primary claimed, by the replica's table. A vote
    /// that is given is noted: there is one an epoch. O(slots + n).
    ///
    /// The replica is refused that does not know that a slot went elsewhere: else it would take
    /// back a slot whose keys are gone.
    ///
    /// Source: Redis Cluster specification, "Replica election and promotion".
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] with the reason of the refusal.
    ///
    /// ```
    /// use hashroute::redis::{Claim, SlotRule, Table};
    ///
    /// let text = "a h:1@1 myself,master - 0 0 1 connected 0-99\nb h:2@2 master,fail - 0 0 2 connected 100-16383\n";
    /// let mut view = Table::from_nodes_text(text, SlotRule::REDIS)?;
    /// let old = Claim::new("b", 2, vec![100..=16_383]);
    /// view.vote(&old, 3)?;
    /// assert!(view.vote(&old, 3).is_err());
    /// assert_eq!(view.epochs(), (3, 3));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn vote(&mut self, old: &Claim, epoch: u64) -> Result<(), Error> {
        let refuse = |advice| {
            Err(Error::Unsupported {
                what: Refusal::NoVote,
                advice,
            })
        };
        let voter = self.myself().filter(|node| node.role() == Role::Primary);
        if voter.is_none_or(|node| self.count(node.id()) == 0) {
            return refuse("only primaries that own slots vote");
        }
        if epoch < self.current_epoch || epoch <= self.last_vote_epoch {
            return refuse("ask under an epoch that nobody voted in yet");
        }
        if self.node(&old.id).is_none_or(|node| !node.flags().failed) {
            return refuse("the primary has not failed, as the voter sees it");
        }
        let newer = |slot| {
            self.owner(slot)
                .is_some_and(|owner| owner.epoch() > old.epoch)
        };
        let count = self.rule().slots();
        let slots = old
            .slots
            .iter()
            .map(|range| *range.start()..=(*range.end()).min(count));
        if slots.flatten().any(newer) {
            return refuse("a slot went elsewhere: hear its owner's claim first");
        }
        self.current_epoch = epoch;
        self.last_vote_epoch = epoch;
        Ok(())
    }

    /// Marks that a node set, and those that name it: all are void without it.
    fn close_marks(&mut self, id: &str) -> Vec<(u32, Box<str>, Mark)> {
        let marks = self.marks();
        let open = marks.filter(|(_, node, mark)| *node == id || mark.peer() == id);
        let open: Vec<(u32, Box<str>, Mark)> = open
            .map(|(slot, node, mark)| (slot, node.into(), mark.clone()))
            .collect();
        self.forget_marks(id);
        open
    }

    /// Lets a node that was away come back and learn who has its slots: it works again, and if it
    /// owns none any more it copies `heir`. In the view of one node, [`hear`](Self::hear) does
    /// this when the first message of the heir comes. O(slots).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`]; [`Error::Parameter`] for an heir that is no primary, or that is
    /// the node itself.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Promotion, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?.with_primary("a")];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// table.assign(0..=16_383, "a")?;
    /// table.promote("b", Promotion::Takeover)?;
    /// table.rejoin("a", "b")?;
    /// assert_eq!(table.node("a").and_then(ClusterNode::primary), Some("b"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn rejoin(&mut self, id: &str, heir: &str) -> Result<(), Error> {
        let node = self.nodes()[self.known(id)?].clone();
        let primary = &self.nodes()[self.known(heir)?];
        if id == heir || primary.role() != Role::Primary {
            let expected: String = format!("another node than {id:?}, a primary");
            return Err(Error::parameter("heir", heir, expected));
        }
        let flags = Flags {
            failed: false,
            suspected: false,
            ..node.flags()
        };
        let epoch = primary.epoch();
        let node = node.with_flags(flags).with_pings(0, 0);
        let node = if self.count(id) > 0 {
            node
        } else {
            node.with_primary(heir).with_epoch(epoch)
        };
        if node.role() == Role::Replica {
            self.forget_marks(id);
        }
        self.replace(node).map(|_| ())
    }
}
