//! Envoy: clusters with `lb_policy` `RING_HASH` or `MAGLEV`.
//!
//! Source: Envoy 1.40.0, `ring_hash_lb`, `maglev_lb` and `thread_aware_lb_impl`; compared with a
//! running copy.
//!
//! | policy | points or cells | lookup |
//! |---|---|---|
//! | `RING_HASH` | the hash of `LABEL_n`; about 1024 points in total, divided by weight | first point at or after the key's hash |
//! | `MAGLEV` | 65537 cells; servers claim cells in the order of their labels, by weight | the key's hash, modulo the number of cells |
//!
//! - A server's label is its `hash_key` in the metadata `envoy.lb`; else its host name, with
//!   `use_hostname_for_hashing`; else `IP:PORT`.
//! - The key is always hashed with XXH64, even if the points are `MURMUR_HASH_2`.
//! - The order of the servers matters to `RING_HASH` if points cannot be divided evenly, and to
//!   `hash_balance_factor`.
//! - Servers that are down are left out, as in Envoy while at least half are healthy. With fewer,
//!   Envoy enters panic mode and uses all of them; this is not modelled.
//! - With `hash_balance_factor`, an overloaded server hands the key to another one, in an order that
//!   the key's hash shuffles. With more than 64 servers this allocates memory.

use core::str::FromStr;

use alloc::vec::Vec;
use xxhash_rust::xxh64::xxh64;

use super::parts::permutation::{Permutation, Table, count};
use super::parts::ring_hash::{self, Share};
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

#[cfg(feature = "config")]
mod config;
mod murmur;
mod overflow;
#[cfg(feature = "config")]
mod write;

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "envoy",
    "clusters with lb_policy RING_HASH or MAGLEV, hash_balance_factor",
    Origin::recorded("1.40.0"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[
    POLICY,
    HASH_FUNCTION,
    MIN_RING_SIZE,
    MAX_RING_SIZE,
    TABLE_SIZE,
    BALANCE_FACTOR,
])
.with_reader(reader!(config::read))
.with_writer(reader!(write::write));

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = Envoy::default();
    let system = Envoy {
        policy: params.choice(POLICY.name, default.policy)?,
        hash_function: params.choice(HASH_FUNCTION.name, default.hash_function)?,
        min_ring_size: params.get(MIN_RING_SIZE.name, default.min_ring_size)?,
        max_ring_size: params.get(MAX_RING_SIZE.name, default.max_ring_size)?,
        table_size: params.get(TABLE_SIZE.name, default.table_size)?,
        balance_factor: params.get(BALANCE_FACTOR.name, default.balance_factor)?,
    };
    Pool::new(system, servers)
}

const POLICY: Param = Param::new("policy", "RING_HASH", "lb_policy: RING_HASH or MAGLEV")
    .with_values(&["RING_HASH", "MAGLEV"]);

const HASH_FUNCTION: Param = Param::new(
    "hash-function",
    "XX_HASH",
    "the hash of RING_HASH's points: XX_HASH or MURMUR_HASH_2",
)
.with_values(&["XX_HASH", "MURMUR_HASH_2"]);

const MIN_RING_SIZE: Param = Param::new(
    "min-ring-size",
    "1024",
    "minimum_ring_size of RING_HASH, in points",
);

const MAX_RING_SIZE: Param = Param::new(
    "max-ring-size",
    "8388608",
    "maximum_ring_size of RING_HASH, in points",
);

const TABLE_SIZE: Param = Param::new(
    "table-size",
    "65537",
    "table_size of MAGLEV: cells, a prime",
)
.with_finer(&["655373"]);

const BALANCE_FACTOR: Param = Param::new(
    "balance-factor",
    "0",
    "hash_balance_factor: percent of the mean load that a server may hold; 0 for no bound",
);

/// The options of a cluster.
///
/// ```
/// use hashroute::compat::{Pool, Server, envoy::{Envoy, LbPolicy}};
/// use hashroute::Router;
///
/// let servers = [
///     Server::new("10.0.0.1:80").with_label("alpha"), // its hash_key
///     Server::new("10.0.0.2:80"),
/// ];
/// let pool = Pool::new(Envoy::default().with_policy(LbPolicy::Maglev), servers)?;
/// assert!(pool.route(b"user:42").is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Envoy {
    /// `lb_policy`.
    pub policy: LbPolicy,
    /// `ring_hash_lb_config.hash_function`.
    pub hash_function: RingFunction,
    /// `ring_hash_lb_config.minimum_ring_size`, in points, from 1 to 8,388,608.
    pub min_ring_size: u64,
    /// `ring_hash_lb_config.maximum_ring_size`, in points, up to 8,388,608.
    pub max_ring_size: u64,
    /// `maglev_lb_config.table_size`, in cells: a prime of up to 5,000,011.
    pub table_size: u64,
    /// `hash_balance_factor`: 0, or at least 100.
    pub balance_factor: u32,
}

impl Default for Envoy {
    fn default() -> Self {
        Self {
            policy: LbPolicy::RingHash,
            hash_function: RingFunction::XxHash,
            min_ring_size: 1024,
            max_ring_size: ring_hash::MAX_SIZE,
            table_size: 65_537,
            balance_factor: 0,
        }
    }
}

builder! { Envoy:
    with_policy(policy: LbPolicy),
    with_hash_function(hash_function: RingFunction),
    with_min_ring_size(min_ring_size: u64),
    with_max_ring_size(max_ring_size: u64),
    with_table_size(table_size: u64),
    with_balance_factor(balance_factor: u32),
}

/// The load balancing policy of a cluster.
///
/// ```
/// use hashroute::compat::envoy::LbPolicy;
/// assert_eq!("MAGLEV".parse::<LbPolicy>()?, LbPolicy::Maglev);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LbPolicy {
    /// `RING_HASH`.
    #[default]
    RingHash,
    /// `MAGLEV`.
    Maglev,
}

impl FromStr for LbPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "RING_HASH" => Ok(Self::RingHash),
            "MAGLEV" => Ok(Self::Maglev),
            _ => Err(Error::parameter(POLICY.name, text, "RING_HASH or MAGLEV")),
        }
    }
}

/// The hash function of a ring's points.
///
/// ```
/// use hashroute::compat::envoy::RingFunction;
/// assert_eq!("MURMUR_HASH_2".parse::<RingFunction>()?, RingFunction::Murmur2);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingFunction {
    /// `XX_HASH`: XXH64.
    #[default]
    XxHash,
    /// `MURMUR_HASH_2`: the string hash of libstdc++.
    Murmur2,
}

impl FromStr for RingFunction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "XX_HASH" => Ok(Self::XxHash),
            "MURMUR_HASH_2" => Ok(Self::Murmur2),
            _ => Err(Error::parameter(
                HASH_FUNCTION.name,
                text,
                "XX_HASH or MURMUR_HASH_2",
            )),
        }
    }
}

impl System for Envoy {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        if (1..100).contains(&self.balance_factor) {
            let (name, value) = (BALANCE_FACTOR.name, self.balance_factor);
            return Err(Error::parameter(name, value, "0, or 100 or more"));
        }
        let mut shares = ring_hash::shares(servers)?;
        match self.policy {
            LbPolicy::RingHash => {
                let sizes = [self.min_ring_size, self.max_ring_size];
                match self.hash_function {
                    RingFunction::XxHash => {
                        ring_hash::ring(&shares, sizes, |label| xxh64(label, 0))
                    }
                    RingFunction::Murmur2 => ring_hash::ring(&shares, sizes, murmur::hash),
                }
            }
            LbPolicy::Maglev => {
                shares.sort_by_key(|share| share.label);
                maglev(&shares, self.table_size)
            }
        }
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(xxh64(key, 0))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("xxh64", ()))
    }

    fn looks_at_loads(&self) -> bool {
        self.balance_factor > 0
    }

    fn choose(
        &self,
        hash: u64,
        servers: &[(NodeId, Server)],
        layout: &Layout,
        loads: &dyn Fn(NodeId) -> u64,
    ) -> Option<NodeId> {
        let owner = layout.owner(hash)?;
        if self.balance_factor == 0 {
            return Some(owner);
        }
        Some(overflow::choose(
            self.balance_factor,
            hash,
            owner,
            servers,
            loads,
        ))
    }
}

/// Fills the table in rounds. In each round, a server claims a cell if its weight x the number of
/// rounds has reached its next target.
fn maglev(shares: &[Share<'_>], size: u64) -> Result<Layout, Error> {
    let mut table = Table::new(size)?;
    let heaviest = shares.iter().map(|share| share.weight).fold(0.0, f64::max);
    let way = |share: &Share<'_>| {
        let label = share.label.as_bytes();
        let hashes = [xxh64(label, 0), xxh64(label, 1)];
        (Permutation::new(share.id, hashes, size), share.weight, 0.0)
    };
    let mut ways: Vec<_> = shares.iter().map(way).collect();
    if ways.is_empty() {
        return Layout::cells(64, Vec::new());
    }
    let (mut round, mut turns) = (0.0, 0);
    while !table.is_full() {
        round += 1.0;
        for (way, weight, target) in &mut ways {
            count(&mut turns)?;
            if round * *weight < *target {
                continue;
            }
            *target += heaviest;
            table.claim(way);
        }
    }
    table.layout(64)
}

#[cfg(test)]
mod tests;
