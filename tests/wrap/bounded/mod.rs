//! Bounded load keeps its bound, alone and with racing threads.

mod model;

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, OnceLock, RwLock};
use std::thread;

use hashroute::strategy::{ALL, find};
use hashroute::{
    BoundedLoad, Change, Error, HashSlots, Jump, KeyHash, Lease, Loads, Maglev, Modulo, Node,
    NodeId, Nodes, Rendezvous, Ring, Router,
};
use hashroute_test_support::{Outcome, is_set, keys, nodes, walked};

/// The factor c as an exact fraction.
type Factor = (u128, u128);

/// Returns ceil(c m w / W), the bound by definition.
fn bound(factor: Factor, present: u64, weight: u32, total: u64) -> u64 {
    let whole = factor.0 * u128::from(present) * u128::from(weight);
    let bound = whole.div_ceil(factor.1 * u128::from(total));
    u64::try_from(bound).expect("a small number")
}

/// Returns the bound of a node when `present` keys are assigned.
fn bound_of<R: Router>(router: &R, factor: Factor, present: u64, id: NodeId) -> u64 {
    let nodes = router.nodes();
    let weight = nodes.weight(id).expect("a member");
    bound(factor, present, weight, nodes.total_weight())
}

/// Returns a number below `n` that depends on the key.
fn pick(key: KeyHash, n: usize) -> usize {
    usize::try_from(key.get() % n as u64).expect("below n")
}

fn ids<R: Router>(router: &R) -> Vec<NodeId> {
    router.nodes().iter().map(|(id, _)| id).collect()
}

fn sum<R: Router>(router: &BoundedLoad<R>) -> u64 {
    ids(router).into_iter().map(|id| router.load(id)).sum()
}

// --- Arithmetic ---

#[test]
fn the_bound_is_computed_in_integers() -> Outcome {
    let ring = |count| Ring::new(nodes(count));
    // 1.1 * 10 is 11; in doubles it is slightly more, and would round up to 12.
    let bounded = BoundedLoad::new(ring(1)?, 1.1)?;
    let id = ids(&bounded)[0];
    let held = keys(1, 9)
        .into_iter()
        .filter_map(|key| bounded.acquire_hash(key));
    assert_eq!(held.count(), 9);
    assert_eq!((bounded.load(id), bounded.capacity(id)), (9, 11));
    for (factor, c) in [
        ((11, 10), 1.1),
        ((7, 5), 1.4),
        ((23, 20), 1.15),
        ((1_000_001, 1_000_000), 1.000_001),
    ] {
        let bounded = BoundedLoad::new(ring(3)?, c)?;
        for (held, key) in (0..).zip(keys(2, 300)) {
            for id in ids(&bounded) {
                assert_eq!(
                    bounded.capacity(id),
                    bound(factor, held + 1, 1, 3),
                    "{c} {held}"
                );
            }
            assert!(bounded.acquire_hash(key).is_some(), "{c} {held}");
        }
    }
    Ok(())
}

#[test]
fn factors_that_cannot_bound_are_refused() -> Outcome {
    for factor in [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.0,
        0.999,
        0.0,
        -0.0,
        -1.25,
        f64::MIN_POSITIVE,
        1_000_000.1,
        f64::MAX,
    ] {
        let refused = BoundedLoad::new(Ring::new(nodes(2))?, factor);
        assert!(refused.is_err(), "{factor}");
        let params = hashroute::strategy::Params::default().with("load", factor.to_string());
        assert!(
            find("bounded")?.build(nodes(2), &params).is_err(),
            "{factor}"
        );
    }
    for factor in [1.000_001, 1.25, 1_000_000.0] {
        assert!(
            BoundedLoad::new(Ring::new(nodes(2))?, factor).is_ok(),
            "{factor}"
        );
    }
    Ok(())
}

#[test]
fn huge_weights_do_not_overflow() -> Outcome {
    let huge = ["a", "b"].map(|name| Node::new(name).with_weight(u32::MAX));
    let bounded = BoundedLoad::new(Rendezvous::new(huge)?, 1_000_000.0)?;
    let leases: Vec<_> = keys(3, 100)
        .into_iter()
        .filter_map(|key| bounded.acquire_hash(key))
        .collect();
    assert_eq!((leases.len(), sum(&bounded)), (100, 100));
    Ok(())
}

/// Acquires 500 leases, checks the bound at each, and releases them.
fn fill<R: Router>(router: R) -> Outcome {
    let factor = (5, 4);
    let name = format!("{router:.0?}");
    let bounded = BoundedLoad::new(router, 1.25)?;
    let mut leases = Vec::new();
    for (held, key) in (0..).zip(keys(4, 500)) {
        // Every other key is the same, so one node reaches its bound.
        let key = if held % 2 == 0 {
            KeyHash::from_raw(1)
        } else {
            key
        };
        let lease = bounded
            .acquire_hash(key)
            .ok_or_else(|| format!("no room in {name}"))?;
        let id = lease.node();
        assert!(
            bounded.load(id) <= bound_of(&bounded, factor, held + 1, id),
            "{name}"
        );
        leases.push(lease);
    }
    assert_eq!((bounded.total_load(), sum(&bounded)), (500, 500), "{name}");
    assert!(
        leases.into_iter().all(|lease| bounded.release(lease)),
        "{name}"
    );
    assert_eq!((bounded.total_load(), sum(&bounded)), (0, 0), "{name}");
    Ok(())
}

#[test]
fn every_kind_of_router_can_be_bounded() -> Outcome {
    let some = || nodes(7);
    let weighted = || {
        (1..)
            .zip(some())
            .map(|(weight, node)| node.with_weight(weight % 4))
    };
    fill(Ring::new(weighted())?)?;
    fill(Rendezvous::new(weighted())?)?;
    fill(Maglev::new(weighted())?)?;
    fill(HashSlots::new(weighted())?)?;
    fill(Modulo::new(weighted())?)?;
    fill(Jump::new(some())?)
}

#[test]
fn without_load_keys_go_to_the_owners_of_the_router_inside() -> Outcome {
    let bounded = ALL.iter().filter(|strategy| strategy.name == "bounded");
    assert!(bounded.clone().all(is_set));
    let ring = Ring::new(nodes(9))?;
    let bounded = BoundedLoad::new(ring.clone(), 1.25)?;
    for key in keys(5, 2000) {
        assert_eq!(bounded.route_hash(key), ring.route_hash(key));
    }
    assert!(bounded.acquire_hash(KeyHash::from_raw(1)).is_some());
    assert_eq!((bounded.total_load(), bounded.clone().total_load()), (1, 0));
    Ok(())
}

// --- Threads ---

const THREADS: [usize; 3] = [2, 4, 8];

#[test]
fn racing_placements_stay_within_the_bound() -> Outcome {
    const EACH: usize = 2000;
    let factor = (21, 20);
    for threads in THREADS {
        let nodes = [1, 1, 2, 3, 0].into_iter().zip(nodes(5));
        let ring = Ring::with_points(nodes.map(|(weight, node)| node.with_weight(weight)), 10)?;
        let bounded = &BoundedLoad::new(ring, 1.05)?;
        let place = |thread: usize| {
            let mut leases = Vec::new();
            for key in keys(thread as u64, EACH) {
                // Half of all keys want the same node.
                let key = if key.get() % 2 == 0 {
                    KeyHash::from_raw(1)
                } else {
                    key
                };
                let lease = bounded.acquire_hash(key).expect("room");
                // The load is read first, so every total read later includes it.
                let load = bounded.load(lease.node());
                let present = bounded.total_load();
                assert!(load <= bound_of(bounded, factor, present, lease.node()));
                leases.push(lease);
            }
            leases
        };
        let leases: Vec<_> = thread::scope(|scope| {
            let racing: Vec<_> = (0..threads)
                .map(|t| scope.spawn(move || place(t)))
                .collect();
            racing
                .into_iter()
                .flat_map(|thread| thread.join().expect("no thread panicked"))
                .collect()
        });
        let total = (threads * EACH) as u64;
        assert_eq!(
            (leases.len() as u64, bounded.total_load(), sum(bounded)),
            (total, total, total)
        );
        for id in ids(bounded) {
            let held = leases.iter().filter(|lease| lease.node() == id).count() as u64;
            assert_eq!(bounded.load(id), held);
            assert!(held <= bound_of(bounded, factor, total, id));
        }
        // Other threads than acquired them release the leases.
        let mut parts: Vec<Vec<Lease>> = (0..threads).map(|_| Vec::new()).collect();
        for (i, lease) in leases.into_iter().enumerate() {
            parts[i % threads].push(lease);
        }
        thread::scope(|scope| {
            for part in parts {
                scope.spawn(move || assert!(part.into_iter().all(|lease| bounded.release(lease))));
            }
        });
        assert_eq!((bounded.total_load(), sum(bounded)), (0, 0));
    }
    Ok(())
}

#[test]
fn racing_requests_are_all_served_and_all_released() -> Outcome {
    const HELD: usize = 5;
    const EACH: usize = 4000;
    let factor = (1_000_001, 1_000_000);
    for threads in THREADS {
        let bounded = &BoundedLoad::new(Rendezvous::new(nodes(3))?, 1.000_001)?;
        let refused = &AtomicUsize::new(0);
        let work = |thread: usize| {
            let mut held: Vec<Lease> = Vec::new();
            for key in keys(thread as u64, EACH) {
                if held.len() == HELD {
                    let lease = held.swap_remove(pick(key, HELD));
                    assert!(bounded.release(lease));
                }
                match bounded.acquire_hash(key) {
                    // The number of keys never exceeds this, including those being placed.
                    Some(lease) => {
                        let most = bound_of(bounded, factor, (threads * HELD) as u64, lease.node());
                        assert!(bounded.load(lease.node()) <= most);
                        held.push(lease);
                    }
                    None => drop(refused.fetch_add(1, Ordering::Relaxed)),
                }
            }
            assert!(held.into_iter().all(|lease| bounded.release(lease)));
        };
        thread::scope(|scope| {
            (0..threads).for_each(|thread| drop(scope.spawn(move || work(thread))));
        });
        assert_eq!((bounded.total_load(), sum(bounded)), (0, 0));
        // With c > 1 and no absolute limit, some node has room at any time.
        assert_eq!(refused.load(Ordering::Relaxed), 0, "{threads} threads");
    }
    Ok(())
}

/// A router of two nodes: even keys prefer the first, odd keys the second. The first walk of key 0
/// calls [`overtake`] between its two nodes.
#[derive(Debug)]
struct Overtaken(Nodes);

static OVERTAKEN: OnceLock<BoundedLoad<Overtaken>> = OnceLock::new();
static LEASES: Mutex<Vec<Lease>> = Mutex::new(Vec::new());

/// Empties the first node and fills the second, as another thread might.
fn overtake() {
    let router = OVERTAKEN.get().expect("set");
    let leases = core::mem::take(&mut *LEASES.lock().expect("no thread panicked"));
    for lease in leases {
        assert!(router.release(lease));
        LEASES
            .lock()
            .expect("no thread panicked")
            .extend(router.acquire_hash(KeyHash::from_raw(1)));
    }
}

impl Router for Overtaken {
    fn nodes(&self) -> &Nodes {
        &self.0
    }

    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        walked(self, key).first().copied()
    }

    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        static ONCE: Once = Once::new();
        let mut ids: Vec<_> = self.0.iter().map(|(id, _)| id).collect();
        ids.rotate_left(pick(key, 2));
        if visit(ids[0]).is_continue() {
            if key.get() == 0 {
                ONCE.call_once(overtake);
            }
            let _ = visit(ids[1]);
        }
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        self.0.apply(change).map(drop)
    }
}

#[test]
fn an_overtaken_acquire_still_finds_the_free_node() -> Outcome {
    let router = BoundedLoad::new(Overtaken(Nodes::new(nodes(2))?), 1.000_001)?;
    let router = OVERTAKEN.get_or_init(|| router);
    let two = [2, 2].map(|key| router.acquire_hash(KeyHash::from_raw(key)));
    LEASES
        .lock()
        .expect("no thread panicked")
        .extend(two.into_iter().flatten());
    // The loads are 2 and 0, so the first node is full for a third key. When the second node is
    // offered, the loads are 0 and 2, and the total is unchanged.
    assert_eq!(router.total_load(), 2);
    assert!(
        router.acquire_hash(KeyHash::from_raw(0)).is_some(),
        "no lease although a node is empty"
    );
    Ok(())
}

#[test]
fn absolute_limits_hold_under_races() -> Outcome {
    const CAP: u64 = 50;
    const ALL: usize = 4 * 50;
    for threads in THREADS {
        let bounded = &BoundedLoad::new(Ring::new(nodes(4))?, 1.5)?.with_cap(CAP);
        let fill = |thread: usize| {
            let keys = keys(thread as u64, ALL);
            let leases = keys.into_iter().filter_map(|key| {
                let lease = bounded.acquire_hash(key)?;
                assert!(bounded.load(lease.node()) <= CAP);
                Some(lease)
            });
            leases.collect::<Vec<_>>()
        };
        let leases: Vec<_> = thread::scope(|scope| {
            let racing: Vec<_> = (0..threads).map(|t| scope.spawn(move || fill(t))).collect();
            racing
                .into_iter()
                .flat_map(|thread| thread.join().expect("no thread panicked"))
                .collect()
        });
        // Each thread alone would fill the cluster, so it is exactly full.
        assert_eq!((leases.len(), sum(bounded)), (ALL, 4 * CAP));
        assert_eq!(bounded.total_load(), 4 * CAP);
        assert!(bounded.acquire_hash(KeyHash::from_raw(1)).is_none());
        assert!(leases.into_iter().all(|lease| bounded.release(lease)));
        assert_eq!((bounded.total_load(), sum(bounded)), (0, 0));
    }
    Ok(())
}

#[test]
fn every_lease_is_returned_or_lost_with_its_node() -> Outcome {
    const WORKERS: u64 = 4;
    const LOST: u64 = 500;
    let shared = &RwLock::new(BoundedLoad::new(Ring::with_points(nodes(5), 20)?, 1.25)?);
    let [taken, returned, lost] = &[(); 3].map(|()| AtomicU64::new(0));
    // The threads run until this many leases have lost their nodes.
    let going = || lost.load(Ordering::Relaxed) < LOST;
    let work = |worker: u64| {
        let mut held: Vec<Lease> = Vec::new();
        let keys = (worker << 40..)
            .map(KeyHash::from_integer)
            .take_while(|_| going());
        for key in keys {
            let router = shared.read().expect("no thread panicked");
            if held.len() > 8 {
                let lease = held.swap_remove(pick(key, 8));
                returned.fetch_add(u64::from(router.release(lease)), Ordering::Relaxed);
            }
            let lease = router.acquire_hash(key);
            taken.fetch_add(u64::from(lease.is_some()), Ordering::Relaxed);
            held.extend(lease);
        }
        let router = shared.read().expect("no thread panicked");
        let given = held
            .into_iter()
            .filter_map(|lease| router.release(lease).then_some(()));
        returned.fetch_add(given.count() as u64, Ordering::Relaxed);
    };
    let change = || {
        for round in (0..).take_while(|_| going()) {
            let name = format!("node-{}", round % 5);
            let mut router = shared.write().expect("no thread panicked");
            let id = router.nodes().id(&name).expect("a member");
            lost.fetch_add(router.load(id), Ordering::Relaxed);
            router
                .apply(&Change::remove(name.as_str()))
                .expect("a member");
            // No thread is between counting and placing while this one holds the lock.
            assert_eq!(router.total_load(), sum(&*router));
            // In every third round another node takes the freed id first.
            let passing = (round % 3 == 0).then(|| format!("passing-{round}"));
            if let Some(name) = &passing {
                router
                    .apply(&Change::Add(Node::new(name.as_str())))
                    .expect("new");
            }
            router.apply(&Change::Add(Node::new(name))).expect("gone");
            if let Some(name) = passing {
                router.apply(&Change::remove(name)).expect("a member");
            }
            drop(router);
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        (0..WORKERS).for_each(|worker| drop(scope.spawn(move || work(worker))));
        scope.spawn(change);
    });
    let router = shared.read().expect("no thread panicked");
    assert_eq!((router.total_load(), sum(&*router)), (0, 0));
    let counts = [taken, returned, lost];
    let [taken, returned, lost] = counts.map(|count| count.load(Ordering::Relaxed));
    assert_eq!(taken, returned + lost);
    Ok(())
}
