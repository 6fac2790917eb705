//! The owners of all slots.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

use super::{ClusterNode, Mark, Role, SlotRule};
use crate::{Error, Limit};

/// A range of slots, both ends included, as servers write it.
pub type SlotRange = RangeInclusive<u32>;

/// The nodes of a cluster and the owner of each slot: the view of one server, or the state that
/// all servers agree on.
///
/// | lookup | memory | change |
/// |---|---|---|
/// | O(1), two reads | 8 B for each slot and the nodes | O(slots + nodes) for nodes, O(1) a slot |
///
/// Nodes are sorted by id, so two tables with the same contents are equal, whatever the order of
/// insertion.
///
/// ```
/// use hashroute::redis::{ClusterNode, SlotRule, Table};
///
/// let mut table = Table::new(SlotRule::REDIS);
/// table.add(ClusterNode::new("a")?)?;
/// table.assign(0..=16_383, "a")?;
/// assert_eq!(table.owner_of(b"foo").map(ClusterNode::id), Some("a"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Table {
    rule: SlotRule,
    /// Sorted by id.
    nodes: Vec<ClusterNode>,
    /// For each slot the index of its owner in `nodes`.
    owners: Vec<Option<u32>>,
    /// By slot; the marks of one slot are sorted by the id of the node that has the mark.
    pub(super) marks: BTreeMap<u32, Vec<(Box<str>, Mark)>>,
    pub(crate) current_epoch: u64,
    pub(crate) last_vote_epoch: u64,
    /// Ids that the text of the table gives to several nodes.
    pub(super) repeated: Vec<Box<str>>,
}

impl Table {
    /// The maximum number of nodes: a primary for each of the 16,384 slots of Redis, and three
    /// replicas for each primary.
    pub const MAX_NODES: usize = 65_536;

    /// Builds a table without nodes; all slots are unassigned. O(slots).
    pub fn new(rule: SlotRule) -> Self {
        Self {
            nodes: Vec::new(),
            owners: vec![None; rule.slots() as usize],
            marks: BTreeMap::new(),
            current_epoch: 0,
            last_vote_epoch: 0,
            repeated: Vec::new(),
            rule,
        }
    }

    /// Builds a table with these nodes; all slots are unassigned. O(slots + n log n).
    ///
    /// # Errors
    ///
    /// [`Error::DuplicateNode`]; [`Error::Capacity`] beyond [`MAX_NODES`](Self::MAX_NODES).
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("b")?, ClusterNode::new("a")?];
    /// let table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// assert_eq!(table.nodes()[0].id(), "a");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn with_nodes(
        rule: SlotRule,
        nodes: impl IntoIterator<Item = ClusterNode>,
    ) -> Result<Self, Error> {
        let mut nodes: Vec<_> = nodes.into_iter().take(Self::MAX_NODES + 1).collect();
        check_room(nodes.len())?;
        nodes.sort_by(|a, b| a.id().cmp(b.id()));
        if let Some(pair) = nodes.windows(2).find(|pair| pair[0].id() == pair[1].id()) {
            return Err(duplicate(pair[0].id()));
        }
        let epoch = nodes.iter().map(ClusterNode::epoch).max().unwrap_or(0);
        Ok(Self {
            nodes,
            current_epoch: epoch,
            ..Self::new(rule)
        })
    }

    /// Returns the rule from keys to slots.
    pub const fn rule(&self) -> &SlotRule {
        &self.rule
    }

    /// Returns all nodes, sorted by id.
    pub fn nodes(&self) -> &[ClusterNode] {
        &self.nodes
    }

    /// Returns the ids that a text gave to several replicas, as Dragonfly does. The second replica
    /// of such an id and all later ones are nodes with the id `ID@HOST:PORT`.
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// let text = "\
    /// a h:1@1 myself,master - 0 0 0 connected 0-16383
    /// b h:2@2 slave a 0 0 0 connected
    /// b h:3@3 slave a 0 0 0 connected";
    /// let table = Table::from_nodes_text(text, SlotRule::REDIS)?;
    /// assert_eq!(table.repeated_ids().collect::<Vec<_>>(), ["b"]);
    /// assert!(table.node("b@h:3").is_some());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn repeated_ids(&self) -> impl Iterator<Item = &str> {
        self.repeated.iter().map(|id| &**id)
    }

    /// Returns the node with this id. O(log n).
    pub fn node(&self, id: &str) -> Option<&ClusterNode> {
        self.nodes.get(self.index_of(id)?)
    }

    /// Returns the reporting node, if the table is the view of one server. O(n).
    pub fn myself(&self) -> Option<&ClusterNode> {
        self.nodes.iter().find(|node| node.flags().myself)
    }

    /// Returns the replicas of a node, sorted by id. O(n).
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?.with_primary("a")];
    /// let table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// assert_eq!(table.replicas("a").count(), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn replicas<'t>(&'t self, id: &'t str) -> impl Iterator<Item = &'t ClusterNode> + 't {
        self.nodes
            .iter()
            .filter(move |node| node.primary() == Some(id))
    }

    /// Returns the highest epoch seen and the last epoch in which the reporting node voted.
    pub const fn epochs(&self) -> (u64, u64) {
        (self.current_epoch, self.last_vote_epoch)
    }

    /// Adds a node without slots. O(slots + nodes).
    ///
    /// # Errors
    ///
    /// [`Error::DuplicateNode`]; [`Error::Capacity`] beyond [`MAX_NODES`](Self::MAX_NODES).
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let mut table = Table::new(SlotRule::REDIS);
    /// table.add(ClusterNode::new("a")?)?;
    /// assert!(table.add(ClusterNode::new("a")?).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn add(&mut self, node: ClusterNode) -> Result<(), Error> {
        let Err(at) = self.search(node.id()) else {
            return Err(duplicate(node.id()));
        };
        check_room(self.nodes.len() + 1)?;
        // Owners are indexes into the sorted nodes: those from `at` on move up by one.
        self.renumber(|owner| {
            if owner as usize >= at {
                Some(owner + 1)
            } else {
                Some(owner)
            }
        });
        self.current_epoch = self.current_epoch.max(node.epoch());
        self.nodes.insert(at, node);
        Ok(())
    }

    /// Removes a node and all marks that it has or that name it. Its slots become unassigned.
    /// O(slots + nodes).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`].
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let mut table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// assert_eq!(table.remove("a")?.id(), "a");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn remove(&mut self, id: &str) -> Result<ClusterNode, Error> {
        let at = self.known(id)?;
        let index = index(at);
        self.renumber(|owner| match owner.cmp(&index) {
            core::cmp::Ordering::Less => Some(owner),
            core::cmp::Ordering::Equal => None,
            core::cmp::Ordering::Greater => Some(owner - 1),
        });
        self.retain_marks(|node, mark| node != id && mark.peer() != id);
        Ok(self.nodes.remove(at))
    }

    /// Replaces the node that has the same id and returns the previous one. Slots and marks stay.
    /// O(log n), or O(slots) if the new node is no primary.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`]; [`Error::Parameter`] if the node owns slots and the new one is no
    /// primary.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let mut table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// let later = table.nodes()[0].clone().with_epoch(7);
    /// table.replace(later)?;
    /// assert_eq!(table.nodes()[0].epoch(), 7);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn replace(&mut self, node: ClusterNode) -> Result<ClusterNode, Error> {
        let at = self.known(node.id())?;
        if node.role() != Role::Primary && self.owners.contains(&Some(index(at))) {
            return Err(not_primary(node.id()));
        }
        self.current_epoch = self.current_epoch.max(node.epoch());
        Ok(core::mem::replace(&mut self.nodes[at], node))
    }

    fn search(&self, id: &str) -> Result<usize, usize> {
        self.nodes.binary_search_by(|node| node.id().cmp(id))
    }

    pub(crate) fn index_of(&self, id: &str) -> Option<usize> {
        self.search(id).ok()
    }

    pub(crate) fn known(&self, id: &str) -> Result<usize, Error> {
        self.index_of(id)
            .ok_or_else(|| Error::UnknownNode { name: id.into() })
    }

    fn renumber(&mut self, change: impl Fn(u32) -> Option<u32>) {
        for owner in &mut self.owners {
            *owner = owner.and_then(&change);
        }
    }
}

/// Slots.
impl Table {
    /// Returns the owner of a slot; `None` if the slot is unassigned or does not exist. O(1).
    #[inline]
    pub fn owner(&self, slot: u32) -> Option<&ClusterNode> {
        self.nodes.get(self.owner_index(slot)?)
    }

    /// Returns the owner of the slot of a key. Linear in the key.
    #[inline]
    pub fn owner_of(&self, key: &[u8]) -> Option<&ClusterNode> {
        self.owner(self.rule.slot(key))
    }

    #[inline]
    pub(crate) fn owner_index(&self, slot: u32) -> Option<usize> {
        self.owners.get(slot as usize)?.map(|at| at as usize)
    }

    /// Assigns slots to a primary, whoever owned them before. Marks stay. O(slots of the range).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`]; [`Error::Parameter`] for slots that do not exist, or a node that
    /// is no primary.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let mut table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// table.assign(0..=99, "a")?;
    /// assert_eq!(table.count("a"), 100);
    /// assert!(table.assign(0..=16_384, "a").is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn assign(&mut self, slots: SlotRange, id: &str) -> Result<(), Error> {
        let at = self.known(id)?;
        if self.nodes[at].role() != Role::Primary {
            return Err(not_primary(id));
        }
        self.some_slots(slots)?.fill(Some(index(at)));
        Ok(())
    }

    /// Leaves slots without an owner. Marks stay. O(slots of the range).
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] for slots that do not exist.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let mut table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// table.assign(0..=99, "a")?;
    /// table.unassign(50..=99)?;
    /// assert_eq!(table.ranges("a"), [0..=49]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn unassign(&mut self, slots: SlotRange) -> Result<(), Error> {
        self.some_slots(slots)?.fill(None);
        Ok(())
    }

    fn some_slots(&mut self, slots: SlotRange) -> Result<&mut [Option<u32>], Error> {
        self.check_slots(&slots)?;
        Ok(&mut self.owners[*slots.start() as usize..=*slots.end() as usize])
    }

    pub(super) fn check_slots(&self, slots: &SlotRange) -> Result<(), Error> {
        let count = self.rule.slots();
        if slots.is_empty() || *slots.end() >= count {
            return Err(bad_slots(slots, count));
        }
        Ok(())
    }

    /// Returns the number of slots that a node owns. O(slots).
    pub fn count(&self, id: &str) -> u32 {
        let at = self.index_of(id);
        at.map_or(0, |at| self.counts()[at])
    }

    /// Returns the number of slots of each node, in the order of [`nodes`](Self::nodes).
    /// O(slots + nodes).
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.nodes.len()];
        for owner in self.owners.iter().flatten() {
            counts[*owner as usize] += 1;
        }
        counts
    }

    /// Returns the slots of a node as the fewest ranges, ascending. O(slots).
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// assert!(Table::new(SlotRule::REDIS).ranges("a").is_empty());
    /// ```
    pub fn ranges(&self, id: &str) -> Vec<SlotRange> {
        let runs = self.runs();
        runs.filter(|(_, owner)| owner.is_some_and(|owner| owner.id() == id))
            .map(|(range, _)| range)
            .collect()
    }

    /// Returns all slots as ascending ranges, each with its owner or `None`. O(slots) for all.
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// let table = Table::new(SlotRule::REDIS);
    /// assert_eq!(table.runs().collect::<Vec<_>>(), [(0..=16_383, None)]);
    /// ```
    pub fn runs(&self) -> impl Iterator<Item = (SlotRange, Option<&ClusterNode>)> {
        let mut start = 0;
        self.owners.chunk_by(|a, b| a == b).map(move |run| {
            let range = start..=start + index(run.len() - 1);
            start = range.end() + 1;
            (range, run[0].map(|at| &self.nodes[at as usize]))
        })
    }
}

/// Prints the slots as ranges: a list of 16,384 owners would be unreadable.
#[expect(
    clippy::missing_fields_in_debug,
    reason = "prints owners as ranges and both epochs as a pair"
)]
impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self
            .runs()
            .map(|(range, owner)| (range, owner.map(ClusterNode::id)));
        f.debug_struct("Table")
            .field("rule", &self.rule)
            .field("nodes", &self.nodes)
            .field("slots", &runs.collect::<Vec<_>>())
            .field("marks", &self.marks)
            .field("epochs", &self.epochs())
            .finish()
    }
}

/// Converts an index, which fits: there are at most [`Table::MAX_NODES`] nodes and
/// [`SlotRule::MAX_SLOTS`] slots.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn check_room(nodes: usize) -> Result<(), Error> {
    if nodes <= Table::MAX_NODES {
        return Ok(());
    }
    Err(Error::Capacity {
        what: Limit::ClusterNodes,
        wanted: nodes as u64,
        limit: Table::MAX_NODES as u64,
        advice: "split the cluster, or remove nodes that are gone",
    })
}

fn duplicate(id: &str) -> Error {
    Error::DuplicateNode { name: id.into() }
}

pub(crate) fn not_primary(id: &str) -> Error {
    Error::parameter("slot owner", id, "a primary: replicas own no slots")
}

pub(crate) fn bad_slots(slots: &SlotRange, count: u32) -> Error {
    let value = format!("{}-{}", slots.start(), slots.end());
    Error::parameter(
        "slots",
        value,
        format!("an ascending range within 0-{}", count - 1),
    )
}
