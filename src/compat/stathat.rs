//! stathat.com/c/consistent: a consistent hash for Go.
//!
//! Source: <https://github.com/stathat/consistent> at 30ea17e; compared with a running copy.
//!
//! | name | value |
//! |---|---|
//! | points of a node | 20 |
//! | point i | CRC-32 of decimal i + name (with `UseFnv`: FNV-1a, 32 bits) |
//! | owner | first point strictly after the key's hash; past the last point, the first one |
//!
//! The number comes **before** the name, so two nodes can share a label: "1" + "1x" is "11" + "x".
//! Of equal points, the point of the last node added counts.

use alloc::format;
use alloc::vec::Vec;

use super::parts::servers::{points_backwards, unweighted};
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, HashFunction, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "stathat-consistent",
    "stathat.com/c/consistent, a Go library: 20 CRC-32 points for each node",
    Origin::recorded("30ea17e (2019-09-19)"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[HASH, REPLICAS]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = Stathat::default();
    let stathat = Stathat {
        hash: params.choice(HASH.name, default.hash)?,
        replicas: params.get(REPLICAS.name, default.replicas)?,
    };
    Pool::new(stathat, servers)
}

const HASH: Param = Param::new("hash", "crc32", "crc32, or fnv1a-32 for UseFnv")
    .with_hashes(&["md5"])
    .with_values(&["crc32", "fnv1a-32"]);
const REPLICAS: Param = Param::new("replicas", "20", "NumberOfReplicas: points of a node");

/// The ring of stathat/consistent.
///
/// ```
/// use hashroute::compat::{Pool, Server, stathat::Stathat};
/// use hashroute::{Node, Router};
///
/// let pool = Pool::new(Stathat::default(), ["node-0", "node-1"].map(Server::new))?;
/// assert_eq!(pool.layout().len(), 40);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stathat {
    /// [`HashFunction::Crc32`], or [`HashFunction::Fnv1a32`] for `UseFnv`.
    pub hash: HashFunction,
    /// The number of points of a node.
    pub replicas: u32,
}

impl Default for Stathat {
    fn default() -> Self {
        Self {
            hash: HashFunction::Crc32,
            replicas: 20,
        }
    }
}

builder! { Stathat: with_hash(hash: HashFunction), with_replicas(replicas: u32) }

impl System for Stathat {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let known = [HashFunction::Crc32, HashFunction::Fnv1a32];
        if !known.contains(&self.hash) {
            return Err(Error::parameter(HASH.name, self.hash, "crc32 or fnv1a-32"));
        }
        unweighted(servers)?;
        let of = |name: &str, i| [self.hash.value([0; 2], format!("{i}{name}").as_bytes())];
        let points = points_backwards(servers, |_| self.replicas.into(), of)?;
        Layout::circle(32, Rule::After, points)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(self.hash.value([0; 2], key))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        (self.hash.bits() == 32).then(|| SystemHash::new("stathat", self.hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Router;

    /// "1" + "1x" is "11" + "x".
    #[test]
    fn the_last_node_owns_a_shared_point() -> Result<(), Error> {
        let point = HashFunction::Crc32.value([0; 2], b"11x");
        for names in [["x", "1x"], ["1x", "x"]] {
            let pool = Pool::new(Stathat::default(), names.map(Server::new))?;
            let owner = pool.layout().owner(point - 1);
            assert_eq!(owner, pool.nodes().id(names[1]));
        }
        Ok(())
    }

    #[test]
    fn wrong_options_are_refused() {
        let refused = |stathat| Pool::new(stathat, [Server::new("a")]).is_err();
        let hash = HashFunction::Xxh64;
        assert!(refused(Stathat {
            hash,
            ..Stathat::default()
        }));
        let replicas = u32::MAX;
        assert!(refused(Stathat {
            replicas,
            ..Stathat::default()
        }));
    }
}
