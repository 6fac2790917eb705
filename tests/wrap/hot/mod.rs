//! Hot keys are spread over their first replicas by load; other keys stay with their owner.

mod hitters;
mod leases;

use core::time::Duration;
use std::collections::BTreeSet;

use hashroute::hot::{HeavyHitters, HotKeys};
use hashroute::registry::Agree;
use hashroute::strategy::ALL;
use hashroute::{KeyHash, Loads, Node, NodeId, Rendezvous, Ring, Router, RouterExt, Spread};
use hashroute_test_support::{Outcome, build, for_all, keys, walked, weighted};
use proptest::collection::vec;
use proptest::prelude::any;

#[test]
fn only_hot_keys_leave_their_owner() {
    let inputs = (vec(0_u32..5, 0..9), 2_usize..=8, vec(any::<bool>(), 60));
    let keys = keys(80, 60);
    // Routers that count loads are refused.
    for strategy in ALL.iter().filter(|row| row.agree() != Agree::Load) {
        for_all(12, &inputs, |(weights, copies, heat)| {
            let inner = build(strategy, weighted(strategy, &weights));
            let mut router = HotKeys::new(inner, copies, 0.01).expect("in range");
            let hot = keys.iter().zip(&heat).filter(|(_, hot)| **hot);
            router.set_hot(hot.map(|(&key, _)| key)).expect("few");
            let mut batch = vec![None; keys.len()];
            router.route_batch(&keys, &mut batch);
            for ((&key, &hot), &routed) in keys.iter().zip(&heat).zip(&batch) {
                let inner = router.router();
                let list = inner.replicas_hash(key, copies, Spread::Nodes);
                assert_eq!((router.is_hot(key), router.route_hash(key)), (hot, routed));
                if hot {
                    // Without load the heaviest replica has the least load per weight; the first wins ties.
                    let weight = |id: &NodeId| inner.nodes().weight(*id);
                    let heaviest = list.iter().rev().max_by_key(|id| weight(id));
                    assert_eq!(routed.as_ref(), heaviest, "{}", strategy.name);
                    assert_eq!(router.copies_hash(key), list, "{}", strategy.name);
                    let offered: BTreeSet<_> = walked(&router, key).into_iter().collect();
                    assert_eq!(
                        offered.len(),
                        router.nodes().weighted(),
                        "{}",
                        strategy.name
                    );
                } else {
                    assert_eq!(routed, inner.route_hash(key), "{}", strategy.name);
                    assert!(router.copies_hash(key).into_iter().eq(routed));
                    assert_eq!(walked(&router, key), walked(inner, key));
                }
            }
        });
    }
}

/// Returns the highest load after `more` leases went to the lowest one each time.
fn filled(loads: &[u64], more: u64) -> u64 {
    let room = |level: u64| {
        loads
            .iter()
            .map(|load| level.saturating_sub(*load))
            .sum::<u64>()
    };
    let highest = loads.iter().copied().fold(more, u64::max);
    let level = (0..=2 * highest)
        .find(|&level| room(level) >= more)
        .unwrap_or(0);
    loads.iter().copied().fold(level, u64::max)
}

#[test]
fn the_busiest_node_has_the_computed_load() -> Outcome {
    for copies in 2..=8 {
        let nodes = (0..20).map(|i| Node::new(format!("node-{i}")));
        let mut router = HotKeys::new(Ring::new(nodes)?, copies, 0.01)?;
        let hot = KeyHash::from_bytes(b"hot");
        let plain: Vec<_> = keys(81, 8000)
            .into_iter()
            .filter_map(|key| router.acquire_hash(key))
            .collect();
        let before: Vec<_> = router
            .copies_hash(hot)
            .iter()
            .map(|&id| router.load(id))
            .collect();
        router.set_hot([hot])?;
        let shared = router.copies_hash(hot);
        let loads: Vec<_> = shared.iter().map(|&id| router.load(id)).collect();
        assert_eq!((before[0], shared.len()), (loads[0], copies));
        let requests = 2000; // a fifth of all
        let leases: Vec<_> = (0..requests)
            .filter_map(|_| router.acquire_hash(hot))
            .collect();
        let busiest = shared.iter().map(|&id| router.load(id)).max();
        assert_eq!(busiest, Some(filled(&loads, requests)), "{copies} copies");
        assert!(busiest < Some(loads[0] + requests));
        assert_eq!((plain.len(), leases.len() as u64), (8000, requests));
    }
    Ok(())
}

#[test]
fn loads_follow_the_weights() -> Outcome {
    let nodes = [("a", 1), ("b", 3)].map(|(name, weight)| Node::new(name).with_weight(weight));
    let mut router = HotKeys::new(Rendezvous::new(nodes)?, 2, 0.01)?;
    let hot = KeyHash::from_bytes(b"hot");
    router.set_hot([hot])?;
    let leases: Vec<_> = (0..4000).filter_map(|_| router.acquire_hash(hot)).collect();
    let load = |name| router.nodes().id(name).map(|id| router.load(id));
    assert_eq!(
        (load("a"), load("b"), leases.len()),
        (Some(1000), Some(3000), 4000)
    );
    Ok(())
}

/// Returns counts in which the key has this many thousandths of all requests.
fn counts(key: KeyHash, part: u64) -> Result<HeavyHitters, hashroute::Error> {
    let mut hitters = HeavyHitters::new(1000)?;
    hitters.feed(key, 100 * part);
    for other in keys(82, 100) {
        hitters.feed(other, 1000 - part);
    }
    Ok(hitters)
}

#[test]
fn a_wavering_share_does_not_make_a_key_flap() -> Outcome {
    let mut router = HotKeys::new(Rendezvous::new([Node::new("a")])?, 2, 0.04)?;
    let key = KeyHash::from_bytes(b"hot");
    let mut flips = 0;
    let mut was = false;
    // Up to just below the share, above it, down to just above half of it, below that.
    for (part, hot) in [
        (39, false),
        (21, false),
        (39, false),
        (41, true),
        (39, true),
        (21, true),
        (41, true),
        (21, true),
        (19, false),
        (21, false),
        (39, false),
        (19, false),
    ] {
        router.set_hot(router.due(&counts(key, part)?)?)?;
        assert_eq!(router.is_hot(key), hot, "{part}");
        assert_eq!(
            router.due(&counts(key, part)?)?,
            router.hot(),
            "a second evaluation changes nothing"
        );
        flips += usize::from(was != hot);
        was = hot;
    }
    assert_eq!(flips, 2);
    // A sketch with too few requests changes nothing.
    router.set_hot([key])?;
    assert_eq!(router.due(&HeavyHitters::new(100)?)?, [key]);
    Ok(())
}

/// A key stays hot while the upper bound of its count is above half of the share.
#[test]
fn a_hot_key_stays_hot_while_the_counts_are_uncertain() -> Outcome {
    let mut router = HotKeys::new(Ring::new([Node::new("a")])?, 2, 0.5)?;
    let key = KeyHash::from_bytes(b"hot");
    let mut hitters = HeavyHitters::new(8)?;
    for i in 0..2000 {
        let is_key = i % 16 < 4; // a quarter of the requests, half of the share
        let other = KeyHash::from_integer(i);
        hitters.feed(if is_key { key } else { other }, 1);
    }
    let count = hitters.count(key);
    assert!(*count.start() < 500 && *count.end() >= 500, "{count:?}");
    assert_eq!(router.due(&hitters)?, []);
    router.set_hot([key])?;
    assert_eq!(router.due(&hitters)?, [key]);
    Ok(())
}

#[test]
fn a_key_becomes_hot_after_a_hundred_requests_divided_by_the_share() -> Outcome {
    let router = HotKeys::new(Ring::new([Node::new("a")])?, 2, 0.5)?;
    let key = KeyHash::from_bytes(b"hot");
    let mut hitters = HeavyHitters::new(8)?;
    hitters.feed(key, 199);
    assert_eq!(router.due(&hitters)?, []);
    hitters.feed(key, 1);
    assert_eq!(router.due(&hitters)?, [key]);
    Ok(())
}

/// Uses the least capacity for the share and the worst stream for the sketch.
#[test]
fn a_key_becomes_hot_above_the_share_and_cold_again_below() -> Outcome {
    let (share, capacity) = (0.01, 400);
    let mut router = HotKeys::new(Ring::new([Node::new("a")])?, 2, share)?;
    let key = KeyHash::from_bytes(b"hot");
    let second = Duration::from_secs(1);
    let mut hitters = HeavyHitters::new(capacity)?.with_half_life(second)?;
    hitters.advance(Duration::ZERO);
    // Other keys in turns, more of them than the sketch has counters.
    let others = |hitters: &mut HeavyHitters, turns: u64| {
        for i in 0..turns * 801 {
            hitters.feed(KeyHash::from_integer(i % 801), 1);
        }
    };
    others(&mut hitters, 20);
    let part = hitters.total() * 13 / 987; // 1.3 times the share of all requests
    hitters.feed(key, part);
    others(&mut hitters, 1);
    router.set_hot(router.due(&hitters)?)?;
    assert_eq!(router.hot(), [key]);
    for turn in 1..=3 {
        hitters.advance(turn * second);
        others(&mut hitters, 20);
    }
    assert_eq!(router.due(&hitters)?, []);
    Ok(())
}

#[test]
fn counts_too_few_for_the_share_are_refused() -> Outcome {
    let router = HotKeys::new(Ring::new([Node::new("a")])?, 2, 0.003)?;
    let refused = |hitters: &HeavyHitters| router.due(hitters).map_err(|error| error.to_string());
    let error = "capacity = \"1333\" cannot be used: expected at least 1334, to find the keys with a share of 0.003";
    let few = HeavyHitters::new(1333)?;
    assert_eq!(refused(&few), Err(error.into()));
    let mut enough = HeavyHitters::new(1334)?;
    assert_eq!(refused(&enough), Ok(vec![]));
    enough.merge(&few); // a merged sketch is as coarse as its coarser part
    assert_eq!(refused(&enough), Err(error.into()));
    let least = HotKeys::new(Ring::new([] as [Node; 0])?, 2, 0.0001)?;
    assert!(least.due(&HeavyHitters::new(40_000)?).is_ok());
    Ok(())
}

/// More keys than may be hot are due only where counts saturate.
#[test]
fn the_most_frequent_of_too_many_hot_keys_are_due() -> Outcome {
    let mut router = HotKeys::new(Ring::new([] as [Node; 0])?, 2, 0.0001)?;
    let mut hitters = HeavyHitters::new(HotKeys::MAX_HOT)?;
    let keys = keys(85, HotKeys::MAX_HOT + 500);
    let (most, less) = keys.split_at(500);
    for (keys, amount) in [(less, u64::MAX / 2), (most, u64::MAX)] {
        for &key in keys {
            hitters.feed(key, amount);
        }
    }
    let due = router.due(&hitters)?;
    assert_eq!(due.len(), HotKeys::MAX_HOT);
    assert!(most.iter().all(|key| due.binary_search(key).is_ok()));
    router.set_hot(due)?;
    Ok(())
}

#[test]
fn copies_of_hot_keys_are_spread_over_zones() -> Outcome {
    let nodes = (0..6).map(|i| Node::new(format!("node-{i}")).with_zone(["x", "y"][i % 2]));
    let ring = Ring::new(nodes)?;
    let mut router = HotKeys::new(ring, 2, 0.01)?.with_spread(Spread::Zones);
    let keys = keys(86, 50);
    router.set_hot(keys.iter().copied())?;
    let zoned = |key: &&KeyHash| {
        let lists =
            [Spread::Zones, Spread::Nodes].map(|by| router.router().replicas_hash(**key, 2, by));
        assert_eq!(router.copies_hash(**key), lists[0]);
        lists[0] != lists[1]
    };
    let other = keys.iter().filter(zoned).count();
    assert!(other > 0, "zones changed no list");
    Ok(())
}

/// The walk starts at the node of the next lease and continues in order of preference.
#[test]
fn the_least_loaded_copy_is_offered_first() -> Outcome {
    let nodes = (0..6).map(|i| Node::new(format!("node-{i}")));
    let mut router = HotKeys::new(Rendezvous::new(nodes)?, 3, 0.01)?;
    let hot = KeyHash::from_bytes(b"hot");
    router.set_hot([hot])?;
    let shared = router.copies_hash(hot);
    for turn in 0..6 {
        let offered = walked(&router, hot);
        assert_eq!(offered[0], shared[turn % 3]);
        assert_eq!(Some(offered[0]), router.route_hash(hot));
        assert_eq!(offered[1..], walked(router.router(), hot));
        let lease = router.acquire_hash(hot).ok_or("a node")?;
        assert_eq!(lease.node(), offered[0]);
    }
    Ok(())
}

#[test]
fn wrong_parameters_are_refused_with_the_allowed_range() -> Outcome {
    let new = |copies, share| HotKeys::new(Ring::new([] as [Node; 0])?, copies, share);
    for (copies, share, part) in [
        (1, 0.1, "copies = \"1\" cannot be used: expected 2 to 8"),
        (9, 0.1, "2 to 8"),
        (2, 0.0, "0.0001 to 1"),
        (2, 0.000_09, "0.0001 to 1"),
        (2, 1.1, "0.0001 to 1"),
        (2, f64::NAN, "0.0001 to 1"),
    ] {
        let error = new(copies, share).expect_err("out of range").to_string();
        assert!(error.contains(part), "{error}");
    }
    let mut empty = new(2, 1.0)?;
    let key = KeyHash::from_bytes(b"key");
    empty.set_hot([key])?;
    assert!(empty.copies_hash(key).is_empty() && empty.acquire_hash(key).is_none());
    Ok(())
}
