//! Locations of nodes: zones and racks, numbered.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

use super::Node;

impl Node {
    /// Sets the zone and the rack. `None` and an empty text both mean none.
    pub(crate) fn located(self, zone: Option<Box<str>>, rack: Option<Box<str>>) -> Self {
        let [zone, rack] = [zone, rack].map(|text| text.filter(|text| !text.is_empty()));
        let location = (zone, rack);
        Self {
            location: (location != (None, None)).then(|| Box::new(location)),
            ..self
        }
    }
}

/// Numbers for the distinct locations of the nodes with weight, small enough to be indexes of bits.
#[derive(Clone, Debug)]
pub(super) struct LocationIds<K> {
    /// The number of each location, and the number of its nodes.
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

    /// Counts one more node in a location, and returns the number of the location.
    pub(super) fn enter(&mut self, location: K) -> u32 {
        let next = u32::try_from(self.known.len() + self.free.len()).unwrap_or(u32::MAX);
        let free = &mut self.free;
        let new = || (free.pop_first().unwrap_or(next), 0);
        let (number, count) = self.known.entry(location).or_insert_with(new);
        *count += 1;
        *number
    }

    /// Counts one node less in a location.
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
        // Unused numbers at the end are dropped, so that adding nodes and removing them in reverse
        // order restores the state exactly.
        while self
            .free
            .last()
            .is_some_and(|last| *last as usize + 1 == self.known.len() + self.free.len())
        {
            self.free.pop_last();
        }
    }
}
