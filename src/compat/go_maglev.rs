//! dgryski/go-maglev: Google's Maglev for Go.
//!
//! Source: <https://github.com/dgryski/go-maglev> at 8961b9b; compared with a running copy.
//!
//! | name | value |
//! |---|---|
//! | h of a name | SipHash-2-4 with the key (0xdeadbeefcafebabe, 0) |
//! | its permutation of the M cells | from (h >> 32) mod M, in steps of (h & 0xffffffff) mod (M - 1) + 1 |
//! | filling | nodes take turns in the order of the list, and claim the next free cell of their permutation |
//! | cell of a key | its hash mod M |
//!
//! - The library takes the hash of a key as a number. Its user chooses the function; here it is an
//!   option.
//! - The order of the list matters.
//! - Dead nodes (`Rebuild`) lose their turns, so cells of other nodes move as well, as always with
//!   Maglev.
//! - If the table size is no prime, the library may loop forever; here that is an error.

use alloc::vec;
use alloc::vec::Vec;

use siphasher::sip::SipHasher24;

use super::layout::check_capacity;
use super::parts::servers::{unweighted, up};
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::strategy::check_table_size;
use crate::{Error, HashFunction, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "go-maglev",
    "dgryski/go-maglev, a Go library",
    Origin::recorded("8961b9b (2020-06-11)"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[TABLE_SIZE, HASH]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = GoMaglev::default();
    let maglev = GoMaglev {
        table_size: params.get(TABLE_SIZE.name, default.table_size)?,
        hash: params.choice(HASH.name, default.hash)?,
    };
    Pool::new(maglev, servers)
}

const TABLE_SIZE: Param = Param::new(
    "table-size",
    "65537",
    "cells of the table, a prime; SmallM in the library",
)
.with_finer(&["655373"]);
pub(super) const HASH: Param = Param::new(
    "hash",
    "xxh64",
    "the hash function that the library's user chose for keys",
)
.with_hashes(&["md5"]);

/// The table of go-maglev.
///
/// ```
/// use hashroute::compat::{Pool, Server, go_maglev::GoMaglev};
/// use hashroute::{Node, Router};
///
/// let nodes = ["node-0", "node-1", "node-2"].map(Server::new);
/// let pool = Pool::new(GoMaglev::default().with_table_size(13), nodes)?;
/// assert_eq!(pool.layout().len(), 13);
/// assert!(pool.route(b"key").is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GoMaglev {
    /// The number of cells, a prime of up to [`MAX_TABLE_SIZE`](crate::Maglev::MAX_TABLE_SIZE).
    pub table_size: u64,
    /// The key hash.
    pub hash: HashFunction,
}

impl Default for GoMaglev {
    fn default() -> Self {
        Self {
            table_size: 65_537,
            hash: HashFunction::Xxh64,
        }
    }
}

builder! { GoMaglev: with_table_size(table_size: u64), with_hash(hash: HashFunction) }

/// The order in which a node claims cells.
struct Permutation {
    id: NodeId,
    at: u64,
    skip: u64,
}

impl Permutation {
    fn new(id: NodeId, name: &str, size: u64) -> Self {
        let hash = SipHasher24::new_with_keys(0xdead_beef_cafe_babe, 0).hash(name.as_bytes());
        Self {
            id,
            at: (hash >> 32) % size,
            skip: (hash & 0xffff_ffff) % (size - 1) + 1,
        }
    }

    /// Claims the next free cell. There must be one, or the loop would not end.
    fn claim(&mut self, cells: &mut [Option<NodeId>]) {
        let size = cells.len() as u64;
        loop {
            let at = usize::try_from(self.at).unwrap_or(0); // below the number of cells
            self.at = (self.at + self.skip) % size;
            if cells[at].is_none() {
                cells[at] = Some(self.id);
                return;
            }
        }
    }
}

impl System for GoMaglev {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        unweighted(servers)?;
        check_capacity(servers.len() as u64)?;
        let size = check_table_size(self.table_size, 1)?;
        let members = up(servers);
        let mut permutations: Vec<_> = members
            .map(|(id, server)| Permutation::new(id, server.label(), self.table_size))
            .collect();
        let mut cells = vec![None; size];
        let mut free = if permutations.is_empty() { 0 } else { size };
        while free > 0 {
            for permutation in permutations.iter_mut().take(free) {
                permutation.claim(&mut cells);
                free -= 1;
            }
        }
        Layout::table(64, cells)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(self.hash.value([0; 2], key))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        (self.hash.bits() == 64).then(|| SystemHash::new("go_maglev", self.hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Node, Router};

    fn pool(table_size: u64, servers: &[&str]) -> Result<Pool, Error> {
        let maglev = GoMaglev {
            table_size,
            ..GoMaglev::default()
        };
        Pool::new(maglev, servers.iter().map(|name| Server::new(*name)))
    }

    #[test]
    fn dead_nodes_have_no_turn() -> Result<(), Error> {
        let mut all = pool(13, &["a", "b", "c"])?;
        all.apply(&Change::reweight("b", 0))?;
        let without = pool(13, &["a", "c"])?;
        for key in 0..99_u8 {
            let owner = all.route(&[key]).map(Node::name);
            assert_eq!(owner, without.route(&[key]).map(Node::name));
        }
        Ok(())
    }

    #[test]
    fn nodes_beyond_the_number_of_cells_own_nothing() -> Result<(), Error> {
        let pool = pool(2, &["a", "b", "c"])?;
        let owned = |name| (0..99_u8).any(|key| pool.route(&[key]).map(Node::name) == Some(name));
        assert_eq!(["a", "b", "c"].map(owned), [true, true, false]);
        Ok(())
    }

    #[test]
    fn absurd_tables_are_refused_and_no_nodes_own_nothing() -> Result<(), Error> {
        assert!(pool(13, &[])?.route(b"key").is_none());
        for size in [0, 1, 12, u64::MAX] {
            assert!(
                matches!(pool(size, &["a"]), Err(Error::TableSize { .. })),
                "{size}"
            );
        }
        let heavy = Pool::new(GoMaglev::default(), [Server::new("a").with_weight(2)]);
        assert!(matches!(heavy, Err(Error::Weight { .. })));
        Ok(())
    }
}
