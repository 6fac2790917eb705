//! Members that come, go, fail and return.

use hashroute::registry::Leave;
use hashroute::strategy::ALL;
use hashroute::{Change, Error, Node, Router};

use hashroute_test_support::{
    Cluster, Outcome, Step, build, caps, fit, hash, is_set, keys, name, nodes, owner, owners,
    state, walked, weighted,
};

#[test]
fn cases_20_22_all_weights_zero_is_a_cluster_without_an_owner() {
    for strategy in ALL.iter().filter(|strategy| fit(strategy, 0) == 0) {
        let router = build(strategy, weighted(strategy, &[0, 0, 0]));
        assert_eq!(router.route(b"key"), None, "{}", strategy.name);
        assert_eq!(router.nodes().len(), 3);
        assert!(walked(&*router, hash(&*router, b"key")).is_empty());
    }
}

#[test]
fn case_20_a_drained_node_stays_known() -> Outcome {
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

#[test]
fn case_27_removing_c_moves_no_key_of_a_to_b() -> Outcome {
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

#[test]
fn case_50_a_node_in_the_middle_shifts_nobody() -> Outcome {
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

#[test]
fn case_55_a_name_joins_once_and_is_weighted_anew() -> Outcome {
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

#[test]
fn case_56_the_second_node_gets_keys_at_once() -> Outcome {
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

#[test]
fn case_57_a_node_that_fails_and_returns_finds_its_keys() {
    // Liveness is no membership: walk past the dead, change nothing. What the others own stays.
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
        // The others share what the dead one had.
        assert_eq!(heirs.len(), 5, "{} {heirs:?}", strategy.name);
        assert_eq!(state(&*router), before);
    }
}

#[test]
fn case_113_removing_the_absent_says_so_and_hurts_nothing() -> Outcome {
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

#[test]
fn case_115_a_new_node_may_be_ramped_up() {
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

#[test]
fn case_116_a_router_can_explain_itself() {
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
