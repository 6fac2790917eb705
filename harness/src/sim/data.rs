//! The values that servers hold, and the values that they should hold.

use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

/// Values of one server by slot and key, so that the keys of a slot stand together.
type Store = BTreeMap<(u32, u32), u64>;

/// The slot of a key, and the number of the key.
pub(super) type Entry = (u32, u32);

#[derive(Clone, Debug)]
pub(super) struct Data {
    stores: Vec<Store>,
    /// Whether each server is up. `copies` does not count the keys of a server that is down, since
    /// no client can read them.
    up: Vec<bool>,
    /// The last written value of each key.
    truth: Vec<Option<u64>>,
    /// The number of running servers that hold each key.
    copies: Vec<u32>,
    last_value: u64,
}

impl Data {
    pub(super) fn new(servers: usize, keys: usize) -> Self {
        Self {
            stores: vec![Store::new(); servers],
            up: vec![true; servers],
            truth: vec![None; keys],
            copies: vec![0; keys],
            last_value: 0,
        }
    }

    pub(super) fn get(&self, server: usize, entry: Entry) -> Option<u64> {
        self.stores[server].get(&entry).copied()
    }

    /// Returns the last written value.
    pub(super) fn truth(&self, key: u32) -> Option<u64> {
        self.truth[key as usize]
    }

    pub(super) fn copies(&self, key: u32) -> u32 {
        self.copies[key as usize]
    }

    /// Returns up to `most` keys of a slot that a server holds.
    pub(super) fn in_slot(&self, server: usize, slot: u32, most: usize) -> Vec<u32> {
        let held = self.stores[server].range((slot, 0)..=(slot, u32::MAX));
        held.take(most).map(|((_, key), _)| *key).collect()
    }

    /// Writes a new value, and records it as the last written one.
    pub(super) fn write(&mut self, server: usize, entry: Entry) {
        self.last_value += 1;
        self.truth[entry.1 as usize] = Some(self.last_value);
        self.put(server, entry, self.last_value);
    }

    /// Deletes the key, and records the deletion even if the server does not hold the key.
    pub(super) fn delete(&mut self, server: usize, entry: Entry) {
        self.truth[entry.1 as usize] = None;
        self.drop_key(server, entry);
    }

    /// Moves a key from one server to another.
    pub(super) fn migrate(&mut self, from: usize, to: usize, entry: Entry) {
        if let Some(value) = self.drop_key(from, entry) {
            self.put(to, entry, value);
        }
    }

    /// Drops the keys of a slot that the server lost.
    pub(super) fn drop_slot(&mut self, server: usize, slot: u32) {
        for key in self.in_slot(server, slot, usize::MAX) {
            self.drop_key(server, (slot, key));
        }
    }

    /// Drops all keys of a server that begins to copy another.
    pub(super) fn clear(&mut self, server: usize) {
        let held: Vec<_> = self.stores[server].keys().copied().collect();
        for entry in held {
            self.drop_key(server, entry);
        }
    }

    /// Marks a server as up or down. It keeps its keys.
    pub(super) fn set_up(&mut self, server: usize, up: bool) {
        if core::mem::replace(&mut self.up[server], up) == up {
            return;
        }
        for (_, key) in self.stores[server].keys() {
            let copies = &mut self.copies[*key as usize];
            *copies = if up { *copies + 1 } else { *copies - 1 };
        }
    }

    /// Replaces the keys of the successor with those of the dead server.
    pub(super) fn inherit(&mut self, successor: usize, dead: usize) {
        self.clear(successor);
        for (entry, value) in self.stores[dead].clone() {
            self.put(successor, entry, value);
        }
    }

    fn put(&mut self, server: usize, entry: Entry, value: u64) {
        let is_new = self.stores[server].insert(entry, value).is_none();
        self.copies[entry.1 as usize] += u32::from(is_new && self.up[server]);
    }

    fn drop_key(&mut self, server: usize, entry: Entry) -> Option<u64> {
        let value = self.stores[server].remove(&entry)?;
        self.copies[entry.1 as usize] -= u32::from(self.up[server]);
        Some(value)
    }
}
