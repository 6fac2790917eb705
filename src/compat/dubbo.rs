//! Apache Dubbo: `ConsistentHashLoadBalance`.
//!
//! Source: Apache Dubbo 2.7, `ConsistentHashLoadBalance.java`; written from the source, not compared
//! with a running Dubbo.
//!
//! | name | value |
//! |---|---|
//! | points of a provider | `hash.nodes` (160), rounded down to a multiple of 4 |
//! | four points | the little-endian words of MD5(address + decimal i) |
//! | key | the first word of the MD5 of the arguments, concatenated as text |
//! | owner | first point at or after it; past the last point, the first one |
//!
//! The address is `host:port`. A key is the text of the arguments: by default only the first one
//! (`hash.arguments`). Weights are ignored, as in Dubbo.
//!
//! Surprises:
//!
//! - "…:2088" with 12 and "…:20881" with 2 are one label. Of equal points, the point of the last
//!   provider in the list counts.
//! - Some versions skip a provider that has had 1.5 times its share of the method's requests, so
//!   their routes depend on load. This dialect gives the route before a provider is skipped.

use alloc::format;
use alloc::vec::Vec;

use md5::{Digest, Md5};

use super::parts::servers::points_backwards;
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "dubbo",
    "Apache Dubbo's ConsistentHashLoadBalance",
    Origin::source("2.7"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[HASH_NODES]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let hash_nodes = params.get(HASH_NODES.name, Dubbo::default().hash_nodes)?;
    Pool::new(Dubbo { hash_nodes }, servers)
}

const HASH_NODES: Param = Param::new(
    "hash.nodes",
    "160",
    "points of a provider, rounded down to a multiple of 4",
);

/// Dubbo's ring.
///
/// ```
/// use hashroute::compat::{Pool, Server, dubbo::Dubbo};
/// use hashroute::{Node, Router};
///
/// let providers = ["10.0.0.1:20880", "10.0.0.2:20880"].map(Server::new);
/// let pool = Pool::new(Dubbo::default(), providers)?;
/// assert_eq!(pool.layout().len(), 320);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dubbo {
    /// `hash.nodes`: the number of points of a provider.
    pub hash_nodes: u32,
}

impl Default for Dubbo {
    fn default() -> Self {
        Self { hash_nodes: 160 }
    }
}

builder! { Dubbo: with_hash_nodes(hash_nodes: u32) }

/// Returns the four little-endian words of the MD5 digest.
fn words(text: &[u8]) -> [u64; 4] {
    let digest = u128::from_le_bytes(Md5::digest(text).into());
    [0, 32, 64, 96].map(|shift| (digest >> shift & 0xffff_ffff) as u64)
}

impl System for Dubbo {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let of = |address: &str, i| words(format!("{address}{i}").as_bytes());
        let points = points_backwards(servers, |_| u64::from(self.hash_nodes / 4), of)?;
        Layout::circle(32, Rule::AtOrAfter, points)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        let [first, ..] = words(key);
        Some(first)
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("dubbo", ()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, Router};

    /// d41d8cd9 8f00b204 e9800998 ecf8427e
    #[test]
    fn words_are_little_endian() {
        let wanted = [0xd98c_1dd4, 0x04b2_008f, 0x9809_80e9, 0x7e42_f8ec];
        assert_eq!(words(b""), wanted);
    }

    #[test]
    fn the_last_provider_owns_a_shared_point() -> Result<(), Error> {
        for names in [["h:2088", "h:20881"], ["h:20881", "h:2088"]] {
            let pool = Pool::new(Dubbo::default(), names.map(Server::new))?;
            let last = pool.nodes().id(names[1]);
            for point in words(b"h:208812") {
                assert_eq!(pool.layout().owner(point), last);
            }
            // 4 x 10 points are shared: numbers 10 to 19 of one, 0 to 9 of the other.
            assert_eq!(pool.layout().len(), 320 - 40);
        }
        Ok(())
    }

    /// A key that equals a label has the hash of that label's first point.
    #[test]
    fn a_key_on_a_point_belongs_to_it() -> Result<(), Error> {
        let pool = Pool::new(Dubbo::default(), ["h:1", "i:1"].map(Server::new))?;
        assert_eq!(pool.route(b"h:139").map(Node::name), Some("h:1"));
        assert_eq!(pool.route(b"i:139").map(Node::name), Some("i:1"));
        Ok(())
    }

    #[test]
    fn weights_do_not_count_and_points_come_in_fours() -> Result<(), Error> {
        let servers = || [Server::new("a").with_weight(100), Server::new("b")];
        let pool = Pool::new(Dubbo { hash_nodes: 7 }, servers())?;
        assert_eq!(pool.layout().len(), 8);
        assert!(
            Pool::new(Dubbo { hash_nodes: 3 }, servers())?
                .layout()
                .is_empty()
        );
        assert!(
            Pool::new(
                Dubbo {
                    hash_nodes: u32::MAX
                },
                servers()
            )
            .is_err()
        );
        assert!(Pool::new(Dubbo::default(), [])?.route(b"key").is_none());
        Ok(())
    }
}
