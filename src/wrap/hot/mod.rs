//! Hot keys: load balancing for the few keys that would overload their owner. The first nodes of
//! its preference list share a hot key. Every other key keeps its owner.
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | as the router inside, and O(log hot keys); for a hot key, also its preference list | 8 B a hot key, 40 B a node | as the router inside |
//!
//! Peers must share the state of the router inside. If they write, they must also share the set of
//! hot keys: pass [`HotKeys::hot`] of one peer to [`HotKeys::set_hot`] of the others. They need not
//! share loads.
//!
//! Hot keys take three steps:
//!
//! 1. [`HeavyHitters`] counts requests, next to the router.
//! 2. [`HotKeys::due`] returns the keys that should be hot by these counts.
//! 3. [`HotKeys::set_hot`] makes them hot. From then on a hot key is read from nodes that did not
//!    have it before. A store must copy the data before this step. A cache fills by itself, with
//!    one miss on each node.
//!
//! A key becomes hot at a given share of all requests and stays hot down to half of it, so that a
//! share close to the limit does not make it change all the time.
//!
//! The number of copies decides how much of a hot key each node gets: its share divided by the
//! copies. An example with 20 equal nodes and requests by a Zipf law (exponent 1.1, 100,000 keys):
//! the first key has 13.5 % of all requests, and the busiest node has 3.6 times the mean load. With
//! the ten keys above 1 % on two nodes each it has 2.0 times the mean, on four nodes 1.3 times and
//! on eight nodes 1.0 times (example `hot_keys` of the harness).

use alloc::vec::Vec;
use core::ops::ControlFlow;

use crate::load::SharedCounters;
use crate::wrap::check_uncounted;
use crate::{
    Change, Error, Explanation, HashRanges, KeyHash, Lease, Limit, Loads, NodeId, NodeList, Router,
    RouterExt, Spread, replicas,
};

mod hitters;

pub use hitters::HeavyHitters;

/// A router in which hot keys have several owners: readers use the least loaded, writers use all.
///
/// For a hot key it returns the node to which [`acquire`](Loads::acquire) would send a reader now:
/// among the [copies](Self::copies) of the key, the node with the least load for its weight; at
/// ties, the first in order of preference. For any other key it returns the owner in the router
/// inside.
///
/// The load of a node is the number of its leases: the requests in flight, if each is released at
/// its end. Two readers at the same moment may choose the same node. A clone shares the loads, so
/// the next version of a swapped router goes on with them.
///
/// ```
/// use hashroute::hot::{HeavyHitters, HotKeys};
/// use hashroute::{KeyHash, Loads, Ring};
///
/// let ring = Ring::new((0..10).map(|i| format!("cache-{i}")))?;
/// let mut router = HotKeys::new(ring, 3, 0.1)?; // keys with 10 % of all requests get 3 nodes
/// let mut hitters = HeavyHitters::new(100)?;
/// for i in 0..10_000 {
///     let key = if i % 4 == 0 { "hot".into() } else { format!("user:{i}") };
///     hitters.feed(KeyHash::from_bytes(key.as_bytes()), 1);
/// }
/// router.set_hot(router.due(&hitters)?)?;
///
/// assert_eq!(router.hot(), [KeyHash::from_bytes(b"hot")]);
/// let writers = router.copies(b"hot"); // a writer writes to all of them, in this order
/// let readers: Vec<_> = (0..3).filter_map(|_| router.acquire(b"hot")).collect();
/// assert!(readers.iter().map(|lease| lease.node()).eq(writers));
/// readers.into_iter().for_each(|lease| assert!(router.release(lease)));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HotKeys<R> {
    router: R,
    copies: usize,
    spread: Spread,
    /// The share at which a key becomes hot, in millionths of all requests.
    share: u64,
    /// The hot keys in order.
    hot: Vec<KeyHash>,
    counters: SharedCounters,
}

/// The smallest number of requests with which a key can become hot. The standard error of a count
/// of 100 is 10 %.
const EVIDENCE: u64 = 100;

const MILLION: u64 = 1_000_000;

impl HotKeys<()> {
    /// The largest number of nodes that share a hot key.
    pub const MAX_COPIES: usize = 8;

    /// The largest number of hot keys.
    pub const MAX_HOT: usize = HeavyHitters::MAX_CAPACITY;
}

impl<R: Router> HotKeys<R> {
    /// Builds a router that spreads hot keys over the first `copies` nodes of their preference
    /// lists. A key becomes hot with at least `share` of all requests; none is hot yet. With n
    /// equal nodes, a key of share s adds s n times the mean load to a node, so 1 / (4 n) is a good
    /// first share. The share is rounded to six decimals.
    ///
    /// # Errors
    /// [`Error::Parameter`] for `copies` outside 2 to [`MAX_COPIES`](HotKeys::MAX_COPIES), or for a
    /// share outside 0.0001 to 1 (the smallest share that [`HeavyHitters`] can detect is 0.0001);
    /// [`Error::Unsupported`] for a router that counts loads itself.
    ///
    /// ```
    /// # use hashroute::{Jump, Node, hot::HotKeys};
    /// assert!(HotKeys::new(Jump::new([Node::new("a")])?, 2, 0.01).is_ok());
    /// assert!(HotKeys::new(Jump::new([Node::new("a")])?, 1, 0.01).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(router: R, copies: usize, share: f64) -> Result<Self, Error> {
        check_uncounted(&router)?;
        if !(2..=HotKeys::MAX_COPIES).contains(&copies) {
            let expected = alloc::format!("2 to {}", HotKeys::MAX_COPIES);
            return Err(Error::parameter("copies", copies, expected));
        }
        if !(1e-4..=1.0).contains(&share) {
            return Err(Error::parameter("share", share, "0.0001 to 1"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 100 and 10^6"
        )]
        let share = (share * MILLION as f64 + 0.5) as u64;
        Ok(Self {
            counters: SharedCounters::new(router.nodes().id_bound()),
            router,
            copies,
            spread: Spread::Nodes,
            share,
            hot: Vec::new(),
        })
    }

    /// Sets the spread of the copies of a hot key over zones and racks, as for replicas.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, Router, Spread, hot::HotKeys};
    /// let nodes = ["a1", "a2", "b1"].map(|name| Node::new(name).with_zone(&name[..1]));
    /// let mut router = HotKeys::new(Ring::new(nodes)?, 2, 0.01)?.with_spread(Spread::Zones);
    /// router.set_hot(router.hash_key(b"hot"))?;
    /// let copies = router.copies(b"hot");
    /// let zones: Vec<_> = copies.iter().filter_map(|&id| router.nodes().get(id)?.zone()).collect();
    /// assert_ne!(zones[0], zones[1]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_spread(mut self, spread: Spread) -> Self {
        self.spread = spread;
        self
    }

    /// Returns the router inside, which knows no hot keys.
    pub fn router(&self) -> &R {
        &self.router
    }

    /// Returns the keys that should be hot by these counts: the keys that certainly have the share,
    /// and the hot keys that may still have half of it. Changes nothing. O(c log c) in the
    /// capacity.
    ///
    /// The [uncertainty of a count](HeavyHitters::count) is at most a quarter of the share. So a
    /// key becomes hot before it has 1.3 times the share, and stops being hot before it has less
    /// than a fifth of it. Below 100 / share requests there are too few to decide, and the result
    /// is the present set.
    ///
    /// # Errors
    /// [`Error::Parameter`] for hitters with a capacity below 4 / share, which is too small to
    /// decide.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Ring, hot::{HeavyHitters, HotKeys}};
    /// let mut router = HotKeys::new(Ring::new(["a"])?, 2, 0.5)?;
    /// let [key, others] = [1, 2].map(KeyHash::from_integer);
    /// let due = |router: &HotKeys<Ring>, requests, of_others| {
    ///     let mut hitters = HeavyHitters::new(10)?;
    ///     hitters.feed(key, requests);
    ///     hitters.feed(others, of_others);
    ///     Ok::<_, hashroute::Error>(router.due(&hitters)?.contains(&key))
    /// };
    /// assert!(!due(&router, 40, 60)?); // too few requests to decide
    /// assert!(!due(&router, 400, 600)?);
    /// assert!(due(&router, 500, 500)?);
    /// router.set_hot([key])?;
    /// assert!(due(&router, 300, 700)?); // more than half of the share
    /// assert!(!due(&router, 200, 800)?);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn due(&self, hitters: &HeavyHitters) -> Result<Vec<KeyHash>, Error> {
        self.check_capacity(hitters.capacity())?;
        let part = |count: u64| u128::from(count) * u128::from(MILLION);
        let needed = u128::from(hitters.total()) * u128::from(self.share);
        if needed < part(EVIDENCE) {
            return Ok(self.hot.clone());
        }
        // Only counted keys come into question: the capacity is at least 4 / share, so a key
        // without a count has less than half of the share. A key needs the whole share to become
        // hot and half of it to stay hot, which is the hysteresis.
        let is_due = |&(key, least): &(KeyHash, u64)| {
            let stays = || self.is_hot(key) && 2 * part(*hitters.count(key).end()) >= needed;
            part(least) >= needed || stays()
        };
        let due = hitters.top(usize::MAX).into_iter().filter(is_due);
        // Never more than `MAX_HOT`, except if counts have saturated: then the sum of the shares
        // can exceed 1.
        let mut due: Vec<_> = due.map(|(key, _)| key).take(HotKeys::MAX_HOT).collect();
        due.sort_unstable();
        Ok(due)
    }

    fn check_capacity(&self, capacity: usize) -> Result<(), Error> {
        let least = (4 * MILLION).div_ceil(self.share);
        if capacity as u64 >= least {
            return Ok(());
        }
        let share = self.share as f64 / MILLION as f64;
        let expected = alloc::format!("at least {least}, to find the keys with a share of {share}");
        Err(Error::parameter("capacity", capacity, expected))
    }

    /// Replaces the set of hot keys.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more than [`MAX_HOT`](HotKeys::MAX_HOT) keys. Nothing changes then.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Ring, hot::HotKeys};
    /// let mut router = HotKeys::new(Ring::new([Node::new("a")])?, 2, 0.01)?;
    /// router.set_hot([KeyHash::from_bytes(b"hot")])?;
    /// assert!(router.set_hot((0..).map(KeyHash::from_raw)).is_err());
    /// assert_eq!(router.hot(), [KeyHash::from_bytes(b"hot")]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn set_hot(&mut self, keys: impl IntoIterator<Item = KeyHash>) -> Result<(), Error> {
        // One more than allowed shows that there are too many; an endless iterator must not hang.
        let mut hot: Vec<_> = keys.into_iter().take(HotKeys::MAX_HOT + 1).collect();
        if hot.len() > HotKeys::MAX_HOT {
            return Err(Error::Capacity {
                what: Limit::HotKeys,
                wanted: hot.len() as u64,
                limit: HotKeys::MAX_HOT as u64,
                advice: "take a larger share",
            });
        }
        hot.sort_unstable();
        hot.dedup();
        self.hot = hot;
        Ok(())
    }

    /// Returns the hot keys, in order.
    pub fn hot(&self) -> &[KeyHash] {
        &self.hot
    }

    /// Returns whether a key is hot. O(log hot keys).
    pub fn is_hot(&self, key: KeyHash) -> bool {
        self.hot.binary_search(&key).is_ok()
    }

    /// Returns the nodes to which a writer must write a key, in order of preference. For a hot key
    /// these are all nodes that readers may use, for any other key its owner, and none for a key
    /// that is not routed. The result does not depend on loads, so all writers agree. Never
    /// allocates.
    ///
    /// ```
    /// # use hashroute::{Ring, Router, hot::HotKeys};
    /// let mut router = HotKeys::new(Ring::new(["a", "b", "c"])?, 2, 0.01)?;
    /// assert_eq!(router.copies(b"key").len(), 1);
    /// router.set_hot(router.hash_key(b"key"))?;
    /// assert_eq!(router.copies(b"key").len(), 2);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn copies(&self, key: &[u8]) -> NodeList {
        match self.router.hash_key(key) {
            Some(hash) => self.copies_hash(hash),
            None => NodeList::new(),
        }
    }

    /// Returns the same nodes as [`copies`](Self::copies), for a key hash.
    pub fn copies_hash(&self, key: KeyHash) -> NodeList {
        if self.is_hot(key) {
            return self.router.replicas_hash(key, self.copies, self.spread);
        }
        self.router.route_hash(key).into_iter().collect()
    }

    /// Returns the copy of a hot key with the least load for its weight; at ties, the first copy.
    fn least_loaded(&self, key: KeyHash) -> Option<NodeId> {
        let mut best: Option<(NodeId, u128, u128)> = None;
        for id in self.copies_hash(key) {
            // The load after this key, so that empty nodes of different weights are no ties.
            let load = u128::from(self.load(id)) + 1;
            let weight = u128::from(self.router.nodes().weight_or_zero(id));
            // load / weight < least / of, multiplied out: exact, and safe in 128 bits.
            if best.is_none_or(|(_, least, of)| load * of < least * weight) {
                best = Some((id, load, weight));
            }
        }
        best.map(|(id, ..)| id)
    }
}

impl<R: Router> Loads for HotKeys<R> {
    fn acquire(&self, key: &[u8]) -> Option<Lease> {
        self.acquire_hash(self.router.hash_key(key)?)
    }

    fn acquire_hash(&self, key: KeyHash) -> Option<Lease> {
        self.acquire_on(self.owner(key)?)
    }

    fn acquire_on(&self, id: NodeId) -> Option<Lease> {
        // A node that left may have a counter until its id is used again.
        self.router.nodes().get(id)?;
        self.counters.acquire(id, usize::MAX)
    }

    fn release(&self, lease: Lease) -> bool {
        self.counters.release(lease)
    }

    fn load(&self, id: NodeId) -> u64 {
        self.counters.load(id) as u64
    }

    fn total_load(&self) -> u64 {
        self.counters.total()
    }
}

impl<R: Router> Router for HotKeys<R> {
    forward_router! { self.router;
        route_hash: Self::owner,
        route_batch: Self::owners,
        walk: Self::offer,
        replicas_into: Self::list,
        apply: Self::change,
        ranges: Self::ranges_if_none_is_hot,
        loads: Self::loads_if_they_matter,
        explain: Self::describe,
        heap_bytes: Self::size,
    }
}

impl<R: Router> HotKeys<R> {
    fn owner(&self, key: KeyHash) -> Option<NodeId> {
        if self.is_hot(key) {
            return self.least_loaded(key);
        }
        self.router.route_hash(key)
    }

    fn loads_if_they_matter(&self) -> Option<&dyn Loads> {
        (!self.hot.is_empty()).then_some(self as &dyn Loads)
    }

    fn change(&mut self, change: &Change) -> Result<(), Error> {
        let left = self.router.nodes().leaving(change);
        self.router.apply(change)?;
        self.counters.follow(left, self.router.nodes().id_bound());
        Ok(())
    }

    fn offer(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        // The walk of a router starts with its owner, which is the least loaded copy now.
        let now = self.is_hot(key).then(|| self.least_loaded(key)).flatten();
        if now.is_none_or(|id| visit(id).is_continue()) {
            self.router.walk(key, visit);
        }
    }

    fn owners(&self, keys: &[KeyHash], out: &mut [Option<NodeId>]) {
        self.router.route_batch(keys, out);
        for (owner, &key) in out.iter_mut().zip(keys) {
            if self.is_hot(key) {
                *owner = self.least_loaded(key);
            }
        }
    }

    fn list(&self, key: KeyHash, n: usize, spread: Spread, out: &mut NodeList) {
        if self.is_hot(key) {
            replicas::fill(self, key, n, spread, out);
        } else {
            self.router.replicas_into(key, n, spread, out);
        }
    }

    fn ranges_if_none_is_hot(&self) -> Option<HashRanges> {
        self.hot.is_empty().then(|| self.router.ranges()).flatten()
    }

    fn describe(&self, key: KeyHash) -> Explanation {
        let mut facts = self.router.explain(key);
        if self.is_hot(key) {
            for id in self.copies_hash(key) {
                let name = self.nodes().name(id).unwrap_or_default();
                let load = self.load(id);
                facts.push(
                    "hot key",
                    alloc::format!("{name} holds it, with a load of {load}"),
                );
            }
        }
        facts
    }

    fn size(&self) -> usize {
        self.router.heap_bytes()
            + self.counters.heap_bytes()
            + self.hot.capacity() * size_of::<KeyHash>()
    }
}
