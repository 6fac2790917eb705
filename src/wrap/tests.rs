//! Threads of the system over all that threads share, for checkers that watch memory: Miri and
//! `ThreadSanitizer`, which `.ci/run` asks. The library has no unsafe code; this covers the crates
//! below it. Orders of events are explored in `interleavings.rs`.

use alloc::format;
use std::thread;

use core::time::Duration;

use crate::hot::HotKeys;
use crate::shared::Shared;
use crate::wrap::health::{Liveness, Policy};
use crate::{
    BoundedLoad, Change, Error, KeyHash, Loads, Node, Rendezvous, Ring, Router, RouterExt, Spread,
};

/// The number of turns of each thread. Miri takes a thousand times as long.
const TURNS: u64 = if cfg!(miri) { 10 } else { 2000 };

fn hash(i: u64) -> KeyHash {
    KeyHash::from_integer(i % 10)
}

#[test]
fn readers_and_writers_share_versions() -> Result<(), Error> {
    let shared = Shared::new(Ring::with_points(["a", "b"].map(Node::new), 4)?);
    let heard = std::sync::Mutex::new(0);
    let heard = alloc::sync::Arc::new(heard);
    let ears = alloc::sync::Arc::clone(&heard);
    shared.subscribe(move |before, after| {
        let mut heard = ears.lock().expect("no panic");
        assert!(before.epoch() == *heard && after.epoch() > *heard);
        *heard = after.epoch();
    });
    thread::scope(|scope| {
        for writer in 0..2 {
            let shared = &shared;
            scope.spawn(move || {
                for i in 0..TURNS {
                    let name = format!("{writer}-{i}");
                    assert!(shared.update(&[Change::Add(Node::new(&*name))]).is_ok());
                    assert!(shared.update(&[Change::remove(name)]).is_ok());
                }
            });
        }
        for _ in 0..2 {
            let mut reader = shared.reader();
            scope.spawn(move || {
                for i in 0..TURNS {
                    let now = reader.get();
                    let list = now.replicas_hash(hash(i), 2, Spread::Nodes);
                    assert_eq!(list.len(), 2);
                    assert!(now.nodes().name(list[1]).is_some());
                }
            });
        }
    });
    assert_eq!(shared.pin().epoch(), 4 * TURNS);
    assert_eq!(*heard.lock().expect("no panic"), 4 * TURNS);
    Ok(())
}

/// Takes and gives back leases in two threads while a third does something else.
fn leases(router: &(impl Router + Loads), meanwhile: impl Fn(u64) + Send + Sync) {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for i in 0..TURNS {
                    assert!(router.route_hash(hash(i)).is_some());
                    let lease = router.acquire_hash(hash(i)).expect("room");
                    assert!(router.release(lease));
                }
            });
        }
        scope.spawn(|| (0..TURNS).for_each(meanwhile));
    });
    assert_eq!(router.total_load(), 0);
}

#[test]
fn leases_of_bounded_load_and_of_hot_keys_are_all_given_back() -> Result<(), Error> {
    let nodes = || Rendezvous::new(["a", "b", "c"].map(Node::new));
    let bounded = BoundedLoad::new(nodes()?, 1.25)?;
    leases(&bounded, |i| {
        assert!(bounded.owner(&i.to_le_bytes()).is_some());
    });
    let mut hot = HotKeys::new(nodes()?, 2, 0.01)?;
    hot.set_hot((0..5).map(hash))?;
    let next = hot.clone();
    leases(&hot, |i| {
        // A clone shares the loads.
        let lease = next.acquire_hash(hash(i)).expect("a node");
        assert!(hot.release(lease));
    });
    Ok(())
}

#[test]
fn reports_and_lookups_share_the_health_of_nodes() -> Result<(), Error> {
    let policy = Policy {
        fail_after: 1,
        rise: 1,
        hold: Duration::ZERO,
        ..Policy::default()
    };
    let bounded = BoundedLoad::new(Rendezvous::new(["a", "b", "c"].map(Node::new))?, 1.25)?;
    let router = Liveness::new(bounded, policy)?;
    let id = router.nodes().id("a").expect("a member");
    leases(&router, |i| {
        if i % 2 == 0 {
            router.failed(id, Duration::from_millis(i));
        } else {
            router.succeeded(id, Duration::from_millis(i));
        }
    });
    assert!(!router.is_down(id) && !router.skips());
    Ok(())
}
