//! Law 10: a key goes where its hash goes.
//!
//! A key that a system refuses has no hash, and therefore no owner, replica, copy or lease, in any
//! wrapper.

use core::time::Duration;
use std::sync::Arc;

use hashroute::compat;
use hashroute::health::{Liveness, Policy};
use hashroute::hot::HotKeys;
use hashroute::plan::{Budget, Lists, Owners, Plan, Replicas, Transition};
use hashroute::registry::Scheme;
use hashroute::strategy::{ALL, Params};
use hashroute::{BoundedLoad, Change, Error, KeyHash, Loads, Node, Router, RouterExt, Spread};
use hashroute_test_support::{Outcome, build, nodes};

/// Returns keys that are empty, text, digits, unprintable, parts of packets of each length, and
/// longer than systems accept.
fn varied() -> Vec<Vec<u8>> {
    let texts = [
        "",
        "key",
        "user:42",
        "{tag}:1",
        "a b",
        "7",
        "007",
        "-1",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
    ];
    let mut keys: Vec<_> = texts.map(|text| text.as_bytes().to_vec()).into();
    keys.extend([vec![0xff, 0], vec![b'k'; 250], vec![b'k'; 300]]);
    keys.extend([8, 9, 20, 21].map(|length| (1..=length).collect::<Vec<u8>>()));
    keys
}

type Keys = &'static [&'static [u8]];

/// Keys that systems are documented to refuse, and keys that they accept.
const KNOWN: &[(&str, Keys, Keys)] = &[
    (
        "guava",
        &[b"", b"key", b"user:42", b"18446744073709551616"],
        &[b"7", b"-1", b"18446744073709551615"],
    ),
    (
        "jump",
        &[b"", b"key", b"user:42", b"18446744073709551616"],
        &[b"7", b"-1", b"18446744073709551615"],
    ),
    ("nginx", &[b""], &[b"key", b"\xff\0"]),
    (
        "python-memcached",
        &[b"", b"a b", b"\x7f", &[b'k'; 251]],
        &[b"key", &[b'k'; 250]],
    ),
    (
        "cilium",
        &[b"", b"key", &[1; 8], &[1; 10]],
        &[&[1; 9], &[1; 21]],
    ),
    (
        "katran",
        &[b"", b"key", &[1; 9], &[1; 7]],
        &[&[1; 8], &[1; 20]],
    ),
];

fn pool(dialect: &Scheme, count: usize) -> Result<Box<dyn Router>, Error> {
    let port = if dialect.name == "katran" { "" } else { ":80" };
    let server = |i| Node::new(format!("10.0.0.{}{port}", i + 1));
    dialect.build((0..count).map(server), &Params::default())
}

/// Checks that every lookup agrees with `hash_key`, and returns whether the key has a hash.
fn law(what: &str, router: &dyn Router, key: &[u8]) -> bool {
    let hash = router.hash_key(key);
    let id = hash.and_then(|hash| router.route_hash(hash));
    let node = id.and_then(|id| router.nodes().get(id));
    assert_eq!(router.route(key), node, "{what}: {key:?}");
    assert_eq!(router.owner(key), id, "{what}: {key:?}");
    for spread in [Spread::Nodes, Spread::Racks, Spread::Zones] {
        let list = router.replicas(key, 2, spread);
        match hash {
            Some(hash) => assert_eq!(list, router.replicas_hash(hash, 2, spread), "{what}"),
            None => assert!(list.is_empty(), "{what}: {key:?}"),
        }
    }
    if hash.is_none() {
        is_refused(what, router, key);
    }
    hash.is_some()
}

/// Checks that a key has no owner, no replica and no lease.
fn is_refused(what: &str, router: &dyn Router, key: &[u8]) {
    assert_eq!(router.hash_key(key), None, "{what}: {key:?}");
    assert_eq!(router.route(key), None, "{what}: {key:?}");
    assert_eq!(router.owner(key), None, "{what}: {key:?}");
    let list = router.replicas(key, usize::MAX, Spread::Nodes);
    assert!(list.is_empty(), "{what}: {key:?}");
    if let Some(loads) = router.loads() {
        is_not_leased(what, loads, key);
    }
}

fn is_not_leased(what: &str, loads: &dyn Loads, key: &[u8]) {
    let before = loads.total_load();
    assert!(loads.acquire(key).is_none(), "{what}: {key:?}");
    assert_eq!(loads.total_load(), before, "{what}: {key:?}");
}

#[test]
fn every_row_routes_a_key_by_its_hash() -> Outcome {
    for strategy in ALL {
        let router = build(strategy, nodes(5));
        let shared: Arc<dyn Router> = Arc::from(build(strategy, nodes(5)));
        for key in varied() {
            // Strategies route every key.
            assert!(law(strategy.name, &*router, &key), "{}", strategy.name);
            assert!(law(strategy.name, &shared, &key) && law(strategy.name, &&shared, &key));
        }
    }
    for dialect in compat::ALL {
        for count in [0, 1, 3] {
            let pool = pool(dialect, count)?;
            let taken = varied()
                .iter()
                .filter(|key| law(dialect.name, &pool, key))
                .count();
            assert!(taken > 0 || count < 3, "{}", dialect.name);
        }
    }
    Ok(())
}

#[test]
fn each_dialect_refuses_exactly_the_known_keys() -> Outcome {
    for (name, refused, taken) in KNOWN {
        let pool = pool(compat::find(name)?, 3)?;
        for key in *refused {
            is_refused(name, &pool, key);
            assert!(!law(name, &pool, key), "{name}: {key:?}");
        }
        for key in *taken {
            assert!(law(name, &pool, key), "{name}: {key:?}");
            assert!(pool.route(key).is_some(), "{name}: {key:?}");
        }
    }
    Ok(())
}

/// The largest hash once stood for "no hash".
#[test]
fn the_largest_hash_is_routed_like_any_other() -> Outcome {
    let largest = KeyHash::from_raw(u64::MAX);
    for name in ["guava", "jump"] {
        let pool = pool(compat::find(name)?, 3)?;
        assert_eq!(pool.hash_key(b"18446744073709551615"), Some(largest));
        assert_eq!(pool.hash_key(b"text"), None);
        assert!(pool.route(b"18446744073709551615").is_some(), "{name}");
        let mut hot = HotKeys::new(pool, 2, 0.1)?;
        hot.set_hot([largest])?;
        assert_eq!(hot.copies(b"18446744073709551615").len(), 2, "{name}");
        assert!(hot.copies(b"text").is_empty(), "{name}");
        is_not_leased(name, &hot, b"text");
    }
    Ok(())
}

/// Checks every wrapper around the pool, and around a boxed pool.
#[test]
fn no_wrapper_gives_a_refused_key_a_node() -> Outcome {
    let mut refused = 0;
    for dialect in compat::ALL {
        let plain = pool(dialect, 3)?;
        let (taken, without): (Vec<_>, Vec<_>) = varied()
            .into_iter()
            .partition(|key| plain.hash_key(key).is_some());
        refused += without.len();
        let boxed = || -> Result<Box<dyn Router>, Error> { Ok(Box::new(pool(dialect, 3)?)) };
        wrapped(dialect.name, || pool(dialect, 3), &taken, &without)?;
        wrapped(dialect.name, boxed, &taken, &without)?;
    }
    assert!(refused > 40, "{refused}");
    Ok(())
}

fn wrapped<R: Router>(
    what: &str,
    router: impl Fn() -> Result<R, Error>,
    taken: &[Vec<u8>],
    without: &[Vec<u8>],
) -> Outcome {
    let bounded = BoundedLoad::new(router()?, 1.25)?;
    let mut hot = HotKeys::new(router()?, 2, 0.1)?;
    let hashes: Vec<_> = taken.iter().filter_map(|key| hot.hash_key(key)).collect();
    hot.set_hot(hashes)?;
    let live = Liveness::new(router()?, Policy::default())?;
    let plain_hot = HotKeys::new(router()?, 2, 0.1)?;
    let counting_live = Liveness::new(BoundedLoad::new(router()?, 1.25)?, Policy::default())?;
    // Leases of accepted keys are held, so that a wrong count shows.
    for key in taken {
        for loads in [&bounded as &dyn Loads, &hot, &plain_hot, &counting_live] {
            assert!(loads.acquire(key).is_some(), "{what}: {key:?}");
        }
    }
    let present = taken.len() as u64;
    for key in without {
        let routers: [&dyn Router; 5] = [&bounded, &hot, &live, &plain_hot, &counting_live];
        for router in routers {
            assert!(!law(what, router, key), "{what}: {key:?}");
        }
        let loads: [&dyn Loads; 5] = [&bounded, &hot, &live, &plain_hot, &counting_live];
        for loads in loads {
            is_not_leased(what, loads, key);
        }
        for copies in [hot.copies(key), plain_hot.copies(key)] {
            assert!(copies.is_empty(), "{what}: {key:?}");
        }
    }
    for loads in [&bounded as &dyn Loads, &hot, &plain_hot, &counting_live] {
        assert_eq!(loads.total_load(), present, "{what}");
    }
    is_passed_over(what, &live, without);
    Ok(())
}

/// Checks the same while a node is down.
fn is_passed_over<R: Router>(what: &str, live: &Liveness<R>, without: &[Vec<u8>]) {
    let (id, _) = live.nodes().iter().next().expect("three nodes");
    for second in 1..=3 {
        live.failed(id, Duration::from_secs(second));
    }
    assert!(live.is_down(id) && live.skips());
    for key in without {
        is_refused(what, live, key);
    }
}

/// Neither router owns the key, so no node copies or deletes it.
#[test]
fn a_refused_key_has_no_owner_during_a_transition() -> Outcome {
    let mut planned = 0;
    for dialect in compat::ALL {
        let (old, new) = (pool(dialect, 3)?, pool(dialect, 4)?);
        let without: Vec<_> = varied()
            .into_iter()
            .filter(|key| old.hash_key(key).is_none() && new.hash_key(key).is_none())
            .collect();
        if without.is_empty() {
            continue;
        }
        let replicas = Replicas::new(2, Spread::Nodes);
        // A system that routes no text cannot be planned.
        let Ok(plan) = Plan::new(&old, &new, replicas, Budget::default()) else {
            continue;
        };
        planned += 1;
        let mut change = Transition::new(Arc::new(old), Arc::new(new), &plan)?;
        loop {
            for key in &without {
                let what = (dialect.name, change.phase(), key);
                assert_eq!(change.owners(key), Owners::default(), "{what:?}");
                assert_eq!(change.lists(key), Lists::default(), "{what:?}");
                assert!(change.sources(key).is_empty(), "{what:?}");
                let deletes = |id| change.may_delete(id, key);
                assert!(
                    !change.nodes().iter().any(|(id, _)| deletes(id)),
                    "{what:?}"
                );
                if let Some(moment) = change.router() {
                    is_refused(dialect.name, &moment, key);
                }
            }
            if !change.advance() {
                break;
            }
        }
    }
    assert!(planned > 1, "{planned}");
    Ok(())
}

/// nginx routes the empty key only while there is one server.
#[test]
fn a_change_of_nodes_may_accept_or_refuse_the_empty_key() -> Outcome {
    let mut pool = pool(compat::find("nginx")?, 2)?;
    assert!(!law("nginx", &pool, b""));
    let mut hot = HotKeys::new(pool_of_one()?, 2, 0.1)?;
    let took = law("nginx", &hot, b"");
    hot.apply(&Change::add("10.0.0.9:80"))?;
    pool.apply(&Change::remove("10.0.0.2:80"))?;
    assert_eq!(took, law("nginx", &pool, b""));
    assert!(!law("nginx", &hot, b""));
    Ok(())
}

fn pool_of_one() -> Result<Box<dyn Router>, Error> {
    pool(compat::find("nginx")?, 1)
}
