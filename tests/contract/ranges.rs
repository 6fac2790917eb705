//! Law 1 again, from the other side: ranges say of every hash what a lookup says.

use hashroute::strategy::ALL;
use hashroute::{HashRanges, KeyHash, Router, RouterExt, Spread};
use proptest::collection::vec;
use proptest::prelude::any;

use crate::common::{Cluster, Step, for_all};

/// Where owners change, one to each side of it, and some hashes anywhere.
fn hashes(router: &dyn Router, some: &[u64]) -> Vec<KeyHash> {
    let ranges = router.ranges().expect("asked before");
    let ends = ranges.iter().step_by(ranges.len() / 500 + 1);
    let near = ends.flat_map(|range| [range.first, range.last]);
    near.chain(some.iter().copied())
        .map(KeyHash::from_raw)
        .collect()
}

#[test]
fn ranges_are_the_routes() {
    let weights = vec(0_u32..4, 0..9);
    let inputs = (weights, any::<usize>(), vec(any::<u64>(), 200));
    for strategy in ALL {
        for_all(12, &inputs, |(weights, who, some)| {
            let mut cluster = Cluster::new(strategy, &weights);
            for step in [Step::Add(2), Step::Remove(who), Step::Reweight(who, 3)] {
                if let Some(change) = cluster.change(step) {
                    cluster.apply(&change);
                }
                let router = &*cluster.router;
                let Some(ranges) = router.ranges() else {
                    continue;
                };
                for key in hashes(router, &some) {
                    assert_eq!(
                        ranges.owner(key),
                        router.route_hash(key),
                        "{} {key:?}",
                        strategy.name
                    );
                }
            }
        });
    }
}

#[test]
fn ranges_have_the_shares() {
    for strategy in ALL {
        let router = Cluster::new(strategy, &[1, 3, 0, 2, 1]).router;
        let Some(ranges) = router.ranges() else {
            continue;
        };
        let mut shares = vec![0.0; router.nodes().id_bound()];
        let mut next = Some(0);
        for range in &ranges {
            assert_eq!(Some(range.first), next, "{}", strategy.name);
            next = range.last.checked_add(1);
            let id = range.owner.expect("a node has weight");
            shares[id.index()] += ranges.share(range.first, range.last);
        }
        let stated = ranges.shares(router.nodes().id_bound());
        for (a, b) in shares.iter().zip(&stated) {
            assert!((a - b).abs() < 1e-12, "{}: {a} {b}", strategy.name);
        }
    }
}

#[test]
fn a_range_with_lists_has_one_list() {
    for strategy in ALL {
        let router = Cluster::new(strategy, &[1, 3, 0, 2, 1]).router;
        let Some(ranges) = router.ranges().filter(HashRanges::has_lists) else {
            continue;
        };
        for range in ranges.iter().step_by(ranges.len() / 300 + 1) {
            let middle = range.first + (range.last - range.first) / 2;
            let [start, inside, end] = [range.first, middle, range.last]
                .map(|hash| router.replicas_hash(KeyHash::from_raw(hash), 4, Spread::Nodes));
            assert!(start == inside && inside == end, "{}", strategy.name);
        }
    }
}
