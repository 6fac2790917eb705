//! Which slots and which tags hold, or draw, the most.
//!
//! Slots are counted exactly, tags in memory that does not grow: each of at most `counters` tags
//! is shown with the least and the most that it has, which are no more than 1 / counters of all
//! apart. A tag with more than that is shown for certain. Up to twice as many tags as counters are
//! counted exactly. Tags of more than 1 KiB are not counted by themselves: they show in their slot,
//! and in [`Heat::tagged`].

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::RangeInclusive;

use super::SlotRule;
use crate::HashTag;
use crate::load::Hitters;

/// Counts of one measure: keys, bytes or requests, whatever is fed to it.
///
/// | feed | memory |
/// |---|---|
/// | O(key + log counters) amortised | 8 B a slot, and at most 2 `counters` + 1 tags of at most 1 KiB |
///
/// ```
/// use hashroute::redis::{Heat, SlotRule};
///
/// let mut keys = Heat::new(SlotRule::REDIS, 100);
/// for i in 0..1000 {
///     keys.feed(format!("{{all}}:{i}").as_bytes(), 1);
/// }
/// keys.feed(b"other", 1);
/// let hot = keys.dominant(0.5);
/// assert!(hot.is_some_and(|hot| *hot.tag == *b"all" && hot.at_least == 1000));
/// ```
#[derive(Clone, Debug)]
pub struct Heat {
    rule: SlotRule,
    slots: Vec<u64>,
    /// With a mark each, so that a tag that was counted from the start has an exact count.
    tags: Hitters<Vec<u8>, u64>,
    total: u64,
    tagged: u64,
}

/// A slot and what it has.
///
/// ```
/// use hashroute::redis::{Heat, SlotRule};
///
/// let mut heat = Heat::new(SlotRule::REDIS, 10);
/// heat.feed(b"foo", 7);
/// let top = heat.top_slots(1)[0];
/// assert_eq!((top.slot, top.count), (12_182, 7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HotSlot {
    /// The slot.
    pub slot: u32,
    /// What it has.
    pub count: u64,
}

/// A tag and what it has.
///
/// ```
/// use hashroute::redis::{Heat, SlotRule};
///
/// let mut heat = Heat::new(SlotRule::REDIS, 10);
/// heat.feed(b"{foo}:1", 7);
/// let top = heat.top_tags(1);
/// assert_eq!((&*top[0].tag, top[0].slot, top[0].at_least, top[0].at_most), (&b"foo"[..], 12_182, 7, 7));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HotTag {
    /// The tag.
    pub tag: Box<[u8]>,
    /// Its slot.
    pub slot: u32,
    /// What it has for certain.
    pub at_least: u64,
    /// What it has at most.
    pub at_most: u64,
}

/// Longer ones are counted with their slot alone.
const MAX_TAG: usize = 1024;

impl Heat {
    /// The most counters there may be.
    ///
    /// ```
    /// assert_eq!(hashroute::redis::Heat::MAX_COUNTERS, 65_536);
    /// ```
    pub const MAX_COUNTERS: usize = 65_536;

    /// Nothing counted yet; so many counters for tags, at least 1 and at most
    /// [`MAX_COUNTERS`](Self::MAX_COUNTERS).
    ///
    /// ```
    /// use hashroute::redis::{Heat, SlotRule};
    ///
    /// assert_eq!(Heat::new(SlotRule::REDIS, 1000).total(), 0);
    /// ```
    pub fn new(rule: SlotRule, counters: usize) -> Self {
        Self {
            slots: vec![0; rule.slots() as usize],
            rule,
            tags: Hitters::new(counters.clamp(1, Self::MAX_COUNTERS)),
            total: 0,
            tagged: 0,
        }
    }

    /// Counts a key: 1 for a key or a request, its size for bytes. Sums stop at the largest
    /// number there is.
    ///
    /// ```
    /// use hashroute::redis::{Heat, SlotRule};
    ///
    /// let mut bytes = Heat::new(SlotRule::REDIS, 1000);
    /// bytes.feed(b"foo", 512);
    /// assert_eq!(bytes.of_slot(12_182), 512);
    /// ```
    pub fn feed(&mut self, key: &[u8], amount: u64) {
        let key_slot = self.rule.key_slot(key);
        if let Some(count) = self.slots.get_mut(key_slot.slot as usize) {
            *count = count.saturating_add(amount);
        }
        self.total = self.total.saturating_add(amount);
        if let Some(tag) = key_slot.tag {
            self.tagged = self.tagged.saturating_add(amount);
            if tag.len() <= MAX_TAG {
                self.tags.feed_ref(tag, amount);
            }
        }
    }

    /// All that was counted.
    ///
    /// ```
    /// use hashroute::redis::{Heat, SlotRule};
    ///
    /// let mut heat = Heat::new(SlotRule::REDIS, 10);
    /// heat.feed(b"foo", 7);
    /// assert_eq!(heat.total(), 7);
    /// ```
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// How much of it has a tag.
    ///
    /// ```
    /// use hashroute::redis::{Heat, SlotRule};
    ///
    /// let mut heat = Heat::new(SlotRule::REDIS, 10);
    /// heat.feed(b"{foo}:1", 7);
    /// heat.feed(b"foo", 1);
    /// assert_eq!(heat.tagged(), 7);
    /// ```
    pub const fn tagged(&self) -> u64 {
        self.tagged
    }

    /// What a slot has; 0 for one that does not exist. O(1).
    ///
    /// ```
    /// use hashroute::redis::{Heat, SlotRule};
    ///
    /// assert_eq!(Heat::new(SlotRule::REDIS, 10).of_slot(u32::MAX), 0);
    /// ```
    pub fn of_slot(&self, slot: u32) -> u64 {
        self.slots.get(slot as usize).copied().unwrap_or(0)
    }

    /// What each slot has: the loads that a [`Goal`](super::Goal) takes.
    ///
    /// ```
    /// use hashroute::redis::{Goal, Heat, SlotRule};
    ///
    /// let heat = Heat::new(SlotRule::REDIS, 10);
    /// let goal = Goal::new().with_weight("a", 1).with_loads(heat.loads().to_vec());
    /// assert_eq!(heat.loads().len(), 16_384);
    /// ```
    pub fn loads(&self) -> &[u64] {
        &self.slots
    }

    /// The fullest slots, at most `count`, without empty ones; at ties the first.
    /// O(slots log slots).
    ///
    /// ```
    /// use hashroute::redis::{Heat, SlotRule};
    ///
    /// assert!(Heat::new(SlotRule::REDIS, 10).top_slots(5).is_empty());
    /// ```
    pub fn top_slots(&self, count: usize) -> Vec<HotSlot> {
        let slots = (0..).zip(&self.slots).filter(|(_, count)| **count > 0);
        let mut slots: Vec<_> = slots
            .map(|(slot, count)| HotSlot {
                slot,
                count: *count,
            })
            .collect();
        slots.sort_by_key(|hot| (Reverse(hot.count), hot.slot));
        slots.truncate(count);
        slots
    }

    /// The fullest tags, at most `count`, by what they have for certain; at ties the first.
    /// O(counters log counters).
    ///
    /// ```
    /// use hashroute::redis::{Heat, SlotRule};
    ///
    /// assert!(Heat::new(SlotRule::REDIS, 10).top_tags(5).is_empty());
    /// ```
    pub fn top_tags(&self, count: usize) -> Vec<HotTag> {
        let mut tags: Vec<_> = self.tags.iter().collect();
        // At most `counters` tags may have more than 1 / counters of all: these are among them.
        tags.sort_by_key(|(_, has)| Reverse(*has.end())); // stable: at ties the first
        tags.truncate(self.tags.capacity());
        tags.sort_by_key(|(tag, has)| (Reverse(*has.start()), *tag));
        let top = tags.into_iter().take(count);
        top.map(|(tag, has)| self.hot(tag, &has)).collect()
    }

    fn hot(&self, tag: &[u8], has: &RangeInclusive<u64>) -> HotTag {
        // Within its marks: a tag like `{a` would be another key without.
        let marks = self.rule.hasher().tag();
        let [open, close] = marks.unwrap_or(HashTag::BRACES).pair();
        let key = [&[open], tag, &[close]].concat();
        HotTag {
            tag: tag.into(),
            slot: self.rule.slot(&key),
            at_least: *has.start(),
            at_most: *has.end(),
        }
    }

    /// The tag that has, for certain, more than this share of all, if one does: it keeps its slot
    /// whole, so no plan can spread it. `share` is from 0 to 1; a tag with more than
    /// `share + 1 / counters` is never overlooked. O(counters log counters).
    ///
    /// ```
    /// use hashroute::redis::{Heat, SlotRule};
    ///
    /// let mut heat = Heat::new(SlotRule::REDIS, 10);
    /// heat.feed(b"{a}:1", 1);
    /// heat.feed(b"{b}:1", 1);
    /// assert_eq!(heat.dominant(0.5), None);
    /// ```
    pub fn dominant(&self, share: f64) -> Option<HotTag> {
        let top = self.top_tags(1).pop()?;
        (top.at_least as f64 > share * self.total as f64).then_some(top)
    }
}
