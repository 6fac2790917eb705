//! The rule from keys to slots.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::{Error, KeyHasher, Limit};

/// The rule from a key to a slot: a hash function, a hash tag, and the number of slots.
///
/// All peers of a cluster must use the same rule. [`Default`] is [`REDIS`](Self::REDIS).
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

/// The slot of a key, and the tag that decides it.
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
    /// The tag that is hashed instead of the whole key, if the key has one.
    pub tag: Option<&'k [u8]>,
}

impl SlotRule {
    /// The rule of Redis Cluster: CRC-16/XMODEM of the `{}` tag, modulo 16,384.
    ///
    /// Source: Redis Cluster specification, "Key distribution model" and "Hash tags".
    pub const REDIS: Self = Self {
        hasher: KeyHasher::REDIS,
        slots: 16_384,
    };

    /// The maximum number of slots.
    pub const MAX_SLOTS: u32 = 1 << 20;

    /// Builds a rule: the slot is the hash of the key modulo `slots`.
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
                advice: "use fewer slots: a few hundred for each node spread evenly",
            }),
        }
    }

    /// Returns the number of slots. Slots are numbered from 0.
    pub const fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the hash function of keys, with its hash tag.
    pub const fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// Returns the slot of a key. Linear in the key.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of slots")]
    pub fn slot(&self, key: &[u8]) -> u32 {
        (self.hasher.raw(key).get() % u64::from(self.slots)) as u32
    }

    /// Returns the slot of a key and the tag that decides it. Linear in the key.
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
            // A tag is never empty, and always shorter than the key: it excludes its two marks.
            tag: (part.len() < key.len()).then_some(part),
        }
    }

    /// Returns the slot that all these keys share; `None` without keys. Linear in the keys.
    ///
    /// # Errors
    ///
    /// [`Error::CrossSlot`] with the first key and the first key of another slot.
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

    /// Returns up to `count` tags that fall into `slot`, short ones first. Use them for test data,
    /// or to keep related keys in one slot. A tag consists of lower-case letters and digits. Put it
    /// between the two marks of the rule's hash tag, or, if the rule has none, use it as the key.
    ///
    /// Tries about `slots x count` candidates and returns at most 65,536 tags. A narrow hash may
    /// reach no key of a slot, so the search ends after `32 x slots` candidates without a new tag.
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
        // With a uniform hash, a slot stays without a tag for this long with probability e^-32.
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

    /// Returns the slot of a tag between its marks. A custom mark may be a letter, so the tag alone
    /// could hash differently.
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

/// Returns the word with this number in the list of all words over `0-9a-z`, shortest first. No
/// word is repeated, as it would be with leading zeros.
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
