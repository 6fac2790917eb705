//! Law 8: lookups allocate nothing, counted by the allocator.
//!
//! A program of its own, without the test harness, whose main thread takes memory while a test
//! runs: nothing but the lookups is counted.

use core::hint::black_box;
use core::ops::ControlFlow;
use core::time::Duration;
use std::alloc::System;
use std::sync::Arc;

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
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Fail where `lookup` takes memory or gives any back.
fn free_of_charge(what: &str, lookup: impl FnOnce()) {
    let range = Region::new(ALLOCATOR);
    lookup();
    let change = range.change();
    let calls = change.allocations + change.deallocations + change.reallocations;
    assert_eq!(calls, 0, "{what}: {change:?}");
}

/// Members of several weights, in zones and racks, some drained.
fn members(strategy: &Scheme, count: u32) -> Vec<Node> {
    let member = |i| {
        let (zone, rack) = (format!("zone-{}", i % 7), format!("rack-{}", i % 31));
        let node = Node::new(format!("node-{i}")).with_location(zone, rack);
        node.with_weight(fit(strategy, (i + 2) % 4))
    };
    (0..count).map(member).collect()
}

/// Whoever routes a request asks these: a server for its decision, a client for its map.
fn cluster() -> Outcome {
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
            free_of_charge("decide", || {
                let answer =
                    table.decide(id, &request, Health::Ok, CoverageRule::default(), |_| false);
                black_box(answer.is_ok());
            });
        }
    }
    free_of_charge("slot", || {
        let place = SlotRule::REDIS.key_slot(b"{foo}1");
        black_box((
            table.owner(place.slot),
            map.owner(place.slot),
            map.replicas(place.slot),
        ));
    });
    Ok(())
}

fn lookups(name: &str, router: &dyn Router, keys: &[KeyHash]) {
    let mut batch = vec![None; keys.len()];
    let mut few = NodeList::new();
    let mut all = NodeList::with_capacity(router.nodes().len());
    for &key in keys {
        free_of_charge(name, || {
            black_box(router.route_hash(key));
        });
        free_of_charge(name, || {
            black_box(hashroute_test_support::place(router, key));
        });
        free_of_charge(name, || {
            let mut seen = 0;
            router.walk(key, &mut |_| {
                seen += 1;
                ControlFlow::Continue(())
            });
            black_box(seen);
        });
        for spread in [Spread::Nodes, Spread::Racks, Spread::Zones] {
            free_of_charge(name, || {
                router.replicas_into(key, 3, spread, &mut few);
            });
        }
    }
    for spread in [Spread::Nodes, Spread::Racks, Spread::Zones] {
        free_of_charge(name, || {
            router.replicas_into(keys[0], usize::MAX, spread, &mut all);
        });
    }
    free_of_charge(name, || router.route_batch(keys, &mut batch));
    // A short list stays on the stack.
    free_of_charge(name, || {
        drop(router.replicas_hash(keys[0], 8, Spread::Zones));
    });
    for text in [&b""[..], b"user:42", b"{tag}:1", &[0xc8; 300]] {
        free_of_charge(name, || {
            black_box((router.route(text), router.owner(text)));
            black_box(router.replicas(text, 8, Spread::Zones));
        });
    }
}

fn leases<R: Router>(name: &str, router: R, keys: &[KeyHash]) -> Outcome {
    let bounded = BoundedLoad::new(router, 1.1)?;
    free_of_charge(name, || {
        for &key in keys {
            let kept = bounded.acquire_hash(key);
            let returned = bounded.acquire_hash(key);
            assert!(kept.is_some() && returned.is_some_and(|lease| bounded.release(lease)));
        }
    });
    Ok(())
}

/// A filter that passes over the first of its nodes, and what reports to it take.
fn filtered(strategy: &Scheme, count: u32, keys: &[KeyHash]) -> Outcome {
    let router = hashroute_test_support::build(strategy, members(strategy, count));
    let filter = Liveness::new(router, health::Policy::default())?;
    if let Some((id, _)) = filter.nodes().iter().find(|(_, node)| node.weight() > 0) {
        free_of_charge(strategy.name, || {
            for second in 1..=3 {
                filter.failed(id, Duration::from_secs(second));
            }
            filter.succeeded(id, Duration::from_secs(4));
            black_box((filter.is_down(id), filter.due(Duration::ZERO).count()));
        });
        assert_eq!((filter.is_down(id), filter.skips()), (true, count > 1));
    }
    lookups(strategy.name, &filter, keys);
    Ok(())
}

#[cfg(feature = "shared")]
fn shared(keys: &[KeyHash]) -> Outcome {
    let shared = hashroute::shared::Shared::new(hashroute::Ring::new(nodes(30))?);
    let mut reader = shared.reader();
    drop(shared.pin()); // the first of a thread makes its place
    free_of_charge("shared", || {
        for &key in keys {
            black_box((reader.get().route_hash(key), shared.pin().route_hash(key)));
        }
    });
    Ok(())
}

/// Lookups of keys that are hot and of others, as routes and as leases.
fn hot<R: Router>(router: R, keys: &[KeyHash]) -> Outcome {
    let mut router = HotKeys::new(router, 8, 0.01)?;
    router.set_hot(keys[..keys.len() / 2].iter().copied())?;
    lookups("hot keys", &router, keys);
    free_of_charge("hot keys", || {
        for &key in keys {
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

/// Both epochs of a key, at every moment of a change.
fn epochs(keys: &[KeyHash]) -> Outcome {
    let ring = |count| Ring::new((0..count).map(|i| Node::new(format!("node-{i}"))));
    let (old, new) = (Arc::new(ring(30)?), Arc::new(ring(31)?));
    let replicas = Replicas::new(3, Spread::Nodes);
    let plan = Plan::new(&*old, &*new, replicas, Budget::default())?;
    let mut change = Transition::new(old, new, &plan)?;
    loop {
        for &key in keys {
            free_of_charge("epochs", || {
                let text = key.get().to_le_bytes();
                black_box((change.owners(&text), change.lists(&text)));
                // Who copies it is asked by who copies, and is a list that grows.
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

fn main() -> Outcome {
    let keys = keys(50, 20);
    let counted = Region::new(ALLOCATOR);
    drop(black_box(vec![1_u8; 100]));
    assert_eq!(
        counted.change().allocations,
        1,
        "the allocator does not count"
    );

    for strategy in ALL {
        for count in [0, 1, 50, 1000] {
            let router = hashroute_test_support::build(strategy, members(strategy, count));
            let few = if count == 1000 { 2 } else { keys.len() };
            lookups(strategy.name, &*router, &keys[..few]);
            filtered(strategy, count, &keys[..few])?;
        }
    }
    for &function in HashFunction::ALL {
        for hasher in [
            KeyHasher::new(function),
            KeyHasher::new(function).with_tag(HashTag::BRACES),
        ] {
            for key in [&b""[..], b"user:42", b"{tag}:1", &[0xc8; 5000]] {
                free_of_charge(function.name(), || {
                    black_box(hasher.raw(key));
                    black_box(hasher.spread(key));
                });
            }
        }
    }
    cluster()?;
    epochs(&keys)?;
    leases(
        "bounded over rendezvous",
        Rendezvous::new(nodes(30))?,
        &keys,
    )?;
    leases("bounded over jump", Jump::new(nodes(30))?, &keys)?;
    #[cfg(feature = "shared")]
    shared(&keys)?;
    hot(Rendezvous::new(hashroute_test_support::nodes(30))?, &keys)?;
    println!("lookups allocate nothing: ok");
    Ok(())
}
