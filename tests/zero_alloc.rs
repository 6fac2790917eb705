//! Law 8: lookups allocate nothing, counted by the allocator.
//!
//! A program of its own, since a program has one allocator. It counts for each thread, so tests
//! that run beside each other do not see each other's allocations.

use core::hint::black_box;
use core::ops::ControlFlow;
use core::time::Duration;
use std::sync::Arc;

use alloc_counter::{AllocCounterSystem, count_alloc};
use hashroute::health::{self, Liveness};
use hashroute::hot::HotKeys;
use hashroute::plan::{Budget, Phase, Plan, Replicas, Transition};
use hashroute::redis::{
    Address, Command, CoverageRule, Health, Mark, Request, SlotMap, SlotRule, Table,
};
use hashroute::registry::Scheme;
use hashroute::strategy::ALL;
use hashroute::{
    BoundedLoad, HashFunction, HashTag, Jump, KeyHash, KeyHasher, Loads, Node, NodeList,
    Rendezvous, Ring, Router, RouterExt, Spread,
};
use hashroute_test_support::{Outcome, fit, keys, nodes};

#[global_allocator]
static ALLOCATOR: AllocCounterSystem = AllocCounterSystem;

/// Fails where `lookup` allocates, reallocates or frees memory.
fn allocates_nothing(what: &str, lookup: impl FnOnce()) {
    let (calls, ()) = count_alloc(lookup);
    assert_eq!(
        calls,
        (0, 0, 0),
        "{what}: allocations, reallocations, deallocations"
    );
}

/// Returns the keys that every test looks up.
fn some_keys() -> Vec<KeyHash> {
    keys(50, 20)
}

#[test]
fn the_allocator_counts_what_a_test_allocates() {
    let (calls, ()) = count_alloc(|| drop(black_box(vec![1_u8; 100])));
    assert_eq!(calls, (1, 0, 1));
}

/// Returns nodes of several weights in zones and racks, some of them drained.
fn members(strategy: &Scheme, count: u32) -> Vec<Node> {
    let member = |i| {
        let (zone, rack) = (format!("zone-{}", i % 7), format!("rack-{}", i % 31));
        let node = Node::new(format!("node-{i}")).with_location(zone, rack);
        node.with_weight(fit(strategy, (i + 2) % 4))
    };
    (0..count).map(member).collect()
}

/// A server asks for its decision on each request, and a client asks its map.
#[test]
fn decisions_and_maps_of_redis_cluster_allocate_nothing() -> Outcome {
    let text =
        "a h:1@1 master - 0 0 1 connected 0-8191\nb h:2@2 master - 0 0 2 connected 8192-16383";
    let mut table = Table::from_text(text, SlotRule::REDIS)?;
    table.mark(12_182, "b", Mark::Migrating("a".into()))?;
    let mut map = SlotMap::new(SlotRule::REDIS, [Address::new("h", 1)])?;
    map.refill(&table)?;
    for keys in [
        &[&b"foo"[..]][..],
        &[b"{foo}1", b"{foo}2"],
        &[b"foo", b"bar"],
        &[],
    ] {
        let request = Request::new(Command::Write, keys);
        for id in ["a", "b"] {
            allocates_nothing("decide", || {
                let answer =
                    table.decide(id, &request, Health::Ok, CoverageRule::default(), |_| false);
                black_box(answer.is_ok());
            });
        }
    }
    allocates_nothing("slot", || {
        let place = SlotRule::REDIS.key_slot(b"{foo}1");
        black_box((
            table.owner(place.slot),
            map.owner(place.slot),
            map.replicas(place.slot),
        ));
    });
    Ok(())
}

/// Checks every lookup of the trait.
fn lookups_allocate_nothing(name: &str, router: &dyn Router, keys: &[KeyHash]) {
    let mut batch = vec![None; keys.len()];
    let mut few = NodeList::new();
    let mut all = NodeList::with_capacity(router.nodes().len());
    for &key in keys {
        allocates_nothing(name, || {
            black_box(router.route_hash(key));
        });
        allocates_nothing(name, || {
            black_box(hashroute_test_support::place(router, key));
        });
        allocates_nothing(name, || {
            let mut seen = 0;
            router.walk(key, &mut |_| {
                seen += 1;
                ControlFlow::Continue(())
            });
            black_box(seen);
        });
        for spread in [Spread::Nodes, Spread::Racks, Spread::Zones] {
            allocates_nothing(name, || {
                router.replicas_into(key, 3, spread, &mut few);
            });
        }
    }
    for spread in [Spread::Nodes, Spread::Racks, Spread::Zones] {
        allocates_nothing(name, || {
            router.replicas_into(keys[0], usize::MAX, spread, &mut all);
        });
    }
    allocates_nothing(name, || router.route_batch(keys, &mut batch));
    // A short list stays on the stack.
    allocates_nothing(name, || {
        drop(router.replicas_hash(keys[0], 8, Spread::Zones));
    });
    for text in [&b""[..], b"user:42", b"{tag}:1", &[0xc8; 300]] {
        allocates_nothing(name, || {
            black_box((router.route(text), router.owner(text)));
            black_box(router.replicas(text, 8, Spread::Zones));
        });
    }
}

fn leases_allocate_nothing<R: Router>(name: &str, router: R) -> Outcome {
    let keys = some_keys();
    let bounded = BoundedLoad::new(router, 1.1)?;
    allocates_nothing(name, || {
        for &key in &keys {
            let kept = bounded.acquire_hash(key);
            let returned = bounded.acquire_hash(key);
            assert!(kept.is_some() && returned.is_some_and(|lease| bounded.release(lease)));
        }
    });
    Ok(())
}

/// Checks reports to a health filter, and its lookups while one node is down.
fn health_allocates_nothing(strategy: &Scheme, count: u32, keys: &[KeyHash]) -> Outcome {
    let router = hashroute_test_support::build(strategy, members(strategy, count));
    let filter = Liveness::new(router, health::Policy::default())?;
    if let Some((id, _)) = filter.nodes().iter().find(|(_, node)| node.weight() > 0) {
        allocates_nothing(strategy.name, || {
            for second in 1..=3 {
                filter.failed(id, Duration::from_secs(second));
            }
            filter.succeeded(id, Duration::from_secs(4));
            black_box((filter.is_down(id), filter.due(Duration::ZERO).count()));
        });
        assert_eq!((filter.is_down(id), filter.skips()), (true, count > 1));
    }
    lookups_allocate_nothing(strategy.name, &filter, keys);
    Ok(())
}

#[cfg(feature = "shared")]
#[test]
fn readers_of_a_shared_router_allocate_nothing() -> Outcome {
    let keys = some_keys();
    let shared = hashroute::shared::Shared::new(hashroute::Ring::new(nodes(30))?);
    let mut reader = shared.reader();
    drop(shared.pin()); // the first call of a thread allocates its slot
    allocates_nothing("shared", || {
        for &key in &keys {
            black_box((reader.get().route_hash(key), shared.pin().route_hash(key)));
        }
    });
    Ok(())
}

#[test]
fn lookups_and_leases_of_hot_keys_allocate_nothing() -> Outcome {
    let keys = some_keys();
    let mut router = HotKeys::new(Rendezvous::new(nodes(30))?, 8, 0.01)?;
    router.set_hot(keys[..keys.len() / 2].iter().copied())?;
    lookups_allocate_nothing("hot keys", &router, &keys);
    allocates_nothing("hot keys", || {
        for &key in &keys {
            black_box(router.copies_hash(key));
            assert!(
                router
                    .acquire_hash(key)
                    .is_some_and(|lease| router.release(lease))
            );
        }
    });
    Ok(())
}

#[test]
fn owners_and_lists_of_a_transition_allocate_nothing() -> Outcome {
    let ring = |count| Ring::new((0..count).map(|i| Node::new(format!("node-{i}"))));
    let (old, new) = (Arc::new(ring(30)?), Arc::new(ring(31)?));
    let replicas = Replicas::new(3, Spread::Nodes);
    let plan = Plan::new(&*old, &*new, replicas, Budget::default())?;
    let mut change = Transition::new(old, new, &plan)?;
    loop {
        for key in some_keys() {
            allocates_nothing("transition", || {
                let text = key.get().to_le_bytes();
                black_box((change.owners(&text), change.lists(&text)));
                // While a key is copied its sources are a list that grows; the copier asks for it.
                if change.phase_of(&text) != Phase::Copying {
                    black_box(change.sources(&text));
                }
                black_box(change.router().and_then(|router| router.route_hash(key)));
            });
        }
        if !change.advance() {
            return Ok(());
        }
    }
}

#[test]
fn lookups_of_every_strategy_allocate_nothing() -> Outcome {
    let keys = some_keys();
    for strategy in ALL {
        for count in [0, 1, 50, 1000] {
            let router = hashroute_test_support::build(strategy, members(strategy, count));
            let few = if count == 1000 { 2 } else { keys.len() };
            lookups_allocate_nothing(strategy.name, &*router, &keys[..few]);
            health_allocates_nothing(strategy, count, &keys[..few])?;
        }
    }
    Ok(())
}

#[test]
fn hash_functions_allocate_nothing() {
    for &function in HashFunction::ALL {
        for hasher in [
            KeyHasher::new(function),
            KeyHasher::new(function).with_tag(HashTag::BRACES),
        ] {
            for key in [&b""[..], b"user:42", b"{tag}:1", &[0xc8; 5000]] {
                allocates_nothing(function.name(), || {
                    black_box(hasher.raw(key));
                    black_box(hasher.spread(key));
                });
            }
        }
    }
}

#[test]
fn leases_of_bounded_load_allocate_nothing() -> Outcome {
    leases_allocate_nothing("bounded over rendezvous", Rendezvous::new(nodes(30))?)?;
    leases_allocate_nothing("bounded over jump", Jump::new(nodes(30))?)
}
