//! dgryski/go-mpchash: multi-probe consistent hashing for Go.
//!
//! Appleton and O'Reilly, "Multi-Probe Consistent Hashing" (2015), arXiv:1505.00062.
//!
//! Source: <https://github.com/dgryski/go-mpchash> at 7382f34; compared with a running copy.
//!
//! | name | value |
//! |---|---|
//! | H(text, seed) | SipHash-2-4 with the key (seed, 0), as in the library's own tests |
//! | the only point of a node | H(name, 0) |
//! | probes of a key | H(key, seed-0) + i x H(key, seed-1) mod 2^64, for i below 21 |
//! | owner | the point at the smallest distance after a probe; at a tie, the first probe decides |
//!
//! A point must be strictly after the probe. The user of the library chooses the function, the seeds
//! and the number of probes. Here the hash of a key is its best probe, which depends on the nodes.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use siphasher::sip::SipHasher24;

use super::parts::servers::{points_backwards, unweighted};
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "go-mpchash",
    "dgryski/go-mpchash, a Go library: multi-probe consistent hashing",
    Origin::recorded("7382f34 (2020-08-19)"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[PROBES, SEED_0, SEED_1])
.with_free_order(no_tie);

/// Returns whether no two servers have the same point. Only then does the order count: the hash of
/// a key looks at the points alone.
fn no_tie(servers: &[Server], _: &Params) -> bool {
    let points = servers.iter().map(|server| point(server.label()));
    let points: BTreeSet<_> = points.collect();
    points.len() == servers.len()
}

fn point(label: &str) -> u64 {
    sip(0, label.as_bytes())
}

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = GoMpchash::default();
    let mpchash = GoMpchash {
        probes: params.get(PROBES.name, default.probes)?,
        seeds: [
            params.get(SEED_0.name, default.seeds[0])?,
            params.get(SEED_1.name, default.seeds[1])?,
        ],
    };
    Pool::new(mpchash, servers)
}

const PROBES: Param = Param::new("probes", "21", "probes of a key, 1 to 1000");
const SEED_0: Param = Param::new("seed-0", "1", "the first of the two seeds");
const SEED_1: Param = Param::new("seed-1", "2", "the second of the two seeds");

/// The maximum number of probes: each lookup computes all of them.
const MOST_PROBES: u32 = 1000;

/// The circle of go-mpchash.
///
/// ```
/// use hashroute::compat::{Pool, Server, go_mpchash::GoMpchash};
/// use hashroute::{Node, Router};
///
/// let pool = Pool::new(GoMpchash::default(), ["node-0", "node-1"].map(Server::new))?;
/// assert_eq!(pool.layout().len(), 2);
/// assert!(pool.route(b"key").is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GoMpchash {
    /// The number of probes of a key, 1 to 1000.
    pub probes: u32,
    /// The seeds of a key's two hashes.
    pub seeds: [u64; 2],
}

impl Default for GoMpchash {
    fn default() -> Self {
        Self {
            probes: 21,
            seeds: [1, 2],
        }
    }
}

builder! { GoMpchash: with_probes(probes: u32), with_seeds(seeds: [u64; 2]) }

fn sip(seed: u64, bytes: &[u8]) -> u64 {
    SipHasher24::new_with_keys(seed, 0).hash(bytes)
}

impl System for GoMpchash {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        if !(1..=MOST_PROBES).contains(&self.probes) {
            return Err(Error::parameter(PROBES.name, self.probes, "1 to 1000"));
        }
        unweighted(servers)?;
        let points = points_backwards(servers, |_| 1, |label, _| [point(label)]);
        Layout::circle(64, Rule::After, points?)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], layout: &Layout) -> Option<u64> {
        let [first, step] = self.seeds.map(|seed| sip(seed, key));
        let probe = |i| first.wrapping_add(step.wrapping_mul(i));
        // An arc ends one before its point (`Rule::After`). All distances are one too small, so
        // their order stays the same.
        let distance = |probe: &u64| Some(layout.arc_end(*probe)?.wrapping_sub(*probe));
        (0..u64::from(self.probes)).map(probe).min_by_key(distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Node, Router};

    fn pool(probes: u32, names: &[&str]) -> Result<Pool, Error> {
        let mpchash = GoMpchash {
            probes,
            ..GoMpchash::default()
        };
        Pool::new(mpchash, names.iter().map(|name| Server::new(*name)))
    }

    /// The definition: every probe against every point.
    #[test]
    fn the_owner_has_the_nearest_point_after_any_probe() -> Result<(), Error> {
        let names = ["a", "b", "c", "d", "e"];
        let pool = pool(21, &names)?;
        for key in 0..200_u8 {
            let [h1, h2] = [1, 2].map(|seed| sip(seed, &[key]));
            let probes = (0..21).map(|i| h1.wrapping_add(h2.wrapping_mul(i)));
            let distances = probes.flat_map(|probe| {
                names.map(|name| {
                    (
                        sip(0, name.as_bytes()).wrapping_sub(probe).wrapping_sub(1),
                        name,
                    )
                })
            });
            let nearest = distances.min_by_key(|(distance, _)| *distance);
            let owner = pool.route(&[key]).map(Node::name);
            assert_eq!(owner, nearest.map(|(_, name)| name), "{key}");
        }
        Ok(())
    }

    #[test]
    fn only_nodes_that_are_up_own_keys() -> Result<(), Error> {
        assert!(pool(21, &[])?.route(b"key").is_none());
        assert_eq!(pool(1, &["a"])?.route(b"key").map(Node::name), Some("a"));
        let mut two = pool(21, &["a", "b"])?;
        two.apply(&Change::reweight("a", 0))?;
        assert!((0..99_u8).all(|key| two.route(&[key]).map(Node::name) == Some("b")));
        Ok(())
    }

    #[test]
    fn wrong_numbers_of_probes_are_refused() {
        assert!(pool(0, &["a"]).is_err() && pool(1001, &["a"]).is_err());
    }
}
