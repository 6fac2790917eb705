//! Discord's `ex_hash_ring`: a consistent hash ring for Elixir.
//!
//! Source: <https://github.com/discord/ex_hash_ring>, version 6; written from the source, not
//! compared with a running copy.
//!
//! | name | value |
//! |---|---|
//! | points of a node | 512, or its own `num_replicas` |
//! | point i | the last 8 bytes, little-endian, of MD5(name + decimal i) |
//! | owner | first point strictly after the same hash of the key; past the last point, the first one |
//!
//! A node with its own number of replicas is a node with a weight here: it has
//! [`replicas`](ExHashRing::replicas) x weight points. If the numbers differ, set 1 replica and use
//! the numbers as weights. `find_nodes` with a number is
//! [`replicas`](crate::RouterExt::replicas) with [`Spread::Nodes`](crate::Spread::Nodes). Overrides
//! and the history of a ring (`find_historical_nodes`, `find_stable_nodes`) are not modelled.
//!
//! Surprise: "node1" with 12 and "node11" with 2 are one label. Of equal points, the point of the
//! last node in the list counts; `add_node` puts a node in front of the list.

use alloc::format;
use alloc::vec::Vec;

use md5::{Digest, Md5};

use super::parts::servers::points_backwards;
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "ex-hash-ring",
    "Discord's ex_hash_ring, an Elixir library",
    Origin::source("6"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[REPLICAS]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let replicas = params.get(REPLICAS.name, ExHashRing::default().replicas)?;
    Pool::new(ExHashRing { replicas }, servers)
}

const REPLICAS: Param = Param::new(
    "replicas",
    "512",
    "points of a node for each unit of weight",
);

/// The ring of `ex_hash_ring`.
///
/// ```
/// use hashroute::compat::{Pool, Server, ex_hash_ring::ExHashRing};
/// use hashroute::{Node, Router};
///
/// let pool = Pool::new(ExHashRing::default(), ["a", "b"].map(Server::new))?;
/// assert_eq!(pool.layout().len(), 1024);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExHashRing {
    /// The number of points of a node for each unit of its weight.
    pub replicas: u32,
}

impl Default for ExHashRing {
    fn default() -> Self {
        Self { replicas: 512 }
    }
}

builder! { ExHashRing: with_replicas(replicas: u32) }

fn hash(text: &[u8]) -> u64 {
    (u128::from_le_bytes(Md5::digest(text).into()) >> 64) as u64
}

impl System for ExHashRing {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let count = |server: &Server| u64::from(server.weight()) * u64::from(self.replicas);
        let of = |name: &str, i| [hash(format!("{name}{i}").as_bytes())];
        let points = points_backwards(servers, count, of)?;
        Layout::circle(64, Rule::After, points)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(hash(key))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("ex_hash_ring", ()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, Router};

    /// The MD5 of no bytes is d41d8cd98f00b204 e9800998ecf8427e.
    #[test]
    fn the_hash_is_the_last_eight_bytes_little_endian() {
        assert_eq!(hash(b""), 0x7e42_f8ec_9809_80e9);
    }

    #[test]
    fn the_last_node_owns_a_shared_point() -> Result<(), Error> {
        for names in [["node1", "node11"], ["node11", "node1"]] {
            let pool = Pool::new(ExHashRing::default(), names.map(Server::new))?;
            let before = hash(b"node112") - 1;
            assert_eq!(pool.layout().owner(before), pool.nodes().id(names[1]));
        }
        Ok(())
    }

    /// A key that equals a label has the hash of its point.
    #[test]
    fn a_key_on_a_point_belongs_to_the_next_one() -> Result<(), Error> {
        let pool = Pool::new(ExHashRing { replicas: 1 }, ["a", "b"].map(Server::new))?;
        assert_eq!(pool.route(b"a0").map(Node::name), Some("b"));
        assert_eq!(pool.route(b"b0").map(Node::name), Some("a"));
        Ok(())
    }

    #[test]
    fn a_weight_multiplies_points_and_too_many_are_refused() -> Result<(), Error> {
        let servers = [Server::new("a").with_weight(3), Server::new("b").down()];
        assert_eq!(
            Pool::new(ExHashRing { replicas: 2 }, servers)?
                .layout()
                .len(),
            6
        );
        assert!(
            Pool::new(ExHashRing::default(), [])?
                .route(b"key")
                .is_none()
        );
        let replicas = u32::MAX;
        assert!(Pool::new(ExHashRing { replicas }, [Server::new("a")]).is_err());
        Ok(())
    }
}
