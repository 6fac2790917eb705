//! One read of a table as large as a router's, which nothing that has a table can beat.

use hashroute::{KeyHash, Router};

pub(crate) struct Limit {
    cells: Vec<u32>,
}

impl Limit {
    /// A table as large as all that `router` keeps beside its members' names.
    pub(crate) fn of(router: &impl Router) -> Self {
        let bytes = router.heap_bytes() - router.nodes().heap_bytes();
        let nodes = u32::try_from(router.nodes().len()).unwrap_or(u32::MAX);
        let cells = u32::try_from(bytes / size_of::<u32>()).unwrap_or(u32::MAX);
        Self {
            cells: (0..cells).map(|cell| cell % nodes).collect(),
        }
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the upper half of the product is below the length"
    )]
    pub(crate) fn read(&self, hash: KeyHash) -> u64 {
        let at = (u128::from(hash.get()) * self.cells.len() as u128) >> 64;
        self.cells[at as usize].into()
    }

    /// The read where the hash modulo a power of two is the cell.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower bits are meant")]
    pub(crate) fn slot(&self, hash: KeyHash) -> u64 {
        self.cells[hash.get() as usize & (self.cells.len() - 1)].into()
    }
}
