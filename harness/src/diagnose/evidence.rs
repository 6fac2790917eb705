//! Evidence: what one pass over the keys gathers.

use core::ops::AddAssign;
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::carriers::{Carrier, Carriers, Sketched};
use crate::keys::Keys;
use crate::measure::{Batch, Estimated, assign, check_ids, id_secret};
use crate::summary::{Amounts, BLOCK, Census, LISTED, Measure, Row, Sketch, ratio};
use hashroute::{Error, Node, NodeId, Router};

/// What a node holds, or what a key carries. Sums saturate at 2^64 - 1.
///
/// ```
/// use hashroute_harness::skew::Load;
/// let mut load = Load::new(1, 10, 0);
/// load += load;
/// assert_eq!((load.keys, load.bytes), (2, 20));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Load {
    /// The number of keys. A repeated key counts each time.
    pub keys: u64,
    /// The bytes stored; 0 if sizes are not known.
    pub bytes: u64,
    /// The requests; 0 if they are not known.
    pub requests: u64,
}

impl Load {
    /// Builds a load of these keys, bytes and requests.
    pub const fn new(keys: u64, bytes: u64, requests: u64) -> Self {
        Self {
            keys,
            bytes,
            requests,
        }
    }

    /// Returns the amount of one measure.
    pub fn of(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Keys => self.keys,
            Measure::Bytes => self.bytes,
            Measure::Requests => self.requests,
        }
    }

    pub(crate) fn amounts(self) -> Amounts {
        [self.keys, self.bytes, self.requests]
    }
}

impl From<Amounts> for Load {
    fn from([keys, bytes, requests]: Amounts) -> Self {
        Self {
            keys,
            bytes,
            requests,
        }
    }
}

impl AddAssign for Load {
    fn add_assign(&mut self, other: Self) {
        self.keys = self.keys.saturating_add(other.keys);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.requests = self.requests.saturating_add(other.requests);
    }
}

/// Everything that a judgement on skew needs to know about the keys, gathered in one pass.
///
/// The loads of the nodes count all keys. What needs the keys themselves uses a sample of those
/// that have a node: all distinct keys up to [`MOST`](Self::MOST) keys and
/// [`MOST_BYTES`](Self::MOST_BYTES) bytes, otherwise the keys with the smallest ids. An id is a hash
/// that routes nothing, so that is a uniform sample of the distinct keys, whatever their order and
/// however often each occurs, and the amounts of sampled keys are exact. So two halves
/// [merge](Self::merge) into the evidence of one pass. Source: Beyer et al., "On synopses for
/// distinct-value estimation", SIGMOD 2007.
///
/// If the sample does not hold all keys, a sketch counts them too. It finds every key that carries a
/// thousandth or more of all; the amount of such a key is too large by up to 0.004% of all, 49 times
/// in 50. Its cells estimate how noisy the keys are, with a standard error of 0.3%.
///
/// Memory: about 60 bytes and the key for each sampled key, and 2 MB for each measure beyond the
/// sample. O(1) a key.
///
/// ```
/// use hashroute_harness::{Keys, skew::Evidence};
/// use hashroute::{Node, Rendezvous};
///
/// let router = Rendezvous::new(["a", "b"].map(Node::new))?;
/// let mut evidence = Evidence::of(&router, &Keys::template("user:{i}", 0..100)?);
/// evidence.merge(Evidence::of(&router, &Keys::template("user:{i}", 50..150)?))?;
/// assert_eq!((evidence.total().keys, evidence.distinct_keys()), (200, 150.0));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The nodes in order of name, each with its load.
    pub(crate) nodes: Vec<(Node, Load)>,
    /// For each id of the router, the index in `nodes`.
    ranks: Vec<usize>,
    pub(crate) unplaced: Load,
    pub(crate) unreadable: u64,
    pub(crate) sizes: bool,
    pub(crate) requests: bool,
    /// The keys that found a node.
    pub(crate) census: Census,
}

/// A sampled key and everything that it carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampled<'a> {
    pub(super) key: &'a [u8],
    pub(super) load: Load,
}

impl<'a> From<Row<'a>> for Sampled<'a> {
    fn from(row: Row<'a>) -> Self {
        Self {
            key: row.key,
            load: Load::from(row.amounts),
        }
    }
}

impl Evidence {
    /// The most keys in a sample: about a quarter of a million.
    pub const MOST: usize = 1 << 18;

    /// The most bytes of all keys in a sample. If keys are long, fewer are sampled.
    pub const MOST_BYTES: usize = Census::MOST_BYTES;

    /// Starts without evidence, for keys that this router places.
    pub fn new(router: &dyn Router) -> Self {
        Self::with_most(router, Self::MOST)
    }

    /// Starts without evidence, for a sample of at most this many keys.
    pub(super) fn with_most(router: &dyn Router, most: usize) -> Self {
        let nodes = router.nodes();
        let mut ranks = vec![usize::MAX; nodes.id_bound()];
        for (rank, (id, _)) in nodes.iter().enumerate() {
            ranks[id.index()] = rank;
        }
        let nodes = nodes.iter();
        Self {
            nodes: nodes
                .map(|(_, node)| (node.clone(), Load::default()))
                .collect(),
            ranks,
            unplaced: Load::default(),
            unreadable: 0,
            sizes: false,
            requests: false,
            census: Census::new(most, id_secret(router)),
        }
    }

    /// Gathers the evidence of these keys.
    pub fn of(router: &dyn Router, keys: &Keys) -> Self {
        let mut evidence = Self::new(router);
        evidence.add_all(router, keys);
        evidence.settle();
        evidence
    }

    /// Adds keys. Call [`settle`](Self::settle) after the last.
    pub(crate) fn add_all(&mut self, router: &dyn Router, keys: &Keys) {
        let (sizes, requests) = (keys.sizes(), keys.requests());
        self.sizes |= sizes.is_some() && !keys.is_empty();
        self.requests |= requests.is_some() && !keys.is_empty();
        let of =
            |amounts: Option<&[u64]>, index: usize| amounts.map_or(0, |amounts| amounts[index]);
        let (mut batch, mut all) = (Batch::new(router), keys.iter());
        let (mut block, mut rows) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        for start in (0..keys.len()).step_by(BLOCK) {
            block.clear();
            block.extend(all.by_ref().take(BLOCK));
            batch.route(&block);
            rows.clear();
            for (at, &key) in block.iter().enumerate() {
                let load = Load::new(1, of(sizes, start + at), of(requests, start + at));
                if self.put(batch.owner(at), load) {
                    rows.push((key, load.amounts()));
                }
            }
            self.census.add(&rows);
        }
    }

    /// Adds a key, with the bytes that it stores and the requests that it gets if known. `router`
    /// must be the one that the evidence was started for.
    pub fn add(
        &mut self,
        router: &dyn Router,
        key: &[u8],
        size: Option<u64>,
        requests: Option<u64>,
    ) {
        self.sizes |= size.is_some();
        self.requests |= requests.is_some();
        let load = Load::new(1, size.unwrap_or(0), requests.unwrap_or(0));
        if self.put(assign(router, key), load) {
            self.census.add(&[(key, load.amounts())]);
        }
    }

    /// Adds what a key carries to its node. Returns whether there is one; a key without a node is
    /// not sampled.
    fn put(&mut self, owner: Option<NodeId>, load: Load) -> bool {
        let rank = owner.and_then(|id| self.ranks.get(id.index()).copied());
        let node = rank.and_then(|rank| self.nodes.get_mut(rank));
        let placed = node.is_some();
        *node.map_or(&mut self.unplaced, |(_, on_node)| on_node) += load;
        placed
    }

    /// Shrinks the sample to its size, so that it no longer depends on how the keys came.
    pub(crate) fn settle(&mut self) {
        self.census.settle();
    }

    /// Returns the evidence with a sample of its size.
    pub(crate) fn settled(&self) -> Cow<'_, Self> {
        if self.census.is_settled() {
            return Cow::Borrowed(self);
        }
        let mut settled = self.clone();
        settled.settle();
        Cow::Owned(settled)
    }

    /// Adds the evidence of another pass for the same nodes. The result is the evidence of one pass
    /// over both, bit for bit, unless the router keeps loads.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the nodes or the key hash differ. This evidence is unchanged then.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        let nodes = self.nodes.iter().map(|(node, _)| node);
        same(nodes, other.nodes.iter().map(|(node, _)| node))?;
        check_ids(&self.census, &other.census)?;
        self.absorb(other);
        Ok(())
    }

    /// Adds the evidence of another pass, which must be for the same nodes.
    pub(crate) fn absorb(&mut self, other: Self) {
        for ((_, load), (_, more)) in self.nodes.iter_mut().zip(&other.nodes) {
            *load += *more;
        }
        self.unplaced += other.unplaced;
        self.add_unreadable(other.unreadable);
        self.sizes |= other.sizes;
        self.requests |= other.requests;
        self.census.merge(other.census);
    }

    /// Refuses a router with other nodes.
    pub(crate) fn check(&self, router: &dyn Router) -> Result<(), Error> {
        let nodes = self.nodes.iter().map(|(node, _)| node);
        same(nodes, router.nodes().iter().map(|(_, node)| node))
    }

    /// Returns what all keys carry together, including those without a node.
    pub fn total(&self) -> Load {
        let mut total = self.placed();
        total += self.unplaced;
        total
    }

    /// Returns what the nodes hold together.
    pub(crate) fn placed(&self) -> Load {
        let mut placed = Load::default();
        self.nodes.iter().for_each(|(_, load)| placed += *load);
        placed
    }

    /// Returns the load of each node, in order of name.
    pub fn loads(&self) -> &[(Node, Load)] {
        &self.nodes
    }

    /// Returns the number of keys without a node.
    pub fn unplaced(&self) -> u64 {
        self.unplaced.keys
    }

    /// Counts lines without a readable key.
    pub fn add_unreadable(&mut self, lines: u64) {
        self.unreadable = self.unreadable.saturating_add(lines);
    }

    /// Returns the number of lines without a readable key.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Returns whether all distinct keys are in the sample.
    pub fn is_whole(&self) -> bool {
        self.census.sketch.is_none()
    }

    /// Returns the number of distinct keys that have a node. Exact while all are in the sample,
    /// otherwise estimated with a relative standard error of 1 / sqrt(sampled keys): 0.2% unless
    /// keys are long.
    pub fn distinct_keys(&self) -> f64 {
        self.census.distinct().min(self.placed().keys as f64)
    }

    /// Returns how good the estimates are; `None` if all distinct keys are in the sample.
    pub fn estimated(&self) -> Option<Estimated> {
        Estimated::of(&self.census)
    }

    /// Iterates over the sample in order of the ids, which says nothing about the keys. O(n log n).
    pub(super) fn sample(&self) -> impl ExactSizeIterator<Item = Sampled<'_>> {
        self.census.rows.in_order().map(Sampled::from)
    }

    /// Returns the keys that carry any of a measure: those that carry much one by one, and of the
    /// others those in the sample, each for several.
    pub(super) fn carriers(&self, measure: Measure) -> Carriers<'_> {
        let total = self.placed().of(measure);
        // Beyond the sample, keys are known from a thousandth on. Sampled keys above that mark
        // stand for themselves too, or heavy keys in the sample would count for others that are
        // listed.
        let mark = if self.is_whole() {
            0
        } else {
            total.div_ceil(LISTED)
        };
        let sample = || self.census.rows.iter().map(Sampled::from);
        let heavy = sample().filter(|one| one.load.of(measure) >= mark).count();
        let listed = self.census.beyond(measure as usize);
        let others = self.distinct_keys() - (heavy + listed.len()) as f64;
        let light = (sample().len() - heavy) as f64;
        let each = ratio(others, light).max(1.0);
        let sampled = sample().map(|one| Carrier {
            key: one.key,
            amount: one.load.of(measure),
            stands_for: if one.load.of(measure) >= mark {
                1.0
            } else {
                each
            },
        });
        let listed = listed.into_iter().map(|(amount, key)| Carrier {
            key,
            amount,
            stands_for: 1.0,
        });
        let squares = self.census.squares(measure as usize);
        let sketched = squares.map(|squares| Sketched {
            total: total as f64,
            squares,
            error: self.census.distinct_error().hypot(Sketch::squares_error()),
        });
        Carriers::new(sampled.chain(listed).collect(), sketched)
    }

    /// Returns whether sizes and requests are known.
    pub(crate) fn known(&self) -> [bool; 2] {
        [self.sizes, self.requests]
    }

    /// Iterates over the known measures.
    pub(crate) fn measures(&self) -> impl Iterator<Item = Measure> + use<> {
        let bytes = self.sizes.then_some(Measure::Bytes);
        let requests = self.requests.then_some(Measure::Requests);
        [Some(Measure::Keys), bytes, requests].into_iter().flatten()
    }
}

fn same<'a>(
    nodes: impl ExactSizeIterator<Item = &'a Node>,
    others: impl Iterator<Item = &'a Node>,
) -> Result<(), Error> {
    let count = nodes.len();
    if nodes.eq(others) {
        return Ok(());
    }
    let expected = "the same nodes with the same weights as the evidence is of";
    Err(Error::parameter("nodes", count, expected))
}
