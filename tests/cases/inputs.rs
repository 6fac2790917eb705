//! Unusual names, weights, keys, counts and hashes, tried on every strategy.
//!
//! Two more inputs of this kind, 120 orders of five nodes and 200 removals and returns, are laws of
//! the contract suite.

use std::collections::BTreeSet;

use hashroute::registry::Agree;
use hashroute::strategy::{ALL, Params};
use hashroute::{Change, Error, KeyHash, Maglev, Node, Ring, Router, RouterExt, Spread};
use hashroute_test_support::{
    Outcome, build, counts, fair_shares, fit, keys, nodes, owner, state, walked, weighted,
};

#[test]
fn names_that_are_prefixes_of_each_other_share_evenly() {
    for strategy in ALL {
        let router = build(strategy, ["1", "11"].map(Node::new));
        let counts = counts(&*router, &keys(1, 4000));
        // With concatenated labels, "1" and "11" would share the points "1" + "1x" and "11" + "x".
        assert!(
            counts.iter().all(|&count| count > 1400),
            "{} {counts:?}",
            strategy.name
        );
    }
}

#[test]
fn two_nodes_on_one_token_are_ordered_by_name() -> Outcome {
    // Only a ring takes tokens from the caller. Other strategies hash names to 64 bits, where no
    // test can force a tie from outside; a unit test of rendezvous forces one.
    let tokens = [(10, "b"), (10, "a"), (20, "b"), (30, "a")];
    for order in [["a", "b"], ["b", "a"]] {
        let ring = Ring::from_tokens(order.map(Node::new), tokens)?;
        let owner = |hash| owner(&ring, KeyHash::from_raw(hash));
        assert_eq!(
            [owner(10), owner(11), owner(30)],
            [Some("a"), Some("b"), Some("a")]
        );
        assert_eq!(ring.points().count(), 4);
    }
    Ok(())
}

#[test]
fn extreme_weights_build_or_are_refused_and_zero_owns_nothing() {
    for strategy in ALL {
        for weights in [
            &[0, 0, 0][..],
            &[0, 1],
            &[1, 1_000_000],
            &[u32::MAX, u32::MAX],
            &[0, u32::MAX, 0, 1],
        ] {
            let router = match strategy.build(weighted(strategy, weights), &Params::default()) {
                Ok(router) => router,
                Err(Error::Capacity { .. }) => continue,
                Err(error) => panic!("{} {weights:?}: {error}", strategy.name),
            };
            for (key, raw) in keys(2, 4)
                .into_iter()
                .zip([0, u64::MAX].into_iter().cycle())
            {
                for key in [key, KeyHash::from_raw(raw)] {
                    let id = router.route_hash(key);
                    assert_eq!(
                        id.is_some(),
                        router.nodes().weighted() > 0,
                        "{}",
                        strategy.name
                    );
                    assert!(id.is_none_or(|id| router.nodes().weight(id) > Some(0)));
                    let offered: BTreeSet<_> = walked(&*router, key).into_iter().collect();
                    assert_eq!(
                        offered.len(),
                        router.nodes().weighted(),
                        "{} {weights:?}",
                        strategy.name
                    );
                }
            }
        }
    }
}

#[test]
fn removing_the_absent_and_adding_twice_fail_and_change_nothing() -> Outcome {
    for strategy in ALL {
        let mut router = build(strategy, nodes(3));
        let before = state(&*router);
        let again = fit(strategy, 5);
        for change in [
            Change::remove("absent"),
            Change::Add(Node::new("node-1")),
            Change::Add(Node::new("node-1").with_weight(again)),
        ] {
            assert!(
                router.apply(&change).is_err(),
                "{} {change:?}",
                strategy.name
            );
            assert_eq!(state(&*router), before, "{}", strategy.name);
        }
        // After it has left, the name may join again with any weight.
        router.apply(&Change::remove("node-2"))?;
        router.apply(&Change::Add(Node::new("node-2").with_weight(again)))?;
        let total = u64::from(2 + again);
        assert_eq!(router.nodes().total_weight(), total, "{}", strategy.name);
    }
    Ok(())
}

#[test]
fn replicas_are_distinct_and_spread_at_every_number() {
    for strategy in ALL {
        let zone = |i: usize| if i < 9 { "crowded" } else { "small" };
        let list = nodes(10).into_iter().enumerate();
        let router = build(strategy, list.map(|(i, node)| node.with_zone(zone(i))));
        let empty = build(strategy, []);
        for key in keys(3, 50) {
            assert!(router.replicas_hash(key, 0, Spread::Zones).is_empty());
            assert_eq!(
                router.replicas_hash(key, usize::MAX, Spread::Zones).len(),
                10
            );
            // Three replicas, two zones.
            let three = router.replicas_hash(key, 3, Spread::Zones);
            let zone = |&id| router.nodes().get(id).and_then(Node::zone);
            let zones: BTreeSet<_> = three.iter().map(zone).collect();
            assert_eq!((three.len(), zones.len()), (3, 2), "{}", strategy.name);
            assert!(empty.replicas_hash(key, 3, Spread::Racks).is_empty());
        }
    }
}

#[test]
fn hashes_at_the_ends_and_on_a_token_have_the_right_owner() -> Outcome {
    for strategy in ALL {
        let router = build(strategy, nodes(5));
        for raw in [0, 1, u64::MAX - 1, u64::MAX, 1 << 63, (1 << 63) - 1] {
            assert!(
                router.route_hash(KeyHash::from_raw(raw)).is_some(),
                "{}",
                strategy.name
            );
        }
    }
    let ring = Ring::new(nodes(5))?;
    let points: Vec<_> = ring
        .points()
        .map(|(point, node)| (point, node.name()))
        .collect();
    let next = points.iter().cycle().skip(1);
    for (&(point, name), &(_, following)) in points.iter().zip(next) {
        assert_eq!(owner(&ring, KeyHash::from_raw(point)), Some(name));
        assert_eq!(owner(&ring, KeyHash::from_raw(point + 1)), Some(following));
    }
    Ok(())
}

#[test]
fn every_count_of_nodes_and_every_prime_table_is_even() -> Outcome {
    let keys = keys(4, 20_000);
    let mut checks = hashroute_test_support::Checks::default();
    for strategy in ALL {
        for count in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65] {
            let router = build(strategy, nodes(count));
            let counts = counts(&*router, &keys);
            assert_eq!(counts.len(), count);
            assert!(
                counts.iter().all(|&count| count > 0),
                "{} {count}",
                strategy.name
            );
            if router.ranges().is_none() && strategy.agree() != Agree::Load {
                let chance = hashroute_test_support::chi_square(&counts, &fair_shares(&*router));
                checks.note(format!("{} {count}", strategy.name), chance);
            }
        }
    }
    checks.judge();
    let sized = |count, size| Maglev::with_table_size(nodes(count), size);
    let nearest = |count, size| match sized(count, size) {
        Err(Error::TableSize { nearest, .. }) => nearest,
        other => panic!("{size}: {other:?}"),
    };
    assert_eq!(
        [nearest(1, 65_536), nearest(2, 1000), nearest(2, 100)],
        [65_537, 997, 101]
    );
    assert_eq!(nearest(102, 101), 103); // more nodes than cells
    for size in [65_537, 65_539, 65_543, 131_071] {
        let shares = hashroute_test_support::shares(&sized(7, size)?).ok_or("no cells")?;
        assert!(
            shares.iter().all(|share| (share * 7.0 - 1.0).abs() < 1e-3),
            "{size}"
        );
    }
    Ok(())
}

#[test]
fn empty_binary_and_large_keys_have_one_owner() {
    let large = vec![b'x'; 1 << 20];
    for strategy in ALL {
        let router = build(strategy, nodes(5));
        for key in [&b""[..], b"\xc8", b"{}", &large] {
            let first = router.route(key).map(Node::name);
            assert!(first.is_some(), "{}", strategy.name);
            assert_eq!(
                first,
                router.route(key).map(Node::name),
                "{}",
                strategy.name
            );
        }
        // Reported in cmu-db/bustub#738: a byte above 0x7f was read as a negative number.
        assert_ne!(router.hash_key(b"\xc8"), router.hash_key(b"\x48"));
        assert_ne!(
            router.hash_key(b"\xc8"),
            router.hash_key("\u{c8}".as_bytes())
        );
    }
}
