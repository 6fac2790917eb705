//! Law 10: a key goes where its hash goes, and a refused key goes nowhere.

use super::clause::Clause;
use super::subject::{Subject, members};
use super::trial::{Held, ensure, equal};
use hashroute::registry::KeyForm;
use hashroute::{Loads, Router, RouterExt, Spread};

pub(super) const KEYS: &[Clause] = &[
    Clause::new("a key goes where its hash goes", keys_go_by_hash),
    Clause::new("keys of the stated form have owners", routed),
    Clause::new("the stated hash function is the one", stated_hash),
];

/// Returns keys of many forms: empty, text, digits, unprintable bytes, packet fields of each
/// length, and keys longer than systems take.
pub(super) fn varied() -> Vec<Vec<u8>> {
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
    keys.extend([&b"\xff\0"[..], &[b'k'; 250], &[b'k'; 300]].map(<[u8]>::to_vec));
    keys.extend([8, 9, 20, 21].map(|length| (1..=length).collect::<Vec<u8>>()));
    keys.extend((0..5).map(|i| KeyForm::Bytes.sample(i)));
    keys
}

/// Checks that `route` is `route_hash(hash_key(key)?)`, and that every other method agrees.
pub(super) fn goes_by_hash(router: &dyn Router, key: &[u8]) -> Held {
    let input = |what: &str| {
        let shown = key.escape_ascii();
        format!("{}, key \"{shown}\", {what}", members(router))
    };
    let hash = router.hash_key(key);
    let id = hash.and_then(|hash| router.route_hash(hash));
    let node = id.and_then(|id| router.nodes().get(id));
    equal(|| input("route"), &node, &router.route(key))?;
    equal(|| input("owner"), &id, &router.owner(key))?;
    for spread in [Spread::Nodes, Spread::Racks, Spread::Zones] {
        let list = router.replicas(key, 2, spread);
        let expected = hash.map(|hash| router.replicas_hash(hash, 2, spread));
        let expected = expected.unwrap_or_default();
        equal(|| input("replicas"), &expected[..], &list[..])?;
    }
    match router.loads() {
        Some(loads) if hash.is_none() => is_not_leased(loads, key, &input),
        _ => Ok(()),
    }
}

fn is_not_leased(loads: &dyn Loads, key: &[u8], input: &dyn Fn(&str) -> String) -> Held {
    let before = loads.total_load();
    let leased = loads.acquire(key).map(|lease| lease.node());
    equal(|| input("lease"), &None, &leased)?;
    equal(|| input("total load"), &before, &loads.total_load())
}

fn keys_go_by_hash(subject: &Subject) -> Held {
    for count in [0, 1, 3] {
        let router = subject.build(subject.nodes(count))?;
        let samples = (0..20).map(|i| subject.scheme.keys.sample(i));
        for key in varied().into_iter().chain(samples) {
            goes_by_hash(&*router, &key)?;
        }
    }
    Ok(())
}

fn routed(subject: &Subject) -> Held {
    for count in [1, 2, 7] {
        let router = subject.build(subject.nodes(count))?;
        for i in 0..100 {
            let key = subject.scheme.keys.sample(i);
            let shown = key.escape_ascii();
            let input = || format!("{}, key \"{shown}\"", members(&*router));
            ensure(router.route(&key).is_some(), input, "an owner", || {
                format!("none for hash {:?}", router.hash_key(&key))
            })?;
        }
    }
    Ok(())
}

/// Checks that a router which names its hash function hashes by it.
fn stated_hash(subject: &Subject) -> Held {
    let router = subject.build(subject.nodes(3))?;
    let id = router.hash_id();
    for key in varied() {
        let Some(stated) = id.hash(&key) else {
            continue;
        };
        let shown = key.escape_ascii();
        let input = || format!("hash identity {id:?}, key \"{shown}\"");
        equal(input, &Some(stated), &router.hash_key(&key))?;
    }
    Ok(())
}
