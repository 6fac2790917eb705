//! Nodes, their ids, and the table of members that every strategy embeds.

use alloc::boxed::Box;
use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;

mod change;
#[cfg(feature = "serde")]
mod flat;
mod locations;
mod nodes;
mod server;

pub use self::change::Change;
pub use self::nodes::{Nodes, NodesIter};
pub use self::server::Server;
use crate::Error;

/// A member that can own keys: a name, a weight and, optionally, a zone and a rack.
///
/// The **name** is the identity. Where peers share a set, two processes with the same names
/// and weights agree, whatever the order in which they learned them. A node with weight 0 is known but owns nothing (drained).
///
/// ```
/// let node = hashroute::Node::new("cache-a").with_weight(2).with_location("eu-1", "rack-7");
/// assert_eq!((node.name(), node.weight()), ("cache-a", 2));
/// assert_eq!((node.zone(), node.rack()), (Some("eu-1"), Some("rack-7")));
/// ```
///
/// As text a node is `name` or `name=weight`, without its location. The last `=` is the separator,
/// so a name that contains `=` is always written with its weight.
///
/// ```
/// use hashroute::Node;
///
/// let node: Node = "cache-a=2".parse()?;
/// assert_eq!((node.name(), node.weight(), node.to_string()), ("cache-a", 2, "cache-a=2".into()));
/// assert_eq!(Node::new("a=b").to_string(), "a=b=1");
/// # Ok::<(), hashroute::Error>(())
/// ```
///
/// If strangers choose the names, they can choose two with equal hashes, or one that takes chosen
/// keys, since names are hashed without a secret. Put a keyed hash in front of each name. All peers
/// need the same secret.
///
/// ```
/// use hashroute::{KeyHasher, Node, Rendezvous, Router};
///
/// let secret = KeyHasher::sip13(*b"only peers know!");
/// let node = |name: &str| Node::new(format!("{:016x} {name}", secret.raw(name.as_bytes()).get()));
/// let router = Rendezvous::new(["tenant-a", "tenant-b"].map(node))?;
/// let owner = router.route(b"user:42").expect("a node has weight").name();
/// assert!(owner[17..].starts_with("tenant-")); // 16 digits and a blank, then the name
/// # Ok::<(), hashroute::Error>(())
/// ```
// 32 bytes, half a cache line: a lookup ends with a read of one node in a table. The location,
// which no lookup reads, is behind a pointer.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "flat::Node", into = "flat::Node"))]
pub struct Node {
    name: Box<str>,
    weight: u32,
    /// `None` without zone and rack.
    location: Option<Box<Location>>,
}

/// The zone and the rack of a node.
type Location = (Option<Box<str>>, Option<Box<str>>);

impl Node {
    /// Makes a node of weight 1 without a location. The name is checked when the node joins a
    /// router.
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Self {
            name: name.into(),
            weight: 1,
            location: None,
        }
    }

    /// Sets the weight; 0 means known but owns nothing.
    #[must_use]
    pub fn with_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Sets the zone and keeps the rack. An empty text means no zone.
    #[must_use]
    pub fn with_zone(self, zone: impl Into<Box<str>>) -> Self {
        let (_, rack) = self.location();
        self.located(Some(zone.into()), rack)
    }

    /// Sets the rack and keeps the zone. An empty text means no rack.
    #[must_use]
    pub fn with_rack(self, rack: impl Into<Box<str>>) -> Self {
        let (zone, _) = self.location();
        self.located(zone, Some(rack.into()))
    }

    /// Sets the zone and the rack in it. An empty text means none.
    ///
    /// ```
    /// assert_eq!(hashroute::Node::new("a").with_location("eu-1", "r2").rack(), Some("r2"));
    /// ```
    #[must_use]
    pub fn with_location(self, zone: impl Into<Box<str>>, rack: impl Into<Box<str>>) -> Self {
        self.located(Some(zone.into()), Some(rack.into()))
    }

    /// Returns the name, which is the identity.
    #[inline]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the weight. Its unit is free: only the share of the total weight matters.
    #[inline]
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns the zone. The nodes of a zone may fail together.
    pub fn zone(&self) -> Option<&str> {
        self.location.as_ref()?.0.as_deref()
    }

    /// Returns the rack inside the zone.
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

/// Makes a node of weight 1 with this name.
impl From<&str> for Node {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// Makes a node of weight 1 with this name.
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
    reason = "the location is printed as zone and rack"
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

/// A dense index of a node in one [`Nodes`]. It is local to the process: send names, not ids.
///
/// An id is valid as long as its node is a member. The next node that joins gets the id of a node
/// that left.
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

/// Writes the [index](NodeId::index).
impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.index().fmt(f)
    }
}

impl NodeId {
    /// Returns the index, which is below [`Nodes::id_bound`].
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

    /// The id of index 0.
    pub(crate) const FIRST: Self = Self(NonZeroU32::MIN);

    /// Returns the id of an index; `None` for an index that does not fit.
    pub(crate) fn from_index(index: usize) -> Option<Self> {
        let next = u32::try_from(index).ok()?.checked_add(1)?;
        NonZeroU32::new(next).map(Self)
    }
}

#[cfg(test)]
mod tests;
