//! The points of a ring in order, so laid out that a lookup reads one cache line and a change
//! touches only the points of one node.
//!
//! The circle is cut into equal parts, a block of 64 bytes each, with two to three points to a
//! block. A block holds its first five points with their owners, and the owner of the first point
//! beyond it, so that a hash past its last point needs no second block. The few blocks that have
//! more points keep the rest in a map.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use crate::NodeId;
use crate::hash::scale;

/// Places for points in a block.
const ROOM: usize = 5;

/// How many places the circle has.
pub(crate) const CIRCLE: f64 = (1_u128 << 64) as f64;

/// A point and its owner.
type Entry = (u64, NodeId);

/// Points with their owners, in order of (point, name).
#[derive(Clone, Debug)]
pub(crate) struct Points {
    blocks: Vec<Block>,
    /// How many places of each block are taken.
    taken: Vec<u8>,
    /// The points of a block beyond the fifth, in order; never empty.
    rest: BTreeMap<usize, Vec<Entry>>,
    len: usize,
}

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Block {
    /// Ascending; a place that is not taken holds the largest number.
    points: [u64; ROOM],
    /// The owner of the point in each place. The places that are not taken and the one past the
    /// last hold the owner of the first point beyond the block; where there are more points in
    /// the map, all places are taken and the one past the last holds `None`.
    owners: [Option<NodeId>; ROOM + 1],
}

impl Block {
    const EMPTY: Self = Self {
        points: [u64::MAX; ROOM],
        owners: [None; ROOM + 1],
    };

    fn has_rest(&self) -> bool {
        self.owners[ROOM].is_none()
    }

    /// Put an entry into its place and give back what falls out at the end. Without a branch on
    /// the place, which nothing could predict.
    fn push(&mut self, place: usize, (point, id): Entry) -> (u64, Option<NodeId>) {
        let last = (self.points[ROOM - 1], self.owners[ROOM - 1]);
        for at in (1..ROOM).rev() {
            let from = at - usize::from(at > place);
            self.points[at] = self.points[from];
            self.owners[at] = self.owners[from];
        }
        if place < ROOM {
            self.points[place] = point;
            self.owners[place] = Some(id);
        }
        last
    }

    /// Take the entry out of a place and let another in at the end.
    fn pull(&mut self, place: usize, (point, owner): (u64, Option<NodeId>)) {
        self.points[place..].rotate_left(1);
        self.owners[place..ROOM].rotate_left(1);
        self.points[ROOM - 1] = point;
        self.owners[ROOM - 1] = owner;
    }
}

impl Points {
    /// Of `len` entries in any order; `precedes` orders the owners of equal points. O(points).
    pub(crate) fn new(
        len: usize,
        entries: impl Iterator<Item = Entry>,
        precedes: impl Fn(NodeId, NodeId) -> bool,
    ) -> Self {
        let count = (len * 2).div_ceil(ROOM);
        let mut points = Self {
            blocks: vec![Block::EMPTY; count],
            taken: vec![0; count],
            rest: BTreeMap::new(),
            len: 0,
        };
        for entry in entries {
            points.put(scale(entry.0, count), entry, &precedes);
        }
        points.link();
        points
    }

    /// Tell every block who owns the first point beyond it.
    fn link(&mut self) {
        let first = (0..self.blocks.len()).find(|&at| self.taken[at] > 0);
        let mut beyond = first.and_then(|at| self.blocks[at].owners[0]);
        for (block, taken) in self.blocks.iter_mut().zip(&self.taken).rev() {
            block.owners[usize::from(*taken)..].fill(beyond);
            beyond = block.owners[0];
        }
        for at in self.rest.keys() {
            self.blocks[*at].owners[ROOM] = None;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The owner of the first point at or after `hash`, past the last one of the first. O(1)
    /// expected.
    #[inline]
    pub(crate) fn owner(&self, hash: u64) -> Option<NodeId> {
        let at = scale(hash, self.blocks.len());
        let block = self.blocks.get(at)?;
        let place = block.points.iter().filter(|point| **point < hash).count();
        match block.owners[place] {
            None => self.owner_in_rest(at, hash),
            owner => owner,
        }
    }

    #[cold]
    fn owner_in_rest(&self, at: usize, hash: u64) -> Option<NodeId> {
        let rest = self.rest.get(&at)?;
        match rest.get(rest.partition_point(|(point, _)| *point < hash)) {
            Some((_, id)) => Some(*id),
            None => self.beyond(at),
        }
    }

    /// Visit all points once around, from the first at or after `hash`.
    pub(crate) fn walk(
        &self,
        hash: u64,
        mut visit: impl FnMut(Entry) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.blocks.is_empty() {
            return ControlFlow::Continue(());
        }
        let at = scale(hash, self.blocks.len());
        let rest = self.rest(at);
        let (early, late) = rest.split_at(rest.partition_point(|(point, _)| *point < hash));
        let places = self.places(at).filter(|(point, _)| *point >= hash);
        places
            .chain(late.iter().copied())
            .try_for_each(&mut visit)?;
        for other in (at + 1..self.blocks.len()).chain(0..at) {
            self.entries(other).try_for_each(&mut visit)?;
        }
        let places = self.places(at).filter(|(point, _)| *point < hash);
        places.chain(early.iter().copied()).try_for_each(visit)
    }

    /// All points in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> {
        (0..self.blocks.len()).flat_map(|at| self.entries(at))
    }

    /// The share of the circle that each owner has, by its index.
    pub(crate) fn shares(&self, id_bound: usize) -> Vec<f64> {
        let mut arcs = vec![0_u128; id_bound];
        let mut last = self.iter().last().map_or(0, |(point, _)| point);
        for (point, id) in self.iter() {
            arcs[id.index()] += u128::from(point.wrapping_sub(last));
            last = point;
        }
        // Points that are all one leave no arc between them: the first has the whole circle.
        if let (Some((_, id)), 0) = (self.iter().next(), arcs.iter().sum::<u128>()) {
            arcs[id.index()] = 1 << 64;
        }
        arcs.iter().map(|&arc| arc as f64 / CIRCLE).collect()
    }

    fn entries(&self, at: usize) -> impl Iterator<Item = Entry> {
        self.places(at).chain(self.rest(at).iter().copied())
    }

    fn rest(&self, at: usize) -> &[Entry] {
        if self.blocks[at].has_rest() {
            self.rest.get(&at).map_or(&[], Vec::as_slice)
        } else {
            &[]
        }
    }

    fn places(&self, at: usize) -> impl Iterator<Item = Entry> {
        let block = &self.blocks[at];
        let taken = block
            .points
            .iter()
            .zip(&block.owners)
            .take(self.taken[at].into());
        taken.filter_map(|(point, owner)| Some((*point, (*owner)?)))
    }

    /// Add a point; `precedes` orders the owners of equal points. O(1) expected, amortised.
    pub(crate) fn insert(&mut self, entry: Entry, precedes: impl Fn(NodeId, NodeId) -> bool) {
        if self.blocks.is_empty() {
            *self = Self::new(1, core::iter::once(entry), precedes);
            return;
        }
        if self.len >= self.blocks.len() * 3 {
            self.rebuild();
        }
        let at = scale(entry.0, self.blocks.len());
        if self.put(at, entry, &precedes) == 0 {
            self.announce(at);
        }
    }

    /// Put an entry into its block and give its place there.
    fn put(
        &mut self,
        at: usize,
        entry: Entry,
        precedes: &impl Fn(NodeId, NodeId) -> bool,
    ) -> usize {
        let before =
            |other: &Entry| other.0 < entry.0 || (other.0 == entry.0 && precedes(other.1, entry.1));
        let points = &self.blocks[at].points;
        let mut place = points.iter().filter(|point| **point < entry.0).count();
        if points.get(place) == Some(&entry.0) {
            place = self.places(at).take_while(before).count();
        }
        let (point, owner) = if place < ROOM {
            self.blocks[at].push(place, entry)
        } else {
            (entry.0, Some(entry.1))
        };
        match owner {
            Some(id) if usize::from(self.taken[at]) == ROOM => {
                let rest = self.rest.entry(at).or_default();
                rest.insert(rest.partition_point(before), (point, id));
                self.blocks[at].owners[ROOM] = None;
            }
            _ => self.taken[at] += 1,
        }
        self.len += 1;
        place
    }

    /// Take out a point of an owner, if it is there. O(1) expected, amortised.
    pub(crate) fn remove(&mut self, entry: Entry) {
        if self.blocks.is_empty() {
            return;
        }
        let at = scale(entry.0, self.blocks.len());
        let place = self.places(at).position(|other| other == entry);
        let next = self.remove_from_rest(at, |rest| {
            if place.is_some() {
                return Some(0);
            }
            let start = rest.partition_point(|(point, _)| *point < entry.0);
            let equal = rest[start..]
                .iter()
                .take_while(|(point, _)| *point == entry.0);
            equal
                .zip(start..)
                .find(|(other, _)| **other == entry)
                .map(|(_, at)| at)
        });
        match (place, next) {
            (None, None) => return,
            (None, Some(_)) => {}
            (Some(place), Some((point, id))) => self.blocks[at].pull(place, (point, Some(id))),
            (Some(place), None) => {
                let beyond = self.blocks[at].owners[ROOM];
                self.blocks[at].pull(place, (u64::MAX, beyond));
                self.taken[at] -= 1;
            }
        }
        self.len -= 1;
        if place == Some(0) {
            self.announce(at);
        }
        // Fewer than 2.1 points a block would be more than 32 bytes a point.
        if self.len * 10 < self.blocks.len() * 21 {
            self.rebuild();
        }
    }

    fn remove_from_rest(
        &mut self,
        at: usize,
        find: impl Fn(&[Entry]) -> Option<usize>,
    ) -> Option<Entry> {
        if !self.blocks[at].has_rest() {
            return None;
        }
        let rest = self.rest.get_mut(&at)?;
        let entry = rest.remove(find(rest)?);
        if rest.is_empty() {
            self.rest.remove(&at);
            self.blocks[at].owners[ROOM] = self.beyond(at);
        }
        Some(entry)
    }

    /// The owner of the first point beyond a block.
    fn beyond(&self, at: usize) -> Option<NodeId> {
        self.blocks[(at + 1) % self.blocks.len()].owners[0]
    }

    fn set_beyond(&mut self, at: usize, owner: Option<NodeId>) {
        if !self.blocks[at].has_rest() {
            self.blocks[at].owners[self.taken[at].into()..].fill(owner);
        }
    }

    /// Tell the blocks before this one who owns its first point now.
    fn announce(&mut self, at: usize) {
        let first = self.blocks[at].owners[0];
        for before in (0..at).rev().chain((at..self.blocks.len()).rev()) {
            self.set_beyond(before, first);
            if self.taken[before] > 0 {
                break;
            }
        }
    }

    fn rebuild(&mut self) {
        // They come in order, so that of equal points the later goes behind.
        *self = Self::new(self.len, self.iter(), |_, _| true);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let rest = self
            .rest
            .values()
            .map(|rest| size_of::<(usize, Vec<Entry>)>() + rest.capacity() * size_of::<Entry>());
        self.blocks.capacity() * size_of::<Block>() + self.taken.capacity() + rest.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: usize) -> NodeId {
        NodeId::from_index(index).expect("small")
    }

    /// Inserts and removes points, spread and crowded, and compares with a sorted list.
    #[test]
    fn agrees_with_a_sorted_list() {
        let mut points = Points::new(0, [].into_iter(), |a, b| a < b);
        let mut list: Vec<Entry> = Vec::new();
        let mut state = 1_u64;
        let mut draw = || {
            state = crate::hash::mix64(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
            state
        };
        for round in 0..3000_u64 {
            let crowded = if draw() % 3 == 0 { draw() % 64 } else { draw() };
            let point = if draw() % 50 == 0 { u64::MAX } else { crowded };
            // Grow for two thirds of the way, then shrink to nothing.
            if round < 2000 && draw() % 4 > 0 {
                let entry = (point, id(scale(draw(), 5)));
                points.insert(entry, |a, b| a < b);
                list.insert(list.partition_point(|other| *other < entry), entry);
            } else if !list.is_empty() {
                let entry = list.remove(scale(draw(), list.len()));
                points.remove(entry);
            }
            points.remove((point ^ 1 << 40, id(9)));
            assert_eq!(points.len(), list.len());
            if round % 32 == 0 {
                compare(
                    &points,
                    &list,
                    [0, 1, 63, 64, u64::MAX, point, draw(), draw()],
                );
            }
        }
        assert!(list.len() < 500);
    }

    fn compare(points: &Points, list: &[Entry], hashes: [u64; 8]) {
        for hash in hashes {
            let at = list.partition_point(|(point, _)| *point < hash);
            let expected = list[at..].iter().chain(&list[..at]).copied();
            let mut walked = Vec::new();
            let _ = points.walk(hash, |entry| {
                walked.push(entry);
                ControlFlow::Continue(())
            });
            assert!(walked.into_iter().eq(expected.clone()), "{hash:#x}");
            assert_eq!(
                points.owner(hash),
                expected.map(|(_, id)| id).next(),
                "{hash:#x}"
            );
        }
        let backwards = list.iter().rev().copied();
        let rebuilt = Points::new(list.len(), backwards, |a, b| a < b);
        if rebuilt.blocks.len() == points.blocks.len() {
            assert_eq!(alloc::format!("{rebuilt:?}"), alloc::format!("{points:?}"));
        }
    }

    #[test]
    fn stays_below_32_bytes_a_point() {
        let mut points = Points::new(0, [].into_iter(), |a, b| a < b);
        let draw = |i| crate::hash::mix64(i);
        let fits = |points: &Points| points.heap_bytes() <= 32 * points.len();
        for i in 1..20_000 {
            points.insert((draw(i), id(1)), |_, _| false);
            assert!(i % 100 != 0 || i < 1000 || fits(&points), "{i} added");
        }
        for i in 1..19_000 {
            points.remove((draw(i), id(1)));
            assert!(i % 100 != 0 || fits(&points), "{i} taken out");
        }
    }
}
