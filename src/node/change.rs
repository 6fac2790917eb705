//! Changes of membership.

use alloc::boxed::Box;

use super::Node;

/// A change of membership.
///
/// ```
/// use hashroute::{Change, Node, Ring, Router};
///
/// let mut ring = Ring::new([Node::new("a")])?;
/// ring.apply(&Change::Add(Node::new("b").with_weight(2)))?;
/// ring.apply(&Change::reweight("b", 1))?;
/// ring.apply(&Change::remove("a"))?;
/// assert_eq!(ring.route(b"any key").map(Node::name), Some("b"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Change {
    /// A node joins.
    Add(Node),
    /// The node of this name leaves.
    Remove(Box<str>),
    /// The node of this name gets this weight; 0 drains it.
    Reweight(Box<str>, u32),
}

impl Change {
    /// This node joins.
    ///
    /// ```
    /// use hashroute::{Change, Node};
    /// assert_eq!(Change::add("a"), Change::Add(Node::new("a")));
    /// ```
    pub fn add(node: impl Into<Node>) -> Self {
        Self::Add(node.into())
    }

    /// The node of this name leaves.
    ///
    /// ```
    /// assert_eq!(hashroute::Change::remove("a"), hashroute::Change::Remove("a".into()));
    /// ```
    pub fn remove(name: impl Into<Box<str>>) -> Self {
        Self::Remove(name.into())
    }

    /// The node of this name gets this weight; 0 drains it.
    ///
    /// ```
    /// assert_eq!(hashroute::Change::reweight("a", 2), hashroute::Change::Reweight("a".into(), 2));
    /// ```
    pub fn reweight(name: impl Into<Box<str>>, weight: u32) -> Self {
        Self::Reweight(name.into(), weight)
    }
}
