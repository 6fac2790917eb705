//! uhashring: a hash ring for Python.
//!
//! Source: uhashring 2.5, `ring_ketama.py`, `ring_meta.py`; compared with a running copy.
//!
//! | ring | points | lookup |
//! |---|---|---|
//! | `ketama` | 4 from each MD5 of "name-i"; 40 x nodes x weight // sum of the weights MD5s for each node | first point strictly after the first word of the key's MD5 |
//! | `default` | the MD5 of "name-i"; 160 x weight points for each node | first point strictly after the key's MD5 |
//!
//! - All counts are integers, without rounding in floats, so the ring differs from twemproxy's.
//! - A key that hashes exactly to a point belongs to the next point. Such a key is "name-0".
//! - Of equal points, the point of the node added later counts.
//! - Keys are `str` in Python. A key of type `bytes` would be hashed as its `repr`, with `b'` in
//!   front.
//! - Points of the default ring have 128 bits; here the upper 64 stand for them. Routes could differ
//!   only if two points agreed in these 64 bits.
//! - uhashring does not know nodes that are down: they are left out, as if they were removed.

use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

use super::layout::check_capacity;
use super::parts::ketama::{Ketama, words};
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::hash::HashFunction;
use crate::registry::{Origin, Param, Params, Scheme};
use crate::strategy::Ring as OurRing;
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "uhashring",
    "Python's uhashring: its ketama ring and its own",
    Origin::recorded("2.5"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[RING, VNODES]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let ring = params.choice(RING.name, RingType::default())?;
    let vnodes = match params.get(VNODES.name, String::new())?.as_str() {
        "" => ring.vnodes(),
        _ => params.get(VNODES.name, 0)?,
    };
    Pool::new(Uhashring { ring, vnodes }, servers)
}

const RING: Param = Param::new(
    "ring",
    "default",
    "default, or ketama for hash_fn=\"ketama\"",
)
.with_values(&["default", "ketama"]);

const VNODES: Param = Param::new(
    "vnodes",
    "",
    "virtual nodes of each node: 160, or 40 in a ketama ring",
);

/// A `HashRing` of uhashring.
///
/// ```
/// use hashroute::compat::{Pool, Server, uhashring::{RingType, Uhashring}};
///
/// let pool = Pool::new(Uhashring::new(RingType::Ketama), ["node1", "node2"].map(Server::new))?;
/// assert_eq!(pool.layout().len(), 320);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Uhashring {
    /// The kind of ring.
    pub ring: RingType,
    /// The number of virtual nodes of each node.
    pub vnodes: u32,
}

impl Uhashring {
    /// Builds the options of a ring with its default number of virtual nodes: 160, or 40 with
    /// ketama.
    pub fn new(ring: RingType) -> Self {
        let vnodes = ring.vnodes();
        Self { ring, vnodes }
    }
}

/// The settings of `HashRing()`: the default ring, with 160 virtual nodes.
impl Default for Uhashring {
    fn default() -> Self {
        Self::new(RingType::default())
    }
}

builder! { Uhashring: with_ring(ring: RingType), with_vnodes(vnodes: u32) }

/// The kind of ring: `hash_fn`.
///
/// ```
/// use hashroute::compat::uhashring::RingType;
/// assert_eq!("ketama".parse::<RingType>()?, RingType::Ketama);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingType {
    /// The default ring.
    #[default]
    Default,
    /// `hash_fn="ketama"`.
    Ketama,
}

impl RingType {
    fn vnodes(self) -> u32 {
        match self {
            Self::Default => 160,
            Self::Ketama => 40,
        }
    }
}

impl FromStr for RingType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "default" => Ok(Self::Default),
            "ketama" => Ok(Self::Ketama),
            _ => Err(Error::parameter(RING.name, text, "default or ketama")),
        }
    }
}

impl Uhashring {
    /// Returns the number of hashed texts of each server.
    fn counts(self, up: &[&(NodeId, Server)]) -> Vec<u64> {
        let weight = |(_, server): &(NodeId, Server)| u64::from(server.weight());
        let total: u64 = up.iter().map(|server| weight(server)).sum();
        let count = |server: &&(NodeId, Server)| {
            let own = u128::from(self.vnodes) * u128::from(weight(server));
            let count = match self.ring {
                RingType::Default => own,
                RingType::Ketama => own * up.len() as u128 / u128::from(total.max(1)),
            };
            u64::try_from(count).unwrap_or(u64::MAX)
        };
        up.iter().map(count).collect()
    }
}

impl System for Uhashring {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let up: Vec<_> = servers.iter().filter(|(_, s)| !s.is_down()).collect();
        let counts = self.counts(&up);
        let each = if self.ring == RingType::Ketama { 4 } else { 1 };
        let all = counts
            .iter()
            .fold(0, |sum: u64, &count| sum.saturating_add(count));
        check_capacity(all.saturating_mul(each))?;
        let mut ketama = Ketama::default();
        // In uhashring the last of equal points counts; `Layout::circle` keeps the first. Hence the
        // reverse order.
        for ((id, server), count) in up.iter().zip(counts).rev() {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let label = server.label();
            match self.ring {
                RingType::Default => ketama.add(*id, label, count, |text| [md5(text)]),
                RingType::Ketama => ketama.add(*id, label, count, words),
            }
        }
        let bits = if self.ring == RingType::Ketama {
            32
        } else {
            64
        };
        Layout::circle(bits, Rule::After, ketama.points)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(match self.ring {
            RingType::Default => md5(key),
            RingType::Ketama => words(key)[0].into(),
        })
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("uhashring", self.ring))
    }
}

/// Returns the upper half of the big-endian MD5 digest.
fn md5(bytes: &[u8]) -> u64 {
    HashFunction::Md5.value([0; 2], bytes)
}

// Counts of points fit into u32: `check_capacity` allows at most `MAX_POINTS`.
const _: () = assert!(OurRing::MAX_POINTS <= u32::MAX as u64);

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::{Change, Node, Router};

    #[test]
    fn counts_are_rounded_down_as_integers() -> Result<(), Error> {
        for (weights, points) in [
            (&[1; 25][..], 4000),
            (&[1; 61], 9760),
            (&[2, 3, 14, 15, 16], 800),
            (&[1, 2, 3, 1, 5], 792),
        ] {
            let servers = (0_u32..)
                .zip(weights)
                .map(|(i, weight)| Server::new(i.to_string()).with_weight(*weight));
            let pool = Pool::new(Uhashring::new(RingType::Ketama), servers)?;
            assert_eq!(pool.layout().len(), points);
        }
        Ok(())
    }

    #[test]
    fn a_key_on_a_point_belongs_to_the_next_one() -> Result<(), Error> {
        for ring in [RingType::Default, RingType::Ketama] {
            let system = Uhashring { ring, vnodes: 1 };
            let pool = Pool::new(system, ["a", "b"].map(Server::new))?;
            let just_before = |key: &str| {
                let hash = pool.hash_key(key.as_bytes())?;
                Some(crate::KeyHash::from_raw(hash.get() - 1))
            };
            for name in ["a", "b"] {
                let hash = just_before(&alloc::format!("{name}-0"));
                let point = hash.and_then(|hash| pool.route_hash(hash));
                let owner = point.and_then(|id| pool.nodes().name(id));
                assert_eq!(owner, Some(name), "{ring:?}");
            }
        }
        let system = Uhashring {
            ring: RingType::Default,
            vnodes: 1,
        };
        let pool = Pool::new(system, ["a", "b"].map(Server::new))?;
        assert_eq!(pool.route(b"a-0").map(Node::name), Some("b"));
        assert_eq!(pool.route(b"b-0").map(Node::name), Some("a"));
        Ok(())
    }

    #[test]
    fn nodes_that_are_down_are_left_out_and_too_many_points_are_refused() -> Result<(), Error> {
        let mut pool = Pool::new(Uhashring::default(), ["a", "b"].map(Server::new))?;
        pool.apply(&Change::reweight("a", 0))?;
        assert_eq!(pool.route(b"key").map(Node::name), Some("b"));
        pool.apply(&Change::remove("b"))?;
        assert_eq!(pool.route(b"key"), None);
        for ring in [RingType::Default, RingType::Ketama] {
            let system = Uhashring {
                ring,
                vnodes: u32::MAX,
            };
            let heavy = Server::new("a").with_weight(u32::MAX);
            assert!(Pool::new(system, [heavy]).is_err());
        }
        Ok(())
    }

    #[test]
    fn options_change_the_number_of_points_and_wrong_ones_are_refused() -> Result<(), Error> {
        let points = |params: &[(&str, &str)]| {
            let params = params
                .iter()
                .fold(Params::default(), |params, (name, value)| {
                    params.with(*name, *value)
                });
            Ok(pool(["a"].map(Server::new).into(), &params)?.layout().len())
        };
        assert_eq!(points(&[])?, 160);
        assert_eq!(points(&[("ring", "ketama")])?, 160);
        assert_eq!(points(&[("ring", "ketama"), ("vnodes", "80")])?, 320);
        assert_eq!(points(&[("vnodes", "7")])?, 7);
        let refused: Result<usize, Error> = points(&[("ring", "meta")]);
        assert!(refused.is_err() && points(&[("vnodes", "many")]).is_err());
        Ok(())
    }
}
