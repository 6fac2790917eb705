//! The points of a ring in order, so laid out that a lookup reads one cache line and a change
//! touches only the points of one node.
//!
//! The circle is cut into equal parts, a block of 64 bytes each, with three to four points to a
//! block. A block holds of its first seven points the upper half of their distance from its
//! start, with their owners, and the owner of the first point beyond it, so that a hash past its
//! last point needs no second block. The lower halves, which settle what the upper ones leave
//! open, lie elsewhere. The few blocks that have more points keep the rest in a map.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::ControlFlow;

use crate::NodeId;
use crate::digest::Digest;
use crate::hash::scale;

/// The number of points that a block has room for.
const ROOM: usize = 7;

const SIGN: u32 = 1 << 31;

/// The number of hashes on the circle.
pub(crate) const CIRCLE: f64 = (1_u128 << 64) as f64;

/// A point and its owner.
type Entry = (u64, NodeId);

/// A point's distance in halves, and its owner.
type Item = (i32, u32, Option<NodeId>);

/// Points with their owners, in order of (point, name).
#[derive(Clone)]
pub(crate) struct Points {
    /// An odd number of them.
    blocks: Vec<Block>,
    /// Of each block the lower halves of its points' distances.
    lower: Vec<[u32; ROOM]>,
    /// The number of points in each block itself.
    taken: Vec<u8>,
    /// The points of a block beyond the seventh as distances, in order; never empty.
    rest: BTreeMap<usize, Vec<Entry>>,
    len: usize,
    /// What turns a distance back into its point.
    inverse: u64,
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = (
            &self.blocks,
            &self.lower,
            &self.taken,
            &self.rest,
            self.inverse,
        );
        Digest(self.len, state).fmt(f)
    }
}

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Block {
    /// The upper halves, ascending. An index without a point holds the largest number, and so does
    /// the one past the last.
    upper: [i32; ROOM + 1],
    /// The owner of the point at each index. The indexes without a point and the one past the last
    /// hold the owner of the first point beyond the block; where there are more points in the map,
    /// the block is full and the index past the last holds `None`.
    owners: [Option<NodeId>; ROOM + 1],
}

impl Block {
    fn has_rest(&self) -> bool {
        self.owners[ROOM].is_none()
    }

    /// Returns the index of the first point whose upper half is not below this one. The compiler compares
    /// all of them at once.
    #[inline]
    fn index_of(&self, upper: i32) -> usize {
        let before = self.upper.iter().filter(|other| **other < upper).count();
        before % (ROOM + 1)
    }
}

/// The halves of a distance; the upper as a signed number in the same order, which is what
/// processors compare in lanes.
#[inline]
fn halves(distance: u64) -> (i32, u32) {
    let upper = (distance >> 32) as u32 ^ SIGN;
    let lower = (distance & 0xffff_ffff) as u32;
    (i32::from_ne_bytes(upper.to_ne_bytes()), lower)
}

fn whole(upper: i32, lower: u32) -> u64 {
    let upper = u32::from_ne_bytes(upper.to_ne_bytes()) ^ SIGN;
    u64::from(upper) << 32 | u64::from(lower)
}

/// Which of `count` blocks a point falls on, and its distance from the block's start in units of
/// 1 / `count`: in the order of the points, and no two alike.
#[inline]
fn split(point: u64, count: usize) -> (usize, u64) {
    (scale(point, count), point.wrapping_mul(count as u64))
}

/// What an odd number multiplied by gives 1, modulo 2^64.
fn inverse(odd: u64) -> u64 {
    // Newton's iteration: every step doubles the bits that are right, of which three are at first.
    (0..5).fold(odd, |x, _| {
        x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)))
    })
}

/// Inserts an item at an index and returns what falls out at the end. Without a branch on the
/// index, which nothing could predict.
fn push<T: Copy>(items: &mut [T; ROOM], index: usize, item: T) -> T {
    let last = items[ROOM - 1];
    for at in (1..ROOM).rev() {
        items[at] = items[at - usize::from(at > index)];
    }
    items[index] = item;
    last
}

/// Removes the item at an index and adds another at the end.
fn pull<T: Copy>(items: &mut [T; ROOM], index: usize, item: T) {
    items[index..].rotate_left(1);
    items[ROOM - 1] = item;
}

/// All but the one past the last.
fn room_of<T>(items: &mut [T; ROOM + 1]) -> &mut [T; ROOM] {
    items.first_chunk_mut().expect("shorter by one")
}

impl Points {
    /// Builds the index from entries sorted by owner name. O(points).
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let len = entries.len();
        let count = if len == 0 { 0 } else { (len * 2 / ROOM) | 1 };
        let (sorted, ends) = by_block(&entries, count);
        drop(entries);
        let mut points = Self {
            blocks: Vec::with_capacity(count),
            lower: Vec::with_capacity(count),
            taken: Vec::with_capacity(count),
            rest: BTreeMap::new(),
            len,
            inverse: inverse(count as u64),
        };
        let mut start = 0;
        for (at, end) in ends.into_iter().map(|end| end as usize).enumerate() {
            let beyond = sorted.get(end).or(sorted.first()).map(|(_, id)| *id);
            points.append(at, &sorted[start..end], beyond);
            start = end;
        }
        points
    }

    /// A block of these entries.
    fn append(&mut self, at: usize, here: &[Entry], beyond: Option<NodeId>) {
        let mut block = Block {
            upper: [i32::MAX; ROOM + 1],
            owners: [beyond; ROOM + 1],
        };
        let (mut low, mut taken) = ([0; ROOM], 0);
        for (index, (distance, id)) in here.iter().take(ROOM).enumerate() {
            (block.upper[index], low[index]) = halves(*distance);
            block.owners[index] = Some(*id);
            taken += 1;
        }
        if here.len() > ROOM {
            self.rest.insert(at, here[ROOM..].to_vec());
            block.owners[ROOM] = None;
        }
        self.blocks.push(block);
        self.lower.push(low);
        self.taken.push(taken);
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The owner of the first point at or after `hash`, past the last one of the first. O(1)
    /// expected.
    #[inline]
    pub(crate) fn owner(&self, hash: u64) -> Option<NodeId> {
        let (at, distance) = split(hash, self.blocks.len());
        let block = self.blocks.get(at)?;
        let (upper, _) = halves(distance);
        let index = block.index_of(upper);
        match block.owners[index] {
            Some(owner) if block.upper[index] != upper => Some(owner),
            _ => self.owner_exactly(at, distance),
        }
    }

    /// The same where the upper halves do not tell, or the rest is asked.
    #[cold]
    #[inline(never)]
    fn owner_exactly(&self, at: usize, distance: u64) -> Option<NodeId> {
        let mut inside = self.inside(at).filter(|(other, _)| *other >= distance);
        let later = || self.rest_from(at, distance).first().copied();
        inside
            .next()
            .or_else(later)
            .map_or_else(|| self.beyond(at), |(_, id)| Some(id))
    }

    /// What the rest of a block has at or after a distance.
    fn rest_from(&self, at: usize, distance: u64) -> &[Entry] {
        let rest = self.rest(at);
        &rest[rest.partition_point(|(other, _)| *other < distance)..]
    }

    /// The first distinct owners from `hash` on, to fill `out`, of which there must be so many.
    /// `false` where that takes a walk.
    pub(crate) fn distinct(&self, hash: u64, out: &mut [NodeId]) -> bool {
        let (start, distance) = split(hash, self.blocks.len());
        let (upper, _) = halves(distance);
        let Some(block) = self.blocks.get(start) else {
            return false;
        };
        let mut index = block.index_of(upper);
        if block.upper[index] == upper {
            return false;
        }
        let (mut at, mut len) = (start, 0);
        for _ in 0..=self.blocks.len() {
            let block = &self.blocks[at];
            // Past the last point comes the owner of the next, which is first in its block.
            let past = usize::from(self.taken[at]) + 1;
            for owner in block.owners.get(index..past).unwrap_or(&[]) {
                let Some(owner) = *owner else {
                    return false;
                };
                if out[..len].contains(&owner) {
                    continue;
                }
                out[len] = owner;
                len += 1;
                if len == out.len() {
                    return true;
                }
            }
            index = 1;
            at += 1;
            if at == self.blocks.len() {
                at = 0;
            }
        }
        false
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
        let (at, start) = split(hash, self.blocks.len());
        let mut visit = |(distance, id)| visit((self.point(distance), id));
        let mut inside = self.inside(at).filter(|(distance, _)| *distance >= start);
        inside.try_for_each(&mut visit)?;
        let mut rest = self.rest_from(at, start).iter().copied();
        rest.try_for_each(&mut visit)?;
        for other in (at + 1..self.blocks.len()).chain(0..at) {
            self.entries(other).try_for_each(&mut visit)?;
        }
        let mut early = self
            .entries(at)
            .take_while(|(distance, _)| *distance < start);
        early.try_for_each(visit)
    }

    /// All points in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> {
        (0..self.blocks.len())
            .flat_map(|at| self.entries(at))
            .map(|(distance, id)| (self.point(distance), id))
    }

    fn point(&self, distance: u64) -> u64 {
        distance.wrapping_mul(self.inverse)
    }

    /// The points of a block as distances.
    fn entries(&self, at: usize) -> impl Iterator<Item = Entry> {
        self.inside(at).chain(self.rest(at).iter().copied())
    }

    fn rest(&self, at: usize) -> &[Entry] {
        if self.blocks[at].has_rest() {
            self.rest.get(&at).map_or(&[], Vec::as_slice)
        } else {
            &[]
        }
    }

    /// Returns the points in the block itself, as distances.
    fn inside(&self, at: usize) -> impl Iterator<Item = Entry> {
        let block = &self.blocks[at];
        let taken = usize::from(self.taken[at]);
        let halves = block.upper.iter().zip(&self.lower[at]).take(taken);
        let distances = halves.map(|(upper, lower)| whole(*upper, *lower));
        let owned = distances.zip(&block.owners);
        owned.filter_map(|(distance, owner)| Some((distance, (*owner)?)))
    }

    /// Add a point; `precedes` orders the owners of equal points. O(1) expected, amortised.
    pub(crate) fn insert(&mut self, entry: Entry, precedes: impl Fn(NodeId, NodeId) -> bool) {
        if self.blocks.is_empty() {
            *self = Self::new(vec![entry]);
            return;
        }
        if self.len * 10 >= self.blocks.len() * 42 {
            self.rebuild();
        }
        let (at, distance) = split(entry.0, self.blocks.len());
        if self.put(at, (distance, entry.1), &precedes) == 0 {
            self.announce(at);
        }
    }

    /// Inserts an entry into its block and returns its index there.
    fn put(
        &mut self,
        at: usize,
        entry: Entry,
        precedes: &impl Fn(NodeId, NodeId) -> bool,
    ) -> usize {
        let before =
            |other: &Entry| other.0 < entry.0 || (other.0 == entry.0 && precedes(other.1, entry.1));
        let (upper, lower) = halves(entry.0);
        let mut index = self.blocks[at].index_of(upper);
        if self.blocks[at].upper[index] == upper {
            index = self.inside(at).take_while(before).count();
        }
        let out = if index < ROOM {
            self.push(at, index, (upper, lower, Some(entry.1)))
        } else {
            (upper, lower, Some(entry.1))
        };
        match out {
            (upper, lower, Some(id)) if usize::from(self.taken[at]) == ROOM => {
                let rest = self.rest.entry(at).or_default();
                rest.insert(rest.partition_point(before), (whole(upper, lower), id));
                self.blocks[at].owners[ROOM] = None;
            }
            _ => self.taken[at] += 1,
        }
        self.len += 1;
        index
    }

    /// Take out a point of an owner, if it is there. O(1) expected, amortised.
    pub(crate) fn remove(&mut self, entry: Entry) {
        if self.blocks.is_empty() {
            return;
        }
        let (at, distance) = split(entry.0, self.blocks.len());
        let entry = (distance, entry.1);
        let index = self.inside(at).position(|other| other == entry);
        let next = self.remove_from_rest(at, |rest| {
            if index.is_some() {
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
        match (index, next) {
            (None, None) => return,
            (None, Some(_)) => {}
            (Some(index), Some((distance, id))) => {
                let (upper, lower) = halves(distance);
                self.pull(at, index, (upper, lower, Some(id)));
            }
            (Some(index), None) => {
                let beyond = self.blocks[at].owners[ROOM];
                self.pull(at, index, (i32::MAX, 0, beyond));
                self.taken[at] -= 1;
            }
        }
        self.len -= 1;
        if index == Some(0) {
            self.announce(at);
        }
        // Fewer than 3 points a block would be more than 32 bytes a point.
        if self.len < self.blocks.len() * 3 {
            self.rebuild();
        }
    }

    /// Inserts a point at an index of a block and returns what falls out at the end.
    fn push(&mut self, at: usize, index: usize, item: Item) -> Item {
        let Block { upper, owners } = &mut self.blocks[at];
        (
            push(room_of(upper), index, item.0),
            push(&mut self.lower[at], index, item.1),
            push(room_of(owners), index, item.2),
        )
    }

    /// Removes the point at an index of a block and adds another at the end.
    fn pull(&mut self, at: usize, index: usize, item: Item) {
        let Block { upper, owners } = &mut self.blocks[at];
        pull(room_of(upper), index, item.0);
        pull(&mut self.lower[at], index, item.1);
        pull(room_of(owners), index, item.2);
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
        // They come in order, those of equal points as well.
        *self = Self::new(self.iter().collect());
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let rest = self
            .rest
            .values()
            .map(|rest| size_of::<(usize, Vec<Entry>)>() + rest.capacity() * size_of::<Entry>());
        self.blocks.capacity() * size_of::<Block>()
            + self.lower.capacity() * size_of::<[u32; ROOM]>()
            + self.taken.capacity()
            + rest.sum::<usize>()
    }
}

/// Entries with distances in place of points, in order of these, and where each of `count` blocks
/// ends among them. Those of equal points stay in the order given.
fn by_block(entries: &[Entry], count: usize) -> (Vec<Entry>, Vec<u32>) {
    let Some(first) = entries.first() else {
        return (Vec::new(), Vec::new());
    };
    let mut ends = vec![0_u32; count + 1];
    for (point, _) in entries {
        ends[scale(*point, count) + 1] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum;
    }
    let mut out = vec![*first; entries.len()];
    for (point, id) in entries {
        let (at, distance) = split(*point, count);
        out[ends[at] as usize] = (distance, *id);
        ends[at] += 1;
    }
    ends.truncate(count);
    let mut start = 0;
    for end in &ends {
        out[start..*end as usize].sort_by_key(|(distance, _)| *distance);
        start = *end as usize;
    }
    (out, ends)
}

#[cfg(test)]
mod tests;
