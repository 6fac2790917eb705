//! The table of members that every strategy embeds.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;

use super::locations::LocationIds;
use super::{Change, Location, Node, NodeId};
use crate::digest::Digest;
use crate::{Error, Limit};

/// The members of a router. Maps names to ids and ids to nodes, and keeps the sums of weights.
///
/// Iteration is in order of name. This is the canonical order of the crate: it decides ties between
/// nodes.
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
    // The zones and racks that have a node with weight. A search that has seen that many can stop.
    zones: LocationIds<Option<Box<str>>>,
    racks: LocationIds<Location>,
    /// The numbers of the zone and the rack of each node with weight, by index.
    numbers: Vec<(u32, u32)>,
}

/// Prints the first eight nodes by name, and the number and a digest of all.
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
    /// Builds a table with ids in the given order, for strategies in which the order matters
    /// (jump). O(n log n).
    ///
    /// # Errors
    /// [`Error::EmptyName`], [`Error::DuplicateNode`]; [`Error::Capacity`] above 2^32 - 1 nodes.
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

    /// Builds a table with ids in order of name, so that the same set gives the same table in any
    /// order of insertion. O(n log n).
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
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

    /// Returns the number of members, including those with weight 0.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns the number of members with a weight above 0.
    pub fn weighted(&self) -> usize {
        self.weighted
    }

    /// Returns the sum of all weights. It cannot overflow.
    pub fn total_weight(&self) -> u64 {
        self.total_weight
    }

    /// Returns one more than the largest index in use: the length of an array indexed by
    /// [`NodeId::index`].
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

    /// Returns the id of the member with this name. O(log n).
    pub fn id(&self, name: &str) -> Option<NodeId> {
        self.rank(name).ok().map(|rank| self.by_name[rank])
    }

    /// Returns the node of an id; `None` if it has left.
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

    /// Returns the weight of a member; `None` if it has left.
    #[inline]
    pub fn weight(&self, id: NodeId) -> Option<u32> {
        self.get(id).map(Node::weight)
    }

    /// Returns the name of a member; `None` if it has left.
    #[inline]
    pub fn name(&self, id: NodeId) -> Option<&str> {
        self.get(id).map(Node::name)
    }

    /// Returns the weight of a member; 0 if it has left, because it then has no share.
    #[inline]
    pub(crate) fn weight_or_zero(&self, id: NodeId) -> u32 {
        self.weight(id).unwrap_or(0)
    }

    /// Returns all members in order of name.
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

    /// Returns the ids of all members in order of name.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + '_ {
        self.by_name.iter().copied()
    }

    /// Returns the number of zones with a weighted node. All nodes without a zone count as one
    /// unnamed zone, because they may fail together.
    pub(crate) fn zones(&self) -> usize {
        self.zones.len()
    }

    /// Returns the number of the zone of a node. Different zones have different numbers.
    pub(crate) fn zone_number(&self, id: NodeId) -> usize {
        self.numbers
            .get(id.index())
            .map_or(0, |(zone, _)| *zone as usize)
    }

    /// Returns the number of the rack of a node. Different racks have different numbers.
    pub(crate) fn rack_number(&self, id: NodeId) -> usize {
        self.numbers
            .get(id.index())
            .map_or(0, |(_, rack)| *rack as usize)
    }

    /// Returns the number of racks with a weighted node.
    pub(crate) fn racks(&self) -> usize {
        self.racks.len()
    }

    /// Returns the id of the member that a change removes.
    pub(crate) fn leaving(&self, change: &Change) -> Option<NodeId> {
        match change {
            Change::Remove(name) => self.id(name),
            Change::Add(_) | Change::Reweight(..) => None,
        }
    }

    /// Checks a change without applying it.
    ///
    /// # Errors
    /// The errors of [`apply`](Self::apply).
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

    /// Applies one change and returns the id of its node.
    ///
    /// # Errors
    /// [`Error::EmptyName`], [`Error::DuplicateNode`] and [`Error::Capacity`] for a node that
    /// joins; [`Error::UnknownNode`] for the other changes. Nothing changes then.
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

    /// Returns a copy with one change applied, for routers that must check the result before they
    /// accept it.
    ///
    /// # Errors
    /// The errors of [`apply`](Self::apply).
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
        // Unused indexes at the end are dropped, so that adding nodes and removing them in reverse
        // order restores the table exactly.
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

    /// Returns the number of bytes on the heap, with names, but without zones, racks and the
    /// overhead of the allocator.
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

/// Two tables are equal if they have the same nodes with the same ids. Earlier changes do not
/// matter.
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

/// An iterator over the members of a [`Nodes`] in order of name.
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
