//! Hot keys: what a few keys alone would do to a node is shared by the first nodes of their
//! preference lists. Every other key stays where it is.
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | that of the router and O(log hot keys); of a hot key also its preference list | 8 B a hot key, 40 B a node | that of the router |
//!
//! Peers must share what the router needs and, where somebody writes, the set of hot keys:
//! [`HotKeys::hot`] of one for [`HotKeys::set_hot`] of the others. Loads need not be shared.
//!
//! Three parts: [`HeavyHitters`] counts requests beside the router; [`HotKeys::due`] tells from
//! the counts which keys should be hot now; [`HotKeys::set_hot`] makes them so. Who must copy data
//! first, does so between the two: a key that becomes hot is read from nodes that did not have it.
//! A cache fills by itself, at the price of a miss on each of them.
//!
//! A key becomes hot with a certain share of all requests and stays so down to half of it, so that
//! one whose share wavers does not come and go.
//!
//! How many copies: the nodes that share a hot key should each get no more of it than they bear,
//! its share over the copies. With 20 equal nodes and requests by a Zipf law (exponent 1.1, 100,000
//! keys), where the first key draws 13.5 % of all, the busiest node has 3.6 times the mean; with the
//! ten keys above 1 % on two nodes each it has 2.0 times, on four 1.3 and on eight 1.0
//! (`examples/hot_keys.rs`).

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

/// A router whose hot keys have several owners: read from the least loaded, written to all.
///
/// As a [`Router`] it answers, for a hot key, where [`acquire`](Loads::acquire) would send a reader
/// now: of the key's [copies](Self::copies), the node that will have the least load for its weight,
/// the first in order of preference at ties. For any other key it answers what the router inside
/// does.
///
/// Loads are whatever leases are held: requests in flight, where each is released at its end. Two
/// readers at the same moment may choose the same node. A clone shares the loads, so that the next
/// version of a router that is swapped goes on with them.
///
/// ```
/// use hashroute::hot::{HeavyHitters, HotKeys};
/// use hashroute::{KeyHash, Loads, Ring};
///
/// let ring = Ring::new((0..10).map(|i| format!("cache-{i}")))?;
/// let mut router = HotKeys::new(ring, 3, 0.1)?; // keys with a tenth of all: 3 nodes each
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
    /// In millionths of all requests.
    share: u64,
    /// In order.
    hot: Vec<KeyHash>,
    counters: SharedCounters,
}

/// The requests that a key must have at the least to become hot: their number is then known to a
/// tenth.
const EVIDENCE: u64 = 100;

const MILLION: u64 = 1_000_000;

impl HotKeys<()> {
    /// The most nodes that a hot key may be spread over.
    ///
    /// ```
    /// assert_eq!(hashroute::hot::HotKeys::MAX_COPIES, 8);
    /// ```
    pub const MAX_COPIES: usize = 8;

    /// The most keys that may be hot.
    ///
    /// ```
    /// assert_eq!(hashroute::hot::HotKeys::MAX_HOT, 65_536);
    /// ```
    pub const MAX_HOT: usize = HeavyHitters::MAX_CAPACITY;
}

impl<R: Router> HotKeys<R> {
    /// Spread keys with at least this `share` of all requests over `copies` nodes each, the first
    /// of their preference lists; none is hot yet. The share is taken to six decimals. With n
    /// equal nodes, a key of share s adds s n times the mean load to a node: 1 / (4 n) is a good
    /// share to begin with.
    ///
    /// # Errors
    /// [`Error::Parameter`] for copies not from 2 to [`MAX_COPIES`](HotKeys::MAX_COPIES), or a
    /// share not from 0.0001 to 1, the least that [`HeavyHitters`] can tell; [`Error::Unsupported`] over
    /// a router that counts loads itself.
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

    /// Sets how far apart the copies of a hot key stand: in different zones or racks first, as the
    /// replicas of any other key.
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

    /// Returns the router inside, to which no key is hot.
    pub fn router(&self) -> &R {
        &self.router
    }

    /// The keys that should be hot by these counts: those that have the share for certain, and of
    /// those that are hot, the ones that may still have half of it. What the counts
    /// [leave open](HeavyHitters::count) is a quarter of the share at most: a key is seen as hot
    /// before it has 1.3 times the share, and is let go before it has less than a fifth. While
    /// there are too few requests to tell (100 / share), all stays as it is. Changes nothing.
    /// O(c log c) in the capacity.
    ///
    /// # Errors
    /// [`Error::Parameter`] for hitters with a capacity below 4 / share, which cannot tell.
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
    /// assert!(!due(&router, 40, 60)?); // too few to tell
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
        // A key without a count has less than half of the share.
        let is_due = |&(key, least): &(KeyHash, u64)| {
            let stays = || self.is_hot(key) && 2 * part(*hitters.count(key).end()) >= needed;
            part(least) >= needed || stays()
        };
        let due = hitters.top(usize::MAX).into_iter().filter(is_due);
        // There are fewer, unless counts have stopped at the largest number.
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
        let expected = alloc::format!("at least {least}, to tell which keys have {share} of all");
        Err(Error::parameter("capacity", capacity, expected))
    }

    /// These keys are hot from now on, and no others.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more than [`MAX_HOT`](HotKeys::MAX_HOT). Nothing has changed then.
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

    /// Returns the keys that are hot, in order.
    pub fn hot(&self) -> &[KeyHash] {
        &self.hot
    }

    /// Whether a key is hot. O(log hot keys).
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Ring, hot::HotKeys};
    /// let router = HotKeys::new(Ring::new([Node::new("a")])?, 2, 0.01)?;
    /// assert!(!router.is_hot(KeyHash::from_bytes(b"key")));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn is_hot(&self, key: KeyHash) -> bool {
        self.hot.binary_search(&key).is_ok()
    }

    /// Returns the nodes that a writer writes a key to, in order of preference: for a hot key all
    /// that readers may be sent to, for any other its owner, none for a key that is not routed.
    /// Loads play no part, so that all writers agree. Never allocates.
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

    /// As [`copies`](Self::copies), for a key that is hashed already.
    pub fn copies_hash(&self, key: KeyHash) -> NodeList {
        if self.is_hot(key) {
            return self.router.replicas_hash(key, self.copies, self.spread);
        }
        self.router.route_hash(key).into_iter().collect()
    }

    /// Of the nodes that share a hot key, the one with the least load for its weight; of equal ones
    /// the first.
    fn least_loaded(&self, key: KeyHash) -> Option<NodeId> {
        let mut best: Option<(NodeId, u128, u128)> = None;
        for id in self.copies_hash(key) {
            let load = u128::from(self.load(id)) + 1;
            let weight = u128::from(self.router.nodes().weight_or_zero(id));
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
