//! Failover: a replica (the *heir*) replaces its primary.
//!
//! A client sees these steps:
//!
//! | step | at the old primary | at other servers |
//! |---|---|---|
//! | the primary stops | no connection | `MOVED` to the old primary |
//! | a majority marks it as failed | no connection | `CLUSTERDOWN`; without full coverage `MOVED` to the old primary |
//! | a replica is elected | no connection | `MOVED` to the heir, as soon as a server knows it |
//! | the old primary returns and does not know the heir | **serves its old slots** until the first message arrives | `MOVED` to the heir |
//! | the old primary knows the heir | `MOVED` to the heir | `MOVED` to the heir |
//!
//! A primary that is cut off refuses requests after the node timeout, and one that returns refuses
//! them for a while. Writes that it accepts in between are lost when it drops its keys.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::claims::next_epoch;
use super::{Claim, ClusterNode, Flags, Mark, Role, SlotRange, Table};
use crate::{Error, Refusal};

/// The way in which a replica becomes the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Promotion {
    /// The primary failed, and a majority of the primaries votes for the replica.
    Election,
    /// `CLUSTER FAILOVER`: the primary agrees, and a majority votes for the replica.
    Manual,
    /// `CLUSTER FAILOVER TAKEOVER`: without a vote, for a cluster that has lost its majority.
    Takeover,
}

/// The changes that a promotion made.
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
    /// The id of the old primary.
    pub from: Box<str>,
    /// The id of the replica that replaced it.
    pub to: Box<str>,
    /// The new epoch of the replica, above all others.
    pub epoch: u64,
    /// The slots that changed owner.
    pub slots: Vec<SlotRange>,
    /// The marks of moves that were under way, as (slot, node, mark). A replica does not know the
    /// marks of its primary. Open these moves again; otherwise clients do not find the keys that
    /// are already at the target.
    pub open: Vec<(u32, Box<str>, Mark)>,
}

impl Table {
    /// Makes a replica the primary of its shard. It gets an epoch above all others and the slots of
    /// the old primary, and the other replicas copy it. The old primary stays in the table as a
    /// primary without slots until it [rejoins](Self::rejoin). O(slots + nodes + marks).
    ///
    /// Source: Redis Cluster specification, "Replica election and promotion".
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`]. [`Error::Parameter`] for a node that is no replica of a primary with
    /// slots, or for a failed replica, unless by takeover; in an election also for a replica with
    /// the flag `nofailover` or with a primary that has not failed. [`Error::Unsupported`] if the
    /// majority of the primaries that own slots cannot be reached, unless by takeover.
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
            return refuse(
                "a replica of a failed primary; for a working one, use a manual failover",
            );
        }
        if how != Promotion::Takeover && !self.votes().is_majority() {
            return Err(Error::Unsupported {
                what: Refusal::PromotionWithoutMajority,
                advice: "restart primaries, or use a takeover if no other node can serve the slots",
            });
        }
        Ok(primary.id().into())
    }

    /// Votes as the reporting node, [`myself`](Self::myself), for a replica that asks for votes
    /// under `epoch`. `old` is the claim of its primary according to the replica's table. Records
    /// the vote, because a node votes once in each epoch. O(slots + n).
    ///
    /// The vote is refused if the replica does not know that a slot has moved elsewhere. As the
    /// owner, it would serve that slot without the keys.
    ///
    /// Source: Redis Cluster specification, "Replica election and promotion".
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] with the reason, if the vote is refused.
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
            return refuse("ask under a higher epoch: this one is over, or its vote is given");
        }
        if self.node(&old.id).is_none_or(|node| !node.flags().failed) {
            return refuse("the primary has not failed in the view of the voter");
        }
        let newer = |slot| {
            self.owner(slot)
                .is_some_and(|owner| owner.epoch() > old.epoch)
        };
        // `old` is a caller's value: cut at the slot count, a range such as 0..=u32::MAX costs
        // no more than O(slots).
        let count = self.rule().slots();
        let slots = old
            .slots
            .iter()
            .map(|range| *range.start()..=(*range.end()).min(count));
        if slots.flatten().any(newer) {
            return refuse("a slot has a newer owner: the replica must hear its claim first");
        }
        self.current_epoch = epoch;
        self.last_vote_epoch = epoch;
        Ok(())
    }

    /// Removes the marks of a node, and returns them with those that name it.
    fn close_marks(&mut self, id: &str) -> Vec<(u32, Box<str>, Mark)> {
        let marks = self.marks();
        let open = marks.filter(|(_, node, mark)| *node == id || mark.peer() == id);
        let open: Vec<(u32, Box<str>, Mark)> = open
            .map(|(slot, node, mark)| (slot, node.into(), mark.clone()))
            .collect();
        self.forget_marks(id);
        open
    }

    /// Brings a failed node back: it works again, and if it owns no slots any more, it becomes a
    /// replica of `heir`. In the view of one node, [`hear`](Self::hear) does this when the first
    /// message of the heir arrives. O(slots).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`]; [`Error::Parameter`] if the heir is no primary or is the node
    /// itself.
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
            let expected: String = format!("a primary other than {id:?}");
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
