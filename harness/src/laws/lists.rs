//! Law 9: replicas, and the walk that they are made from.

use core::ops::ControlFlow;
use std::collections::BTreeSet;

use super::clause::Clause;
use super::random::Random;
use super::subject::{Key, Subject, members, walk};
use super::trial::{Held, ensure, equal};
use hashroute::registry::Params;
use hashroute::{KeyHash, Node, NodeId, NodeList, Router, RouterExt, Spread};

pub(super) const LISTS: &[Clause] = &[
    Clause::new("random clusters in zones and racks", random_clusters),
    Clause::new("one zone with nine tenths of the nodes", uneven_zones),
    Clause::new("lists of eighty nodes", long_lists),
    Clause::new(
        "a walk offers every member with weight and no other",
        whole_walks,
    ),
    Clause::new("a walk stops when told to", stopped_walks),
];

const SPREADS: [Spread; 3] = [Spread::Nodes, Spread::Racks, Spread::Zones];

type Location<'a> = (Option<&'a str>, Option<&'a str>);

fn location(router: &dyn Router, id: NodeId) -> Location<'_> {
    let node = router.nodes().get(id);
    (node.and_then(Node::zone), node.and_then(Node::rack))
}

/// Computes the whole preference list in another way than the library. The distinct nodes of the
/// walk are ranked: first those that are the first of their zone, then those that are the first of
/// their rack, unless the first of a zone is in that rack, then the others. Within a rank, the
/// order of the walk holds.
fn ranked(router: &dyn Router, key: KeyHash, spread: Spread) -> Vec<NodeId> {
    let mut seen = BTreeSet::new();
    let mut walk = walk(router, key);
    walk.retain(|id| seen.insert(*id));
    let first_of_zone = |at: usize, id: NodeId| {
        let zone = location(router, id).0;
        let before = &walk[..at];
        before
            .iter()
            .all(|&other| location(router, other).0 != zone)
    };
    let firsts: BTreeSet<_> = (walk.iter().enumerate())
        .filter(|(at, id)| spread == Spread::Zones && first_of_zone(*at, **id))
        .map(|(_, id)| *id)
        .collect();
    let begun: BTreeSet<_> = firsts.iter().map(|&id| location(router, id)).collect();
    let rank = |at: usize, id: NodeId| {
        let rack = location(router, id);
        let before = &walk[..at];
        let first = before.iter().all(|&other| location(router, other) != rack);
        match spread {
            Spread::Nodes => 0,
            _ if firsts.contains(&id) => 0,
            _ if first && !begun.contains(&rack) => 1,
            _ => 2,
        }
    };
    let mut ranked: Vec<_> = walk.iter().copied().enumerate().collect();
    ranked.sort_by_key(|&(at, id)| (rank(at, id), at));
    ranked.into_iter().map(|(_, id)| id).collect()
}

/// Checks everything that the law says about one key.
fn lists(router: &dyn Router, key: &Key) -> Held {
    let Some(hash) = key.hash(router) else {
        return Ok(());
    };
    for spread in SPREADS {
        let full = router.replicas_hash(hash, router.nodes().weighted() + 3, spread);
        complete(router, key, hash, &full)?;
        let input = || format!("{}, {key}, {spread:?}", members(router));
        equal(input, &ranked(router, hash, spread)[..], &full[..])?;
        prefixes(router, key, hash, &full, spread)?;
    }
    Ok(())
}

/// Checks that the list holds all members with weight, each once, the owner first.
fn complete(router: &dyn Router, key: &Key, hash: KeyHash, full: &[NodeId]) -> Held {
    let input = || format!("{}, {key}, all replicas", members(router));
    let distinct: BTreeSet<_> = full.iter().collect();
    equal(input, &full.len(), &distinct.len())?;
    let weighted = full.iter().all(|&id| router.nodes().weight(id) > Some(0));
    ensure(weighted, input, "nodes with weight", || format!("{full:?}"))?;
    equal(input, &router.nodes().weighted(), &full.len())?;
    match router.route_hash(hash) {
        // A system may have no owner while a server is down, and still know the next server.
        None => Ok(()),
        owner => equal(input, &owner, &full.first().copied()),
    }
}

fn prefixes(
    router: &dyn Router,
    key: &Key,
    hash: KeyHash,
    full: &[NodeId],
    spread: Spread,
) -> Held {
    // The method must replace what the list holds, whether that is longer or shorter.
    let mut reused: NodeList = full.iter().chain(full).copied().collect();
    for n in (0..full.len()).chain([full.len() + 3]) {
        let prefix = &full[..n.min(full.len())];
        let input = || format!("{}, {key}, {n} replicas, {spread:?}", members(router));
        equal(input, prefix, &router.replicas_hash(hash, n, spread)[..])?;
        router.replicas_into(hash, n, spread, &mut reused);
        equal(input, prefix, &reused[..])?;
        spread_out(router, prefix, spread, &input)?;
    }
    Ok(())
}

/// Checks that a list reaches as many zones as possible, and then as many racks as possible.
fn spread_out(
    router: &dyn Router,
    list: &[NodeId],
    spread: Spread,
    input: &dyn Fn() -> String,
) -> Held {
    let weighted = || {
        let nodes = router.nodes().iter();
        nodes.filter(|(_, node)| node.weight() > 0)
    };
    let zones: BTreeSet<_> = weighted().map(|(_, node)| node.zone()).collect();
    let racks: BTreeSet<_> = weighted().map(|(id, _)| location(router, id)).collect();
    let in_racks: BTreeSet<_> = list.iter().map(|&id| location(router, id)).collect();
    let in_zones: BTreeSet<_> = in_racks.iter().map(|(zone, _)| *zone).collect();
    if spread == Spread::Zones {
        equal(input, &list.len().min(zones.len()), &in_zones.len())?;
    }
    if spread != Spread::Nodes {
        equal(input, &list.len().min(racks.len()), &in_racks.len())?;
    }
    Ok(())
}

/// Returns nodes of these weights, zones and racks.
fn located(subject: &Subject, members: &[(u32, u32, u32)]) -> Vec<Node> {
    let weights: Vec<_> = members.iter().map(|(weight, ..)| *weight).collect();
    let nodes = subject.weighted(&weights).into_iter().zip(members);
    let locate = |(node, &(_, zone, rack)): (Node, &(u32, u32, u32))| match (zone, rack) {
        (0, _) => node,
        (zone, 0) => node.with_zone(format!("zone-{zone}")),
        (zone, rack) => node.with_location(format!("zone-{zone}"), format!("rack-{rack}")),
    };
    nodes.map(locate).collect()
}

fn random_clusters(subject: &Subject) -> Held {
    let cases = if subject.scheme.is_dialect() { 10 } else { 20 };
    for case in 0..cases {
        let mut random = Random::new(400 + case);
        let member = |random: &mut Random| {
            let weight = random.below(5);
            (weight, random.below(4), random.below(3))
        };
        let count = random.below(14);
        let members: Vec<_> = (0..count).map(|_| member(&mut random)).collect();
        let router = subject.build(located(subject, &members))?;
        for key in any_keys(subject, &mut random) {
            lists(&*router, &key)?;
        }
    }
    Ok(())
}

/// Returns a few keys. If a row takes every hash, the smallest and the largest are among them.
fn any_keys(subject: &Subject, random: &mut Random) -> Vec<Key> {
    if subject.scheme.is_dialect() {
        return subject.keys(1 + random.below(1000), 2);
    }
    let raw = [random.number(), 0, u64::MAX];
    raw.map(|raw| Key::Hash(KeyHash::from_raw(raw))).into()
}

fn uneven_zones(subject: &Subject) -> Held {
    let zone = |i: u32| if i < 18 { 1 } else { 2 };
    let placed: Vec<_> = (0..20).map(|i| (1, zone(i), i % 3)).collect();
    let router = subject.build(located(subject, &placed))?;
    for key in subject.keys(20, 50) {
        let Some(hash) = key.hash(&*router) else {
            continue;
        };
        let list = router.replicas_hash(hash, 2, Spread::Zones);
        let zones: BTreeSet<_> = list.iter().map(|&id| location(&*router, id).0).collect();
        let input = || format!("{}, {key}, two replicas, zones", members(&*router));
        equal(input, &2, &zones.len())?;
    }
    for key in subject.keys(21, 5) {
        lists(&*router, &key)?;
    }
    Ok(())
}

/// Checks lists that are longer than the inline list and than the length that is scanned.
fn long_lists(subject: &Subject) -> Held {
    let members: Vec<_> = (0..80).map(|i| (1, i % 5, i % 7 % 3)).collect();
    let router = subject.build(located(subject, &members))?;
    lists(&*router, &subject.keys(22, 1)[0])
}

fn whole_walks(subject: &Subject) -> Held {
    let cases = if subject.scheme.is_dialect() { 4 } else { 16 };
    for case in 0..cases {
        let mut random = Random::new(500 + case);
        let count = random.below(20);
        let weight = |random: &mut Random| {
            let small = 1 + random.below(3);
            random.of(&[
                0,
                0,
                small,
                small,
                small,
                small,
                subject.large_weight(),
                u32::MAX,
            ])
        };
        let weights: Vec<_> = (0..count).map(|_| weight(&mut random)).collect();
        let mut nodes = subject.weighted(&weights);
        if subject
            .scheme
            .build(nodes.clone(), &Params::default())
            .is_err()
        {
            // A row may refuse absurd weights but must take smaller ones.
            let small = weights.iter().map(|weight| (*weight).min(20));
            nodes = subject.weighted(&small.collect::<Vec<_>>());
        }
        let router = subject.build(nodes)?;
        for key in any_keys(subject, &mut random) {
            whole(&*router, &key)?;
        }
    }
    let counts = [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 127, 128, 129];
    let counts = if subject.scheme.is_dialect() {
        &counts[..9]
    } else {
        &counts[..]
    };
    for &count in counts {
        let router = subject.build(subject.nodes(count))?;
        whole(&*router, &subject.keys(23, 1)[0])?;
    }
    Ok(())
}

fn whole(router: &dyn Router, key: &Key) -> Held {
    let Some(hash) = key.hash(router) else {
        return Ok(());
    };
    let walk = walk(router, hash); // it ends
    let input = || format!("{}, the walk of {key}", members(router));
    if let Some(owner) = router.route_hash(hash) {
        equal(input, &Some(&owner), &walk.first())?;
    }
    let offered: BTreeSet<_> = walk.iter().copied().collect();
    let nodes = router.nodes().iter();
    let weighted = nodes.filter(|(_, node)| node.weight() > 0);
    let weighted: BTreeSet<_> = weighted.map(|(id, _)| id).collect();
    equal(input, &weighted, &offered)
}

fn stopped_walks(subject: &Subject) -> Held {
    let router = subject.build(subject.nodes(9))?;
    for key in subject.keys(24, 3) {
        let Some(hash) = key.hash(&*router) else {
            continue;
        };
        for stop in 1..9 {
            let mut offered = vec![];
            router.walk(hash, &mut |id| {
                offered.push(id);
                if offered.len() == stop {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            let input = || format!("nine nodes, the walk of {key} to node {stop}");
            equal(input, &stop, &offered.len())?;
        }
    }
    Ok(())
}
