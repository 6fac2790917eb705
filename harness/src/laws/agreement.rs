//! Laws 1 and 2: which routers agree.

use super::clause::Clause;
use super::random::{Random, permutations};
use super::subject::{Cluster, Key, Step, Subject, alike, members, name_of, owners, same_owners};
use super::trial::{Held, equal, fail};
use super::waivers;
use crate::assign_hash;
use hashroute::registry::{Agree, Params, Setup};
use hashroute::{Change, KeyHash, Node, Router, RouterExt};

pub(super) const SAME: &[Clause] = &[
    Clause::new("two routers of one list are alike", built_twice),
    Clause::new("a key is hashed alike by all of them", hashed_alike),
    Clause::new(
        "a batch, a single question and a handle give one answer",
        every_way_to_ask,
    ),
    Clause::new(
        "a changed router is alike to one built from its setup",
        changed_or_built,
    )
    .unless(waivers::no_setup),
];

pub(super) const ORDER: &[Clause] = &[
    Clause::new("all orders of five nodes", listed_in_any_order).unless(waivers::not_a_set),
    Clause::new("nodes join in any order", joined_in_any_order).unless(waivers::not_a_set),
    Clause::new("any history that ends in the set", any_history).unless(waivers::not_a_set),
    Clause::new("a large cluster, listed backwards", large_cluster).unless(waivers::not_a_set),
];

const WEIGHTS: [u32; 5] = [1, 3, 0, 2, 5];

/// Builds two routers from one list, and a third from the members that the first reports, by id.
fn built_twice(subject: &Subject) -> Held {
    let list = subject.weighted(&WEIGHTS);
    let [one, two] = [&list, &list].map(|list| subject.build(list.iter().cloned()));
    let (one, two) = (one?, two?);
    let keys = subject.keys(1, 1000);
    let what = || members(&*one);
    alike(&what, &*one, &*two, &keys)?;
    let mut read: Vec<_> = one.nodes().iter().collect();
    read.sort_by_key(|(id, _)| *id);
    let three = subject.build(read.into_iter().map(|(_, node)| node.clone()))?;
    alike(
        &|| format!("{}, built from its members", what()),
        &*one,
        &*three,
        &keys,
    )
}

fn hashed_alike(subject: &Subject) -> Held {
    let [one, two] = [(); 2].map(|()| subject.build(subject.weighted(&WEIGHTS)));
    let (one, two) = (one?, two?);
    for i in 0..500 {
        let key = subject.scheme.keys.sample(i);
        let input = || format!("{}, key \"{}\"", members(&*one), key.escape_ascii());
        equal(input, &one.hash_key(&key), &two.hash_key(&key))?;
    }
    // Equal identities promise equal hashes, whatever the members.
    let other = subject.build(subject.nodes(2))?;
    if one.hash_id() != other.hash_id() {
        return Ok(());
    }
    for i in 0..100 {
        let key = subject.scheme.keys.sample(i);
        let input = || format!("hash identity {:?}, key {i} of two clusters", one.hash_id());
        equal(input, &one.hash_key(&key), &other.hash_key(&key))?;
    }
    Ok(())
}

fn every_way_to_ask(subject: &Subject) -> Held {
    let router = subject.build(subject.weighted(&WEIGHTS))?;
    let keys: Vec<_> = (0..500).map(|i| subject.scheme.keys.sample(i)).collect();
    let hash = |key: &Vec<u8>| router.hash_key(key);
    let with_hash: Vec<(&Vec<u8>, KeyHash)> = keys
        .iter()
        .filter_map(|key| Some((key, hash(key)?)))
        .collect();
    let hashes: Vec<_> = with_hash.iter().map(|(_, hash)| *hash).collect();
    // `out` is one shorter: the batch must stop at the end of the shorter slice.
    let mut batch = vec![None; hashes.len().saturating_sub(1)];
    router.route_batch(&hashes, &mut batch);
    let handle: &dyn Router = &&*router;
    for ((key, hash), batched) in with_hash.into_iter().zip(batch) {
        let id = router.route_hash(hash);
        let input = |way: &str| format!("{}, key {key:?} {way}", members(&*router));
        equal(|| input("in a batch"), &id, &batched)?;
        equal(|| input("through a handle"), &id, &handle.route_hash(hash))?;
        equal(|| input("by its bytes"), &id, &router.owner(key))?;
        if router.loads().is_none() {
            equal(|| input("assigned"), &id, &assign_hash(&*router, hash))?;
        }
    }
    Ok(())
}

/// Builds a changed router again from its setup: the setup must be enough.
fn changed_or_built(subject: &Subject) -> Held {
    let mut random = Random::new(10);
    for weights in [&WEIGHTS[..], &[1; 7]] {
        let mut cluster = Cluster::new(subject, weights)?;
        let mut setup = Setup::new(subject.scheme, subject.weighted(weights), Params::default());
        for _ in 0..10 {
            let step = step(&mut random);
            let Some(change) = cluster.change(step) else {
                continue;
            };
            let before = members(&*cluster.router);
            let input = || format!("{before}, then {change:?}");
            if !cluster.apply(&change)? {
                continue;
            }
            let built = setup.apply(&change).and_then(|_| setup.build());
            let built = match built {
                Ok(built) => built,
                Err(error) => {
                    return fail(
                        input(),
                        "a setup that takes the change too",
                        error.to_string(),
                    );
                }
            };
            alike(&input, &*cluster.router, &*built, &subject.keys(2, 300))?;
        }
    }
    Ok(())
}

/// Draws any step, sometimes a server that goes down.
pub(super) fn step(random: &mut Random) -> Step {
    let limit = random.of(&[6, 6, 6, 6, 60]);
    let weight = random.below(limit);
    match random.below(3) {
        0 => Step::Add(weight),
        1 => Step::Remove(random.index(64)),
        _ => Step::Reweight(random.index(64), weight),
    }
}

fn listed_in_any_order(subject: &Subject) -> Held {
    let list = subject.weighted(&[1, 2, 1, 0, 3]);
    let first = subject.build_small(list.iter().cloned())?;
    let keys = subject.keys(2, 200);
    for order in permutations(list.len()) {
        let router = subject.build_small(order.iter().map(|&i| list[i].clone()))?;
        let what = || format!("{} listed in the order {order:?}", members(&*first));
        alike(&what, &*first, &*router, &keys)?;
    }
    Ok(())
}

fn joined_in_any_order(subject: &Subject) -> Held {
    let list = subject.weighted(&[1, 2, 1, 0, 3]);
    let fresh = subject.build_small(list.iter().cloned())?;
    let keys = subject.keys(2, 1000);
    for order in permutations(list.len()).into_iter().step_by(7) {
        let mut router = subject.build_small([])?;
        for &i in &order {
            join(&mut *router, &list[i])?;
        }
        let what = || format!("{} joined in the order {order:?}", members(&*fresh));
        alike(&what, &*fresh, &*router, &keys)?;
    }
    Ok(())
}

fn join(router: &mut dyn Router, node: &Node) -> Held {
    match router.apply(&Change::Add(node.clone())) {
        Ok(()) => Ok(()),
        Err(error) => fail(
            format!("{}, add {}", members(router), node.name()),
            "a node that joins",
            error.to_string(),
        ),
    }
}

fn any_history(subject: &Subject) -> Held {
    for case in 0..14 {
        let mut random = Random::new(case);
        let mut weights = random.weights(8, 6);
        weights.push(random.below(6));
        let list = subject.weighted(&weights);
        let (router, history) = detoured(subject, &list, &mut random)?;
        let fresh = subject.build_small(list)?;
        let what = || format!("{} after {history}", members(&*fresh));
        alike(&what, &*fresh, &*router, &subject.keys(2, 300))?;
    }
    Ok(())
}

/// Builds a router that reached these members through others. Also returns its history as text.
fn detoured(
    subject: &Subject,
    list: &[Node],
    random: &mut Random,
) -> Held<(Box<dyn Router>, String)> {
    let passing = Node::new(subject.name(list.len()));
    let before = list.len() / 2;
    let mut changes = Vec::new();
    let first = subject.nodes(list.len()).split_off(before);
    changes.extend(first.iter().map(|node| Change::remove(node.name())));
    let mut order: Vec<_> = list.iter().collect();
    random.shuffle(&mut order);
    for node in order {
        if random.below(2) == 0 {
            changes.push(Change::Add(node.clone()));
            continue;
        }
        let other = node.clone().with_weight(subject.fit(node.weight() + 1));
        changes.extend([
            Change::Add(passing.clone()),
            Change::Add(other),
            Change::reweight(node.name(), node.weight()),
            Change::remove(passing.name()),
        ]);
    }
    let mut router = subject.build_small(first)?;
    for change in &changes {
        if let Err(error) = router.apply(change) {
            let input = format!("{}, {change:?}", members(&*router));
            return fail(
                input,
                "a change that its capabilities promise",
                error.to_string(),
            );
        }
    }
    Ok((router, format!("{changes:?}")))
}

/// Checks a large cluster, because some strategies search it in another way than a small one.
fn large_cluster(subject: &Subject) -> Held {
    let list = subject.weighted(&large());
    let keys: Vec<Key> = subject.keys(9, 500);
    let one = subject.build(list.iter().cloned())?;
    let two = subject.build(list.into_iter().rev())?;
    let input = || format!("{} listed backwards", members(&*one));
    same_owners(input, &keys, &owners(&*one, &keys), &owners(&*two, &keys))?;
    let owner = |key: &Key| name_of(&*two, key.owner(&*two)) != "-";
    equal(input, &true, &keys.iter().all(owner))
}

/// Returns the weights of 1500 nodes.
pub(super) fn large() -> Vec<u32> {
    let weight = |i: usize| [1, 1, 1, 2, 5, 0, 40][i % 7];
    (0..1500).map(weight).collect()
}

/// Returns whether the members alone decide the routes, while there is no load.
pub(super) fn is_set(subject: &Subject) -> bool {
    matches!(subject.scheme.agree(), Agree::Set | Agree::Load)
}
