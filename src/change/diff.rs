//! Computes which keys move between two routers.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::change::{Flows, Pair, Union};
use crate::hash::mix64;
use crate::space::{HashSpace, overlay};
use crate::{Error, NodeId, Refusal, Router, RouterExt};

/// The keys that move (remap) from one router to another.
///
/// The two routers are compared as they are now. Nodes are matched by name. The result is exact,
/// with the ranges of hashes that move, if both routers use the same hash function and have
/// [ranges](Router::ranges) of one kind: ring and Maglev; slots and modulo; two pools of one system
/// with the same options for hashing. Otherwise it counts keys.
///
/// The counts are complete: the keys that move, the keys that stay and the keys that have no owner
/// on either side are all keys.
///
/// ```
/// use hashroute::{Basis, Change, Node, Ring, Router, diff};
///
/// let old = Ring::new(["a", "b", "c"].map(Node::new))?;
/// let mut new = old.clone();
/// new.apply(&Change::Add(Node::new("d")))?;
/// let diff = diff(&old, &new)?;
/// assert_eq!(diff.basis(), Basis::Hashes);
/// assert!(diff.flows().all(|flow| flow.to == Some("d")));
/// let shares: f64 = diff.flows().map(|flow| diff.share(flow.count)).sum();
/// assert!((shares + diff.kept() - 1.0).abs() < 1e-12);
/// let hashes: u128 = diff.ranges().map(|range| u128::from(range.last - range.first) + 1).sum();
/// assert_eq!(hashes, diff.flows().map(|flow| flow.count).sum());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Diff {
    members: Union,
    basis: Basis,
    space: HashSpace,
    total: u128,
    moved: u128,
    /// The hashes or keys without an owner on either side.
    unowned: u128,
    /// The flows, the largest first, then by name.
    flows: Vec<(Pair, u128)>,
    /// The ranges that move, in order; empty unless the basis is hashes.
    ranges: Vec<Run>,
}

/// Positions with a new owner: first, last, and the two owners.
type Run = (u64, u64, Pair);

/// The things that a [`Diff`] counts.
///
/// ```
/// use hashroute::{Basis, Node, Rendezvous, diff};
/// let router = Rendezvous::new([Node::new("a")])?;
/// assert_eq!(diff(&router, &router)?.basis(), Basis::Sample);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// All hashes. Shares of the hash space are exact.
    Hashes,
    /// A sample of keys. Shares are estimates with a known [error](Diff::error).
    Sample,
    /// The keys of the caller. Shares are exact for them.
    Keys,
}

/// The keys that move from one node to another.
///
/// ```
/// use hashroute::{Modulo, Node, diff};
///
/// let diff = diff(&Modulo::new(["a"])?, &Modulo::new([] as [Node; 0])?)?;
/// let flow = diff.flows().next().expect("all of it");
/// assert_eq!((flow.from, flow.to, flow.count), (Some("a"), None, 1 << 64));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flow<'a> {
    /// The old owner; `None` if the keys had no owner.
    pub from: Option<&'a str>,
    /// The new owner; `None` if the keys have no owner.
    pub to: Option<&'a str>,
    /// The number of hashes or keys, depending on the [`Basis`].
    pub count: u128,
}

/// A run of positions (see [`HashRanges`](crate::HashRanges)) that moves from one node to another.
///
/// ```
/// use hashroute::{Node, Ring, diff};
///
/// let ring = |tokens: &[(u64, &'static str)]| Ring::from_tokens(["a", "b"].map(Node::new), tokens.iter().copied());
/// let diff = diff(&ring(&[(100, "a"), (200, "b")])?, &ring(&[(150, "a"), (200, "b")])?)?;
/// let range = diff.ranges().next().expect("one");
/// assert_eq!((range.first, range.last, range.from, range.to), (101, 150, Some("b"), Some("a")));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovedRange<'a> {
    /// The first position.
    pub first: u64,
    /// The last position, included.
    pub last: u64,
    /// The old owner; `None` if the positions had no owner.
    pub from: Option<&'a str>,
    /// The new owner; `None` if the positions have no owner.
    pub to: Option<&'a str>,
}

/// The size of the sample for routers that cannot be compared exactly. Estimated shares are within
/// 0.5 % of all keys in 99 of 100 cases.
const SAMPLE: u64 = 1 << 16;

/// Computes the keys that move from `old` to `new`: exactly from ranges, or else from a sample of
/// 65,536 keys. The sample is always the same; its keys are decimal numbers.
///
/// Neither ranges nor a sample describe keys that a weak hash function does not spread, such as
/// consecutive numbers under FNV-1a, or keys that are parts of packets. For these, use
/// [`diff_keys`]. O(ranges), or 131,072 lookups.
///
/// # Errors
/// [`Error::Capacity`] if both routers together have more than 2^32 - 1 nodes;
/// [`Error::Unsupported`] if there are nodes but no key has an owner in either router.
///
/// ```
/// use hashroute::{Jump, Node, diff};
///
/// let shards = |count| Jump::new((0..count).map(|i| Node::new(format!("shard-{i}"))));
/// let diff = diff(&shards(9)?, &shards(10)?)?;
/// assert!((diff.moved() - 0.1).abs() < diff.error(0.1));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn diff(old: &dyn Router, new: &dyn Router) -> Result<Diff, Error> {
    match exact(old, new)? {
        Some(diff) => Ok(diff),
        None => counted(old, new, Basis::Sample, &mut sample(SAMPLE)),
    }
}

/// Computes which of these keys move from `old` to `new`. Two lookups for each key.
///
/// # Errors
/// The errors of [`diff()`].
///
/// ```
/// use hashroute::{Node, Rendezvous, diff_keys};
///
/// let (old, new) = (Rendezvous::new(["a", "b"].map(Node::new))?, Rendezvous::new([Node::new("a")])?);
/// let diff = diff_keys(&old, &new, ["user:1", "user:2", "user:3"])?;
/// assert_eq!(diff.total(), 3);
/// assert!(diff.flows().all(|flow| (flow.from, flow.to) == (Some("b"), Some("a"))));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn diff_keys<K: AsRef<[u8]>>(
    old: &dyn Router,
    new: &dyn Router,
    keys: impl IntoIterator<Item = K>,
) -> Result<Diff, Error> {
    counted(old, new, Basis::Keys, &mut keys.into_iter())
}

impl Diff {
    /// Returns what this diff counts.
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// Returns the number of all hashes or keys.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Returns a count as a share of all hashes or keys, from 0 to 1.
    pub fn share(&self, count: u128) -> f64 {
        count as f64 / self.total.max(1) as f64
    }

    /// Returns the share of all hashes or keys that move.
    pub fn moved(&self) -> f64 {
        self.share(self.moved)
    }

    /// Returns the share of all hashes or keys that stay on their node; 1 without any keys.
    pub fn kept(&self) -> f64 {
        1.0 - self.share(self.moved + self.unowned)
    }

    /// Returns the number of hashes or keys that move.
    pub fn moved_count(&self) -> u128 {
        self.moved
    }

    /// Returns the number of hashes or keys that have no owner before and none after. They neither
    /// move nor stay on a node.
    ///
    /// ```
    /// use hashroute::{Node, Rendezvous, diff_keys};
    /// let none = Rendezvous::new([] as [Node; 0])?;
    /// let diff = diff_keys(&none, &none, ["a", "b"])?;
    /// assert_eq!((diff.unowned_count(), diff.moved(), diff.kept()), (2, 0.0, 0.0));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn unowned_count(&self) -> u128 {
        self.unowned
    }

    /// Returns the flows from node to node, the largest first, then by name.
    pub fn flows(&self) -> impl ExactSizeIterator<Item = Flow<'_>> {
        self.flows.iter().map(|(pair, count)| {
            let [from, to] = self.members.names(*pair);
            Flow {
                from,
                to,
                count: *count,
            }
        })
    }

    /// Returns the ranges that move, in order. Adjacent ranges of one flow are one range. Empty
    /// unless the basis is [hashes](Basis::Hashes).
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = MovedRange<'_>> {
        self.ranges.iter().map(|&(first, last, pair)| {
            let [from, to] = self.members.names(pair);
            MovedRange {
                first,
                last,
                from,
                to,
            }
        })
    }

    /// Returns the modulus that turns a hash into a position of [`ranges`](Self::ranges); `None` if
    /// the hash is the position.
    ///
    /// ```
    /// # use hashroute::{Modulo, Node, diff};
    /// let of = |names: &[&'static str]| Modulo::new(names.iter().map(|name| Node::new(*name)));
    /// assert_eq!(diff(&of(&["a", "b"])?, &of(&["a", "b", "c"])?)?.modulus(), Some(6));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn modulus(&self) -> Option<u64> {
        self.space.modulus()
    }

    /// Returns the largest likely difference between a share of this diff and the true share: the
    /// distance to the farther end of Wilson's interval (1927) at 99 %. 0 if the diff is exact.
    ///
    /// ```
    /// # use hashroute::{Node, Rendezvous, Ring, diff};
    /// let (exact, sampled) = (Ring::new([Node::new("a")])?, Rendezvous::new([Node::new("a")])?);
    /// assert_eq!(diff(&exact, &exact)?.error(0.5), 0.0);
    /// assert!((diff(&sampled, &sampled)?.error(0.5) - 0.00503).abs() < 1e-5);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn error(&self, share: f64) -> f64 {
        match self.basis {
            Basis::Sample => wilson(share.clamp(0.0, 1.0), self.total as f64),
            Basis::Hashes | Basis::Keys => 0.0,
        }
    }
}

/// Returns the distance to the farther end of Wilson's interval for a share of a sample, at 99 %.
fn wilson(share: f64, sample: f64) -> f64 {
    const Z: f64 = 2.575_829_303_548_901;
    let per = Z * Z / sample;
    let centre = (share + per / 2.0) / (1.0 + per);
    let variance = share * (1.0 - share) / sample + per / (4.0 * sample);
    (share - centre).abs() + Z * root(variance) / (1.0 + per)
}

/// Returns the square root, which `core` has only for whole numbers.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a variance: from 0 to 1"
)]
fn root(variance: f64) -> f64 {
    const SCALE: f64 = (1_u64 << 50) as f64;
    ((variance * SCALE * SCALE) as u128).isqrt() as f64 / SCALE
}

/// Returns decimal numbers as text, which nearly every system accepts as keys.
pub(crate) fn sample(keys: u64) -> impl Iterator<Item = String> {
    (0..keys).map(|i| (mix64(i) >> 1).to_string())
}

/// Compares the ranges of both routers, if these have a space in common.
pub(crate) fn exact(old: &dyn Router, new: &dyn Router) -> Result<Option<Diff>, Error> {
    if old.hash_id() != new.hash_id() {
        return Ok(None);
    }
    let (Some(from), Some(to)) = (old.ranges(), new.ranges()) else {
        return Ok(None);
    };
    let members = Union::new(old.nodes(), new.nodes())?;
    let (mut ranges, mut gaps): (Vec<Run>, Vec<_>) = (Vec::new(), Vec::new());
    let space = overlay(&from, &to, |first, last, owners| {
        let pair = members.pair(owners);
        match ranges.last_mut() {
            _ if pair == [None, None] => gaps.push((first, last)),
            _ if pair[0] == pair[1] => {}
            Some((_, end, known)) if *known == pair && *end + 1 == first => *end = last,
            _ => ranges.push((first, last, pair)),
        }
    });
    let Some(space) = space else { return Ok(None) };
    let mut flows = Flows::default();
    for &(first, last, pair) in &ranges {
        flows.add(pair, space.count(first, last));
    }
    let flows = flows.largest_first(|count| *count);
    Ok(Some(Diff {
        members,
        basis: Basis::Hashes,
        space,
        total: space.hashes(),
        moved: flows.iter().map(|(_, count)| count).sum(),
        unowned: gaps.iter().map(|gap| space.count(gap.0, gap.1)).sum(),
        flows,
        ranges,
    }))
}

fn counted<K: AsRef<[u8]>>(
    old: &dyn Router,
    new: &dyn Router,
    basis: Basis,
    keys: &mut dyn Iterator<Item = K>,
) -> Result<Diff, Error> {
    let mut counter = DiffCounter::new(old, new)?;
    for key in keys {
        let key = key.as_ref();
        counter.add([old.owner(key), new.owner(key)]);
    }
    let diff = counter.finish()?;
    Ok(Diff { basis, ..diff })
}

/// Counts keys one by one, for keys that do not fit into memory: [`diff_keys`] in parts.
///
/// ```
/// use hashroute::{DiffCounter, Node, Rendezvous, RouterExt, diff_keys};
///
/// let (old, new) = (Rendezvous::new(["a", "b"].map(Node::new))?, Rendezvous::new([Node::new("a")])?);
/// let mut counter = DiffCounter::new(&old, &new)?;
/// let keys = ["user:1", "user:2", "user:3"];
/// for key in keys.map(str::as_bytes) {
///     counter.add([old.owner(key), new.owner(key)]);
/// }
/// assert_eq!(counter.finish()?.moved(), diff_keys(&old, &new, keys)?.moved());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DiffCounter {
    members: Union,
    flows: Flows<u128>,
    total: u128,
    unowned: u128,
    /// Whether a router has nodes with weight, so that some key should have an owner.
    weighted: bool,
}

impl DiffCounter {
    /// Starts to count.
    ///
    /// # Errors
    /// [`Error::Capacity`] if both routers together have more than 2^32 - 1 nodes.
    pub fn new(old: &dyn Router, new: &dyn Router) -> Result<Self, Error> {
        let weighted = |router: &dyn Router| router.nodes().weighted() > 0;
        Ok(Self {
            members: Union::new(old.nodes(), new.nodes())?,
            flows: Flows::default(),
            total: 0,
            unowned: 0,
            weighted: weighted(old) || weighted(new),
        })
    }

    /// Counts a key with its owner in the old and in the new router. Returns the names of the two
    /// nodes if the key moves.
    pub fn add(&mut self, owners: [Option<NodeId>; 2]) -> Option<[Option<&str>; 2]> {
        let pair = self.members.pair(owners);
        self.total += 1;
        self.unowned += u128::from(pair == [None, None]);
        if pair[0] == pair[1] {
            return None;
        }
        self.flows.add(pair, 1);
        Some(self.members.names(pair))
    }

    /// Returns the result.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there are nodes but no key has an owner in either router.
    pub fn finish(self) -> Result<Diff, Error> {
        if self.total > 0 && self.unowned == self.total && self.weighted {
            return Err(NOT_ROUTED);
        }
        let flows = self.flows.largest_first(|count| *count);
        Ok(Diff {
            members: self.members,
            basis: Basis::Keys,
            space: HashSpace::CIRCLE,
            total: self.total,
            moved: flows.iter().map(|(_, count)| count).sum(),
            unowned: self.unowned,
            flows,
            ranges: Vec::new(),
        })
    }
}

const NOT_ROUTED: Error = Error::Unsupported {
    what: Refusal::NothingToDiff,
    advice: "give keys such as the systems hash: a flow's bytes, a number",
};
