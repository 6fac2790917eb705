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

use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering::SeqCst;

use crate::load::Counters;
use crate::sync::atomic::AtomicUsize;
use crate::wrap::check_uncounted;
use crate::{Change, Error, Explanation, KeyHash, Lease, Loads, NodeId, Router};

/// Counts loads over any router.
///
/// [`acquire`](Loads::acquire) places a key and counts it until its [`Lease`] is released. A lease
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
/// use hashroute::{BoundedLoad, Loads, Ring, Router};
///
/// let router = BoundedLoad::new(Ring::new(["a", "b", "c", "d"])?, 1.25)?;
/// let leases: Vec<_> = (0..100).filter_map(|_| router.acquire(b"a hot key")).collect();
/// for (id, _) in router.nodes() {
///     assert!(router.load(id) <= 32); // ceil(1.25 * 100 / 4)
/// }
/// leases.into_iter().for_each(|lease| assert!(router.release(lease)));
/// assert_eq!(router.total_load(), 0);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Debug)]
pub struct BoundedLoad<R> {
    router: R,
    /// c in millionths, so that 1.1 is 11 / 10 and not the double nearest to it.
    factor: u64,
    cap: u64,
    /// Below, the keys there are; above, in the bits of [`RELEASE`], how often one was given
    /// back, which may make room without a change of their number.
    traffic: AtomicUsize,
    counters: Counters,
}

const MILLION: u64 = 1_000_000;

/// One release in [`BoundedLoad::traffic`]: the number of keys has the bits below, 40 of 64 or 20
/// of 32; there is no room for more.
const RELEASE: usize = 1 << (usize::BITS / 8 * 5);

/// Retries before `acquire` gives up under contention.
const TRIES: usize = 1000;

impl BoundedLoad<()> {
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
    /// [`Error::Parameter`] for a factor that is not between 1.000001 and 1,000,000;
    /// [`Error::Unsupported`] over a router that counts loads itself.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Jump, Node};
    /// assert!(BoundedLoad::new(Jump::new([Node::new("a")])?, 1.25).is_ok());
    /// assert!(BoundedLoad::new(Jump::new([Node::new("a")])?, 1.0).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(router: R, factor: f64) -> Result<Self, Error> {
        check_uncounted(&router)?;
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
        Ok(Self {
            counters: Counters::new(router.nodes().id_bound()),
            router,
            factor,
            cap: u64::MAX,
            traffic: AtomicUsize::new(0),
        })
    }

    /// Adds an absolute limit: no node ever holds more than `cap` keys. When all nodes are full, a
    /// key has no owner, but a walk still gives its order of preference.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Loads, Ring};
    /// let router = BoundedLoad::new(Ring::new(["a"])?, 1.25)?.with_cap(1);
    /// let lease = router.acquire(b"key");
    /// assert!(lease.is_some() && router.acquire(b"key").is_none());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_cap(mut self, cap: u64) -> Self {
        self.cap = cap;
        self
    }

    /// Returns the router inside.
    pub fn router(&self) -> &R {
        &self.router
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

    /// Counts a key that is in the total already on this node, if it has room.
    fn take(&self, id: NodeId) -> Option<Lease> {
        let capacity = self.capacity_at(id, self.present());
        self.counters.acquire(id, capacity)
    }

    /// Places a key that `attempt` finds a node for, or takes it out of the total again.
    fn counted_in(&self, attempt: impl Fn() -> Option<Lease>) -> Option<Lease> {
        // Counted first, so that at any time the total covers every load.
        let present = self.traffic.fetch_add(1, SeqCst).wrapping_add(1) % RELEASE;
        if present != 0 {
            let lease = attempt();
            if lease.is_some() {
                return lease;
            }
        }
        self.traffic.fetch_sub(1, SeqCst);
        None
    }

    /// The keys on all nodes now.
    fn present(&self) -> usize {
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
    pub fn capacity(&self, id: NodeId) -> u64 {
        self.capacity_at(id, self.present() + 1) as u64
    }

    /// ceil(c m w / W), and no more than the absolute limit.
    #[inline]
    fn capacity_at(&self, id: NodeId, present: usize) -> usize {
        let nodes = self.router.nodes();
        if nodes.total_weight() == 0 {
            return 0;
        }
        let narrow = || {
            let fair = u64::from(nodes.weight_or_zero(id)).checked_mul(present as u64)?;
            let whole = nodes.total_weight().checked_mul(MILLION)?;
            Some(u128::from(fair.checked_mul(self.factor)?.div_ceil(whole)))
        };
        let bound = narrow().unwrap_or_else(|| self.wide_capacity(id, present));
        let bound = u64::try_from(bound).map_or(self.cap, |bound| bound.min(self.cap));
        usize::try_from(bound).unwrap_or(usize::MAX)
    }

    /// The same in numbers that cannot overflow, which takes five times as long.
    #[cold]
    fn wide_capacity(&self, id: NodeId, present: usize) -> u128 {
        let nodes = self.router.nodes();
        let fair = u128::from(nodes.weight_or_zero(id)).saturating_mul(present as u128);
        let whole = u128::from(nodes.total_weight()) * u128::from(MILLION);
        fair.saturating_mul(u128::from(self.factor)).div_ceil(whole)
    }

    #[inline]
    fn has_room(&self, id: NodeId) -> bool {
        self.counters.load(id) < self.capacity_at(id, self.present() + 1)
    }
}

impl<R: Router + Clone> Clone for BoundedLoad<R> {
    fn clone(&self) -> Self {
        Self {
            router: self.router.clone(),
            counters: self.counters.anew(),
            factor: self.factor,
            cap: self.cap,
            traffic: AtomicUsize::new(0),
        }
    }
}

impl<R: Router> Loads for BoundedLoad<R> {
    /// Places a key on the first node of its preference list that has room. `None` for a key that
    /// is not routed, when no node has weight, or when all are at their absolute limit.
    fn acquire(&self, key: &[u8]) -> Option<Lease> {
        self.acquire_hash(self.router.hash_key(key)?)
    }

    fn acquire_hash(&self, key: KeyHash) -> Option<Lease> {
        self.counted_in(|| self.settled(|| self.search(key, |id| self.take(id))))
    }

    fn acquire_on(&self, id: NodeId) -> Option<Lease> {
        self.counted_in(|| self.settled(|| self.take(id)))
    }

    fn release(&self, lease: Lease) -> bool {
        // In this order, so that the total never falls below the loads.
        let given = self.counters.release(lease);
        if given {
            self.traffic.fetch_add(RELEASE - 1, SeqCst);
        }
        given
    }

    fn load(&self, id: NodeId) -> u64 {
        self.counters.load(id) as u64
    }

    fn total_load(&self) -> u64 {
        self.present() as u64
    }
}

impl<R: Router> Router for BoundedLoad<R> {
    forward_router! { self.router;
        route_hash: Self::owner_now,
        route_batch: default,
        walk: Self::offer,
        replicas_into: default,
        apply: Self::change,
        ranges: default,
        loads: Self::counted,
        explain: Self::describe,
        heap_bytes: Self::size,
    }
}

impl<R: Router> BoundedLoad<R> {
    /// Where [`acquire`](Loads::acquire) would place the key now.
    fn owner_now(&self, key: KeyHash) -> Option<NodeId> {
        self.settled(|| self.search(key, |id| self.has_room(id).then_some(id)))
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the trait's method has it")]
    fn counted(&self) -> Option<&dyn Loads> {
        Some(self)
    }

    fn change(&mut self, change: &Change) -> Result<(), Error> {
        let left = self.router.nodes().leaving(change);
        self.router.apply(change)?;
        let gone = self.counters.follow(left, self.router.nodes().id_bound());
        *self.traffic.get_mut() -= gone;
        Ok(())
    }

    /// Those with room first, then all.
    fn offer(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
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

    fn describe(&self, key: KeyHash) -> Explanation {
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
                let name = self.nodes().name(id).unwrap_or_default();
                let (load, capacity) = (self.load(id), self.capacity(id));
                let text = alloc::format!("{name} holds {load} of at most {capacity} keys");
                facts.push(fact, text);
            }
            if Some(id) == owner {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        facts
    }

    fn size(&self) -> usize {
        self.router.heap_bytes() + self.counters.heap_bytes()
    }
}
