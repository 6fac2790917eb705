//! Measures the keys that a change of membership moves, and the keys that it had to move.

use core::ops::AddAssign;

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use super::assignment::Assignment;
use super::balance::is_zero;
use crate::keys::Keys;
use crate::summary::ratio;
use hashroute::change::{Flows, Matched, Pair};
use hashroute::{Change, Error, Node, NodeId, Nodes, Router};

/// The keys that differ in their owner between two assignments, by name of node.
///
/// The fields are those of `hashroute remap --format json`.
///
/// ```
/// use hashroute_harness::{Keys, Assignment, remap};
/// use hashroute::{Change, Node, Rendezvous, Router};
///
/// let keys = Keys::template("user:{i}", 0..10_000)?;
/// let mut router = Rendezvous::new(["a", "b", "c"].map(Node::new))?;
/// let before = Assignment::of(&router, &keys);
/// router.apply(&Change::Add(Node::new("d")))?;
/// let remap = remap(&before, &Assignment::of(&router, &keys), &keys);
/// assert_eq!((remap.ideal_share, remap.excess), (0.25, 0));
/// assert!((remap.moved_share - remap.ideal_share).abs() < 3.3 * remap.noise_share);
/// assert!(remap.flows.iter().all(|flow| flow.to.as_deref() == Some("d")));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Remap {
    /// The number of keys.
    pub keys: u64,
    /// The number of keys that changed their owner.
    pub moved: u64,
    /// Their share of all keys.
    pub moved_share: f64,
    /// The share that had to move: half the sum of the absolute differences of the fair shares.
    pub ideal_share: f64,
    /// The standard error of `moved_share` of a router that moves each key with probability
    /// `ideal_share`. The nodes of a ring have shares that differ from their weights, so what moves
    /// differs from `ideal_share` by more than chance, without any excess.
    pub noise_share: f64,
    /// The number of excess moves: from a node that neither left nor lost weight to one that
    /// neither joined nor gained weight.
    pub excess: u64,
    /// Their share of all keys.
    pub excess_share: f64,
    /// The number of keys without an owner after the change.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unplaced: u64,
    /// The same in bytes, if sizes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<MovedBytes>,
    /// The names of the nodes that join, leave or change their weight.
    #[serde(default)]
    pub changed: Vec<String>,
    /// The keys that go from one node to another, the largest flow first, then by name.
    pub flows: Vec<KeyFlow>,
    /// The number of smaller flows that are not listed. Only a comparison omits any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flows_omitted: u64,
}

/// The bytes that move with the keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MovedBytes {
    /// The bytes of all keys.
    pub total: u64,
    /// The bytes of the keys that changed their owner.
    pub moved: u64,
    /// Their share of all.
    pub moved_share: f64,
}

/// The keys that go from one node to another.
///
/// ```
/// # use hashroute_harness::KeyFlow;
/// let text = r#"{"from":"a","to":null,"keys":7}"#;
/// let flow: KeyFlow = serde_json::from_str(text)?;
/// assert_eq!(serde_json::to_string(&flow)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KeyFlow {
    /// The owner before; `None` if there was none.
    pub from: Option<String>,
    /// The owner after; `None` if there is none.
    pub to: Option<String>,
    /// The number of keys.
    pub keys: u64,
    /// Their bytes, if sizes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Compares two assignments of `keys`. The keys give the sizes, and tell which of them are equal.
/// O(keys + nodes log nodes), and once O(keys log keys) to find equal keys.
///
/// ```
/// use hashroute_harness::{Keys, Assignment, remap};
/// use hashroute::{Change, Modulo, Node, Router};
///
/// let keys = Keys::template("user:{i}", 0..10_000)?;
/// let mut router = Modulo::new(["a", "b", "c"].map(Node::new))?;
/// let before = Assignment::of(&router, &keys);
/// router.apply(&Change::Add(Node::new("d")))?;
/// let remap = remap(&before, &Assignment::of(&router, &keys), &keys);
/// assert!(remap.moved_share > 0.7 && remap.excess_share > 0.4);
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn remap(before: &Assignment, after: &Assignment, keys: &Keys) -> Remap {
    let shifts = Shifts::new(before, after);
    let flows = moves(&shifts, before, after, keys.sizes());
    let (mut all_moved, mut excess) = (Moved { keys: 0, bytes: 0 }, 0);
    for (pair, moved) in &flows {
        all_moved += *moved;
        excess += if shifts.is_excess(*pair) {
            moved.keys
        } else {
            0
        };
    }
    let Moved { keys: moved, bytes } = all_moved;
    let (all, ideal_share) = (before.len() as f64, shifts.distance());
    Remap {
        keys: before.len() as u64,
        moved,
        moved_share: ratio(moved as f64, all),
        ideal_share,
        noise_share: ratio(ideal_share * (1.0 - ideal_share), effective(keys)).sqrt(),
        excess,
        excess_share: ratio(excess as f64, all),
        unplaced: after.owners().filter(Option::is_none).count() as u64,
        bytes: keys.sizes().map(|sizes| moved_bytes(sizes, bytes)),
        changed: shifts.changed(),
        flows: flows
            .iter()
            .map(|flow| shifts.named(*flow, keys.sizes().is_some()))
            .collect(),
        flows_omitted: 0,
    }
}

impl Remap {
    /// Keeps the largest flows only: if every node sends to every other there are millions.
    pub(super) fn shortened(mut self, most: usize) -> Self {
        self.flows_omitted += self.flows.len().saturating_sub(most) as u64;
        self.flows.truncate(most);
        self
    }
}

/// The keys and bytes that go from one node to another.
#[derive(Clone, Copy)]
struct Moved {
    keys: u64,
    bytes: u64,
}

impl AddAssign for Moved {
    fn add_assign(&mut self, more: Self) {
        self.keys += more.keys;
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// Returns the flows between nodes, the most keys first, then by name.
fn moves(
    shifts: &Shifts,
    before: &Assignment,
    after: &Assignment,
    sizes: Option<&[u64]>,
) -> Vec<(Pair, Moved)> {
    let size = |index: usize| sizes.and_then(|sizes| sizes.get(index)).copied();
    let mut flows = Flows::default();
    for (index, (from, to)) in before.owners().zip(after.owners()).enumerate() {
        let pair = [shifts.id(0, from), shifts.id(1, to)];
        if pair[0] != pair[1] {
            let bytes = size(index).unwrap_or(0);
            flows.add(pair, Moved { keys: 1, bytes });
        }
    }
    flows.largest_first(|moved| moved.keys)
}

/// Returns the effective number of keys: a key moves with all its occurrences, so they are one
/// draw.
fn effective(keys: &Keys) -> f64 {
    let sums = keys.sums(None, &|_| true);
    let squares: f64 = sums
        .iter()
        .map(|(count, _)| *count as f64 * *count as f64)
        .sum();
    ratio(keys.len() as f64 * keys.len() as f64, squares)
}

fn moved_bytes(sizes: &[u64], moved: u64) -> MovedBytes {
    let total = sizes
        .iter()
        .fold(0, |sum: u64, size| sum.saturating_add(*size));
    MovedBytes {
        total,
        moved,
        moved_share: ratio(moved as f64, total as f64),
    }
}

/// The nodes of both assignments, and their weights before and after.
struct Shifts<'a>(Matched<'a>);

impl<'a> Shifts<'a> {
    fn new(before: &'a Assignment, after: &'a Assignment) -> Self {
        Self(Matched::new(
            [before, after].map(|side| side.nodes().iter().enumerate()),
        ))
    }

    /// Returns the owner at a rank of the assignment before (0) or after (1), as an id of both.
    fn id(&self, side: usize, rank: Option<usize>) -> Option<NodeId> {
        self.0.ids[side].get(rank?).copied().flatten()
    }

    fn pair(&self, id: Option<NodeId>) -> Option<&[Option<&'a Node>; 2]> {
        self.0.pairs.get(id?.index())
    }

    fn name(&self, id: Option<NodeId>) -> Option<String> {
        let [old, new] = self.pair(id)?;
        Some(new.or(*old)?.name().into())
    }

    /// Returns the weight of each node before and after; 0 if it is absent.
    fn weights(&self) -> impl Iterator<Item = [u32; 2]> {
        self.0.pairs.iter().map(weights)
    }

    /// Returns the names of nodes with another weight than before; an absent node has weight 0.
    fn changed(&self) -> Vec<String> {
        let changed = self.0.pairs.iter().filter(|pair| {
            let [before, after] = weights(pair);
            before != after
        });
        let nodes = changed.filter_map(|[old, new]| new.or(*old));
        nodes.map(|node| node.name().into()).collect()
    }

    fn named(&self, (pair, moved): (Pair, Moved), sized: bool) -> KeyFlow {
        let [from, to] = pair.map(|id| self.name(id));
        KeyFlow {
            from,
            to,
            keys: moved.keys,
            bytes: sized.then_some(moved.bytes),
        }
    }

    /// Returns the total variation distance of the fair shares. While no node has weight, no node
    /// owns a key, so all keys change.
    fn distance(&self) -> f64 {
        let total = |side: usize| self.weights().map(|of| f64::from(of[side])).sum::<f64>();
        let (old, new) = (total(0), total(1));
        if (old == 0.0) != (new == 0.0) {
            return 1.0;
        }
        let gain = |[before, after]: [u32; 2]| {
            (ratio(f64::from(after), new) - ratio(f64::from(before), old)).max(0.0)
        };
        self.weights().map(gain).sum::<f64>().min(1.0)
    }

    /// Returns whether the change did not call for a move between these two. A key without an owner
    /// before or after is no excess.
    fn is_excess(&self, [from, to]: Pair) -> bool {
        let [from, to] = [from, to].map(|id| self.pair(id).map(weights));
        from.is_some_and(|[before, after]| after >= before)
            && to.is_some_and(|[before, after]| after <= before)
    }
}

fn weights(pair: &[Option<&Node>; 2]) -> [u32; 2] {
    pair.map(|node| node.map_or(0, Node::weight))
}

/// The order in which changes are undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undo {
    /// The last change first, as strategies with a history or a count need.
    LastFirst,
    /// In a random order, which suffices for strategies that need only the set of nodes.
    AnyOrder,
}

/// Applies changes in a random order, undoes them, and compares: a strategy that restores every
/// route moves nothing. Calls `build` twice, so that loads start at 0.
///
/// The changes should concern different nodes; otherwise their order matters by itself.
///
/// # Errors
/// As `build` and [`Router::apply`].
///
/// ```
/// use hashroute_harness::{Keys, Undo, round_trip};
/// use hashroute::{Change, Node, Ring};
///
/// let keys = Keys::template("user:{i}", 0..1000)?;
/// let changes = [Change::remove("a"), Change::Add(Node::new("d")), Change::reweight("b", 3)];
/// let build = || Ok(Box::new(Ring::new(["a", "b", "c"].map(Node::new))?) as Box<_>);
/// assert_eq!(round_trip(&build, &changes, Undo::AnyOrder, 1, &keys)?.moved, 0);
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn round_trip(
    build: &dyn Fn() -> Result<Box<dyn Router>, Error>,
    changes: &[Change],
    undo: Undo,
    seed: u64,
    keys: &Keys,
) -> Result<Remap, Error> {
    let before = Assignment::of(&*build()?, keys);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut router = build()?;
    let mut order: Vec<_> = changes.iter().collect();
    shuffle(&mut order, &mut random);
    let mut back = Vec::new();
    for change in order {
        let inverse = inverse(change, router.nodes());
        router.apply(change)?;
        back.extend(inverse);
    }
    match undo {
        Undo::LastFirst => back.reverse(),
        Undo::AnyOrder => shuffle(&mut back, &mut random),
    }
    back.iter().try_for_each(|change| router.apply(change))?;
    Ok(remap(&before, &Assignment::of(&*router, keys), keys))
}

/// Returns the change that undoes another; `None` if there is no such node.
fn inverse(change: &Change, nodes: &Nodes) -> Option<Change> {
    let node = |name: &str| nodes.get(nodes.id(name)?);
    match change {
        Change::Add(node) => Some(Change::remove(node.name())),
        Change::Remove(name) => Some(Change::Add(node(name)?.clone())),
        Change::Reweight(name, _) => Some(Change::reweight(name.clone(), node(name)?.weight())),
        _ => None,
    }
}

/// Shuffles (Fisher and Yates).
fn shuffle<T>(items: &mut [T], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.random_range(0..=last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_remap_counts_the_flows_it_omits() -> Result<(), Error> {
        let nodes = Nodes::new(["a", "b", "c"].map(Node::new))?;
        let ids = |names: [&str; 4]| names.map(|name| nodes.id(name));
        let before = Assignment::new(&nodes, ids(["a", "a", "a", "a"]));
        let after = Assignment::new(&nodes, ids(["b", "c", "c", "a"]));
        let keys = Keys::template("{i}", 0..4)?;
        let short = remap(&before, &after, &keys).shortened(1);
        assert_eq!((short.flows.len(), short.flows[0].keys), (1, 2));
        assert_eq!((short.flows_omitted, short.moved), (1, 3));
        Ok(())
    }
}
