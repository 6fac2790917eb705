//! The members of two routers together, matched by name.

use alloc::vec::Vec;

use crate::{Error, Node, NodeId, Nodes};

/// The old and the new owner, as ids of the union.
pub type Pair = [Option<NodeId>; 2];

/// The nodes of an old and a new side, matched by name. The ids of the union follow the names.
/// After translation into them, ids of both sides can be compared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Matched<'a> {
    /// Each node as it is on the old and on the new side, in order of name.
    pub pairs: Vec<[Option<&'a Node>; 2]>,
    /// `ids[0]` translates old ids into union ids, `ids[1]` new ids. A union id is an index in
    /// `pairs`.
    pub ids: [Vec<Option<NodeId>>; 2],
}

impl<'a> Matched<'a> {
    /// Matches nodes that come with their indexes. O(n log n).
    pub fn new<I>(sides: [I; 2]) -> Self
    where
        I: Iterator<Item = (usize, &'a Node)>,
    {
        let sides = (0..).zip(sides);
        let all = sides.flat_map(|(side, nodes)| nodes.map(move |entry| (side, entry)));
        let mut all: Vec<(usize, (usize, &Node))> = all.collect();
        let name = |entry: &(usize, (usize, &'a Node))| entry.1.1.name();
        all.sort_by(|a, b| name(a).cmp(name(b)));
        let (mut pairs, mut ids) = (Vec::new(), [Vec::new(), Vec::new()]);
        for same in all.chunk_by(|a, b| name(a) == name(b)) {
            let mut pair = [None; 2];
            for &(side, (index, node)) in same {
                let ids: &mut Vec<_> = &mut ids[side];
                ids.resize(ids.len().max(index + 1), None);
                ids[index] = NodeId::from_index(pairs.len());
                pair[side] = Some(node);
            }
            pairs.push(pair);
        }
        Self { pairs, ids }
    }

    /// Matches the members of two routers.
    pub fn of(old: &'a Nodes, new: &'a Nodes) -> Self {
        Self::new([old, new].map(|nodes| nodes.iter().map(|(id, node)| (id.index(), node))))
    }
}

/// The nodes of an old and a new router.
#[derive(Clone, Debug)]
pub(crate) struct Union {
    nodes: Nodes,
    ids: [Vec<Option<NodeId>>; 2],
}

impl Union {
    /// Builds the union. A node of both routers is taken from the new one, but with the larger of
    /// its two weights, because during a migration it still serves the keys that are to leave.
    pub(crate) fn new(old: &Nodes, new: &Nodes) -> Result<Self, Error> {
        let Matched { pairs, ids } = Matched::of(old, new);
        let nodes = pairs.into_iter().filter_map(|[old, new]| {
            let weight = old.map_or(0, Node::weight).max(new.map_or(0, Node::weight));
            Some(new.or(old)?.clone().with_weight(weight))
        });
        Ok(Self {
            nodes: Nodes::sorted(nodes)?,
            ids,
        })
    }

    pub(crate) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Translates an id of the old router (0) or of the new router (1) into a union id.
    #[inline]
    pub(crate) fn id(&self, side: usize, id: NodeId) -> Option<NodeId> {
        self.ids[side].get(id.index()).copied().flatten()
    }

    /// Translates the owners in the old and in the new router into union ids.
    #[inline]
    pub(crate) fn pair(&self, owners: [Option<NodeId>; 2]) -> Pair {
        let [old, new] = owners;
        [
            old.and_then(|id| self.id(0, id)),
            new.and_then(|id| self.id(1, id)),
        ]
    }

    /// Returns whether two unions have the same nodes with the same ids.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.ids == other.ids && self.nodes.iter().eq(other.nodes.iter())
    }

    /// Returns the names of a pair.
    pub(crate) fn names(&self, pair: Pair) -> [Option<&str>; 2] {
        pair.map(|id| Some(self.nodes.get(id?)?.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Change;

    #[test]
    fn nodes_are_matched_by_name_and_unused_ids_are_skipped() -> Result<(), Error> {
        let mut old = Nodes::new(["c", "gone", "b"].map(|name| Node::new(name).with_weight(3)))?;
        old.apply(&Change::remove("gone"))?;
        let new = Nodes::new(["d", "b", "a"].map(|name| Node::new(name).with_zone("new")))?;
        let matched = Matched::of(&old, &new);
        let weights = |pair: &[Option<&Node>; 2]| pair.map(|node| node.map(Node::weight));
        let expected = [
            [None, Some(1)],
            [Some(3), Some(1)],
            [Some(3), None],
            [None, Some(1)],
        ];
        assert!(matched.pairs.iter().map(weights).eq(expected));
        let union = Union::new(&old, &new)?;
        let names: Vec<_> = union.nodes().iter().map(|(_, node)| node.name()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        // From the new side, but with the larger weight.
        let both = union.nodes().get(union.nodes().id("b").ok_or(LOST)?);
        assert_eq!(
            both.map(|node| (node.weight(), node.zone())),
            Some((3, Some("new")))
        );
        let pair = union.pair([old.id("c"), new.id("d")]);
        assert_eq!(union.names(pair), [Some("c"), Some("d")]);
        assert_eq!(
            union.pair([NodeId::from_index(1), NodeId::from_index(9)]),
            [None, None]
        );
        Ok(())
    }

    const LOST: Error = Error::Unsupported {
        what: crate::Refusal::Other("a node is lost"),
        advice: "",
    };
}
