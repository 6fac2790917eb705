//! Routes the keys of a stream and counts them.

use super::batch::Batch;
use super::setup::{CountSetup, id_secret};
use super::tally::Tally;
use crate::keys::{Consumer, Keys};
use crate::summary::{Amounts, BLOCK, MEASURES, Run};
use hashroute::{Error, NodeId, Router};

/// Routes keys and counts them in a [`Tally`].
///
/// ```
/// use hashroute_harness::{Keys, stream::{Consumer, Counter}};
/// use hashroute::{Node, Ring};
///
/// let ring = Ring::new(["a", "b"].map(Node::new))?;
/// let mut counter = Counter::new("ring", &ring)?;
/// counter.add(&Keys::template("user:{i}", 0..10)?);
/// assert_eq!(counter.into_tally().keys(), 10);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Counter<'a> {
    batch: Batch<'a>,
    /// For each id, the index of its node in order of name.
    ranks: Vec<usize>,
    tally: Tally,
}

impl<'a> Counter<'a> {
    /// Starts a count. `strategy` is a name for the reader.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a router that counts loads.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Ring};
    /// # use hashroute_harness::stream::Counter;
    /// let bounded = BoundedLoad::new(Ring::new(["a", "b"])?, 1.25)?;
    /// assert!(Counter::new("bounded", &bounded).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(strategy: &str, router: &'a dyn Router) -> Result<Self, Error> {
        Ok(Self::with(CountSetup::new(strategy, router)?, router))
    }

    /// Starts a count of keys that come in one stream, in order: the router may keep loads. Such a
    /// count cannot be merged with others.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Loads, Ring};
    /// # use hashroute_harness::{Keys, stream::{Consumer, Counter}};
    /// let bounded = BoundedLoad::new(Ring::new(["a", "b"])?, 1.25)?;
    /// let mut counter = Counter::in_order("bounded", &bounded);
    /// counter.add(&Keys::template("user:{i}", 0..10)?);
    /// assert_eq!(bounded.total_load(), 10);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn in_order(strategy: &str, router: &'a dyn Router) -> Self {
        Self::with(CountSetup::in_order(strategy, router), router)
    }

    fn with(setup: CountSetup, router: &'a dyn Router) -> Self {
        let mut ranks = vec![usize::MAX; router.nodes().id_bound()];
        for (rank, (id, _)) in router.nodes().iter().enumerate() {
            ranks[id.index()] = rank;
        }
        Self {
            batch: Batch::new(router),
            ranks,
            tally: Tally::new(setup, id_secret(router)),
        }
    }

    /// Returns what was counted.
    pub fn into_tally(mut self) -> Tally {
        self.tally.census.settle();
        self.tally.templates.settle();
        self.tally
    }

    /// Adds the amounts of a key to its node and returns them; 0 if it has no node.
    fn put(&mut self, owner: Option<NodeId>, amounts: Amounts) -> Amounts {
        for (total, amount) in self.tally.totals.iter_mut().zip(amounts) {
            *total = total.saturating_add(amount.into());
        }
        let Some(rank) = owner.and_then(|id| self.ranks.get(id.index())) else {
            return [0; MEASURES];
        };
        for (loads, amount) in self.tally.loads.iter_mut().zip(amounts) {
            if let Some(load) = loads.get_mut(*rank) {
                *load = load.saturating_add(amount);
            }
        }
        amounts
    }
}

impl Consumer for Counter<'_> {
    fn add(&mut self, keys: &Keys) {
        let (sizes, requests) = (keys.sizes(), keys.requests());
        self.tally.keys = self.tally.keys.saturating_add(keys.len() as u64);
        for (known, amounts) in self.tally.known.iter_mut().zip([sizes, requests]) {
            *known |= amounts.is_some();
        }
        let of =
            |amounts: Option<&[u64]>, index: usize| amounts.map_or(0, |amounts| amounts[index]);
        let mut all = keys.iter();
        let (mut block, mut rows) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        let mut run = Run::default();
        for start in (0..keys.len()).step_by(BLOCK) {
            block.clear();
            block.extend(all.by_ref().take(BLOCK));
            self.batch.route(&block);
            rows.clear();
            for (index, &key) in (start..).zip(&block) {
                let amounts = [1, of(sizes, index), of(requests, index)];
                let placed = self.put(self.batch.owner(index - start), amounts);
                run.add(key, &placed, &mut self.tally.templates);
                rows.push((key, placed));
            }
            self.tally.census.add(&rows);
        }
        run.end(&mut self.tally.templates);
    }

    fn merge(&mut self, other: Self) {
        self.tally.absorb(other.tally);
    }
}
