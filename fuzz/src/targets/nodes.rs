//! Random nodes and rows of the registry, as other targets need them.

use arbitrary::Unstructured;
use hashroute::registry::{Params, Scheme, Weights};
use hashroute::{HashFunction, HashTag, KeyHasher, Node, Server};

use crate::draw::{Draw, put};

/// Returns a weight that the row takes: mostly small, sometimes 0, rarely large.
pub(super) fn weight(u: &mut Unstructured<'_>, scheme: &Scheme) -> u32 {
    match scheme.caps().map(|caps| caps.weights) {
        Some(Weights::One) => 1,
        _ => match u.byte() {
            0..=239 => u.range(1, 4) as u32,
            240..=251 => 0,
            _ => u.range(5, 40) as u32,
        },
    }
}

/// Returns a node of this name, in one of three zones with three racks each, or nowhere.
pub(super) fn node(u: &mut Unstructured<'_>, scheme: &Scheme, name: String) -> Node {
    let node = Node::new(name).with_weight(weight(u, scheme));
    match u.byte() {
        0..=127 => node,
        128..=191 => node.with_zone(u.pick(&["z1", "z2", "z3"])),
        192..=247 => node.with_location(u.pick(&["z1", "z2", "z3"]), u.pick(&["r1", "r2", "r3"])),
        _ => node.with_rack("r1"),
    }
}

/// Returns a name: short, sometimes with letters that texts must escape.
pub(super) fn name(u: &mut Unstructured<'_>, number: usize) -> String {
    let mut name = format!("n{number}");
    match u.byte() {
        0..=199 => {}
        200..=219 => put!(name, ".example:{}", u.below(65_536)),
        220..=239 => {
            name.push_str(u.pick(&["=", ",", "\"", "'", "\n", "\t", " ", "\\", "#", "{}"]));
        }
        240..=249 => {
            name.push_str(u.pick(&["é", "\u{1f980}", "\u{202e}", "\0", "\u{7f}", "\u{feff}"]));
        }
        _ => u.word(40, &mut name),
    }
    name
}

/// Returns a hasher; most often the default one.
pub(super) fn hasher(u: &mut Unstructured<'_>) -> KeyHasher {
    let hasher = match u.byte() {
        0..=127 => KeyHasher::default(),
        128..=143 => KeyHasher::sip13(u.take()),
        144..=159 => {
            let sip = KeyHasher::new(HashFunction::Sip24);
            sip.with_key(u.take()).expect("it takes a key")
        }
        160..=199 => {
            let hasher = KeyHasher::new(HashFunction::Xxh3);
            hasher.with_seed(u.odd_number()).expect("it takes a seed")
        }
        _ => {
            let keyed = [HashFunction::Sip13, HashFunction::Sip24];
            let function = u.pick(HashFunction::ALL);
            if keyed.contains(&function) {
                KeyHasher::default()
            } else {
                KeyHasher::new(function)
            }
        }
    };
    if u.chance(60) {
        return hasher.with_tag(HashTag::new(u.pick(b"{[$a"), u.pick(b"}]$b")));
    }
    hasher
}

/// Returns small tables and rings for this row, so that a build is cheap, and other options.
pub(super) fn params(u: &mut Unstructured<'_>, scheme: &Scheme) -> Params {
    let mut params = Params::default();
    for param in scheme.params {
        let value = match param.name {
            "points" => Some(u.range(1, 8).to_string()),
            "table-size" => Some(u.pick(&["31", "67", "251"]).to_owned()),
            "slots" if !scheme.is_dialect() => Some(u.pick(&["16", "100", "512"]).to_owned()),
            "min-ring-size" => Some(u.pick(&["1", "16", "64"]).to_owned()),
            "max-ring-size" => Some("128".to_owned()),
            _ if param.values.is_empty() || u.chance(200) => None,
            _ => Some(u.pick(param.values).to_owned()),
        };
        if let Some(value) = value {
            params = params.with(param.name, value);
        }
    }
    if scheme.is_dialect() || u.chance(128) {
        return params;
    }
    params.with_hasher(hasher(u))
}

/// Returns servers for a dialect: addresses of IPv4, most with weight 1 and without labels.
pub(super) fn servers(u: &mut Unstructured<'_>, most: usize) -> Vec<Server> {
    let (count, plain) = (u.range(1, most), u.chance(180));
    let first = u.below(200);
    let server = |number| {
        let server = Server::new(format!("10.0.{number}.{first}:80"));
        match u.byte() {
            _ if plain => server,
            0..=127 => server.with_weight(u.range(1, 3) as u32),
            128..=191 => server.with_label(format!("{}", 7 + number)),
            192..=223 => server.down(),
            _ => server,
        }
    };
    (0..count).map(server).collect()
}
