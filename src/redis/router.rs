//! Conversions between a cluster's [`Table`] and the router [`HashSlots`].

use alloc::vec::Vec;

use super::{ClusterNode, Role, SlotRule, Table};
use crate::{Error, HashSlots, Node, Nodes, Router};

/// Builds a router with the owners of the table. The id becomes the node's name. The weight is 1
/// for a primary with slots and 0 for a primary without, so that it gets no slots until its weight
/// is raised. Replicas are left out. O(slots + n log n).
///
/// # Errors
///
/// Those of [`Nodes::new`]; no table causes one.
///
/// ```
/// use hashroute::redis::{SlotRule, Table};
/// use hashroute::{HashSlots, Node, Router};
///
/// let table = Table::from_text("07c3 10.0.0.1:1@2 master - 0 0 1 connected 0-16382", SlotRule::REDIS)?;
/// let router = HashSlots::try_from(&table)?;
/// assert_eq!(router.route(b"foo").map(Node::name), Some("07c3"));
/// assert_eq!(router.owner(16_383), None);
/// # Ok::<(), hashroute::Error>(())
/// ```
impl TryFrom<&Table> for HashSlots {
    type Error = Error;

    fn try_from(table: &Table) -> Result<Self, Error> {
        let nodes = table.nodes().iter().zip(table.counts());
        let primaries = nodes.filter(|(node, _)| node.role() == Role::Primary);
        let nodes = Nodes::new(
            primaries.map(|(node, count)| Node::new(node.id()).with_weight(count.min(1))),
        )?;
        let ids: Vec<_> = table
            .nodes()
            .iter()
            .map(|node| nodes.id(node.id()))
            .collect();
        let slots = 0..table.rule().slots();
        let owners = slots.map(|slot| ids.get(table.owner_index(slot)?).copied().flatten());
        let owners = owners.collect();
        Self::from_owners(nodes, table.rule().hasher().clone(), owners)
    }
}

/// Builds a table with the owners of the router. Every node becomes a primary without an address;
/// its name becomes the id. O(slots + n log n).
///
/// # Errors
///
/// Those of [`ClusterNode::new`] for a name that is no valid id; [`Error::Capacity`] beyond
/// [`SlotRule::MAX_SLOTS`] or [`Table::MAX_NODES`].
///
/// ```
/// use hashroute::redis::Table;
/// use hashroute::{HashSlots, KeyHasher, Node};
///
/// let router = HashSlots::new(["a", "b"].map(Node::new))?.with_hasher(KeyHasher::REDIS);
/// let table = Table::try_from(&router)?;
/// assert_eq!(table.ranges("b"), [8192..=16_383]);
/// # Ok::<(), hashroute::Error>(())
/// ```
impl TryFrom<&HashSlots> for Table {
    type Error = Error;

    fn try_from(router: &HashSlots) -> Result<Self, Error> {
        let owners = router.owners();
        let count = u32::try_from(owners.len()).unwrap_or(u32::MAX);
        let hasher = router.hash_id().hasher().cloned().unwrap_or_default();
        let nodes = router.nodes();
        let members: Result<Vec<_>, _> = nodes
            .iter()
            .map(|(_, node)| ClusterNode::new(node.name()))
            .collect();
        let mut table = Self::with_nodes(SlotRule::new(hasher, count)?, members?)?;
        let mut start = 0;
        for run in owners.chunk_by(|a, b| a == b) {
            let end = start + u32::try_from(run.len()).unwrap_or(u32::MAX);
            if let Some(id) = run[0] {
                table.assign(start..=end - 1, nodes.name(id).unwrap_or_default())?;
            }
            start = end;
        }
        Ok(table)
    }
}
