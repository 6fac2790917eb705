//! What one pass over the keys leaves behind.

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

/// What lies on a node, or what a key carries. Sums stay at 2^64 - 1 rather than wrap.
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
    /// Keys, each as often as it comes.
    pub keys: u64,
    /// Bytes stored, 0 where sizes are not known.
    pub bytes: u64,
    /// Requests, 0 where they are not known.
    pub requests: u64,
}

impl Load {
    /// So many keys, bytes and requests.
    ///
    /// ```
    /// assert_eq!(hashroute_harness::skew::Load::new(1, 10, 0).bytes, 10);
    /// ```
    pub const fn new(keys: u64, bytes: u64, requests: u64) -> Self {
        Self {
            keys,
            bytes,
            requests,
        }
    }

    /// One of the three.
    ///
    /// ```
    /// use hashroute_harness::{Measure, skew::Load};
    /// assert_eq!(Load::new(1, 10, 0).of(Measure::Bytes), 10);
    /// ```
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

/// Everything that a judgement on skew needs to know of the keys, gathered in one pass.
///
/// The loads of the nodes are of all keys. What asks for the keys themselves looks at a sample of
/// those that have a node: all distinct keys while there are at most [`MOST`](Self::MOST), of at most
/// [`MOST_BYTES`](Self::MOST_BYTES), else those whose own hash
/// (XXH3-128, which routes nothing) is smallest. That is a fair sample of distinct keys, whatever
/// their order and however often each comes, and what a sampled key carries is exact. So two
/// halves [merge](Self::merge) into exactly what one pass gives. Source: Beyer et al., "On
/// synopses for distinct-value estimation", SIGMOD 2007.
///
/// The keys beyond the sample are counted by a sketch, so that none of them that carries a
/// thousandth or more of what they carry together goes unnoticed. What such a key carries is too
/// large by up to 0.004 % of all, 49 times in 50.
///
/// Memory: for each sampled key some hundred bytes, and 2 MB a measure beyond the sample. A thread
/// that gathers 10 million keys `user:{i}` adds 128 MB to the peak of the process (measured). O(log
/// sample) a key.
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
    /// In order of name, each with what lies on it.
    pub(crate) nodes: Vec<(Node, Load)>,
    /// By id of the router: the index in `nodes`.
    ranks: Vec<usize>,
    pub(crate) unplaced: Load,
    pub(crate) unreadable: u64,
    pub(crate) sizes: bool,
    pub(crate) requests: bool,
    pub(crate) sample: BTreeMap<u128, Sampled>,
    /// Of the keys in it.
    pub(crate) bytes: usize,
    /// Keys of a larger number are not in the sample, but in the sketch.
    pub(crate) limit: u128,
    pub(crate) beyond: Sketch,
}

/// A sampled key and all that it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sampled {
    pub(crate) key: Box<[u8]>,
    pub(crate) load: Load,
}

impl Evidence {
    /// The most keys that a sample holds: a million, of 128 bytes on average.
    ///
    /// ```
    /// assert_eq!(hashroute_harness::skew::Evidence::MOST, 1 << 20);
    /// ```
    pub const MOST: usize = 1 << 20;

    /// The most bytes that its keys have together: fewer are sampled where keys are long.
    ///
    /// ```
    /// assert_eq!(hashroute_harness::skew::Evidence::MOST_BYTES, 1 << 27);
    /// ```
    pub const MOST_BYTES: usize = 1 << 27;

    /// Nothing yet, for keys that this router is to place.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::skew::Evidence;
    /// assert_eq!(Evidence::new(&Ring::new([Node::new("a")])?).total().keys, 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
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

    /// That of all these keys.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::{Keys, skew::Evidence};
    /// let evidence = Evidence::of(&Ring::new([Node::new("a")])?, &Keys::template("{i}", 0..9)?);
    /// assert_eq!(evidence.total().keys, 9);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
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

    /// One more key, with the bytes that it stores and the requests that it gets where known.
    /// `router` is the one that the evidence was made for.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::skew::Evidence;
    /// let ring = Ring::new([Node::new("a")])?;
    /// let mut evidence = Evidence::new(&ring);
    /// evidence.add(&ring, b"user:1", Some(100), None);
    /// assert_eq!(evidence.total().bytes, 100);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
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

    /// Adds what a key carries to its node and returns it; `None` for a key without a node, which is
    /// no part of the sample.
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

    /// Into the sample, or the sketch.
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
                self.limit = number.saturating_sub(1);
                let amounts = sampled.load.amounts();
                self.beyond.add(&[(number, &*sampled.key, amounts)]);
            }
        }
    }

    /// Add what another pass found on the same nodes: the result is that of one pass over both,
    /// bit for bit, unless the router keeps loads.
    ///
    /// # Errors
    /// [`Error::Parameter`] when the nodes are not the same; nothing has changed then.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::skew::Evidence;
    /// let [a, b] = ["a", "b"].map(|name| Ring::new([Node::new(name)]));
    /// assert!(Evidence::new(&a?).merge(Evidence::new(&b?)).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        let nodes = self.nodes.iter().map(|(node, _)| node);
        same(nodes, other.nodes.iter().map(|(node, _)| node))?;
        self.absorb(other);
        Ok(())
    }

    /// Of the same nodes.
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
        let beyond = self.sample.split_off(&self.limit.saturating_add(1));
        self.bytes -= beyond.values().map(|one| one.key.len()).sum::<usize>();
        for (number, sampled) in beyond.into_iter().chain(other.sample) {
            self.take(number, sampled.load, || sampled.key);
        }
    }

    /// Refuse a router that it is not about.
    pub(crate) fn check(&self, router: &dyn Router) -> Result<(), Error> {
        let nodes = self.nodes.iter().map(|(node, _)| node);
        same(nodes, router.nodes().iter().map(|(_, node)| node))
    }

    /// Returns what all keys carry together, those without a node included.
    pub fn total(&self) -> Load {
        let mut total = self.placed();
        total += self.unplaced;
        total
    }

    /// What the nodes carry together.
    pub(crate) fn placed(&self) -> Load {
        let mut placed = Load::default();
        self.nodes.iter().for_each(|(_, load)| placed += *load);
        placed
    }

    /// What lies on each node, in order of name.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::skew::Evidence;
    /// let ring = Ring::new([Node::new("a")])?;
    /// assert_eq!(Evidence::new(&ring).loads().len(), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn loads(&self) -> &[(Node, Load)] {
        &self.nodes
    }

    /// Returns the number of keys without a node.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::{Keys, skew::Evidence};
    /// let nobody = Ring::new([] as [Node; 0])?;
    /// assert_eq!(Evidence::of(&nobody, &Keys::template("{i}", 0..3)?).unplaced(), 3);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn unplaced(&self) -> u64 {
        self.unplaced.keys
    }

    /// Counts lines without a readable key.
    ///
    /// ```
    /// # use hashroute::Ring;
    /// # use hashroute_harness::skew::Evidence;
    /// let mut evidence = Evidence::new(&Ring::new(["a"])?);
    /// evidence.add_unreadable(3);
    /// assert_eq!(evidence.unreadable(), 3);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn add_unreadable(&mut self, lines: u64) {
        self.unreadable = self.unreadable.saturating_add(lines);
    }

    /// Returns the number of lines without a readable key that were
    /// [added](Self::add_unreadable).
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Returns whether all distinct keys are in the sample.
    pub fn is_whole(&self) -> bool {
        self.limit == u128::MAX
    }

    /// Returns the number of distinct keys that have a node: exact while all are in the sample, else estimated with a
    /// relative standard error of 1 / sqrt(sampled keys): a thousandth unless keys are long.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::{Keys, skew::Evidence};
    /// let ring = Ring::new([Node::new("a")])?;
    /// assert_eq!(Evidence::of(&ring, &Keys::lines(&b"x\nx\ny\n"[..]).unwrap_or_default()).distinct_keys(), 2.0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn distinct_keys(&self) -> f64 {
        self.sample.len() as f64 / self.sampled_share()
    }

    /// The share of the distinct keys that is in the sample.
    fn sampled_share(&self) -> f64 {
        if self.is_whole() {
            1.0
        } else {
            self.limit as f64 / u128::MAX as f64
        }
    }

    /// The sample, in an order that says nothing about the keys.
    pub(crate) fn sample(&self) -> impl ExactSizeIterator<Item = &Sampled> {
        self.sample.values()
    }

    /// The keys that carry any of a measure: those that carry much of it one by one, and of the
    /// others those in the sample.
    pub(super) fn carriers(&self, measure: Measure) -> Carriers<'_> {
        let amount = |one: &Sampled| one.load.of(measure);
        // What is beyond the sample is listed from a thousandth on, so the same holds within.
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

    /// Whether sizes and requests are known.
    pub(crate) fn known(&self) -> [bool; 2] {
        [self.sizes, self.requests]
    }

    /// The measures that are known.
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
