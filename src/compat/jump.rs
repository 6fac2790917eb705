//! Jump consistent hash, as four libraries implement it.
//!
//! Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm" (2014),
//! arXiv:1406.2294.
//!
//! | dialect | key | bucket | compared with |
//! |---|---|---|---|
//! | `jump` | a number | the paper's function | jump-consistent-hash 3.6.0 of `PyPI`, running |
//! | `go-jump` | a number; by default here the FNV-1a hash of the text | the same | dgryski/go-jump, running |
//! | `lithammer-jump` | a hash of the text: crc64, crc32, fnv1-64, fnv1a-64 | the same | lithammer/go-jump-consistent-hash v1.0.2, running |
//! | `guava` | a number | Guava's function, which rounds once instead of twice | guavahash 1.0.2, running |
//!
//! Bucket i is the i-th server of the list. A key that is a number is written in decimal, signed or
//! unsigned: -1 is 2^64 - 1. Guava's function differs from the paper's for about one key in a
//! million, and only with a billion buckets.
//!
//! Surprise: names do not count, so another order of the list gives other routes. Only the last
//! servers of the list may be down, because a gap would renumber the servers after it. There are no
//! weights.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::str::{self, FromStr};

use super::layout::check_capacity;
use super::parts::servers::{unweighted, up};
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{KeyForm, Origin, Param, Params, Scheme};
use crate::strategy::{jump_hash, jump_hash_guava};
use crate::{Error, HashFunction, NodeId, Refusal};

pub(super) const JUMP: Scheme = Scheme::dialect(
    "jump",
    "jump consistent hash, the paper's function, of decimal numbers",
    Origin::recorded("PyPI jump-consistent-hash 3.6.0"),
    |servers, params| boxed(pool(servers, params, JumpFunction::Paper, Key::Decimal)),
)
.with_params(&[key("decimal")])
.with_keys(KeyForm::Number);

pub(super) const GO_JUMP: Scheme = Scheme::dialect(
    "go-jump",
    "dgryski/go-jump, a Go library: jump consistent hash",
    Origin::recorded("ba001c3 (2021-10-18)"),
    |servers, params| boxed(pool(servers, params, JumpFunction::Paper, FNV1A)),
)
.with_params(&[key("fnv1a-64")]);

pub(super) const LITHAMMER: Scheme = Scheme::dialect(
    "lithammer-jump",
    "lithammer/go-jump-consistent-hash, a Go library: jump of strings",
    Origin::recorded("v1.0.2"),
    |servers, params| boxed(pool(servers, params, JumpFunction::Paper, CRC64)),
)
.with_params(&[key("crc64")]);

pub(super) const GUAVA: Scheme = Scheme::dialect(
    "guava",
    "Guava's Hashing.consistentHash, of decimal numbers",
    Origin::recorded("PyPI guavahash 1.0.2"),
    |servers, params| boxed(pool(servers, params, JumpFunction::Guava, Key::Decimal)),
)
.with_params(&[key("decimal")])
.with_keys(KeyForm::Number);

const FNV1A: Key = Key::Hash(HashFunction::Fnv1a64);
const CRC64: Key = Key::Hash(HashFunction::Crc64);

const fn key(default: &'static str) -> Param {
    Param::new(
        "key",
        default,
        "the number of a key: decimal, or a hash function",
    )
}

/// Builds a pool of these servers with this function and with options as text. `key` is the default
/// of the option of that name.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(
    servers: Vec<Server>,
    params: &Params,
    function: JumpFunction,
    key: Key,
) -> Result<Pool, Error> {
    let key = params.choice("key", key)?;
    Pool::new(JumpFamily { function, key }, servers)
}

/// Jump consistent hash over the list of servers.
///
/// ```
/// use hashroute::compat::{Pool, Server, jump::JumpFamily};
/// use hashroute::{Node, Router};
///
/// let shards = (0..10).map(|i| Server::new(format!("shard-{i}")));
/// let pool = Pool::new(JumpFamily::default(), shards)?;
/// assert_eq!(pool.route(b"256").map(Node::name), Some("shard-3"));
/// assert_eq!(pool.route(b"no number").map(Node::name), None);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JumpFamily {
    /// The function from number to bucket.
    pub function: JumpFunction,
    /// The function from key to number.
    pub key: Key,
}

builder! { JumpFamily: with_function(function: JumpFunction), with_key(key: Key) }

/// The function from number to bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JumpFunction {
    /// [`jump_hash`].
    #[default]
    Paper,
    /// [`jump_hash_guava`].
    Guava,
}

/// The function from key to number.
///
/// ```
/// use hashroute::{HashFunction, compat::jump::Key};
/// assert_eq!("decimal".parse::<Key>()?, Key::Decimal);
/// assert_eq!("crc32".parse::<Key>()?, Key::Hash(HashFunction::Crc32));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Key {
    /// The key is a decimal number from -2^63 to 2^64 - 1; other keys have no owner.
    #[default]
    Decimal,
    /// The hash of its bytes.
    Hash(HashFunction),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimal => f.pad("decimal"),
            Self::Hash(function) => function.fmt(f),
        }
    }
}

impl FromStr for Key {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "decimal" => Ok(Self::Decimal),
            _ => text.parse().map(Self::Hash).map_err(|error| match error {
                Error::Parameter { expected, .. } => {
                    Error::parameter("key", text, format!("decimal, or {expected}"))
                }
                error => error,
            }),
        }
    }
}

/// Reads a decimal number; a negative one becomes its two's complement.
fn decimal(key: &[u8]) -> Option<u64> {
    let number: i128 = str::from_utf8(key).ok()?.parse().ok()?;
    let signed = |number| {
        Some(u64::from_be_bytes(
            i64::try_from(number).ok()?.to_be_bytes(),
        ))
    };
    u64::try_from(number).ok().or_else(|| signed(number))
}

impl System for JumpFamily {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        unweighted(servers)?;
        check_capacity(servers.len() as u64)?;
        let first = servers.iter().take_while(|(_, server)| !server.is_down());
        if up(servers).count() != first.count() {
            return Err(Error::Unsupported {
                what: Refusal::JumpServerDown,
                advice: "put another server in its place, or remove it, which renumbers the servers after it",
            });
        }
        let up = up(servers).map(|(id, _)| id).collect();
        Ok(Layout::buckets(
            up,
            match self.function {
                JumpFunction::Paper => jump_hash,
                JumpFunction::Guava => jump_hash_guava,
            },
        ))
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        match self.key {
            Key::Decimal => decimal(key),
            Key::Hash(function) => Some(function.value([0; 2], key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, KeyHash, Node, Router};

    #[test]
    fn a_key_is_a_decimal_number_of_64_bits() {
        let wanted = [
            (&b"5"[..], Some(5)),
            (b"-1", Some(u64::MAX)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"-9223372036854775808", Some(1 << 63)),
            (b"18446744073709551616", None),
            (b"-9223372036854775809", None),
            (b"", None),
            (b"5 ", None),
            (b"\xff", None),
        ];
        for (key, number) in wanted {
            assert_eq!(decimal(key), number, "{key:?}");
        }
    }

    #[test]
    fn only_the_last_servers_may_be_down() -> Result<(), Error> {
        let mut pool = Pool::new(JumpFamily::default(), ["a", "b", "c"].map(Server::new))?;
        assert!(pool.apply(&Change::reweight("b", 0)).is_err());
        pool.apply(&Change::reweight("c", 0))?;
        for key in 0..99 {
            let bucket = jump_hash(key, 2).and_then(|bucket| ["a", "b"].get(bucket as usize));
            let owner = pool.route_hash(KeyHash::from_raw(key));
            assert_eq!(owner.and_then(|id| pool.nodes().name(id)), bucket.copied());
        }
        Ok(())
    }

    #[test]
    fn weights_are_refused_and_no_servers_own_nothing() -> Result<(), Error> {
        assert!(Pool::new(JumpFamily::default(), [])?.route(b"5").is_none());
        let one = Pool::new(JumpFamily::default(), [Server::new("a")])?;
        assert!(one.route(b"-1").is_some() && one.route(b"no number").is_none());
        let heavy = Pool::new(
            JumpFamily::default(),
            [Node::new("a").with_weight(2).into()],
        );
        assert!(matches!(heavy, Err(Error::Weight { .. })));
        assert!("crc31".parse::<Key>().is_err());
        Ok(())
    }
}
