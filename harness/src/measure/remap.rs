//! What a change of membership moves, and what it had to.

use core::ops::AddAssign;

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use super::assignment::Assignment;
use crate::keys::Keys;
use crate::summary::ratio;
use hashroute::change::{Flows, Matched, Pair};
use hashroute::{Change, Error, Node, NodeId, Nodes, Router};

/// What moved between two assignments of the same keys, by name of node.
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
    /// How many keys there are.
    pub keys: u64,
    /// How many changed their node.
    pub moved: u64,
    /// Their share of all keys.
    pub moved_share: f64,
    /// The share that had to move: half the sum of the differences of the fair shares.
    pub ideal_share: f64,
    /// The standard error of `moved_share` for a router that moves each key with the probability
    /// `ideal_share`.
    pub noise_share: f64,
    /// Keys that moved in vain: from a node that neither left nor lost weight to one that
    /// neither joined nor gained any.
    pub excess: u64,
    /// Their share of all keys.
    pub excess_share: f64,
    /// Keys that no node holds after the change.
    #[serde(default, skip_serializing_if = "is_0")]
    pub unplaced: u64,
    /// The same in bytes, where sizes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<MovedBytes>,
    /// The nodes that the change is about: those that join, leave or have another weight, by name.
    #[serde(default)]
    pub changed: Vec<String>,
    /// From which node to which, the largest first, then by name.
    pub flows: Vec<KeyFlow>,
    /// How many smaller flows are not listed: none, but in a comparison with very many.
    #[serde(default, skip_serializing_if = "is_0")]
    pub flows_omitted: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_0(count: &u64) -> bool {
    *count == 0
}

/// The bytes that move with the keys.
///
/// ```
/// # use hashroute::{Jump, Node};
/// # use hashroute_harness::{Keys, Assignment, remap};
/// let keys = Keys::template("{i}", 0..2)?.with_sizes(vec![10, 20])?;
/// let assignment = Assignment::of(&Jump::new([Node::new("a")])?, &keys);
/// assert_eq!(remap(&assignment, &assignment, &keys).bytes.map(|bytes| bytes.total), Some(30));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MovedBytes {
    /// All bytes.
    pub total: u64,
    /// Those that changed their node.
    pub moved: u64,
    /// Their share of all.
    pub moved_share: f64,
}

/// The keys that went from one node to another.
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
    /// Where they were; `None` when nowhere.
    pub from: Option<String>,
    /// Where they are; `None` when nowhere.
    pub to: Option<String>,
    /// How many.
    pub keys: u64,
    /// Their bytes, where sizes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// What moved from one assignment to the other. Both are of `keys`, which give the sizes and say
/// which keys are the same. O(keys + nodes log nodes), and once O(keys log keys) to find equal
/// keys.
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
        excess += if shifts.in_vain(*pair) { moved.keys } else { 0 };
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
    /// Keep the largest flows only: where every node sends to every other there are millions.
    pub(super) fn shortened(mut self, most: usize) -> Self {
        self.flows_omitted += self.flows.len().saturating_sub(most) as u64;
        self.flows.truncate(most);
        self
    }
}

/// Keys and bytes that go from one node to another.
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

/// What goes from which node to which, the most keys first, then by name.
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

/// The effective number of keys: one that comes often is still one draw.
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

/// The nodes of two assignments together, and how their weights shift.
struct Shifts<'a>(Matched<'a>);

impl<'a> Shifts<'a> {
    fn new(before: &'a Assignment, after: &'a Assignment) -> Self {
        Self(Matched::new(
            [before, after].map(|side| side.nodes().iter().enumerate()),
        ))
    }

    /// The owner at a rank of the assignment before (0) or after (1) as one of both.
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

    /// By name, the weight before and after; absent is 0.
    fn weights(&self) -> impl Iterator<Item = [u32; 2]> {
        self.0.pairs.iter().map(weights)
    }

    /// Names with another weight than before, of which absence is one.
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

    /// The total variation distance of the fair shares. While no node has weight, nobody has
    /// everything.
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

    /// Whether a move between these two was not called for. A key that found or lost an owner
    /// altogether did not move in vain.
    fn in_vain(&self, [from, to]: Pair) -> bool {
        let [from, to] = [from, to].map(|id| self.pair(id).map(weights));
        from.is_some_and(|[before, after]| after >= before)
            && to.is_some_and(|[before, after]| after <= before)
    }
}

fn weights(pair: &[Option<&Node>; 2]) -> [u32; 2] {
    pair.map(|node| node.map_or(0, Node::weight))
}

/// In which order changes are taken back.
///
/// ```
/// use hashroute_harness::Undo;
/// assert_ne!(Undo::LastFirst, Undo::AnyOrder);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undo {
    /// The last change first: what strategies with a history or a count need.
    LastFirst,
    /// In a random order: enough for strategies that need only the set.
    AnyOrder,
}

/// Make changes in a random order, take them back, and compare: a strategy that restores every
/// route moves nothing. `build` makes the router, twice, so that loads start from nothing.
///
/// The changes should be about different nodes, or their order matters by itself.
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

/// What takes a change back; `None` when there is no such node.
fn inverse(change: &Change, nodes: &Nodes) -> Option<Change> {
    let node = |name: &str| nodes.get(nodes.id(name)?);
    match change {
        Change::Add(node) => Some(Change::remove(node.name())),
        Change::Remove(name) => Some(Change::Add(node(name)?.clone())),
        Change::Reweight(name, _) => Some(Change::reweight(name.clone(), node(name)?.weight())),
        _ => None,
    }
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.random_range(0..=last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_remap_says_how_many_flows_it_left_out() -> Result<(), Error> {
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
