//! Health filters over the whole registry.
//!
//! Only keys of a node that is down move, and they return to it when it is up.

mod model;

use core::ops::ControlFlow;
use core::time::Duration;
use std::collections::BTreeSet;

use hashroute::health::{Liveness, Policy};
use hashroute::strategy::ALL;
use hashroute::{KeyHash, NodeId, Router, RouterExt, Spread};
use hashroute_test_support::{Outcome, build, for_all, keys, weighted};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

fn first_report_decides() -> Policy {
    Policy::default()
        .with_fail_after(1)
        .with_window(Duration::ZERO)
        .with_rise(1)
        .with_hold(Duration::ZERO)
        .with_max_hold(Duration::ZERO)
        .with_max_down(50)
}

type Filter = Liveness<Box<dyn Router>>;

fn owners<R: Router>(router: &R, keys: &[KeyHash]) -> Vec<Option<NodeId>> {
    keys.iter().map(|&key| router.route_hash(key)).collect()
}

/// Returns what a lookup must give, computed from the router inside.
fn expected(filter: &Filter, down: &BTreeSet<NodeId>, key: KeyHash) -> Option<NodeId> {
    let nodes = filter.nodes();
    let weights = down.iter().filter_map(|&id| nodes.weight(id));
    let weight: u64 = weights.map(u64::from).sum();
    let owner = filter.router().route_hash(key);
    if weight * 2 > nodes.total_weight() || weight == nodes.total_weight() {
        return owner;
    }
    let up = |id: &NodeId| !down.contains(id);
    // The owner comes first, even if a walk began with another node.
    owner
        .filter(up)
        .or_else(|| first_of_walk(filter.router(), key, up))
}

fn first_of_walk<R: Router>(
    router: &R,
    key: KeyHash,
    wanted: impl Fn(&NodeId) -> bool,
) -> Option<NodeId> {
    let mut found = None;
    router.walk(key, &mut |id| {
        found = wanted(&id).then_some(id);
        match found {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    found
}

/// Compares every lookup of the filter with the expected answer.
fn check(filter: &Filter, down: &BTreeSet<NodeId>, keys: &[KeyHash]) {
    let routes = owners(filter, keys);
    let mut batch = vec![None; keys.len()];
    filter.route_batch(keys, &mut batch);
    assert_eq!(&batch, &routes);
    for (&key, &route) in keys.iter().zip(&routes) {
        assert_eq!(route, expected(filter, down, key));
        assert_eq!(first_of_walk(filter, key, |_| true), route);
        assert_eq!(
            filter.replicas_hash(key, 1, Spread::Nodes).first().copied(),
            route
        );
    }
    // A full list has every node with weight, and those that are up come first.
    let list = filter.replicas_hash(keys[0], usize::MAX, Spread::Nodes);
    assert_eq!(list.len(), filter.nodes().weighted());
    let list: Vec<_> = list.iter().map(|id| down.contains(id)).collect();
    assert!(!filter.skips() || list.is_sorted(), "{list:?}");
}

/// Reports about nodes: an index, and whether the report is a failure.
fn reports() -> impl Strategy<Value = Vec<(usize, bool)>> {
    vec((any::<usize>(), any::<bool>()), 1..12)
}

#[test]
fn only_keys_of_nodes_that_are_down_move() {
    let inputs = (vec(0..5_u32, 1..12), reports(), any::<u16>());
    for_all(12, &inputs, |(weights, reports, seed)| {
        for strategy in ALL {
            let router = build(strategy, weighted(strategy, &weights));
            let filter = Liveness::new(router, first_report_decides()).expect("a policy");
            moves(&filter, &reports, &keys(u64::from(seed), 20));
        }
    });
}

fn moves(filter: &Filter, reports: &[(usize, bool)], keys: &[KeyHash]) {
    let ids: Vec<_> = filter.nodes().iter().map(|(id, _)| id).collect();
    let before = owners(filter, keys);
    let mut down = BTreeSet::new();
    for (index, fails) in reports {
        let id = ids[index % ids.len()];
        if *fails {
            assert_eq!(filter.failed(id, Duration::ZERO), down.insert(id));
        } else {
            assert_eq!(filter.succeeded(id, Duration::ZERO), down.remove(&id));
        }
        check(filter, &down, keys);
        let after = owners(filter, keys);
        let moved = after
            .iter()
            .zip(&before)
            .filter(|(after, before)| after != before);
        let excess = moved.filter(|(_, before)| before.is_none_or(|id| !down.contains(&id)));
        assert_eq!(excess.count(), 0, "{filter:.0?}");
    }
    for id in down {
        assert!(filter.succeeded(id, Duration::ZERO));
    }
    assert_eq!(owners(filter, keys), before, "{filter:.0?}");
}

#[test]
fn a_health_filter_without_nodes_routes_no_key() -> Outcome {
    for strategy in ALL {
        let filter = Liveness::new(build(strategy, []), first_report_decides())?;
        assert_eq!((filter.route(b"key"), filter.skips()), (None, false));
    }
    Ok(())
}
