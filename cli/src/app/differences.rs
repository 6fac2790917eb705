//! The comparison of two set-ups: whether they are equal for every key, and what differs.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use hashroute::registry::{Params, Scheme, Setup};
use hashroute::{Basis, Node, Router, Server, Spec, diff, diff_keys};
use hashroute_harness::Keys;

use super::setup::SetUp;
use crate::units;

/// The most details of one difference that people see.
const SHOWN: usize = 5;

/// What shares refer to, if they are exact for every key.
pub(crate) const ALL: &str = "all keys";

/// A part of a set-up. Each decides routes on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the systems hash of a request. Routes of keys do not tell.
    Key,
    System,
    Parameters,
    Hash,
    Members,
    Weights,
    Labels,
    States,
    Locations,
    Order,
    Table,
}

impl Kind {
    /// The parts that decide the route of a key.
    const ROUTING: [Self; 10] = [
        Self::System,
        Self::Parameters,
        Self::Hash,
        Self::Members,
        Self::Weights,
        Self::Labels,
        Self::States,
        Self::Locations,
        Self::Order,
        Self::Table,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::System => "system",
            Self::Parameters => "parameters",
            Self::Hash => "hash",
            Self::Members => "members",
            Self::Weights => "weights",
            Self::Labels => "labels",
            Self::States => "servers down",
            Self::Locations => "zones and racks",
            Self::Order => "order",
            Self::Table => "table",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One kind of difference between two set-ups.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) kind: Kind,
    /// Each detail in words: `c 1 to 2`.
    pub(crate) details: Vec<String>,
    /// The share of keys that move if nothing else changes; `None` if there is no such set-up.
    pub(crate) alone: Option<f64>,
    /// Whether routes change when this is undone in the second set-up; `None` if unknown.
    pub(crate) matters: Option<bool>,
}

impl Difference {
    /// Describes the difference in a sentence. If it is the only one, it moves what moves in all.
    pub(crate) fn sentence(&self, keys: &str, only: bool) -> String {
        let shown = self.details[..self.details.len().min(SHOWN)].join(", ");
        let more = match self.details.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {} more", units::count(more as u64)),
        };
        let effect = match (self.matters, self.alone) {
            (Some(false), Some(0.0) | None) => match keys {
                ALL => "; no effect".into(),
                keys => format!("; no effect on {keys}"),
            },
            (_, Some(share)) if !only => {
                format!("; alone it moves {} of {keys}", units::percent(share))
            }
            _ => String::new(),
        };
        format!("- {}: {shown}{more}{effect}", self.kind)
    }
}

/// Returns what the two hash of a request, if configurations say so and it differs.
pub(crate) fn other_key(before: &SetUp, after: &SetUp) -> Option<[String; 2]> {
    let sources = [before.choice.key_source()?, after.choice.key_source()?];
    let differ = !sources[0].is_same(sources[1]);
    differ.then(|| sources.map(|source| source.text.to_string()))
}

/// Returns whether both send every key to the same node, by proof: both hash alike and have the
/// same table, or they have the same fingerprint. Equal routes of some keys are no proof.
pub(crate) fn same_routes(before: &SetUp, after: &SetUp) -> bool {
    let [old, new] = [&*before.router, &*after.router];
    if let Ok(diff) = diff(old, new) {
        if diff.basis() == Basis::Hashes {
            return diff.moved_count() == 0;
        }
    }
    let print = |side: &SetUp| Some(Spec::of_setup(side.setup()?).ok()?.0.fingerprint());
    matches!((print(before), print(after)), (Some(one), Some(other)) if one == other)
}

/// Returns what differs, and what each difference moves: counted for `keys`, or else of all keys.
pub(crate) fn differences(before: &SetUp, after: &SetUp, keys: Option<&Keys>) -> Vec<Difference> {
    let key = other_key(before, after).map(|[from, to]| Difference {
        kind: Kind::Key,
        details: vec![format!("{from} to {to}")],
        alone: None,
        matters: None,
    });
    let (Some(one), Some(other)) = (before.setup(), after.setup()) else {
        return key.into_iter().collect();
    };
    let sides = Sides::new(&one, &other);
    let all = Kind::ROUTING.map(|kind| (kind, sides.details(kind)));
    let all: Vec<_> = all
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .collect();
    let [old, new] = [&*before.router, &*after.router];
    let single = all.len() == 1;
    let judged = all.into_iter().map(|(kind, details)| {
        let only = (!single).then(|| sides.mixed(|of| of == kind)).flatten();
        let undone = (!single).then(|| sides.mixed(|of| of != kind)).flatten();
        let alone = only.and_then(|only| moved(old, &*only, keys));
        let effect = undone.and_then(|undone| moved(new, &*undone, keys));
        Difference {
            kind,
            details,
            alone,
            matters: effect.map(|share| share > 0.0),
        }
    });
    key.into_iter().chain(judged).collect()
}

/// Returns the share of keys that move; `None` if neither router has a node for any of them.
fn moved(old: &dyn Router, new: &dyn Router, keys: Option<&Keys>) -> Option<f64> {
    let diff = match keys {
        Some(keys) => diff_keys(old, new, keys.iter()),
        None => diff(old, new),
    };
    diff.ok().map(|diff| diff.moved())
}

/// Two set-ups, taken apart.
struct Sides<'a> {
    setups: [&'a Setup; 2],
    servers: [BTreeMap<&'a str, &'a Server>; 2],
}

impl<'a> Sides<'a> {
    fn new(one: &'a Setup, other: &'a Setup) -> Self {
        let setups = [one, other];
        let servers = setups.map(|setup| {
            let servers = setup.servers().iter();
            servers.map(|server| (server.name(), server)).collect()
        });
        Self { setups, servers }
    }

    fn scheme(&self, side: usize) -> &'static Scheme {
        self.setups[side].scheme()
    }

    fn same_system(&self) -> bool {
        self.scheme(0).title() == self.scheme(1).title()
    }

    /// Returns what differs in words; nothing if both are alike.
    fn details(&self, kind: Kind) -> Vec<String> {
        match kind {
            // It is no part of a set-up.
            Kind::Key => Vec::new(),
            Kind::System => self.system(),
            Kind::Parameters | Kind::Hash => self.values(kind),
            Kind::Members => self.members(),
            Kind::Order => self.order(),
            Kind::Table => self.table(),
            Kind::Weights => self.each(|server| server.weight().to_string()),
            Kind::Labels => self.each(|server| server.own_label().unwrap_or("none").to_owned()),
            Kind::States => self.each(|server| {
                let state = if server.is_down() { "down" } else { "up" };
                state.to_owned()
            }),
            Kind::Locations => self.each(|server| {
                let node = server.to_node();
                let [zone, rack] = [node.zone(), node.rack()].map(|part| part.unwrap_or("-"));
                format!("{zone}/{rack}")
            }),
        }
    }

    fn system(&self) -> Vec<String> {
        let [one, other] = [0, 1].map(|side| self.scheme(side).title());
        (one != other)
            .then(|| format!("{one} to {other}"))
            .into_iter()
            .collect()
    }

    /// Returns the parameters that differ between two set-ups of one system.
    fn values(&self, kind: Kind) -> Vec<String> {
        if !self.same_system() {
            return Vec::new();
        }
        let mut words = Vec::new();
        let values = self
            .setups
            .map(|setup| setup.scheme().values(setup.params()));
        if let [Ok(old), Ok(new)] = &values {
            for (name, value) in old {
                let after = new.get(name).map_or("", String::as_str);
                if value != after && kind_of(name) == kind {
                    let [from, to] = [value.as_str(), after].map(|text| match text {
                        "" => "default",
                        text => text,
                    });
                    words.push(format!("{name} {from} to {to}"));
                }
            }
        }
        if kind == Kind::Hash && !self.scheme(0).is_dialect() {
            let [one, other] = self.setups.map(|setup| setup.params().hasher());
            let [from, to] = [&one, &other].map(|hasher| hasher.function().name());
            if from != to {
                words.push(format!("{from} to {to}"));
            } else if one.tag() != other.tag() {
                words.push("another hash tag".into());
            } else if one != other {
                words.push("another seed or key".into());
            }
        }
        words
    }

    fn members(&self) -> Vec<String> {
        let missing = |side: usize| {
            let other = &self.servers[1 - side];
            let servers = self.setups[side].servers().iter();
            servers.filter(move |server| !other.contains_key(server.name()))
        };
        let mut came: Vec<_> = missing(1).collect();
        let mut words = Vec::new();
        for server in missing(0) {
            // A label that stays is the same server to the system, at another address.
            let same = server
                .own_label()
                .and_then(|label| came.iter().position(|new| new.own_label() == Some(label)));
            words.push(match same.map(|at| came.remove(at)) {
                Some(new) => format!("{} is now {}", described(server), new.name()),
                None => format!("{} leaves", described(server)),
            });
        }
        words.extend(
            came.iter()
                .map(|server| format!("{} joins", described(server))),
        );
        words
    }

    fn order(&self) -> Vec<String> {
        if !(0..2).any(|side| self.scheme(side).minds_order()) {
            return Vec::new();
        }
        let [one, other] = [0, 1].map(|side| {
            let servers = self.setups[side].servers().iter().map(Server::name);
            let common = servers.filter(|name| self.servers[1 - side].contains_key(name));
            common.collect::<Vec<_>>()
        });
        let at = one.iter().zip(&other).position(|(a, b)| a != b);
        at.map(|at| format!("{} is now before {}", other[at], one[at]))
            .into_iter()
            .collect()
    }

    fn table(&self) -> Vec<String> {
        let [one, other] = self.setups.map(Setup::table);
        match (one, other) {
            (Some(one), Some(other)) if self.same_system() && one != other => {
                vec!["other owners of slots".into()]
            }
            _ => Vec::new(),
        }
    }

    /// Compares one property of the servers that both have.
    fn each(&self, text: impl Fn(&Server) -> String) -> Vec<String> {
        let servers = self.setups[0].servers().iter();
        let words = servers.filter_map(|server| {
            let new = *self.servers[1].get(server.name())?;
            let [from, to] = [text(server), text(new)];
            (from != to).then(|| format!("{} {from} to {to}", server.name()))
        });
        words.collect()
    }

    /// Builds the router that takes these parts from the second side and the others from the first;
    /// `None` if there is none, and for tables, whose parts belong together.
    fn mixed(&self, second: impl Fn(Kind) -> bool) -> Option<Box<dyn Router>> {
        if self.setups.iter().any(|setup| setup.table().is_some()) {
            return None;
        }
        let side = |kind| usize::from(second(kind));
        let system = self.setups[side(Kind::System)];
        let params = if self.same_system() {
            self.params([side(Kind::Parameters), side(Kind::Hash)])?
        } else {
            system.params().clone()
        };
        let labels = system.scheme().is_dialect();
        let names = self.names(side(Kind::Members), side(Kind::Order));
        let servers = names.into_iter().filter_map(|name| {
            let of = |kind| {
                let first = self.servers[side(kind)].get(name);
                first.or_else(|| self.servers[1 - side(kind)].get(name))
            };
            let located = of(Kind::Locations)?.to_node();
            let weight = of(Kind::Weights)?.weight();
            let mut server = Server::from(relocated(name, &located).with_weight(weight));
            if let Some(label) = of(Kind::Labels)?.own_label().filter(|_| labels) {
                server = server.with_label(label);
            }
            Some(if of(Kind::States)?.is_down() {
                server.down()
            } else {
                server
            })
        });
        Setup::new(system.scheme(), servers, params).build().ok()
    }

    /// Returns the parameters of one side and those of the hash of another.
    fn params(&self, [others, hash]: [usize; 2]) -> Option<Params> {
        let hasher = self.setups[hash].params().hasher();
        let mut params = Params::default();
        if !self.scheme(0).is_dialect() {
            params = params.with_hasher(hasher);
        }
        for (kind, side) in [(Kind::Parameters, others), (Kind::Hash, hash)] {
            let setup = self.setups[side];
            for param in setup.scheme().params {
                let value = setup
                    .scheme()
                    .values(setup.params())
                    .ok()?
                    .remove(param.name)?;
                if kind_of(param.name) == kind && value != param.default {
                    params = params.with(param.name, value);
                }
            }
        }
        Some(params)
    }

    /// Returns the members of one side in the order of another. Those that the order does not have
    /// come last.
    fn names(&self, members: usize, order: usize) -> Vec<&'a str> {
        let is_member = |name: &&str| self.servers[members].contains_key(*name);
        let first = self.setups[order].servers().iter().map(Server::name);
        let mut names: Vec<_> = first.filter(is_member).collect();
        let known: BTreeSet<_> = names.iter().copied().collect();
        let all = self.setups[members].servers().iter().map(Server::name);
        names.extend(all.filter(|name| !known.contains(name)));
        names
    }
}

/// Makes a node of this name where another node stands.
fn relocated(name: &str, located: &Node) -> Node {
    let node = Node::new(name);
    match (located.zone(), located.rack()) {
        (Some(zone), Some(rack)) => node.with_location(zone, rack),
        (Some(zone), None) => node.with_zone(zone),
        (None, Some(rack)) => node.with_rack(rack),
        (None, None) => node,
    }
}

/// Returns whether a parameter is about the hash of keys or about anything else.
fn kind_of(parameter: &str) -> Kind {
    const OTHERS: [&str; 6] = [
        "function",
        "avalanche",
        "algorithm",
        "char",
        "partitioner",
        "namespace",
    ];
    let hash = parameter.contains("hash") && parameter != "hash.nodes";
    if hash || OTHERS.contains(&parameter) {
        Kind::Hash
    } else {
        Kind::Parameters
    }
}

/// Returns the name of a server with its label.
fn described(server: &Server) -> String {
    match server.own_label().filter(|label| *label != server.name()) {
        Some(label) => format!("{} ({label})", server.name()),
        None => server.name().to_owned(),
    }
}
