//! Where nodes stand: zones and racks, numbered.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

use super::Node;

impl Node {
    /// In this zone, on this rack, either of which may be left out or, which is the same, empty.
    pub(crate) fn located(self, zone: Option<Box<str>>, rack: Option<Box<str>>) -> Self {
        let [zone, rack] = [zone, rack].map(|text| text.filter(|text| !text.is_empty()));
        let location = (zone, rack);
        Self {
            location: (location != (None, None)).then(|| Box::new(location)),
            ..self
        }
    }
}

/// Numbers for the distinct locations of the nodes with weight, small enough to index bits by.
#[derive(Clone, Debug)]
pub(super) struct LocationIds<K> {
    /// The number of each location, and how many nodes stand there.
    known: BTreeMap<K, (u32, u32)>,
    free: BTreeSet<u32>,
}

impl<K> Default for LocationIds<K> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            free: BTreeSet::new(),
        }
    }
}

impl<K: Ord> LocationIds<K> {
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// One more node stands there: the number of the location.
    pub(super) fn enter(&mut self, location: K) -> u32 {
        let next = u32::try_from(self.known.len() + self.free.len()).unwrap_or(u32::MAX);
        let free = &mut self.free;
        let new = || (free.pop_first().unwrap_or(next), 0);
        let (number, count) = self.known.entry(location).or_insert_with(new);
        *count += 1;
        *number
    }

    /// One fewer.
    pub(super) fn leave(&mut self, location: &K) {
        let Some((number, count)) = self.known.get_mut(location) else {
            return;
        };
        *count -= 1;
        if *count > 0 {
            return;
        }
        self.free.insert(*number);
        self.known.remove(location);
        // Numbers at the end go, so that last in, first out leaves no trace.
        while self
            .free
            .last()
            .is_some_and(|last| *last as usize + 1 == self.known.len() + self.free.len())
        {
            self.free.pop_last();
        }
    }
}
