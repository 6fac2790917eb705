//! Who is right where two nodes claim a slot: the one with the higher epoch.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{ClusterNode, Mark, Role, SlotRange, Table};
use crate::{Error, Limit};

/// What a primary says of itself: its epoch and its slots, as in the header of every message
/// between servers.
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
    /// Who says so.
    pub id: Box<str>,
    /// Under which epoch.
    pub epoch: u64,
    /// Which slots, ascending.
    pub slots: Vec<SlotRange>,
}

impl Claim {
    /// That `id` has `slots`, ascending, under `epoch`.
    ///
    /// ```
    /// assert_eq!(hashroute::redis::Claim::new("a", 3, vec![0..=99]).epoch, 3);
    /// ```
    pub fn new(id: impl Into<Box<str>>, epoch: u64, slots: Vec<SlotRange>) -> Self {
        let id = id.into();
        Self { id, epoch, slots }
    }
}

/// What hearing a [`Claim`] has changed.
///
/// ```
/// assert!(hashroute::redis::Heard::default().taken.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Heard {
    /// Slots that the claimant has now and had not, ascending.
    pub taken: Vec<SlotRange>,
    /// Those of them that the hearing node owned itself: it must drop their keys, or they would
    /// come back to life when the slots return.
    pub lost: Vec<SlotRange>,
    /// Slots that others own under a higher epoch: the claimant is to be told.
    pub outdated: Vec<SlotRange>,
    /// The node lost its last slot, or its primary did, and now copies the claimant.
    pub follows: bool,
}

impl Table {
    /// Claims slots for a node under its epoch: it gets those that are unassigned or owned under
    /// a lower epoch, and at a tie those of a greater id. Gives how many changed hands.
    /// O(slots claimed).
    ///
    /// The tie is broken as two servers would end it that find their epochs equal: the smaller
    /// id raises its own.
    ///
    /// # Errors
    ///
    /// As [`assign`](Self::assign).
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

    /// The same refusals as [`assign`](Self::assign), and nothing done.
    fn check_claim(&self, id: &str, slots: &SlotRange) -> Result<(), Error> {
        let node = self.node(id);
        let node = node.ok_or_else(|| Error::UnknownNode { name: id.into() })?;
        if node.role() != Role::Primary {
            return Err(super::table::not_primary(id));
        }
        self.check_slots(slots)
    }

    /// What a node says of itself, by this table. O(slots).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`].
    ///
    /// ```
    /// # use hashroute::redis::{ClusterNode, SlotRule, Table};
    /// let table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// assert!(table.claim_of("a")?.slots.is_empty());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn claim_of(&self, id: &str) -> Result<Claim, Error> {
        let node = &self.nodes()[self.known(id)?];
        Ok(Claim {
            id: id.into(),
            epoch: node.epoch(),
            slots: self.ranges(id),
        })
    }

    /// Takes note of a claim in the view of one node, [`myself`](Self::myself), as a server does
    /// with every message: the claimant becomes a primary under that epoch and gets the slots
    /// that are unassigned or owned under a lower one. Slots that this node imports stay as they
    /// are: who moves them has the last word. O(slots + n).
    ///
    /// A node that so loses its last slot becomes a replica of the claimant, without marks, and
    /// replicas of one that does follow: this is how an old primary learns of its heir.
    ///
    /// Source: Redis Cluster specification, "Hash slots configuration propagation".
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`] for a claimant that the table does not know;
    /// [`Error::Parameter`] for slots that do not exist. Nothing has changed then.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Flags, SlotRule, Table};
    ///
    /// // The view of "old", which has been away while "heir" took its slots under epoch 2.
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
            // What it imported it does not import any more.
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

    /// Lets this node copy the claimant; replicas move no slots, so its marks go.
    fn follow(&mut self, claimant: &str) -> Result<bool, Error> {
        match self.myself().cloned() {
            None => Ok(false),
            Some(myself) => {
                self.forget_marks(myself.id());
                self.replace(myself.with_primary(claimant)).map(|_| true)
            }
        }
    }

    /// Raises a node's epoch above all others without asking anybody, as the target of a slot
    /// does when the slot becomes its own, and gives it; one that is the highest already stays.
    /// O(n).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`]; [`Error::Capacity`] where no epoch is left.
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

    /// Gives primaries that share an epoch each its own, as servers do between themselves: while
    /// two share one, the smaller id takes the next. Gives how many changed. O(n log n).
    ///
    /// Source: Redis Cluster specification, "configEpoch conflicts resolution algorithm".
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`] where no epoch is left.
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
        advice: "no server counts so far: check where the epoch came from",
    })
}

fn rank_of(node: &ClusterNode) -> (u64, Reverse<&str>) {
    (node.epoch(), Reverse(node.id()))
}

/// Adds a slot to ascending ranges.
pub(super) fn push(ranges: &mut Vec<SlotRange>, slot: u32) {
    match ranges.last_mut() {
        Some(last) if last.end().checked_add(1) == Some(slot) => *last = *last.start()..=slot,
        _ => ranges.push(slot..=slot),
    }
}
