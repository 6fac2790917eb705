//! HAProxy: `hash-type consistent` and `hash-type map-based` of a `backend` or `listen` section.
//!
//! Source: HAProxy 2.6.12, `lb_chash`, `lb_map` and `backend`; compared with a running copy. Of the
//! newer `hash-key`, and of ids, with copies of 3.0.11 and 3.2.26.
//!
//! | method | points or cells | lookup |
//! |---|---|---|
//! | `consistent` | 16 x weight points for each server: an integer hash of a number of the server + n | the nearest point in either direction |
//! | `map-based` | one cell for each unit of weight, weights divided by their common factor | the key's hash, modulo the number of cells |
//!
//! - The number of a server is its `id` x 4096 (so only 20 bits of the `id` count), or in 3.0 the
//!   integer hash of its `id`; with `hash-key addr` or `addr-port`, a hash of its address.
//! - A server's label is its `id`, a number. Without an `id`, it is the server's position in the
//!   section, from 1. A label that is an IP address, with or without a port, says `hash-key` for one
//!   server.
//! - Of servers with equal points, the first takes the keys before a point, the last those after it.
//! - Names and addresses do not count, so a server that is inserted without an `id` renumbers the
//!   servers after it.
//! - The key is hashed with one of four functions; `avalanche` mixes the result once more.
//! - `balance hdr(..)` sends a missing or empty value round robin; here the empty key is routed by
//!   its hash, as `balance hash` does.
//! - `balance source` is no hash of bytes and is not supported.
//! - With `hash-balance-factor`, the key goes to the first server clockwise from the nearest point
//!   that holds less than its share of the load.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::str::FromStr;

use super::layout::check_capacity;
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, KeyHash, Limit, NodeId, SystemHash};

#[cfg(feature = "config")]
mod config;
mod hash;
mod keys;
#[cfg(feature = "config")]
mod write;

pub use hash::ServerHash;
use hash::full_hash;
pub use keys::{HashKey, IdBits};
use keys::{bases, ids};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "haproxy",
    "balance by a hash: hash-type consistent or map-based, hash-balance-factor",
    Origin::recorded("2.6.12"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[
    METHOD,
    FUNCTION,
    AVALANCHE,
    BALANCE_FACTOR,
    HASH_KEY,
    ID_BITS,
])
.with_reader(reader!(config::read))
.with_writer(reader!(write::write));

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = HaProxy::default();
    let system = HaProxy {
        method: params.choice(METHOD.name, default.method)?,
        function: params.choice(FUNCTION.name, default.function)?,
        avalanche: match &*params.get(AVALANCHE.name, alloc::string::String::from("on"))? {
            "on" => true,
            "off" => false,
            other => return Err(Error::parameter(AVALANCHE.name, other, "on or off")),
        },
        balance_factor: params.get(BALANCE_FACTOR.name, default.balance_factor)?,
        hash_key: params.choice(HASH_KEY.name, default.hash_key)?,
        id_bits: params.choice(ID_BITS.name, default.id_bits)?,
    };
    Pool::new(system, servers)
}

const METHOD: Param = Param::new("method", "consistent", "hash-type: consistent or map-based")
    .with_values(&["consistent", "map-based"]);

const FUNCTION: Param = Param::new(
    "function",
    "sdbm",
    "hash of the key: sdbm, djb2, wt6 or crc32",
)
.with_values(&["sdbm", "djb2", "wt6", "crc32"]);

const AVALANCHE: Param = Param::new(
    "avalanche",
    "on",
    "whether the key's hash is mixed once more: on or off",
)
.with_values(&["on", "off"]);

const BALANCE_FACTOR: Param = Param::new(
    "balance-factor",
    "0",
    "hash-balance-factor: percent of the mean load that a server may hold; 0 for no bound",
);

const HASH_KEY: Param = Param::new(
    "hash-key",
    "id",
    "hash-key of the servers: id, addr or addr-port",
);

const ID_BITS: Param = Param::new(
    "id-bits",
    "20",
    "the bits of an id that count: 20 in 2.6 and 3.2, 32 in 3.0",
);

/// The options of a section that balances by a hash; the default is `hash-type consistent`.
///
/// ```
/// use hashroute::compat::{Pool, Server, haproxy::HaProxy};
/// use hashroute::Router;
///
/// let servers = ["10.0.0.1:80", "10.0.0.2:80"].map(Server::new);
/// let pool = Pool::new(HaProxy::default(), servers)?;
/// assert!(pool.route(b"/index.html").is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HaProxy {
    /// The first word of `hash-type`: the method.
    pub method: HashType,
    /// The second word of `hash-type`: the hash of the key.
    pub function: ServerHash,
    /// Whether `hash-type` ends in `avalanche`.
    pub avalanche: bool,
    /// `hash-balance-factor`: 0, or from 101 to 2^31 - 1. Only `consistent` uses it.
    pub balance_factor: u32,
    /// `hash-key` of the servers without a label. Only `consistent` uses it.
    pub hash_key: HashKey,
    /// The bits of an `id` that count, which depends on the version. Only `consistent` uses it.
    pub id_bits: IdBits,
}

impl Default for HaProxy {
    fn default() -> Self {
        Self {
            method: HashType::Consistent,
            function: ServerHash::Sdbm,
            avalanche: true,
            balance_factor: 0,
            hash_key: HashKey::Id,
            id_bits: IdBits::Low20,
        }
    }
}

builder! { HaProxy:
    with_method(method: HashType),
    with_function(function: ServerHash),
    with_avalanche(avalanche: bool),
    with_balance_factor(balance_factor: u32),
    with_hash_key(hash_key: HashKey),
    with_id_bits(id_bits: IdBits),
}

/// The mapping from hashes to servers.
///
/// ```
/// use hashroute::compat::haproxy::HashType;
/// assert_eq!("map-based".parse::<HashType>()?, HashType::MapBased);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashType {
    /// `consistent`: the nearest point of a ring.
    #[default]
    Consistent,
    /// `map-based`: the hash modulo the number of cells, which are interleaved by weight.
    MapBased,
}

impl FromStr for HashType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "consistent" => Ok(Self::Consistent),
            "map-based" => Ok(Self::MapBased),
            _ => Err(Error::parameter(
                METHOD.name,
                text,
                "consistent or map-based",
            )),
        }
    }
}

/// The maximum `hash-balance-factor` in HAProxy.
const MAX_FACTOR: u32 = 0x7fff_ffff;

impl System for HaProxy {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        if self.balance_factor != 0 && !(101..=MAX_FACTOR).contains(&self.balance_factor) {
            let (name, value) = (BALANCE_FACTOR.name, self.balance_factor);
            let known = "0, or from 101 to 2147483647";
            return Err(Error::parameter(name, value, known));
        }
        if let Some((_, server)) = servers.iter().find(|(_, server)| server.weight() > 256) {
            return Err(Error::Weight {
                name: server.name().into(),
                weight: server.weight(),
                expected: "at most 256",
            });
        }
        match self.method {
            HashType::Consistent => ring(servers, &bases(self, servers)?),
            HashType::MapBased => {
                ids(servers)?;
                map(servers)
            }
        }
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        let hash = self.function.value(key);
        Some(
            if self.avalanche {
                full_hash(hash)
            } else {
                hash
            }
            .into(),
        )
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("haproxy", (self.function, self.avalanche)))
    }

    fn looks_at_loads(&self) -> bool {
        self.balance_factor > 0 && self.method == HashType::Consistent
    }

    fn choose(
        &self,
        hash: u64,
        servers: &[(NodeId, Server)],
        layout: &Layout,
        loads: &dyn Fn(NodeId) -> u64,
    ) -> Option<NodeId> {
        let owner = layout.owner(hash)?;
        if !self.looks_at_loads() {
            return Some(owner);
        }
        let slots = Slots::new(self.balance_factor, servers, loads);
        let (mut found, mut full) = (None, None);
        let _ = layout.walk(KeyHash::from_raw(hash), &mut |id| {
            // The next point may be of the same server: do not compute its slots again.
            if full == Some(id) {
                return ControlFlow::Continue(());
            }
            if requests(loads(id)) < slots.of(id, servers) {
                found = Some(id);
                return ControlFlow::Break(());
            }
            full = Some(id);
            ControlFlow::Continue(())
        });
        // After a full turn without room, HAProxy ends at the last point of the ring.
        found.or_else(|| {
            let bases = bases(self, servers).ok()?;
            // Of equal points, the last one given.
            points(servers, &bases)
                .max_by_key(|(point, _)| *point)
                .map(|(_, id)| id)
        })
    }
}

/// Cuts a load to 32 bits, in which HAProxy counts requests.
fn requests(load: u64) -> u32 {
    u32::try_from(load).unwrap_or(u32::MAX)
}

/// The number of requests that each server may hold: the total, divided by weight so that the parts
/// sum to it. All in 32 bits that wrap, as in HAProxy; a large factor makes them wrap.
#[derive(Debug)]
struct Slots {
    /// The requests for each unit of weight.
    each: u32,
    /// The remainder to distribute.
    rest: u32,
    weight: u32,
}

impl Slots {
    fn new(factor: u32, servers: &[(NodeId, Server)], loads: &dyn Fn(NodeId) -> u64) -> Self {
        let held = servers.iter().map(|(id, _)| requests(loads(*id)));
        let served = held.fold(0, u32::wrapping_add);
        let total = served.wrapping_add(1).wrapping_mul(factor).wrapping_add(99) / 100;
        let weights = up(servers).map(|(_, weight)| weight);
        let weight = weights.fold(0, u32::wrapping_add).max(1);
        Self {
            each: total / weight,
            rest: total % weight,
            weight,
        }
    }

    fn of(&self, id: NodeId, servers: &[(NodeId, Server)]) -> u32 {
        let mut before = 0_u32;
        for (other, weight) in up(servers) {
            let after = before.wrapping_add(weight);
            if other == id {
                let rest = |sum: u32| sum.wrapping_mul(self.rest) / self.weight;
                let own = weight.wrapping_mul(self.each);
                let slots = own.wrapping_add(rest(after)).wrapping_sub(rest(before));
                return slots.max(1);
            }
            before = after;
        }
        0
    }
}

/// The number of points for a unit of weight.
const SCALE: u32 = 16;

/// Returns the servers that are up, each with its number of points as weight.
fn up(servers: &[(NodeId, Server)]) -> impl Iterator<Item = (NodeId, u32)> {
    let up = servers.iter().filter(|(_, server)| !server.is_down());
    up.map(|(id, server)| (*id, server.weight() * SCALE))
}

fn ring(servers: &[(NodeId, Server)], bases: &[u32]) -> Result<Layout, Error> {
    check_capacity(up(servers).map(|(_, weight)| u64::from(weight)).sum())?;
    let mut points: Vec<_> = points(servers, bases).collect();
    // A stable sort: equal points stay in the order of the section.
    points.sort_by_key(|(point, _)| *point);
    if points.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return shared(&points);
    }
    Layout::circle(32, Rule::Nearest, points)
}

/// Builds a ring in which servers share points. The first server with a point takes the keys up to it,
/// the last one those after it: HAProxy's tree looks for the first entry at or after a hash, and for the
/// entry before that.
fn shared(points: &[(u64, NodeId)]) -> Result<Layout, Error> {
    let groups: Vec<_> = points.chunk_by(|a, b| a.0 == b.0).collect();
    let mut ends = Vec::with_capacity(groups.len() * 2);
    for (at, group) in groups.iter().enumerate() {
        let (point, next) = (group[0].0, groups[(at + 1) % groups.len()][0].0);
        let last = u64::from(u32::MAX);
        // A single point has the whole circle behind it.
        let gap = match next.wrapping_sub(point) & last {
            0 => last,
            gap => gap,
        };
        ends.push((point, group[0].1));
        let end = (point + gap / 2) & last;
        if end != point {
            ends.push((end, group[group.len() - 1].1));
        }
    }
    Layout::circle(32, Rule::AtOrAfter, ends)
}

fn points(servers: &[(NodeId, Server)], bases: &[u32]) -> impl Iterator<Item = (u64, NodeId)> {
    let up = servers.iter().zip(bases);
    let points = up.filter(|((_, server), _)| !server.is_down());
    points.flat_map(|((node, server), base)| {
        let point = |n: u32| full_hash(base.wrapping_add(n));
        (0..server.weight() * SCALE).map(move |n| (point(n).into(), *node))
    })
}

/// The maximum number of steps to build the map: cells x servers.
const MAP_STEPS: u64 = 1 << 32;

/// Builds cells in which the servers take turns by weight. The weight of a server that is down
/// still counts for the common factor, as in HAProxy.
fn map(servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
    let weights = servers.iter().map(|(_, server)| server.weight());
    let factor = weights.fold(0, gcd).max(1);
    let up = servers.iter().filter(|(_, server)| !server.is_down());
    let mut scores: Vec<_> = up
        .map(|(id, server)| (i64::from(server.weight() / factor), 0_i64, *id))
        .collect();
    let total: i64 = scores.iter().map(|(weight, ..)| weight).sum();
    check_capacity(total.unsigned_abs())?;
    let steps = total.unsigned_abs().saturating_mul(scores.len() as u64);
    if steps > MAP_STEPS {
        return Err(Error::Capacity {
            what: Limit::StepsToMap,
            wanted: steps,
            limit: MAP_STEPS,
            advice: "use fewer servers, or weights with a common factor",
        });
    }
    let mut slots = vec![];
    for _ in 0..total {
        let mut best: Option<(i64, usize)> = None;
        for (at, (weight, score, _)) in scores.iter_mut().enumerate() {
            *score += *weight;
            let turns = (*score + total) / total;
            if best.is_none_or(|(most, _)| turns > most) {
                best = Some((turns, at));
            }
        }
        if let Some((_, at)) = best {
            scores[at].1 -= total;
            slots.push(scores[at].2);
        }
    }
    Layout::cells(32, slots)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;
