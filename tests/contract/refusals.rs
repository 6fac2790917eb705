//! Law 7 and the rest of law 8: what is refused, what is never a panic, what may cross threads.

use core::fmt::Debug;

use hashroute::registry::{Caps, Param, Scheme};
use hashroute::strategy::{ALL, Params};
use hashroute::{
    BoundedLoad, Change, Error, HashFunction, HashSlots, HashTag, Jump, KeyHash, KeyHasher, Lease,
    Maglev, Modulo, Node, NodeId, Nodes, Rendezvous, Ring, Router, RouterExt, Shortlist, Spread,
};
use proptest::prelude::{Just, Strategy as _, any, prop_oneof};

use crate::common::{Outcome, build, fit, for_all, keys, nodes, owners, state, walked};

/// Parameters under which changes come to their limits soon, for those that have such.
fn tight(strategy: &Scheme) -> Params {
    let known = |name: &str| strategy.params.iter().any(|param| param.name == name);
    [("points", "1000"), ("table-size", "5"), ("slots", "5")]
        .into_iter()
        .filter(|(name, _)| known(name))
        .fold(Params::default(), |params, (name, value)| {
            params.with(name, value)
        })
}

/// A change that fails leaves the state as it was; one that succeeds leaves a router that works.
fn try_change(strategy: &Scheme, router: &mut dyn Router, change: &Change) {
    let before = state(router);
    if let Err(error) = router.apply(change) {
        assert!(state(router) == before, "{} {error}", strategy.name);
        assert!(!error.to_string().is_empty());
    }
    for key in keys(40, 5) {
        let owner = router.route_hash(key);
        assert_eq!(
            owner.is_some(),
            router.nodes().weighted() > 0,
            "{}",
            strategy.name
        );
        assert!(owner.is_none_or(|id| router.nodes().weight(id) > Some(0)));
        router.replicas_hash(key, 3, Spread::Zones);
        router.explain(key);
    }
}

#[test]
fn a_change_that_fails_changes_nothing() {
    for strategy in ALL {
        for params in [Params::default(), tight(strategy)] {
            let mut router = strategy
                .build(nodes(5), &params)
                .unwrap_or_else(|error| panic!("{}: {error}", strategy.name));
            let huge = |name: &str| Node::new(name).with_weight(u32::MAX);
            for change in [
                Change::Add(Node::new("node-0").with_weight(9)),
                Change::Add(Node::new("")),
                Change::remove("stranger"),
                Change::remove(""),
                Change::reweight("stranger", 3),
                Change::remove("node-1"),
                Change::reweight("node-1", 2),
                Change::reweight("node-0", u32::MAX),
                Change::Add(huge("huge")),
                Change::Add(huge("huger")),
                Change::Add(Node::new("one more")),
                Change::Add(Node::new("and one")),
                Change::Add(Node::new("and another")),
                Change::reweight("node-0", 0),
            ] {
                try_change(strategy, &mut *router, &change);
            }
        }
    }
}

#[test]
fn the_errors_say_what_was_wrong() {
    for strategy in ALL {
        let mut router = build(strategy, nodes(2));
        let unknown = Err(Error::UnknownNode { name: "x".into() });
        let taken = Err(Error::DuplicateNode {
            name: "node-0".into(),
        });
        let add = |name: &str| Change::Add(Node::new(name));
        assert_eq!(
            router.apply(&Change::remove("x")),
            unknown,
            "{}",
            strategy.name
        );
        assert_eq!(
            router.apply(&Change::reweight("x", 1)),
            unknown,
            "{}",
            strategy.name
        );
        assert_eq!(router.apply(&add("node-0")), taken, "{}", strategy.name);
        assert_eq!(
            router.apply(&add("")),
            Err(Error::EmptyName),
            "{}",
            strategy.name
        );
        let twice = [Node::new("a"), Node::new("b"), Node::new("a")];
        let error = strategy.build(twice, &Params::default()).err();
        assert_eq!(
            error,
            Some(Error::DuplicateNode { name: "a".into() }),
            "{}",
            strategy.name
        );
        let error = strategy.build([Node::new("")], &Params::default()).err();
        assert_eq!(error, Some(Error::EmptyName), "{}", strategy.name);
    }
}

fn names() -> impl proptest::strategy::Strategy<Value = String> {
    prop_oneof![
        3 => "[a-c]{0,2}",
        2 => any::<String>(),
        1 => Just("\0".to_owned()),
        1 => Just("节点-一".to_owned()),
        1 => Just("n".repeat(64 << 10)),
    ]
}

fn changes() -> impl proptest::strategy::Strategy<Value = Change> {
    let weight = prop_oneof![
        1 => Just(0), 4 => Just(1), 2 => 2_u32..50, 1 => Just(1_000_000), 1 => Just(u32::MAX)
    ];
    let place = (any::<bool>(), "[x-z]?");
    let node = (names(), weight.clone(), place).prop_map(|(name, weight, (placed, zone))| {
        let node = Node::new(name).with_weight(weight);
        if placed {
            node.with_location(zone, "r")
        } else {
            node
        }
    });
    prop_oneof![
        3 => node.prop_map(Change::Add),
        1 => names().prop_map(Change::remove),
        1 => (names(), weight).prop_map(|(name, weight)| Change::reweight(name, weight)),
    ]
}

#[test]
fn nothing_panics_whatever_the_names_weights_and_keys() {
    let keys = proptest::collection::vec(any::<u8>(), 0..80);
    let inputs = (proptest::collection::vec(changes(), 0..12), keys);
    for strategy in ALL {
        for_all(20, &inputs, |(changes, key)| {
            let mut router = build(strategy, []);
            for change in &changes {
                try_change(strategy, &mut *router, change);
            }
            for key in [&key[..], b"", b"\xc8", b"{}", b"\0"] {
                let owner = router.route(key).map(Node::name);
                assert_eq!(owner.is_some(), router.nodes().weighted() > 0);
            }
            for raw in [0, 1, 1 << 63, u64::MAX] {
                walked(&*router, KeyHash::from_raw(raw));
            }
        });
    }
}

#[test]
fn absurd_weights_are_refused_or_work() {
    for strategy in ALL {
        for weights in [
            [u32::MAX, u32::MAX],
            [1, u32::MAX],
            [u32::MAX, 0],
            [1, 1_000_000],
        ] {
            let weigh = |(node, weight): (Node, _)| node.with_weight(weight);
            let list = nodes(2).into_iter().zip(weights).map(weigh);
            match strategy.build(list, &Params::default()) {
                Ok(router) => {
                    let used = router.heap_bytes();
                    assert!(used < 64 << 20, "{} takes {used} bytes", strategy.name);
                    let owners = owners(&*router, &keys(41, 100));
                    assert!(owners.iter().all(|name| name.starts_with("node")));
                }
                Err(Error::Capacity { .. }) => {}
                Err(Error::Weight { .. }) => assert_eq!(fit(strategy, 2), 1),
                Err(other) => panic!("{}: {other}", strategy.name),
            }
        }
    }
}

#[test]
fn ids_are_dense_after_any_history() {
    // The id of a node that left goes to the next one added, so there are never more ids than
    // there were members at a time.
    let steps = proptest::collection::vec((0_u8..3, 0_u32..8), 0..40);
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

#[test]
fn routers_of_all_kinds_live_in_one_list_and_cross_threads() -> Outcome {
    let routers: Vec<Box<dyn Router>> = ALL
        .iter()
        .map(|strategy| strategy.build(nodes(5), &Params::default()))
        .collect::<Result<_, _>>()?;
    let keys = keys(42, 2000);
    let alone: Vec<_> = routers
        .iter()
        .map(|router| owners(&**router, &keys))
        .collect();
    // Case 107: lookups share nothing that changes, so threads see what one sees alone.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (router, alone) in routers.iter().zip(&alone) {
                    assert_eq!(owners(&**router, &keys), *alone);
                }
            });
        }
    });
    Ok(())
}
