//! Preference lists and bounded load.

use std::collections::BTreeSet;

use hashroute::strategy::ALL;
use hashroute::{BoundedLoad, Change, Loads, Node, Rendezvous, Ring, Router, RouterExt, Spread};

use hashroute_test_support::{Outcome, build, caps, keys, name, nodes};

/// Reported in coreos/torus#246 and thanos-io/thanos#7054.
#[test]
fn a_list_of_replicas_is_short_only_where_nodes_are_few() {
    for strategy in ALL {
        for count in 0..5 {
            let router = build(strategy, nodes(count));
            for key in keys(40, 20) {
                let list = router.replicas_hash(key, 3, Spread::Nodes);
                assert_eq!(list.len(), count.min(3), "{}", strategy.name);
            }
        }
    }
}

/// Reported in thanos-io/thanos#5427.
#[test]
fn a_new_node_enters_lists_of_replicas_without_reordering_them() -> Outcome {
    // The next replica is the next node on the ring, not in the list of nodes.
    let routers: [Box<dyn Router>; 2] = [
        Box::new(Ring::new(nodes(8))?),
        Box::new(Rendezvous::new(nodes(8))?),
    ];
    for mut router in routers {
        let lists = |router: &dyn Router| -> Vec<Vec<String>> {
            let name = |id| name(router, id).to_owned();
            let list = |key| {
                router
                    .replicas_hash(key, 3, Spread::Nodes)
                    .into_iter()
                    .map(name)
                    .collect()
            };
            keys(41, 1000).into_iter().map(list).collect()
        };
        let before = lists(&*router);
        router.apply(&Change::Add(Node::new("new")))?;
        for (old, new) in before.iter().zip(lists(&*router)) {
            let kept: Vec<_> = new.iter().filter(|name| *name != "new").collect();
            assert_eq!(kept, old.iter().take(kept.len()).collect::<Vec<_>>());
        }
    }
    Ok(())
}

/// Reported in thanos-io/thanos#3820, thanos-io/thanos#6369, thanos-io/thanos#8642,
/// serialx/hashring#11 and coreos/torus#298.
#[test]
fn three_replicas_stand_in_three_zones_or_racks() {
    for strategy in ALL {
        let locations = [("z1", "r1"), ("z2", "r2"), ("z3", "r3")];
        let list = nodes(9).into_iter().zip(locations.into_iter().cycle());
        let router = build(
            strategy,
            list.map(|(node, (zone, rack))| node.with_location(zone, rack)),
        );
        for key in keys(42, 200) {
            for spread in [Spread::Zones, Spread::Racks] {
                let list = router.replicas_hash(key, 3, spread);
                let zones: BTreeSet<_> = list
                    .iter()
                    .filter_map(|&id| router.nodes().get(id)?.zone())
                    .collect();
                assert_eq!(zones.len(), 3, "{}", strategy.name);
            }
        }
    }
}

/// Reported in prestodb/presto#17228, jeromefroe/hashring-rs#31, jeromefroe/hashring-rs#18 and
/// bushidocodes/chord-grpc#155.
#[test]
fn a_list_of_replicas_names_no_node_twice() {
    for strategy in ALL {
        let router = build(strategy, nodes(4));
        for key in keys(43, 500) {
            let list = router.replicas_hash(key, 3, Spread::Nodes);
            let distinct: BTreeSet<_> = list.iter().collect();
            assert_eq!(distinct.len(), 3, "{}", strategy.name);
        }
    }
}

/// Reported in mattbostock/timbala#127.
#[test]
fn a_walk_ends_although_a_member_owns_nothing() {
    for strategy in ALL
        .iter()
        .filter(|strategy| caps(strategy).excess.is_none())
    {
        let mut router = build(strategy, nodes(3));
        // A strategy without weights refuses this; its walk must end as well.
        let _ = router.apply(&Change::reweight("node-1", 0));
        let weighted = router.nodes().weighted();
        for key in keys(44, 20) {
            assert_eq!(
                router.replicas_hash(key, 3, Spread::Zones).len(),
                weighted,
                "{}",
                strategy.name
            );
        }
    }
}

/// Reported in buraksezer/consistent#16.
#[test]
fn the_bound_is_the_ceiling_of_the_fair_share_times_the_factor() -> Outcome {
    let bounded = BoundedLoad::new(Ring::new(nodes(10))?, 1.25)?;
    let first = bounded.nodes().id("node-0").ok_or("a member")?;
    assert_eq!(bounded.capacity(first), 1); // ceil(1.25 / 10); an integer division gave 0
    // One key for all leases: each node is filled up to its bound and no further.
    for present in 1..=100_u64 {
        let lease = bounded
            .acquire(b"everybody asks for this one")
            .ok_or("no room")?;
        let bound = (5 * present).div_ceil(4 * 10);
        assert!(bounded.load(lease.node()) <= bound, "{present}");
    }
    Ok(())
}

/// Reported in buraksezer/consistent#8, buraksezer/consistent#5 and buraksezer/consistent#15.
#[test]
fn a_released_lease_no_longer_counts_towards_the_bound() -> Outcome {
    // A released lease no longer counts, so one key can be placed any number of times.
    let bounded = BoundedLoad::new(Ring::new(nodes(3))?, 1.25)?;
    let home = bounded.router().owner(b"key");
    for _ in 0..100 {
        let lease = bounded.acquire(b"key").ok_or("no room")?;
        assert_eq!(Some(lease.node()), home);
        assert!(bounded.release(lease));
    }
    Ok(())
}

/// Reported in lafikl/consistent#13, lafikl/consistent#7 and apache/brpc#3502.
#[test]
fn a_node_that_leaves_takes_its_load_with_it() -> Outcome {
    let mut bounded = BoundedLoad::new(Ring::new(nodes(3))?, 1.25)?;
    let keys = keys(45, 90);
    let leases: Vec<_> = keys
        .into_iter()
        .filter_map(|key| bounded.acquire_hash(key))
        .collect();
    let id = bounded.nodes().id("node-1").ok_or("a member")?;
    let held = bounded.load(id);
    assert!(held > 0);
    bounded.apply(&Change::remove("node-1"))?;
    assert_eq!(bounded.total_load(), 90 - held);
    // A node with the same name and id is another node all the same.
    bounded.apply(&Change::Add(Node::new("node-1")))?;
    assert_eq!(bounded.nodes().id("node-1"), Some(id));
    let returned = leases
        .into_iter()
        .filter_map(|lease| bounded.release(lease).then_some(()));
    assert_eq!(returned.count() as u64, 90 - held);
    assert_eq!((bounded.total_load(), bounded.load(id)), (0, 0));
    Ok(())
}

/// Reported in apache/brpc#3502.
#[test]
fn a_lease_of_another_router_cannot_be_released() -> Outcome {
    let [one, two] = [Ring::new(nodes(1))?, Ring::new(nodes(1))?];
    let (one, two) = (BoundedLoad::new(one, 1.25)?, BoundedLoad::new(two, 1.25)?);
    let (mine, theirs) = (one.acquire(b"key"), two.acquire(b"key"));
    assert!(theirs.is_some_and(|lease| !one.release(lease)));
    assert_eq!((one.total_load(), two.total_load()), (1, 1));
    assert!(mine.is_some_and(|lease| one.release(lease)));
    Ok(())
}
