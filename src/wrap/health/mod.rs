//! Health checks without changes of membership: a filter that skips nodes that are down, at lookup.
//!
//! Removing a failed node from the set rebuilds the router. If positions depend on the number of
//! nodes, as in twemproxy's `auto_eject_hosts`, this also moves keys of healthy nodes. Here the set
//! stays as it is. Only the keys of a node that is down go to the next node of their preference
//! list (failover). When the node is up again, it owns the same keys as before.
//!
//! | lookup | memory | report | a node goes down or up |
//! |---|---|---|---|
//! | as the router inside, and three reads; for the keys of a node that is down, also a few steps of its walk | 32 B a node | O(1), without locks | O(nodes), at the next lookup |
//!
//! # When a node is down
//!
//! The caller sends requests or probes and reports their results: [`failed`](Liveness::failed),
//! [`succeeded`](Liveness::succeeded).
//!
//! - A node goes **down** after [`fail_after`](Policy::fail_after) failures in a row, each at most
//!   [`window`](Policy::window) after the previous one. A success or a longer wait restarts the
//!   count. So probes that are further apart than `window` never put a node down, unless
//!   `fail_after` is 1.
//! - It comes **up** after [`rise`](Policy::rise) successes in a row, but not before its hold is
//!   over. The hold starts at [`hold`](Policy::hold) and doubles each time the node goes down
//!   again, up to [`max_hold`](Policy::max_hold). It starts again at `hold` if the node was up and
//!   without a failure for `max_hold`.
//! - A node that is down gets no keys, so the caller has to probe it: [`due`](Liveness::due) lists
//!   the nodes to probe.
//!
//! If another system decides (an orchestrator, a health checker), set `fail_after` and `rise` to 1
//! and both holds to 0.
//!
//! If more than [`max_down`](Policy::max_down) percent of all weight is down, or all of it, the
//! reports are probably wrong, or the other nodes could not bear the load. Then no node is skipped
//! and all keys go to their owners, as with Envoy's panic threshold.
//!
//! There is no clock inside. Times are durations since any fixed start, such as that of the
//! process, cut to whole milliseconds. Out-of-order reports never move the clock backwards.
//!
//! ```
//! use core::time::Duration;
//! use hashroute::health::{Liveness, Policy};
//! use hashroute::{Ring, RouterExt};
//!
//! let router = Liveness::new(Ring::new(["a", "b", "c"])?, Policy::default())?;
//! let owner = router.owner(b"user:42").expect("a node");
//! for second in 1..=3 {
//!     router.failed(owner, Duration::from_secs(second));
//! }
//! assert!(router.is_down(owner));
//! assert_ne!(router.owner(b"user:42"), Some(owner));
//!
//! let later = Duration::from_secs(3) + Policy::default().hold;
//! for id in router.due(later) {
//!     router.succeeded(id, later); // the first probe
//!     router.succeeded(id, later); // the second probe
//! }
//! assert_eq!(router.owner(b"user:42"), Some(owner));
//! # Ok::<(), hashroute::Error>(())
//! ```

mod state;

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering::SeqCst;
use core::time::Duration;

use self::state::State;
use crate::digest::Digest;
use crate::sync::atomic::{AtomicU64, AtomicUsize};
use crate::{
    Change, Error, Explanation, HashRanges, KeyHash, Lease, Loads, NodeId, NodeList, Router,
    Spread, replicas,
};

/// Decides when a node is down or up, and how much weight may be down.
///
/// ```
/// use core::time::Duration;
/// use hashroute::health::Policy;
///
/// let patient = Policy::default().with_fail_after(10);
/// assert_eq!((patient.rise, patient.max_down), (2, 50));
/// assert_eq!((patient.hold, patient.max_hold), (Duration::from_secs(30), Duration::from_secs(300)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Policy {
    /// The number of failures in a row that put a node down, at least 1. Default: 3, as `fall` in
    /// `HAProxy`.
    pub fail_after: u8,
    /// The longest time between two failures in a row. Default: 10 seconds. It must be at least the
    /// time between two probes; otherwise no number of failed probes puts a node down.
    pub window: Duration,
    /// The number of successes in a row that bring a node up, at least 1. Default: 2, as `rise` in
    /// `HAProxy`.
    pub rise: u8,
    /// The shortest time that a node stays down. Default: 30 seconds, as Envoy's
    /// `base_ejection_time`.
    pub hold: Duration,
    /// The limit to which the hold grows. Default: 300 seconds, as Envoy's `max_ejection_time`.
    pub max_hold: Duration,
    /// The largest share of all weight that may be down, in percent, at most 100. Above it no node
    /// is skipped. Default: 50, as Envoy's `healthy_panic_threshold`.
    pub max_down: u8,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            fail_after: 3,
            window: Duration::from_secs(10),
            rise: 2,
            hold: Duration::from_secs(30),
            max_hold: Duration::from_secs(300),
            max_down: 50,
        }
    }
}

builder! { Policy:
    with_fail_after(fail_after: u8),
    with_window(window: Duration),
    with_rise(rise: u8),
    with_hold(hold: Duration),
    with_max_hold(max_hold: Duration),
    with_max_down(max_down: u8),
}

impl Policy {
    fn check(&self) -> Result<(), Error> {
        for (name, count) in [("fail_after", self.fail_after), ("rise", self.rise)] {
            if count == 0 {
                return Err(Error::parameter(name, count, "at least 1"));
            }
        }
        if self.max_down > 100 {
            return Err(Error::parameter(
                "max_down",
                self.max_down,
                "a percentage, at most 100",
            ));
        }
        if self.hold > self.max_hold {
            let expected = format!("at least the hold, {:?}", self.hold);
            return Err(Error::parameter(
                "max_hold",
                format!("{:?}", self.max_hold),
                expected,
            ));
        }
        Ok(())
    }
}

/// Skips the nodes of a router that are down. As a [`Router`] it returns the owner of a key or, if
/// that is down, the next node of the preference list that is up. See the [module](self).
///
/// Reports and lookups take `&self`. A clone shares the health of the nodes that both routers have,
/// so that the next version of a swapped router (feature `shared`) forgets nothing. The health of a
/// node is forgotten when the node leaves.
///
/// To bound loads as well, put a `BoundedLoad` around this filter. Its factor should be larger than
/// the total weight divided by the weight that is up: capacities also count the nodes that are
/// down, and keys that find no room on the other nodes go to those.
///
/// ```
/// use core::time::Duration;
/// use hashroute::health::{Liveness, Policy};
/// use hashroute::{Change, Ring, Router};
///
/// let policy = Policy::default().with_fail_after(1);
/// let mut router = Liveness::new(Ring::new(["a", "b", "c"])?, policy)?;
/// let id = router.nodes().id("b").expect("a member");
/// assert!(router.failed(id, Duration::from_secs(1)));
/// router.apply(&Change::remove("b"))?;
/// router.apply(&Change::add("d"))?; // gets the id of "b", but not its health
/// assert!(router.nodes().name(id) == Some("d") && !router.is_down(id));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub struct Liveness<R> {
    router: R,
    policy: Policy,
    // By index; see `State`.
    states: Vec<Arc<AtomicU64>>,
    /// Counts how often a node went down or up, in this router or a clone, in steps of `ONE_FLIP`.
    flips: Arc<AtomicUsize>,
    /// A cache of `skips()`: the lowest bit is the answer, the rest the `flips` it was computed at.
    skips: AtomicUsize,
}

impl<R: fmt::Debug> fmt::Debug for Liveness<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            router,
            policy,
            states,
            flips,
            skips,
        } = self;
        f.debug_struct("Liveness")
            .field("router", router)
            .field("policy", policy)
            .field("states", &Digest(states.len(), states))
            .field("flips", flips)
            .field("skips", skips)
            .finish()
    }
}

/// An empty cache in [`Liveness::skips`]: `flips` starts at `ONE_FLIP` and is never 0.
const UNKNOWN: usize = 0;

/// Leaves the lowest bit of `flips` free for the answer in [`Liveness::skips`].
const ONE_FLIP: usize = 2;

impl<R: Router> Liveness<R> {
    /// Builds a filter over `router` in which all nodes are up.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a policy with a field that is out of its stated bounds.
    ///
    /// ```
    /// # use hashroute::health::{Liveness, Policy};
    /// # use hashroute::{Jump, Node};
    /// assert!(Liveness::new(Jump::new([Node::new("a")])?, Policy::default()).is_ok());
    /// assert!(Liveness::new(Jump::new([Node::new("a")])?, Policy::default().with_rise(0)).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(router: R, policy: Policy) -> Result<Self, Error> {
        policy.check()?;
        let states = (0..router.nodes().id_bound()).map(|_| new_state());
        Ok(Self {
            states: states.collect(),
            router,
            policy,
            flips: Arc::new(AtomicUsize::new(ONE_FLIP)),
            skips: AtomicUsize::new(UNKNOWN),
        })
    }

    /// Returns the router inside, which does not know about health.
    pub fn router(&self) -> &R {
        &self.router
    }

    /// Reports that a request or a probe of a node failed. Returns `true` if this put the node
    /// down.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use hashroute::health::{Liveness, Policy};
    /// # use hashroute::{Node, Ring, Router};
    /// let router = Liveness::new(Ring::new(["a", "b"].map(Node::new))?, Policy::default())?;
    /// let id = router.nodes().id("a").expect("a member");
    /// let failures = [1, 2, 3].map(|second| router.failed(id, Duration::from_secs(second)));
    /// assert_eq!(failures, [false, false, true]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn failed(&self, id: NodeId, now: Duration) -> bool {
        self.report(id, |state| state.failed(now, &self.policy))
    }

    /// Reports that a request or a probe of a node succeeded. Returns `true` if this brought the
    /// node up. Writes nothing for a node that is up without failures, so it is cheap enough to
    /// call for every request.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use hashroute::health::{Liveness, Policy};
    /// # use hashroute::{Node, Ring, Router};
    /// let policy = Policy::default().with_fail_after(1);
    /// let router = Liveness::new(Ring::new(["a", "b"].map(Node::new))?, policy)?;
    /// let id = router.nodes().id("a").expect("a member");
    /// router.failed(id, Duration::ZERO);
    /// let successes = [10, 20, 30].map(|second| router.succeeded(id, Duration::from_secs(second)));
    /// assert_eq!(successes, [false, false, true]); // the hold of 30 s was not over at 20 s
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn succeeded(&self, id: NodeId, now: Duration) -> bool {
        self.report(id, |state| state.succeeded(now, &self.policy))
    }

    /// Returns whether a node is down.
    #[inline]
    pub fn is_down(&self, id: NodeId) -> bool {
        self.state(id).is_some_and(|state| state.down)
    }

    /// Returns the nodes to probe, in order of name: they are down and their hold is over.
    /// O(nodes).
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use hashroute::health::{Liveness, Policy};
    /// # use hashroute::{Node, Ring, Router};
    /// let policy = Policy::default().with_fail_after(1);
    /// let router = Liveness::new(Ring::new(["a", "b"].map(Node::new))?, policy)?;
    /// let id = router.nodes().id("a").expect("a member");
    /// router.failed(id, Duration::from_secs(5));
    /// assert_eq!(router.due(Duration::from_secs(34)).count(), 0);
    /// assert!(router.due(Duration::from_secs(35)).eq([id]));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn due(&self, now: Duration) -> impl Iterator<Item = NodeId> {
        let due = move |id| {
            self.state(id)
                .is_some_and(|state| state.is_due(now, &self.policy))
        };
        let ids = self.router.nodes().iter().map(|(id, _)| id);
        ids.filter(move |id| due(*id))
    }

    /// Returns whether nodes are skipped now: some are down, but not more than
    /// [`max_down`](Policy::max_down) percent of the weight. Otherwise every key goes to its owner
    /// in the [router](Self::router) inside.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use hashroute::health::{Liveness, Policy};
    /// # use hashroute::{Node, Ring, Router};
    /// let policy = Policy::default().with_fail_after(1);
    /// let router = Liveness::new(Ring::new(["a", "b", "c", "d"].map(Node::new))?, policy)?;
    /// let fail = |name| router.nodes().id(name).map(|id| router.failed(id, Duration::ZERO));
    /// let skips = ["a", "b", "c"].map(|name| { fail(name); router.skips() });
    /// assert_eq!(skips, [true, true, false]); // three of four are more than half
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[inline]
    pub fn skips(&self) -> bool {
        // `flips` is read before the states. A node that flips after this read is counted after it
        // changed its state, so the cached answer is then computed at an old number and invalid.
        let flips = self.flips.load(SeqCst);
        let noted = self.skips.load(SeqCst);
        if noted & !1 == flips {
            return noted & 1 == 1;
        }
        let skips = self.would_skip();
        self.skips.store(flips | usize::from(skips), SeqCst);
        skips
    }

    #[cold]
    fn would_skip(&self) -> bool {
        let nodes = self.router.nodes();
        let down: u64 = nodes
            .iter()
            .filter(|(id, _)| self.is_down(*id))
            .map(|(_, node)| u64::from(node.weight()))
            .sum();
        let (down, total) = (u128::from(down), u128::from(nodes.total_weight()));
        down > 0 && down < total && down * 100 <= total * u128::from(self.policy.max_down)
    }

    #[inline]
    fn state(&self, id: NodeId) -> Option<State> {
        let bits = self.states.get(id.index())?.load(SeqCst);
        Some(State::unpack(bits))
    }

    fn report(&self, id: NodeId, step: impl Fn(State) -> State) -> bool {
        let member = self.router.nodes().get(id);
        let Some(cell) = member.and_then(|_| self.states.get(id.index())) else {
            return false;
        };
        let changed = cell.fetch_update(SeqCst, SeqCst, |bits| {
            let next = step(State::unpack(bits)).pack();
            (next != bits).then_some(next)
        });
        let flipped = changed.is_ok_and(|bits| {
            let before = State::unpack(bits);
            before.down != step(before).down
        });
        if flipped {
            // After the state has changed: a lookup that sees this number sees that state.
            self.flips.fetch_add(ONE_FLIP, SeqCst);
        }
        flipped
    }

    /// Returns the node that gets a key of the owner `id` now.
    #[inline]
    fn instead(&self, id: NodeId, key: KeyHash) -> NodeId {
        if self.skips() && self.is_down(id) {
            return self.detour(key).unwrap_or(id);
        }
        id
    }

    /// Returns the first node of the preference list that is up; `None` if all went down meanwhile.
    #[inline(never)]
    fn detour(&self, key: KeyHash) -> Option<NodeId> {
        let mut found = None;
        self.router.walk(key, &mut |id| {
            if self.is_down(id) {
                return ControlFlow::Continue(());
            }
            found = Some(id);
            ControlFlow::Break(())
        });
        found
    }
}

fn new_state() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(State::default().pack()))
}

impl<R: Router + Clone> Clone for Liveness<R> {
    fn clone(&self) -> Self {
        Self {
            router: self.router.clone(),
            policy: self.policy,
            states: self.states.clone(),
            flips: Arc::clone(&self.flips),
            skips: AtomicUsize::new(UNKNOWN),
        }
    }
}

impl<R: Router> Router for Liveness<R> {
    forward_router! { self.router;
        route_hash: Self::owner,
        route_batch: Self::owners,
        walk: Self::offer,
        replicas_into: Self::list,
        apply: Self::change,
        ranges: Self::ranges_if_all_are_up,
        loads: Self::loads_inside,
        explain: Self::describe,
        heap_bytes: Self::size,
    }
}

/// Counts in the router inside, on nodes that are not skipped.
impl<R: Router> Loads for Liveness<R> {
    fn acquire(&self, key: &[u8]) -> Option<Lease> {
        self.acquire_hash(self.router.hash_key(key)?)
    }

    fn acquire_hash(&self, key: KeyHash) -> Option<Lease> {
        let loads = self.router.loads()?;
        let mut lease = loads.acquire_on(self.owner(key)?);
        if lease.is_none() {
            // The owner filled up after it was chosen. The next node with room takes the key.
            self.offer(key, &mut |id| {
                lease = loads.acquire_on(id);
                match lease {
                    Some(_) => ControlFlow::Break(()),
                    None => ControlFlow::Continue(()),
                }
            });
        }
        lease
    }

    fn acquire_on(&self, id: NodeId) -> Option<Lease> {
        self.router.loads()?.acquire_on(id)
    }

    fn release(&self, lease: Lease) -> bool {
        let loads = self.router.loads();
        loads.is_some_and(|loads| loads.release(lease))
    }

    fn load(&self, id: NodeId) -> u64 {
        self.router.loads().map_or(0, |loads| loads.load(id))
    }

    fn total_load(&self) -> u64 {
        self.router.loads().map_or(0, Loads::total_load)
    }
}

impl<R: Router> Liveness<R> {
    #[inline]
    fn owner(&self, key: KeyHash) -> Option<NodeId> {
        self.router.route_hash(key).map(|id| self.instead(id, key))
    }

    fn loads_inside(&self) -> Option<&dyn Loads> {
        self.router.loads().map(|_| self as &dyn Loads)
    }

    fn change(&mut self, change: &Change) -> Result<(), Error> {
        let left = self.router.nodes().leaving(change);
        self.router.apply(change)?;
        if let Some(state) = left.and_then(|id| self.states.get_mut(id.index())) {
            *state = new_state();
        }
        self.states
            .resize_with(self.router.nodes().id_bound(), new_state);
        self.skips = AtomicUsize::new(UNKNOWN);
        Ok(())
    }

    /// Offers the nodes that are up first, then all nodes.
    fn offer(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let mut flow = ControlFlow::Continue(());
        if self.skips() {
            self.router.walk(key, &mut |id| {
                if !self.is_down(id) {
                    flow = visit(id);
                }
                flow
            });
        }
        if flow.is_continue() {
            self.router.walk(key, visit);
        }
    }

    fn owners(&self, keys: &[KeyHash], out: &mut [Option<NodeId>]) {
        self.router.route_batch(keys, out);
        if !self.skips() {
            return;
        }
        for (owner, &key) in out.iter_mut().zip(keys) {
            if owner.is_some_and(|id| self.is_down(id)) {
                *owner = self.detour(key).or(*owner);
            }
        }
    }

    fn list(&self, key: KeyHash, n: usize, spread: Spread, out: &mut NodeList) {
        if self.skips() {
            replicas::fill(self, key, n, spread, out);
        } else {
            self.router.replicas_into(key, n, spread, out);
        }
    }

    fn ranges_if_all_are_up(&self) -> Option<HashRanges> {
        if self.skips() {
            None
        } else {
            self.router.ranges()
        }
    }

    fn describe(&self, key: KeyHash) -> Explanation {
        let mut facts = self.router.explain(key);
        if !self.skips() {
            return facts;
        }
        let mut told = Vec::new();
        self.router.walk(key, &mut |id| {
            if !self.is_down(id) {
                return ControlFlow::Break(());
            }
            if !told.contains(&id) {
                told.push(id);
                let name = self.nodes().name(id).unwrap_or_default();
                facts.push("passed over", format!("{name} is down"));
            }
            ControlFlow::Continue(())
        });
        facts
    }

    fn size(&self) -> usize {
        // The atomic, and the two counts of its `Arc`.
        let state = size_of::<Arc<AtomicU64>>() + size_of::<[u64; 3]>();
        self.router.heap_bytes() + self.states.len() * state
    }
}

#[cfg(test)]
mod tests;
