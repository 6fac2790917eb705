//! serialx/hashring: a consistent hash for Go.
//!
//! Source: <https://github.com/serialx/hashring> at 22c0c7a; compared with a running copy.
//!
//! | name | value |
//! |---|---|
//! | points of a node | its weight, which is 1 for `New`: **one** point |
//! | point i | MD5 of name + "-" + decimal i, as two signed little-endian words; the first is compared first |
//! | owner | first point strictly after the key's MD5; past the last point, the first one |
//!
//! A ring with one point for each node is very uneven: of 50 nodes, the largest had four times its
//! share. Only the first word is compared here. The second would matter only for two digests with
//! the same first eight bytes.

use alloc::format;
use alloc::vec::Vec;

use md5::{Digest, Md5};

use super::parts::servers::points_backwards;
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "serialx-hashring",
    "serialx/hashring, a Go library: one MD5 point for each unit of weight",
    Origin::recorded("22c0c7a (2020-07-27)"),
    |servers, params| boxed(pool(servers, params)),
);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, _: &Params) -> Result<Pool, Error> {
    Pool::new(Serialx, servers)
}

/// The ring of serialx/hashring. It has no options.
///
/// ```
/// use hashroute::compat::{Pool, Server, serialx::Serialx};
/// use hashroute::{Node, Router};
///
/// let servers = [Server::new("a"), Server::new("b").with_weight(40)];
/// let pool = Pool::new(Serialx, servers)?;
/// assert_eq!(pool.layout().len(), 41);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Serialx;

/// Returns the first word of a digest, with the sign bit flipped: the library compares signed words,
/// and this maps signed order to unsigned order.
fn point(bytes: &[u8]) -> u64 {
    let digest: [u8; 16] = Md5::digest(bytes).into();
    let first = digest.iter().take(8).rev();
    first.fold(0, |word, &byte| word << 8 | u64::from(byte)) ^ 1 << 63
}

impl System for Serialx {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let count = |server: &Server| server.weight().into();
        let of = |name: &str, i| [point(format!("{name}-{i}").as_bytes())];
        let points = points_backwards(servers, count, of)?;
        Layout::circle(64, Rule::After, points)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(point(key))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("serialx", ()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, Router};

    #[test]
    fn a_key_on_a_point_belongs_to_the_next_one() -> Result<(), Error> {
        let pool = Pool::new(Serialx, ["a", "b"].map(Server::new))?;
        assert_eq!(pool.route(b"a-0").map(Node::name), Some("b"));
        assert_eq!(pool.route(b"b-0").map(Node::name), Some("a"));
        Ok(())
    }

    #[test]
    fn only_nodes_that_are_up_own_keys_and_too_many_points_are_refused() -> Result<(), Error> {
        assert!(Pool::new(Serialx, [])?.route(b"key").is_none());
        let pool = Pool::new(Serialx, [Server::new("a").down(), Server::new("b")])?;
        assert_eq!(pool.route(b"b-0").map(Node::name), Some("b"));
        let heavy = Pool::new(Serialx, [Server::new("a").with_weight(u32::MAX)]);
        assert!(matches!(heavy, Err(Error::Capacity { .. })));
        Ok(())
    }
}
