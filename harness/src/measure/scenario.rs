//! A scenario that any strategy can be put to: nodes, changes and keys.

use super::assignment::Assignment;
use super::remap::{Remap, remap};
use crate::keys::Keys;
use hashroute::registry::{Params, Scheme};
use hashroute::{Change, Error, Node, Router};

/// Nodes, keys on them, and changes to the nodes, the same for every strategy.
///
/// ```
/// use hashroute_harness::{Keys, Scenario};
/// use hashroute::registry::Params;
/// use hashroute::strategy;
/// use hashroute::{Change, Node};
///
/// let keys = Keys::template("user:{i}", 0..10_000)?;
/// let scenario = Scenario::new(["a", "b", "c"].map(Node::new), &keys).with_changes([Change::add("d")]);
/// let remap = scenario.remap(strategy::find("rendezvous")?, &Params::default())?;
/// assert_eq!(remap.excess, 0);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scenario<'a> {
    /// The nodes at the start.
    pub nodes: Vec<Node>,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// The keys.
    pub keys: &'a Keys,
}

impl<'a> Scenario<'a> {
    /// Builds a scenario without changes.
    pub fn new(nodes: impl IntoIterator<Item = Node>, keys: &'a Keys) -> Self {
        Self {
            nodes: nodes.into_iter().collect(),
            changes: Vec::new(),
            keys,
        }
    }

    /// Builds a router over the nodes at the start.
    ///
    /// # Errors
    /// As [`Scheme::build`].
    pub fn before(&self, scheme: &Scheme, params: &Params) -> Result<Box<dyn Router>, Error> {
        scheme.build(self.nodes.iter().cloned(), params)
    }

    /// Builds a router over the nodes at the start and applies the changes. It holds no load yet.
    ///
    /// # Errors
    /// As [`Scheme::build`] and [`Router::apply`].
    ///
    /// ```
    /// # use hashroute::{Change, Node, Router, strategy::{self, Params}};
    /// # use hashroute_harness::{Keys, Scenario};
    /// let keys = Keys::default();
    /// let mut scenario = Scenario::new(["a", "b"].map(Node::new), &keys);
    /// scenario.changes.push(Change::remove("a"));
    /// assert_eq!(scenario.after(strategy::find("ring")?, &Params::default())?.nodes().len(), 1);
    /// assert!(scenario.after(strategy::find("jump")?, &Params::default()).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn after(&self, scheme: &Scheme, params: &Params) -> Result<Box<dyn Router>, Error> {
        let mut router = self.before(scheme, params)?;
        self.changes
            .iter()
            .try_for_each(|change| router.apply(change))?;
        Ok(router)
    }

    /// Returns what the changes move. Assigns all keys twice.
    ///
    /// # Errors
    /// As [`after`](Self::after).
    pub fn remap(&self, scheme: &Scheme, params: &Params) -> Result<Remap, Error> {
        let before = Assignment::of(&*self.before(scheme, params)?, self.keys);
        let after = Assignment::of(&*self.after(scheme, params)?, self.keys);
        Ok(remap(&before, &after, self.keys))
    }
}

builder! { Scenario<'a>: with_changes(changes: impl Into<Vec<Change>>) }
