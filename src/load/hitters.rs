//! Finds the heaviest keys of a stream (heavy hitters) in bounded memory.
//!
//! This is the summary of Misra and Gries (1982), in batches as in Anderson and others, "A
//! High-Performance Algorithm for Identifying Frequent Items in Data Streams" (IMC 2017). Counts
//! are exact until there are more than twice as many keys as the capacity. Then the count of the
//! first key beyond the capacity, in order of count, is subtracted from all counts, and keys
//! without a remainder are forgotten. Summaries of parts of a stream can be merged (Agarwal and
//! others, "Mergeable Summaries", PODS 2012).
//!
//! With N the total and c the capacity, a key loses at most N / (c + 1), because every subtraction
//! is made from at least c + 1 keys. This bound holds for all keys. A count with a [`Mark`] has a
//! closer bound of its own, as in the Space-Saving summary of Metwally, Agrawal and El Abbadi (ICDT
//! 2005): amounts subtracted after the count began were counted for the key, so only the amounts
//! subtracted before are uncertain.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::RangeInclusive;

/// A bound on what a key had before its count began. `()` keeps no bound. `u64` keeps the largest
/// possible amount, for 8 bytes more a count.
pub(crate) trait Mark: Copy {
    /// Makes the mark of a count that begins after `missed` was subtracted.
    fn new(missed: u64) -> Self;

    /// Returns the part of `missed` that was subtracted since the count began.
    fn taken(self, missed: u64) -> u64;

    /// Returns the mark of the sum of two counts.
    fn sum(self, other: Self) -> Self;

    /// Returns the mark of half the count.
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
        // Halving adds 1 to `missed` for rounding. That 1 was not subtracted from this key, so the
        // mark grows by 1 as well.
        self.div_ceil(2) + 1
    }
}

#[derive(Clone, Copy, Debug)]
struct Count<M> {
    /// The amount of the key that is left after all subtractions, never 0.
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

/// Counts the heaviest keys. Sums saturate.
///
/// | feed | halve, merge | memory |
/// |---|---|---|
/// | O(log c) amortised, for any keys | O(c), O(c log c) | at most 2 c + 1 keys with their counts, and 8 B more for each while the summary shrinks |
#[derive(Clone, Debug)]
pub(crate) struct Hitters<K, M = ()> {
    capacity: usize,
    counts: BTreeMap<K, Count<M>>,
    /// The largest amount that was subtracted from one key.
    missed: u64,
    total: u64,
}

impl<K: Ord + Clone, M: Mark> Hitters<K, M> {
    /// Makes an empty summary. With a capacity of 0 it forgets every key at once.
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

    /// Counts a key and copies it only if it has no count yet.
    #[cfg(any(feature = "redis", test))]
    pub(crate) fn feed_ref<Q>(&mut self, key: &Q, amount: u64)
    where
        K: core::borrow::Borrow<Q>,
        Q: Ord + alloc::borrow::ToOwned<Owned = K> + ?Sized,
    {
        if let Some(count) = self.counts.get_mut(key) {
            // No new count, so there is nothing to shrink.
            self.total = self.total.saturating_add(amount);
            count.amount = count.amount.saturating_add(amount);
        } else {
            self.feed(key.to_owned(), amount);
        }
    }

    /// Shrinks to the capacity once there are more than twice as many counts.
    fn shrink(&mut self) {
        if self.counts.len() <= 2 * self.capacity {
            return;
        }
        let amounts = self.counts.values().map(|count| Reverse(count.amount));
        let mut amounts: Vec<_> = amounts.collect();
        // `least` is the amount of the key at index `capacity` from the top, so at least
        // capacity + 1 counts lose `least` each. The sum of all `least` is therefore at most
        // total / (capacity + 1). Selecting costs O(c) and runs once in c feeds, so it adds O(1).
        let (_, Reverse(least), _) = amounts.select_nth_unstable(self.capacity);
        let least = *least;
        self.missed = self.missed.saturating_add(least);
        self.counts.retain(|_, count| {
            count.amount = count.amount.saturating_sub(least);
            count.amount > 0
        });
    }

    /// Halves all counts and the total. The total rounds up.
    pub(crate) fn halve(&mut self) {
        self.total = self.total.div_ceil(2);
        // An odd count and an odd `missed` lose a half each to rounding. The 1 makes up for both,
        // so the upper bound of every key holds.
        self.missed = self.missed / 2 + 1;
        self.counts.retain(|_, count| {
            count.amount /= 2;
            count.mark = count.mark.half();
            count.amount > 0
        });
    }

    /// Adds the counts of another part of the stream. The sum has the smaller of the two
    /// capacities, and its bounds are those of that capacity.
    pub(crate) fn merge(&mut self, other: &Self) {
        // A key that only one side counts may have lost the other side's whole `missed` there.
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

    /// Returns the bounds of the amount of a key. O(log c).
    pub(crate) fn range(&self, key: &K) -> RangeInclusive<u64> {
        let count = self.counts.get(key);
        count.map_or(0..=self.missed, |count| count.range(self.missed))
    }

    /// Returns the counted keys in order, each with the bounds of its amount.
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

    /// One stream counted with marks, without marks, and exactly: halves are exact in an `f64`.
    #[derive(Clone)]
    struct Both {
        plain: Hitters<u64>,
        marked: Hitters<u64, u64>,
        exact: BTreeMap<u64, f64>,
        /// The largest amount that halving may have added to a bound, over all merged parts.
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

        /// Feeds a few heavy keys, many light keys, and keys that come in turns.
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
    fn marks_keep_all_bounds_and_narrow_some() {
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
        assert!(narrower > 100, "marks narrowed only {narrower} bounds");
    }

    #[test]
    fn a_key_counted_from_the_start_is_exact_with_a_mark() {
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
    fn huge_amounts_saturate() {
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
