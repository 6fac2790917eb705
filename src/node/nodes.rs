//! The membership table that every strategy embeds.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;

use super::locations::LocationIds;
use super::{Change, Location, Node, NodeId};
use crate::digest::Digest;
use crate::{Error, Limit};

/// The members of a router: names to ids to nodes, with sums kept.
///
/// Iteration is in order of name, which is the canonical order of the crate: ties between
/// nodes are broken by it.
///
/// | operation | cost |
/// |---|---|
/// | [`get`](Self::get), [`weight`](Self::weight), sums | O(1) |
/// | [`id`](Self::id) | O(log n) |
/// | [`apply`](Self::apply) | O(n) moves of four bytes |
///
/// ```
/// use hashroute::{Change, Node, Nodes};
///
/// let mut nodes = Nodes::new([Node::new("b"), Node::new("a").with_weight(2)])?;
/// nodes.apply(&Change::Add(Node::new("c").with_weight(0)))?;
/// assert_eq!((nodes.len(), nodes.weighted(), nodes.total_weight()), (3, 2, 3));
/// let names: Vec<_> = nodes.iter().map(|(_, node)| node.name()).collect();
/// assert_eq!(names, ["a", "b", "c"]);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Nodes {
    slots: Vec<Option<Node>>,
    by_name: Vec<NodeId>,
    free: BTreeSet<NodeId>,
    total_weight: u64,
    weighted: usize,
    // The zones and racks that hold a node with weight: when a search has seen that many, it can stop.
    zones: LocationIds<Option<Box<str>>>,
    racks: LocationIds<Location>,
    /// By index: the numbers of the zone and the rack, while the node has weight.
    numbers: Vec<(u32, u32)>,
}

/// The first nodes by name, and the number of all with a digest of the whole table.
impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self
            .iter()
            .take(8)
            .map(|(_, node)| alloc::format!("{node}"));
        let first: Vec<_> = first.collect();
        let Self {
            slots,
            by_name,
            free,
            total_weight,
            weighted,
            zones,
            racks,
            numbers,
        } = self;
        let table = (slots, by_name, free, total_weight, weighted);
        let state = (table, zones, racks, numbers);
        f.debug_struct("Nodes")
            .field("first", &first)
            .field("all", &Digest(self.len(), state))
            .finish()
    }
}

impl Nodes {
    /// A table whose ids follow the order given: for strategies in which the order is part
    /// of the state (jump).
    ///
    /// # Errors
    /// [`Error::EmptyName`], [`Error::DuplicateNode`], [`Error::Capacity`] beyond 2^32 - 1 nodes.
    ///
    /// ```
    /// use hashroute::{Node, Nodes};
    /// let nodes = Nodes::new([Node::new("b"), Node::new("a")])?;
    /// assert_eq!(nodes.id("b").map(|id| id.index()), Some(0));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(nodes: impl IntoIterator<Item = impl Into<Node>>) -> Result<Self, Error> {
        let slots: Vec<_> = nodes.into_iter().map(|node| Some(node.into())).collect();
        let mut table = Self {
            slots,
            ..Self::default()
        };
        for (index, node) in table.slots.iter().flatten().enumerate() {
            if node.name.is_empty() {
                return Err(Error::EmptyName);
            }
            table
                .by_name
                .push(NodeId::from_index(index).ok_or_else(too_many)?);
        }
        table
            .by_name
            .sort_unstable_by_key(|id| name_in(&table.slots, *id));
        for pair in table.by_name.windows(2) {
            let name = name_in(&table.slots, pair[0]);
            if name == name_in(&table.slots, pair[1]) {
                return Err(Error::DuplicateNode { name: name.into() });
            }
        }
        let slots = core::mem::take(&mut table.slots);
        for (index, node) in slots.iter().flatten().enumerate() {
            table.count(NodeId::from_index(index).ok_or_else(too_many)?, node);
        }
        table.slots = slots;
        Ok(table)
    }

    /// A table whose ids follow the names, so that the same set gives the same bytes in
    /// whatever order it was listed: for strategies whose state is a set.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// ```
    /// use hashroute::{Node, Nodes};
    /// let nodes = Nodes::sorted([Node::new("b"), Node::new("a")])?;
    /// assert_eq!(nodes.id("a").map(|id| id.index()), Some(0));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn sorted(nodes: impl IntoIterator<Item = impl Into<Node>>) -> Result<Self, Error> {
        let mut nodes: Vec<Node> = nodes.into_iter().map(Into::into).collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        Self::new(nodes)
    }

    /// How many members there are, those of weight 0 among them.
    ///
    /// ```
    /// assert_eq!(hashroute::Nodes::default().len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is no member.
    ///
    /// ```
    /// assert!(hashroute::Nodes::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// How many members have a weight above 0.
    ///
    /// ```
    /// # use hashroute::{Node, Nodes};
    /// assert_eq!(Nodes::new([Node::new("a"), Node::new("b").with_weight(0)])?.weighted(), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn weighted(&self) -> usize {
        self.weighted
    }

    /// The sum of all weights; it cannot overflow.
    ///
    /// ```
    /// # use hashroute::{Node, Nodes};
    /// let huge = |name: &str| Node::new(name).with_weight(u32::MAX);
    /// assert_eq!(Nodes::new([huge("a"), huge("b")])?.total_weight(), 2 * u64::from(u32::MAX));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn total_weight(&self) -> u64 {
        self.total_weight
    }

    /// One more than the largest index in use: the length of an array by [`NodeId::index`].
    ///
    /// ```
    /// # use hashroute::{Change, Node, Nodes};
    /// let mut nodes = Nodes::new([Node::new("a"), Node::new("b")])?;
    /// nodes.apply(&Change::remove("a"))?;
    /// assert_eq!((nodes.len(), nodes.id_bound()), (1, 2));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn id_bound(&self) -> usize {
        self.slots.len()
    }

    /// The id of a name.
    ///
    /// ```
    /// assert_eq!(hashroute::Nodes::default().id("a"), None);
    /// ```
    pub fn id(&self, name: &str) -> Option<NodeId> {
        self.rank(name).ok().map(|rank| self.by_name[rank])
    }

    /// The node of an id, `None` when it has left.
    ///
    /// ```
    /// # use hashroute::{Node, Nodes};
    /// let nodes = Nodes::new([Node::new("a")])?;
    /// let id = nodes.id("a").expect("a member");
    /// assert_eq!(nodes.get(id).map(Node::name), Some("a"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[inline]
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.slots.get(id.index())?.as_ref()
    }

    /// Returns the weight of a member; `None` for an id that has left.
    #[inline]
    pub fn weight(&self, id: NodeId) -> Option<u32> {
        self.get(id).map(Node::weight)
    }

    /// Returns the name of a member; `None` for an id that has left.
    #[inline]
    pub fn name(&self, id: NodeId) -> Option<&str> {
        self.get(id).map(Node::name)
    }

    /// The weight of an id, or 0 when it has left: it then has no share.
    #[inline]
    pub(crate) fn weight_or_zero(&self, id: NodeId) -> u32 {
        self.weight(id).unwrap_or(0)
    }

    /// All members in order of name.
    ///
    /// ```
    /// # use hashroute::{Node, Nodes};
    /// let nodes = Nodes::new([Node::new("b"), Node::new("a")])?;
    /// assert!(nodes.iter().map(|(_, node)| node.name()).eq(["a", "b"]));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn iter(&self) -> NodesIter<'_> {
        NodesIter {
            ids: self.by_name.iter(),
            slots: &self.slots,
        }
    }

    /// The ids of all nodes in order of name.
    ///
    /// ```
    /// # use hashroute::Nodes;
    /// let nodes = Nodes::new(["b", "a"])?;
    /// assert_eq!(nodes.ids().map(|id| id.index()).collect::<Vec<_>>(), [1, 0]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + '_ {
        self.by_name.iter().copied()
    }

    /// How many zones hold a node with weight. Nodes without a zone count as one unnamed zone,
    /// since nothing says that they would fail apart.
    pub(crate) fn zones(&self) -> usize {
        self.zones.len()
    }

    /// The number of a node's zone, for telling zones apart.
    pub(crate) fn zone_number(&self, id: NodeId) -> usize {
        self.numbers
            .get(id.index())
            .map_or(0, |(zone, _)| *zone as usize)
    }

    /// The number of a node's rack, for telling racks apart.
    pub(crate) fn rack_number(&self, id: NodeId) -> usize {
        self.numbers
            .get(id.index())
            .map_or(0, |(_, rack)| *rack as usize)
    }

    /// How many racks hold a node with weight.
    pub(crate) fn racks(&self) -> usize {
        self.racks.len()
    }

    /// Returns the id that a change takes away: that of a member which is to leave.
    pub(crate) fn leaving(&self, change: &Change) -> Option<NodeId> {
        match change {
            Change::Remove(name) => self.id(name),
            Change::Add(_) | Change::Reweight(..) => None,
        }
    }

    /// Whether [`apply`](Self::apply) would take this change.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    ///
    /// ```
    /// use hashroute::{Change, Error, Nodes};
    /// let error = Nodes::default().check(&Change::remove("a")).unwrap_err();
    /// assert_eq!(error, Error::UnknownNode { name: "a".into() });
    /// ```
    pub fn check(&self, change: &Change) -> Result<(), Error> {
        match change {
            Change::Add(node) if node.name.is_empty() => Err(Error::EmptyName),
            Change::Add(node) if self.rank(&node.name).is_ok() => Err(Error::DuplicateNode {
                name: node.name.clone(),
            }),
            Change::Add(_) if NodeId::from_index(self.slots.len()).is_none() => Err(too_many()),
            Change::Add(_) => Ok(()),
            Change::Remove(name) | Change::Reweight(name, _) => match self.rank(name) {
                Ok(_) => Ok(()),
                Err(_) => Err(Error::UnknownNode { name: name.clone() }),
            },
        }
    }

    /// Make one change and give the id of the node it was about.
    ///
    /// # Errors
    /// [`Error::EmptyName`], [`Error::DuplicateNode`] and [`Error::Capacity`] for an addition,
    /// [`Error::UnknownNode`] for the others. Nothing has changed then.
    ///
    /// ```
    /// use hashroute::{Change, Node, Nodes};
    /// let mut nodes = Nodes::default();
    /// let id = nodes.apply(&Change::Add(Node::new("a")))?;
    /// nodes.apply(&Change::reweight("a", 5))?;
    /// assert_eq!(nodes.weight(id), Some(5));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn apply(&mut self, change: &Change) -> Result<NodeId, Error> {
        self.check(change)?;
        match change {
            Change::Add(node) => self.add(node.clone()),
            Change::Remove(name) => self.remove(name),
            Change::Reweight(name, weight) => self.reweight(name, *weight),
        }
    }

    /// A copy with one change made: for routers that must look at the result before they agree.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    ///
    /// ```
    /// # use hashroute::{Change, Node, Nodes};
    /// let before = Nodes::new([Node::new("a")])?;
    /// assert_eq!((before.len(), before.after(&Change::remove("a"))?.len()), (1, 0));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn after(&self, change: &Change) -> Result<Self, Error> {
        self.check(change)?;
        let mut nodes = self.clone();
        nodes.apply(change)?;
        Ok(nodes)
    }

    fn add(&mut self, node: Node) -> Result<NodeId, Error> {
        let id = match self.free.pop_first() {
            Some(id) => id,
            None => NodeId::from_index(self.slots.len()).ok_or_else(too_many)?,
        };
        self.count(id, &node);
        let (Ok(rank) | Err(rank)) = self.rank(&node.name);
        self.by_name.insert(rank, id);
        if id.index() == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[id.index()] = Some(node);
        Ok(id)
    }

    fn reweight(&mut self, name: &str, weight: u32) -> Result<NodeId, Error> {
        let unknown = || Error::UnknownNode { name: name.into() };
        let id = self.id(name).ok_or_else(unknown)?;
        let node = self.slots[id.index()].take().ok_or_else(unknown)?;
        self.uncount(&node);
        let node = node.with_weight(weight);
        self.count(id, &node);
        self.slots[id.index()] = Some(node);
        Ok(id)
    }

    fn remove(&mut self, name: &str) -> Result<NodeId, Error> {
        let unknown = || Error::UnknownNode { name: name.into() };
        let rank = self.rank(name).map_err(|_| unknown())?;
        let id = self.by_name.remove(rank);
        let node = self.slots[id.index()].take().ok_or_else(unknown)?;
        self.uncount(&node);
        self.free.insert(id);
        // Trailing holes go, so that last in, first out leaves no trace.
        while self.slots.last().is_some_and(Option::is_none) {
            self.slots.pop();
            self.numbers.pop();
            self.free.pop_last();
        }
        Ok(id)
    }

    fn rank(&self, name: &str) -> Result<usize, usize> {
        self.by_name
            .binary_search_by(|&id| name_in(&self.slots, id).cmp(name))
    }

    fn count(&mut self, id: NodeId, node: &Node) {
        self.total_weight += u64::from(node.weight);
        self.numbers
            .resize(self.numbers.len().max(id.index() + 1), (0, 0));
        if node.weight > 0 {
            self.weighted += 1;
            let (zone, rack) = (
                self.zones.enter(node.location().0),
                self.racks.enter(node.location()),
            );
            self.numbers[id.index()] = (zone, rack);
        }
    }

    fn uncount(&mut self, node: &Node) {
        self.total_weight -= u64::from(node.weight);
        if node.weight > 0 {
            self.weighted -= 1;
            let location = node.location();
            self.zones.leave(&location.0);
            self.racks.leave(&location);
        }
    }

    /// Bytes on the heap, names included, zones, racks and allocator overhead not.
    ///
    /// ```
    /// assert_eq!(hashroute::Nodes::default().heap_bytes(), 0);
    /// ```
    pub fn heap_bytes(&self) -> usize {
        let names: usize = self
            .slots
            .iter()
            .flatten()
            .map(|node| node.name.len())
            .sum();
        names
            + self.slots.capacity() * size_of::<Option<Node>>()
            + self.by_name.capacity() * size_of::<NodeId>()
            + self.numbers.capacity() * size_of::<(u32, u32)>()
    }
}

/// Equal tables have the same nodes under the same ids, however they came to be.
///
/// ```
/// use hashroute::{Change, Nodes};
///
/// let mut nodes = Nodes::new(["a"])?;
/// nodes.apply(&Change::add("b"))?;
/// assert_eq!(nodes, Nodes::new(["a", "b"])?);
/// # Ok::<(), hashroute::Error>(())
/// ```
impl PartialEq for Nodes {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other)
    }
}

impl Eq for Nodes {}

impl<'a> IntoIterator for &'a Nodes {
    type Item = (NodeId, &'a Node);
    type IntoIter = NodesIter<'a>;

    fn into_iter(self) -> NodesIter<'a> {
        self.iter()
    }
}

/// The members of a [`Nodes`] in order of name.
#[derive(Clone, Debug)]
pub struct NodesIter<'a> {
    ids: core::slice::Iter<'a, NodeId>,
    slots: &'a [Option<Node>],
}

impl<'a> NodesIter<'a> {
    fn named(&self, id: NodeId) -> Option<(NodeId, &'a Node)> {
        Some((id, self.slots.get(id.index())?.as_ref()?))
    }
}

impl<'a> Iterator for NodesIter<'a> {
    type Item = (NodeId, &'a Node);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let id = *self.ids.next()?;
        self.named(id)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ids.size_hint()
    }
}

impl DoubleEndedIterator for NodesIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let id = *self.ids.next_back()?;
        self.named(id)
    }
}

impl ExactSizeIterator for NodesIter<'_> {}

fn name_in(slots: &[Option<Node>], id: NodeId) -> &str {
    slots
        .get(id.index())
        .and_then(Option::as_ref)
        .map_or("", Node::name)
}

fn too_many() -> Error {
    Error::Capacity {
        what: Limit::Nodes,
        wanted: u64::from(u32::MAX) + 1,
        limit: u64::from(u32::MAX),
        advice: "split the cluster",
    }
}
