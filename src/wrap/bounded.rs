//! Bounded load: no node takes more than its fair share times a factor; what overflows goes to
//! the next node in order of preference.
//!
//! Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads" (SODA 2018,
//! arXiv:1608.01350).
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | that of the router, and a few steps of its walk | 16 B a node | that of the router |
//!
//! Peers must share the set of nodes and the loads of the moment, which in practice means one
//! router for all.
//!
//! The capacity of a node of weight w, when m keys are there including the new one, is
//! ceil(c m w / W), computed in integers. Since c > 1, some node always has room.
//!
//! Without load a change moves what the router moves. With load it moves some keys beside: when
//! 100,000 keys are placed anew at c = 1.25 after one of n nodes was added or removed, 0.02 % of
//! them at n = 10, 0.2 % at 100 and 1 % at 1,000. It is a number of keys rather than a share: the
//! ones that came first, while capacities were small.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering::SeqCst;

use crate::router::as_inside;
use crate::strategy::{Agree, Caps, Excess, Leave, POINTS, Param, Strategy, Weights};
use crate::sync::atomic::AtomicUsize;
use crate::{Change, Error, KeyHash, KeyHasher, Node, NodeId, Nodes, Ring, Router};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "bounded",
    about: "a ring with bounded loads: nobody above c times the fair share",
    caps: Caps {
        weights: Weights::Any,
        leave: Leave::Any,
        agree: Agree::Load,
        excess: Excess::AtMost(excess_bound),
    },
    params: &[
        Param {
            name: "load",
            default: "1.25",
            about: "c: the most a node may hold, as a multiple of its fair share",
        },
        Param {
            name: "cap",
            default: "none",
            about: "the most keys any node may hold",
        },
        POINTS,
    ],
    new: |nodes, params| {
        let points = params.get(POINTS.name, Ring::DEFAULT_POINTS)?;
        let ring = Ring::with_points(nodes, points)?.with_hasher(params.hasher());
        let mut bounded = BoundedLoad::new(ring, params.get("load", BoundedLoad::DEFAULT_FACTOR)?)?;
        if params.get("cap", String::from("none"))? != "none" {
            let cap = match params.get("cap", usize::MAX) {
                Ok(cap) if cap > 0 => cap,
                _ => {
                    let given = params.get("cap", String::new())?;
                    return Err(Error::parameter(
                        "cap",
                        given,
                        "a whole number from 1, or none",
                    ));
                }
            };
            bounded = bounded.with_cap(cap);
        }
        Ok(Box::new(bounded))
    },
};

/// Load counters over any router, the ring by default.
///
/// [`acquire`](Self::acquire) places a key and counts it until its [`Lease`] is released. A lease
/// does not borrow the router, so nodes may come and go while requests are in flight. As a
/// [`Router`] it answers where a key would be placed now.
///
/// The load is counted with atomics behind `&self`. The bound holds at every placement, with m
/// read as the key is placed, keys that others are placing included; a key that leaves lowers m
/// and moves no other.
///
/// A clone routes the same and **starts without load**. Inside a
#[cfg_attr(feature = "shared", doc = "[`Shared`](crate::shared::Shared)")]
#[cfg_attr(not(feature = "shared"), doc = "`Shared`")]
/// every update is such a clone: it counts anew, the bound holds for what is placed since, and a
/// lease is given back to the version it came from, not to the next. Where the bound must hold
/// across changes, keep one `BoundedLoad` and [apply](Router::apply) them to it.
///
/// ```
/// use hashroute::{BoundedLoad, Node, Ring, Router};
///
/// let router = BoundedLoad::new(Ring::new(["a", "b", "c", "d"].map(Node::new))?, 1.25)?;
/// let key = router.hash_key(b"everybody asks for this one");
/// let leases: Vec<_> = (0..100).filter_map(|_| router.acquire(key)).collect();
/// for (id, _) in router.nodes().iter() {
///     assert!(router.load(id) <= 32); // ceil(1.25 * 100 / 4)
/// }
/// leases.into_iter().for_each(|lease| assert!(router.release(lease)));
/// assert_eq!(router.total_load(), 0);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Debug)]
pub struct BoundedLoad<R = Ring> {
    router: R,
    /// c in millionths, so that 1.1 is 11 / 10 and not the double nearest to it.
    factor: u64,
    cap: usize,
    /// Below, the keys there are; above, in the bits of [`RELEASE`], how often one was given
    /// back, which may make room without a change of their number.
    traffic: AtomicUsize,
    // By index. A node that leaves takes its counter with it: its leases are void.
    counters: Vec<Counter>,
}

/// What a node holds.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) load: AtomicUsize,
    /// Which stay of which node of which router this is: no two have the same number.
    pub(crate) stay: usize,
}

impl Counter {
    pub(crate) fn new() -> Self {
        // Numbers alone, whose order matters to nobody.
        static STAYS: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        Self {
            load: AtomicUsize::new(0),
            stay: STAYS.fetch_add(1, SeqCst),
        }
    }
}

/// The right to give one unit of load back, once.
///
/// A lease of a node that has left gives nothing back; neither does a lease of another router.
///
/// ```
/// use hashroute::{BoundedLoad, Change, Node, Ring, Router};
///
/// let mut router = BoundedLoad::new(Ring::new([Node::new("a")])?, 1.5)?;
/// let lease = router.acquire(router.hash_key(b"key")).expect("room");
/// router.apply(&Change::remove("a"))?;
/// router.apply(&Change::Add(Node::new("a")))?;
/// assert!(!router.release(lease)); // that "a" is gone, and its load with it
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a lease that is dropped keeps its unit of load until the node leaves"]
pub struct Lease {
    pub(crate) id: NodeId,
    pub(crate) stay: usize,
}

impl Lease {
    /// The node that the key was placed on.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Node, Ring, Router};
    /// let router = BoundedLoad::new(Ring::new([Node::new("a")])?, 1.25)?;
    /// let lease = router.acquire(router.hash_key(b"key")).expect("room");
    /// assert_eq!(router.nodes().name(lease.node()), "a");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn node(&self) -> NodeId {
        self.id
    }
}

/// The worst that was measured, with room: 100,000 keys placed anew after a change.
fn excess_bound(nodes: usize) -> f64 {
    0.005 + 3e-5 * nodes as f64
}

const MILLION: u64 = 1_000_000;

/// One release in [`BoundedLoad::traffic`]: the number of keys has the bits below, 40 of 64 or 20
/// of 32; there is no room for more.
const RELEASE: usize = 1 << (usize::BITS / 8 * 5);

/// How often a placement that lost every race starts over: each time another thread won.
const TRIES: usize = 1000;

impl BoundedLoad {
    /// The usual factor: a quarter above the fair share costs few excess moves.
    ///
    /// ```
    /// assert_eq!(hashroute::BoundedLoad::DEFAULT_FACTOR, 1.25);
    /// ```
    pub const DEFAULT_FACTOR: f64 = 1.25;
}

impl<R: Router> BoundedLoad<R> {
    /// Bound the load over `router` to `factor` (the paper's c = 1 + epsilon) times the fair
    /// share. The factor is taken to six decimals.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a factor that is not between 1.000001 and 1,000,000.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Jump, Node};
    /// assert!(BoundedLoad::new(Jump::new([Node::new("a")])?, 1.25).is_ok());
    /// assert!(BoundedLoad::new(Jump::new([Node::new("a")])?, 1.0).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(router: R, factor: f64) -> Result<Self, Error> {
        let millionths = factor * MILLION as f64 + 0.5;
        if !(millionths >= (MILLION + 1) as f64 && factor <= MILLION as f64) {
            return Err(Error::parameter(
                "load",
                factor,
                "more than 1 (at least 1.000001) and at most 1000000",
            ));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 10^6 and 10^12"
        )]
        let factor = millionths as u64;
        let counters = (0..router.nodes().id_bound())
            .map(|_| Counter::new())
            .collect();
        Ok(Self {
            router,
            factor,
            cap: usize::MAX,
            traffic: AtomicUsize::new(0),
            counters,
        })
    }

    /// The same with an absolute limit as well: no node ever holds more than `cap` keys. When
    /// all are full, a key has no place and no owner, though a walk still gives its order of
    /// preference.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Node, Ring, Router};
    /// let router = BoundedLoad::new(Ring::new([Node::new("a")])?, 1.25)?.with_cap(1);
    /// let key = router.hash_key(b"key");
    /// let lease = router.acquire(key);
    /// assert!(lease.is_some() && router.acquire(key).is_none());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_cap(mut self, cap: usize) -> Self {
        self.cap = cap;
        self
    }

    /// The router inside.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Node, Ring};
    /// let router = BoundedLoad::new(Ring::new([Node::new("a")])?, 1.25)?;
    /// assert_eq!(router.router().points().count(), 160);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn router(&self) -> &R {
        &self.router
    }

    /// Place a key on the first node of its preference list that has room, and count it there.
    /// `None` when no node has weight, or all are at their absolute limit.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Node, Ring, Router};
    /// let router = BoundedLoad::new(Ring::new([Node::new("a")])?, 1.25)?;
    /// let lease = router.acquire(router.hash_key(b"key")).expect("room");
    /// assert_eq!(router.load(lease.node()), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn acquire(&self, key: KeyHash) -> Option<Lease> {
        // Counted first, so that at any time the total covers every load.
        let present = self.traffic.fetch_add(1, SeqCst).wrapping_add(1) % RELEASE;
        if present != 0 {
            let lease = self.settled(|| self.search(key, |id| self.try_place(id)));
            if lease.is_some() {
                return lease;
            }
        }
        self.traffic.fetch_sub(1, SeqCst);
        None
    }

    /// An answer that others have not overtaken: when nobody had room, nobody came or went
    /// meanwhile.
    fn settled<T>(&self, search: impl Fn() -> Option<T>) -> Option<T> {
        for _ in 0..TRIES {
            let before = self.traffic.load(SeqCst);
            let found = search();
            if found.is_some() || self.traffic.load(SeqCst) == before {
                return found;
            }
        }
        None
    }

    /// The first success in order of preference. When many have failed it asks whether anybody
    /// has room at all, since a walk may offer each node a hundred times.
    fn search<T>(&self, key: KeyHash, attempt: impl Fn(NodeId) -> Option<T>) -> Option<T> {
        // Mostly the owner has room, and a lookup is quicker than a walk.
        let mut found = self.router.route_hash(key).and_then(&attempt);
        if found.is_some() {
            return found;
        }
        let nodes = self.router.nodes();
        let mut failures = 0;
        self.router.walk(key, &mut |id| {
            if found.is_none() {
                found = attempt(id);
            }
            failures += 1;
            let full =
                failures == 2 * nodes.weighted() && !nodes.iter().any(|(id, _)| self.has_room(id));
            if found.is_some() || full {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        found
    }

    fn try_place(&self, id: NodeId) -> Option<Lease> {
        let counter = self.counters.get(id.index())?;
        let capacity = self.capacity_at(id, self.total_load());
        let more = |load: usize| (load < capacity).then_some(load + 1);
        counter.load.fetch_update(SeqCst, SeqCst, more).ok()?;
        Some(Lease {
            id,
            stay: counter.stay,
        })
    }

    /// Give a unit of load back. `false`, and nothing is given, when the node has left since or
    /// the lease is another router's.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Node, Ring, Router};
    /// let router = BoundedLoad::new(Ring::new([Node::new("a")])?, 1.25)?;
    /// let lease = router.acquire(router.hash_key(b"key")).expect("room");
    /// assert!(router.release(lease));
    /// assert_eq!(router.total_load(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a lease is spent by giving it back"
    )]
    pub fn release(&self, lease: Lease) -> bool {
        let Some(counter) = self.counters.get(lease.id.index()) else {
            return false;
        };
        if counter.stay != lease.stay {
            return false;
        }
        // In this order, so that the total never falls below the loads.
        counter.load.fetch_sub(1, SeqCst);
        self.traffic.fetch_add(RELEASE - 1, SeqCst);
        true
    }

    /// The keys on a node now.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Node, Ring, Router};
    /// let router = BoundedLoad::new(Ring::new([Node::new("a")])?, 1.25)?;
    /// assert_eq!(router.load(router.nodes().id("a").expect("a member")), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn load(&self, id: NodeId) -> usize {
        self.counters
            .get(id.index())
            .map_or(0, |counter| counter.load.load(SeqCst))
    }

    /// The keys on all nodes now.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Node, Ring};
    /// assert_eq!(BoundedLoad::new(Ring::new([Node::new("a")])?, 1.25)?.total_load(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn total_load(&self) -> usize {
        self.traffic.load(SeqCst) % RELEASE
    }

    /// The most keys that a node may hold once one more is placed.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Node, Ring, Router};
    /// let router = BoundedLoad::new(Ring::new(["a", "b"].map(Node::new))?, 1.25)?;
    /// assert_eq!(router.capacity(router.nodes().id("a").expect("a member")), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn capacity(&self, id: NodeId) -> usize {
        self.capacity_at(id, self.total_load() + 1)
    }

    /// ceil(c m w / W), and no more than the absolute limit.
    fn capacity_at(&self, id: NodeId, present: usize) -> usize {
        let nodes = self.router.nodes();
        if nodes.total_weight() == 0 {
            return 0;
        }
        let narrow = || {
            let fair = u64::from(nodes.weight(id)).checked_mul(present as u64)?;
            let whole = nodes.total_weight().checked_mul(MILLION)?;
            Some(u128::from(fair.checked_mul(self.factor)?.div_ceil(whole)))
        };
        let bound = narrow().unwrap_or_else(|| self.wide_capacity(id, present));
        usize::try_from(bound).map_or(self.cap, |bound| bound.min(self.cap))
    }

    /// The same in numbers that cannot overflow, which takes five times as long.
    #[cold]
    fn wide_capacity(&self, id: NodeId, present: usize) -> u128 {
        let nodes = self.router.nodes();
        let fair = u128::from(nodes.weight(id)).saturating_mul(present as u128);
        let whole = u128::from(nodes.total_weight()) * u128::from(MILLION);
        fair.saturating_mul(u128::from(self.factor)).div_ceil(whole)
    }

    fn has_room(&self, id: NodeId) -> bool {
        self.load(id) < self.capacity(id)
    }
}

impl<R: Router + Clone> Clone for BoundedLoad<R> {
    fn clone(&self) -> Self {
        let counters = self.counters.iter().map(|_| Counter::new()).collect();
        Self {
            router: self.router.clone(),
            factor: self.factor,
            cap: self.cap,
            traffic: AtomicUsize::new(0),
            counters,
        }
    }
}

impl<R: Router> Router for BoundedLoad<R> {
    as_inside!(router);

    /// Where [`acquire`](BoundedLoad::acquire) would place the key now.
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        self.settled(|| self.search(key, |id| self.has_room(id).then_some(id)))
    }

    fn place(&self, key: KeyHash) -> Option<NodeId> {
        self.acquire(key).map(|lease| lease.node())
    }

    fn keeps_loads(&self) -> bool {
        true
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let leaves = match change {
            Change::Remove(name) => self.router.nodes().id(name),
            _ => None,
        };
        self.router.apply(change)?;
        if let Some(counter) = leaves.and_then(|id| self.counters.get_mut(id.index())) {
            *self.traffic.get_mut() -= *counter.load.get_mut();
            *counter = Counter::new();
        }
        self.counters
            .resize_with(self.router.nodes().id_bound(), Counter::new);
        Ok(())
    }

    /// Those with room first, then all.
    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let mut flow = ControlFlow::Continue(());
        self.router.walk(key, &mut |id| {
            if self.has_room(id) {
                flow = visit(id);
            }
            flow
        });
        if flow.is_continue() {
            self.router.walk(key, visit);
        }
    }

    fn explain(&self, key: KeyHash) -> Vec<(&'static str, String)> {
        let mut facts = self.router.explain(key);
        let owner = self.route_hash(key);
        let mut told = Vec::new();
        self.router.walk(key, &mut |id| {
            if !told.contains(&id) {
                told.push(id);
                let fact = if Some(id) == owner {
                    "load"
                } else {
                    "passed over"
                };
                let (name, load, capacity) =
                    (self.nodes().name(id), self.load(id), self.capacity(id));
                facts.push((
                    fact,
                    alloc::format!("{name} holds {load} of at most {capacity} keys"),
                ));
            }
            if Some(id) == owner {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        facts
    }

    fn heap_bytes(&self) -> usize {
        self.router.heap_bytes() + self.counters.capacity() * size_of::<Counter>()
    }
}
