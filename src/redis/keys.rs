//! From keys to slots.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::{Error, KeyHasher, Limit};

/// How a key becomes a slot: a hash function, a tag, and the number of slots.
///
/// All peers of a cluster must use the same. [`Default`] is [`REDIS`](Self::REDIS).
///
/// ```
/// use hashroute::redis::SlotRule;
///
/// assert_eq!(SlotRule::REDIS.slot(b"{user1000}.following"), 3443);
/// assert_eq!(SlotRule::REDIS.slot(b""), 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRule {
    hasher: KeyHasher,
    slots: u32,
}

/// Where a key goes, and why.
///
/// ```
/// use hashroute::redis::SlotRule;
///
/// let found = SlotRule::REDIS.key_slot(b"{user1000}.cart");
/// assert_eq!((found.slot, found.tag), (3443, Some(&b"user1000"[..])));
/// assert_eq!(SlotRule::REDIS.key_slot(b"foo{}{bar}").tag, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KeySlot<'k> {
    /// The slot.
    pub slot: u32,
    /// The tag that was hashed instead of the whole key, if the key has one.
    pub tag: Option<&'k [u8]>,
}

impl SlotRule {
    /// The rule of Redis Cluster: CRC-16/XMODEM of the `{}` tag, modulo 16,384.
    ///
    /// Source: Redis Cluster specification, "Key distribution model" and "Hash tags".
    ///
    /// ```
    /// use hashroute::redis::SlotRule;
    ///
    /// assert_eq!(SlotRule::REDIS.slots(), 16_384);
    /// ```
    pub const REDIS: Self = Self {
        hasher: KeyHasher::REDIS,
        slots: 16_384,
    };

    /// The most slots there may be.
    ///
    /// ```
    /// use hashroute::KeyHasher;
    /// use hashroute::redis::SlotRule;
    ///
    /// assert!(SlotRule::new(KeyHasher::default(), SlotRule::MAX_SLOTS + 1).is_err());
    /// ```
    pub const MAX_SLOTS: u32 = 1 << 20;

    /// A rule of one's own: the hash of the key modulo `slots`.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] for 0 slots, [`Error::Capacity`] beyond [`MAX_SLOTS`](Self::MAX_SLOTS).
    ///
    /// ```
    /// use hashroute::KeyHasher;
    /// use hashroute::redis::SlotRule;
    ///
    /// let rule = SlotRule::new(KeyHasher::REDIS, 1024)?;
    /// assert_eq!(rule.slot(b"foo"), 12_182 % 1024);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(hasher: KeyHasher, slots: u32) -> Result<Self, Error> {
        match slots {
            0 => Err(Error::parameter("slots", slots, "at least 1")),
            1..=Self::MAX_SLOTS => Ok(Self { hasher, slots }),
            _ => Err(Error::Capacity {
                what: Limit::Slots,
                wanted: slots.into(),
                limit: Self::MAX_SLOTS.into(),
                advice: "take fewer: a few hundred a node are even",
            }),
        }
    }

    /// How many slots there are. They are numbered from 0.
    ///
    /// ```
    /// assert_eq!(hashroute::redis::SlotRule::default().slots(), 16_384);
    /// ```
    pub const fn slots(&self) -> u32 {
        self.slots
    }

    /// How keys are hashed.
    ///
    /// ```
    /// use hashroute::KeyHasher;
    /// use hashroute::redis::SlotRule;
    ///
    /// assert_eq!(SlotRule::REDIS.hasher(), &KeyHasher::REDIS);
    /// ```
    pub const fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// The slot of a key. Linear in the key.
    ///
    /// ```
    /// use hashroute::redis::SlotRule;
    ///
    /// assert_eq!(SlotRule::REDIS.slot(b"123456789"), 12_739);
    /// ```
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of slots")]
    pub fn slot(&self, key: &[u8]) -> u32 {
        (self.hasher.raw(key).get() % u64::from(self.slots)) as u32
    }

    /// The slot of a key, and the tag that decided it. Linear in the key.
    ///
    /// ```
    /// use hashroute::redis::SlotRule;
    ///
    /// assert_eq!(SlotRule::REDIS.key_slot(b"foo{{bar}}zap").tag, Some(&b"{bar"[..]));
    /// ```
    pub fn key_slot<'k>(&self, key: &'k [u8]) -> KeySlot<'k> {
        let part = self.hasher.part(key);
        KeySlot {
            slot: self.slot(key),
            // A tag is never empty and never the whole key: its two marks are missing from it.
            tag: (part.len() < key.len()).then_some(part),
        }
    }

    /// The slot that all these keys share; `None` without keys. Linear in the keys.
    ///
    /// # Errors
    ///
    /// [`Error::CrossSlot`] names the first key and the first that falls elsewhere.
    ///
    /// ```
    /// use hashroute::redis::SlotRule;
    ///
    /// assert_eq!(SlotRule::REDIS.same_slot(["{user1000}.a", "{user1000}.b"])?, Some(3443));
    /// let error = SlotRule::REDIS.same_slot(["foo", "bar"]).unwrap_err();
    /// assert!(error.to_string().contains("12182") && error.to_string().contains("5061"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn same_slot<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Option<u32>, Error> {
        let mut keys = keys.into_iter();
        let Some(first) = keys.next() else {
            return Ok(None);
        };
        let first_slot = self.slot(first.as_ref());
        match keys.find(|key| self.slot(key.as_ref()) != first_slot) {
            None => Ok(Some(first_slot)),
            Some(other) => Err(Error::CrossSlot {
                first: first.as_ref().into(),
                first_slot,
                other_slot: self.slot(other.as_ref()),
                other: other.as_ref().into(),
            }),
        }
    }

    /// Up to `count` tags that fall into `slot`, short ones first: for test data, and to pin
    /// related keys to a slot. Each is of lower-case letters and digits; put it between the two
    /// marks of the rule's tag, or take it as a whole key.
    ///
    /// Tries about `slots x count` candidates. A narrow hash may reach no key of a slot: after
    /// `32 x slots` candidates without a new tag it gives those it has. At most 65,536 tags.
    ///
    /// ```
    /// use hashroute::redis::SlotRule;
    ///
    /// let tags = SlotRule::REDIS.tags_in(16_383, 2);
    /// assert_eq!(tags.len(), 2);
    /// assert_eq!(SlotRule::REDIS.slot(format!("{{{}}}:cart", tags[0]).as_bytes()), 16_383);
    /// ```
    pub fn tags_in(&self, slot: u32, count: usize) -> Vec<Box<str>> {
        let count = count.min(1 << 16);
        if slot >= self.slots || count == 0 {
            return Vec::new();
        }
        // Chance alone passes a slot over for so long once in e^32 times.
        let patience = u64::from(self.slots) * 32;
        let mut candidates = (0_u64..).map(base36);
        let mut next = || {
            let mut some = candidates.by_ref().take(usize::try_from(patience).ok()?);
            some.find(|tag| self.slot_of_tag(tag) == slot)
        };
        core::iter::from_fn(&mut next)
            .take(count)
            .map(Into::into)
            .collect()
    }

    /// Keys in the rule's marks, since a mark of one's own may be a letter.
    fn slot_of_tag(&self, tag: &str) -> u32 {
        match self.hasher.tag() {
            None => self.slot(tag.as_bytes()),
            Some(marks) => {
                let [open, close] = marks.pair();
                let key = [&[open], tag.as_bytes(), &[close]].concat();
                self.slot(&key)
            }
        }
    }
}

impl Default for SlotRule {
    fn default() -> Self {
        Self::REDIS
    }
}

/// The words over `0-9a-z` in order of length: each number has its own.
fn base36(mut number: u64) -> String {
    let mut word = String::new();
    loop {
        let digit = u32::try_from(number % 36).unwrap_or(0);
        word.extend(char::from_digit(digit, 36));
        match (number / 36).checked_sub(1) {
            None => return word,
            Some(rest) => number = rest,
        }
    }
}
