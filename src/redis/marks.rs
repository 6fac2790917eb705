//! Slots on the move.

use alloc::boxed::Box;

use super::Table;
use super::node::check_id;
use super::table::bad_slots;
use crate::Error;

/// The note of a node about a slot on the move.
///
/// ```
/// use hashroute::redis::Mark;
///
/// assert_eq!(Mark::Migrating("b".into()).peer(), "b");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Mark {
    /// The owner sends the slot to the node with this id.
    Migrating(Box<str>),
    /// The node receives the slot from the node with this id.
    Importing(Box<str>),
}

impl Mark {
    /// Returns the id of the node at the other end of the move.
    pub fn peer(&self) -> &str {
        match self {
            Self::Migrating(id) | Self::Importing(id) => id,
        }
    }

    /// Returns the ids of the source and the target of the move, given the node that has the mark.
    pub fn ends<'a>(&'a self, holder: &'a str) -> (&'a str, &'a str) {
        match self {
            Self::Migrating(target) => (holder, target),
            Self::Importing(source) => (source, holder),
        }
    }
}

impl Table {
    /// Sets the mark of a node for a slot and returns the previous one. A node has at most one mark
    /// for each slot. O(log marks).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`] if the node is unknown; its peer may be unknown, as in the view of a
    /// real server. [`Error::Parameter`] for a slot that does not exist. The errors of
    /// [`ClusterNode::new`](super::ClusterNode::new) for the id of the peer.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Mark, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// table.mark(7, "a", Mark::Migrating("b".into()))?;
    /// table.mark(7, "b", Mark::Importing("a".into()))?;
    /// assert_eq!(table.mark_of(7, "b").map(Mark::peer), Some("a"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn mark(&mut self, slot: u32, id: &str, mark: Mark) -> Result<Option<Mark>, Error> {
        self.known(id)?;
        check_id(mark.peer())?;
        if slot >= self.rule().slots() {
            return Err(bad_slots(&(slot..=slot), self.rule().slots()));
        }
        let said = self.marks.entry(slot).or_default();
        match said.binary_search_by(|(node, _)| (**node).cmp(id)) {
            Ok(at) => Ok(Some(core::mem::replace(&mut said[at].1, mark))),
            Err(at) => {
                said.insert(at, (id.into(), mark));
                Ok(None)
            }
        }
    }

    /// Removes and returns the mark of a node for a slot. O(log marks).
    pub fn unmark(&mut self, slot: u32, id: &str) -> Option<Mark> {
        let said = self.marks.get_mut(&slot)?;
        let at = said.iter().position(|(node, _)| &**node == id)?;
        let (_, mark) = said.remove(at);
        if said.is_empty() {
            self.marks.remove(&slot);
        }
        Some(mark)
    }

    /// Removes all marks of a node.
    pub(crate) fn forget_marks(&mut self, id: &str) {
        self.retain_marks(|node, _| node != id);
    }

    pub(super) fn retain_marks(&mut self, keep: impl Fn(&str, &Mark) -> bool) {
        self.marks.retain(|_, said| {
            said.retain(|(node, mark)| keep(node, mark));
            !said.is_empty()
        });
    }

    /// Returns the mark of a node for a slot. O(log marks).
    pub fn mark_of(&self, slot: u32, id: &str) -> Option<&Mark> {
        let said = self.marks.get(&slot)?;
        said.iter()
            .find(|(node, _)| &**node == id)
            .map(|(_, mark)| mark)
    }

    /// Returns all marks as (slot, node id, mark), sorted by slot, then node id.
    pub fn marks(&self) -> impl Iterator<Item = (u32, &str, &Mark)> {
        self.marks
            .iter()
            .flat_map(|(slot, said)| said.iter().map(move |(id, mark)| (*slot, &**id, mark)))
    }
}
