//! Preference lists: N distinct nodes for a key, spread over zones and racks, for every
//! strategy alike (Dynamo, SOSP 2007, section 4.3; Cassandra's `NetworkTopologyStrategy`).
//!
//! The list is made in up to three passes over [`Router::walk`], each of which takes, in order
//! of preference, the nodes that bring something new: first a new zone, then a new rack, then
//! any node that is left. No pass depends on N, so a shorter list is a prefix of a longer one.

use core::ops::ControlFlow;

use smallvec::{SmallVec, smallvec};

use crate::{KeyHash, NodeId, Router};

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
    let mut out: SmallVec<[Option<NodeId>; 8]> = smallvec![None; n.min(router.nodes().weighted())];
    router.replicas_into(key, spread, &mut out);
    out.into_iter().flatten().collect()
}

pub(crate) fn fill<R: Router + ?Sized>(
    router: &R,
    key: KeyHash,
    spread: Spread,
    out: &mut [Option<NodeId>],
) -> usize {
    let wanted = out.len().min(router.nodes().weighted());
    let out = &mut out[..wanted];
    if wanted <= SCANNED {
        return List::new(out, &mut []).fill(router, key, spread);
    }
    List::new(out, &mut [0; BIT_WORDS]).fill(router, key, spread)
}

/// Up to this length a scan of the list is the quickest way to see what is in it.
const SCANNED: usize = 32;
/// Longer lists keep a bit for each of the first 131,072 zones, racks or nodes, on the stack,
/// since a lookup does not allocate.
const BIT_WORDS: usize = 2048;

struct List<'a> {
    out: &'a mut [Option<NodeId>],
    len: usize,
    bits: &'a mut [u64],
}

impl<'a> List<'a> {
    fn new(out: &'a mut [Option<NodeId>], bits: &'a mut [u64]) -> Self {
        Self { out, len: 0, bits }
    }

    fn fill<R: Router + ?Sized>(mut self, router: &R, key: KeyHash, spread: Spread) -> usize {
        let nodes = router.nodes();
        if spread == Spread::Zones {
            self.pass(router, key, nodes.zones(), |id| nodes.zone_number(id));
        }
        if spread != Spread::Nodes {
            self.pass(router, key, nodes.racks(), |id| nodes.rack_number(id));
        }
        self.pass(router, key, usize::MAX, NodeId::index);
        self.len
    }

    /// Take every node whose group is not in the list, until `enough` are there.
    fn pass<R: Router + ?Sized>(
        &mut self,
        router: &R,
        key: KeyHash,
        enough: usize,
        group: impl Fn(NodeId) -> usize,
    ) {
        let enough = enough.min(self.out.len());
        if self.len >= enough {
            return;
        }
        self.bits.fill(0);
        for id in self.out[..self.len].iter().flatten() {
            mark(self.bits, group(*id));
        }
        router.walk(key, &mut |id| {
            if self.len < enough && !self.has(group(id), &group) {
                mark(self.bits, group(id));
                self.out[self.len] = Some(id);
                self.len += 1;
            }
            if self.len < enough {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
    }

    fn has(&self, wanted: usize, group: &impl Fn(NodeId) -> usize) -> bool {
        match self.bits.get(wanted / 64) {
            Some(word) => word >> (wanted % 64) & 1 == 1,
            None => self.out[..self.len]
                .iter()
                .flatten()
                .any(|id| group(*id) == wanted),
        }
    }
}

fn mark(bits: &mut [u64], group: usize) {
    if let Some(word) = bits.get_mut(group / 64) {
        *word |= 1 << (group % 64);
    }
}
