//! Redis Cluster: keys to slots, and slots to masters.
//!
//! Source: the Redis Cluster specification and `redis-cli.c` of Redis 7.0.15; slots compared with
//! `CLUSTER KEYSLOT` of that version, shares written from the source.
//!
//! | name | value |
//! |---|---|
//! | slot of a key | CRC-16/XMODEM, modulo 16384 |
//! | hashed part | the text between the first `{` and the next `}`, unless it is empty; else the whole key |
//! | slots of masters | the map; without one, the ranges of `redis-cli --cluster create` |
//!
//! **The table of the running cluster decides**, not this computation: slots are moved one by one, and
//! `CLUSTER NODES` shows their owners. Give its text as the configuration. Without it, each master
//! gets a range, in the order in which `redis-cli` lists them, which interleaves the hosts. The ends
//! are sums of 16384 / n in 32-bit floats, rounded: three masters get 0 to 5460, 5461 to 10922 and
//! 10923 to 16383. Valkey does the same.
//!
//! Slots of a master that is down, and slots of no master, have no owner: no other master answers for
//! them. There are no weights.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::str::FromStr;

#[cfg(feature = "config")]
mod config;

use super::layout::check_capacity;
use super::parts::servers::{check_names, unweighted};
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, HashFunction, HashTag, Limit, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "redis-cluster",
    "Redis Cluster and Valkey: 16384 slots",
    Origin::recorded("7.0.15"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[SLOTS])
.with_reader(reader!(config::read));

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let slots = params.choice(SLOTS.name, Slots::Even)?;
    if let Slots::Map(map) = &slots {
        check_names(SLOTS.name, map.iter().map(|(name, _)| &**name), &servers)?;
    }
    Pool::new(RedisCluster { slots }, servers)
}

const SLOTS: Param = Param::new(
    "slots",
    "even",
    "even, or the slots of each master: \"a=0-8191;b=8192-16382,16383\"",
);

/// The number of slots.
const COUNT: u16 = 16_384;

/// A Redis Cluster.
///
/// ```
/// use hashroute::compat::{Pool, Server, redis_cluster::RedisCluster};
/// use hashroute::{KeyHash, Node, Router};
///
/// let masters = ["10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"].map(Server::new);
/// let pool = Pool::new(RedisCluster::default(), masters)?;
/// assert_eq!(pool.hash_key(b"{user1000}.following"), Some(KeyHash::from_raw(3443)));
/// assert_eq!(pool.route(b"{user1000}.following").map(Node::name), Some("10.0.0.1:6379"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisCluster {
    /// The slots of the masters.
    pub slots: Slots,
}

builder! { RedisCluster: with_slots(slots: Slots) }

/// The slots of the masters.
///
/// ```
/// use hashroute::compat::redis_cluster::Slots;
/// let map = Slots::Map(vec![("a".into(), vec![0..=99, 200..=200])]);
/// assert_eq!("a=0-99,200".parse::<Slots>()?, map);
/// assert_eq!("even".parse::<Slots>()?, Slots::Even);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slots {
    /// A range for each master, in their order, as `redis-cli --cluster create` assigns them.
    #[default]
    Even,
    /// The slots of each master, by its name. Slots of absent masters have no owner.
    Map(Vec<(Box<str>, Vec<RangeInclusive<u16>>)>),
}

impl FromStr for Slots {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |part: &str| {
            let expected = "even, or slots below 16384 as in \"a=0-99,200;b=100-199\"";
            Error::parameter(SLOTS.name, part, expected)
        };
        if text == "even" {
            return Ok(Self::Even);
        }
        let entry = |part: &str| {
            let (name, slots) = part.split_once('=').ok_or_else(|| wrong(part))?;
            let slots = slots
                .split(',')
                .filter(|slots| !slots.is_empty())
                .map(range);
            let slots: Option<_> = slots.collect();
            Ok((name.into(), slots.ok_or_else(|| wrong(part))?))
        };
        text.split(';')
            .map(entry)
            .collect::<Result<_, _>>()
            .map(Self::Map)
    }
}

/// Reads `200` or `0-99`.
fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < COUNT).then_some(first..=last)
}

/// Returns the ranges that `redis-cli --cluster create` assigns to this number of masters.
fn even(masters: usize) -> Vec<RangeInclusive<u16>> {
    let each = f32::from(COUNT) / masters as f32;
    let (mut first, mut cursor) = (0, 0.0_f32);
    let deal = |master| {
        let last = match rounded(cursor + each - 1.0) {
            _ if master + 1 == masters => COUNT - 1,
            last => last.min(COUNT - 1).max(first),
        };
        let range = first..=last;
        first = last + 1;
        cursor += each;
        range
    };
    (0..masters).map(deal).collect()
}

/// Rounds to the nearest integer, half up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 16384, apart from rounding errors below 0, which become 0"
)]
fn rounded(number: f32) -> u16 {
    let whole = number as u16;
    whole + u16::from(number - f32::from(whole) >= 0.5)
}

impl RedisCluster {
    /// Returns the ranges of each master, in the order of the servers.
    fn ranges(&self, servers: &[(NodeId, Server)]) -> Vec<Vec<RangeInclusive<u16>>> {
        let Slots::Map(map) = &self.slots else {
            return even(servers.len())
                .into_iter()
                .map(|range| vec![range])
                .collect();
        };
        let mut by_name: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (name, slots) in map {
            by_name
                .entry(name)
                .or_default()
                .extend(slots.iter().cloned());
        }
        let ranges = servers
            .iter()
            .map(|(_, server)| by_name.remove(server.name()));
        ranges.map(Option::unwrap_or_default).collect()
    }
}

impl System for RedisCluster {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        unweighted(servers)?;
        if servers.len() > usize::from(COUNT) {
            return Err(Error::Capacity {
                what: Limit::Masters,
                wanted: servers.len() as u64,
                limit: COUNT.into(),
                advice: "use fewer masters: each needs at least one slot",
            });
        }
        if let Slots::Map(map) = &self.slots {
            check_capacity(map.iter().map(|(_, slots)| slots.len() as u64).sum())?;
        }
        let mut table = vec![None; COUNT.into()];
        let mut taken = vec![false; COUNT.into()];
        for ((id, server), ranges) in servers.iter().zip(self.ranges(servers)) {
            for slot in ranges.into_iter().flatten() {
                let at = usize::from(slot);
                if *taken.get(at).unwrap_or(&true) {
                    let expected = format!("a slot below {COUNT} that has only one master");
                    return Err(Error::parameter(SLOTS.name, slot, expected));
                }
                taken[at] = true;
                table[at] = (!server.is_down()).then_some(*id);
            }
        }
        Layout::table(14, table)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        let hash = HashFunction::Crc16.value([0; 2], HashTag::BRACES.part(key));
        Some(hash % u64::from(COUNT))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("redis_cluster", ()))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::{Change, KeyHash, Node, Router};

    fn owner(pool: &Pool, slot: u64) -> Option<&str> {
        let id = pool.route_hash(KeyHash::from_raw(slot))?;
        pool.nodes().name(id)
    }

    #[test]
    fn an_unknown_name_in_the_map_is_refused() {
        let build = |slots, names: &[&str]| {
            let params = Params::default().with("slots", slots);
            DIALECT.build(names.iter().copied().map(Server::new), &params)
        };
        let error = build("a=0-10;typo=11-16383", &["a", "b"]).unwrap_err();
        assert!(error.to_string().starts_with("slots = \"typo\""), "{error}");
        assert!(build("a=0-10;b=11-16383", &["a", "b"]).is_ok());
    }

    #[test]
    fn even_ranges_equal_those_of_redis_cli() {
        assert_eq!(even(3), [0..=5460, 5461..=10922, 10923..=16383]);
        assert_eq!(even(1), [0..=16383]);
        let ends: Vec<_> = even(6).iter().map(|range| *range.end()).collect();
        assert_eq!(ends, [2730, 5460, 8191, 10922, 13652, 16383]);
        assert!(even(0).is_empty());
        for masters in [7, 1000, 4097, 16_384] {
            let all = even(masters).into_iter().flatten();
            assert!(all.eq(0..COUNT), "{masters}");
        }
    }

    #[test]
    fn slots_of_a_master_that_is_down_have_no_owner() -> Result<(), Error> {
        let mut pool = Pool::new(RedisCluster::default(), ["a", "b"].map(Server::new))?;
        assert_eq!(
            [0, 8191, 8192].map(|slot| owner(&pool, slot)),
            [Some("a"), Some("a"), Some("b")]
        );
        pool.apply(&Change::reweight("a", 0))?;
        assert_eq!(
            [0, 8191, 8192].map(|slot| owner(&pool, slot)),
            [None, None, Some("b")]
        );
        Ok(())
    }

    #[test]
    fn a_map_decides_the_owners() -> Result<(), Error> {
        let pool = |slots: &str, names: &[&str]| {
            let slots = slots.parse()?;
            Pool::new(
                RedisCluster { slots },
                names.iter().map(|name| Server::new(*name)),
            )
        };
        let some = pool(
            "a:1=0-9,12;b:1=10-11;gone=13-20;b:1=30;c=",
            &["a:1", "b:1", "c"],
        )?;
        let owners = [0, 9, 10, 12, 13, 30].map(|slot| owner(&some, slot));
        let wanted = [
            Some("a:1"),
            Some("a:1"),
            Some("b:1"),
            Some("a:1"),
            None,
            Some("b:1"),
        ];
        assert_eq!(owners, wanted);
        for slots in ["a=0-9;b=9-10", "a=16384", "a=9-0", "a=x", "a", "a=1-2-3"] {
            assert!(pool(slots, &["a", "b"]).is_err(), "{slots}");
        }
        Ok(())
    }

    #[test]
    fn weights_and_too_many_masters_are_refused() -> Result<(), Error> {
        assert!(
            Pool::new(RedisCluster::default(), [])?
                .route(b"key")
                .is_none()
        );
        let heavy = [Node::new("a").with_weight(2).into()];
        assert!(matches!(
            Pool::new(RedisCluster::default(), heavy),
            Err(Error::Weight { .. })
        ));
        let many = (0..=16_384).map(|i| Server::new(format!("{i}")));
        assert!(matches!(
            Pool::new(RedisCluster::default(), many),
            Err(Error::Capacity { .. })
        ));
        Ok(())
    }
}
