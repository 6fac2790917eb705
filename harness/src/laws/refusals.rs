//! Laws 7 and 8: what is refused, that nothing panics, and that threads can share a router.

use super::clause::Clause;
use super::random::Random;
use super::subject::{Key, Subject, list, members, owners, same_owners, state, walk};
use super::trial::{Held, ensure, equal, fail, short};
use crate::assign_hash;
use hashroute::registry::{Params, Weights};
use hashroute::{Change, Error, KeyHash, Node, Router, RouterExt, Spread};

pub(super) const REFUSALS: &[Clause] = &[
    Clause::new("changes that fail", failed_changes),
    Clause::new("errors say what was wrong", errors),
    Clause::new("unknown parameters are refused", parameters),
    Clause::new("any names, weights and keys", anything),
    Clause::new(
        "absurd weights are refused or work in little memory",
        absurd_weights,
    ),
    Clause::new("nobody owns a key where nobody has weight", empty),
];

pub(super) const THREADS: &[Clause] = &[Clause::new("four threads see what one sees", threads)];

/// Parameters with which changes reach their limits soon, for rows that have them.
fn tight(subject: &Subject) -> Params {
    let params = subject.scheme.params;
    let known = |name: &str| params.iter().any(|param| param.name == name);
    let small = [("points", "1000"), ("table-size", "5"), ("slots", "5")];
    let small = small.into_iter().filter(|(name, _)| known(name));
    small.fold(Params::default(), |params, (name, value)| {
        params.with(name, value)
    })
}

/// Checks that a failed change leaves the state as it was, and a successful one a router that
/// works.
fn try_change(subject: &Subject, router: &mut dyn Router, change: &Change) -> Held {
    let keys = subject.keys(40, 30);
    let start = members(router);
    let input = || format!("{start}, {}", short(change));
    let before_it = owners(router, &keys);
    // A router may count lookups in its state, so none is made between the two readings.
    let before = written(router);
    let applied = router.apply(change);
    let after = written(router);
    if let Err(error) = applied {
        ensure(after == before, input, "the state as it was", || {
            format!("another state, after the error: {error}")
        })?;
        same_owners(input, &keys, &before_it, &owners(router, &keys))?;
        ensure(!error.to_string().is_empty(), input, "a message", || {
            format!("none for {error:?}")
        })?;
    }
    works(subject, router, &keys[..5], &input)
}

/// Returns the state as text, unless it has millions of points.
fn written(router: &dyn Router) -> Option<String> {
    (router.heap_bytes() < 1 << 20).then(|| state(router))
}

/// Checks that keys have owners with weight if any node has weight, and that nothing panics.
fn works(subject: &Subject, router: &dyn Router, keys: &[Key], input: &dyn Fn() -> String) -> Held {
    for key in keys {
        let input = || format!("{}, {key}", input());
        let Some(hash) = key.hash(router) else {
            continue;
        };
        let owner = router.route_hash(hash);
        let weight = owner.map(|id| router.nodes().weight(id).unwrap_or(0));
        // A system may have no owner for a key while a server is down.
        let gap = subject.scheme.is_dialect() && weight.is_none();
        let any = router.nodes().weighted() > 0;
        ensure(
            gap || (weight.is_some() == any && weight != Some(0)),
            input,
            "an owner with weight, if there is one",
            || format!("an owner of weight {weight:?}"),
        )?;
        router.replicas_hash(hash, 3, Spread::Zones);
        router.explain(hash);
        walk(router, hash);
    }
    Ok(())
}

fn failed_changes(subject: &Subject) -> Held {
    for params in [Params::default(), tight(subject)] {
        let Ok(mut router) = subject.build_with(subject.nodes(5), &params) else {
            if params == Params::default() {
                subject.build(subject.nodes(5))?;
            }
            continue; // too tight
        };
        let name = |i: usize| subject.name(i);
        let huge = |name: String| Node::new(name).with_weight(u32::MAX);
        for change in [
            Change::Add(Node::new(name(0)).with_weight(9)),
            Change::Add(Node::new("")),
            Change::remove("stranger"),
            Change::remove(""),
            Change::reweight("stranger", 3),
            Change::remove(name(1)),
            Change::reweight(name(1), 2),
            Change::reweight(name(0), u32::MAX),
            Change::Add(huge(name(5))),
            Change::Add(huge(name(6))),
            Change::add(name(7)),
            Change::add(name(8)),
            Change::add(name(9)),
            Change::reweight(name(0), 0),
        ] {
            try_change(subject, &mut *router, &change)?;
        }
    }
    Ok(())
}

fn errors(subject: &Subject) -> Held {
    let mut router = subject.build(subject.nodes(2))?;
    let first = subject.name(0);
    let stranger = subject.name(2);
    let unknown = Error::UnknownNode {
        name: stranger.as_str().into(),
    };
    let taken = Error::DuplicateNode {
        name: first.as_str().into(),
    };
    for (change, error) in [
        (Change::remove(stranger.as_str()), &unknown),
        (Change::reweight(stranger.as_str(), 1), &unknown),
        (Change::add(first.as_str()), &taken),
        (Change::add(""), &Error::EmptyName),
    ] {
        let input = || format!("{}, {change:?}", list(&subject.nodes(2)));
        equal(input, &Err(error.clone()), &router.apply(&change))?;
    }
    let twice = [0, 1, 0].map(|i| Node::new(subject.name(i)));
    for (nodes, error) in [(&twice[..], &taken), (&[Node::new("")], &Error::EmptyName)] {
        let built = subject
            .scheme
            .build(nodes.iter().cloned(), &Params::default());
        equal(|| list(nodes), &Some(error), &built.err().as_ref())?;
    }
    Ok(())
}

fn parameters(subject: &Subject) -> Held {
    let unknown = Params::default().with("no-such-parameter", "1");
    let built = subject.scheme.build(subject.nodes(3), &unknown);
    let named = |error: &Error| error.to_string().contains("no-such-parameter");
    let refused = built.as_ref().err().is_some_and(named);
    let input = || String::from("parameter no-such-parameter = 1");
    ensure(refused, input, "an error that names it", || {
        short(&built.as_ref().err())
    })
}

/// Draws a name that nobody should choose, and sometimes one that occurred before.
fn any_name(subject: &Subject, random: &mut Random) -> String {
    let letters = |random: &mut Random, most, of: fn(u32) -> Option<char>| {
        let count = random.below(most);
        (0..count)
            .filter_map(|_| of(random.below(0x11_0000)))
            .collect()
    };
    match random.below(9) {
        0..3 => letters(random, 3, |n| char::from_u32(u32::from(b'a') + n % 3)),
        3..5 => letters(random, 9, char::from_u32),
        5 => String::from("\0"),
        6 => String::from("节点-一"),
        7 => letters(random, 12, |n| {
            char::from_u32(u32::from(b"a9.:/-"[n as usize % 6]))
        }),
        // A dialect hashes the name for each point, so a long name takes long.
        _ => "n".repeat(if subject.scheme.is_dialect() {
            1 << 10
        } else {
            64 << 10
        }),
    }
}

fn any_weight(subject: &Subject, random: &mut Random) -> u32 {
    let small = 2 + random.below(subject.large_weight().min(480) / 10);
    let large = subject.large_weight();
    random.of(&[0, 1, 1, 1, 1, small, small, large, u32::MAX])
}

fn any_change(subject: &Subject, random: &mut Random) -> Change {
    // If names must be addresses, other names would test only the check of names.
    let name = match random.below(3) {
        0 => subject.name(random.index(4)),
        _ => any_name(subject, random),
    };
    let weight = any_weight(subject, random);
    match random.below(5) {
        0..3 => {
            let node = Node::new(name).with_weight(weight);
            Change::Add(match random.below(3) {
                0 => node,
                1 => node.with_location("", "r"),
                _ => node.with_location(random.of(&["x", "y", "z"]), "r"),
            })
        }
        3 => Change::remove(name),
        _ => Change::reweight(name, weight),
    }
}

fn anything(subject: &Subject) -> Held {
    let cases = if subject.scheme.is_dialect() { 6 } else { 20 };
    for case in 0..cases {
        let mut random = Random::new(300 + case);
        let mut router = subject.build([])?;
        for _ in 0..random.below(12) {
            let change = any_change(subject, &mut random);
            try_change(subject, &mut *router, &change)?;
        }
        survives(subject, &*router, &mut random)?;
        let changes = (0..random.below(6)).map(|_| any_change(subject, &mut random));
        let nodes: Vec<_> = changes.filter_map(added).collect();
        if let Ok(router) = subject.scheme.build(nodes, &Params::default()) {
            survives(subject, &*router, &mut random)?;
        }
    }
    Ok(())
}

fn added(change: Change) -> Option<Node> {
    match change {
        Change::Add(node) => Some(node),
        _ => None,
    }
}

/// Looks up and assigns any keys and any hashes.
fn survives(subject: &Subject, router: &dyn Router, random: &mut Random) -> Held {
    let length = random.index(300);
    let key: Vec<u8> = (0..length)
        .map(|_| random.number().to_le_bytes()[0])
        .collect();
    let keys: [&[u8]; 6] = [&key, b"", b"\xc8", b"{}", b"\0", b"10"];
    let mut keys: Vec<_> = keys.map(|key| Key::Bytes(key.into())).into();
    if subject.scheme.caps().is_some() {
        keys.extend([0, 1, 1 << 63, u64::MAX].map(|raw| Key::Hash(KeyHash::from_raw(raw))));
    }
    let input = || members(router);
    works(subject, router, &keys, &input)?;
    for key in &keys {
        let hash = key.hash(router);
        let id = hash.and_then(|hash| assign_hash(router, hash));
        let weight = id.map(|id| router.nodes().weight(id));
        let input = || format!("{}, {key} assigned", input());
        let fits = weight.is_none_or(|weight| weight > Some(0));
        ensure(fits, input, "a node with weight", || {
            format!("weight {weight:?}")
        })?;
    }
    Ok(())
}

/// The most bytes that two nodes may take, whatever their weights.
const MEMORY: usize = 64 << 20;

fn absurd_weights(subject: &Subject) -> Held {
    for weights in [
        [u32::MAX, u32::MAX],
        [1, u32::MAX],
        [u32::MAX, 0],
        [1, subject.large_weight()],
    ] {
        let nodes = subject.nodes(2).into_iter().zip(weights);
        let nodes: Vec<_> = nodes
            .map(|(node, weight)| node.with_weight(weight))
            .collect();
        let built = subject
            .scheme
            .build(nodes.iter().cloned(), &Params::default());
        let input = || list(&nodes);
        match built {
            Ok(router) => {
                let used = router.heap_bytes();
                ensure(used < MEMORY, input, "less than 64 MiB", || {
                    format!("{used} bytes")
                })?;
                works(subject, &*router, &subject.keys(41, 100), &input)?;
            }
            Err(error) => refusal(subject, &error, &input)?,
        }
    }
    Ok(())
}

/// Checks that a strategy refuses a weight as too large, unless it takes only weight 1.
fn refusal(subject: &Subject, error: &Error, input: &dyn Fn() -> String) -> Held {
    let fits = match (subject.scheme.caps(), error) {
        (None, _) | (_, Error::Capacity { .. }) => true,
        (Some(caps), Error::Weight { .. }) => caps.weights == Weights::One,
        _ => false,
    };
    ensure(fits, input, "an error of capacity", || error.to_string())
}

/// Checks routers without members, and without a member that has weight.
fn empty(subject: &Subject) -> Held {
    let mut routers: Vec<Box<dyn Router>> = Vec::new();
    routers.push(subject.build([])?);
    let mut drained = subject.build(subject.nodes(3))?;
    let down = |i| Change::reweight(subject.name(i), 0);
    if (0..3).rev().all(|i| drained.apply(&down(i)).is_ok()) {
        routers.push(drained);
    }
    if subject.weighs() {
        // A dialect may refuse to be built without a server.
        routers.extend(subject.build(subject.weighted(&[0, 0])).ok());
    }
    for router in &routers {
        for key in subject.keys(50, 50) {
            let Some(hash) = key.hash(&**router) else {
                continue;
            };
            let owner = router.route_hash(hash);
            let input = || format!("{}, {key}", members(&**router));
            equal(input, &None, &owner)?;
            let walk = walk(&**router, hash);
            equal(input, &true, &walk.is_empty())?;
        }
    }
    Ok(())
}

fn threads(subject: &Subject) -> Held {
    let router = subject.build(subject.nodes(5))?;
    let keys = subject.keys(42, 2000);
    let alone = owners(&*router, &keys);
    let together = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| owners(&*router, &keys)))
            .collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.collect::<Vec<_>>()
    });
    for seen in together {
        match seen {
            Ok(seen) => same_owners(|| members(&*router), &keys, &alone, &seen)?,
            Err(_) => return fail(members(&*router), "no panic in a thread", "a panic"),
        }
    }
    Ok(())
}
