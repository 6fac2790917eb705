//! The keys of a sample, with what they carry, in little memory.

use super::ids::{Amounts, Id};

/// No row.
const NONE: u32 = u32::MAX;

/// Distinct keys, each with its id and the amounts that it carries.
///
/// Ids, amounts and the bytes of all keys lie in lists of their own, which grow in place. An index
/// of 32-bit numbers finds the row of an id. A row takes about 60 bytes and its key; in a map of
/// boxed keys it took 130. Keys of one id are compared, so two keys are never counted as one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    ids: Vec<Id>,
    amounts: Vec<Amounts>,
    /// For each row, the end of its key in `keys`.
    ends: Vec<usize>,
    keys: Vec<u8>,
    /// Row numbers in open addressing. The length is a power of two, or 0.
    index: Vec<u32>,
}

/// A row: a distinct key, its id, and the amounts that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    pub(crate) id: Id,
    pub(crate) key: &'a [u8],
    pub(crate) amounts: Amounts,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the bytes of all keys.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.len()
    }

    /// Adds what a key carries. Sums saturate.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a census is shrunk long before 2^32 rows"
    )]
    pub(crate) fn add(&mut self, id: Id, key: &[u8], amounts: &Amounts) {
        if let Some(row) = self.find(id, key) {
            for (sum, amount) in self.amounts[row].iter_mut().zip(amounts) {
                *sum = sum.saturating_add(*amount);
            }
            return;
        }
        // By a quarter: twice the rows of a full sample would be most of the memory of a run.
        if self.ids.len() == self.ids.capacity() {
            let more = self.ids.len() / 4 + 16;
            self.ids.reserve_exact(more);
            self.amounts.reserve_exact(more);
            self.ends.reserve_exact(more);
        }
        self.ids.push(id);
        self.amounts.push(*amounts);
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        // At most three quarters full, so that searches stay short.
        if self.ids.len() * 4 > self.index.len() * 3 {
            self.index_all();
        } else {
            insert(&mut self.index, id, self.ids.len() as u32 - 1);
        }
    }

    /// Returns the number of the row of this key, which has this id.
    fn find(&self, id: Id, key: &[u8]) -> Option<usize> {
        let mask = self.index.len().checked_sub(1)?;
        let mut at = start(id) & mask;
        loop {
            let row = self.index[at];
            if row == NONE {
                return None;
            }
            let row = row as usize;
            if self.ids[row] == id && self.key(row) == key {
                return Some(row);
            }
            at = (at + 1) & mask;
        }
    }

    /// Builds the index, with room for half as many rows again or more.
    fn index_all(&mut self) {
        let slots = (2 * self.ids.len()).next_power_of_two().max(16);
        self.index.clear();
        self.index.resize(slots, NONE);
        for (&id, row) in self.ids.iter().zip(0..) {
            insert(&mut self.index, id, row);
        }
    }

    /// Returns the amounts of this key, which has this id.
    pub(crate) fn get(&self, id: Id, key: &[u8]) -> Option<&Amounts> {
        self.find(id, key).map(|row| &self.amounts[row])
    }

    /// Returns the `count`-th smallest id, counted from 1.
    pub(crate) fn smallest(&self, count: usize) -> Option<Id> {
        let mut ids = self.ids.clone();
        let at = count.checked_sub(1).filter(|&at| at < ids.len())?;
        Some(*ids.select_nth_unstable(at).1)
    }

    /// Drops the rows with ids above `limit`.
    pub(crate) fn keep_to(&mut self, limit: Id) {
        let (mut kept, mut end, mut start) = (0, 0, 0);
        for row in 0..self.ids.len() {
            let bytes = core::mem::replace(&mut start, self.ends[row])..self.ends[row];
            if self.ids[row] > limit {
                continue;
            }
            let len = bytes.len();
            self.keys.copy_within(bytes, end);
            end += len;
            self.ids[kept] = self.ids[row];
            self.amounts[kept] = self.amounts[row];
            self.ends[kept] = end;
            kept += 1;
        }
        if kept == self.ids.len() {
            return;
        }
        self.ids.truncate(kept);
        self.amounts.truncate(kept);
        self.ends.truncate(kept);
        self.keys.truncate(end);
        self.index_all();
    }

    fn key(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start..self.ends[row]]
    }

    fn row(&self, row: usize) -> Row<'_> {
        Row {
            id: self.ids[row],
            key: self.key(row),
            amounts: self.amounts[row],
        }
    }

    /// Iterates over the rows, in no order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.len()).map(move |row| self.row(row))
    }

    /// Iterates over the rows in order of their ids, and of their keys if ids are equal. O(n log n).
    pub(crate) fn in_order(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        let mut order: Vec<u32> = (0..).take(self.len()).collect();
        order.sort_unstable_by(|&a, &b| {
            let [a, b] = [a, b].map(|row| row as usize);
            let by_id = self.ids[a].cmp(&self.ids[b]);
            by_id.then_with(|| self.key(a).cmp(self.key(b)))
        });
        order.into_iter().map(move |row| self.row(row as usize))
    }
}

/// Returns where the search for an id starts, before the mask. The upper half of an id decides
/// which keys are in a sample, so only the lower half is uniform there.
fn start(id: Id) -> usize {
    id as usize
}

fn insert(index: &mut [u32], id: Id, row: u32) {
    let mask = index.len() - 1;
    let mut at = start(id) & mask;
    while index[at] != NONE {
        at = (at + 1) & mask;
    }
    index[at] = row;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::ids::IdSecret;
    use super::*;

    /// Adds keys `i * i % 1009` with different lengths, and checks the rows against a map.
    #[test]
    fn rows_are_those_of_a_map_before_and_after_shrinking() {
        let (mut rows, mut map) = (Rows::default(), BTreeMap::<Id, (Vec<u8>, Amounts)>::new());
        let id = |key: &[u8]| IdSecret::of(b"rows").id(key);
        assert!(rows.get(id(b""), b"").is_none() && rows.in_order().len() == 0);
        for turn in 0..6_u64 {
            for i in 0..700 * (turn + 1) {
                let key = "x".repeat((i % 5) as usize) + &(i * i % 1009).to_string();
                let (id, amounts) = (id(key.as_bytes()), [1, i, u64::MAX / 9]);
                rows.add(id, key.as_bytes(), &amounts);
                let entry = map.entry(id).or_insert_with(|| (key.into(), [0; 3]));
                for (sum, amount) in entry.1.iter_mut().zip(amounts) {
                    *sum = sum.saturating_add(amount);
                }
            }
            let limit = rows.smallest(rows.len() * 3 / 4).expect("rows");
            rows.keep_to(limit);
            map.retain(|id, _| *id <= limit);
            let found: Vec<_> = rows
                .in_order()
                .map(|row| (row.id, row.key, row.amounts))
                .collect();
            let known = map
                .iter()
                .map(|(id, (key, amounts))| (*id, &**key, *amounts));
            assert!(found.into_iter().eq(known));
            assert!(
                map.iter()
                    .all(|(id, (key, amounts))| rows.get(*id, key) == Some(amounts))
            );
            assert_eq!(
                rows.bytes(),
                map.values().map(|(key, _)| key.len()).sum::<usize>()
            );
        }
    }

    #[test]
    fn keys_of_one_id_are_apart() {
        let mut rows = Rows::default();
        for key in [b"a", b"b", b"a"] {
            rows.add(7, key, &[1; 3]);
        }
        let amounts = |key: &[u8]| rows.get(7, key).copied();
        assert_eq!((amounts(b"a"), amounts(b"b")), (Some([2; 3]), Some([1; 3])));
        assert_eq!((rows.len(), amounts(b"c")), (2, None));
        assert!(rows.in_order().map(|row| row.key).eq([b"a", b"b"]));
    }
}
