//! Consistent hashing with bounded loads: no node holds more than its fair share times a factor. A
//! key that finds its owner full goes to the next node of its preference list.
//!
//! Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads" (SODA 2018,
//! arXiv:1608.01350).
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | as the router inside, then a step of its walk for each full node passed | 16 B a node | as the router inside |
//!
//! Peers must share the set of nodes and the current loads. In practice one process routes for all.
//!
//! With m keys in total, including the new one, a node of weight w has a capacity of
//! ceil(c m w / W), computed in integers. Since c > 1, some node always has room.
//!
//! Keys spread over the nodes, so most find their owner with room. One hot key alone fills node after
//! node of its preference list, and a lease of it passes all that are full: at c = 1.25 at most four
//! nodes of five. Over a ring that is a step a node. Over rendezvous it is a pass over all n nodes
//! for each 512 full ones, so at most a walk over all nodes.
//!
//! Without load a change moves the same keys as in the router inside. With load it also moves some
//! others (excess). When 100,000 keys are placed again at c = 1.25 after one of n nodes was added
//! or removed, the excess is 0.02 % of them at n = 10, 0.2 % at 100 and 1 % at 1,000. It is a fixed
//! number of keys rather than a share: the keys that came first, while capacities were small.

use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering::SeqCst;

use crate::load::Counters;
use crate::sync::atomic::AtomicUsize;
use crate::wrap::check_uncounted;
use crate::{Change, Error, Explanation, KeyHash, Lease, Loads, NodeId, Router};

/// Bounds the load of every node, over any router: load balancing that keeps keys on their owners
/// as long as these have room.
///
/// [`acquire`](Loads::acquire) places a key and counts it until its [`Lease`] is released. A lease
/// does not borrow the router, so nodes can join and leave while requests are in flight. As a
/// [`Router`] it returns the node on which a key would be placed now.
///
/// Loads are counted with atomics behind `&self`. The bound holds at every placement. It uses the m
/// of that moment, which includes the keys that other threads are placing. A key that leaves lowers
/// m and moves no other key.
///
/// A clone routes in the same way and **starts without load**. Inside a
#[cfg_attr(feature = "shared", doc = "[`Shared`](crate::shared::Shared)")]
#[cfg_attr(not(feature = "shared"), doc = "`Shared`")]
/// every update makes such a clone: it starts at 0, its bound covers only the keys placed since,
/// and a lease must be released to the version that it came from. If the bound must hold across
/// changes, keep one `BoundedLoad` and [apply](Router::apply) the changes to it.
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
    /// Low bits: the number of keys. High bits, from [`RELEASE`] up: a counter of releases. If a
    /// release and an acquire come between two reads, the number of keys is the same but this value
    /// differs (the ABA problem).
    traffic: AtomicUsize,
    counters: Counters,
}

const MILLION: u64 = 1_000_000;

/// One release in [`BoundedLoad::traffic`]. The bits below hold the number of keys: 40 of 64 bits,
/// or 20 of 32. A key that does not fit into them is not placed.
const RELEASE: usize = 1 << (usize::BITS / 8 * 5);

/// Retries before `acquire` gives up under contention.
const TRIES: usize = 1000;

impl BoundedLoad<()> {
    /// The default factor. A quarter above the fair share causes few excess moves.
    pub const DEFAULT_FACTOR: f64 = 1.25;
}

impl<R: Router> BoundedLoad<R> {
    /// Bounds the load of every node to `factor` times its fair share. The factor is the paper's
    /// c = 1 + epsilon, rounded to six decimals.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a factor that is not between 1.000001 and 1,000,000;
    /// [`Error::Unsupported`] for a router that counts loads itself.
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

    /// Adds an absolute limit: no node ever holds more than `cap` keys. If all nodes are full, a
    /// key has no owner, but a walk still gives its preference list.
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

    /// Repeats a search that found no room while other threads placed or released keys.
    fn settled<T>(&self, search: impl Fn() -> Option<T>) -> Option<T> {
        // A search reads the nodes one after the other. A node may get room behind it while those
        // ahead fill up, so "no room" is true only if the traffic did not change meanwhile.
        for _ in 0..TRIES {
            let before = self.traffic.load(SeqCst);
            let found = search();
            if found.is_some() || self.traffic.load(SeqCst) == before {
                return found;
            }
        }
        None
    }

    /// Returns the first success of `attempt` in order of preference.
    fn search<T>(&self, key: KeyHash, attempt: impl Fn(NodeId) -> Option<T>) -> Option<T> {
        // The owner usually has room, and a lookup is faster than a walk.
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
            // A walk may offer each node a hundred times. After two failures for each node on
            // average, a scan of the nodes tells once whether any of them has room at all.
            let full =
                failures == 2 * nodes.weighted() && !nodes.iter().any(|(id, _)| self.has_room(id));
            if found.is_some() || full {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        found
    }

    /// Counts a key on this node if the node has room. The total already includes the key.
    fn take(&self, id: NodeId) -> Option<Lease> {
        let capacity = self.capacity_at(id, self.present());
        self.counters.acquire(id, capacity)
    }

    /// Adds a key to the total and places it by `attempt`. Without success the total goes back.
    fn counted_in(&self, attempt: impl Fn() -> Option<Lease>) -> Option<Lease> {
        // The total grows before the load of a node and shrinks after it, so at every moment it is
        // at least the sum of all loads, and some node has room below a bound computed from it.
        // This needs one order of all operations on all counters, hence SeqCst.
        let present = self.traffic.fetch_add(1, SeqCst).wrapping_add(1) % RELEASE;
        // 0 means that the number of keys overflowed into the releases, which `fetch_sub` undoes.
        if present != 0 {
            let lease = attempt();
            if lease.is_some() {
                return lease;
            }
        }
        self.traffic.fetch_sub(1, SeqCst);
        None
    }

    /// Returns the number of keys on all nodes now.
    fn present(&self) -> usize {
        self.traffic.load(SeqCst) % RELEASE
    }

    /// Returns the largest number of keys that a node may hold when one more key is placed.
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

    /// Returns ceil(c m w / W), or the absolute limit if that is lower.
    #[inline]
    fn capacity_at(&self, id: NodeId, present: usize) -> usize {
        let nodes = self.router.nodes();
        if nodes.total_weight() == 0 {
            return 0;
        }
        // Products of realistic sizes fit into 64 bits, where a division is fast.
        let narrow = || {
            let fair = u64::from(nodes.weight_or_zero(id)).checked_mul(present as u64)?;
            let whole = nodes.total_weight().checked_mul(MILLION)?;
            Some(u128::from(fair.checked_mul(self.factor)?.div_ceil(whole)))
        };
        let bound = narrow().unwrap_or_else(|| self.wide_capacity(id, present));
        let bound = u64::try_from(bound).map_or(self.cap, |bound| bound.min(self.cap));
        usize::try_from(bound).unwrap_or(usize::MAX)
    }

    /// Computes ceil(c m w / W) in 128 bits, which cannot overflow but take five times as long.
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
    /// the router does not route, if no node has weight, if all nodes are at their absolute limit
    /// or at the 2^40 keys that can be counted (2^20 on 32-bit platforms), or after 1,000 searches
    /// that other threads overtook.
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
        // In this order, so that the total never falls below the sum of the loads.
        let given = self.counters.release(lease);
        if given {
            // One key less and one release more, in one step. The releases may wrap around.
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
    /// Returns the node on which [`acquire`](Loads::acquire) would place the key now.
    fn owner_now(&self, key: KeyHash) -> Option<NodeId> {
        self.settled(|| self.search(key, |id| self.has_room(id).then_some(id)))
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "the trait's method returns an Option"
    )]
    fn counted(&self) -> Option<&dyn Loads> {
        Some(self)
    }

    fn change(&mut self, change: &Change) -> Result<(), Error> {
        let left = self.router.nodes().leaving(change);
        self.router.apply(change)?;
        let gone = self.counters.follow(left, self.router.nodes().id_bound());
        // The leases of the node that left are invalid, so nobody else will subtract its keys.
        *self.traffic.get_mut() -= gone;
        Ok(())
    }

    /// Offers the nodes with room first, then all nodes, so that every weighted member is offered.
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
