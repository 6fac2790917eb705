//! Law 9: replicas, and the walk they are made from.

use std::collections::BTreeSet;

use hashroute::registry::Scheme;
use hashroute::strategy::{ALL, Params};
use hashroute::{KeyHash, Node, NodeId, NodeList, Router, RouterExt, Spread};
use proptest::prelude::{any, prop_oneof};

use crate::common::{build, fit, for_all, keys, nodes, walked};

type Place<'a> = (Option<&'a str>, Option<&'a str>);

fn place(router: &dyn Router, id: NodeId) -> Place<'_> {
    let node = router.nodes().get(id).expect("a member");
    (node.zone(), node.rack())
}

/// The preference list in full, another way: distinct nodes of the walk, each ranked by whether
/// it is the first of its zone, else the first of its rack not begun by a zone's first, else
/// neither; within a rank in order of the walk.
fn oracle(router: &dyn Router, key: KeyHash, spread: Spread) -> Vec<NodeId> {
    let mut seen = BTreeSet::new();
    let walk: Vec<_> = walked(router, key)
        .into_iter()
        .filter(|id| seen.insert(*id))
        .collect();
    let zone_firsts: BTreeSet<_> = walk
        .iter()
        .enumerate()
        .filter(|(at, id)| {
            let zone = place(router, **id).0;
            spread == Spread::Zones
                && walk[..*at]
                    .iter()
                    .all(|&other| place(router, other).0 != zone)
        })
        .map(|(_, id)| *id)
        .collect();
    let begun: BTreeSet<_> = zone_firsts.iter().map(|&id| place(router, id)).collect();
    let rank = |(at, id): (usize, NodeId)| {
        let rack = place(router, id);
        let first = walk[..at].iter().all(|&other| place(router, other) != rack);
        match spread {
            Spread::Nodes => 0,
            _ if zone_firsts.contains(&id) => 0,
            _ if first && !begun.contains(&rack) => 1,
            _ => 2,
        }
    };
    let mut ranked: Vec<_> = walk.iter().copied().enumerate().collect();
    ranked.sort_by_key(|&(at, id)| (rank((at, id)), at));
    ranked.into_iter().map(|(_, id)| id).collect()
}

/// Everything that law 9 says of one key.
fn law(strategy: &Scheme, router: &dyn Router, key: KeyHash) {
    let name = strategy.name;
    let live = router.nodes().weighted();
    for spread in [Spread::Nodes, Spread::Racks, Spread::Zones] {
        let full = router.replicas_hash(key, live + 3, spread);
        assert_eq!(full.len(), live, "{name}: not complete");
        let distinct: BTreeSet<_> = full.iter().collect();
        assert_eq!(distinct.len(), live, "{name}: not distinct");
        assert!(full.iter().all(|&id| router.nodes().weight(id) > Some(0)));
        assert_eq!(
            full.first().copied(),
            router.route_hash(key),
            "{name}: owner"
        );
        assert_eq!(
            full.to_vec(),
            oracle(router, key, spread),
            "{name} {spread:?}"
        );
        // What is in it is replaced, be it too long or too short.
        let mut reused: NodeList = full.iter().chain(&full).copied().collect();
        for n in 0..live {
            let list = router.replicas_hash(key, n, spread);
            assert_eq!(list[..], full[..n], "{name}: not a prefix");
            router.replicas_into(key, n, spread, &mut reused);
            assert_eq!(reused[..], full[..n], "{name}");
            spread_out(router, &full[..n], spread);
        }
        router.replicas_into(key, live + 3, spread, &mut reused);
        assert_eq!(reused, full, "{name}");
    }
}

/// As many zones as there can be, and as many racks as the zones leave room for.
fn spread_out(router: &dyn Router, list: &[NodeId], spread: Spread) {
    let members = || router.nodes().iter().filter(|(_, node)| node.weight() > 0);
    let zones: BTreeSet<_> = members().map(|(_, node)| node.zone()).collect();
    let racks: BTreeSet<_> = members().map(|(id, _)| place(router, id)).collect();
    let in_zones: BTreeSet<_> = list.iter().map(|&id| place(router, id).0).collect();
    let in_racks: BTreeSet<_> = list.iter().map(|&id| place(router, id)).collect();
    if spread == Spread::Zones {
        assert_eq!(in_zones.len(), list.len().min(zones.len()));
    }
    if spread != Spread::Nodes {
        assert_eq!(in_racks.len(), list.len().min(racks.len()));
    }
}

fn placed_nodes(strategy: &Scheme, members: &[(u32, u8, u8)]) -> Vec<Node> {
    let place = |(node, &(weight, zone, rack)): (Node, &(u32, u8, u8))| {
        let node = node.with_weight(fit(strategy, weight));
        match (zone, rack) {
            (0, _) => node,
            (zone, 0) => node.with_zone(format!("zone-{zone}")),
            (zone, rack) => node.with_location(format!("zone-{zone}"), format!("rack-{rack}")),
        }
    };
    nodes(members.len())
        .into_iter()
        .zip(members)
        .map(place)
        .collect()
}

#[test]
fn replicas_are_distinct_complete_prefixed_and_spread() {
    let weight = prop_oneof![1 => proptest::strategy::Just(0_u32), 4 => 1_u32..5];
    let members = proptest::collection::vec((weight, 0_u8..4, 0_u8..3), 0..14);
    let inputs = (members, any::<u64>());
    for strategy in ALL {
        for_all(20, &inputs, |(members, key)| {
            let router = build(strategy, placed_nodes(strategy, &members));
            for key in [key, 0, u64::MAX] {
                law(strategy, &*router, KeyHash::from_raw(key));
            }
        });
    }
}

#[test]
fn fewer_zones_than_replicas_one_zone_with_nine_tenths() {
    // One zone holds 90 % of the nodes; two replicas still stand in two zones.
    let members: Vec<_> = (0..20)
        .map(|i| (1, if i < 18 { 1 } else { 2 }, i % 3))
        .collect();
    for strategy in ALL {
        let router = build(strategy, placed_nodes(strategy, &members));
        for key in keys(20, 50) {
            let list = router.replicas_hash(key, 2, Spread::Zones);
            assert_ne!(place(&*router, list[0]).0, place(&*router, list[1]).0);
        }
        for key in keys(21, 5) {
            law(strategy, &*router, key);
        }
    }
}

#[test]
fn lists_beyond_what_the_stack_holds() {
    // Longer than the inline list and than the length up to which it is scanned.
    for strategy in ALL {
        let members: Vec<_> = (0..80_u8).map(|i| (1, i % 5, i % 7 % 3)).collect();
        let router = build(strategy, placed_nodes(strategy, &members));
        law(strategy, &*router, KeyHash::from_integer(9));
    }
}

#[test]
fn a_walk_offers_every_member_with_weight_and_no_other() {
    let weight = prop_oneof![
        2 => proptest::strategy::Just(0_u32),
        4 => 1_u32..4,
        1 => proptest::strategy::Just(1_000_000_u32),
        1 => proptest::strategy::Just(u32::MAX),
    ];
    let inputs = (proptest::collection::vec(weight, 0..20), any::<u64>());
    for strategy in ALL {
        for_all(16, &inputs, |(weights, key)| {
            let members = nodes(weights.len()).into_iter().zip(&weights);
            let weighed = |(node, &weight): (Node, &u32)| node.with_weight(fit(strategy, weight));
            let members: Vec<_> = members.map(weighed).collect();
            // A strategy may refuse absurd weights; then smaller ones must do.
            let refused = strategy.build(members.clone(), &Params::default()).is_err();
            let halved = members.into_iter().map(|node| {
                let weight = node.weight();
                node.with_weight(if refused { weight.min(20) } else { weight })
            });
            let router = build(strategy, halved);
            walk_law(strategy, &*router, KeyHash::from_raw(key));
        });
        for count in [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 127, 128, 129] {
            let router = build(strategy, nodes(count));
            walk_law(strategy, &*router, KeyHash::from_integer(count as u64));
        }
    }
}

fn walk_law(strategy: &Scheme, router: &dyn Router, key: KeyHash) {
    let walk = walked(router, key); // it ends
    assert_eq!(
        walk.first().copied(),
        router.route_hash(key),
        "{}",
        strategy.name
    );
    let offered: BTreeSet<_> = walk.into_iter().collect();
    let members = router.nodes().iter().filter(|(_, node)| node.weight() > 0);
    let members: BTreeSet<_> = members.map(|(id, _)| id).collect();
    assert_eq!(offered, members, "{}", strategy.name);
}

#[test]
fn a_walk_stops_when_told_to() {
    for strategy in ALL {
        let router = build(strategy, nodes(9));
        for stop in 1..9 {
            let mut offered = 0;
            router.walk(KeyHash::from_integer(5), &mut |_| {
                offered += 1;
                if offered == stop {
                    core::ops::ControlFlow::Break(())
                } else {
                    core::ops::ControlFlow::Continue(())
                }
            });
            assert_eq!(offered, stop, "{}", strategy.name);
        }
    }
}
