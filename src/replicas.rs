//! Preference lists: N distinct nodes for a key, spread over zones and racks, for every
//! strategy alike (Dynamo, SOSP 2007, section 4.3; Cassandra's `NetworkTopologyStrategy`).
//!
//! The list is made in up to three passes over [`Router::walk`], each of which takes, in order
//! of preference, the nodes that bring something new: first a new zone, then a new rack, then
//! any node that is left. No pass depends on N, so a shorter list is a prefix of a longer one.

use core::ops::ControlFlow;

use smallvec::{SmallVec, smallvec};

use crate::{KeyHash, Node, NodeId, Nodes, Router};

/// How far apart the nodes of a preference list should stand.
///
/// A node without a zone stands in one unnamed zone with all others of its kind, since nothing
/// says that they would fail apart; likewise for racks inside a zone.
///
/// ```
/// use hashroute::{Node, Rendezvous, Router, Spread};
///
/// let nodes = ["a1", "a2", "b1"].map(|name| Node::new(name).with_zone(&name[..1]));
/// let router = Rendezvous::new(nodes)?;
/// let list = router.replicas(router.hash_key(b"user:42"), 3, Spread::Zones);
/// let zones: Vec<_> = list.iter().filter_map(|&id| router.nodes().get(id)?.zone()).collect();
/// assert_ne!(zones[0], zones[1]); // both zones first, then whatever is left
/// assert_eq!(list.len(), 3);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Spread {
    /// Distinct nodes, wherever they stand.
    #[default]
    Nodes,
    /// Distinct racks first, then any node.
    Racks,
    /// Distinct zones first, then distinct racks, then any node.
    Zones,
}

pub(crate) fn list<R: Router + ?Sized>(
    router: &R,
    key: KeyHash,
    n: usize,
    spread: Spread,
) -> SmallVec<[NodeId; 8]> {
    let mut out: SmallVec<[Option<NodeId>; 8]> = smallvec![None; n.min(router.nodes().live())];
    router.replicas_into(key, spread, &mut out);
    out.into_iter().flatten().collect()
}

pub(crate) fn fill<R: Router + ?Sized>(
    router: &R,
    key: KeyHash,
    spread: Spread,
    out: &mut [Option<NodeId>],
) -> usize {
    let wanted = out.len().min(router.nodes().live());
    let out = &mut out[..wanted];
    if wanted <= SCANNED {
        return List {
            out,
            len: 0,
            bits: &mut [],
        }
        .fill(router, key, spread);
    }
    List {
        out,
        len: 0,
        bits: &mut [0; BIT_WORDS],
    }
    .fill(router, key, spread)
}

/// Up to this length a scan of the list is the quickest way to see who is in it.
const SCANNED: usize = 32;
/// Longer lists keep a bit for each of the first 131,072 nodes, on the stack, since a lookup
/// does not allocate.
const BIT_WORDS: usize = 2048;

/// Whether two nodes would fail apart.
type Apart = dyn Fn(&Node, &Node) -> bool;

struct List<'a> {
    out: &'a mut [Option<NodeId>],
    len: usize,
    bits: &'a mut [u64],
}

impl List<'_> {
    fn fill<R: Router + ?Sized>(mut self, router: &R, key: KeyHash, spread: Spread) -> usize {
        let nodes = router.nodes();
        if spread == Spread::Zones {
            self.pass(
                router,
                key,
                nodes.zones(),
                Some(&|a, b| a.zone() != b.zone()),
            );
        }
        if spread != Spread::Nodes {
            let apart = |a: &Node, b: &Node| (a.zone(), a.rack()) != (b.zone(), b.rack());
            self.pass(router, key, nodes.racks(), Some(&apart));
        }
        self.pass(router, key, usize::MAX, None);
        self.len
    }

    /// Take every node that stands apart from all those taken, until `enough` are there.
    fn pass<R: Router + ?Sized>(
        &mut self,
        router: &R,
        key: KeyHash,
        enough: usize,
        apart: Option<&Apart>,
    ) {
        let enough = enough.min(self.out.len());
        if self.len >= enough {
            return;
        }
        router.walk(key, &mut |id| {
            let stands_apart = |apart| self.stands_apart(router.nodes(), id, apart);
            if !self.contains(id) && apart.is_none_or(stands_apart) {
                self.push(id);
            }
            if self.len >= enough {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
    }

    fn stands_apart(&self, nodes: &Nodes, id: NodeId, apart: &Apart) -> bool {
        let mut taken = self.out[..self.len].iter().flatten();
        nodes.get(id).is_some_and(|node| {
            taken.all(|other| nodes.get(*other).is_none_or(|other| apart(node, other)))
        })
    }

    fn contains(&self, id: NodeId) -> bool {
        match self.bits.get(id.index() / 64) {
            Some(word) => word >> (id.index() % 64) & 1 == 1,
            None => self.out[..self.len].contains(&Some(id)),
        }
    }

    fn push(&mut self, id: NodeId) {
        if let Some(word) = self.bits.get_mut(id.index() / 64) {
            *word |= 1 << (id.index() % 64);
        }
        self.out[self.len] = Some(id);
        self.len += 1;
    }
}
