//! A moment of a migration as a router.

use core::ops::ControlFlow;

use super::{Owners, Phase, Transition};
use crate::{
    Change, Error, Explanation, HashId, KeyHash, NodeId, NodeList, Nodes, Refusal, Router, Spread,
};

/// A moment of a [`Transition`] as a router: the owner of a key is the node to read it from.
///
/// It refuses every change of the members. Make a new plan for that.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a>(pub(super) &'a Transition);

impl Moment<'_> {
    /// Returns the same owners as [`Transition::owners`], for a key hash.
    pub fn owners_hash(self, key: KeyHash) -> Owners {
        self.0.owners_of_hash(key)
    }

    /// Returns the side that decides about a key, then the other side.
    fn sides(self, key: KeyHash) -> [usize; 2] {
        match self.0.phase_of_hash(key) {
            Phase::Waiting | Phase::Copying => [0, 1],
            Phase::Switched | Phase::Done => [1, 0],
        }
    }
}

impl Router for Moment<'_> {
    fn nodes(&self) -> &Nodes {
        self.0.nodes()
    }

    fn hash_id(&self) -> HashId {
        self.0.side(0).hash_id()
    }

    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        self.0.side(0).hash_key(key)
    }

    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        let [side, _] = self.sides(key);
        let id = self.0.side(side).route_hash(key)?;
        self.0.id(side, id)
    }

    fn apply(&mut self, _: &Change) -> Result<(), Error> {
        Err(Error::Unsupported {
            what: Refusal::ChangeOnItsWay,
            advice: "finish it, or plan anew from its present state",
        })
    }

    /// Walks the deciding router, then the other one, so that the members of both are offered.
    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let mut stopped = false;
        for side in self.sides(key) {
            self.0.side(side).walk(key, &mut |id| {
                let known = self.0.id(side, id);
                let flow = known.map_or(ControlFlow::Continue(()), &mut *visit);
                stopped |= flow.is_break();
                flow
            });
            if stopped {
                return;
            }
        }
    }

    /// Returns the list of the deciding router.
    fn replicas_into(&self, key: KeyHash, n: usize, spread: Spread, out: &mut NodeList) {
        let [side, _] = self.sides(key);
        self.0.side(side).replicas_into(key, n, spread, out);
        out.translate(|id| self.0.id(side, id));
    }

    fn explain(&self, key: KeyHash) -> Explanation {
        let [side, _] = self.sides(key);
        self.0.side(side).explain(key)
    }

    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}
