//! Parameters, weights, names and other words, as a command line or a file gives them.

use arbitrary::Unstructured;
use hashroute::{Error, HashFunction, HashTag, KeyHasher, Node, Nodes, Router, Server, schemes};

use super::nodes;
use crate::Outcome;
use crate::draw::{Draw, damage_text};

/// The largest number that is given to a row: larger rings and tables are only slow.
const MOST: u64 = 512;

/// Parameters of every row, good and bad; what is accepted builds a router that routes.
pub(crate) fn params(u: &mut Unstructured<'_>) -> Outcome {
    let rows = schemes().count();
    let row = schemes().nth(u.below(rows)).expect("a row");
    let mut params = nodes::params(u, row);
    if !row.params.is_empty() && u.chance(100) {
        let param = row.params[u.below(row.params.len())];
        let mut value = match u.byte() {
            0..=99 => param.default.to_owned(),
            100..=179 => u.below(64).to_string(),
            180..=219 if !param.values.is_empty() => u.pick(param.values).to_owned(),
            220..=239 => u.odd_number().to_string(),
            _ => u
                .pick(&[
                    "",
                    "-1",
                    "1.25",
                    "true",
                    "{}",
                    "sha1",
                    "\u{1f980}",
                    "0x10",
                    "nan",
                ])
                .to_owned(),
        };
        damage_text(u, &mut value);
        params = params.with(param.name, value);
    }
    let values = match row.values(&params) {
        Ok(values) => values,
        Err(error) => return refused(&error),
    };
    assert_eq!(values.len(), row.params.len());
    let slow = |value: &String| {
        value
            .parse::<f64>()
            .is_ok_and(|number| number > MOST as f64)
    };
    let given = |name: &str| {
        params
            .get(name, String::new())
            .is_ok_and(|value| slow(&value))
    };
    if row.params.iter().any(|param| given(param.name)) {
        return Outcome::Accepted;
    }
    // Some rows build large tables by default.
    if !u.chance(30) {
        return Outcome::Accepted;
    }
    let members = if row.is_dialect() {
        nodes::servers(u, 3)
    } else {
        let count = u.range(1, 4);
        (0..count)
            .map(|number| Server::new(nodes::name(u, number)).with_weight(nodes::weight(u, row)))
            .collect()
    };
    match row.build(members.clone(), &params) {
        Err(error) => refused(&error),
        Ok(router) => {
            assert_eq!(router.nodes().len(), members.len(), "{}", row.name);
            let key = u.key();
            let owner = router.route(&key);
            assert!(
                owner.is_none_or(|node| node.weight() > 0),
                "{} {params:?}",
                row.name
            );
            Outcome::Accepted
        }
    }
}

fn refused(error: &Error) -> Outcome {
    assert!(!error.to_string().is_empty());
    Outcome::Refused
}

/// Hash tags, names of functions, key hashers and sets of nodes against simple models.
pub(crate) fn words(u: &mut Unstructured<'_>) -> Outcome {
    match u.below(4) {
        0 => tag(u),
        1 => function(u),
        2 => set(u),
        _ => hasher(u),
    }
}

/// A tag against the rule of Redis, written with a search for bytes.
fn tag(u: &mut Unstructured<'_>) -> Outcome {
    let mut word = String::from_utf8_lossy(&[u.pick(b"{[$a"), u.pick(b"}]$b")]).into_owned();
    damage_text(u, &mut word);
    let Ok(tag) = word.parse::<HashTag>() else {
        assert_ne!(word.len(), 2);
        return Outcome::Refused;
    };
    let [open, close] = tag.pair();
    assert_eq!([open, close], word.as_bytes());
    let mut key = u.key();
    for _ in 0..u.below(5) {
        let at = u.below(key.len() + 1);
        key.insert(at, if u.chance(128) { open } else { close });
    }
    let start = key.iter().position(|byte| *byte == open);
    let part = start.and_then(|start| {
        let rest = &key[start + 1..];
        let len = rest.iter().position(|byte| *byte == close)?;
        (len > 0).then(|| &rest[..len])
    });
    assert_eq!(tag.part(&key), part.unwrap_or(&key));
    let hasher = KeyHasher::default().with_tag(tag);
    assert_eq!(hasher.raw(&key), KeyHasher::default().raw(tag.part(&key)));
    Outcome::Accepted
}

fn function(u: &mut Unstructured<'_>) -> Outcome {
    let mut word = u.pick(HashFunction::ALL).name().to_owned();
    damage_text(u, &mut word);
    match word.parse::<HashFunction>() {
        Ok(function) => {
            assert_eq!(function.to_string(), word);
            Outcome::Accepted
        }
        Err(error) => {
            assert!(
                HashFunction::ALL
                    .iter()
                    .all(|function| function.name() != word)
            );
            refused(&error)
        }
    }
}

/// A set of nodes against a list: distinct names, sums of weights.
fn set(u: &mut Unstructured<'_>) -> Outcome {
    let count = u.below(6);
    let list: Vec<Node> = (0..count)
        .map(|number| {
            let same = u.chance(8);
            let name = if same {
                "n0".to_owned()
            } else {
                nodes::name(u, number)
            };
            Node::new(name).with_weight(u.odd_number() as u32)
        })
        .collect();
    let mut names: Vec<_> = list.iter().map(Node::name).collect();
    names.sort_unstable();
    let distinct = names.windows(2).all(|pair| pair[0] != pair[1]);
    match Nodes::new(list.iter().cloned()) {
        Err(error) => {
            assert!(!distinct, "{error}: {list:?}");
            refused(&error)
        }
        Ok(nodes) => {
            assert!(distinct, "{list:?}");
            let sum: u64 = list.iter().map(|node| u64::from(node.weight())).sum();
            assert_eq!((nodes.len(), nodes.total_weight()), (list.len(), sum));
            for node in &list {
                assert_eq!(
                    nodes.id(node.name()).and_then(|id| nodes.get(id)),
                    Some(node)
                );
            }
            Outcome::Accepted
        }
    }
}

/// Hashers: values have their bits, equal hashers hash alike, the JSON of a hash is read back.
fn hasher(u: &mut Unstructured<'_>) -> Outcome {
    let (hasher, key) = (nodes::hasher(u), u.key());
    let hash = hasher.raw(&key);
    let bits = hasher.function().bits();
    assert!(bits == 64 || hash.get() >> bits == 0, "{hasher:?}");
    let mut text = serde_json::to_string(&hash).expect("a number");
    let damaged = damage_text(u, &mut text);
    match serde_json::from_str::<hashroute::KeyHash>(&text) {
        Ok(read) => {
            assert!(damaged || read == hash);
            Outcome::Accepted
        }
        Err(error) => {
            assert!(damaged, "{error}");
            Outcome::Refused
        }
    }
}
