//! Preference lists: the first N distinct nodes of a key, its replicas, spread over zones and
//! racks. They work alike for every strategy (Dynamo, SOSP 2007, section 4.3; Cassandra's
//! `NetworkTopologyStrategy`).
//!
//! Up to three passes over [`Router::walk`] build a list. The first takes nodes in zones that the
//! list does not have yet, the second nodes in new racks, the third any node that is left. No pass
//! depends on N, so a shorter list is a prefix of a longer one.

use core::fmt;
use core::ops::{ControlFlow, Deref};
use core::str::FromStr;

use smallvec::SmallVec;

use crate::{Error, KeyHash, NodeId, Router};

/// Chooses how the nodes of a preference list are spread over racks and zones.
///
/// All nodes without a zone count as one unnamed zone, because they may fail together. All nodes
/// of a zone without a rack count as one unnamed rack.
///
/// ```
/// use hashroute::{Node, Rendezvous, Router, RouterExt, Spread};
///
/// let nodes = ["a1", "a2", "b1"].map(|name| Node::new(name).with_zone(&name[..1]));
/// let router = Rendezvous::new(nodes)?;
/// let list = router.replicas(b"user:42", 3, Spread::Zones);
/// let zones: Vec<_> = list.iter().filter_map(|&id| router.nodes().get(id)?.zone()).collect();
/// assert_ne!(zones[0], zones[1]); // both zones first, then any node
/// assert_eq!(list.len(), 3);
/// assert_eq!("zones".parse::<Spread>()?.to_string(), "zones");
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Spread {
    /// Distinct nodes in any zone and rack.
    #[default]
    Nodes,
    /// Distinct racks first, then any node.
    Racks,
    /// Distinct zones first, then distinct racks, then any node.
    Zones,
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nodes => "nodes",
            Self::Racks => "racks",
            Self::Zones => "zones",
        })
    }
}

impl FromStr for Spread {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "nodes" => Ok(Self::Nodes),
            "racks" => Ok(Self::Racks),
            "zones" => Ok(Self::Zones),
            _ => Err(Error::parameter("spread", text, "nodes, racks or zones")),
        }
    }
}

/// A preference list: distinct nodes in order of preference, the owner first. Dereferences to a
/// slice. Holds up to eight nodes without an allocation.
///
/// ```
/// use hashroute::{Ring, Router, RouterExt, Spread};
///
/// let ring = Ring::new(["a", "b", "c"])?;
/// let list = ring.replicas(b"user:42", 2, Spread::Nodes);
/// let names: Vec<_> = list.iter().filter_map(|&id| ring.nodes().name(id)).collect();
/// assert_eq!(names.len(), 2);
/// assert_eq!(ring.route(b"user:42").map(|node| node.name()), names.first().copied());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeList(SmallVec<[NodeId; 8]>);

impl NodeList {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty list that holds `n` nodes before it allocates again.
    pub fn with_capacity(n: usize) -> Self {
        Self(SmallVec::with_capacity(n))
    }

    /// Adds a node at the end.
    pub fn push(&mut self, id: NodeId) {
        self.0.push(id);
    }

    /// Removes all nodes and keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps the first `n` nodes.
    pub fn truncate(&mut self, n: usize) {
        self.0.truncate(n);
    }

    /// Replaces each node by its id in another set of nodes. Drops a node without such an id.
    pub(crate) fn translate(&mut self, id: impl Fn(NodeId) -> Option<NodeId>) {
        let mut kept = 0;
        for at in 0..self.0.len() {
            if let Some(other) = id(self.0[at]) {
                self.0[kept] = other;
                kept += 1;
            }
        }
        self.0.truncate(kept);
    }

    /// Returns a slice of `n` nodes for the caller to overwrite. Their values mean nothing.
    #[inline]
    pub(crate) fn space(&mut self, n: usize) -> &mut [NodeId] {
        self.0.resize(n, NodeId::FIRST);
        &mut self.0
    }
}

impl Deref for NodeList {
    type Target = [NodeId];

    #[inline]
    fn deref(&self) -> &[NodeId] {
        &self.0
    }
}

impl fmt::Debug for NodeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl FromIterator<NodeId> for NodeList {
    fn from_iter<I: IntoIterator<Item = NodeId>>(ids: I) -> Self {
        Self(ids.into_iter().collect())
    }
}

impl IntoIterator for NodeList {
    type Item = NodeId;
    type IntoIter = NodeListIter;

    fn into_iter(self) -> NodeListIter {
        NodeListIter(self.0.into_iter())
    }
}

impl<'a> IntoIterator for &'a NodeList {
    type Item = &'a NodeId;
    type IntoIter = core::slice::Iter<'a, NodeId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<const N: usize> PartialEq<[NodeId; N]> for NodeList {
    fn eq(&self, other: &[NodeId; N]) -> bool {
        **self == *other
    }
}

impl PartialEq<[NodeId]> for NodeList {
    fn eq(&self, other: &[NodeId]) -> bool {
        **self == *other
    }
}

/// An iterator over the nodes of a [`NodeList`] by value.
#[derive(Clone, Debug)]
pub struct NodeListIter(smallvec::IntoIter<[NodeId; 8]>);

impl Iterator for NodeListIter {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for NodeListIter {
    fn next_back(&mut self) -> Option<NodeId> {
        self.0.next_back()
    }
}

impl ExactSizeIterator for NodeListIter {}

/// Returns owners and preference lists by value, for every [`Router`].
///
/// ```
/// use hashroute::{Node, Ring, Router, RouterExt, Spread};
///
/// let ring = Ring::new([("a", "z1"), ("b", "z1"), ("c", "z2")].map(|(name, zone)| Node::new(name).with_zone(zone)))?;
/// let list = ring.replicas(b"user:42", 2, Spread::Zones);
/// let zones: Vec<_> = list.iter().filter_map(|&id| ring.nodes().get(id)?.zone()).collect();
/// assert!(zones == ["z1", "z2"] || zones == ["z2", "z1"]);
/// # Ok::<(), hashroute::Error>(())
/// ```
pub trait RouterExt: Router {
    /// Returns the id of the owner of a key. [`route`](Router::route) returns the node itself.
    fn owner(&self, key: &[u8]) -> Option<NodeId> {
        self.route_hash(self.hash_key(key)?)
    }

    /// Returns the first `n` distinct nodes of a key's preference list: its replicas, the owner
    /// first. Returns fewer only if fewer nodes have a weight above 0, and none for a key that the
    /// router does not route. Allocates for more than eight.
    fn replicas(&self, key: &[u8], n: usize, spread: Spread) -> NodeList {
        match self.hash_key(key) {
            Some(hash) => self.replicas_hash(hash, n, spread),
            None => NodeList::new(),
        }
    }

    /// Returns the same list as [`replicas`](Self::replicas), for a key hash.
    fn replicas_hash(&self, key: KeyHash, n: usize, spread: Spread) -> NodeList {
        let mut list = NodeList::new();
        self.replicas_into(key, n, spread, &mut list);
        list
    }
}

impl<R: Router + ?Sized> RouterExt for R {}

pub(crate) fn fill<R: Router + ?Sized>(
    router: &R,
    key: KeyHash,
    n: usize,
    spread: Spread,
    out: &mut NodeList,
) {
    fill_within::<false, _>(router, key, n, spread, usize::MAX, out);
}

/// Fills a list as [`fill`] does, but looks at no more than `near` nodes of the walk. Returns whether
/// the list is complete.
pub(crate) fn fill_near<R: Router + ?Sized>(
    router: &R,
    key: KeyHash,
    n: usize,
    spread: Spread,
    near: usize,
    out: &mut NodeList,
) -> bool {
    fill_within::<true, _>(router, key, n, spread, near, out)
}

fn fill_within<const NEAR: bool, R: Router + ?Sized>(
    router: &R,
    key: KeyHash,
    n: usize,
    spread: Spread,
    near: usize,
    out: &mut NodeList,
) -> bool {
    let wanted = n.min(router.nodes().weighted());
    let space = out.space(wanted);
    let len = if wanted <= SCANNED {
        List::<NEAR>::new(near, space, &mut []).fill(router, key, spread)
    } else {
        List::<NEAR>::new(near, space, &mut [0; BIT_WORDS]).fill(router, key, spread)
    };
    out.truncate(len);
    len == wanted
}

/// The longest list that is scanned for a group. Up to this length a scan is faster than bits.
const SCANNED: usize = 32;
/// The number of words of bits for longer lists: a bit for each of the first 131,072 zones, racks
/// or nodes. They are on the stack, because a lookup must not allocate.
const BIT_WORDS: usize = 2048;

/// A list that is built. With `NEAR` it is given up after some nodes of the walk. That is a type
/// parameter since counting them takes 3 to 6 % of the instructions of a list.
struct List<'a, const NEAR: bool> {
    out: &'a mut [NodeId],
    len: usize,
    bits: &'a mut [u64],
    /// The number of nodes of the walk that may still be looked at. Only `NEAR` counts.
    left: usize,
}

impl<'a, const NEAR: bool> List<'a, NEAR> {
    fn new(left: usize, out: &'a mut [NodeId], bits: &'a mut [u64]) -> Self {
        Self {
            out,
            len: 0,
            bits,
            left,
        }
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

    /// Takes nodes of groups that are not in the list yet, until the list has `enough` nodes or no
    /// more may be looked at.
    fn pass<R: Router + ?Sized>(
        &mut self,
        router: &R,
        key: KeyHash,
        enough: usize,
        group: impl Fn(NodeId) -> usize,
    ) {
        let enough = enough.min(self.out.len());
        if self.len >= enough || (NEAR && self.left == 0) {
            return;
        }
        // The bits of the previous pass are of other groups: zones, then racks, then nodes.
        self.bits.fill(0);
        for id in &self.out[..self.len] {
            mark(self.bits, group(*id));
        }
        router.walk(key, &mut |id| {
            if self.len < enough && !self.has(group(id), &group) {
                mark(self.bits, group(id));
                self.out[self.len] = id;
                self.len += 1;
            }
            if NEAR {
                // A walk may go on although it was told to stop.
                self.left = self.left.saturating_sub(1);
            }
            if self.len < enough && (!NEAR || self.left > 0) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
    }

    fn has(&self, wanted: usize, group: &impl Fn(NodeId) -> usize) -> bool {
        match self.bits.get(wanted / 64) {
            Some(word) => word >> (wanted % 64) & 1 == 1,
            None => self.out[..self.len].iter().any(|id| group(*id) == wanted),
        }
    }
}

fn mark(bits: &mut [u64], group: usize) {
    if let Some(word) = bits.get_mut(group / 64) {
        *word |= 1 << (group % 64);
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;
    use crate::{Change, Error, Node, Nodes};

    /// Walks a given order, whatever the key, and counts the nodes that it offers. A deaf one goes on
    /// when it is told to stop.
    #[derive(Debug)]
    struct Fixed {
        nodes: Nodes,
        order: Vec<NodeId>,
        offered: AtomicUsize,
        is_deaf: bool,
    }

    impl Router for Fixed {
        fn nodes(&self) -> &Nodes {
            &self.nodes
        }

        fn route_hash(&self, _: KeyHash) -> Option<NodeId> {
            self.order.first().copied()
        }

        fn apply(&mut self, _: &Change) -> Result<(), Error> {
            Ok(())
        }

        fn walk(&self, _: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
            for &id in &self.order {
                self.offered.fetch_add(1, SeqCst);
                if visit(id).is_break() && !self.is_deaf {
                    return;
                }
            }
        }
    }

    const KEY: KeyHash = KeyHash::from_raw(7);

    /// Nodes in `zones` zones of three racks, and a walk that offers some of them twice.
    fn fixed(count: u64, zones: u64) -> Fixed {
        let draw = |i: u64, of: u64| KeyHash::from_integer(i).get() % of;
        let node = |i| {
            let (zone, rack) = (draw(i, zones), draw(i + 1000, 3));
            Node::new(i.to_string()).with_location(zone.to_string(), rack.to_string())
        };
        let nodes = Nodes::new((0..count).map(node)).expect("distinct names");
        let mut order: Vec<_> = nodes.ids().chain(nodes.ids()).collect();
        order.sort_by_key(|id| draw(id.index() as u64 + 2000, 1 << 20));
        Fixed {
            nodes,
            order,
            offered: AtomicUsize::new(0),
            is_deaf: false,
        }
    }

    /// The list as its definition has it: all new zones, then all new racks, then all nodes.
    fn by_definition(router: &Fixed, n: usize, spread: Spread) -> Vec<NodeId> {
        let place = |id| {
            let node = router.nodes.get(id).expect("a member");
            (node.zone(), node.rack())
        };
        let mut list = Vec::new();
        let mut take = |is_new: &dyn Fn(&[NodeId], NodeId) -> bool| {
            for &id in &router.order {
                if list.len() < n && is_new(&list, id) {
                    list.push(id);
                }
            }
        };
        if spread == Spread::Zones {
            take(&|list, id| list.iter().all(|&other| place(other).0 != place(id).0));
        }
        if spread != Spread::Nodes {
            take(&|list, id| list.iter().all(|&other| place(other) != place(id)));
        }
        take(&|list, id| !list.contains(&id));
        list
    }

    const SPREADS: [Spread; 3] = [Spread::Nodes, Spread::Racks, Spread::Zones];

    #[test]
    fn lists_are_those_of_the_definition() {
        for (count, zones) in [(0, 1), (1, 1), (7, 3), (40, 5), (70, 70), (200, 100)] {
            let router = fixed(count, zones);
            assert_eq!(router.owner(b"key"), router.order.first().copied());
            for spread in SPREADS {
                for n in (0..10).chain([31, 32, 33, 34, 64, 65, 190, 300]) {
                    let list = router.replicas_hash(KEY, n, spread);
                    let expected = by_definition(&router, n, spread);
                    assert_eq!(*list, *expected, "{count} {zones} {spread} {n}");
                    assert_eq!(router.replicas(b"key", n, spread), list);
                }
            }
        }
    }

    /// Groups that have no bit are searched in the list.
    #[test]
    fn lists_do_not_depend_on_the_number_of_bits() {
        let router = fixed(200, 100);
        for spread in SPREADS {
            let expected = by_definition(&router, 150, spread);
            for words in 0..5 {
                let (mut space, mut bits) = ([NodeId::FIRST; 150], [u64::MAX; 5]);
                let list = List::<false>::new(usize::MAX, &mut space, &mut bits[..words]);
                assert_eq!(list.fill(&router, KEY, spread), 150);
                assert_eq!(space, *expected, "{spread} {words}");
            }
        }
    }

    #[test]
    fn a_walk_ends_with_the_last_node_of_the_list() {
        let router = fixed(40, 5);
        for n in 1..=40 {
            let list = router.replicas_hash(KEY, n, Spread::Nodes);
            let end = router.order.iter().position(|id| Some(id) == list.last());
            assert_eq!(Some(router.offered.swap(0, SeqCst)), end.map(|at| at + 1));
        }
    }

    #[test]
    fn a_router_that_walks_on_after_the_end_gets_the_same_list() {
        let mut router = fixed(40, 5);
        for spread in SPREADS {
            let lists = [false, true].map(|is_deaf| {
                router.is_deaf = is_deaf;
                [1, 3, 33].map(|n| router.replicas_hash(KEY, n, spread))
            });
            assert_eq!(lists[0], lists[1]);
        }
    }

    #[test]
    fn every_word_of_a_spread_is_read_as_it_is_written() {
        for spread in SPREADS {
            assert_eq!(spread.to_string().parse(), Ok(spread));
        }
        assert!("zone".parse::<Spread>().is_err());
    }

    #[test]
    fn a_list_is_a_list() {
        let router = fixed(9, 9);
        let ids: Vec<_> = router.nodes.ids().collect();
        for n in 0..ids.len() {
            let list: NodeList = ids[..n].iter().copied().collect();
            assert!(list == ids[..n] && list != ids[n..][..1] && list != ids[..=n]);
            assert!((&list).into_iter().eq(&ids[..n]));
            let mut back = list.clone().into_iter();
            assert_eq!((back.len(), back.size_hint()), (n, (n, Some(n))));
            assert_eq!(
                (back.next(), back.next_back()),
                match n {
                    0 => (None, None),
                    1 => (Some(ids[0]), None),
                    _ => (Some(ids[0]), Some(ids[n - 1])),
                }
            );
            let mut shorter = list.clone();
            shorter.truncate(n / 2);
            assert_eq!(shorter, ids[..n / 2]);
            shorter.clear();
            shorter.push(ids[0]);
            assert_eq!(shorter, [ids[0]]);
            assert_ne!(shorter, [ids[1]]);
            // The odd ones go, the others get the number before.
            let mut moved = list;
            moved.translate(|id| (id.index() % 2 == 0).then(|| ids[id.index() / 2]));
            assert_eq!(moved, ids[..n.div_ceil(2)]);
        }
        assert!(NodeList::with_capacity(100).0.capacity() >= 100);
        assert_eq!(NodeList::new().space(3).len(), 3);
    }
}
