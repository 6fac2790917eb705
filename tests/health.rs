//! Health apart from membership, over the whole registry: only keys of a node that is down move,
//! and they come back as they were.

mod common;

use core::time::Duration;
use std::collections::BTreeSet;

use common::{Outcome, build, keys, walked, weighted};
use hashroute::health::{Liveness, Policy};
use hashroute::strategy::ALL;
use hashroute::{KeyHash, NodeId, Router, Spread};
use proptest::prelude::*;

/// The first report decides.
const POLICY: Policy = Policy {
    fail_after: 1,
    window: Duration::ZERO,
    rise: 1,
    hold: Duration::ZERO,
    max_hold: Duration::ZERO,
    max_down: 50,
};

type Filter = Liveness<Box<dyn Router>>;

fn owners<R: Router>(router: &R, keys: &[KeyHash]) -> Vec<Option<NodeId>> {
    keys.iter().map(|&key| router.route_hash(key)).collect()
}

/// What lookups must give, from the router inside alone.
fn expected(filter: &Filter, down: &BTreeSet<NodeId>, key: KeyHash) -> Option<NodeId> {
    let nodes = filter.nodes();
    let weight: u64 = down.iter().map(|&id| u64::from(nodes.weight(id))).sum();
    let owner = filter.router().route_hash(key);
    if weight * 2 > nodes.total_weight() || weight == nodes.total_weight() {
        return owner;
    }
    let up = |id: &NodeId| !down.contains(id);
    // The owner first, should a walk ever begin with another.
    let order = owner.into_iter().chain(walked(filter.router(), key));
    order.into_iter().find(up)
}

/// All lookups of a filter agree with what is expected.
fn check(filter: &Filter, down: &BTreeSet<NodeId>, keys: &[KeyHash]) -> Result<(), TestCaseError> {
    let routes = owners(filter, keys);
    let mut batch = vec![None; keys.len()];
    filter.route_batch(keys, &mut batch);
    prop_assert_eq!(&batch, &routes);
    for (&key, &route) in keys.iter().zip(&routes) {
        prop_assert_eq!(route, expected(filter, down, key));
        let walk = walked(filter, key);
        let list = filter.replicas(key, usize::MAX, Spread::Nodes);
        prop_assert_eq!(walk.first().copied(), route);
        prop_assert_eq!(list.first().copied(), route);
        // Every member with weight is on the list; those that are up come first.
        prop_assert_eq!(list.len(), filter.nodes().live());
        if filter.skips() {
            let list: Vec<_> = list.iter().map(|id| down.contains(id)).collect();
            prop_assert!(list.is_sorted(), "{:?}", list);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn only_keys_of_nodes_that_are_down_move(
        weights in prop::collection::vec(0..5_u32, 1..12),
        reports in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..12),
        seed: u16,
    ) {
        let keys = keys(u64::from(seed), 40);
        for strategy in ALL {
            let router = build(strategy, weighted(strategy, &weights));
            let filter = Liveness::new(router, POLICY)?;
            let ids: Vec<_> = filter.nodes().iter().map(|(id, _)| id).collect();
            let before = owners(&filter, &keys);
            let mut down = BTreeSet::new();
            for (index, fails) in &reports {
                let id = *index.get(&ids);
                if *fails {
                    prop_assert_eq!(filter.failed(id, Duration::ZERO), down.insert(id));
                } else {
                    prop_assert_eq!(filter.succeeded(id, Duration::ZERO), down.remove(&id));
                }
                check(&filter, &down, &keys)?;
                let moved = owners(&filter, &keys).into_iter().zip(&before);
                let excess = moved.filter(|(after, before)| after != *before && before.is_some_and(|id| !down.contains(&id)));
                prop_assert_eq!(excess.count(), 0, "{}", strategy.name);
            }
            for id in down {
                prop_assert!(filter.succeeded(id, Duration::ZERO));
            }
            prop_assert_eq!(owners(&filter, &keys), before, "{}", strategy.name);
        }
    }
}

#[test]
fn a_router_over_nothing_routes_nothing() -> Outcome {
    for strategy in ALL {
        let filter = Liveness::new(build(strategy, []), POLICY)?;
        assert_eq!((filter.route(b"key"), filter.skips()), (None, false));
    }
    Ok(())
}
