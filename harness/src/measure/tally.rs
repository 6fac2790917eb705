//! Counts of a stream of keys by node, by key and by template.

use super::balance::{Balance, Estimated};
use super::setup::{CountSetup, check_ids};
use super::yardstick::{Placed, Yardstick};
use crate::keys::DumpSource;
use crate::summary::{Census, IdSecret, KeyShare, MEASURES, Measure};
use hashroute::Error;

/// The number of distinct keys up to which each is counted exactly.
pub(crate) const KEYS: usize = 1 << 16;
/// The number of templates up to which each is counted exactly.
pub(crate) const TEMPLATES: usize = 1 << 12;

/// What a stream of keys puts on the nodes, in bounded memory.
///
/// | | up to 65,536 distinct keys | beyond |
/// |---|---|---|
/// | load of each node | exact | exact |
/// | distinct keys | exact | relative standard error 0.4% |
/// | effective keys E, on which noise and p-values rest | exact | relative standard error 0.3% |
/// | largest keys | exact, all | keys with 0.1% or more; the share is too large by up to 0.004% of all, 49 times in 50 |
/// | keys that carry half | exact | from a uniform sample of 65,536 distinct keys |
///
/// If the router keeps no loads, tallies of parts add up to the tally of the whole, in any order,
/// bit for bit. One thing is left to chance: whether a key beyond the first 65,536 is listed that
/// has 0.1% *by its estimate* but truly less than a quarter of that. For a given key the
/// probability is below one in five million.
///
/// Memory: the sample with its keys and, once it is full, 2 MB for each measure. A thread that
/// counts 10 million keys `user:{i}` adds 28 MB to the peak of the process, its batches included
/// (measured).
///
/// ```
/// use hashroute_harness::{Keys, stream::{Consumer, Counter}};
/// use hashroute::{Node, Ring};
///
/// let ring = Ring::new(["a", "b", "c"].map(Node::new))?;
/// let (mut first, mut second) = (Counter::new("ring", &ring)?, Counter::new("ring", &ring)?);
/// first.add(&Keys::template("user:{i}", 0..1000)?);
/// second.add(&Keys::template("user:{i}", 1000..3000)?);
/// let mut tally = second.into_tally();
/// tally.merge(first.into_tally())?;
/// assert_eq!(tally.balance()?.distinct_keys, 3000);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tally {
    pub(crate) setup: CountSetup,
    /// The number of keys. A repeated key counts each time, and so do keys without a node.
    pub(crate) keys: u64,
    pub(crate) unreadable: u64,
    /// The lists that keys came from, sorted.
    pub(crate) sources: Vec<DumpSource>,
    /// Whether bytes and requests are known.
    pub(crate) known: [bool; 2],
    /// The load of each node, by measure, in order of name.
    pub(crate) loads: [Vec<u64>; MEASURES],
    /// The sums over all keys. They may exceed what a load can be.
    pub(crate) totals: [u128; MEASURES],
    /// The keys that found a node.
    pub(crate) census: Census,
    pub(crate) templates: Census,
}

impl Tally {
    pub(crate) fn new(setup: CountSetup, secret: IdSecret) -> Self {
        let loads = [(); MEASURES].map(|()| vec![0; setup.nodes.len()]);
        Self {
            setup,
            keys: 0,
            unreadable: 0,
            sources: Vec::new(),
            known: [false; 2],
            loads,
            totals: [0; MEASURES],
            census: Census::new(KEYS, secret),
            templates: Census::new(TEMPLATES, secret),
        }
    }

    /// Returns how the keys were routed.
    pub fn setup(&self) -> &CountSetup {
        &self.setup
    }

    /// Returns the number of keys. A repeated key counts each time.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Counts lines without a readable key.
    pub fn add_unreadable(&mut self, lines: u64) {
        self.unreadable = self.unreadable.saturating_add(lines);
    }

    /// Adds a list that keys came from, with what it says about itself.
    pub fn add_source(&mut self, list: DumpSource) {
        self.sources.push(list);
        self.sources.sort_unstable();
    }

    /// Returns the lists that keys came from, sorted.
    pub fn sources(&self) -> &[DumpSource] {
        &self.sources
    }

    /// Adds the counts of another tally: the result is that of one tally for the keys of both.
    ///
    /// # Errors
    /// [`Error::Parameter`] if it was routed with another setup, or if only one of the two knows
    /// sizes or requests. This tally is unchanged then.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::{Keys, Measure, stream::{Consumer, Counter}};
    /// # let ring = Ring::new(["a", "b"].map(Node::new))?;
    /// # let mut counter = Counter::new("ring", &ring)?;
    /// # counter.add(&Keys::template("user:{i}", 0..10)?);
    /// # let mut tally = counter.into_tally();
    /// tally.merge(tally.clone())?;
    /// assert_eq!((tally.keys(), tally.distinct()), (20, 10));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        self.setup.check(&other.setup)?;
        check_ids(&self.census, &other.census)?;
        check_ids(&self.templates, &other.templates)?;
        if self.keys > 0 && other.keys > 0 {
            check_columns(self.known, other.known)?;
        }
        self.absorb(other);
        Ok(())
    }

    pub(super) fn absorb(&mut self, other: Self) {
        self.keys = self.keys.saturating_add(other.keys);
        self.add_unreadable(other.unreadable);
        self.sources.extend(other.sources);
        self.sources.sort_unstable();
        for (known, others) in self.known.iter_mut().zip(other.known) {
            *known |= others;
        }
        for (loads, others) in self.loads.iter_mut().zip(other.loads) {
            for (load, more) in loads.iter_mut().zip(others) {
                *load = load.saturating_add(more);
            }
        }
        for (total, more) in self.totals.iter_mut().zip(other.totals) {
            *total = total.saturating_add(more);
        }
        self.census.merge(other.census);
        self.templates.merge(other.templates);
    }

    /// Returns how the keys lie on the nodes, as [`balance()`](crate::balance()) does for keys in
    /// memory. [`Balance::estimated`] tells how good the estimates are.
    ///
    /// O(nodes log nodes), and some hundred simulated assignments for the noise.
    ///
    /// # Errors
    /// [`Error::Parameter`] if sizes or requests add up to 2^64 or more.
    pub fn balance(&self) -> Result<Balance, Error> {
        self.check_sums()?;
        let carried = |measure: usize| {
            let total = self.loads[measure].iter().map(|&load| load as f64).sum();
            self.census.carried(measure, total)
        };
        let [bytes, requests] =
            [1, 2].map(|measure| self.known[measure - 1].then(|| carried(measure)));
        let yardstick = Yardstick::of(&self.setup.nodes, carried(0), bytes, requests);
        let loads = |measure: usize| Some(self.loads[measure].clone());
        let balance = yardstick.judge(Placed {
            strategy: &self.setup.strategy,
            hash: &self.setup.hash,
            nodes: &self.setup.nodes,
            shares: self.setup.shares.clone(),
            keys: self.keys,
            distinct: self.distinct(),
            loads: [
                loads(0),
                loads(1).filter(|_| self.known[0]),
                loads(2).filter(|_| self.known[1]),
            ],
        });
        Ok(Balance {
            unreadable: self.unreadable,
            estimated: self.estimated(),
            ..balance
        })
    }

    /// Checks that each sum fits into a load.
    pub(crate) fn check_sums(&self) -> Result<(), Error> {
        for (name, total) in ["keys", "sizes", "requests"].into_iter().zip(self.totals) {
            if u64::try_from(total).is_err() {
                return Err(Error::parameter(name, total, "a sum below 2^64"));
            }
        }
        Ok(())
    }

    /// Returns the number of distinct keys, with the precision that [`Tally`] states.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of keys"
    )]
    pub fn distinct(&self) -> u64 {
        (self.census.distinct().round() as u64).min(self.keys)
    }

    /// Returns how good the estimates are; `None` while everything is exact.
    pub fn estimated(&self) -> Option<Estimated> {
        Estimated::of(&self.census)
    }

    /// Returns the largest keys of a measure, up to `most`, in descending order, with the precision
    /// that [`Tally`] states.
    pub fn largest_keys(&self, measure: Measure, most: usize) -> Vec<KeyShare> {
        self.shares(&self.census, measure, most)
    }

    /// Returns the templates that carry most of a measure, up to `most`. A template is a key with
    /// every run of digits replaced by `{i}`. Exact up to 4,096 templates; beyond, templates with
    /// 0.1% or more are listed.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::{Keys, Measure, stream::{Consumer, Counter}};
    /// # let ring = Ring::new(["a", "b"].map(Node::new))?;
    /// # let mut counter = Counter::new("ring", &ring)?;
    /// # counter.add(&Keys::template("user:{i}", 0..10)?);
    /// # let mut tally = counter.into_tally();
    /// assert_eq!(tally.largest_templates(Measure::Keys, 1)[0].key, "user:{i}");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn largest_templates(&self, measure: Measure, most: usize) -> Vec<KeyShare> {
        self.shares(&self.templates, measure, most)
    }

    fn shares(&self, census: &Census, measure: Measure, most: usize) -> Vec<KeyShare> {
        let measure = measure as usize;
        let total: f64 = self.loads[measure].iter().map(|&load| load as f64).sum();
        let largest = census.largest(measure, most).into_iter();
        largest
            .map(|(amount, key)| KeyShare::new(key, amount, total))
            .collect()
    }

    /// Returns a uniform sample of the distinct keys, each with its exact amounts: keys, bytes and
    /// requests, 0 if not known. Up to 65,536 distinct keys the sample holds all of them. The order
    /// says nothing about the keys.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::{Keys, Measure, stream::{Consumer, Counter}};
    /// # let ring = Ring::new(["a", "b"].map(Node::new))?;
    /// # let mut counter = Counter::new("ring", &ring)?;
    /// # counter.add(&Keys::template("user:{i}", 0..10)?);
    /// # let mut tally = counter.into_tally();
    /// assert_eq!(tally.sample().len(), 10);
    /// assert!(tally.sample().iter().all(|(_, [keys, bytes, _])| (*keys, *bytes) == (1, 0)));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn sample(&self) -> Vec<(&[u8], [u64; 3])> {
        self.census.in_order()
    }
}

/// Refuses to add counts if only one side knows sizes or requests.
pub(crate) fn check_columns(known: [bool; 2], others: [bool; 2]) -> Result<(), Error> {
    let columns = |known: [bool; 2]| match known {
        [false, false] => "key",
        [true, false] => "key,size",
        [false, true] => "key,requests",
        [true, true] => "key,size,requests",
    };
    if known == others {
        return Ok(());
    }
    let known = columns(known);
    let expected = format!("{known}, as in the counts to add to");
    Err(Error::parameter("columns", columns(others), expected))
}
