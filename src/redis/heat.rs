//! The slots and the tags with the most keys, bytes or requests.
//!
//! Slots are counted exactly. Tags are counted in bounded memory: at most `counters` tags are
//! reported, each with a lower and an upper bound. The two bounds differ by at most
//! total / `counters`, and every tag with more than that is reported. Counts are exact while there
//! are at most 2 x `counters` different tags. A tag longer than 1 KiB is not counted on its own;
//! it counts for its slot and in [`Heat::tagged`].

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::RangeInclusive;

use super::SlotRule;
use crate::HashTag;
use crate::load::Hitters;

/// Counts one measure, such as keys, bytes or requests, for each slot and tag.
///
/// | feed | memory |
/// |---|---|
/// | O(key + log counters) amortised | 8 B for each slot, and at most 2 `counters` + 1 tags of at most 1 KiB |
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
    /// Each tag keeps the error of its count, so a tag that was counted from the start is exact.
    tags: Hitters<Vec<u8>, u64>,
    total: u64,
    tagged: u64,
}

/// A slot and its count.
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
    /// Its count.
    pub count: u64,
}

/// A tag and the bounds of its count.
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
    /// The lower bound of its count.
    pub at_least: u64,
    /// The upper bound of its count.
    pub at_most: u64,
}

/// Longer tags count for their slot only, so that `counters` bounds the memory in bytes.
const MAX_TAG: usize = 1024;

impl Heat {
    /// The maximum number of counters.
    pub const MAX_COUNTERS: usize = 65_536;

    /// Starts an empty count with this number of counters for tags, clamped to
    /// 1..=[`MAX_COUNTERS`](Self::MAX_COUNTERS).
    pub fn new(rule: SlotRule, counters: usize) -> Self {
        Self {
            slots: vec![0; rule.slots() as usize],
            rule,
            tags: Hitters::new(counters.clamp(1, Self::MAX_COUNTERS)),
            total: 0,
            tagged: 0,
        }
    }

    /// Adds `amount` to the slot and the tag of a key: 1 to count keys or requests, the size to
    /// count bytes. Sums saturate at [`u64::MAX`].
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

    /// Returns the sum of all amounts.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Returns the sum of the amounts of keys with a tag.
    pub const fn tagged(&self) -> u64 {
        self.tagged
    }

    /// Returns the count of a slot; 0 if the slot does not exist. O(1).
    pub fn of_slot(&self, slot: u32) -> u64 {
        self.slots.get(slot as usize).copied().unwrap_or(0)
    }

    /// Returns the count of each slot, in the form that [`Goal::with_loads`](super::Goal) takes.
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

    /// Returns at most `count` slots with the largest counts, the lower slot first at a tie. Leaves
    /// out empty slots. O(slots log slots).
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

    /// Returns at most `count` tags with the largest lower bounds, in byte order at a tie.
    /// O(counters log counters).
    pub fn top_tags(&self, count: usize) -> Vec<HotTag> {
        let mut tags: Vec<_> = self.tags.iter().collect();
        // Cut by the upper bound: at most `counters` tags can have more than total / counters, and
        // the cut keeps all of them. The sort is stable.
        tags.sort_by_key(|(_, has)| Reverse(*has.end()));
        tags.truncate(self.tags.capacity());
        tags.sort_by_key(|(tag, has)| (Reverse(*has.start()), *tag));
        let top = tags.into_iter().take(count);
        top.map(|(tag, has)| self.hot(tag, &has)).collect()
    }

    fn hot(&self, tag: &[u8], has: &RangeInclusive<u64>) -> HotTag {
        // Hash the tag between its marks: alone, a tag such as `{a` could be another key.
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

    /// Returns the tag that certainly has more than this share of the total, if there is one. All
    /// its keys are in one slot, so no plan can spread it. `share` is between 0 and 1. A tag with
    /// more than `share + 1 / counters` is always found. O(counters log counters).
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
