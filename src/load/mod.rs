//! Load: how many keys each node holds now, counted once for all routers that look at it.

mod hitters;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::sync::atomic::Ordering::SeqCst;

pub(crate) use hitters::Hitters;

use crate::digest::Digest;
use crate::sync::atomic::AtomicUsize;
use crate::{KeyHash, NodeId};

/// The loads that a router counts, in keys: what [`Router::loads`](crate::Router::loads) gives
/// where load decides which node a key goes to.
///
/// ```
/// use hashroute::{BoundedLoad, Loads, Ring, Router};
///
/// let router = BoundedLoad::new(Ring::new(["a", "b"])?, 1.25)?;
/// let lease = router.acquire(b"user:42").expect("a node with room");
/// assert_eq!(router.load(lease.node()), 1);
/// assert!(router.release(lease));
/// assert_eq!(router.total_load(), 0);
/// # Ok::<(), hashroute::Error>(())
/// ```
pub trait Loads: Send + Sync {
    /// Places a key on the node that the router chooses now, and counts it there until the lease
    /// is released. `None` for a key that the router does not route, and where no node can take
    /// it.
    fn acquire(&self, key: &[u8]) -> Option<Lease>;

    /// As [`acquire`](Self::acquire), for a key that is hashed already.
    fn acquire_hash(&self, key: KeyHash) -> Option<Lease>;

    /// Counts a key on this node, whoever chose it. `None` for a node that is no member, or is
    /// full.
    fn acquire_on(&self, id: NodeId) -> Option<Lease>;

    /// Gives the load of a lease back. `false`, and nothing is given, when the node has left since
    /// or the lease is another router's.
    fn release(&self, lease: Lease) -> bool;

    /// Returns the number of keys on a node now; 0 for a node that is no member.
    fn load(&self, id: NodeId) -> u64;

    /// Returns the number of keys on all nodes now.
    fn total_load(&self) -> u64;
}

/// The right to give one unit of load back, once.
///
/// A lease of a node that has left gives nothing back; neither does a lease of another router.
///
/// ```
/// use hashroute::{BoundedLoad, Change, Loads, Ring, Router};
///
/// let mut router = BoundedLoad::new(Ring::new(["a"])?, 1.5)?;
/// let lease = router.acquire(b"key").expect("room");
/// router.apply(&Change::remove("a"))?;
/// router.apply(&Change::add("a"))?;
/// assert!(!router.release(lease)); // that "a" is gone, and its load with it
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a lease that is dropped keeps its unit of load until the node leaves"]
pub struct Lease {
    id: NodeId,
    stay: usize,
}

impl Lease {
    /// Returns the node that the key was placed on.
    pub fn node(&self) -> NodeId {
        self.id
    }
}

/// The keys on each node, by index.
///
/// Everything is sequentially consistent. A bound compares counters of several nodes with a total
/// and relies on one order of all changes; the other users do not need it and pay nothing for it
/// on x86, where each of these operations is one locked instruction anyway.
#[derive(Clone)]
pub(crate) struct Counters<C = Counter>(Vec<C>);

/// The first loads by index, and the number of all with a digest.
impl<C: fmt::Debug> fmt::Debug for Counters<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters")
            .field("first", &self.0.get(..8).unwrap_or(&self.0))
            .field("all", &Digest(self.0.len(), &self.0))
            .finish()
    }
}

/// Counters that clones share.
pub(crate) type SharedCounters = Counters<Arc<Counter>>;

/// The keys on one node, from when it joined until it leaves.
pub(crate) struct Counter {
    load: AtomicUsize,
    /// A number that no other counter of this process has: a lease is good for the counter of the
    /// same number alone, so a node that left and came back takes no lease from before.
    stay: usize,
}

/// Without the number, which differs between routers that are otherwise equal.
impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load.fmt(f)
    }
}

impl Counter {
    fn new() -> Self {
        // Not the atomic that Shuttle schedules: nobody waits for these numbers.
        static STAYS: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        Self {
            load: AtomicUsize::new(0),
            stay: STAYS.fetch_add(1, SeqCst),
        }
    }
}

impl<C: Borrow<Counter> + From<Counter>> Counters<C> {
    /// Makes a counter for each index below `id_bound`, all at 0.
    pub(crate) fn new(id_bound: usize) -> Self {
        Self((0..id_bound).map(|_| Counter::new().into()).collect())
    }

    /// Makes counters for the same indexes that share nothing with these, all at 0.
    pub(crate) fn anew(&self) -> Self {
        Self::new(self.0.len())
    }

    /// Whether nothing is counted.
    #[cfg(feature = "compat")]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub(crate) fn load(&self, id: NodeId) -> usize {
        let counter = self.0.get(id.index());
        counter.map_or(0, |counter| counter.borrow().load.load(SeqCst))
    }

    pub(crate) fn total(&self) -> u64 {
        let loads = self
            .0
            .iter()
            .map(|counter| counter.borrow().load.load(SeqCst));
        loads.map(|load| load as u64).sum()
    }

    /// Counts one key more on a node, unless it holds `limit` already.
    #[inline]
    pub(crate) fn acquire(&self, id: NodeId, limit: usize) -> Option<Lease> {
        let counter: &Counter = self.0.get(id.index())?.borrow();
        let more = |load: usize| (load < limit).then_some(load + 1);
        counter.load.fetch_update(SeqCst, SeqCst, more).ok()?;
        let stay = counter.stay;
        Some(Lease { id, stay })
    }

    /// Counts one key less. `false` where the lease is not of these counters.
    #[inline]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a lease is spent by giving it back"
    )]
    pub(crate) fn release(&self, lease: Lease) -> bool {
        let counter = self.0.get(lease.id.index()).map(Borrow::borrow);
        let Some(counter) = counter.filter(|counter: &&Counter| counter.stay == lease.stay) else {
            return false;
        };
        counter.load.fetch_sub(1, SeqCst);
        true
    }

    /// Follows a change of members: a node that left takes its counter along, which voids its
    /// leases, and one that joined starts at 0. Returns the load of the node that left.
    pub(crate) fn follow(&mut self, left: Option<NodeId>, id_bound: usize) -> usize {
        let counter = left.and_then(|id| self.0.get_mut(id.index()));
        let gone = counter.map(|counter| core::mem::replace(counter, Counter::new().into()));
        self.0.resize_with(id_bound, || Counter::new().into());
        gone.map_or(0, |counter| counter.borrow().load.load(SeqCst))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        // Behind an `Arc` stands the counter with two counts of the `Arc`.
        let behind = if size_of::<C>() < size_of::<Counter>() {
            2 * size_of::<usize>() + size_of::<Counter>()
        } else {
            0
        };
        self.0.len() * (size_of::<C>() + behind)
    }
}
