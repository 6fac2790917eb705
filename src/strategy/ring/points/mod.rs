//! The points of a ring in order, in a layout in which a lookup reads one cache line and a change
//! touches only the points of one node.
//!
//! The circle is cut into equal parts. Each part has a block of 64 bytes, one cache line, with
//! three to four points on average. For its first seven points a block holds the owner and the
//! upper 32 bits of the distance from the start of the block. It also holds the owner of the first
//! point after the block, so that a hash past its last point needs no second block. The lower 32
//! bits of the distances are in a second array, which a lookup reads only if the upper bits are
//! equal. The few blocks with more than seven points keep the others, the rest, in a map.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::ControlFlow;

use crate::NodeId;
use crate::digest::Digest;
use crate::hash::scale;

/// The largest number of points in a block. With the owner of the next point this fills 64 bytes.
const ROOM: usize = 7;

/// The bit that turns the order of unsigned numbers into the order of signed ones.
const SIGN: u32 = 1 << 31;

/// The number of hashes on the circle.
pub(crate) const CIRCLE: f64 = (1_u128 << 64) as f64;

/// A point and its owner.
type Entry = (u64, NodeId);

/// The distance of a point in halves, and its owner.
type Item = (i32, u32, Option<NodeId>);

/// Points with their owners, in order of (point, name).
#[derive(Clone)]
pub(crate) struct Points {
    /// The blocks. Their number is odd, so that a distance determines its point.
    blocks: Vec<Block>,
    /// The lower halves of the distances, for each block.
    lower: Vec<[u32; ROOM]>,
    /// The number of points in each block, without its rest.
    taken: Vec<u8>,
    /// The points of a block after the seventh, as distances, in order; never an empty vector.
    rest: BTreeMap<usize, Vec<Entry>>,
    len: usize,
    /// The number that turns a distance back into its point.
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
    /// The upper halves, ascending. An unused index holds the largest number. The last index is
    /// always unused.
    upper: [i32; ROOM + 1],
    /// The owner of the point at each index. An unused index holds the owner of the first point
    /// after the block. If the block has a rest, it is full and its last index holds `None`.
    owners: [Option<NodeId>; ROOM + 1],
}

impl Block {
    fn has_rest(&self) -> bool {
        self.owners[ROOM].is_none()
    }

    /// Returns the index of the first point with an upper half that is not below this one.
    #[inline]
    fn index_of(&self, upper: i32) -> usize {
        // Counting has no branch, so the compiler compares all eight in vector lanes.
        let before = self.upper.iter().filter(|other| **other < upper).count();
        // Never 8, because the last upper half is the largest number. The remainder shows this to
        // the compiler, which then drops the bounds checks of the callers.
        before % (ROOM + 1)
    }
}

/// Returns the halves of a distance. The upper half is a signed number of the same order, because
/// SSE2 and AVX2 compare only signed numbers in lanes.
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

/// Returns the block of a point, out of `count`, and the distance of the point from the start of
/// the block, in units of 1 / `count`.
#[inline]
fn split(point: u64, count: usize) -> (usize, u64) {
    // The two halves of the 128-bit product point * count: the upper half is the block, the lower
    // half the distance. Inside a block distances ascend with the points. An odd `count` has an
    // inverse modulo 2^64, so different points have different distances.
    (scale(point, count), point.wrapping_mul(count as u64))
}

/// Returns the multiplicative inverse of an odd number modulo 2^64.
fn inverse(odd: u64) -> u64 {
    // Newton's iteration. An odd number is its own inverse in the lowest three bits, and every step
    // doubles the number of correct bits: 3, 6, 12, 24, 48, 96.
    (0..5).fold(odd, |x, _| {
        x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)))
    })
}

/// Inserts an item at an index and returns the item that falls out at the end.
fn push<T: Copy>(items: &mut [T; ROOM], index: usize, item: T) -> T {
    let last = items[ROOM - 1];
    // All items are written whatever the index is: a loop that starts at the index would have a
    // branch that no processor can predict, since indexes are random.
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

/// Returns all items except the last, which never holds a point.
fn room_of<T>(items: &mut [T; ROOM + 1]) -> &mut [T; ROOM] {
    items.first_chunk_mut().expect("shorter by one")
}

impl Points {
    /// Builds the index from entries sorted by owner name. O(points).
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let len = entries.len();
        // Blocks are half full, with 3.5 points on average. The points of a block have a Poisson
        // distribution, so 3 % of the blocks get more than seven.
        let count = if len == 0 { 0 } else { (len * 2 / ROOM) | 1 };
        let (sorted, ends) = by_block(&entries, count);
        // Up to 2^26 entries: their memory is free again before the blocks take theirs.
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

    /// Appends a block of these entries; `beyond` owns the first point after it.
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

    /// Returns the owner of the first point at or after `hash`; past the last point, the owner of
    /// the first. O(1) expected.
    #[inline]
    pub(crate) fn owner(&self, hash: u64) -> Option<NodeId> {
        let (at, distance) = split(hash, self.blocks.len());
        let block = self.blocks.get(at)?;
        let (upper, _) = halves(distance);
        let index = block.index_of(upper);
        match block.owners[index] {
            // Different upper halves decide alone. They are equal about once in 2^30 lookups, and
            // `None` stands only for the rest of a crowded block.
            Some(owner) if block.upper[index] != upper => Some(owner),
            _ => self.owner_exactly(at, distance),
        }
    }

    /// Returns the owner if the upper halves do not decide, or if the rest of the block may.
    // Out of line and cold, so that the common case inlines into its callers.
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

    /// Returns the entries of the rest of a block at or after a distance.
    fn rest_from(&self, at: usize, distance: u64) -> &[Entry] {
        let rest = self.rest(at);
        &rest[rest.partition_point(|(other, _)| *other < distance)..]
    }

    /// Fills `out` with the first distinct owners from `hash` on. The ring must have at least that
    /// many owners. Returns `false` if only a walk can find them.
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
            // One index past the points holds the owner of the next point, so most lists need no
            // second block. The next block starts at index 1, since its first owner is known then.
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

    /// Visits all points once around the circle, from the first at or after `hash`.
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
        // The walk ends in the block where it began, with the points before the hash.
        let mut early = self
            .entries(at)
            .take_while(|(distance, _)| *distance < start);
        early.try_for_each(visit)
    }

    /// Returns all points in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> {
        (0..self.blocks.len())
            .flat_map(|at| self.entries(at))
            .map(|(distance, id)| (self.point(distance), id))
    }

    fn point(&self, distance: u64) -> u64 {
        distance.wrapping_mul(self.inverse)
    }

    /// Returns the points of a block and of its rest, as distances.
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

    /// Returns the points of a block without its rest, as distances.
    fn inside(&self, at: usize) -> impl Iterator<Item = Entry> {
        let block = &self.blocks[at];
        let taken = usize::from(self.taken[at]);
        let halves = block.upper.iter().zip(&self.lower[at]).take(taken);
        let distances = halves.map(|(upper, lower)| whole(*upper, *lower));
        let owned = distances.zip(&block.owners);
        owned.filter_map(|(distance, owner)| Some((distance, (*owner)?)))
    }

    /// Adds a point; `precedes` orders the owners of equal points. O(1) expected, amortised.
    pub(crate) fn insert(&mut self, entry: Entry, precedes: impl Fn(NodeId, NodeId) -> bool) {
        if self.blocks.is_empty() {
            *self = Self::new(vec![entry]);
            return;
        }
        // At 4.2 points a block on average, 6 % of the blocks have a rest. A rebuild goes back to
        // 3.5, so it costs O(1) amortised over the insertions since the last one.
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
        // With equal upper halves the lower ones decide, then the names. An unused index holds the
        // largest number, so a new point with this upper half is counted here too.
        if self.blocks[at].upper[index] == upper {
            index = self.inside(at).take_while(before).count();
        }
        let out = if index < ROOM {
            self.push(at, index, (upper, lower, Some(entry.1)))
        } else {
            (upper, lower, Some(entry.1))
        };
        match out {
            // The block was full: its last point, or the new one, goes to the rest. Otherwise an
            // unused index fell out, which needs no room.
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

    /// Removes a point of an owner, if the ring has it. O(1) expected, amortised.
    pub(crate) fn remove(&mut self, entry: Entry) {
        if self.blocks.is_empty() {
            return;
        }
        let (at, distance) = split(entry.0, self.blocks.len());
        let entry = (distance, entry.1);
        let index = self.inside(at).position(|other| other == entry);
        let next = self.remove_from_rest(at, |rest| {
            // A block with a rest must be full, so the first entry of the rest fills the gap.
            if index.is_some() {
                return Some(0);
            }
            // Tokens can crowd into one block by the thousands, so the rest is searched by halves.
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
        // The blocks before hold a copy of the first owner of this block.
        if index == Some(0) {
            self.announce(at);
        }
        // A block takes 64 + 28 + 1 = 93 bytes: from 3 points a block on, a point takes at most 32.
        if self.len < self.blocks.len() * 3 {
            self.rebuild();
        }
    }

    /// Inserts a point at an index of a block and returns the item that falls out at the end.
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

    /// Returns the owner of the first point after a block.
    fn beyond(&self, at: usize) -> Option<NodeId> {
        // Right for an empty block as well: all its indexes hold the owner after it.
        self.blocks[(at + 1) % self.blocks.len()].owners[0]
    }

    fn set_beyond(&mut self, at: usize, owner: Option<NodeId>) {
        // A block with a rest has no unused index; its last one marks the rest with `None`.
        if !self.blocks[at].has_rest() {
            self.blocks[at].owners[self.taken[at].into()..].fill(owner);
        }
    }

    /// Copies the owner of the first point of a block into the blocks before it.
    fn announce(&mut self, at: usize) {
        let first = self.blocks[at].owners[0];
        // Backwards and around the circle, up to and including the first block with a point: the
        // first point after the blocks before that one is its own. A lone block informs itself.
        for before in (0..at).rev().chain((at..self.blocks.len()).rev()) {
            self.set_beyond(before, first);
            if self.taken[before] > 0 {
                break;
            }
        }
    }

    fn rebuild(&mut self) {
        // Entries come in order of (point, name). The sort of `new` is stable and keeps it.
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

/// Replaces points by distances and sorts them by block and distance. Also returns the end of each
/// of `count` blocks among them. Entries of equal points keep their order.
fn by_block(entries: &[Entry], count: usize) -> (Vec<Entry>, Vec<u32>) {
    let Some(first) = entries.first() else {
        return (Vec::new(), Vec::new());
    };
    // A counting sort by block, which compares no points. First `ends[at + 1]` counts block `at`;
    // after the sums `ends[at]` is its start; after the entries are placed it is its end.
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
