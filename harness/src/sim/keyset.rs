//! The keys of a world, by number.

use std::boxed::Box;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use hashroute::redis::SlotRule;

#[derive(Clone, Debug)]
pub(super) struct KeySet {
    names: Vec<Box<[u8]>>,
    /// The slot of each key.
    slots: Vec<u32>,
    /// The keys of each slot.
    by_slot: Vec<Vec<u32>>,
}

impl KeySet {
    pub(super) fn new<K: AsRef<[u8]>>(rule: &SlotRule, keys: impl IntoIterator<Item = K>) -> Self {
        let names = keys.into_iter().map(|key| key.as_ref().into());
        let names: Vec<Box<[u8]>> = names.collect();
        let slots: Vec<_> = names.iter().map(|key| rule.slot(key)).collect();
        let mut by_slot = vec![Vec::new(); rule.slots() as usize];
        for (key, slot) in (0..).zip(&slots) {
            by_slot[*slot as usize].push(key);
        }
        Self {
            names,
            slots,
            by_slot,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn numbers(&self) -> core::ops::Range<u32> {
        0..u32::try_from(self.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn name(&self, key: u32) -> &[u8] {
        &self.names[key as usize]
    }

    pub(super) fn slot(&self, key: u32) -> u32 {
        self.slots[key as usize]
    }

    /// Returns the key with its slot, as in a store.
    pub(super) fn entry(&self, key: u32) -> super::data::Entry {
        (self.slot(key), key)
    }

    pub(super) fn in_slot(&self, slot: u32) -> &[u32] {
        &self.by_slot[slot as usize]
    }

    /// Returns the key as text on one line, for messages.
    pub(super) fn shown(&self, key: u32) -> String {
        self.name(key).escape_ascii().to_string()
    }
}
