//! Slots on the move.

use alloc::boxed::Box;

use super::Table;
use super::node::check_id;
use super::table::bad_slots;
use crate::Error;

/// What a node says about a slot on the move.
///
/// ```
/// use hashroute::redis::Mark;
///
/// assert_eq!(Mark::Migrating("b".into()).peer(), "b");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Mark {
    /// The owner hands it to the node of this id.
    Migrating(Box<str>),
    /// The node takes it over from the node of this id.
    Importing(Box<str>),
}

impl Mark {
    /// The id of the node at the other end.
    ///
    /// ```
    /// use hashroute::redis::Mark;
    ///
    /// assert_eq!(Mark::Importing("a".into()).peer(), "a");
    /// ```
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
    /// Notes what a node says of a slot: a node says one thing of a slot. O(log marks).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`] for the node (its peer may be unknown, as a server's may);
    /// [`Error::Parameter`] for a slot that does not exist; as
    /// [`ClusterNode::new`](super::ClusterNode::new) for its peer's id.
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

    /// Forgets what a node says of a slot, and gives it. O(log marks).
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// assert_eq!(Table::new(SlotRule::REDIS).unmark(7, "a"), None);
    /// ```
    pub fn unmark(&mut self, slot: u32, id: &str) -> Option<Mark> {
        let said = self.marks.get_mut(&slot)?;
        let at = said.iter().position(|(node, _)| &**node == id)?;
        let (_, mark) = said.remove(at);
        if said.is_empty() {
            self.marks.remove(&slot);
        }
        Some(mark)
    }

    /// Forgets all that a node says.
    pub(crate) fn forget_marks(&mut self, id: &str) {
        self.retain_marks(|node, _| node != id);
    }

    pub(super) fn retain_marks(&mut self, keep: impl Fn(&str, &Mark) -> bool) {
        self.marks.retain(|_, said| {
            said.retain(|(node, mark)| keep(node, mark));
            !said.is_empty()
        });
    }

    /// What a node says of a slot. O(log marks).
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// assert_eq!(Table::new(SlotRule::REDIS).mark_of(7, "a"), None);
    /// ```
    pub fn mark_of(&self, slot: u32, id: &str) -> Option<&Mark> {
        let said = self.marks.get(&slot)?;
        said.iter()
            .find(|(node, _)| &**node == id)
            .map(|(_, mark)| mark)
    }

    /// All that nodes say of slots on the move: slot, node, mark; by slot, then node.
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// assert_eq!(Table::new(SlotRule::REDIS).marks().count(), 0);
    /// ```
    pub fn marks(&self) -> impl Iterator<Item = (u32, &str, &Mark)> {
        self.marks
            .iter()
            .flat_map(|(slot, said)| said.iter().map(move |(id, mark)| (*slot, &**id, mark)))
    }
}
