//! A router becomes a spec and the same router again, and a spec the same spec.

use std::collections::{BTreeMap, BTreeSet};

use hashroute::compat::{self, Server};
use hashroute::registry::{Param, Scheme};
use hashroute::strategy::{ALL, Params};
use hashroute::{
    BoundedLoad, Change, HashFunction, HashTag, KeyHasher, Node, Rendezvous, Ring, Router,
    RouterExt, Spec, Spread,
};
use proptest::collection::vec;
use proptest::prelude::{Strategy as _, any, prop_oneof};

use crate::read;
use hashroute_test_support::{
    Cluster, Outcome, Step, for_all, is_set, keys, name, owners, place, shares, walked_names,
    weighted,
};

fn agree(strategy: &Scheme, one: &dyn Router, other: &dyn Router) {
    let keys = keys(7, 200);
    assert_eq!(
        owners(one, &keys),
        owners(other, &keys),
        "{}",
        strategy.name
    );
    for &key in &keys[..5] {
        assert_eq!(
            walked_names(one, key),
            walked_names(other, key),
            "{}",
            strategy.name
        );
    }
}

#[test]
fn a_spec_rebuilds_a_router_after_any_history_of_changes() {
    let step = prop_oneof![
        (0..4_u32).prop_map(Step::Add),
        any::<usize>().prop_map(Step::Remove),
        (any::<usize>(), 0..4_u32).prop_map(|(index, weight)| Step::Reweight(index, weight)),
    ];
    let inputs = (vec(0..4_u32, 0..6), vec(step, 0..8));
    for strategy in ALL {
        for_all(12, &inputs, |(weights, steps)| {
            let mut cluster = Cluster::new(strategy, &weights);
            let nodes = weighted(strategy, &weights);
            let mut spec = Spec::new(strategy, nodes, &Params::default()).expect("a cluster");
            let keys = keys(8, 200);
            let mut seen = BTreeMap::from([(spec.fingerprint(), owners(&*cluster.router, &keys))]);
            for step in steps {
                let Some(change) = cluster.change(step) else {
                    continue;
                };
                let epoch = spec.epoch();
                let router = spec
                    .apply(&change)
                    .expect("a change that the strategy takes");
                cluster.apply(&change);
                assert_eq!(spec.epoch(), epoch + 1);
                agree(strategy, &*cluster.router, &*router);
                // A change of a route changes the fingerprint.
                let now = owners(&*router, &keys);
                let before = seen
                    .entry(spec.fingerprint())
                    .or_insert_with(|| now.clone());
                assert_eq!(*before, now, "{}", strategy.name);
            }
            let read = read(&spec.to_toml());
            assert_eq!(read.fingerprint(), spec.fingerprint(), "{}", strategy.name);
            agree(strategy, &*cluster.router, &*read.build().expect("a spec"));
            let told = Spec::of(strategy, &Params::default(), &*cluster.router).expect("its own");
            assert_eq!(told.canonical(), spec.canonical(), "{}", strategy.name);
        });
    }
}

#[test]
fn a_spec_keeps_parameters_hashes_and_locations() -> Outcome {
    let hashers = [
        KeyHasher::new(HashFunction::Xxh64).with_seed(u64::MAX)?,
        KeyHasher::new(HashFunction::Murmur3_32).with_seed(5)?,
        KeyHasher::sip13(*b"only peers know!").with_tag(HashTag::BRACES),
        KeyHasher::new(HashFunction::Sip24).with_key([255; 16])?,
        KeyHasher::default().with_tag(HashTag::new(0xff, b'\n')),
        KeyHasher::REDIS,
    ];
    let locations = [("z1", "r1"), ("z1", "r2"), ("z2", "r1")];
    let located = |i: usize| {
        let (zone, rack) = locations[i % 3];
        Node::new(format!("n{i}")).with_location(zone, rack)
    };
    for strategy in ALL {
        for hasher in &hashers {
            let params = Params::default().with_hasher(hasher.clone());
            let spec = Spec::new(strategy, (0..7).map(located), &params)?;
            let (one, other) = (spec.build()?, read(&spec.to_json()).build()?);
            assert_eq!(other.hash_id().hasher(), Some(hasher));
            for i in 0..50 {
                let key = format!("a{{user:{i}}}b");
                let list = |router: &dyn Router| -> Vec<String> {
                    let list = router.replicas(key.as_bytes(), 4, Spread::Zones);
                    let name = |&id| name(router, id).to_owned();
                    list.iter().map(name).collect()
                };
                assert_eq!(list(&*one), list(&*other), "{} {hasher:?}", strategy.name);
            }
        }
        for param in strategy.params {
            let other = match param.name {
                "labels" => "tutorial",
                "variant" => "guava",
                "table-size" | "slots" => "1009",
                "load" => "1.75",
                _ => "40",
            };
            let params = Params::default().with(param.name, other);
            let spec = Spec::new(strategy, (0..7).map(located), &params)?;
            agree(
                strategy,
                &*spec.build()?,
                &*strategy.build((0..7).map(located), &params)?,
            );
            agree(strategy, &*spec.build()?, &*read(&spec.to_toml()).build()?);
        }
    }
    Ok(())
}

/// Slots that were assigned by hand are part of the spec.
#[test]
fn a_spec_keeps_slots_that_were_assigned_by_hand() -> Outcome {
    let slots = hashroute::strategy::find("slots")?;
    let mut table = hashroute::HashSlots::new(["a", "b", "c"].map(Node::new))?;
    table.assign(7..9, "c")?;
    table.assign(100..16_000, "b")?;
    let mut spec = Spec::of(slots, &Params::default(), &table)?;
    assert_eq!(shares(&*spec.build()?), shares(&table));
    let change = Change::Add(Node::new("d").with_weight(3));
    table.apply(&change)?;
    agree(slots, &*spec.apply(&change)?, &table);
    Ok(())
}

#[test]
fn a_router_of_another_strategy_is_refused() -> Outcome {
    let nodes = || (0..5).map(|i| Node::new(format!("n{i}")));
    for strategy in ALL {
        for other in ALL {
            let router = other.build(nodes(), &Params::default())?;
            let told = Spec::of(strategy, &Params::default(), &*router);
            let alike = other.name == strategy.name;
            assert_eq!(told.is_ok(), alike, "{} as {}", other.name, strategy.name);
        }
    }
    for name in ["ring", "bounded"] {
        let strategy = hashroute::strategy::find(name)?;
        let router = strategy.build(nodes(), &Params::default().with("points", "40"))?;
        assert!(Spec::of(strategy, &Params::default(), &*router).is_err());
    }
    Ok(())
}

/// One additional token moves few keys, so a sample of keys would miss it.
#[test]
fn a_ring_with_one_token_too_many_is_refused() -> Outcome {
    let strategy = hashroute::strategy::find("ring")?;
    let ring = Ring::new(["a", "b"].map(Node::new))?;
    let tokens: Vec<_> = ring
        .points()
        .map(|(point, node)| (point, node.name()))
        .collect();
    let (first, owner) = *tokens.iter().min().expect("a point");
    let other = if owner == "a" { "b" } else { "a" };
    for (more, alike) in [(None, true), (Some((first - 1, other)), false)] {
        let all = tokens.iter().copied().chain(more);
        let router = Ring::from_tokens(["a", "b"].map(Node::new), all)?;
        let told = Spec::of(strategy, &Params::default(), &router);
        assert_eq!(told.is_ok(), alike, "{more:?}");
    }
    Ok(())
}

/// The spec has the factor of bounded load and no loads.
#[test]
fn a_spec_leaves_out_the_loads_of_the_moment() -> Outcome {
    let strategy = hashroute::strategy::find("bounded")?;
    let nodes = || (0..5).map(|i| Node::new(format!("n{i}")).with_weight(i % 3));
    let router = BoundedLoad::new(Ring::new(nodes())?, 1.25)?;
    for key in keys(3, 500) {
        assert!(place(&router, key).is_some());
    }
    assert!(Spec::of(strategy, &Params::default(), &router).is_ok());
    let other = BoundedLoad::new(Rendezvous::new(nodes())?, 1.25)?;
    assert!(Spec::of(strategy, &Params::default(), &other).is_err());
    Ok(())
}

/// Neither the order of a set nor nodes without weight change the fingerprint.
#[test]
fn the_order_of_a_set_and_drained_nodes_change_no_fingerprint() {
    let inputs = (vec(0..4_u32, 0..7), any::<proptest::sample::Index>());
    for strategy in ALL.iter().filter(|strategy| is_set(strategy)) {
        for_all(16, &inputs, |(weights, turn)| {
            let nodes = weighted(strategy, &weights);
            let mut turned = nodes.clone();
            turned.rotate_left(turn.index(nodes.len().max(1)));
            turned.retain(|node| node.weight() > 0);
            let [one, other] = [nodes, turned]
                .map(|nodes| Spec::new(strategy, nodes, &Params::default()).expect("a cluster"));
            assert_eq!(one.canonical(), other.canonical());
            let routers = [one, other].map(|spec| spec.build().expect("a spec"));
            agree(strategy, &*routers[0], &*routers[1]);
        });
    }
}

/// Returns the owners of numbers with eight and nine digits; every dialect accepts some.
fn names(router: &dyn Router) -> Vec<Option<String>> {
    let keys = (0..300).flat_map(|i: u32| [format!("{:08}", i * 7919), format!("{:09}", i * 7919)]);
    let name = |key: String| Some(router.route(key.as_bytes())?.name().to_owned());
    keys.map(name).collect()
}

fn routes(dialect: &Scheme, router: &dyn Router) -> Vec<Option<String>> {
    let all = names(router);
    let owned = router.nodes().weighted() == 0 || all.iter().any(Option::is_some);
    assert!(owned, "{}", dialect.name);
    all
}

fn server(dialect: &Scheme, i: usize) -> Server {
    let port = if dialect.name == "katran" {
        ""
    } else {
        ":11211"
    };
    Server::new(format!("10.0.0.{}{port}", 9 - i))
}

#[test]
fn a_spec_rebuilds_a_dialect_after_any_history_of_changes() -> Outcome {
    for dialect in compat::ALL {
        // Some systems cannot have a server down in the middle.
        let up: Vec<_> = (0..6).map(|i| server(dialect, i)).collect();
        let mut servers = up.clone();
        servers[2] = servers[2].clone().down();
        if dialect.build(servers.clone(), &Params::default()).is_err() {
            servers = up;
        }
        let mut pool = dialect.build(servers.clone(), &Params::default())?;
        let mut spec = Spec::new(dialect, servers, &Params::default())?;
        let name = |i| server(dialect, i).name().to_owned();
        for change in [
            Change::remove(name(5)),
            Change::Add(Node::new(name(6))),
            Change::reweight(name(2), 1),
            Change::reweight(name(0), 0),
            Change::remove(name(1)),
            Change::Add(Node::new(name(1)).with_zone("z")),
            Change::reweight(name(3), 3),
        ] {
            let canonical = spec.canonical();
            let done = pool.apply(&change);
            match spec.apply(&change) {
                Ok(router) => assert_eq!(routes(dialect, &*router), routes(dialect, &*pool)),
                Err(error) => {
                    assert_eq!(done, Err(error));
                    assert_eq!(spec.canonical(), canonical);
                }
            }
            let built = spec.to_toml().parse::<Spec>()?.build()?;
            assert_eq!(
                routes(dialect, &*built),
                routes(dialect, &*pool),
                "{}",
                dialect.name
            );
        }
        read(&spec.to_toml());
    }
    Ok(())
}

/// Returns the settings that a dialect accepts and that change it, from the words it knows.
fn settings(dialect: &Scheme) -> Vec<(&'static str, &'static str)> {
    let words = |param: &Param| {
        let split = |c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c);
        let words = param.about.split(split).chain(["101", "MD5"]);
        let words = words.chain([param.default]);
        words.collect::<BTreeSet<&str>>()
    };
    let servers = || (0..3).map(|i| server(dialect, i));
    let builds = |name: &str, word: &str| {
        let params = Params::default().with(name, word);
        dialect.build(servers(), &params).is_ok()
    };
    let settings = dialect.params.iter().flat_map(|param| {
        let words = words(param).into_iter();
        words.map(|word| (param.name, word))
    });
    settings.filter(|(name, word)| builds(name, word)).collect()
}

/// An option that is given its default may differ from one that is left out.
#[test]
fn a_spec_keeps_any_two_options_of_a_dialect() -> Outcome {
    for dialect in compat::ALL {
        let servers = || (0..3).map(|i| server(dialect, i));
        let settings = settings(dialect);
        let mut seen = BTreeMap::new();
        for (i, one) in settings.iter().enumerate() {
            let others = settings[i..]
                .iter()
                .filter(|other| *other == one || other.0 != one.0);
            for other in others {
                let params = Params::default().with(one.0, one.1).with(other.0, other.1);
                let Ok(pool) = dialect.build(servers(), &params) else {
                    continue;
                };
                let spec = Spec::new(dialect, servers(), &params)?;
                let (ours, theirs) = (names(&*spec.build()?), names(&pool));
                assert!(ours == theirs, "{} {one:?} {other:?}", dialect.name);
                let before = seen.entry(spec.fingerprint()).or_insert(theirs);
                assert!(ours == *before, "{} {one:?} {other:?}", dialect.name);
            }
        }
    }
    Ok(())
}

#[test]
fn a_spec_keeps_options_and_labels_of_a_dialect() -> Outcome {
    let twemproxy = compat::find("twemproxy")?;
    let servers = [
        Server::new("10.0.0.1:6379").with_label("cache-1"),
        Server::new("10.0.0.2:6379")
            .with_label("cache-2")
            .with_weight(2),
        Server::new("10.0.0.3:6379").with_weight(3).down(),
    ];
    let params = Params::default().with("hash", "md5").with("hash_tag", "{}");
    let spec = Spec::new(twemproxy, servers.clone(), &params)?;
    assert_eq!(spec.servers(), servers);
    assert_eq!(read(&spec.to_toml()).servers(), servers);
    let pool = twemproxy.build(servers, &params)?;
    assert_eq!(routes(twemproxy, &*spec.build()?), routes(twemproxy, &pool));
    Ok(())
}

#[test]
fn a_change_that_fails_changes_nothing() -> Outcome {
    for strategy in ALL {
        let nodes = ["a", "b"].map(Node::new);
        let last = Spec::new(strategy, nodes, &Params::default())?.with_epoch(Spec::MAX_EPOCH)?;
        for change in [
            Change::Add(Node::new("a")),
            Change::remove("c"),
            Change::Add(Node::new("")),
            Change::Add(Node::new("d")), // no epoch is left
        ] {
            let mut spec = last.clone();
            assert!(spec.apply(&change).is_err(), "{} {change:?}", strategy.name);
            assert_eq!(spec.to_toml(), last.to_toml());
        }
    }
    Ok(())
}
