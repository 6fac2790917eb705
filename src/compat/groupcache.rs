//! golang/groupcache: its `consistenthash` package.
//!
//! Source: <https://github.com/golang/groupcache> at 8c9f03a; compared with a running copy.
//!
//! | name | value |
//! |---|---|
//! | points of a peer | 50 in its HTTP pool |
//! | point i | CRC-32 of decimal i + name |
//! | owner | first point at or after the key's hash; past the last point, the first one |
//!
//! The number comes **before** the name, so two peers can share a label: "1" + "1x" is "11" + "x".
//! Of equal points, the point of the last peer added counts. In the HTTP pool, names are base URLs
//! such as `http://10.0.0.2:8008`.

use alloc::format;
use alloc::vec::Vec;

use super::parts::servers::{points_backwards, unweighted};
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, HashFunction, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "groupcache",
    "golang/groupcache's consistenthash: 50 CRC-32 points for each peer",
    Origin::recorded("8c9f03a (2020-01-21)"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[REPLICAS, HASH]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = Groupcache::default();
    let groupcache = Groupcache {
        replicas: params.get(REPLICAS.name, default.replicas)?,
        hash: params.choice(HASH.name, default.hash)?,
    };
    Pool::new(groupcache, servers)
}

const REPLICAS: Param = Param::new("replicas", "50", "points of a peer");
const HASH: Param =
    Param::new("hash", "crc32", "the hash function, of at most 32 bits").with_hashes(&["md5"]);

/// The ring of groupcache.
///
/// ```
/// use hashroute::compat::{Pool, Server, groupcache::Groupcache};
/// use hashroute::{Node, Router};
///
/// let peers = ["http://10.0.0.1:8008", "http://10.0.0.2:8008"].map(Server::new);
/// let pool = Pool::new(Groupcache::default(), peers)?;
/// assert_eq!(pool.layout().len(), 100);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Groupcache {
    /// The number of points of a peer.
    pub replicas: u32,
    /// The hash function, of at most 32 bits.
    pub hash: HashFunction,
}

impl Default for Groupcache {
    fn default() -> Self {
        Self {
            replicas: 50,
            hash: HashFunction::Crc32,
        }
    }
}

builder! { Groupcache: with_replicas(replicas: u32), with_hash(hash: HashFunction) }

impl System for Groupcache {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        if self.hash.bits() > 32 {
            let expected = "a function of at most 32 bits";
            return Err(Error::parameter(HASH.name, self.hash, expected));
        }
        unweighted(servers)?;
        let of = |name: &str, i| [self.hash.value([0; 2], format!("{i}{name}").as_bytes())];
        let points = points_backwards(servers, |_| self.replicas.into(), of)?;
        Layout::circle(32, Rule::AtOrAfter, points)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(self.hash.value([0; 2], key))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        (self.hash.bits() == 32).then(|| SystemHash::new("groupcache", self.hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, Router};

    /// A key that equals a label has the hash of its point; "1" + "1x" is "11" + "x".
    #[test]
    fn a_key_on_a_shared_point_belongs_to_the_last_peer() -> Result<(), Error> {
        for names in [["x", "1x"], ["1x", "x"]] {
            let pool = Pool::new(Groupcache::default(), names.map(Server::new))?;
            assert_eq!(pool.route(b"0x").map(Node::name), Some("x"));
            assert_eq!(pool.route(b"11x").map(Node::name), Some(names[1]));
        }
        Ok(())
    }

    #[test]
    fn wrong_options_are_refused() {
        let refused = |groupcache| Pool::new(groupcache, [Server::new("a")]).is_err();
        let hash = HashFunction::Fnv1a64;
        assert!(refused(Groupcache {
            hash,
            ..Groupcache::default()
        }));
        let replicas = u32::MAX;
        assert!(refused(Groupcache {
            replicas,
            ..Groupcache::default()
        }));
    }
}
