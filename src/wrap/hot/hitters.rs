//! The heavy hitters of a stream of keys, in bounded memory.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::RangeInclusive;
use core::time::Duration;

use crate::load::Hitters;
use crate::{Error, KeyHash};

/// Finds the most frequent keys of a stream of any length.
///
/// This is the summary of Misra and Gries (1982), in batches as in Anderson and others, "A
/// High-Performance Algorithm for Identifying Frequent Items in Data Streams" (IMC 2017). Counts
/// are exact until there are twice as many keys as the capacity. Then the count of the first key
/// beyond the capacity is subtracted from all counts, and keys without a remainder are forgotten.
///
/// With N the total and c the capacity, every key that came more than N / (c + 1) times has a
/// count, and every count is too low by at most N / (c + 1). With a half-life, all counts and N are
/// halved at its multiples, so they describe the recent past; this adds 2 to the bound.
///
/// | [`feed`](Self::feed) | [`advance`](Self::advance) | memory |
/// |---|---|---|
/// | O(log c) amortised, for any keys | O(c) for each half-life | at most 2 c + 1 counts, about 28 B each, and 8 B more for each while the summary shrinks |
///
/// It stores hashes and not keys, because a router treats keys with equal hashes as one key. Every
/// thread or process can have its own summary and [merge](Self::merge) them.
///
/// ```
/// use hashroute::{KeyHash, hot::HeavyHitters};
///
/// let mut hitters = HeavyHitters::new(100)?;
/// let hot = KeyHash::from_bytes(b"hot");
/// for i in 0..10_000 {
///     hitters.feed(if i % 20 == 0 { hot } else { KeyHash::from_integer(i) }, 1);
/// }
/// let most_missed = 10_000 / 101;
/// assert_eq!(hitters.top(1)[0].0, hot);
/// assert!(*hitters.count(hot).start() >= 500 - most_missed && *hitters.count(hot).end() >= 500);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HeavyHitters {
    hitters: Hitters<KeyHash>,
    /// The half-life in milliseconds.
    half_life: Option<u64>,
    /// The number of half-lives from time 0 to the last call of `advance`.
    epoch: Option<u64>,
}

impl HeavyHitters {
    /// The largest capacity.
    pub const MAX_CAPACITY: usize = 65_536;

    /// Makes an empty summary. To find every key with a share s of the stream, use a capacity of
    /// several times 1 / s; [`HotKeys`](super::HotKeys) requires four times.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a capacity of 0 or above [`MAX_CAPACITY`](Self::MAX_CAPACITY).
    pub fn new(capacity: usize) -> Result<Self, Error> {
        if !(1..=Self::MAX_CAPACITY).contains(&capacity) {
            let expected = alloc::format!("1 to {}", Self::MAX_CAPACITY);
            return Err(Error::parameter("capacity", capacity, expected));
        }
        Ok(Self {
            hitters: Hitters::new(capacity),
            half_life: None,
            epoch: None,
        })
    }

    /// Sets a half-life: [`advance`](Self::advance) halves all counts at each multiple of it.
    ///
    /// # Errors
    /// [`Error::Parameter`] for less than a millisecond.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use hashroute::hot::HeavyHitters;
    /// assert!(HeavyHitters::new(1000)?.with_half_life(Duration::from_secs(60)).is_ok());
    /// assert!(HeavyHitters::new(1000)?.with_half_life(Duration::ZERO).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn with_half_life(mut self, half_life: Duration) -> Result<Self, Error> {
        let millis = millis(half_life);
        if millis == 0 {
            let given = alloc::format!("{half_life:?}");
            return Err(Error::parameter("half-life", given, "at least 1 ms"));
        }
        self.half_life = Some(millis);
        Ok(self)
    }

    /// Counts a key: 1 for a request, or its size to count bytes. Sums saturate. O(log c)
    /// amortised.
    pub fn feed(&mut self, key: KeyHash, amount: u64) {
        self.hitters.feed(key, amount);
    }

    /// Halves all counts once for each multiple of the half-life since the last call. The first
    /// call, a clock that goes backwards, and calls without a half-life change no count.
    ///
    /// ```
    /// use core::time::Duration;
    /// use hashroute::{KeyHash, hot::HeavyHitters};
    ///
    /// let minutes = |n: u64| Duration::from_secs(60 * n);
    /// let mut hitters = HeavyHitters::new(10)?.with_half_life(minutes(5))?;
    /// hitters.advance(minutes(1));
    /// hitters.feed(KeyHash::from_bytes(b"key"), 1000);
    /// hitters.advance(minutes(4));
    /// assert_eq!(hitters.total(), 1000);
    /// hitters.advance(minutes(11));
    /// assert_eq!(hitters.total(), 250);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn advance(&mut self, now: Duration) {
        let Some(half_life) = self.half_life else {
            return;
        };
        let epoch = millis(now) / half_life;
        let last = self.epoch.unwrap_or(epoch);
        // 64 halvings leave nothing of any count, so a jump of the clock does not loop for long.
        for _ in 0..epoch.saturating_sub(last).min(u64::BITS.into()) {
            self.hitters.halve();
        }
        self.epoch = Some(last.max(epoch));
    }

    /// Adds the counts of another part of the stream. Both summaries should be
    /// [advanced](Self::advance) to the same time. The sum has the smaller of the two capacities,
    /// and the bounds of that capacity for both streams together. O(c log c).
    ///
    /// ```
    /// # use hashroute::{KeyHash, hot::HeavyHitters};
    /// let mut threads = [HeavyHitters::new(10)?, HeavyHitters::new(10)?];
    /// threads.iter_mut().for_each(|thread| thread.feed(KeyHash::from_bytes(b"key"), 5));
    /// let [mut all, other] = threads;
    /// all.merge(&other);
    /// assert_eq!(all.count(KeyHash::from_bytes(b"key")), 10..=10);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) {
        self.hitters.merge(&other.hitters);
    }

    pub(super) fn capacity(&self) -> usize {
        self.hitters.capacity()
    }

    /// Returns the total of all amounts, halved together with the counts.
    pub fn total(&self) -> u64 {
        self.hitters.total()
    }

    /// Returns the bounds of the amount of a key. O(log c).
    ///
    /// ```
    /// # use hashroute::{KeyHash, hot::HeavyHitters};
    /// assert_eq!(HeavyHitters::new(10)?.count(KeyHash::from_bytes(b"key")), 0..=0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn count(&self, key: KeyHash) -> RangeInclusive<u64> {
        self.hitters.range(&key)
    }

    /// Returns the `n` most frequent keys with the lower [bound](Self::count) of each, the highest
    /// first; ties are in order of hash. O(c log c).
    ///
    /// ```
    /// # use hashroute::{KeyHash, hot::HeavyHitters};
    /// let mut hitters = HeavyHitters::new(10)?;
    /// [1, 2, 2, 3, 3, 3].map(KeyHash::from_raw).into_iter().for_each(|key| hitters.feed(key, 1));
    /// assert_eq!(hitters.top(2), [(KeyHash::from_raw(3), 3), (KeyHash::from_raw(2), 2)]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn top(&self, n: usize) -> Vec<(KeyHash, u64)> {
        let counts = self.hitters.iter();
        let mut all: Vec<_> = counts.map(|(key, count)| (*key, *count.start())).collect();
        all.sort_by_key(|&(key, count)| (Reverse(count), key));
        all.truncate(n);
        all
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
