//! Specs: built from random nodes, written as TOML and JSON, damaged, read, changed.

use arbitrary::Unstructured;
use hashroute::registry::{Agree, Leave, Scheme};
use hashroute::{Change, KeyHash, Node, Router, Server, Spec, compat, strategy};

use super::nodes;
use crate::Outcome;
use crate::draw::{Draw, damage_text};

/// Dialects whose pools are cheap to build.
const CHEAP: [&str; 9] = [
    "jump",
    "go-jump",
    "lithammer",
    "python-memcached",
    "nginx",
    "twemproxy",
    "envoy",
    "dubbo",
    "haproxy",
];

fn row(u: &mut Unstructured<'_>) -> &'static Scheme {
    if u.chance(40) {
        if let Ok(row) = compat::find(u.pick(&CHEAP)) {
            return row;
        }
    }
    &strategy::ALL[u.below(strategy::ALL.len())]
}

fn members(u: &mut Unstructured<'_>, row: &'static Scheme) -> Vec<Server> {
    if row.is_dialect() {
        return nodes::servers(u, 4);
    }
    let count = u.range(0, 5);
    let member = |number| {
        let name = nodes::name(u, number);
        Server::from(nodes::node(u, row, name))
    };
    (0..count).map(member).collect()
}

pub(crate) fn specs(u: &mut Unstructured<'_>) -> Outcome {
    let row = row(u);
    let (members, params) = (members(u, row), nodes::params(u, row));
    let Ok(spec) = Spec::new(row, members, &params) else {
        return Outcome::Refused;
    };
    let spec = spec
        .with_epoch(u.odd_number() & Spec::MAX_EPOCH)
        .expect("a good epoch");
    let toml = u.chance(128);
    let mut text = if toml { spec.to_toml() } else { spec.to_json() };
    let damaged = damage_text(u, &mut text);
    if text.len() > 1 << 14 || large(&text) {
        return Outcome::Refused;
    }
    let (read, router) = match Spec::read(&text) {
        Ok(read) => read,
        Err(error) => {
            assert!(damaged, "{error}: {text}");
            let message = error.to_string();
            assert!(
                !message.is_empty() && !message.contains("line 0"),
                "{message}"
            );
            return Outcome::Refused;
        }
    };
    if !damaged {
        assert_eq!(read.epoch(), spec.epoch());
        if u.chance(24) {
            assert_eq!(read.to_toml(), spec.to_toml());
            assert_eq!(read.canonical(), spec.canonical());
        }
    }
    if u.chance(16) {
        let other = if toml { read.to_json() } else { read.to_toml() };
        let again: Spec = other.parse().expect("what we wrote");
        assert_eq!(again.fingerprint(), read.fingerprint(), "{text}\n{other}");
        assert_eq!(again.epoch(), read.epoch());
    }
    if u.chance(24) {
        change(u, read, &*router);
    }
    Outcome::Accepted
}

/// Returns whether a damaged text asks for a table or a ring that takes long to build.
fn large(text: &str) -> bool {
    let mut digits = 0;
    let mut runs = text.bytes().map(|byte| {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        digits
    });
    // Seeds, keys and epochs stand in quotes or on their own lines; sizes are short numbers. A
    // number of five digits is allowed where nothing else on the line is a size.
    let has_long = runs.any(|digits| digits == 5);
    let sizes = ["points", "table-size", "slots", "weight", "ring-size"];
    has_long
        && text.split(['\n', ',']).any(|line| {
            let is_size = sizes.iter().any(|size| line.contains(size));
            is_size && line.bytes().filter(u8::is_ascii_digit).count() > 4
        })
}

/// Applies a change to the spec, and compares its router with one that is built afresh.
fn change(u: &mut Unstructured<'_>, mut spec: Spec, router: &dyn Router) {
    let keys: [KeyHash; 4] = core::array::from_fn(|_| KeyHash::from_integer(u.number()));
    let owner = |router: &dyn Router, key| {
        let id = router.route_hash(key);
        id.and_then(|id| router.nodes().name(id)).map(str::to_owned)
    };
    let fresh = spec.build().expect("a spec can be built");
    for key in keys {
        assert_eq!(owner(router, key), owner(&*fresh, key));
    }
    let row = spec.scheme();
    let nodes = spec.nodes();
    let name = |u: &mut Unstructured<'_>| {
        let last = row.caps().is_some_and(|caps| caps.leave == Leave::Last);
        let at = if last {
            nodes.len().checked_sub(1)?
        } else {
            u.below(nodes.len())
        };
        Some(nodes.get(at)?.name().to_owned())
    };
    let change = match u.below(3) {
        0 => Change::Add(Node::new("new").with_weight(nodes::weight(u, row))),
        1 => Change::remove(name(u).unwrap_or_default()),
        _ => Change::reweight(name(u).unwrap_or_default(), nodes::weight(u, row)),
    };
    let before = (spec.epoch(), spec.to_json());
    match spec.apply(&change) {
        Err(_) => assert_eq!((spec.epoch(), spec.to_json()), before),
        Ok(changed) => {
            assert_eq!(spec.epoch(), before.0 + 1);
            let fresh = spec.build().expect("a spec can be built");
            let again: Spec = spec.to_toml().parse().expect("what we wrote");
            assert_eq!(again.fingerprint(), spec.fingerprint());
            if row.agree() != Agree::Load {
                for key in keys {
                    assert_eq!(owner(&*changed, key), owner(&*fresh, key), "{change:?}");
                }
            }
        }
    }
}
