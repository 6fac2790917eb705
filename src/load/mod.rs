//! Load: the number of keys that each node holds now. All routers that need it count it here.

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

/// Counts the keys on each node. [`Router::loads`](crate::Router::loads) returns it for a router
/// that balances by load.
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
    /// is released. `None` for a key that the router does not route, and if no node can take it.
    fn acquire(&self, key: &[u8]) -> Option<Lease>;

    /// Places a key hash in the same way as [`acquire`](Self::acquire).
    fn acquire_hash(&self, key: KeyHash) -> Option<Lease>;

    /// Counts a key on a node that the caller chose. `None` if the node is not a member or is full.
    fn acquire_on(&self, id: NodeId) -> Option<Lease>;

    /// Releases a lease: its node holds one key less. Returns `false` and changes nothing if the
    /// node has left since, or if the lease belongs to another router.
    fn release(&self, lease: Lease) -> bool;

    /// Returns the number of keys on a node now; 0 if the node is not a member.
    fn load(&self, id: NodeId) -> u64;

    /// Returns the number of keys on all nodes now.
    fn total_load(&self) -> u64;
}

/// One key that a node holds. It counts as load until it is released.
///
/// A lease has no effect after its node has left, or on another router.
///
/// ```
/// use hashroute::{BoundedLoad, Change, Loads, Ring, Router};
///
/// let mut router = BoundedLoad::new(Ring::new(["a"])?, 1.5)?;
/// let lease = router.acquire(b"key").expect("room");
/// router.apply(&Change::remove("a"))?;
/// router.apply(&Change::add("a"))?;
/// assert!(!router.release(lease)); // the first "a" has left, and its load with it
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a dropped lease counts as load until its node leaves"]
pub struct Lease {
    id: NodeId,
    stay: usize,
}

impl Lease {
    /// Returns the node that holds the key.
    pub fn node(&self) -> NodeId {
        self.id
    }
}

/// The number of keys on each node, by index of the node.
///
/// All operations are sequentially consistent. A bound compares counters of several nodes with a
/// total, so it relies on one order of all changes. The other users do not need that order, but it
/// costs them nothing on x86: each of these operations is one locked instruction in any case.
#[derive(Clone)]
pub(crate) struct Counters<C = Counter>(Vec<C>);

/// Prints the first eight loads, and the number and a digest of all.
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

/// The number of keys on one node, from its joining until it leaves.
pub(crate) struct Counter {
    load: AtomicUsize,
    /// An id that is unique in the process. A lease is valid only for the counter with the same
    /// id, so a node that left and came back does not accept its old leases.
    stay: usize,
}

/// Leaves out the id, which differs between routers that are otherwise equal.
impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load.fmt(f)
    }
}

impl Counter {
    fn new() -> Self {
        // Not an atomic that Shuttle schedules: no thread waits for these ids, so each of them
        // would only multiply the interleavings to try.
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

    /// Makes separate counters for the same indexes, all at 0.
    pub(crate) fn anew(&self) -> Self {
        Self::new(self.0.len())
    }

    /// Returns whether there is no counter.
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

    /// Counts one more key on a node, unless the node holds `limit` keys already.
    #[inline]
    pub(crate) fn acquire(&self, id: NodeId, limit: usize) -> Option<Lease> {
        let counter: &Counter = self.0.get(id.index())?.borrow();
        // The check and the increment are one atomic step: two threads that both see room for one
        // key cannot both take it.
        let more = |load: usize| (load < limit).then_some(load + 1);
        counter.load.fetch_update(SeqCst, SeqCst, more).ok()?;
        let stay = counter.stay;
        Some(Lease { id, stay })
    }

    /// Counts one key less. Returns `false` if the lease does not belong to these counters.
    #[inline]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "releasing a lease consumes it"
    )]
    pub(crate) fn release(&self, lease: Lease) -> bool {
        let counter = self.0.get(lease.id.index()).map(Borrow::borrow);
        let Some(counter) = counter.filter(|counter: &&Counter| counter.stay == lease.stay) else {
            return false;
        };
        // Cannot go below 0: the lease with this id was counted, and `release` consumes it.
        counter.load.fetch_sub(1, SeqCst);
        true
    }

    /// Follows a change of members. A node that left loses its counter, which makes its leases
    /// invalid; a node that joined starts at 0. Returns the load of the node that left.
    pub(crate) fn follow(&mut self, left: Option<NodeId>, id_bound: usize) -> usize {
        let counter = left.and_then(|id| self.0.get_mut(id.index()));
        let gone = counter.map(|counter| core::mem::replace(counter, Counter::new().into()));
        self.0.resize_with(id_bound, || Counter::new().into());
        gone.map_or(0, |counter| counter.borrow().load.load(SeqCst))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        // An `Arc` allocates the counter together with its strong and its weak count.
        let behind = if size_of::<C>() < size_of::<Counter>() {
            2 * size_of::<usize>() + size_of::<Counter>()
        } else {
            0
        };
        self.0.len() * (size_of::<C>() + behind)
    }
}
