//! The table of Maglev hashing, and the permutations by which servers fill it.

use alloc::vec;
use alloc::vec::Vec;

use crate::compat::Layout;
use crate::strategy::check_table_size;
use crate::{Error, Limit, NodeId};

/// The order in which a server claims cells: `at`, `at + skip`, `at + 2 skip`, ..., modulo the size
/// of the table.
#[derive(Clone, Debug)]
pub(in crate::compat) struct Permutation {
    id: NodeId,
    at: u64,
    skip: u64,
}

impl Permutation {
    /// Builds the permutation from two hashes. `size` is prime, so every skip from 1 to `size` - 1
    /// visits all cells.
    pub(in crate::compat) fn new(id: NodeId, [offset, skip]: [u64; 2], size: u64) -> Self {
        Self {
            id,
            at: offset % size,
            skip: skip % (size - 1) + 1,
        }
    }
}

/// A table under construction.
#[derive(Debug)]
pub(in crate::compat) struct Table {
    cells: Vec<Option<NodeId>>,
    free: usize,
}

impl Table {
    /// Builds an empty table with a prime number of cells.
    pub(in crate::compat) fn new(size: u64) -> Result<Self, Error> {
        let free = check_table_size(size, 1)?;
        Ok(Self {
            cells: vec![None; free],
            free,
        })
    }

    pub(in crate::compat) fn is_full(&self) -> bool {
        self.free == 0
    }

    /// Gives a server the next free cell of its permutation; does nothing if the table is full.
    pub(in crate::compat) fn claim(&mut self, way: &mut Permutation) {
        let size = self.cells.len() as u64;
        while !self.is_full() {
            let at = usize::try_from(way.at).unwrap_or(0); // below the number of cells
            way.at = (way.at + way.skip) % size;
            if self.take(at, way.id) {
                return;
            }
        }
    }

    /// Gives a server this cell if it is free, and returns whether it was.
    pub(in crate::compat) fn take(&mut self, at: usize, id: NodeId) -> bool {
        match self.cells.get_mut(at) {
            Some(cell @ None) => {
                *cell = Some(id);
                self.free -= 1;
                true
            }
            _ => false,
        }
    }

    /// Gives all cells to one server.
    pub(in crate::compat) fn fill(&mut self, id: NodeId) {
        self.cells.fill(Some(id));
        self.free = 0;
    }

    /// Returns the layout of a full table, for hashes of `bits` bits.
    pub(in crate::compat) fn layout(self, bits: u32) -> Result<Layout, Error> {
        Layout::cells(bits, self.cells.into_iter().flatten().collect())
    }
}

/// The maximum number of turns to fill a table. It bounds the time for weights that are far apart.
const TURNS: u64 = 1 << 32;

/// Counts a turn, and refuses more than [`TURNS`].
pub(in crate::compat) fn count(turns: &mut u64) -> Result<(), Error> {
    *turns += 1;
    if *turns <= TURNS {
        return Ok(());
    }
    Err(Error::Capacity {
        what: Limit::TurnsToFill,
        wanted: *turns,
        limit: TURNS,
        advice: "use a smaller table, or weights that are closer together",
    })
}
