//! Nodes and the membership table that every strategy embeds.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;

mod change;
#[cfg(feature = "serde")]
mod flat;
mod locations;
mod server;

pub use self::change::Change;
use self::locations::LocationIds;
pub use self::server::Server;
use crate::digest::Digest;
use crate::{Error, Limit};

/// A member that keys can go to: a name, a weight and, optionally, a zone and a rack.
///
/// The **name** is the identity: two processes that know the same names agree, whatever
/// the order they learned them in. Weight 0 means known but owns nothing (drained).
///
/// ```
/// let node = hashroute::Node::new("cache-a").with_weight(2).with_location("eu-1", "rack-7");
/// assert_eq!((node.name(), node.weight()), ("cache-a", 2));
/// assert_eq!((node.zone(), node.rack()), (Some("eu-1"), Some("rack-7")));
/// ```
///
/// As text a node is `name` or `name=weight`, without its location. The last `=` divides, so a
/// name that has one is written with its weight.
///
/// ```
/// use hashroute::Node;
///
/// let node: Node = "cache-a=2".parse()?;
/// assert_eq!((node.name(), node.weight(), node.to_string()), ("cache-a", 2, "cache-a=2".into()));
/// assert_eq!(Node::new("a=b").to_string(), "a=b=1");
/// # Ok::<(), hashroute::Error>(())
/// ```
// Small, since a lookup ends with reading one of a table of them: half a cache line, with what
// no lookup reads elsewhere.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "flat::Node", into = "flat::Node"))]
pub struct Node {
    name: Box<str>,
    weight: u32,
    /// `None` without zone and rack.
    location: Option<Box<Location>>,
}

/// A node's zone and rack.
type Location = (Option<Box<str>>, Option<Box<str>>);

impl Node {
    /// A node of weight 1 with no location. The name is checked when the node joins a router.
    ///
    /// ```
    /// assert_eq!(hashroute::Node::new("10.0.0.1:6379").weight(), 1);
    /// ```
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Self {
            name: name.into(),
            weight: 1,
            location: None,
        }
    }

    /// The same node with this weight; 0 means known but owns nothing.
    ///
    /// ```
    /// assert_eq!(hashroute::Node::new("big").with_weight(8).weight(), 8);
    /// ```
    #[must_use]
    pub fn with_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// The same node in this zone, on the rack it had, if any. The empty text is no zone.
    ///
    /// ```
    /// assert_eq!(hashroute::Node::new("a").with_zone("eu-1").zone(), Some("eu-1"));
    /// ```
    #[must_use]
    pub fn with_zone(self, zone: impl Into<Box<str>>) -> Self {
        let (_, rack) = self.location();
        self.located(Some(zone.into()), rack)
    }

    /// The same node on this rack, in the zone it had, if any. The empty text is no rack.
    ///
    /// ```
    /// let node = hashroute::Node::new("a").with_zone("eu-1").with_rack("r2");
    /// assert_eq!((node.zone(), node.rack()), (Some("eu-1"), Some("r2")));
    /// ```
    #[must_use]
    pub fn with_rack(self, rack: impl Into<Box<str>>) -> Self {
        let (zone, _) = self.location();
        self.located(zone, Some(rack.into()))
    }

    /// The same node in this zone, on this rack of it. The empty text is none.
    ///
    /// ```
    /// assert_eq!(hashroute::Node::new("a").with_location("eu-1", "r2").rack(), Some("r2"));
    /// ```
    #[must_use]
    pub fn with_location(self, zone: impl Into<Box<str>>, rack: impl Into<Box<str>>) -> Self {
        self.located(Some(zone.into()), Some(rack.into()))
    }

    /// The name, which is the identity.
    ///
    /// ```
    /// assert_eq!(hashroute::Node::new("a").name(), "a");
    /// ```
    #[inline]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The weight, in units that only the sum over all nodes gives a meaning to.
    ///
    /// ```
    /// assert_eq!(hashroute::Node::new("a").with_weight(3).weight(), 3);
    /// ```
    #[inline]
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// The zone: what fails together as a whole.
    ///
    /// ```
    /// assert_eq!(hashroute::Node::new("a").zone(), None);
    /// ```
    pub fn zone(&self) -> Option<&str> {
        self.location.as_ref()?.0.as_deref()
    }

    /// The rack inside the zone.
    ///
    /// ```
    /// assert_eq!(hashroute::Node::new("a").with_zone("z").rack(), None);
    /// ```
    pub fn rack(&self) -> Option<&str> {
        self.location.as_ref()?.1.as_deref()
    }

    fn named(self) -> Result<Self, Error> {
        if self.name.is_empty() {
            return Err(Error::EmptyName);
        }
        Ok(self)
    }

    fn location(&self) -> Location {
        self.location.as_deref().cloned().unwrap_or_default()
    }
}

/// A node of weight 1 with this name.
///
/// ```
/// use hashroute::Node;
/// assert_eq!(Node::from("a"), Node::new("a"));
/// ```
impl From<&str> for Node {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// A node of weight 1 with this name.
impl From<alloc::string::String> for Node {
    fn from(name: alloc::string::String) -> Self {
        Self::new(name)
    }
}

impl FromStr for Node {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let Some((name, weight)) = text.rsplit_once('=') else {
            return Self::new(text).named();
        };
        let expected = "a whole number from 0 to 4294967295 after the last \"=\"";
        let number = weight.parse();
        let number = number.map_err(|_| Error::parameter("weight", weight, expected))?;
        Self::new(name).with_weight(number).named()
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if f.alternate() || self.weight != 1 || self.name.contains('=') {
            write!(f, "={}", self.weight)?;
        }
        Ok(())
    }
}

#[expect(
    clippy::missing_fields_in_debug,
    reason = "the location is told as zone and rack"
)]
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("name", &self.name)
            .field("weight", &self.weight)
            .field("zone", &self.zone())
            .field("rack", &self.rack())
            .finish()
    }
}

/// A dense index of a node in one [`Nodes`], local to the process: send names, not ids.
///
/// It stays while the node stays. The id of a node that left goes to the next one added.
///
/// ```
/// let nodes = hashroute::Nodes::new([hashroute::Node::new("a")])?;
/// let id = nodes.id("a").expect("a member");
/// assert_eq!(id.index(), 0);
/// # Ok::<(), hashroute::Error>(())
/// ```
// One more than the index, so that `Option<NodeId>` takes four bytes in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(NonZeroU32);

/// The [index](NodeId::index).
impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.index().fmt(f)
    }
}

impl NodeId {
    /// The index, below [`Nodes::id_bound`].
    ///
    /// ```
    /// # let nodes = hashroute::Nodes::new([hashroute::Node::new("a")])?;
    /// let mut loads = vec![0; nodes.id_bound()];
    /// loads[nodes.id("a").expect("a member").index()] += 1;
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[inline]
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// `None` for an index that does not fit.
    /// The id of index 0.
    pub(crate) const FIRST: Self = Self(NonZeroU32::MIN);

    pub(crate) fn from_index(index: usize) -> Option<Self> {
        let next = u32::try_from(index).ok()?.checked_add(1)?;
        NonZeroU32::new(next).map(Self)
    }
}

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

    /// The weight of an id, 0 when it has left: for shares, of which it then has none.
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

#[cfg(test)]
mod tests;
