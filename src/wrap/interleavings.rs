//! Tests of interleavings. Shuttle runs its own threads and chooses the next one at every lock and
//! every atomic operation.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test --features shared --lib interleavings`
//!
//! The tests cover the counters of [`BoundedLoad`] and [`HotKeys`], also across versions of a router,
//! the states and the cached answer of [`Liveness`], and the locks of writers and the readers of
//! [`Shared`]. All atomics of the crate are sequentially consistent, which is the only memory ordering
//! that Shuttle models. The swap of the pointer is one step here; arc-swap has its own tests of the
//! steps inside.

use alloc::borrow::ToOwned;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::time::Duration;

use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicU64, Ordering::SeqCst};
use shuttle::thread;

use crate::hot::HotKeys;
use crate::shared::Shared;
use crate::sync::lock;
use crate::wrap::health::{Liveness, Policy};
use crate::{BoundedLoad, Change, Error, KeyHash, Loads, Node, NodeId, Nodes, Rendezvous, Router};

/// The number of random interleavings for each test, and of interleavings with few switches between
/// threads (PCT).
const ORDERS: usize = 2000;

fn explore(story: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(story.clone(), ORDERS);
    shuttle::check_pct(story, ORDERS, 3);
}

/// A router that lets other threads run during a clone and during a change.
#[derive(Debug)]
struct Slow(Rendezvous);

impl Clone for Slow {
    fn clone(&self) -> Self {
        thread::yield_now();
        Self(self.0.clone())
    }
}

impl Router for Slow {
    fn nodes(&self) -> &Nodes {
        self.0.nodes()
    }

    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        self.0.route_hash(key)
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        thread::yield_now();
        self.0.apply(change)
    }

    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        self.0.walk(key, visit);
    }
}

fn slow(names: &[&str]) -> Slow {
    let nodes = names.iter().map(|&name| Node::new(name));
    Slow(Rendezvous::new(nodes).expect("distinct names"))
}

fn join<T>(threads: Vec<thread::JoinHandle<T>>) -> Vec<T> {
    let join = |thread: thread::JoinHandle<T>| thread.join().expect("no panic");
    threads.into_iter().map(join).collect()
}

#[test]
fn writers_do_not_undo_each_other_and_readers_see_no_half_update() {
    explore(|| {
        let shared = Shared::new(slow(&["a", "b"]));
        let (writer, other, reader) = (shared.clone(), shared.clone(), shared.clone());
        let pair = |name: &str, gone: &str| [Change::Add(Node::new(name)), Change::remove(gone)];
        let updates = thread::spawn(move || writer.update(&pair("c", "a")).is_ok());
        let publishes = thread::spawn(move || other.publish(slow(&["x", "y"]), 1).is_ok());
        let reads = thread::spawn(move || {
            let mut last = 0;
            for _ in 0..3 {
                let now = reader.pin();
                assert!(now.epoch() >= last && now.nodes().len() == 2);
                last = now.epoch();
                thread::yield_now();
            }
        });
        reads.join().expect("no panic");
        let outcome = join([updates, publishes].into());
        // Either epoch 1 is published first and the update then finds no "a", or the update comes
        // first and epoch 1 is refused.
        let now = shared.pin();
        let names: Vec<_> = now.nodes().iter().map(|(_, node)| node.name()).collect();
        let possible = [
            (&[false, true][..], &["x", "y"][..]),
            (&[true, false], &["b", "c"]),
        ];
        assert!(
            possible.contains(&(&outcome[..], &names[..])),
            "{outcome:?} {names:?}"
        );
        assert_eq!(now.epoch(), 1);
    });
}

#[test]
fn hooks_see_all_swaps_in_order_and_run_one_at_a_time() {
    explore(|| {
        let shared = Shared::new(slow(&["a"]));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (ears, inside) = (Arc::clone(&heard), shared.clone());
        let busy = Mutex::new(());
        shared.subscribe(move |before, after| {
            let alone = busy.try_lock().expect("one call at a time");
            thread::yield_now();
            lock(&ears).push((before.epoch(), after.epoch()));
            drop(alone);
            if before.epoch() == 0 {
                let added = inside.update(&[Change::Add(Node::new("by-hook"))]);
                assert!(added.is_ok());
            }
        });
        let add = |name: &'static str| {
            let shared = shared.clone();
            thread::spawn(move || shared.update(&[Change::Add(Node::new(name))]).is_ok())
        };
        assert!(
            join([add("b"), add("c")].into())
                .into_iter()
                .all(|added| added)
        );
        let heard = lock(&heard);
        assert!(heard.windows(2).all(|pair| pair[0].1 == pair[1].0));
        let ends = (heard.first(), heard.last());
        assert!(matches!(ends, (Some((0, _)), Some((_, 3)))), "{heard:?}");
    });
}

#[test]
fn loads_stay_within_their_bound_and_return_to_zero() {
    explore(|| {
        let nodes = ["a", "b"].map(Node::new);
        let router = Rendezvous::new(nodes).expect("distinct names");
        let bounded = Arc::new(BoundedLoad::new(router, 1.25).expect("above 1"));
        let work = || {
            let bounded = Arc::clone(&bounded);
            thread::spawn(move || {
                for _ in 0..2 {
                    // Some node always has room. At most three keys exist, which bounds every load.
                    let lease = bounded.acquire_hash(KeyHash::from_raw(7)).expect("room");
                    assert!(bounded.load(lease.node()) <= 2); // ceil(1.25 * 3 / 2)
                    assert!(bounded.total_load() <= 3);
                    assert!(bounded.route_hash(KeyHash::from_raw(7)).is_some());
                    assert!(bounded.release(lease));
                }
            })
        };
        join([work(), work(), work()].into());
        let left = bounded.nodes().iter().map(|(id, _)| bounded.load(id));
        assert_eq!((bounded.total_load(), left.sum::<u64>()), (0, 0));
    });
}

/// Returns a policy by which this many failures take a node down, and one success brings it back.
fn flips_after(failures: u8) -> Policy {
    Policy {
        fail_after: failures,
        rise: 1,
        hold: Duration::ZERO,
        ..Policy::default()
    }
}

fn watched<const N: usize>(names: [&str; N], policy: Policy) -> Arc<Liveness<Rendezvous>> {
    let router = Rendezvous::new(names.map(Node::new)).expect("distinct names");
    Arc::new(Liveness::new(router, policy).expect("a policy"))
}

#[test]
fn each_flip_is_reported_once_and_seen_by_lookups() {
    explore(|| {
        let router = watched(["a", "b", "c"], flips_after(2));
        let key = KeyHash::from_raw(7);
        let owner = router.router().route_hash(key).expect("a node");
        let fail = || {
            let router = Arc::clone(&router);
            thread::spawn(move || router.failed(owner, Duration::ZERO))
        };
        let look = {
            let router = Arc::clone(&router);
            thread::spawn(move || {
                for _ in 0..2 {
                    // A lookup has an answer at every moment.
                    assert!(router.route_hash(key).is_some());
                }
                false
            })
        };
        let flips = join([fail(), fail(), look].into());
        assert_eq!(flips.iter().filter(|flipped| **flipped).count(), 1);
        assert!(router.skips() && router.route_hash(key) != Some(owner));
        assert!(router.succeeded(owner, Duration::ZERO));
        assert!(!router.skips() && router.route_hash(key) == Some(owner));
    });
}

#[test]
fn all_nodes_may_go_down_during_a_lookup() {
    explore(|| {
        let policy = Policy {
            fail_after: 1,
            max_down: 100,
            ..Policy::default()
        };
        let router = watched(["a", "b"], policy);
        let key = KeyHash::from_raw(7);
        let owner = router.route_hash(key);
        let fail = |name: &'static str| {
            let router = Arc::clone(&router);
            thread::spawn(move || {
                let id = router.nodes().id(name).expect("a member");
                let flipped = router.failed(id, Duration::ZERO);
                flipped && router.route_hash(key).is_some()
            })
        };
        assert_eq!(join([fail("a"), fail("b")].into()), [true, true]);
        assert!(!router.skips() && router.route_hash(key) == owner);
    });
}

#[test]
fn a_reader_never_goes_back_and_sees_what_was_published_before_its_call() {
    explore(|| {
        let shared = Shared::new(slow(&["a"]));
        let published = Arc::new(AtomicU64::new(0));
        let reads = || {
            let (mut reader, published) = (shared.reader(), Arc::clone(&published));
            thread::spawn(move || {
                let mut last = 0;
                for _ in 0..3 {
                    let least = published.load(SeqCst).max(last);
                    let now = reader.get();
                    assert!(now.epoch() >= least && now.nodes().len() as u64 == now.epoch() + 1);
                    last = now.epoch();
                }
            })
        };
        let readers = [reads(), reads()];
        for name in ["b", "c"] {
            let epoch = shared.update(&[Change::Add(Node::new(name))]);
            published.store(epoch.expect("a new node"), SeqCst);
        }
        join(readers.into());
    });
}

#[test]
fn an_absolute_limit_holds_at_every_moment() {
    explore(|| {
        let nodes = ["a", "b"].map(Node::new);
        let router = Rendezvous::new(nodes).expect("distinct names");
        let bounded = BoundedLoad::new(router, 1.25).expect("above 1").with_cap(1);
        let bounded = Arc::new(bounded);
        let work = || {
            let bounded = Arc::clone(&bounded);
            thread::spawn(move || {
                let lease = bounded.acquire_hash(KeyHash::from_raw(7));
                assert!(bounded.nodes().iter().all(|(id, _)| bounded.load(id) <= 1));
                lease.is_none_or(|lease| bounded.release(lease))
            })
        };
        assert_eq!(join([work(), work(), work()].into()), [true; 3]);
        assert_eq!(bounded.total_load(), 0);
        // What was refused has left nothing behind: both nodes have room again.
        let both = [7, 7].map(|key| bounded.acquire_hash(KeyHash::from_raw(key)));
        assert!(both.iter().all(Option::is_some));
    });
}

#[test]
fn readers_of_a_hot_key_stay_on_its_copies_and_leave_no_load() {
    explore(|| {
        let key = KeyHash::from_raw(7);
        let mut router = HotKeys::new(slow(&["a", "b", "c"]), 2, 0.01).expect("in range");
        router.set_hot([key]).expect("one key");
        let router = Arc::new(router);
        let read = || {
            let router = Arc::clone(&router);
            thread::spawn(move || {
                for _ in 0..2 {
                    let lease = router.acquire_hash(key).expect("a node");
                    assert!(router.copies_hash(key).contains(&lease.node()));
                    assert!((1..=3).contains(&router.load(lease.node())));
                    assert!(router.release(lease));
                }
            })
        };
        join([read(), read(), read()].into());
        assert_eq!(router.total_load(), 0);
    });
}

#[test]
fn a_lease_outlives_the_version_it_was_taken_from_and_ends_with_its_node() {
    explore(|| {
        let key = KeyHash::from_raw(7);
        let mut router = HotKeys::new(slow(&["a", "b", "c"]), 2, 0.01).expect("in range");
        router.set_hot([key]).expect("one key");
        let gone = router.route_hash(key).expect("a node");
        let gone = router.nodes().name(gone).expect("a member").to_owned();
        let shared = Shared::new(router);
        let read = || {
            let (shared, gone) = (shared.clone(), gone.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    let before = shared.pin();
                    let lease = before.acquire_hash(key).expect("a node");
                    let name = before.nodes().name(lease.node()).expect("a member");
                    let released = shared.pin().release(lease);
                    assert!(released || name == gone);
                }
            })
        };
        let readers = [read(), read()];
        for change in [Change::Add(Node::new("d")), Change::remove(gone.as_str())] {
            assert!(shared.update(&[change]).is_ok());
        }
        join(readers.into());
        assert_eq!(shared.pin().total_load(), 0);
    });
}

#[test]
fn lookups_agree_with_the_last_report_when_reports_cross() {
    explore(|| {
        let router = watched(["a", "b", "c"], flips_after(1));
        let key = KeyHash::from_raw(7);
        let owner = router.router().route_hash(key).expect("a node");
        let report = |is_up: bool| {
            let router = Arc::clone(&router);
            thread::spawn(move || {
                let flipped = if is_up {
                    router.succeeded(owner, Duration::ZERO)
                } else {
                    router.failed(owner, Duration::ZERO)
                };
                assert!(router.route_hash(key).is_some());
                flipped
            })
        };
        let flips = join([report(false), report(true), report(false)].into());
        let flips = flips.into_iter().filter(|flipped| *flipped).count();
        // It starts up, and every flip turns it over.
        let is_down = router.is_down(owner);
        assert_eq!(is_down, flips % 2 == 1);
        assert_eq!(router.skips(), is_down);
        assert_eq!(router.route_hash(key) == Some(owner), !is_down);
    });
}
