//! Changes of the members.

use alloc::boxed::Box;
use core::fmt;

use super::Node;

/// A change of the members of a router.
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
///
/// As text: `add d=2`, `remove a`, `reweight a=3`. A weight of 1 is left out in `add d`; the
/// alternate form `{:#}` writes it.
///
/// ```
/// use hashroute::Change;
///
/// assert_eq!(Change::reweight("a", 3).to_string(), "reweight a=3");
/// assert_eq!(format!("{0} {0:#}", Change::add("d")), "add d add d=1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Change {
    /// A node joins.
    Add(Node),
    /// The node with this name leaves.
    Remove(Box<str>),
    /// The node with this name gets this weight; 0 drains it.
    Reweight(Box<str>, u32),
}

impl Change {
    /// Makes a change by which a node joins.
    pub fn add(node: impl Into<Node>) -> Self {
        Self::Add(node.into())
    }

    /// Makes a change by which the node with this name leaves.
    pub fn remove(name: impl Into<Box<str>>) -> Self {
        Self::Remove(name.into())
    }

    /// Makes a change by which the node with this name gets this weight; 0 drains it.
    pub fn reweight(name: impl Into<Box<str>>, weight: u32) -> Self {
        Self::Reweight(name.into(), weight)
    }

    /// Returns the name of the node that changes.
    pub fn name(&self) -> &str {
        match self {
            Self::Add(node) => node.name(),
            Self::Remove(name) | Self::Reweight(name, _) => name,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(node) if f.alternate() => write!(f, "add {node:#}"),
            Self::Add(node) => write!(f, "add {node}"),
            Self::Remove(name) => write!(f, "remove {name}"),
            Self::Reweight(name, weight) => write!(f, "reweight {name}={weight}"),
        }
    }
}
