//! The members of two routers together, told apart by name.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::change::diff::Pair;
use crate::{Error, Node, NodeId, Nodes};

/// The nodes of an old and a new router. Ids follow the names, so that both routers' ids can be
/// compared once they are turned into these.
#[derive(Clone, Debug)]
pub(crate) struct Union {
    nodes: Nodes,
    /// By the index in the old router, and in the new.
    ids: [Vec<Option<NodeId>>; 2],
}

impl Union {
    /// A node that is in both is as the new one has it, but with the larger of its weights: it
    /// serves what it has not given away yet.
    pub(crate) fn new(old: &Nodes, new: &Nodes) -> Result<Self, Error> {
        let mut by_name: BTreeMap<&str, Node> = BTreeMap::new();
        for (_, node) in old.iter().chain(new.iter()) {
            let before = by_name.get(node.name()).map_or(0, Node::weight);
            let weight = node.weight().max(before);
            by_name.insert(node.name(), node.clone().with_weight(weight));
        }
        let nodes = Nodes::sorted(by_name.into_values())?;
        let ids = [old, new].map(|members| {
            let mut ids = vec![None; members.id_bound()];
            for (id, node) in members.iter() {
                ids[id.index()] = nodes.id(node.name());
            }
            ids
        });
        Ok(Self { nodes, ids })
    }

    pub(crate) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// An id of the old router (0) or the new one (1) as one of both.
    #[inline]
    pub(crate) fn id(&self, side: usize, id: NodeId) -> Option<NodeId> {
        self.ids[side].get(id.index()).copied().flatten()
    }

    /// What the old and the new router say, as ids of both.
    #[inline]
    pub(crate) fn pair(&self, owners: [Option<NodeId>; 2]) -> Pair {
        let [old, new] = owners;
        [
            old.and_then(|id| self.id(0, id)),
            new.and_then(|id| self.id(1, id)),
        ]
    }

    /// Whether both are the same nodes under the same ids.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.ids == other.ids && self.nodes.iter().eq(other.nodes.iter())
    }

    /// The names of a pair.
    pub(crate) fn names(&self, pair: Pair) -> [Option<&str>; 2] {
        pair.map(|id| Some(self.nodes.get(id?)?.name()))
    }
}
