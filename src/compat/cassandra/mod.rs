//! Cassandra: tokens of keys, and owners and replicas by a map of tokens.
//!
//! Source: Apache Cassandra 3.11 to 5.0, `Murmur3Partitioner`, `RandomPartitioner`,
//! `SimpleStrategy`, `NetworkTopologyStrategy`; tokens compared with those of cassandra-driver
//! 3.30.1, replicas written from the source.
//!
//! | name | value |
//! |---|---|
//! | `Murmur3Partitioner` | the first half of `MurmurHash3_x64_128` with seed 0, as Java computes it |
//! | `RandomPartitioner` | the absolute value of the MD5 digest, as a signed number |
//! | owner | first token at or after the key's token; past the last token, the first one |
//! | `SimpleStrategy` | the next distinct nodes: [`replicas`](crate::RouterExt::replicas) with [`Spread::Nodes`](crate::Spread::Nodes) |
//! | `NetworkTopologyStrategy` | [`network_topology`] |
//!
//! A key is the serialized partition key.
//!
//! Surprises:
//!
//! - Java's bytes are signed. If one of the last up to 15 bytes of a key is 0x80 or above, the token
//!   differs from the standard function.
//! - The token `Long.MIN_VALUE` becomes `Long.MAX_VALUE`.
//! - The empty key has token 0, as in the driver; a server refuses it.
//!
//! Cassandra has no weights; tokens decide the shares. Without a map, the tokens are even, in the
//! order of the servers, as the manual computes them for one token for each node. A cluster with
//! virtual nodes has chosen its own tokens, and `nodetool ring` shows them. Of the 127 bits of
//! `RandomPartitioner` only the upper 64 decide here: a map with tokens that differ only in lower
//! bits is refused, and a key less than 2^-63 of the circle after a token may go to that token.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

mod tokens;
mod topology;

use super::layout::check_capacity;
use super::parts::servers::{check_names, unweighted};
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, Explanation, NodeId, Refusal, SystemHash};

pub use self::tokens::{murmur3_token, random_token};
pub use self::topology::network_topology;

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "cassandra",
    "tokens of the Murmur3 and Random partitioners, and a map of tokens",
    Origin::recorded("3.11 to 5.0"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[PARTITIONER, TOKENS]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = Cassandra::default();
    let cassandra = Cassandra {
        partitioner: params.choice(PARTITIONER.name, default.partitioner)?,
        tokens: params.choice(TOKENS.name, default.tokens)?,
    };
    if let Tokens::Map(map) = &cassandra.tokens {
        check_names(TOKENS.name, map.iter().map(|(name, _)| &**name), &servers)?;
    }
    Pool::new(cassandra, servers)
}

const PARTITIONER: Param =
    Param::new("partitioner", "murmur3", "murmur3 or random").with_values(&["murmur3", "random"]);
const TOKENS: Param = Param::new(
    "tokens",
    "even",
    "even, or the tokens of each node: \"a=-100,7;b=42\"",
);

/// A Cassandra cluster.
///
/// ```
/// use hashroute::compat::{Pool, Server, cassandra::Cassandra};
/// use hashroute::{Router, RouterExt, Spread};
///
/// let tokens = "a=-6000000000000000000,100;b=0;c=6000000000000000000".parse()?;
/// let cassandra = Cassandra::default().with_tokens(tokens);
/// let pool = Pool::new(cassandra, ["a", "b", "c"].map(Server::new))?;
/// let replicas = pool.replicas(b"user:1", 2, Spread::Nodes); // its token is 6120565781388772718
/// let names: Vec<_> = replicas.iter().filter_map(|&id| pool.nodes().name(id)).collect();
/// assert_eq!(names, ["a", "b"]);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cassandra {
    /// The partitioner: the function from keys to tokens.
    pub partitioner: Partitioner,
    /// The tokens of the nodes.
    pub tokens: Tokens,
}

builder! { Cassandra: with_partitioner(partitioner: Partitioner), with_tokens(tokens: Tokens) }

/// The function from keys to tokens.
///
/// ```
/// use hashroute::compat::cassandra::Partitioner;
/// assert_eq!("random".parse::<Partitioner>()?.token(b""), 58332598431525814501020785164969033090);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Partitioner {
    /// `Murmur3Partitioner`, the default since 1.2: tokens are signed integers of 64 bits.
    #[default]
    Murmur3,
    /// `RandomPartitioner`: tokens are between 0 and 2^127.
    Random,
}

impl FromStr for Partitioner {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "murmur3" => Ok(Self::Murmur3),
            "random" => Ok(Self::Random),
            _ => Err(Error::parameter(
                PARTITIONER.name,
                text,
                "murmur3 or random",
            )),
        }
    }
}

impl Partitioner {
    /// Returns the token of a key. Linear in the key.
    ///
    /// ```
    /// use hashroute::compat::cassandra::Partitioner;
    /// assert_eq!(Partitioner::Murmur3.token(b"user:1"), 6_120_565_781_388_772_718);
    /// ```
    pub fn token(self, key: &[u8]) -> i128 {
        match self {
            Self::Murmur3 => murmur3_token(key).into(),
            Self::Random => random_token(key),
        }
    }

    /// Returns the point of a token on a circle of 64 bits; `None` if the partitioner has no such
    /// token.
    fn point(self, token: i128) -> Option<u64> {
        match self {
            Self::Murmur3 => u64::try_from(token.checked_sub(i64::MIN.into())?).ok(),
            Self::Random => u64::try_from(token >> 63).ok(),
        }
    }

    /// Returns the token of a point, as Cassandra prints it. For `RandomPartitioner`, a point is a range
    /// of tokens.
    fn token_text(self, point: u64) -> String {
        match self {
            // The signed numbers, in order, from the lowest.
            Self::Murmur3 => {
                let bits = point ^ (1 << 63);
                format!("{}", i64::from_ne_bytes(bits.to_ne_bytes()))
            }
            Self::Random => {
                let first = u128::from(point) << 63;
                format!("{first} to {}", first + ((1 << 63) - 1))
            }
        }
    }

    /// Returns the token of the `index`-th of `count` nodes with even tokens, as the manual computes
    /// it.
    fn even(self, index: usize, count: usize) -> i128 {
        let (first, bits) = match self {
            Self::Murmur3 => (i64::MIN.into(), 64),
            Self::Random => (0, 127),
        };
        let token = (1_u128 << bits) / count as u128 * index as u128;
        first + i128::try_from(token).unwrap_or(0) // below 2^127
    }
}

/// The tokens of the nodes.
///
/// ```
/// use hashroute::compat::cassandra::Tokens;
/// assert_eq!("even".parse::<Tokens>()?, Tokens::Even);
/// let map = Tokens::Map(vec![("a".into(), vec![-100, 7]), ("b".into(), vec![42])]);
/// assert_eq!("a=-100,7;b=42".parse::<Tokens>()?, map);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tokens {
    /// One token for each node, evenly spread over the circle in the order of the servers.
    #[default]
    Even,
    /// The tokens of each node, by its name. Tokens of absent nodes are ignored.
    Map(Vec<(Box<str>, Vec<i128>)>),
}

impl FromStr for Tokens {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong =
            |part: &str| Error::parameter(TOKENS.name, part, "even, or as in \"a=-100,7;b=42\"");
        if text == "even" {
            return Ok(Self::Even);
        }
        let entry = |part: &str| {
            let (name, tokens) = part.split_once('=').ok_or_else(|| wrong(part))?;
            let tokens = tokens.split(',').map(|token| token.trim().parse());
            let tokens = tokens.collect::<Result<_, _>>().map_err(|_| wrong(part))?;
            Ok((name.trim().into(), tokens))
        };
        text.split(';')
            .map(entry)
            .collect::<Result<_, _>>()
            .map(Self::Map)
    }
}

impl Cassandra {
    /// Returns all tokens with their owners; `None` for a server that is down. Its tokens stay in
    /// the list, because two servers must not share a token even then.
    fn tokens(&self, servers: &[(NodeId, Server)]) -> Result<Vec<(i128, Option<NodeId>)>, Error> {
        let owner = |(id, server): &(NodeId, Server)| (!server.is_down()).then_some(*id);
        let Tokens::Map(map) = &self.tokens else {
            let even = |index| self.partitioner.even(index, servers.len());
            let all = servers.iter().enumerate();
            return Ok(all.map(|(index, of)| (even(index), owner(of))).collect());
        };
        check_capacity(map.iter().map(|(_, tokens)| tokens.len() as u64).sum())?;
        let mut by_name: BTreeMap<&str, Vec<i128>> = BTreeMap::new();
        for (name, tokens) in map {
            by_name.entry(name).or_default().extend(tokens);
        }
        let mut all = Vec::new();
        for of in servers {
            let tokens = by_name.get(of.1.name()).filter(|tokens| !tokens.is_empty());
            let tokens = tokens.ok_or(Error::Unsupported {
                what: Refusal::CassandraWithoutToken,
                advice: "add its tokens to the map",
            })?;
            all.extend(tokens.iter().map(|token| (*token, owner(of))));
        }
        Ok(all)
    }
}

impl System for Cassandra {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        unweighted(servers)?;
        check_capacity(servers.len() as u64)?;
        let mut points = Vec::new();
        for (token, owner) in self.tokens(servers)? {
            let point = self.partitioner.point(token);
            let point = point.ok_or_else(|| {
                Error::parameter(TOKENS.name, token, "a token of this partitioner")
            })?;
            points.push((point, token, owner));
        }
        points.sort_unstable();
        let twins = points.windows(2).find(|pair| pair[0].0 == pair[1].0);
        if let Some([_, (_, token, _)]) = twins {
            let expected = format!("a distance of at least {} between tokens", 1_u64 << 63);
            return Err(Error::parameter(TOKENS.name, token, expected));
        }
        let owned = points
            .into_iter()
            .filter_map(|(point, _, owner)| Some((point, owner?)));
        Layout::circle(64, Rule::AtOrAfter, owned.collect())
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        self.partitioner.point(self.partitioner.token(key))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("cassandra", self.partitioner))
    }

    fn explain(&self, hash: u64) -> Explanation {
        Explanation::default().with("token", self.partitioner.token_text(hash))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::{Change, KeyHash, Node, Router, RouterExt, Spread};

    fn pool(tokens: &str, names: &[&str]) -> Result<Pool, Error> {
        let cassandra = Cassandra {
            tokens: tokens.parse()?,
            ..Cassandra::default()
        };
        Pool::new(cassandra, names.iter().map(|name| Server::new(*name)))
    }

    fn owner(pool: &Pool, token: i64) -> Option<&str> {
        let point = Partitioner::Murmur3.point(token.into())?;
        let id = pool.route_hash(KeyHash::from_raw(point))?;
        pool.nodes().name(id)
    }

    #[test]
    fn an_unknown_name_in_the_map_is_refused() -> Result<(), Error> {
        let params = Params::default().with("tokens", "a=1;b=2;zzz=9");
        let error = DIALECT.build(["a", "b"].map(Server::new), &params);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("tokens = \"zzz\""), "{error}");
        // A node that is not up yet.
        let servers = [("a", 1), ("b", 1), ("zzz", 0)];
        let servers = servers.map(|(name, weight)| Server::new(name).with_weight(weight));
        let mut pool = super::pool(servers.into(), &params)?;
        assert_eq!(owner(&pool, 3), Some("a"));
        pool.apply(&Change::reweight("zzz", 1))?;
        assert_eq!(owner(&pool, 3), Some("zzz"));
        Ok(())
    }

    // The token of 26 bytes in apache/cassandra-gocql-driver#1033.
    #[test]
    fn a_token_is_printed_as_cassandra_prints_it() {
        let token = -9_223_371_632_693_506_265_i64;
        for partitioner in [Partitioner::Murmur3, Partitioner::Random] {
            let of = |token: i128| {
                partitioner
                    .point(token)
                    .map(|at| partitioner.token_text(at))
            };
            match partitioner {
                Partitioner::Murmur3 => {
                    for token in [token, i64::MIN, -1, 0, i64::MAX] {
                        assert_eq!(of(token.into()), Some(token.to_string()));
                    }
                }
                Partitioner::Random => {
                    let text = of((7 << 63) + 5).unwrap_or_default();
                    assert_eq!(text, format!("{} to {}", 7_u128 << 63, (8_u128 << 63) - 1));
                }
            }
        }
    }

    #[test]
    fn tokens_are_signed_and_wrap() -> Result<(), Error> {
        let pool = pool("a=-100,300;b=7", &["a", "b"])?;
        let owners =
            [i64::MIN, -100, -99, 7, 8, 300, 301, i64::MAX].map(|token| owner(&pool, token));
        let wanted = ["a", "a", "b", "b", "a", "a", "a", "a"].map(Some);
        assert_eq!(owners, wanted);
        Ok(())
    }

    #[test]
    fn even_tokens_are_those_of_the_manual() {
        let of = |partitioner: Partitioner| [0, 1, 2].map(|index| partitioner.even(index, 3));
        let third = 6_148_914_691_236_517_205;
        let min = i128::from(i64::MIN);
        assert_eq!(
            of(Partitioner::Murmur3),
            [min, min + third, min + 2 * third]
        );
        let third = i128::MAX / 3;
        assert_eq!(of(Partitioner::Random), [0, third, 2 * third]);
    }

    #[test]
    fn a_map_that_does_not_fit_is_refused() {
        assert!(pool("a=1", &["a", "b"]).is_err(), "no token");
        assert!(pool("a=1;b=1", &["a", "b"]).is_err(), "twice");
        assert!(pool("a=9223372036854775808", &["a"]).is_err(), "too large");
        assert!(pool("a=1;b=x", &["a", "b"]).is_err(), "no number");
        assert!(pool("a", &["a"]).is_err(), "no tokens");
        let random = Cassandra {
            partitioner: Partitioner::Random,
            tokens: Tokens::Map(
                [("a", 0), ("b", 1)]
                    .map(|(name, at)| (name.into(), [at].into()))
                    .into(),
            ),
        };
        let error = Pool::new(random, ["a", "b"].map(Server::new)).unwrap_err();
        assert!(matches!(error, Error::Parameter { .. }), "{error}");
        let heavy = Pool::new(Cassandra::default(), [Server::new("a").with_weight(2)]);
        assert!(matches!(heavy, Err(Error::Weight { .. })));
    }

    #[test]
    fn nodes_come_and_go_with_their_tokens() -> Result<(), Error> {
        let mut pool = pool("a=0;b=100;c=200", &["a", "b"])?;
        assert_eq!(owner(&pool, 150), Some("a"));
        pool.apply(&Change::Add(Node::new("c")))?;
        assert_eq!(owner(&pool, 150), Some("c"));
        pool.apply(&Change::reweight("c", 0))?;
        assert_eq!(owner(&pool, 150), Some("a"));
        assert!(pool.apply(&Change::Add(Node::new("d"))).is_err());
        pool.apply(&Change::remove("a"))?;
        assert_eq!(owner(&pool, 150), Some("b"));
        Ok(())
    }

    #[test]
    fn simple_strategy_takes_the_next_distinct_nodes() -> Result<(), Error> {
        let pool = pool("a=0,10;b=20,30;c=40", &["a", "b", "c"])?;
        let key = KeyHash::from_raw(Partitioner::Murmur3.point(5).expect("a point"));
        let list = pool.replicas_hash(key, 3, Spread::Nodes);
        let names: Vec<_> = list
            .iter()
            .filter_map(|id| pool.nodes().name(*id))
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
        Ok(())
    }
}
