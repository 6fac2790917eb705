//! A shared router: threads read it while writers swap it.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use hashroute::health::{Liveness, Policy};
use hashroute::hot::HotKeys;
use hashroute::shared::{Shared, Version};
use hashroute::strategy::ALL;
use hashroute::{BoundedLoad, Change, Error, KeyHash, Limit, Loads, Node, Ring, Router};
use hashroute_test_support::{Outcome, build, hash, keys, name, nodes, owner};

const SWAPS: u64 = 2000;

/// Returns the names of two nodes that only the version of this epoch has.
fn guests(epoch: u64) -> [String; 2] {
    ["a", "b"].map(|side| format!("guest-{epoch}-{side}"))
}

/// Returns the changes that replace the guests of this epoch by those of the next.
fn turn(epoch: u64) -> Vec<Change> {
    let leave = guests(epoch).map(Change::remove);
    let come = guests(epoch + 1).map(|name| Change::Add(Node::new(name)));
    leave.into_iter().chain(come).collect()
}

fn ring(epoch: u64) -> Result<Ring, Error> {
    let guests = guests(epoch).map(Node::new);
    Ring::with_points(nodes(4).into_iter().chain(guests), 8)
}

/// Returns whether a version has the nodes of its epoch and no others.
fn is_whole(version: &Version<Ring>) -> bool {
    let own = guests(version.epoch());
    let known = |name: &String| version.nodes().id(name).is_some();
    version.nodes().len() == 6 && own.iter().all(known)
}

/// Returns whether a key goes to a node of the version.
fn is_known(version: &Version<Ring>, key: KeyHash) -> bool {
    let name = owner(&**version, key);
    let own = guests(version.epoch());
    name.is_some_and(|name| name.starts_with("node-") || own.iter().any(|guest| guest == name))
}

/// Stops the readers when it is dropped, also when the writer panics.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn no_reader_sees_half_a_change_or_an_unknown_node() -> Outcome {
    let shared = Shared::new(ring(0)?);
    let faults = [const { AtomicU64::new(0) }; 4];
    let [torn, unknown, back, stale] = &faults;
    // Every reader that asks from now on sees this epoch or a later one.
    let swapped = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let read = |seed: u64, cached: bool, begun: mpsc::Sender<()>| {
        let (mut reader, keys) = (shared.reader(), keys(seed, 64));
        let (mut last, mut seen) = (0, BTreeSet::new());
        let mut cycle = keys.iter().cycle();
        loop {
            // Asked first, so that the last turn reads the last version.
            let is_last = done.load(SeqCst);
            let floor = swapped.load(SeqCst);
            let pinned = shared.pin();
            let version = if cached { reader.get() } else { &*pinned };
            let key = *cycle.next().expect("endless");
            torn.fetch_add(u64::from(!is_whole(version)), SeqCst);
            unknown.fetch_add(u64::from(!is_known(version, key)), SeqCst);
            back.fetch_add(u64::from(version.epoch() < last), SeqCst);
            stale.fetch_add(u64::from(version.epoch() < floor), SeqCst);
            last = version.epoch();
            if seen.insert(last) && seen.len() == 1 {
                let _ = begun.send(());
            }
            if is_last {
                return seen;
            }
        }
    };
    let seen: Vec<BTreeSet<u64>> = thread::scope(|scope| {
        let ends = Ends(&done);
        let readers: Vec<_> = (0..4)
            .map(|i| {
                let (begun, first) = mpsc::channel();
                (scope.spawn(move || read(i, i % 2 == 0, begun)), first)
            })
            .collect();
        for epoch in 0..SWAPS {
            if epoch == SWAPS / 2 {
                // Each reader has seen a version by now, however late its thread started.
                for (_, first) in &readers {
                    first.recv().expect("the reader reads");
                }
            }
            // A batch whose last change fails swaps nothing.
            let mut bad = turn(epoch);
            bad.push(Change::remove("nobody"));
            assert!(shared.update(&bad).is_err());
            if epoch % 3 == 0 {
                assert_eq!(
                    shared.publish(ring(epoch + 1).expect("six nodes"), epoch + 1),
                    Ok(())
                );
            } else {
                assert_eq!(shared.update(&turn(epoch)), Ok(epoch + 1));
            }
            swapped.store(epoch + 1, SeqCst);
        }
        drop(ends);
        readers
            .into_iter()
            .map(|(reader, _)| reader.join().expect("no thread panicked"))
            .collect()
    });
    let faults = faults.map(AtomicU64::into_inner);
    assert_eq!(faults, [0; 4], "torn, unknown, back, stale");
    assert_eq!(shared.pin().epoch(), SWAPS);
    for seen in seen {
        let last = seen.contains(&SWAPS);
        assert!(last && seen.len() > 1, "a reader saw only {seen:?}");
    }
    Ok(())
}

#[test]
fn every_update_of_racing_writers_takes_effect() -> Outcome {
    let shared = Shared::new(Ring::with_points(nodes(2), 8)?);
    let add = |writer: u64, i: u64| Change::Add(Node::new(format!("w{writer}-{i}")));
    thread::scope(|scope| {
        for writer in 0..4 {
            let shared = &shared;
            scope.spawn(move || {
                (0..50).for_each(|i| assert!(shared.update(&[add(writer, i)]).is_ok()));
            });
        }
    });
    assert_eq!(
        (shared.pin().epoch(), shared.pin().nodes().len()),
        (200, 202)
    );
    Ok(())
}

#[test]
fn one_of_several_racing_publishers_wins_each_epoch() -> Outcome {
    let shared = Shared::new(ring(0)?);
    let wins = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for epoch in 1..=100 {
                    let published = shared.publish(ring(epoch).expect("six nodes"), epoch);
                    wins.fetch_add(u64::from(published.is_ok()), SeqCst);
                }
            });
        }
    });
    let wins = wins.into_inner();
    assert!((1..=100).contains(&wins), "{wins}");
    assert!(shared.pin().epoch() == 100 && is_whole(&shared.pin()));
    Ok(())
}

#[test]
fn a_refused_update_swaps_nothing() -> Outcome {
    let shared = Shared::with_epoch(ring(5)?, 5);
    let before = shared.pin();
    for epoch in [0, 4, 5] {
        let current = 5;
        assert_eq!(
            shared.publish(ring(epoch)?, epoch),
            Err(Error::Stale {
                given: epoch,
                current
            })
        );
    }
    let unknown = Error::UnknownNode {
        name: "nobody".into(),
    };
    assert_eq!(
        shared.update(&[Change::remove("node-0"), Change::remove("nobody")]),
        Err(unknown)
    );
    assert_eq!(shared.update(&[]), Ok(5));
    assert!(Arc::ptr_eq(&before, &shared.pin()));
    shared.publish(ring(u64::MAX)?, u64::MAX)?;
    let last = shared.update(&[Change::remove("node-0")]);
    assert!(matches!(
        last,
        Err(Error::Capacity {
            what: Limit::Epochs,
            ..
        })
    ));
    assert_eq!(shared.pin().nodes().len(), 6);
    Ok(())
}

#[test]
fn every_strategy_can_be_shared_without_its_type() -> Outcome {
    for strategy in ALL {
        let shared = Shared::new(build(strategy, nodes(3)));
        let before = shared.pin();
        shared.publish(build(strategy, nodes(4)), 1)?;
        let after = build(strategy, nodes(4));
        for key in keys(1, 100) {
            assert_eq!(
                shared.pin().route_hash(key),
                after.route_hash(key),
                "{}",
                strategy.name
            );
        }
        assert_eq!((before.nodes().len(), shared.pin().nodes().len()), (3, 4));
    }
    Ok(())
}

// --- Subscribers ---

/// Returns whether the reported swaps form a chain without gaps between the two epochs.
fn is_chain(heard: &[(u64, u64)], from: u64, to: u64) -> bool {
    let ends = heard.iter().map(|&(_, after)| after);
    let starts = heard.iter().map(|&(before, _)| before);
    let rises = heard.iter().all(|(before, after)| before < after);
    rises && starts.chain([to]).eq([from].into_iter().chain(ends))
}

#[test]
fn subscribers_hear_of_every_change_once_and_in_order() -> Outcome {
    let shared = Shared::new(Ring::with_points(nodes(2), 8)?);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = Arc::clone(&heard);
    shared.subscribe(move |before, after| {
        let news = after.nodes().len() - before.nodes().len();
        assert_eq!(after.epoch() - before.epoch(), news as u64);
        let epochs = (before.epoch(), after.epoch());
        ears.lock().expect("no thread panicked").push(epochs);
    });
    thread::scope(|scope| {
        for writer in 0..4 {
            let shared = &shared;
            let add = move |i| Change::Add(Node::new(format!("w{writer}-{i}")));
            scope.spawn(move || (0..50).for_each(|i| assert!(shared.update(&[add(i)]).is_ok())));
        }
    });
    let told = heard.lock().expect("no thread panicked").clone();
    assert!(is_chain(&told, 0, 200), "{told:?}");
    assert!(shared.update(&[Change::remove("nobody")]).is_err());
    assert_eq!(*heard.lock().expect("no thread panicked"), told);
    Ok(())
}

/// The swaps that a subscriber was told of.
type Heard = Arc<Mutex<Vec<(u64, u64)>>>;

fn hear(shared: &Shared<Ring>) -> Heard {
    let heard = Heard::default();
    let ears = Arc::clone(&heard);
    shared.subscribe(move |before, after| {
        let epochs = (before.epoch(), after.epoch());
        ears.lock().expect("no thread panicked").push(epochs);
    });
    heard
}

/// Blocks a subscriber in its first call while `meanwhile` runs.
fn while_a_hook_hangs(shared: &Shared<Ring>, meanwhile: impl FnOnce() -> Outcome) -> Outcome {
    let (entered, inside) = mpsc::sync_channel(1);
    let (go, gate) = mpsc::sync_channel::<()>(0);
    let gate = Mutex::new(Some(gate));
    shared.subscribe(move |_, _| {
        let first = gate.lock().expect("no thread panicked").take();
        if let Some(gate) = first {
            let _ = entered.send(());
            let _ = gate.recv();
        }
    });
    thread::scope(|scope| {
        let writes = scope.spawn(|| shared.update(&[Change::reweight("node-0", 2)]));
        inside.recv()?;
        let done = meanwhile();
        drop(go);
        assert!(writes.join().expect("no thread panicked").is_ok());
        done
    })
}

#[test]
fn swaps_during_a_slow_subscriber_are_reported_as_one_and_free_old_versions() -> Outcome {
    let shared = Shared::new(Ring::with_points(nodes(2), 8)?);
    let heard = hear(&shared);
    while_a_hook_hangs(&shared, || {
        let mut versions = Vec::new();
        for i in 0..100 {
            shared.update(&[Change::reweight("node-1", 1 + i % 2)])?;
            versions.push(Arc::downgrade(&shared.pin()));
        }
        let kept = versions.iter().filter(|one| one.strong_count() > 0);
        assert_eq!(kept.count(), 1, "the current one");
        // No subscriber is called while one is still running.
        assert_eq!(*heard.lock().expect("no thread panicked"), [(0, 1)]);
        Ok(())
    })?;
    assert_eq!(
        *heard.lock().expect("no thread panicked"),
        [(0, 1), (1, 101)]
    );
    Ok(())
}

#[test]
fn a_subscriber_hears_nothing_from_before_it_subscribed() -> Outcome {
    let shared = Shared::new(Ring::with_points(nodes(2), 8)?);
    let mut late = None;
    while_a_hook_hangs(&shared, || {
        shared.update(&[Change::reweight("node-1", 2)])?;
        late = Some(hear(&shared));
        Ok(())
    })?;
    let late = late.ok_or("subscribed")?;
    assert_eq!(*late.lock().expect("no thread panicked"), []);
    shared.update(&[Change::reweight("node-1", 3)])?;
    assert_eq!(*late.lock().expect("no thread panicked"), [(2, 3)]);
    Ok(())
}

/// Runs `work` in a thread, so that a deadlock fails the test. The limit is far above any load.
fn without_deadlock(work: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Outcome {
    let (sender, done) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    Ok(done.recv_timeout(Duration::from_secs(600))??)
}

#[test]
fn a_subscriber_may_read_write_and_subscribe() -> Outcome {
    without_deadlock(|| {
        let shared = Shared::new(Ring::with_points(nodes(2), 8)?);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (inside, ears) = (shared.clone(), Arc::clone(&heard));
        shared.subscribe(move |_, after| {
            assert!(inside.pin().epoch() >= after.epoch());
            ears.lock().expect("no thread panicked").push(after.epoch());
            if after.epoch() < 3 {
                let name = format!("by-hook-{}", after.epoch());
                assert_eq!(
                    inside.update(&[Change::Add(Node::new(name))]),
                    Ok(after.epoch() + 1)
                );
                inside.subscribe(|_, _| ());
            }
        });
        shared.update(&[Change::Add(Node::new("first"))])?;
        assert_eq!(*heard.lock().expect("no thread panicked"), [1, 2, 3]);
        assert_eq!(shared.pin().nodes().len(), 5);
        Ok(())
    })
}

#[test]
fn a_panic_in_a_subscriber_stops_no_update() -> Outcome {
    without_deadlock(|| {
        let shared = Shared::new(Ring::with_points(nodes(2), 8)?);
        let heard = Arc::new(AtomicU64::new(0));
        let ears = Arc::clone(&heard);
        shared.subscribe(|_, after| assert!(after.epoch() > 1, "this test panics on purpose"));
        shared.subscribe(move |_, after| ears.store(after.epoch(), SeqCst));
        for epoch in 1..4 {
            let name = format!("node-of-{epoch}");
            assert_eq!(shared.update(&[Change::Add(Node::new(name))]), Ok(epoch));
            assert_eq!(heard.load(SeqCst), epoch);
        }
        Ok(())
    })
}

/// The payload of the panic panics when it is dropped, and so does its payload.
#[test]
fn a_panic_payload_that_panics_when_dropped_stops_no_update() -> Outcome {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::panic_any(Self);
        }
    }
    without_deadlock(|| {
        let shared = Shared::new(Ring::with_points(nodes(2), 8)?);
        shared.subscribe(|_, after| {
            if after.epoch() == 1 {
                std::panic::panic_any(Bomb);
            }
        });
        let heard = hear(&shared);
        for weight in 2..4 {
            shared.update(&[Change::reweight("node-0", weight)])?;
        }
        assert_eq!(*heard.lock().expect("no thread panicked"), [(0, 1), (1, 2)]);
        Ok(())
    })
}

// --- With health and loads ---

#[test]
fn a_swap_keeps_the_health_of_nodes() -> Outcome {
    let policy = Policy::default().with_fail_after(1);
    let shared = Shared::new(Liveness::new(Ring::with_points(nodes(4), 8)?, policy)?);
    let before = shared.pin();
    let id = before.nodes().id("node-1").ok_or("a member")?;
    assert!(before.failed(id, Duration::ZERO));
    shared.update(&[Change::Add(Node::new("new"))])?;
    assert!(shared.pin().is_down(id));
    shared.update(&[Change::remove("node-1"), Change::Add(Node::new("next"))])?;
    assert_eq!(shared.pin().nodes().name(id), Some("next"));
    assert!(!shared.pin().is_down(id) && before.is_down(id));
    Ok(())
}

/// The next version keeps the loads, and either version releases a lease.
#[test]
fn a_swap_keeps_the_loads_of_hot_keys() -> Outcome {
    let ring = Ring::with_points(nodes(4), 8)?;
    let key = hash(&ring, b"hot");
    let mut router = HotKeys::new(ring, 2, 0.1)?;
    router.set_hot([key])?;
    let shared = Shared::new(router);
    let before = shared.pin();
    let readers: Vec<_> = (0..4).filter_map(|_| before.acquire_hash(key)).collect();
    let nodes = before.copies_hash(key);
    shared.update(&[Change::reweight("node-0", 2), Change::reweight("node-0", 1)])?;
    let after = shared.pin();
    assert_eq!(
        (after.hot(), after.copies_hash(key)),
        (&[key][..], nodes.clone())
    );
    assert!(nodes.iter().all(|&id| after.load(id) == 2));
    for (i, lease) in readers.into_iter().enumerate() {
        let version = if i % 2 == 0 { &before } else { &after };
        assert!(version.release(lease));
    }
    assert!(
        nodes
            .iter()
            .all(|&id| before.load(id) == 0 && after.load(id) == 0)
    );
    // A node that left has no load in a version without it.
    let lease = after.acquire_hash(key).ok_or("a reader")?;
    let name = name(&**after, lease.node()).to_owned();
    shared.update(&[Change::remove(name.as_str()), Change::Add(Node::new("new"))])?;
    assert_eq!(shared.pin().load(lease.node()), 0);
    assert!(!shared.pin().release(lease));
    Ok(())
}

/// Each version of a bounded router counts by itself, and releases its own leases only.
#[test]
fn a_swap_starts_bounded_load_at_zero() -> Outcome {
    let bounded = BoundedLoad::new(Ring::with_points(nodes(4), 8)?, 1.25)?;
    let shared = Shared::new(bounded);
    let before = shared.pin();
    let [one, other] = [0; 2].map(|_| before.acquire(b"key").expect("room"));
    shared.update(&[Change::Add(Node::new("new"))])?;
    let after = shared.pin();
    assert_eq!((before.total_load(), after.total_load()), (2, 0));
    assert!(!after.release(one) && before.release(other));
    assert_eq!((before.total_load(), after.total_load()), (1, 0));
    Ok(())
}
