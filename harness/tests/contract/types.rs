//! Properties of types, and what our strategies promise beyond the laws.

use core::fmt::Debug;

use hashroute::registry::{Caps, Param, Scheme};
use hashroute::strategy::{ALL, Params};
use hashroute::{
    BoundedLoad, Change, Error, HashFunction, HashSlots, HashTag, Jump, KeyHash, KeyHasher, Lease,
    Maglev, Modulo, Node, NodeId, Nodes, Rendezvous, Ring, Router, Shortlist, Spread,
};
use proptest::collection::vec;

use hashroute_test_support::{build, for_all, is_set, nodes, state, weighted};

#[test]
fn ids_are_dense_after_any_history() {
    // A new node takes the id of one that left, so there are never more ids than there were nodes
    // at one time.
    let steps = vec((0_u8..3, 0_u32..8), 0..40);
    for_all(256, &steps, |steps| {
        let (mut nodes, mut most) = (Nodes::default(), 0);
        for (kind, number) in steps {
            let name = format!("n{number}");
            let change = match kind {
                0 => Change::Add(Node::new(name)),
                1 => Change::remove(name),
                _ => Change::reweight(name, number),
            };
            let added = matches!(change, Change::Add(_));
            let bound = nodes.id_bound();
            let full = bound == nodes.len();
            if let Ok(id) = nodes.apply(&change) {
                assert!(
                    !added || full || id.index() < bound,
                    "{change:?} left a hole open"
                );
            }
            most = most.max(nodes.len());
            assert!(
                nodes.id_bound() <= most,
                "{change:?}: {} ids",
                nodes.id_bound()
            );
            let ids = nodes.iter().map(|(id, _)| id.index());
            assert!(ids.max().is_none_or(|largest| largest < nodes.id_bound()));
        }
    });
}

/// The laws compare answers. Our strategies have equal states, ids included.
#[test]
fn equal_lists_of_nodes_give_equal_states() {
    for strategy in ALL {
        let list = weighted(strategy, &[1, 3, 0, 2, 5]);
        let first = state(&*build(strategy, list.clone()));
        assert!(
            state(&*build(strategy, list.clone())) == first,
            "{}",
            strategy.name
        );
        if !is_set(strategy) {
            continue;
        }
        for turn in 0..list.len() {
            let mut turned = list.clone();
            turned.rotate_left(turn);
            for order in [turned.clone(), turned.into_iter().rev().collect()] {
                let router = build(strategy, order);
                assert!(state(&*router) == first, "{} {turn}", strategy.name);
            }
        }
    }
}

#[test]
fn all_public_types_are_send_sync_and_debug() {
    fn is<T: Send + Sync + Debug>() {}
    is::<Box<dyn Router>>();
    is::<Scheme>();
    is::<Caps>();
    is::<Param>();
    is::<Params>();
    is::<Node>();
    is::<NodeId>();
    is::<Nodes>();
    is::<Change>();
    is::<Error>();
    is::<Spread>();
    is::<KeyHash>();
    is::<KeyHasher>();
    is::<HashTag>();
    is::<HashFunction>();
    is::<Modulo>();
    is::<Ring>();
    is::<Rendezvous>();
    is::<Shortlist>();
    is::<Jump>();
    is::<Maglev>();
    is::<HashSlots>();
    is::<BoundedLoad<Ring>>();
    is::<BoundedLoad<Jump>>();
    is::<Lease>();
}

/// Strategies route keys of any bytes.
#[test]
fn no_strategy_refuses_a_key() {
    for strategy in ALL {
        let router = build(strategy, nodes(3));
        for key in [&b""[..], b"\xc8", b"{}", b"\0", &[b'k'; 300]] {
            assert!(router.hash_key(key).is_some(), "{} {key:?}", strategy.name);
            assert!(router.route(key).is_some(), "{} {key:?}", strategy.name);
        }
    }
}
