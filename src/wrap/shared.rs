//! One router for many threads: readers take what is current and never wait, while one writer at
//! a time makes the next version and swaps it in.
//!
//! | operation | cost |
//! |---|---|
//! | [`Reader::get`] | an atomic load and a comparison, while nothing has changed |
//! | [`Shared::pin`] | that, and a reference count that all threads share |
//! | [`Shared::update`] | a clone of the router, the changes, a swap of a pointer |
//! | [`Shared::publish`] | a swap of a pointer |
//!
//! A version is whole, never changes, and has an **epoch**, a number that only grows. What a
//! lookup gives ([`NodeId`](crate::NodeId), [`&Node`](crate::Node)) belongs to the version it was
//! asked of: a `&Node` borrows from it, so the compiler keeps the two together; an id is good for
//! that version alone, since the next may have given it to another node. To keep an answer beyond
//! its version, keep the name.
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

/// A router that many threads read while one at a time swaps it. A clone is another handle to
/// the same.
///
/// Typed, as `Shared<Ring>`, it makes its next version itself: [`update`](Self::update). A router
/// that cannot be cloned, such as `Box<dyn Router>`, is built by its owner and
/// [published](Self::publish).
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
/// assert_eq!(stale.to_string(), "epoch 7 is stale: the router is at epoch 7, so give a later one, made from what is there now");
/// # Ok::<(), hashroute::Error>(())
/// ```
pub struct Shared<R> {
    current: Arc<ArcSwap<Version<R>>>,
    writer: Arc<Writer<R>>,
}

/// A router as it stood at one epoch; it derefs to the router. It never changes, and lives for
/// as long as somebody holds it.
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
    /// Returns the number of this version; later ones have higher numbers.
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

/// The quick way to read, one for each thread: it remembers the version it saw last, and so keeps
/// that one alive until it is asked again.
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
    /// The current version. Ask once for each request, and let it go before the next.
    ///
    /// ```
    /// # use hashroute::shared::Shared;
    /// # use hashroute::{Node, Ring};
    /// assert_eq!(Shared::new(Ring::new([Node::new("a")])?).reader().get().epoch(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[inline]
    pub fn get(&mut self) -> &Version<R> {
        self.cache.load()
    }
}

type Hook<R> = Arc<dyn Fn(&Version<R>, &Version<R>) + Send + Sync>;

/// What only writers touch.
struct Writer<R> {
    /// Held while a version is made and swapped in.
    turn: Mutex<()>,
    told: Mutex<Told<R>>,
}

/// The subscribers, and whether a writer is telling them.
struct Told<R> {
    subscribers: Vec<Subscriber<R>>,
    telling: bool,
}

struct Subscriber<R> {
    hook: Hook<R>,
    /// The version it heard of last: no queue, so that swaps without end take no memory.
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
    /// Share a router, as epoch 0.
    ///
    /// ```
    /// # use hashroute::shared::Shared;
    /// # use hashroute::{Node, Ring};
    /// assert_eq!(Shared::new(Ring::new([Node::new("a")])?).pin().epoch(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(router: R) -> Self {
        Self::with_epoch(router, 0)
    }

    /// Share a router whose epoch somebody else counts, such as the revision of a coordinator.
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

    /// The current version, to be held for as long as it is needed. Where many threads do so for
    /// each key, a [`reader`](Self::reader) saves them the reference count.
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

    /// A reader for one thread.
    ///
    /// ```
    /// # use hashroute::shared::Shared;
    /// # use hashroute::{Node, Ring, Router};
    /// let mut reader = Shared::new(Ring::new([Node::new("a")])?).reader();
    /// assert_eq!(reader.get().route(b"user:42").map(Node::name), Some("a"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn reader(&self) -> Reader<R> {
        Reader {
            cache: Cache::new(Arc::clone(&self.current)),
        }
    }

    /// Swap in a router made elsewhere, as this epoch. Two writers that start from the same
    /// version and publish the next epoch cannot undo each other: the second is refused.
    ///
    /// # Errors
    /// [`Error::Stale`] for an epoch that is not above the current one; nothing has changed then.
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
        drop(turn);
        self.tell();
        Ok(())
    }

    /// Have `hook` called after swaps from now on, with the version before and the one after: to
    /// see what moved, to warm or to drop what depends on it.
    ///
    /// Every change is told, but **several swaps may come as one**: those made while a hook runs
    /// are told together when it has returned, from the version that it was told last to the
    /// newest. So each call begins where the one before it ended, epochs may be left out, and a
    /// hook that hangs keeps three versions in memory, however many swaps there are.
    ///
    /// Hooks run one at a time, by a writer that has made a swap, and with no lock held: a hook
    /// may read, subscribe, and write, of which it is told when it has returned. While it runs,
    /// other writers swap without waiting for it. A panic in a hook ends that call and nothing
    /// else.
    ///
    /// Hooks stay for as long as the router is shared. So a hook that holds a `Shared` **keeps
    /// itself and the router for ever**: let it hold a [`Weak`](alloc::sync::Weak) of an
    /// `Arc<Shared<R>>` instead.
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
        let knows = self.pin();
        told.subscribers.push(Subscriber { hook, knows });
    }

    /// Tell the subscribers, unless somebody is at it, who will tell this as well.
    fn tell(&self) {
        let mut told = lock(&self.writer.told);
        if told.telling {
            return;
        }
        // Ends when nobody is behind: at most one turn for each swap that a writer has made.
        loop {
            let now = self.pin();
            let behind = told.subscribers.iter_mut();
            let news: Vec<_> = behind.filter_map(|one| one.hear_of(&now)).collect();
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

/// A panic has been reported by its own hook, and the swap is made.
fn call<R>(hook: &Hook<R>, before: &Version<R>, after: &Version<R>) {
    let called = || drop(catch_unwind(AssertUnwindSafe(|| hook(before, after))));
    if let Err(payload) = catch_unwind(AssertUnwindSafe(called)) {
        // What was thrown panics when it is dropped; what that threw may do so again.
        mem::forget(payload);
    }
}

impl<R: Router + Clone> Shared<R> {
    /// Make all these changes, or none, as one swap, and give the epoch that is current then.
    /// Without any nothing is swapped.
    ///
    /// The next version starts as a clone of the current one, and what a router keeps beside its
    /// members is what its clone has:
    /// [`Liveness`](crate::wrap::health::Liveness) knows who is down, [`HotKeys`](crate::hot::HotKeys)
    /// goes on with the same loads, and [`BoundedLoad`](crate::BoundedLoad) **starts without
    /// load**: release a lease to the version that gave it.
    ///
    /// # Errors
    /// As [`Router::apply`], of the first change that fails; [`Error::Capacity`] past the last
    /// epoch. Nothing has changed then.
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
    advice: "publish epochs that leave room for those to come",
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

/// A reader for one thread more, which remembers the same version.
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
