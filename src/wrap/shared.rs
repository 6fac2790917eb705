//! One router for many threads. Readers use the current version and never wait, while one writer at
//! a time builds the next version and swaps it in.
//!
//! | operation | cost |
//! |---|---|
//! | [`Reader::get`] | an atomic load and a comparison, unless the version changed |
//! | [`Shared::pin`] | the same, and a reference count that all threads share |
//! | [`Shared::update`] | a clone of the router, the changes, a swap of a pointer |
//! | [`Shared::publish`] | a swap of a pointer |
//!
//! A version is complete, never changes, and has an **epoch**, a number that only grows. The result
//! of a lookup belongs to the version that gave it. A [`&Node`](crate::Node) borrows from its
//! version, so the compiler keeps the two together. A [`NodeId`](crate::NodeId) is valid only for
//! its version, because the next version may give the id to another node. To keep a result longer
//! than its version, keep the name of the node.
//!
//! ```
//! use std::thread;
//! use hashroute::shared::Shared;
//! use hashroute::{Change, Node, Ring, Router};
//!
//! let shared = Shared::new(Ring::new(["a", "b"].map(Node::new))?);
//! let mut reader = shared.reader();
//! let serving = thread::spawn(move || {
//!     let now = reader.get(); // one version for all of this request
//!     now.route(b"user:42").map(|node| (now.epoch(), node.name().to_owned()))
//! });
//! shared.update(&[Change::Add(Node::new("c")), Change::remove("a")])?; // both, or neither
//!
//! let (epoch, node) = serving.join().expect("no panic").expect("a node");
//! assert!(if epoch == 0 { node != "c" } else { node != "a" });
//! # Ok::<(), hashroute::Error>(())
//! ```

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::ops::Deref;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use arc_swap::{ArcSwap, Cache};

use crate::sync::{Mutex, lock};
use crate::{Change, Error, Limit, Router};

/// A router that many threads read while one thread at a time swaps it. A clone is another handle
/// to the same router.
///
/// If the router can be cloned, as in `Shared<Ring>`, [`update`](Self::update) makes the next
/// version. Otherwise, as with `Box<dyn Router>`, the program builds the next version and
/// [publishes](Self::publish) it.
///
/// ```
/// use hashroute::shared::Shared;
/// use hashroute::strategy::{Params, find};
/// use hashroute::{Node, Router};
///
/// let build = |names: &[&str]| find("maglev")?.build(names.iter().map(|&name| Node::new(name)), &Params::default());
/// let shared: Shared<Box<dyn Router>> = Shared::new(build(&["a", "b"])?);
/// shared.publish(build(&["a", "b", "c"])?, 7)?;
/// assert_eq!((shared.pin().epoch(), shared.pin().nodes().len()), (7, 3));
///
/// let stale = shared.publish(build(&["a"])?, 7).unwrap_err();
/// assert_eq!(stale.to_string(), "epoch 7 is stale: the router is at epoch 7, so start from the current version and use a later epoch");
/// # Ok::<(), hashroute::Error>(())
/// ```
pub struct Shared<R> {
    current: Arc<ArcSwap<Version<R>>>,
    writer: Arc<Writer<R>>,
}

/// The router of one epoch. Dereferences to the router. A version never changes, and lives as long
/// as a thread holds it.
///
/// ```
/// # use hashroute::shared::Shared;
/// # use hashroute::{Change, Node, Ring, Router};
/// let shared = Shared::new(Ring::new(["a", "b"].map(Node::new))?);
/// let before = shared.pin();
/// shared.update(&[Change::remove("a")])?;
/// assert_eq!((before.epoch(), before.nodes().len()), (0, 2));
/// assert_eq!((shared.pin().epoch(), shared.pin().nodes().len()), (1, 1));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Debug)]
pub struct Version<R> {
    epoch: u64,
    router: R,
}

impl<R> Version<R> {
    /// Returns the number of this version. Later versions have higher numbers.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

impl<R> Deref for Version<R> {
    type Target = R;

    #[inline]
    fn deref(&self) -> &R {
        &self.router
    }
}

/// Reads the current version fast, for one thread. It caches the last version that it saw, and so
/// keeps that version alive until the next call of [`get`](Self::get).
///
/// ```
/// # use hashroute::shared::Shared;
/// # use hashroute::{Change, Node, Ring, Router};
/// let shared = Shared::new(Ring::new([Node::new("a")])?);
/// let mut reader = shared.reader();
/// assert_eq!(reader.get().route(b"user:42").map(Node::name), Some("a"));
/// shared.update(&[Change::Add(Node::new("b")), Change::remove("a")])?;
/// assert_eq!(reader.get().route(b"user:42").map(Node::name), Some("b"));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub struct Reader<R> {
    cache: Cache<Arc<ArcSwap<Version<R>>>, Arc<Version<R>>>,
}

impl<R> Reader<R> {
    /// Returns the current version. Call it once for each request, so that all lookups of the
    /// request use one version.
    #[inline]
    pub fn get(&mut self) -> &Version<R> {
        self.cache.load()
    }
}

type Hook<R> = Arc<dyn Fn(&Version<R>, &Version<R>) + Send + Sync>;

/// The state that only writers touch.
struct Writer<R> {
    /// Held while a version is built and swapped in.
    turn: Mutex<()>,
    told: Mutex<Told<R>>,
}

/// The subscribers, and whether a writer is calling their hooks now.
struct Told<R> {
    subscribers: Vec<Subscriber<R>>,
    telling: bool,
}

struct Subscriber<R> {
    hook: Hook<R>,
    /// The last version that the hook was called with. There is no queue, so any number of swaps
    /// takes no memory.
    knows: Arc<Version<R>>,
}

impl<R> Subscriber<R> {
    fn hear_of(&mut self, now: &Arc<Version<R>>) -> Option<(Hook<R>, Arc<Version<R>>)> {
        let behind = self.knows.epoch < now.epoch;
        behind.then(|| {
            let before = mem::replace(&mut self.knows, Arc::clone(now));
            (Arc::clone(&self.hook), before)
        })
    }
}

impl<R: Router> Shared<R> {
    /// Shares a router, as epoch 0.
    pub fn new(router: R) -> Self {
        Self::with_epoch(router, 0)
    }

    /// Shares a router with an epoch that another system counts, such as the revision of a
    /// coordinator.
    ///
    /// ```
    /// # use hashroute::shared::Shared;
    /// # use hashroute::{Node, Ring};
    /// let shared = Shared::with_epoch(Ring::new([Node::new("a")])?, 57);
    /// assert!(shared.publish(Ring::new([Node::new("b")])?, 56).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn with_epoch(router: R, epoch: u64) -> Self {
        Self {
            current: Arc::new(ArcSwap::from_pointee(Version { epoch, router })),
            writer: Arc::new(Writer {
                turn: Mutex::new(()),
                told: Mutex::new(Told {
                    subscribers: Vec::new(),
                    telling: false,
                }),
            }),
        }
    }

    /// Returns the current version, to hold as long as needed. If many threads call it for every
    /// key, they contend for the reference count, which a [`reader`](Self::reader) avoids.
    ///
    /// ```
    /// # use hashroute::shared::Shared;
    /// # use hashroute::{Node, Ring, Router};
    /// let shared = Shared::new(Ring::new([Node::new("a")])?);
    /// let now = shared.pin();
    /// assert_eq!(now.route(b"user:42").map(Node::name), Some("a"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn pin(&self) -> Arc<Version<R>> {
        self.current.load_full()
    }

    /// Returns a reader for one thread.
    pub fn reader(&self) -> Reader<R> {
        Reader {
            cache: Cache::new(Arc::clone(&self.current)),
        }
    }

    /// Swaps in a router that the program built, with this epoch. If two writers start from the
    /// same version and publish the next epoch, the second is refused, so they cannot undo each
    /// other.
    ///
    /// # Errors
    /// [`Error::Stale`] for an epoch that is not above the current one. Nothing changes then.
    ///
    /// ```
    /// # use hashroute::shared::Shared;
    /// # use hashroute::{Node, Ring};
    /// let ring = |names: &[&str]| Ring::new(names.iter().map(|&name| Node::new(name)));
    /// let shared = Shared::new(ring(&["a"])?);
    /// let seen = shared.pin().epoch();
    /// shared.publish(ring(&["a", "b"])?, seen + 1)?;
    /// assert!(shared.publish(ring(&["a", "c"])?, seen + 1).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn publish(&self, router: R, epoch: u64) -> Result<(), Error> {
        let turn = lock(&self.writer.turn);
        let current = self.pin().epoch;
        if epoch <= current {
            return Err(Error::Stale {
                given: epoch,
                current,
            });
        }
        self.current.store(Arc::new(Version { epoch, router }));
        // Hooks run without this lock, so that they may write, and a slow hook delays no writer.
        drop(turn);
        self.tell();
        Ok(())
    }

    /// Calls `hook` after every later swap, with the previous and the new version. A hook can
    /// compare them to find the keys that moved, or warm or drop data that depends on the router.
    ///
    /// **One call may cover several swaps.** Swaps made while a hook runs are reported together in
    /// its next call, from the last version that it was called with to the newest. So each call
    /// starts at the version where the previous call ended, and epochs may be skipped. A hook that
    /// hangs keeps three versions in memory, for any number of swaps.
    ///
    /// The writer that made a swap calls the hooks, one at a time, without holding a lock. A hook
    /// may read, subscribe and write; its own swaps are reported after it returns. Other writers do
    /// not wait for a hook. A panic in a hook ends only that call.
    ///
    /// Hooks live as long as the shared router. A hook that holds a `Shared` **keeps itself and the
    /// router alive for ever**. Let it hold a [`Weak`](alloc::sync::Weak) of an `Arc<Shared<R>>`
    /// instead.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// # use hashroute::shared::Shared;
    /// # use hashroute::{Change, Node, Ring, Router};
    ///
    /// let shared = Shared::new(Ring::new(["a", "b"].map(Node::new))?);
    /// let (sender, moves) = mpsc::channel();
    /// shared.subscribe(move |before, after| {
    ///     let owner = |router: &Ring| router.route(b"user:42").map(|node| node.name().to_owned());
    ///     let _ = sender.send((after.epoch(), owner(before) != owner(after)));
    /// });
    /// shared.update(&[Change::Add(Node::new("c"))])?;
    /// assert_eq!(moves.recv()?.0, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A hook that writes:
    ///
    /// ```
    /// use std::sync::Arc;
    /// # use hashroute::shared::Shared;
    /// # use hashroute::{Change, Node, Ring, Router};
    ///
    /// let shared = Arc::new(Shared::new(Ring::new([Node::new("a")])?));
    /// let handle = Arc::downgrade(&shared);
    /// shared.subscribe(move |_, after| {
    ///     if let Some(shared) = handle.upgrade().filter(|_| after.nodes().is_empty()) {
    ///         let _ = shared.update(&[Change::Add(Node::new("last-resort"))]);
    ///     }
    /// });
    /// shared.update(&[Change::remove("a")])?;
    /// assert_eq!(shared.pin().route(b"user:42").map(Node::name), Some("last-resort"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn subscribe(&self, hook: impl Fn(&Version<R>, &Version<R>) + Send + Sync + 'static) {
        let hook = Arc::new(hook);
        let mut told = lock(&self.writer.told);
        // Pinned under the lock: a swap after this is newer than `knows`, so `tell` reports it.
        let knows = self.pin();
        told.subscribers.push(Subscriber { hook, knows });
    }

    /// Calls the hooks of all subscribers, unless another writer is doing so.
    fn tell(&self) {
        let mut told = lock(&self.writer.told);
        // The other writer pins again under this lock before it stops. This swap was stored before
        // the lock was taken, so that writer sees it and reports it as well.
        if told.telling {
            return;
        }
        // Ends when all subscribers know the newest version: at most one turn for each swap.
        loop {
            let now = self.pin();
            let behind = told.subscribers.iter_mut();
            let news: Vec<_> = behind.filter_map(|one| one.hear_of(&now)).collect();
            // Set before the lock is released: hooks run without it, one writer at a time.
            told.telling = !news.is_empty();
            drop(told);
            if news.is_empty() {
                return;
            }
            for (hook, before) in news {
                call(&hook, &before, &now);
            }
            told = lock(&self.writer.told);
        }
    }
}

/// Calls a hook and ignores a panic. The panic handler has reported it, and the swap is made.
fn call<R>(hook: &Hook<R>, before: &Version<R>, after: &Version<R>) {
    let called = || drop(catch_unwind(AssertUnwindSafe(|| hook(before, after))));
    if let Err(payload) = catch_unwind(AssertUnwindSafe(called)) {
        // The payload of the first panic panicked when it was dropped. The payload of that second
        // panic may do the same, so it is leaked.
        mem::forget(payload);
    }
}

impl<R: Router + Clone> Shared<R> {
    /// Applies all these changes, or none, in one swap, and returns the current epoch. Without
    /// changes nothing is swapped.
    ///
    /// The next version starts as a clone of the current version. It keeps what the clone of its
    /// router keeps: [`Liveness`](crate::wrap::health::Liveness) keeps the health of its nodes,
    /// [`HotKeys`](crate::hot::HotKeys) goes on with the same loads, and
    /// [`BoundedLoad`](crate::BoundedLoad) **starts without load**, so release a lease to the
    /// version that gave it.
    ///
    /// # Errors
    /// The error of [`Router::apply`] for the first change that fails; [`Error::Capacity`] after
    /// the last epoch. Nothing changes then.
    ///
    /// ```
    /// # use hashroute::shared::Shared;
    /// # use hashroute::{Change, Node, Ring, Router};
    /// let shared = Shared::new(Ring::new([Node::new("a")])?);
    /// assert_eq!(shared.update(&[Change::Add(Node::new("b")), Change::reweight("a", 2)])?, 1);
    /// assert!(shared.update(&[Change::Add(Node::new("c")), Change::remove("nobody")]).is_err());
    /// assert_eq!((shared.pin().epoch(), shared.pin().nodes().len()), (1, 2));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn update(&self, changes: &[Change]) -> Result<u64, Error> {
        let turn = lock(&self.writer.turn);
        let current = self.pin();
        if changes.is_empty() {
            return Ok(current.epoch);
        }
        let epoch = current.epoch.checked_add(1).ok_or(NO_EPOCH_LEFT)?;
        // The changes go to a clone, so a reader sees all of them or none, and after an error the
        // clone is dropped.
        let mut router = current.router.clone();
        for change in changes {
            router.apply(change)?;
        }
        self.current.store(Arc::new(Version { epoch, router }));
        drop(turn);
        self.tell();
        Ok(epoch)
    }
}

const NO_EPOCH_LEFT: Error = Error::Capacity {
    what: Limit::Epochs,
    wanted: u64::MAX,
    limit: u64::MAX - 1,
    advice: "publish lower epochs, so that later ones have room",
};

impl<R> Clone for Shared<R> {
    fn clone(&self) -> Self {
        Self {
            current: Arc::clone(&self.current),
            writer: Arc::clone(&self.writer),
        }
    }
}

impl<R: fmt::Debug> fmt::Debug for Shared<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared")
            .field(&**self.current.load())
            .finish()
    }
}

/// Clones a reader for another thread, with the same cached version.
impl<R> Clone for Reader<R> {
    fn clone(&self) -> Self {
        Self {
            cache: self.cache.clone(),
        }
    }
}

impl<R: fmt::Debug> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
