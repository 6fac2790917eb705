//! Laws 1 and 2: who agrees with whom.

use hashroute::registry::{Agree, Scheme};
use hashroute::strategy::ALL;
use hashroute::{Change, Node, Router};
use proptest::prelude::{Just, Strategy as _, any};

use crate::common::{
    build, fit, for_all, hash, is_set, keys, nodes, owner, owners, place, share_of, shares, state,
    walked_names, weighted,
};

/// The same router again, from what one can read off it: its members, listed by id where their
/// numbering counts.
fn rebuilt(strategy: &Scheme, router: &dyn Router) -> Box<dyn Router> {
    let mut members: Vec<_> = router.nodes().iter().collect();
    members.sort_by_key(|(id, _)| *id);
    build(strategy, members.into_iter().map(|(_, node)| node.clone()))
}

#[test]
fn built_twice_they_are_the_same() {
    for strategy in ALL {
        let list = weighted(strategy, &[1, 3, 0, 2, 5]);
        let [one, two] = [list.clone(), list].map(|list| build(strategy, list));
        assert_eq!(state(&*one), state(&*two), "{}", strategy.name);
        let three = rebuilt(strategy, &*one);
        for key in keys(1, 1000) {
            let name = owner(&*one, key);
            assert!(name.is_some(), "{}", strategy.name);
            assert_eq!(name, owner(&*two, key), "{}", strategy.name);
            assert_eq!(name, owner(&*three, key), "{}", strategy.name);
        }
    }
}

#[test]
fn every_way_to_ask_gives_the_same_answer() {
    for strategy in ALL {
        let router = build(strategy, weighted(strategy, &[1, 3, 0, 2, 5]));
        let texts: Vec<_> = (0..500).map(|i| format!("user:{i}").into_bytes()).collect();
        let hashes: Vec<_> = texts.iter().map(|key| hash(&*router, key)).collect();
        // One too few: the batch stops at the shorter of the two.
        let mut batch = vec![None; texts.len() - 1];
        router.route_batch(&hashes, &mut batch);
        for ((text, &hash), batched) in texts.iter().zip(&hashes).zip(batch) {
            let id = router.route_hash(hash);
            assert_eq!(batched, id, "{}", strategy.name);
            assert_eq!(
                router.route(text).map(Node::name),
                owner(&*router, hash),
                "{}",
                strategy.name
            );
            if strategy.agree() != Agree::Load {
                assert_eq!(place(&*router, hash), id, "{}", strategy.name);
            }
        }
    }
}

/// All orders of `0..n` (Heap's algorithm).
fn permutations(n: usize) -> Vec<Vec<usize>> {
    fn heap(k: usize, order: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if k <= 1 {
            all.push(order.clone());
            return;
        }
        for i in 0..k {
            heap(k - 1, order, all);
            order.swap(if k % 2 == 0 { i } else { 0 }, k - 1);
        }
    }
    let mut all = Vec::new();
    heap(n, &mut (0..n).collect(), &mut all);
    all
}

#[test]
fn all_orders_of_five_nodes_give_equal_state() {
    let orders = permutations(5);
    assert_eq!(orders.len(), 120);
    for strategy in ALL.iter().filter(|strategy| is_set(strategy)) {
        let list = weighted(strategy, &[1, 2, 1, 0, 3]);
        let listed = |order: &[usize]| order.iter().map(|&i| list[i].clone()).collect::<Vec<_>>();
        let first = state(&*build(strategy, listed(&orders[0])));
        for order in &orders {
            let router = build(strategy, listed(order));
            assert!(state(&*router) == first, "{} {order:?}", strategy.name);
        }
    }
}

/// Same owners, walks and shares, by name.
fn agree(strategy: &Scheme, one: &dyn Router, two: &dyn Router, count: usize) {
    let name = strategy.name;
    let keys = keys(2, count);
    assert_eq!(owners(one, &keys), owners(two, &keys), "{name}");
    for &key in &keys[..count / 100] {
        assert_eq!(walked_names(one, key), walked_names(two, key), "{name}");
    }
    assert_eq!(shares(one).is_some(), shares(two).is_some(), "{name}");
    if let (Some(ours), Some(theirs)) = (shares(one), shares(two)) {
        for (_, node) in one.nodes() {
            let [ours, theirs] = [(one, &ours), (two, &theirs)]
                .map(|(router, shares)| share_of(router, shares, node.name()).to_bits());
            assert_eq!(ours, theirs, "{name}");
        }
    }
}

#[test]
fn nodes_may_join_in_any_order() {
    for strategy in ALL.iter().filter(|strategy| is_set(strategy)) {
        let list = weighted(strategy, &[1, 2, 1, 0, 3]);
        let fresh = build(strategy, list.clone());
        for order in permutations(5).into_iter().step_by(7) {
            let mut router = build(strategy, []);
            for i in order {
                let added = router.apply(&Change::Add(list[i].clone()));
                assert_eq!(added, Ok(()), "{}", strategy.name);
            }
            agree(strategy, &*fresh, &*router, 1000);
        }
    }
}

#[test]
fn any_history_that_ends_in_a_set_gives_the_routes_of_the_set() {
    let members = proptest::collection::vec(0_u32..6, 1..9);
    let inputs = members.prop_flat_map(|weights| {
        let places: Vec<usize> = (0..weights.len()).collect();
        let detours = proptest::collection::vec(any::<bool>(), weights.len());
        (Just(weights), Just(places).prop_shuffle(), detours)
    });
    for strategy in ALL.iter().filter(|strategy| is_set(strategy)) {
        for_all(14, &inputs, |(weights, order, detours)| {
            let list = weighted(strategy, &weights);
            let mut router = build(strategy, nodes(weights.len()).split_off(weights.len() / 2));
            let mut change = |change: Change| {
                assert_eq!(router.apply(&change), Ok(()), "{}", strategy.name);
            };
            for node in nodes(weights.len()).split_off(weights.len() / 2) {
                change(Change::remove(node.name()));
            }
            for &i in &order {
                let (node, weight) = (list[i].clone(), list[i].weight());
                if detours[i] {
                    change(Change::Add(Node::new("passing")));
                    let other = fit(strategy, weight + 1);
                    change(Change::Add(node.clone().with_weight(other)));
                    change(Change::reweight(node.name(), weight));
                    change(Change::remove("passing"));
                } else {
                    change(Change::Add(node));
                }
            }
            agree(strategy, &*build(strategy, list), &*router, 300);
        });
    }
}
