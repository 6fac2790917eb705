//! The heaviest keys of a stream, in memory that does not grow.
//!
//! The summary of Misra and Gries (1982), made in batches as by Anderson and others, "A
//! High-Performance Algorithm for Identifying Frequent Items in Data Streams" (IMC 2017): counts
//! are exact until there are more than twice as many keys as the capacity. Then the count of the
//! first key beyond the capacity is taken from all counts, and keys with nothing left are
//! forgotten. Summaries of parts of a stream can be merged (Agarwal and others, "Mergeable
//! Summaries", PODS 2012).
//!
//! With N the total and c the capacity, at most N / (c + 1) is taken from any key: whatever is
//! taken is taken from at least c + 1 keys. This is the one bound for all keys. A count that also
//! carries a [`Mark`] has a bound of its own, as in the Space-Saving summary of Metwally, Agrawal
//! and El Abbadi (ICDT 2005): what was taken since the count began did come, so only what was
//! taken before is uncertain.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::RangeInclusive;

/// What a count remembers of the time before it began: nothing (`()`), or the most that its key
/// may have had by then (`u64`, 8 bytes more for each count).
pub(crate) trait Mark: Copy {
    /// The mark of a count that begins when `missed` was taken already.
    fn new(missed: u64) -> Self;

    /// How much of `missed` the key did have: what was taken since the count began.
    fn taken(self, missed: u64) -> u64;

    /// The mark of the sum of two counts.
    fn sum(self, other: Self) -> Self;

    /// The mark of half the count.
    fn half(self) -> Self;
}

impl Mark for () {
    fn new(_: u64) {}

    fn taken(self, _: u64) -> u64 {
        0
    }

    fn sum(self, (): ()) {}

    fn half(self) {}
}

impl Mark for u64 {
    fn new(missed: u64) -> Self {
        missed
    }

    fn taken(self, missed: u64) -> u64 {
        missed.saturating_sub(self)
    }

    fn sum(self, other: Self) -> Self {
        self.saturating_add(other)
    }

    fn half(self) -> Self {
        // `missed` grows by 1 when it is halved, of which the key had nothing.
        self.div_ceil(2) + 1
    }
}

#[derive(Clone, Copy, Debug)]
struct Count<M> {
    /// What the key has beside all that was taken, never 0.
    amount: u64,
    mark: M,
}

impl<M: Mark> Count<M> {
    fn new(missed: u64) -> Self {
        Self {
            amount: 0,
            mark: M::new(missed),
        }
    }

    fn sum(self, other: Self) -> Self {
        Self {
            amount: self.amount.saturating_add(other.amount),
            mark: self.mark.sum(other.mark),
        }
    }

    fn range(self, missed: u64) -> RangeInclusive<u64> {
        let least = self.amount.saturating_add(self.mark.taken(missed));
        least..=self.amount.saturating_add(missed)
    }
}

/// Counts of the heaviest keys. Sums stop at the largest number.
///
/// | feed | halve, merge | memory |
/// |---|---|---|
/// | O(log c) amortised, whatever the keys are | O(c), O(c log c) | at most 2 c + 1 keys with their counts, and 8 B more each while it shrinks |
#[derive(Clone, Debug)]
pub(crate) struct Hitters<K, M = ()> {
    capacity: usize,
    counts: BTreeMap<K, Count<M>>,
    /// The most that was taken from any key.
    missed: u64,
    total: u64,
}

impl<K: Ord + Clone, M: Mark> Hitters<K, M> {
    /// Makes an empty summary; a capacity of 0 counts nothing for long.
    pub(crate) const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            counts: BTreeMap::new(),
            missed: 0,
            total: 0,
        }
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// Counts a key.
    pub(crate) fn feed(&mut self, key: K, amount: u64) {
        self.total = self.total.saturating_add(amount);
        if amount > 0 {
            let begin = || Count::new(self.missed);
            let count = self.counts.entry(key).or_insert_with(begin);
            count.amount = count.amount.saturating_add(amount);
            self.shrink();
        }
    }

    /// Counts a key that is copied only when it has no count yet.
    #[cfg(any(feature = "redis", test))]
    pub(crate) fn feed_ref<Q>(&mut self, key: &Q, amount: u64)
    where
        K: core::borrow::Borrow<Q>,
        Q: Ord + alloc::borrow::ToOwned<Owned = K> + ?Sized,
    {
        if let Some(count) = self.counts.get_mut(key) {
            self.total = self.total.saturating_add(amount);
            count.amount = count.amount.saturating_add(amount);
        } else {
            self.feed(key.to_owned(), amount);
        }
    }

    /// Goes back to the capacity when there are more than twice as many counts: more than
    /// `capacity` counts lose `least` each, so that all `least` together are at most
    /// total / (capacity + 1).
    fn shrink(&mut self) {
        if self.counts.len() <= 2 * self.capacity {
            return;
        }
        let amounts = self.counts.values().map(|count| Reverse(count.amount));
        let mut amounts: Vec<_> = amounts.collect();
        let (_, Reverse(least), _) = amounts.select_nth_unstable(self.capacity);
        let least = *least;
        self.missed = self.missed.saturating_add(least);
        self.counts.retain(|_, count| {
            count.amount = count.amount.saturating_sub(least);
            count.amount > 0
        });
    }

    /// Halves all counts and the total, which rounds up.
    pub(crate) fn halve(&mut self) {
        self.total = self.total.div_ceil(2);
        // The half that an odd count loses is what a key may have beside.
        self.missed = self.missed / 2 + 1;
        self.counts.retain(|_, count| {
            count.amount /= 2;
            count.mark = count.mark.half();
            count.amount > 0
        });
    }

    /// Adds the counts of another part of the stream. The sum has the lesser capacity, and with
    /// it the bounds of both together.
    pub(crate) fn merge(&mut self, other: &Self) {
        // A key that only one of the two counts may have had all that the other took.
        for (key, count) in &mut self.counts {
            let counted = other.counts.get(key).copied();
            *count = count.sum(counted.unwrap_or_else(|| Count::new(other.missed)));
        }
        for (key, count) in &other.counts {
            let sum = || Count::new(self.missed).sum(*count);
            self.counts.entry(key.clone()).or_insert_with(sum);
        }
        self.total = self.total.saturating_add(other.total);
        self.missed = self.missed.saturating_add(other.missed);
        self.capacity = self.capacity.min(other.capacity);
        self.shrink();
    }

    /// The least and the most that a key has. O(log c).
    pub(crate) fn range(&self, key: &K) -> RangeInclusive<u64> {
        let count = self.counts.get(key);
        count.map_or(0..=self.missed, |count| count.range(self.missed))
    }

    /// The keys that are counted, in order, each with the least and the most that it has.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, RangeInclusive<u64>)> {
        let counts = self.counts.iter();
        counts.map(|(key, count)| (key, count.range(self.missed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    const CAPACITY: usize = 5;

    /// The same stream counted with and without marks, and exactly: halves are exact in an `f64`.
    #[derive(Clone)]
    struct Both {
        plain: Hitters<u64>,
        marked: Hitters<u64, u64>,
        exact: BTreeMap<u64, f64>,
        /// The most that halving may have added to a bound, by merged parts.
        slack: f64,
    }

    impl Both {
        fn new(capacity: usize) -> Self {
            Self {
                plain: Hitters::new(capacity),
                marked: Hitters::new(capacity),
                exact: BTreeMap::new(),
                slack: 0.0,
            }
        }

        /// A stream of a few heavy keys, of many light ones, and of others in turns.
        fn feed(&mut self, seed: u64, turns: u64) {
            for turn in 0..turns {
                let random = mix64(seed << 32 | turn);
                let (key, amount) = match random % 4 {
                    0 => (random >> 8 & 3, random >> 16 & 15),
                    1 => (1000 + random % 100_000, 1),
                    2 => (10 + turn % 12, 1),
                    _ => (30 + (random >> 8 & 31), random >> 16 & 3),
                };
                self.plain.feed(key, amount);
                self.marked.feed_ref(&key, amount);
                *self.exact.entry(key).or_default() += amount as f64;
            }
        }

        fn halve(&mut self) {
            self.plain.halve();
            self.marked.halve();
            self.exact.values_mut().for_each(|count| *count /= 2.0);
            self.slack = self.slack.max(2.0);
        }

        fn merge(&mut self, other: &Self) {
            self.plain.merge(&other.plain);
            self.marked.merge(&other.marked);
            for (key, count) in &other.exact {
                *self.exact.entry(*key).or_default() += count;
            }
            self.slack += other.slack;
        }

        fn check(&self) {
            let total: f64 = self.exact.values().sum();
            let bound = total / (self.plain.capacity() + 1) as f64 + self.slack;
            assert!(self.plain.counts.len() <= 2 * self.plain.capacity());
            assert!(self.plain.counts.keys().eq(self.marked.counts.keys()));
            for (key, &exact) in &self.exact {
                let [plain, marked] = [self.plain.range(key), self.marked.range(key)];
                assert_eq!(plain.end(), marked.end());
                assert!(plain.start() <= marked.start());
                assert!(*marked.start() as f64 <= exact && exact <= *marked.end() as f64);
                assert!((plain.end() - plain.start()) as f64 <= bound);
            }
        }
    }

    #[test]
    fn marks_keep_every_bound_and_narrow_some() {
        let mut narrower = 0;
        for seed in 0..200 {
            let mut both = Both::new(CAPACITY);
            let mut part = Both::new(CAPACITY + 2);
            for step in 0..6 {
                match mix64(seed * 7 + step) % 5 {
                    0 => [&mut both, &mut part].into_iter().for_each(Both::halve),
                    1 => both.merge(&part.clone()),
                    2 => part.feed(seed * 16 + step, 300),
                    _ => both.feed(seed * 16 + step, 300),
                }
                [&both, &part].into_iter().for_each(Both::check);
            }
            let counts = both.plain.iter().zip(both.marked.iter());
            narrower += counts.filter(|(plain, marked)| plain != marked).count();
        }
        assert!(narrower > 100, "{narrower}");
    }

    #[test]
    fn a_key_that_was_counted_from_the_start_is_exact_with_a_mark() {
        let mut marked: Hitters<Vec<u8>, u64> = Hitters::new(4);
        marked.feed_ref(&b"first"[..], 1000);
        for i in 0..500_u32 {
            marked.feed_ref(&i.to_be_bytes()[..], 1);
        }
        assert_eq!(marked.range(&b"first".to_vec()), 1000..=1000);
        marked.feed_ref(&b"last"[..], 7);
        let late = marked.range(&b"last".to_vec());
        assert!(*late.start() == 7 && (8..=7 + 1507 / 5).contains(late.end()));
    }

    #[test]
    fn absurd_amounts_stop_at_the_largest_number() {
        let mut marked: Hitters<u64, u64> = Hitters::new(1);
        for key in [1, 2, 2, 3, 3] {
            marked.feed(key, u64::MAX);
        }
        marked.merge(&marked.clone());
        assert_eq!((marked.total(), marked.missed), (u64::MAX, u64::MAX));
        assert_eq!(marked.range(&9), 0..=u64::MAX);
        let mut nothing: Hitters<u64> = Hitters::new(0);
        nothing.feed(1, 5);
        assert_eq!((nothing.range(&1), nothing.iter().count()), (0..=5, 0));
    }
}
