//! Nodes that join, leave, fail and return.

use hashroute::registry::Leave;
use hashroute::strategy::ALL;
use hashroute::{Change, Error, Node, Router};

use hashroute_test_support::{
    Cluster, Outcome, Step, build, caps, fit, hash, is_set, keys, name, nodes, owner, owners,
    state, walked, weighted,
};

/// Reported in cloudflare/pingora#1006 and bnoguchi/node-hash-ring#5.
#[test]
fn keys_have_no_owner_where_all_weights_are_zero() {
    for strategy in ALL.iter().filter(|strategy| fit(strategy, 0) == 0) {
        let router = build(strategy, weighted(strategy, &[0, 0, 0]));
        assert_eq!(router.route(b"key"), None, "{}", strategy.name);
        assert_eq!(router.nodes().len(), 3);
        assert!(walked(&*router, hash(&*router, b"key")).is_empty());
    }
}

/// Reported in cloudflare/pingora#1006.
#[test]
fn a_node_of_weight_zero_stays_a_member_and_may_take_weight_again() -> Outcome {
    for strategy in ALL.iter().filter(|strategy| fit(strategy, 0) == 0) {
        let mut router = build(strategy, nodes(2));
        router.apply(&Change::reweight("node-0", 0))?;
        assert_eq!(
            router.route(b"key").map(Node::name),
            Some("node-1"),
            "{}",
            strategy.name
        );
        router.apply(&Change::reweight("node-1", 0))?;
        assert_eq!(router.route(b"key"), None, "{}", strategy.name);
        router.apply(&Change::reweight("node-0", 4))?;
        assert_eq!(
            router.route(b"key").map(Node::name),
            Some("node-0"),
            "{}",
            strategy.name
        );
    }
    Ok(())
}

/// Reported in envoyproxy/envoy#22558.
#[test]
fn removing_a_node_moves_no_key_between_the_others() -> Outcome {
    let keys = keys(30, 20_000);
    for strategy in ALL
        .iter()
        .filter(|strategy| caps(strategy).excess.is_none())
    {
        let mut router = build(strategy, ["A", "B", "C"].map(Node::new));
        let before = owners(&*router, &keys);
        router.apply(&Change::remove("C"))?;
        for (old, new) in before.iter().zip(owners(&*router, &keys)) {
            assert!(
                **old == *"C" || *old == new,
                "{}: {old} to {new}",
                strategy.name
            );
        }
    }
    Ok(())
}

/// Reported in haproxytech/kubernetes-ingress#574 and jcmoraisjr/haproxy-ingress#798.
#[test]
fn a_name_sorted_between_others_changes_no_id() -> Outcome {
    for strategy in ALL {
        let mut router = build(strategy, ["a", "c", "e"].map(Node::new));
        let ids = |router: &dyn Router| ["a", "c", "e"].map(|name| router.nodes().id(name));
        let before = ids(&*router);
        router.apply(&Change::Add(Node::new("b")))?;
        assert_eq!(ids(&*router), before, "{}", strategy.name);
        if caps(strategy).leave == Leave::Any {
            router.apply(&Change::remove("a"))?;
            router.apply(&Change::Add(Node::new("d")))?;
            assert_eq!(ids(&*router)[1..], before[1..], "{}", strategy.name);
        }
    }
    Ok(())
}

/// Reported in Effect-TS/effect#6911.
#[test]
fn a_member_cannot_join_again_but_can_be_reweighted() -> Outcome {
    for strategy in ALL.iter().filter(|strategy| fit(strategy, 7) == 7) {
        let mut router = build(strategy, nodes(3));
        let error = router.apply(&Change::Add(Node::new("node-1").with_weight(7)));
        let taken = Err(Error::DuplicateNode {
            name: "node-1".into(),
        });
        assert_eq!(error, taken, "{}", strategy.name);
        router.apply(&Change::reweight("node-1", 7))?;
        let reweighted = build(strategy, weighted(strategy, &[1, 7, 1]));
        if is_set(strategy) {
            let keys = keys(31, 1000);
            assert_eq!(
                owners(&*router, &keys),
                owners(&*reweighted, &keys),
                "{}",
                strategy.name
            );
        }
    }
    Ok(())
}

/// Reported in envoyproxy/envoy#45212.
#[test]
fn a_second_node_gets_keys_as_soon_as_it_joins() -> Outcome {
    for strategy in ALL {
        let mut router = build(strategy, nodes(1));
        router.apply(&Change::Add(Node::new("second")))?;
        let owners = owners(&*router, &keys(32, 100));
        assert!(
            owners.iter().any(|name| **name == *"second"),
            "{}",
            strategy.name
        );
    }
    Ok(())
}

/// Reported in twitter/twemproxy#80 and twitter/twemproxy#604.
#[test]
fn a_walk_past_a_failed_node_moves_no_key_of_the_others() {
    // A failure changes no membership: the walk skips the node, and other keys keep their owner.
    let down = "node-2";
    for strategy in ALL {
        let router = build(strategy, nodes(6));
        let before = state(&*router);
        let mut heirs = std::collections::BTreeSet::new();
        for key in keys(33, 2000) {
            let mut chosen = None;
            router.walk(key, &mut |id| {
                if name(&*router, id) == down {
                    return core::ops::ControlFlow::Continue(());
                }
                chosen = Some(id);
                core::ops::ControlFlow::Break(())
            });
            let chosen = chosen.map(|id| name(&*router, id));
            if owner(&*router, key) == Some(down) {
                heirs.extend(chosen);
            } else {
                assert_eq!(chosen, owner(&*router, key), "{}", strategy.name);
            }
        }
        // The other nodes share the keys of the failed one.
        assert_eq!(heirs.len(), 5, "{} {heirs:?}", strategy.name);
        assert_eq!(state(&*router), before);
    }
}

/// Reported in zonyitoo/conhash-rs#4.
#[test]
fn removing_an_unknown_node_is_an_error_and_changes_nothing() -> Outcome {
    for strategy in ALL {
        let mut router = build(strategy, nodes(2));
        let error = router.apply(&Change::remove("absent"));
        assert_eq!(
            error,
            Err(Error::UnknownNode {
                name: "absent".into()
            }),
            "{}",
            strategy.name
        );
        router.apply(&Change::Add(Node::new("absent")))?;
        router.apply(&Change::remove("absent"))?;
        assert_eq!(router.nodes().len(), 2);
    }
    Ok(())
}

/// Reported in apache/dubbo#12946, zalando/skipper#2081, apache/brpc#3526 and apache/apisix#13941.
#[test]
fn raising_the_weight_of_a_new_node_moves_keys_only_to_it() {
    let keys = keys(34, 5000);
    for strategy in ALL.iter().filter(|strategy| fit(strategy, 2) == 2) {
        let mut cluster = Cluster::new(strategy, &[10; 5]);
        let join = cluster.change(Step::Add(0)).expect("any node may join");
        let before = owners(&*cluster.router, &keys);
        cluster.apply(&join);
        if caps(strategy).excess.is_none() {
            assert_eq!(before, owners(&*cluster.router, &keys), "{}", strategy.name);
        }
        let mut most = 0;
        for weight in [1, 2, 5, 10] {
            let before = owners(&*cluster.router, &keys);
            cluster.apply(&Change::reweight("new-0", weight));
            let after = owners(&*cluster.router, &keys);
            if caps(strategy).excess.is_none() {
                let mut moved = before.iter().zip(&after).filter(|(b, a)| b != a);
                assert!(moved.all(|(_, new)| **new == *"new-0"), "{}", strategy.name);
            }
            let owned = after.iter().filter(|name| ***name == *"new-0").count();
            assert!(owned > most, "{} at weight {weight}", strategy.name);
            most = owned;
        }
    }
}

/// Reported in redis/redis#11545, twitter/twemproxy#554 and cilium/cilium#32064.
#[test]
fn every_strategy_can_explain_where_a_key_goes() {
    for strategy in ALL {
        let router = build(strategy, nodes(3));
        let facts = router.explain(hash(&*router, b"user:42"));
        assert!(!facts.is_empty(), "{}", strategy.name);
        assert!(
            facts
                .iter()
                .all(|(name, value)| !name.is_empty() && !value.is_empty())
        );
        let nobody = build(strategy, []);
        nobody.explain(hash(&*nobody, b"user:42"));
    }
}
