//! One table from the views of several servers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{ClusterNode, Flags, Mark, Role, SlotRange, Table};
use crate::Error;

impl Table {
    /// Merges the views of several servers, such as the output of `CLUSTER NODES` on each of them,
    /// into one table.
    ///
    /// The slots and the properties of a node come from the view that shows it under the highest
    /// epoch. At a tie the node's own view comes first, because a server knows itself best; then the
    /// first view. If two nodes claim a slot, the higher epoch gets it. A node counts as failed or
    /// suspected if any view says so, unless its own view was chosen. The marks of all views are
    /// kept, and no node is [`myself`](Self::myself). O(views x (slots + n log n)).
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] without views, or for views with different rules;
    /// [`Error::Capacity`] beyond [`MAX_NODES`](Self::MAX_NODES).
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// // b has taken slot 7; a does not know it yet.
    /// let of_a = "a h:1@1 myself,master - 0 0 1 connected 0-9\nb h:2@2 master - 0 0 2 connected 10-99";
    /// let of_b = "a h:1@1 master - 0 0 1 connected 0-6 8-9\nb h:2@2 myself,master - 0 0 3 connected 7 10-99";
    /// let views = [of_a, of_b].map(|text| Table::from_text(text, SlotRule::REDIS));
    /// let views = views.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// let table = Table::from_views(&views)?;
    /// assert_eq!(table.owner(7).map(|node| node.id()), Some("b"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn from_views(views: &[Self]) -> Result<Self, Error> {
        let Some(first) = views.first() else {
            return Err(Error::parameter(
                "views",
                "none",
                "the view of at least one server",
            ));
        };
        if let Some(other) = views.iter().find(|view| view.rule() != first.rule()) {
            let expected =
                alloc::format!("{} slots under one rule in all views", first.rule().slots());
            return Err(Error::parameter("slots", other.rule().slots(), expected));
        }
        let best = best_views(views);
        let nodes = best
            .iter()
            .map(|(id, (at, own))| told(views, id, *at, *own));
        let mut table = Self::with_nodes(first.rule().clone(), nodes.flatten())?;
        for (at, view) in views.iter().enumerate() {
            for (range, owner) in view.runs() {
                let owner = owner.map(ClusterNode::id);
                let owner = owner.filter(|id| best.get(id).is_some_and(|(best, _)| *best == at));
                table.claim_if_primary(owner, range)?;
            }
            for (slot, id, mark) in view.marks() {
                table.keep_mark(slot, id, mark)?;
            }
            table.current_epoch = table.current_epoch.max(view.current_epoch);
        }
        Ok(table)
    }

    fn claim_if_primary(&mut self, id: Option<&str>, range: SlotRange) -> Result<(), Error> {
        let node = id.and_then(|id| self.node(id));
        match (id, node.map(ClusterNode::role)) {
            (Some(id), Some(Role::Primary)) => self.claim(id, range).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn keep_mark(&mut self, slot: u32, id: &str, mark: &Mark) -> Result<(), Error> {
        if self.index_of(id).is_some() {
            self.mark(slot, id, mark.clone())?;
        }
        Ok(())
    }
}

/// Returns for each node the index of the chosen view, and whether that view is the node's own.
fn best_views(views: &[Table]) -> BTreeMap<&str, (usize, bool)> {
    let mut best: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    let epoch = |at: usize, id: &str| views[at].node(id).map(ClusterNode::epoch);
    for (at, view) in views.iter().enumerate() {
        for node in view.nodes() {
            let own = node.flags().myself;
            let entry = best.entry(node.id()).or_insert((at, own));
            if (Some(node.epoch()), own) > (epoch(entry.0, node.id()), entry.1) {
                *entry = (at, own);
            }
        }
    }
    best
}

/// Returns a node from the chosen view, with the failure flags of all views.
fn told(views: &[Table], id: &str, at: usize, own: bool) -> Option<ClusterNode> {
    let node = views.get(at)?.node(id)?.clone();
    let seen: Vec<Flags> = views
        .iter()
        .filter_map(|view| Some(view.node(id)?.flags()))
        .collect();
    let flags = Flags {
        myself: false,
        failed: !own && seen.iter().any(|flags| flags.failed),
        suspected: !own && seen.iter().any(|flags| flags.suspected),
        ..node.flags()
    };
    Some(node.with_flags(flags))
}
