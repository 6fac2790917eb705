//! Heavy hitters of a stream, in memory that does not grow.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::RangeInclusive;
use core::time::Duration;

use crate::load::Hitters;
use crate::{Error, KeyHash};

/// The keys that come most often in a stream of any length.
///
/// Misra and Gries's summary (1982), made in batches as by Anderson and others, "A High-Performance
/// Algorithm for Identifying Frequent Items in Data Streams" (IMC 2017): counts are exact until
/// there are twice as many keys as the capacity; then the count of the first key beyond the
/// capacity is taken from all, and keys with nothing left are forgotten.
///
/// With N the total and c the capacity: every key that came more than N / (c + 1) times has a
/// count, and no count is too low by more than that. With a half-life, N and the counts are those
/// of the recent past, since all are halved at its multiples; that adds 2 to the bound.
///
/// | [`feed`](Self::feed) | [`advance`](Self::advance) | memory |
/// |---|---|---|
/// | O(log c) amortised, whatever the keys are | O(c) a half-life | 2 c + 1 counts, about 28 B each, and 8 B more each while it shrinks |
///
/// It keeps hashes, not keys: keys of one hash are one key to a router as well. A thread or a
/// process each may have its own, to be [merged](Self::merge).
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
    /// In milliseconds.
    half_life: Option<u64>,
    /// Half-lives since the start of time, when last advanced.
    epoch: Option<u64>,
}

impl HeavyHitters {
    /// The most capacity there may be.
    ///
    /// ```
    /// assert_eq!(hashroute::hot::HeavyHitters::MAX_CAPACITY, 65_536);
    /// ```
    pub const MAX_CAPACITY: usize = 65_536;

    /// Nothing counted yet. To see every key with a share s of the stream, take several times
    /// 1 / s; [`HotKeys`](super::HotKeys) asks for four.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a capacity of 0 or beyond [`MAX_CAPACITY`](Self::MAX_CAPACITY).
    ///
    /// ```
    /// # use hashroute::hot::HeavyHitters;
    /// assert!(HeavyHitters::new(1000).is_ok() && HeavyHitters::new(0).is_err());
    /// ```
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

    /// The same, halving all counts at each multiple of this time.
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

    /// Count a key: 1 for a request, its size for bytes. Sums stop at the largest number there
    /// is.
    ///
    /// ```
    /// # use hashroute::{KeyHash, hot::HeavyHitters};
    /// let mut bytes = HeavyHitters::new(10)?;
    /// bytes.feed(KeyHash::from_bytes(b"key"), 512);
    /// assert_eq!(bytes.total(), 512);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn feed(&mut self, key: KeyHash, amount: u64) {
        self.hitters.feed(key, amount);
    }

    /// Halve all counts once for each multiple of the half-life that has passed since the last
    /// call. The first call, a clock that goes back, and calls without a half-life change nothing.
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
        for _ in 0..epoch.saturating_sub(last).min(u64::BITS.into()) {
            self.hitters.halve();
        }
        self.epoch = Some(last.max(epoch));
    }

    /// Add what another has counted, of another part of the stream; both should be
    /// [advanced](Self::advance) to the same time. The sum has the lesser capacity, and with it the
    /// bounds of both streams together. O(c log c).
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

    /// All that was counted, halved with the counts.
    ///
    /// ```
    /// # use hashroute::hot::HeavyHitters;
    /// assert_eq!(HeavyHitters::new(10)?.total(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn total(&self) -> u64 {
        self.hitters.total()
    }

    /// The least and the most that a key came. O(log c).
    ///
    /// ```
    /// # use hashroute::{KeyHash, hot::HeavyHitters};
    /// assert_eq!(HeavyHitters::new(10)?.count(KeyHash::from_bytes(b"key")), 0..=0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn count(&self, key: KeyHash) -> RangeInclusive<u64> {
        self.hitters.range(&key)
    }

    /// The `n` keys that came most often and what each came at least, the most first, at ties by
    /// hash; each may have come [a little more](Self::count). O(c log c).
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
