//! Claims: of two nodes that claim a slot, the one with the higher epoch owns it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{ClusterNode, Mark, Role, SlotRange, Table};
use crate::{Error, Limit};

/// The epoch and the slots that a primary claims, as in the header of every message between
/// servers.
///
/// ```
/// use hashroute::redis::{ClusterNode, SlotRule, Table};
///
/// let mut table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?.with_epoch(3)])?;
/// table.assign(0..=99, "a")?;
/// let claim = table.claim_of("a")?;
/// assert_eq!((claim.epoch, claim.slots), (3, vec![0..=99]));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// The id of the claimant.
    pub id: Box<str>,
    /// Its epoch.
    pub epoch: u64,
    /// The claimed slots, ascending.
    pub slots: Vec<SlotRange>,
}

impl Claim {
    /// Builds the claim of node `id` to `slots`, which ascend, under `epoch`.
    pub fn new(id: impl Into<Box<str>>, epoch: u64, slots: Vec<SlotRange>) -> Self {
        let id = id.into();
        Self { id, epoch, slots }
    }
}

/// The changes that a [`Claim`] caused in the view of one node.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Heard {
    /// The slots that the claimant newly owns, ascending.
    pub taken: Vec<SlotRange>,
    /// The slots among `taken` that the hearing node owned itself. It must drop their keys;
    /// otherwise stale keys reappear when the slots return.
    pub lost: Vec<SlotRange>,
    /// The slots that others own under a higher epoch: tell the claimant.
    pub outdated: Vec<SlotRange>,
    /// The hearing node, or its primary, lost its last slot; the hearing node now copies the
    /// claimant.
    pub follows: bool,
}

impl Table {
    /// Claims slots for a node under its epoch and returns the number of slots that changed owner.
    /// The node gets unassigned slots and slots whose owner has a lower epoch. At equal epochs, the
    /// node with the smaller id wins. O(slots claimed).
    ///
    /// The tie rule gives the result that two servers reach when they find that their epochs are
    /// equal: the one with the smaller id raises its own.
    ///
    /// # Errors
    ///
    /// Those of [`assign`](Self::assign).
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?.with_epoch(1), ClusterNode::new("b")?.with_epoch(2)];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// assert_eq!(table.claim("b", 0..=9)?, 10);
    /// assert_eq!(table.claim("a", 5..=14)?, 5);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn claim(&mut self, id: &str, slots: SlotRange) -> Result<u32, Error> {
        self.check_claim(id, &slots)?;
        let claimant = self.known(id)?;
        let rank = |at: usize| rank_of(&self.nodes()[at]);
        let (mut weaker, mut changed) = (Vec::new(), 0);
        for slot in slots {
            let owner = self.owner_index(slot);
            if owner.is_none_or(|owner| owner != claimant && rank(owner) < rank(claimant)) {
                push(&mut weaker, slot);
                changed += 1;
            }
        }
        weaker
            .into_iter()
            .try_for_each(|run| self.assign(run, id))?;
        Ok(changed)
    }

    /// Makes the checks of [`assign`](Self::assign) and changes nothing. `claim` needs them even if
    /// it assigns no slot.
    fn check_claim(&self, id: &str, slots: &SlotRange) -> Result<(), Error> {
        let node = self.node(id);
        let node = node.ok_or_else(|| Error::UnknownNode { name: id.into() })?;
        if node.role() != Role::Primary {
            return Err(super::table::not_primary(id));
        }
        self.check_slots(slots)
    }

    /// Returns the claim that a node makes according to this table. O(slots).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`].
    pub fn claim_of(&self, id: &str) -> Result<Claim, Error> {
        let node = &self.nodes()[self.known(id)?];
        Ok(Claim {
            id: id.into(),
            epoch: node.epoch(),
            slots: self.ranges(id),
        })
    }

    /// Applies a claim to the view of one node, [`myself`](Self::myself), as a server does with
    /// every message. The claimant becomes a primary under its epoch. It gets the claimed slots that
    /// are unassigned or owned under a lower epoch. Slots that this node imports stay as they are:
    /// the operator who moves them decides. O(slots + n).
    ///
    /// If this node, or the primary that it copies, loses its last slot, this node drops its marks
    /// and becomes a replica of the claimant. An old primary that returns finds its successor in
    /// this way.
    ///
    /// Source: Redis Cluster specification, "Hash slots configuration propagation".
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`] if the claimant is not in the table; [`Error::Parameter`] for slots
    /// that do not exist. The table is unchanged then.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Flags, SlotRule, Table};
    ///
    /// // The view of "old". While it was down, "heir" took its slots under epoch 2.
    /// let myself = Flags::default().with_myself(true);
    /// let nodes = [
    ///     ClusterNode::new("old")?.with_epoch(1).with_flags(myself),
    ///     ClusterNode::new("heir")?.with_primary("old"),
    /// ];
    /// let mut view = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// view.assign(0..=99, "old")?;
    /// let heard = view.hear(&hashroute::redis::Claim::new("heir", 2, vec![0..=99]))?;
    /// assert!(heard.follows);
    /// assert_eq!(view.myself().and_then(ClusterNode::primary), Some("heir"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn hear(&mut self, claim: &Claim) -> Result<Heard, Error> {
        let at = self.known(&claim.id)?;
        let mut ranges = claim.slots.iter();
        ranges.try_for_each(|range| self.check_slots(range))?;
        let node = self.nodes()[at].clone();
        let epoch = node.epoch().max(claim.epoch);
        let node = if node.role() == Role::Primary {
            node
        } else {
            node.with_role(Role::Primary)
        };
        self.replace(node.with_epoch(epoch))?;
        let primary = self
            .myself()
            .map(|node| node.primary().unwrap_or(node.id()));
        let primary = primary.map(String::from).unwrap_or_default();
        let before = self.count(&primary);
        let mut heard = self.settle(claim)?;
        if before > 0 && *primary != *claim.id && self.count(&primary) == 0 {
            heard.follows = self.follow(&claim.id)?;
            // A replica has no marks, so the slots that it imported can now change owner, too.
            let more = self.settle(claim)?;
            more.taken
                .into_iter()
                .flatten()
                .for_each(|slot| push(&mut heard.taken, slot));
        }
        Ok(heard)
    }

    fn settle(&mut self, claim: &Claim) -> Result<Heard, Error> {
        let myself: Option<Box<str>> = self.myself().map(|node| node.id().into());
        let imports = |table: &Self, slot| {
            let mark = myself.as_deref().and_then(|id| table.mark_of(slot, id));
            matches!(mark, Some(Mark::Importing(_)))
        };
        let mut heard = Heard::default();
        for slot in claim.slots.iter().cloned().flatten() {
            let owner = self.owner(slot).map(|node| (node.id(), node.epoch()));
            match owner {
                Some((id, _)) if *id == *claim.id => {}
                Some((_, epoch)) if epoch > claim.epoch => push(&mut heard.outdated, slot),
                // At a tie the owner stays, as at a server; `part_epochs` ends the tie.
                Some((_, epoch)) if epoch == claim.epoch => {}
                _ if imports(self, slot) => {}
                owner => {
                    if owner.is_some_and(|(id, _)| myself.as_deref() == Some(id)) {
                        push(&mut heard.lost, slot);
                    }
                    push(&mut heard.taken, slot);
                    self.assign(slot..=slot, &claim.id)?;
                }
            }
        }
        Ok(heard)
    }

    /// Makes this node a replica of the claimant. Replicas move no slots, so its marks go: with a
    /// stale mark it would refuse claims to a slot that it no longer imports.
    fn follow(&mut self, claimant: &str) -> Result<bool, Error> {
        match self.myself().cloned() {
            None => Ok(false),
            Some(myself) => {
                self.forget_marks(myself.id());
                self.replace(myself.with_primary(claimant)).map(|_| true)
            }
        }
    }

    /// Raises the epoch of a node above all others, without an election, and returns it. An epoch
    /// that is already the highest stays. The target of a moved slot does this when it becomes the
    /// owner. O(n).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`]; [`Error::Capacity`] if no higher epoch exists.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?.with_epoch(1), ClusterNode::new("b")?.with_epoch(2)];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// assert_eq!((table.bump("a")?, table.bump("a")?), (3, 3));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn bump(&mut self, id: &str) -> Result<u64, Error> {
        let node = self.nodes()[self.known(id)?].clone();
        let others = self.nodes().iter().filter(|other| other.id() != id);
        let highest = others.map(ClusterNode::epoch).max().unwrap_or(0);
        if node.epoch() > highest {
            return Ok(node.epoch());
        }
        let epoch = next_epoch(highest.max(self.current_epoch))?;
        self.replace(node.with_epoch(epoch))?;
        Ok(epoch)
    }

    /// Gives each primary its own epoch and returns the number of nodes that changed. While two
    /// primaries share an epoch, the one with the smaller id takes the next free one, as between
    /// servers. O(n log n).
    ///
    /// Source: Redis Cluster specification, "configEpoch conflicts resolution algorithm".
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`] if no higher epoch exists.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// assert_eq!(table.part_epochs()?, 1);
    /// assert_eq!((table.nodes()[0].epoch(), table.nodes()[1].epoch()), (1, 0));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn part_epochs(&mut self) -> Result<usize, Error> {
        let primaries = self
            .nodes()
            .iter()
            .filter(|node| node.role() == Role::Primary);
        let mut order: Vec<_> = primaries.cloned().collect();
        order.sort_by_key(|node| (node.epoch(), Reverse(String::from(node.id()))));
        let groups = order.chunk_by(|a, b| a.epoch() == b.epoch());
        let twins: Vec<_> = groups.flat_map(|group| &group[1..]).cloned().collect();
        let count = twins.len();
        for node in twins {
            let epoch = next_epoch(self.current_epoch)?;
            self.replace(node.with_epoch(epoch))?;
        }
        Ok(count)
    }
}

pub(super) fn next_epoch(epoch: u64) -> Result<u64, Error> {
    epoch.checked_add(1).ok_or(Error::Capacity {
        what: Limit::Epochs,
        wanted: u64::MAX,
        limit: u64::MAX,
        advice: "no real cluster reaches this epoch: check the source of the table",
    })
}

fn rank_of(node: &ClusterNode) -> (u64, Reverse<&str>) {
    (node.epoch(), Reverse(node.id()))
}

/// Adds a slot to ascending ranges; extends the last one if the slot follows it.
pub(super) fn push(ranges: &mut Vec<SlotRange>, slot: u32) {
    match ranges.last_mut() {
        Some(last) if last.end().checked_add(1) == Some(slot) => *last = *last.start()..=slot,
        _ => ranges.push(slot..=slot),
    }
}
