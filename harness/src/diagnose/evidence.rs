//! Evidence: what one pass over the keys gathers.

use core::ops::AddAssign;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::carriers::{Carrier, Carriers};
use crate::keys::Keys;
use crate::measure::assign;
use crate::summary::ratio;
use crate::summary::{Amounts, BLOCK, LISTED, Measure, Sketch};
use hashroute::{Error, Node, Router};

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
/// [`MOST_BYTES`](Self::MOST_BYTES) bytes, otherwise the keys with the smallest hashes (XXH3-128,
/// which routes nothing). That is a uniform sample of the distinct keys, whatever their order and
/// however often each occurs, and the amounts of sampled keys are exact. So two halves
/// [merge](Self::merge) into the evidence of one pass. Source: Beyer et al., "On synopses for
/// distinct-value estimation", SIGMOD 2007.
///
/// A sketch counts the keys beyond the sample. It finds every key that carries a thousandth or more
/// of what they carry together; the amount of such a key is too large by up to 0.004% of all, 49
/// times in 50.
///
/// Memory: about a hundred bytes for each sampled key, and 2 MB for each measure beyond the sample.
/// A thread that gathers 10 million keys `user:{i}` adds 128 MB to the peak of the process
/// (measured). O(log sample) a key.
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
    pub(crate) sample: BTreeMap<u128, Sampled>,
    /// The bytes of the keys in the sample.
    pub(crate) bytes: usize,
    /// The largest hash in the sample. Keys above it go into the sketch.
    pub(crate) limit: u128,
    pub(crate) beyond: Sketch,
}

/// A sampled key and everything that it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sampled {
    pub(crate) key: Box<[u8]>,
    pub(crate) load: Load,
}

impl Evidence {
    /// The most keys in a sample: about a million.
    pub const MOST: usize = 1 << 20;

    /// The most bytes of all keys in a sample. If keys are long, fewer are sampled.
    pub const MOST_BYTES: usize = 1 << 27;

    /// Starts without evidence, for keys that this router places.
    pub fn new(router: &dyn Router) -> Self {
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
            sample: BTreeMap::new(),
            bytes: 0,
            limit: u128::MAX,
            beyond: Sketch::new(),
        }
    }

    /// Gathers the evidence of these keys.
    pub fn of(router: &dyn Router, keys: &Keys) -> Self {
        let mut evidence = Self::new(router);
        evidence.add_all(router, keys);
        evidence
    }

    pub(crate) fn add_all(&mut self, router: &dyn Router, keys: &Keys) {
        let at = |numbers: Option<&[u64]>, index: usize| {
            numbers.and_then(|numbers| numbers.get(index).copied())
        };
        let mut beyond = Vec::with_capacity(BLOCK);
        for (index, key) in keys.iter().enumerate() {
            let (size, requests) = (at(keys.sizes(), index), at(keys.requests(), index));
            let Some(load) = self.count(router, key, size, requests) else {
                continue;
            };
            let number = xxh3_128(key);
            if number <= self.limit {
                self.take(number, load, || key.into());
                continue;
            }
            beyond.push((number, key, load.amounts()));
            if beyond.len() == BLOCK {
                self.beyond.add(&beyond);
                beyond.clear();
            }
        }
        self.beyond.add(&beyond);
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
        if let Some(load) = self.count(router, key, size, requests) {
            self.take(xxh3_128(key), load, || key.into());
        }
    }

    /// Adds what a key carries to its node and returns it. Returns `None` for a key without a node;
    /// such a key is not sampled.
    fn count(
        &mut self,
        router: &dyn Router,
        key: &[u8],
        size: Option<u64>,
        requests: Option<u64>,
    ) -> Option<Load> {
        let load = Load {
            keys: 1,
            bytes: size.unwrap_or(0),
            requests: requests.unwrap_or(0),
        };
        self.sizes |= size.is_some();
        self.requests |= requests.is_some();
        let rank = assign(router, key).and_then(|id| self.ranks.get(id.index()).copied());
        let node = rank.and_then(|rank| self.nodes.get_mut(rank));
        let placed = node.is_some();
        *node.map_or(&mut self.unplaced, |(_, on_node)| on_node) += load;
        placed.then_some(load)
    }

    /// Adds a key to the sample or to the sketch.
    fn take(&mut self, number: u128, load: Load, key: impl FnOnce() -> Box<[u8]>) {
        if number > self.limit {
            self.beyond.add(&[(number, &*key(), load.amounts())]);
            return;
        }
        let bytes = &mut self.bytes;
        let sampled = self.sample.entry(number).or_insert_with(|| {
            let key = key();
            *bytes += key.len();
            Sampled {
                key,
                load: Load::default(),
            }
        });
        sampled.load += load;
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.sample.len() > Self::MOST || self.bytes > Self::MOST_BYTES {
            if let Some((number, sampled)) = self.sample.pop_last() {
                self.bytes -= sampled.key.len();
                // Admit no larger key again: its count would miss its earlier occurrences.
                self.limit = number.saturating_sub(1);
                let amounts = sampled.load.amounts();
                self.beyond.add(&[(number, &*sampled.key, amounts)]);
            }
        }
    }

    /// Adds the evidence of another pass for the same nodes. The result is the evidence of one pass
    /// over both, bit for bit, unless the router keeps loads.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the nodes differ. This evidence is unchanged then.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        let nodes = self.nodes.iter().map(|(node, _)| node);
        same(nodes, other.nodes.iter().map(|(node, _)| node))?;
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
        self.limit = self.limit.min(other.limit);
        self.beyond.merge(other.beyond);
        // Below the smaller limit both samples are complete. What lies above it goes to the sketch.
        let beyond = self.sample.split_off(&self.limit.saturating_add(1));
        self.bytes -= beyond.values().map(|one| one.key.len()).sum::<usize>();
        for (number, sampled) in beyond.into_iter().chain(other.sample) {
            self.take(number, sampled.load, || sampled.key);
        }
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
        self.limit == u128::MAX
    }

    /// Returns the number of distinct keys that have a node. Exact while all are in the sample,
    /// otherwise estimated with a relative standard error of 1 / sqrt(sampled keys): a thousandth
    /// unless keys are long.
    pub fn distinct_keys(&self) -> f64 {
        self.sample.len() as f64 / self.sampled_share()
    }

    /// Returns the share of the distinct keys that is in the sample.
    fn sampled_share(&self) -> f64 {
        if self.is_whole() {
            1.0
        } else {
            self.limit as f64 / u128::MAX as f64
        }
    }

    /// Iterates over the sample, in an order that says nothing about the keys.
    pub(crate) fn sample(&self) -> impl ExactSizeIterator<Item = &Sampled> {
        self.sample.values()
    }

    /// Returns the keys that carry any of a measure: those that carry much one by one, and of the
    /// others those in the sample, each for several.
    pub(super) fn carriers(&self, measure: Measure) -> Carriers<'_> {
        let amount = |one: &Sampled| one.load.of(measure);
        // Beyond the sample, keys are known from a thousandth on. Sampled keys above that mark
        // stand for themselves too, or heavy keys in the sample would count for others that are
        // listed.
        let mark = if self.is_whole() {
            0
        } else {
            self.placed().of(measure).div_ceil(LISTED)
        };
        let heavy = self.sample().filter(|one| amount(one) >= mark).count();
        let listed = self.beyond.listed(measure as usize);
        let others = self.distinct_keys() - (heavy + listed.len()) as f64;
        let each = ratio(others, (self.sample.len() - heavy) as f64).max(1.0);
        let sampled = self.sample().map(|one| Carrier {
            key: &one.key,
            amount: amount(one),
            stands_for: if amount(one) >= mark { 1.0 } else { each },
        });
        let listed = listed.into_iter().map(|(amount, _, key)| Carrier {
            key,
            amount,
            stands_for: 1.0,
        });
        Carriers::new(sampled.chain(listed).collect())
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
