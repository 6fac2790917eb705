//! The row under test, with its clusters, keys and answers.

use core::fmt;
use core::ops::ControlFlow;

use super::trial::{Held, equal, fail};
use crate::assign_hash;
use hashroute::registry::{Leave, Params, Scheme, Weights};
use hashroute::{Change, KeyHash, Node, NodeId, Router};

/// A row, with the forms of names and weights that it takes.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) scheme: &'static Scheme,
    name: fn(usize) -> String,
    weights: Takes,
}

/// The weights that a row takes in a list of members.
#[derive(Clone, Copy, Debug)]
enum Takes {
    Any,
    /// 0 and 1: a node is up or down.
    Down,
    One,
}

/// Forms of names. A system may take only addresses, with or without a port.
const NAMES: [fn(usize) -> String; 3] = [
    |i| format!("node-{i}"),
    |i| format!("10.0.{}.{}:11211", i / 200, 1 + i % 200),
    |i| format!("10.0.{}.{}", i / 200, 1 + i % 200),
];

/// Weights that are tried to find out what a row takes.
const TRIED: [u32; 5] = [1, 3, 0, 2, 5];

impl Subject {
    pub(super) fn new(scheme: &'static Scheme) -> Self {
        // A dialect is tried with addresses first, as its system uses them.
        let order = if scheme.is_dialect() {
            [1, 2, 0]
        } else {
            [0, 1, 2]
        };
        let mut subject = Self {
            scheme,
            name: NAMES[order[0]],
            weights: Takes::One,
        };
        let names = order.map(|i| NAMES[i]);
        let taken = names.into_iter().find(|name| {
            let nodes = (0..2).map(|i| Node::new(name(i)));
            scheme.build(nodes, &Params::default()).is_ok()
        });
        subject.name = taken.unwrap_or(subject.name);
        subject.weights = match scheme.caps().map(|caps| caps.weights) {
            Some(Weights::Any) => Takes::Any,
            Some(Weights::One) => Takes::One,
            _ => subject.taken_weights(),
        };
        subject
    }

    /// Finds the weights that a dialect takes by trying, since its row does not state them.
    fn taken_weights(&self) -> Takes {
        let takes = |weights: Takes| {
            let subject = Self {
                weights,
                ..self.clone()
            };
            subject.build(subject.weighted(&TRIED)).is_ok()
        };
        let widest = [Takes::Any, Takes::Down]
            .into_iter()
            .find(|weights| takes(*weights));
        widest.unwrap_or(Takes::One)
    }

    /// Returns the name of the `i`-th node.
    pub(super) fn name(&self, i: usize) -> String {
        (self.name)(i)
    }

    /// Returns the first nodes, of weight 1.
    pub(super) fn nodes(&self, count: usize) -> Vec<Node> {
        (0..count).map(|i| Node::new(self.name(i))).collect()
    }

    /// Returns the first nodes with these weights, fitted to what the row takes.
    pub(super) fn weighted(&self, weights: &[u32]) -> Vec<Node> {
        let nodes = self.nodes(weights.len()).into_iter().zip(weights);
        let weigh = |(node, &weight): (Node, _)| node.with_weight(self.fit(weight));
        nodes.map(weigh).collect()
    }

    /// Returns the nearest weight that the row takes in a list of members.
    pub(super) fn fit(&self, weight: u32) -> u32 {
        match self.weights {
            Takes::Any => weight,
            Takes::Down => weight.min(1),
            Takes::One => 1,
        }
    }

    /// Returns an absurdly large weight. A dialect that does not refuse a larger one builds
    /// millions of points at each change.
    pub(super) fn large_weight(&self) -> u32 {
        if self.scheme.is_dialect() {
            100
        } else {
            1_000_000
        }
    }

    /// Returns whether a node may have another weight, or go down.
    pub(super) fn weighs(&self) -> bool {
        !matches!(self.weights, Takes::One)
    }

    /// Builds a router with the default parameters. A refusal is a breach.
    pub(super) fn build(&self, nodes: impl IntoIterator<Item = Node>) -> Held<Box<dyn Router>> {
        self.build_with(nodes, &Params::default())
    }

    /// Builds a router with small tables and few points: the same rules in less time.
    pub(super) fn build_small(
        &self,
        nodes: impl IntoIterator<Item = Node>,
    ) -> Held<Box<dyn Router>> {
        self.build_with(nodes, &self.small())
    }

    fn small(&self) -> Params {
        let sizes = ["table-size", "ring-size", "slots"].map(|name| (name, "251"));
        let params = self.scheme.params;
        let known = |(name, _): &(&str, &str)| params.iter().any(|param| param.name == *name);
        let sizes = sizes.into_iter().chain([("points", "20")]).filter(known);
        let small = sizes.fold(Params::default(), |params, (name, value)| {
            params.with(name, value)
        });
        match self.scheme.build(self.nodes(5), &small) {
            Ok(_) => small,
            Err(_) => Params::default(),
        }
    }

    pub(super) fn build_with(
        &self,
        nodes: impl IntoIterator<Item = Node>,
        params: &Params,
    ) -> Held<Box<dyn Router>> {
        let nodes: Vec<_> = nodes.into_iter().collect();
        match self.scheme.build(nodes.iter().cloned(), params) {
            Ok(router) => Ok(router),
            Err(error) => fail(list(&nodes), "a router", format!("error: {error}")),
        }
    }

    /// Returns distinct keys, different ones for each seed. A strategy takes all 64 bits, so its
    /// keys are hashes from `SplitMix64`. A dialect gets bytes, since only its own hash function
    /// knows which hashes exist.
    pub(super) fn keys(&self, seed: u32, count: u32) -> Vec<Key> {
        if self.scheme.is_dialect() {
            let first = seed << 20;
            let form = self.scheme.keys;
            return (0..count)
                .map(|i| Key::Bytes(form.sample(first.wrapping_add(i))))
                .collect();
        }
        let first = u64::from(seed) << 40;
        let hashes = (first..first + u64::from(count)).map(KeyHash::from_integer);
        hashes.map(Key::Hash).collect()
    }
}

/// A key of a test.
#[derive(Clone, Debug)]
pub(super) enum Key {
    Hash(KeyHash),
    Bytes(Vec<u8>),
}

impl Key {
    pub(super) fn hash(&self, router: &dyn Router) -> Option<KeyHash> {
        match self {
            Self::Hash(hash) => Some(*hash),
            Self::Bytes(key) => router.hash_key(key),
        }
    }

    pub(super) fn owner(&self, router: &dyn Router) -> Option<NodeId> {
        router.route_hash(self.hash(router)?)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hash(hash) => write!(f, "key hash {:#x}", hash.get()),
            Self::Bytes(key) => write!(f, "key \"{}\"", key.escape_ascii()),
        }
    }
}

/// Writes members, such as `node-0=1 node-1=3`.
pub(super) fn list<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> String {
    let nodes = nodes.into_iter();
    let mut words: Vec<_> = nodes
        .map(|node| format!("{}={}", node.name(), node.weight()))
        .collect();
    let count = words.len();
    if count == 0 {
        return String::from("no nodes");
    }
    if count > 12 {
        words.truncate(8);
        words.push(format!(".. ({count} nodes)"));
    }
    words.join(" ")
}

/// Writes the members of a router.
pub(super) fn members(router: &dyn Router) -> String {
    list(router.nodes().iter().map(|(_, node)| node))
}

/// Writes the whole state of a router.
pub(super) fn state<R: Router + ?Sized>(router: &R) -> String {
    format!("{router:?}")
}

pub(super) fn name_of(router: &dyn Router, id: Option<NodeId>) -> &str {
    id.and_then(|id| router.nodes().name(id)).unwrap_or("-")
}

/// Returns the names of the owners, a dash for none.
pub(super) fn owners(router: &dyn Router, keys: &[Key]) -> Vec<Box<str>> {
    let owner = |key: &Key| name_of(router, key.owner(router)).into();
    keys.iter().map(owner).collect()
}

/// Refuses two lists of owners that differ, and names the first key.
pub(super) fn same_owners(
    input: impl Fn() -> String,
    keys: &[Key],
    expected: &[Box<str>],
    found: &[Box<str>],
) -> Held {
    let mut owners = keys.iter().zip(expected.iter().zip(found));
    owners.try_for_each(|(key, (a, b))| equal(|| format!("{}, {key}", input()), a, b))
}

/// Assigns keys and returns the names of their nodes. Fills a router that keeps loads.
pub(super) fn assigned(router: &dyn Router, keys: &[Key]) -> Vec<Box<str>> {
    let assign = |key: &Key| {
        let id = key.hash(router).and_then(|hash| assign_hash(router, hash));
        name_of(router, id).into()
    };
    keys.iter().map(assign).collect()
}

/// Returns the whole walk of a key.
pub(super) fn walk(router: &dyn Router, key: KeyHash) -> Vec<NodeId> {
    let mut ids = Vec::new();
    router.walk(key, &mut |id| {
        ids.push(id);
        ControlFlow::Continue(())
    });
    ids
}

/// Returns the share of the hash space that each node owns, by index; `None` without ranges.
pub(super) fn exact_shares(router: &dyn Router) -> Option<Vec<f64>> {
    Some(router.ranges()?.shares(router.nodes().id_bound()))
}

/// Returns the share of a name; 0 if it is not a member.
pub(super) fn share_of(router: &dyn Router, shares: &[f64], name: &str) -> f64 {
    let id = router.nodes().id(name);
    id.and_then(|id| shares.get(id.index()))
        .copied()
        .unwrap_or(0.0)
}

/// Returns the share that each node should own, its weight over the total, by index.
pub(super) fn fair_shares(router: &dyn Router) -> Vec<f64> {
    let mut shares = vec![0.0; router.nodes().id_bound()];
    for (id, node) in router.nodes() {
        shares[id.index()] = f64::from(node.weight()) / router.nodes().total_weight() as f64;
    }
    shares
}

/// Refuses two routers that differ in an owner, a hash, a walk or a share, by name.
pub(super) fn alike(
    what: &dyn Fn() -> String,
    one: &dyn Router,
    two: &dyn Router,
    keys: &[Key],
) -> Held {
    for key in keys {
        let [a, b] = [one, two].map(|router| name_of(router, key.owner(router)));
        equal(|| format!("{}, {key}", what()), a, b)?;
    }
    for key in keys.iter().step_by(keys.len() / 5 + 1) {
        let [a, b] = [one, two].map(|router| walk_names(router, key));
        equal(|| format!("{}, the walk of {key}", what()), &a, &b)?;
    }
    let [ours, theirs] = [one, two].map(exact_shares);
    let [has, have] = [&ours, &theirs].map(Option::is_some);
    equal(|| format!("{}, ranges", what()), &has, &have)?;
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return Ok(());
    };
    for (_, node) in one.nodes() {
        // Both are quotients of the same two whole numbers, so they agree in every bit.
        let a = share_of(one, &ours, node.name());
        let b = share_of(two, &theirs, node.name());
        let input = || format!("{}, the share of {}", what(), node.name());
        equal(input, &a.to_bits(), &b.to_bits())?;
    }
    Ok(())
}

/// Returns the whole walk of a key, by name.
fn walk_names<'r>(router: &'r dyn Router, key: &Key) -> Vec<&'r str> {
    let hash = key.hash(router).into_iter();
    let ids = hash.flat_map(|hash| walk(router, hash));
    ids.map(|id| name_of(router, Some(id))).collect()
}

/// A router of the row, with its members in the order in which they joined.
#[derive(Debug)]
pub(super) struct Cluster<'s> {
    subject: &'s Subject,
    pub(super) router: Box<dyn Router>,
    members: Vec<(String, u32)>,
    joined: usize,
}

/// A change in general terms. [`Cluster::change`] turns it into one that the row takes. An index
/// chooses a member, modulo their number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Add(u32),
    Remove(usize),
    Reweight(usize, u32),
}

impl<'s> Cluster<'s> {
    pub(super) fn new(subject: &'s Subject, weights: &[u32]) -> Held<Self> {
        let nodes = subject.weighted(weights);
        let member = |node: &Node| (node.name().into(), node.weight());
        Ok(Self {
            members: nodes.iter().map(member).collect(),
            router: subject.build(nodes)?,
            joined: weights.len(),
            subject,
        })
    }

    /// Returns the change that a step means here; `None` if the row has no such change.
    pub(super) fn change(&self, step: Step) -> Option<Change> {
        let any = |index: usize| self.members.get(index % self.members.len().max(1));
        let caps = self.subject.scheme.caps();
        match step {
            Step::Add(weight) => {
                let node = Node::new(self.subject.name(self.joined));
                Some(Change::Add(node.with_weight(self.subject.fit(weight))))
            }
            Step::Remove(index) => {
                let last = caps.is_some_and(|caps| caps.leave == Leave::Last);
                let member = if last {
                    self.members.last()
                } else {
                    any(index)
                };
                Some(Change::remove(member?.0.as_str()))
            }
            Step::Reweight(index, weight) => {
                let (name, old) = any(index)?;
                // A dialect may take weight 0 in a change though not in a list of members.
                let weight = match caps {
                    Some(_) => self.subject.fit(weight),
                    None => weight,
                };
                (weight != *old).then(|| Change::reweight(name.as_str(), weight))
            }
        }
    }

    /// Makes a change, and returns whether it was made. A strategy that refuses what its
    /// capabilities promise is in breach.
    pub(super) fn apply(&mut self, change: &Change) -> Held<bool> {
        if let Err(error) = self.router.apply(change) {
            if self.subject.scheme.is_dialect() {
                return Ok(false);
            }
            let input = format!("{}, {change:?}", members(&*self.router));
            return fail(
                input,
                "a change that its capabilities promise",
                error.to_string(),
            );
        }
        match change {
            Change::Add(node) => {
                self.members.push((node.name().into(), node.weight()));
                self.joined += 1;
            }
            Change::Remove(gone) => self.members.retain(|(name, _)| **name != **gone),
            Change::Reweight(changed, to) => {
                let mut members = self.members.iter_mut();
                if let Some(member) = members.find(|(name, _)| **name == **changed) {
                    member.1 = *to;
                }
            }
            other => {
                return fail(
                    format!("{other:?}"),
                    "a change that the laws know",
                    "another",
                );
            }
        }
        Ok(true)
    }

    /// Returns the weight of a member; 0 for any other name.
    pub(super) fn weight(&self, name: &str) -> u32 {
        let found = self.members.iter().find(|(known, _)| known == name);
        found.map_or(0, |(_, weight)| *weight)
    }
}
