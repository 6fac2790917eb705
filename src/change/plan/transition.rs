//! Two epochs at once: the nodes that are read, written and copied during a migration.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;

use smallvec::SmallVec;

use super::cut::{Cut, deletes, lists, transfers};
use super::identity::identity;
use super::{Moment, Plan, Replicas, check_loads};
use crate::change::union::Union;
use crate::space::HashSpace;
use crate::{Error, KeyHash, NodeId, NodeList, Nodes, Refusal, Router, RouterExt};

/// A migration in progress: two routers, the plan between them, and the present phase.
///
/// Every step has two phases. While its keys are [copying](Phase::Copying), they are read from the
/// old nodes and written to the old and the new nodes. When they have [switched](Phase::Switched),
/// they are read from the new nodes and still written to both. When the next step begins, they are
/// [done](Phase::Done): only the new nodes have them, and the old nodes may delete them. So a
/// process that is one phase behind or ahead of another reads nothing stale. To migrate:
///
/// 1. Call [`advance`](Self::advance) in every process, and wait until all have done so.
/// 2. In an odd phase, the nodes of [`sources`](Self::sources) copy the keys of the step. If the
///    target already has a key, the later version stays; a deletion is a version too. (Copying only
///    missing keys would lose writes.) The nodes that [`may_delete`](Self::may_delete) keys of the
///    previous step delete them. In an even phase there is nothing to do.
/// 3. Repeat until [`is_done`](Self::is_done).
///
/// The [phase](Self::phase) is a number and the only state. After a restart, [`at`](Self::at) goes
/// on from it with the same routers and the same plan.
///
/// ```
/// use std::sync::Arc;
/// use hashroute::plan::{Budget, Plan, Replicas, Transition};
/// use hashroute::{Node, Ring};
///
/// let old = Arc::new(Ring::new([Node::new("a")])?);
/// let new = Arc::new(Ring::new([Node::new("b")])?);
/// let plan = Plan::new(&*old, &*new, Replicas::default(), Budget::default())?;
/// let mut change = Transition::new(old, new, &plan)?;
/// let name = |change: &Transition, id| change.nodes().get(id).map(Node::name).map(String::from);
/// let mut seen = Vec::new();
/// loop {
///     let owners = change.owners(b"user:42");
///     seen.push([owners.now, owners.other].map(|id| id.and_then(|id| name(&change, id))));
///     if !change.advance() {
///         break;
///     }
/// }
/// let [a, b] = ["a", "b"].map(|name| Some(name.to_owned()));
/// assert_eq!(seen, [[a.clone(), None], [a.clone(), b.clone()], [b.clone(), a], [b, None]]);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Transition {
    routers: [Arc<dyn Router>; 2],
    members: Union,
    cut: Cut,
    space: HashSpace,
    replicas: Replicas,
    /// The first and the last position of each range, in order, and its step.
    ranges: Vec<(u64, u64, u32)>,
    steps: u32,
    phase: u32,
}

/// The progress of a key in a migration. Phases are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Phase {
    /// The step of the key has not begun: it is read from and written to the old nodes only.
    Waiting,
    /// The key is read from the old nodes, and written to the old and the new nodes.
    Copying,
    /// The key is read from the new nodes, and written to the old and the new nodes.
    Switched,
    /// The key is read from and written to the new nodes only.
    Done,
}

/// The owners of a key in both epochs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owners {
    /// The node to read from. It gets every write.
    pub now: Option<NodeId>,
    /// A second node that must be written, if it is a different one: the new owner while the key is
    /// copying; the old owner when it has switched. A reader may fall back to the old owner.
    pub other: Option<NodeId>,
}

/// The preference lists of a key in both epochs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lists {
    /// The nodes to read from, the owner first.
    pub now: NodeList,
    /// The list of the other epoch while the key is copying or has switched; otherwise empty.
    pub other: NodeList,
}

impl Lists {
    /// Returns all nodes that must be written, each once, starting with the nodes to read from.
    pub fn writers(&self) -> impl Iterator<Item = NodeId> + '_ {
        let more = self.other.iter().filter(|id| !self.now.contains(id));
        self.now.iter().chain(more).copied()
    }
}

/// The copies of a key: pairs of the nearest old replica and a node that gets the key. Holds up to
/// four pairs without an allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(SmallVec<[[NodeId; 2]; 4]>);

impl Deref for Sources {
    type Target = [[NodeId; 2]];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Sources {
    type Item = &'a [NodeId; 2];
    type IntoIter = core::slice::Iter<'a, [NodeId; 2]>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Transition {
    /// Starts a migration, before its first step. O(ranges log ranges).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the routers are not those of the plan (their nodes and owners are
    /// compared), or if one of them balances by load; [`Error::Capacity`] if both together have
    /// more than 2^32 - 1 nodes.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas, Transition}};
    /// let [a, b] = [Arc::new(Ring::new([Node::new("a")])?), Arc::new(Ring::new([Node::new("b")])?)];
    /// let plan = Plan::new(&*a, &*b, Replicas::default(), Budget::default())?;
    /// assert_eq!(Transition::new(a.clone(), b.clone(), &plan)?.phase(), 0);
    /// assert!(Transition::new(b, a, &plan).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(old: Arc<dyn Router>, new: Arc<dyn Router>, plan: &Plan) -> Result<Self, Error> {
        check_loads([&*old, &*new])?;
        let members = Union::new(old.nodes(), new.nodes())?;
        let is_known = |side: usize, router: &dyn Router| {
            identity(&members, side, router) == plan.routers[side]
        };
        if !members.same(&plan.members) || !is_known(0, &*old) || !is_known(1, &*new) {
            return Err(Error::Unsupported {
                what: Refusal::PlanOfOthers,
                advice: "plan anew from the old router to the new one",
            });
        }
        let steps = (0..).zip(&plan.steps);
        let ranges = steps.flat_map(|(step, pieces)| {
            pieces
                .iter()
                .map(move |piece| (piece.first, piece.last, step))
        });
        let mut ranges: Vec<_> = ranges.collect();
        ranges.sort_unstable();
        Ok(Self {
            routers: [old, new],
            members,
            cut: plan.cut,
            space: plan.space,
            replicas: plan.replicas,
            ranges,
            steps: u32::try_from(plan.steps.len()).unwrap_or(u32::MAX), // at most 2^16
            phase: 0,
        })
    }

    /// Goes to a stored phase, to continue after a restart.
    ///
    /// # Errors
    /// [`Error::Parameter`] above the last phase.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas, Transition}};
    /// let [a, b] = [Arc::new(Ring::new([Node::new("a")])?), Arc::new(Ring::new([Node::new("b")])?)];
    /// let plan = Plan::new(&*a, &*b, Replicas::default(), Budget::default())?;
    /// let change = Transition::new(a, b, &plan)?;
    /// assert!(change.clone().at(3)?.is_done());
    /// assert!(change.at(4).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn at(mut self, phase: u32) -> Result<Self, Error> {
        if phase > self.last_phase() {
            let expected = alloc::format!("at most {}, the last phase", self.last_phase());
            return Err(Error::parameter("phase", phase, expected));
        }
        self.phase = phase;
        Ok(self)
    }

    /// Goes on to the next phase. Returns `false` if there is none.
    pub fn advance(&mut self) -> bool {
        let more = self.phase < self.last_phase();
        self.phase += u32::from(more);
        more
    }

    /// Returns the phase: 0 before the first step; 2 k + 1 while step k (from 0) is copying; 2 k +
    /// 2 when it has switched; after the last step one more, when all is done.
    pub fn phase(&self) -> u32 {
        self.phase
    }

    /// Returns whether the migration is done: only the new router counts.
    pub fn is_done(&self) -> bool {
        self.phase == self.last_phase()
    }

    /// Returns the nodes of both routers. All results are ids of this set.
    pub fn nodes(&self) -> &Nodes {
        self.members.nodes()
    }

    /// Returns the phase of a key. A key that does not move is done from the start. At most two
    /// lookups, and O(log ranges).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas, Phase, Transition}};
    /// let [a, b] = [Arc::new(Ring::new([Node::new("a")])?), Arc::new(Ring::new([Node::new("b")])?)];
    /// let plan = Plan::new(&*a, &*b, Replicas::default(), Budget::default())?;
    /// assert_eq!(Transition::new(a, b, &plan)?.phase_of(b"user:42"), Phase::Waiting);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn phase_of(&self, key: &[u8]) -> Phase {
        self.phase_at(self.cut.position(self.space, &*self.routers[0], key))
    }

    /// Returns the number of the step, from 0, whose ranges have a key; `None` if no step has it. In
    /// a plan that is not [exact](Plan::is_exact) some keys of a step stay where they are.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas, Transition}};
    /// let [a, b] = [Arc::new(Ring::new([Node::new("a")])?), Arc::new(Ring::new([Node::new("b")])?)];
    /// let plan = Plan::new(&*a, &*b, Replicas::default(), Budget::default().with_step(0.5))?;
    /// let change = Transition::new(a, b, &plan)?;
    /// assert!(change.step_of(b"user:42") < Some(2));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn step_of(&self, key: &[u8]) -> Option<u32> {
        self.step_at(self.cut.position(self.space, &*self.routers[0], key)?)
    }

    /// Returns the copies of a key in its step, whatever the phase is: a pair for each node that
    /// gets the key, from the nearest old replica.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas, Transition}};
    /// let [a, b] = [Arc::new(Ring::new([Node::new("a")])?), Arc::new(Ring::new([Node::new("b")])?)];
    /// let plan = Plan::new(&*a, &*b, Replicas::default(), Budget::default())?;
    /// let change = Transition::new(a, b, &plan)?;
    /// let [a, b] = ["a", "b"].map(|name| change.nodes().id(name).expect("a member"));
    /// assert_eq!(change.copies(b"user:42")[..], [[a, b]]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn copies(&self, key: &[u8]) -> Sources {
        Sources(transfers(&self.members, &self.both(key)).collect())
    }

    /// Returns the owner of a key now and, while both epochs count, its owner in the other epoch.
    /// Never allocates.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas, Transition}};
    /// let [a, b] = [Arc::new(Ring::new([Node::new("a")])?), Arc::new(Ring::new([Node::new("b")])?)];
    /// let plan = Plan::new(&*a, &*b, Replicas::default(), Budget::default())?;
    /// let mut change = Transition::new(a, b, &plan)?;
    /// change.advance();
    /// let [a, b] = ["a", "b"].map(|name| change.nodes().id(name));
    /// let owners = change.owners(b"user:42");
    /// assert_eq!((owners.now, owners.other), (a, b));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn owners(&self, key: &[u8]) -> Owners {
        self.owners_by(self.phase_of(key), |side| self.routers[side].owner(key))
    }

    /// Returns the same as [`owners`](Self::owners), for a hash that both routers share.
    pub(super) fn owners_of_hash(&self, key: KeyHash) -> Owners {
        let owner = |side: usize| self.routers[side].route_hash(key);
        self.owners_by(self.phase_of_hash(key), owner)
    }

    fn owners_by(&self, phase: Phase, owner: impl Fn(usize) -> Option<NodeId>) -> Owners {
        let owner = |side| owner(side).and_then(|id| self.members.id(side, id));
        // Of two adjacent phases, each writes to the node that the other reads. So a process that
        // is one phase behind or ahead reads nothing stale.
        let (now, other) = match phase {
            Phase::Waiting => (owner(0), None),
            Phase::Copying => (owner(0), owner(1)),
            Phase::Switched => (owner(1), owner(0)),
            Phase::Done => (owner(1), None),
        };
        Owners {
            now,
            other: other.filter(|_| other != now),
        }
    }

    /// Returns the lists of all replicas of a key, with the number of replicas of the plan.
    /// Allocates for more than eight replicas.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas, Transition}};
    /// let [a, b] = [Arc::new(Ring::new([Node::new("a")])?), Arc::new(Ring::new([Node::new("b")])?)];
    /// let plan = Plan::new(&*a, &*b, Replicas::default(), Budget::default())?;
    /// let mut change = Transition::new(a, b, &plan)?;
    /// assert_eq!(change.lists(b"user:42").writers().count(), 1);
    /// change.advance();
    /// assert_eq!(change.lists(b"user:42").writers().count(), 2);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn lists(&self, key: &[u8]) -> Lists {
        let [old, new] = self.both(key);
        let (now, other) = match self.phase_of(key) {
            Phase::Waiting => (old, NodeList::new()),
            Phase::Copying => (old, new),
            Phase::Switched => (new, old),
            Phase::Done => (new, NodeList::new()),
        };
        Lists { now, other }
    }

    /// Returns the copies of a key while it is copying: a pair for each node that gets the key,
    /// from the nearest old replica. Empty at any other time.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas, Transition}};
    /// let [a, b] = [Arc::new(Ring::new([Node::new("a")])?), Arc::new(Ring::new([Node::new("b")])?)];
    /// let plan = Plan::new(&*a, &*b, Replicas::default(), Budget::default())?;
    /// let change = Transition::new(a, b, &plan)?.at(1)?;
    /// let [a, b] = ["a", "b"].map(|name| change.nodes().id(name).expect("a member"));
    /// assert_eq!(change.sources(b"user:42")[..], [[a, b]]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn sources(&self, key: &[u8]) -> Sources {
        match self.phase_of(key) {
            Phase::Copying => Sources(transfers(&self.members, &self.both(key)).collect()),
            _ => Sources::default(),
        }
    }

    /// Returns whether a node may delete a key: its move is done, and the node is not in the new
    /// list. Always `false` for a key without an owner in the new router.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas, Transition}};
    /// let [a, b] = [Arc::new(Ring::new([Node::new("a")])?), Arc::new(Ring::new([Node::new("b")])?)];
    /// let plan = Plan::new(&*a, &*b, Replicas::default(), Budget::default())?;
    /// let change = Transition::new(a, b, &plan)?.at(3)?;
    /// let may = ["a", "b"].map(|name| change.nodes().id(name).is_some_and(|id| change.may_delete(id, b"user:42")));
    /// assert_eq!(may, [true, false]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn may_delete(&self, node: NodeId, key: &[u8]) -> bool {
        self.phase_of(key) == Phase::Done && deletes(&self.both(key)).any(|id| id == node)
    }

    /// Returns this moment as a router; `None` if the two routers use different hash functions,
    /// because no single key hash would do for both.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hashroute::{Node, Ring, Router, plan::{Budget, Plan, Replicas, Transition}};
    /// let [a, b] = [Arc::new(Ring::new([Node::new("a")])?), Arc::new(Ring::new([Node::new("b")])?)];
    /// let plan = Plan::new(&*a, &*b, Replicas::default(), Budget::default())?;
    /// let change = Transition::new(a, b, &plan)?;
    /// let router = change.router().expect("two rings");
    /// assert_eq!(router.route(b"user:42").map(Node::name), Some("a"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn router(&self) -> Option<Moment<'_>> {
        (self.cut != Cut::Bytes).then_some(Moment(self))
    }

    /// Returns the old router (0) or the new router (1).
    pub(super) fn side(&self, side: usize) -> &dyn Router {
        &*self.routers[side]
    }

    /// Translates an id of a router into an id of both.
    pub(super) fn id(&self, side: usize, id: NodeId) -> Option<NodeId> {
        self.members.id(side, id)
    }

    /// Returns the same as [`phase_of`](Self::phase_of), for a hash that both routers share.
    pub(super) fn phase_of_hash(&self, key: KeyHash) -> Phase {
        self.phase_at(self.cut.position_of_hash(self.space, key))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let routers = self.routers.iter().map(Router::heap_bytes);
        routers.sum::<usize>() + self.ranges.capacity() * size_of::<(u64, u64, u32)>()
    }

    fn last_phase(&self) -> u32 {
        // Two phases for each step, and one in which the last step is done.
        if self.steps == 0 {
            0
        } else {
            2 * self.steps + 1
        }
    }

    fn both(&self, key: &[u8]) -> [NodeList; 2] {
        let [old, new] = &self.routers;
        lists(&self.members, [&**old, &**new], key, self.replicas)
    }

    fn step_at(&self, position: u64) -> Option<u32> {
        let after = self
            .ranges
            .partition_point(|(first, _, _)| *first <= position);
        let (_, last, step) = self.ranges.get(after.checked_sub(1)?)?;
        (position <= *last).then_some(*step)
    }

    fn phase_at(&self, position: Option<u64>) -> Phase {
        let step = position.and_then(|at| self.step_at(at));
        // In no range: the key does not move, so both routers agree on it.
        let Some(step) = step else {
            return Phase::Done;
        };
        // Step k copies in phase 2 k + 1 and has switched in phase 2 k + 2.
        match self.phase.checked_sub(2 * step) {
            None | Some(0) => Phase::Waiting,
            Some(1) => Phase::Copying,
            Some(2) => Phase::Switched,
            Some(_) => Phase::Done,
        }
    }
}
