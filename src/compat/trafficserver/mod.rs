//! Apache Traffic Server: `round_robin=consistent_hash` of `parent.config`, and `policy: consistent_hash` of
//! `strategies.yaml`.
//!
//! Source: Traffic Server 9.2.9, `ParentConsistentHash.cc` and `ConsistentHash.cc`; compared with
//! a running copy.
//!
//! | name | value |
//! |---|---|
//! | points of a parent | round(1024 x weight), in 32-bit floats |
//! | point i | SipHash-2-4, with a key of zeros, of decimal i + "-" + name |
//! | key | the same hash of "/" + path, and "?" + query unless `qstring=ignore`; a strategy leaves out the "?" before an empty query |
//! | lookup | first point at or after the key; past the last point, the first one |
//!
//! The name is the server's label: the text after `&` in `parent.config`. Without it, the name is the
//! host **without** the port. So all parents on one host have the same points. Of equal points the
//! first one inserted stays, so the first parent in the list owns everything, even while it is down.
//! Give such parents different hash strings.
//!
//! A key is a path with its query as it was sent. The text between `;` and `?` is not hashed (from the
//! source). Secondary parents are not modelled. Weights are fractions:
//! [`weight_scale`](TrafficServer::weight_scale) is the weight here that counts as 1.0 there.

use alloc::format;
use alloc::vec::Vec;
use core::hash::Hasher;
use core::str::FromStr;

use siphasher::sip::SipHasher24;

use super::layout::check_capacity;
use super::varnish::{WEIGHT_SCALE, scaled};
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

#[cfg(feature = "config")]
mod config;

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "trafficserver",
    "consistent_hash of parent.config and strategies.yaml",
    Origin::recorded("9.2.9"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[QUERY, WEIGHT_SCALE])
.with_reader(reader!(config::read));

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = TrafficServer::default();
    let trafficserver = TrafficServer {
        query: params.choice(QUERY.name, default.query)?,
        weight_scale: params.get(WEIGHT_SCALE.name, default.weight_scale)?,
    };
    Pool::new(trafficserver, servers)
}

const QUERY: Param = Param::new(
    "qstring",
    "consider",
    "whether the query is hashed: consider, ignore, or nonempty for path+query of strategies.yaml",
)
.with_values(&["consider", "ignore", "nonempty"]);

/// The number of points of a parent with weight 1.0.
const POINTS: f32 = 1024.0;

/// Parent selection by consistent hash.
///
/// ```
/// use hashroute::compat::{Pool, Server, trafficserver::TrafficServer};
/// use hashroute::{Node, Router};
///
/// // Without hash strings, two parents on one host have the same points.
/// let pool = Pool::new(TrafficServer::default(), ["10.0.0.1:80", "10.0.0.1:81"].map(Server::new))?;
/// assert!((0..99).all(|i| pool.route(&[b'/', i]).map(Node::name) == Some("10.0.0.1:80")));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrafficServer {
    /// Whether the query is hashed.
    pub query: Query,
    /// The weight of a server that counts as 1.0, at least 1.
    pub weight_scale: u32,
}

impl Default for TrafficServer {
    fn default() -> Self {
        Self {
            query: Query::Consider,
            weight_scale: 1,
        }
    }
}

builder! { TrafficServer: with_query(query: Query), with_weight_scale(weight_scale: u32) }

/// The option `qstring`: whether the query is hashed.
///
/// ```
/// use hashroute::compat::trafficserver::Query;
/// assert_eq!("ignore".parse::<Query>()?, Query::Ignore);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Query {
    /// The path and the query are hashed.
    #[default]
    Consider,
    /// Only the path is hashed.
    Ignore,
    /// The path and the query are hashed, but not the `?` before an empty query: `hash_key:
    /// path+query` of `strategies.yaml`.
    NonEmpty,
}

impl FromStr for Query {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "consider" => Ok(Self::Consider),
            "ignore" => Ok(Self::Ignore),
            "nonempty" => Ok(Self::NonEmpty),
            _ => {
                let known = "consider, ignore or nonempty";
                Err(Error::parameter(QUERY.name, text, known))
            }
        }
    }
}

impl TrafficServer {
    /// Returns the number of points for a weight.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the arithmetic of Traffic Server, on numbers from 0"
    )]
    fn count(&self, weight: u32) -> u64 {
        let points = POINTS * scaled(weight, self.weight_scale) as f32;
        let whole = points as u64;
        // Rounds half up; the difference is exact in f32.
        whole + u64::from(points - whole as f32 >= 0.5)
    }
}

impl System for TrafficServer {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        if self.weight_scale == 0 {
            return Err(Error::parameter(WEIGHT_SCALE.name, 0, "at least 1"));
        }
        let counts = servers.iter().map(|(_, of)| self.count(of.weight()));
        check_capacity(counts.fold(0, u64::saturating_add))?;
        let mut points = Vec::new();
        for (id, server) in servers {
            let name = name(server);
            let numbers = 0..self.count(server.weight());
            let owner = (!server.is_down()).then_some(*id);
            points.extend(numbers.map(|i| (sip(&[format!("{i}-{name}").as_bytes()]), owner)));
        }
        // A parent that is down keeps its points, so duplicates go first: a later parent with the
        // same points does not get them. The next point takes over.
        points.sort_by_key(|(point, _)| *point);
        points.dedup_by_key(|(point, _)| *point);
        let up = points
            .into_iter()
            .filter_map(|(point, owner)| Some((point, owner?)));
        Layout::circle(64, Rule::AtOrAfter, up.collect())
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        let (path, query) = key.split_at(position(b'?', key).unwrap_or(key.len()));
        let path = path.strip_prefix(b"/").unwrap_or(path);
        let path = &path[..position(b';', path).unwrap_or(path.len())];
        let query = match self.query {
            Query::NonEmpty if query == b"?" => &[],
            Query::Consider | Query::NonEmpty => query,
            Query::Ignore => &[],
        };
        Some(sip(&[b"/", path, query]))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("trafficserver", self.query))
    }
}

/// Returns the hashed name of a parent: its hash string or its host.
fn name(server: &Server) -> &str {
    match (server.own_label(), server.name().rsplit_once(':')) {
        (Some(label), _) => label,
        (None, Some((host, port))) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => server.name(),
    }
}

fn sip(parts: &[&[u8]]) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(0, 0);
    for part in parts {
        hasher.write(part);
    }
    hasher.finish()
}

/// Returns the index of the first `byte`.
fn position(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|other| *other == byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, Router};

    #[test]
    fn a_weight_that_is_a_fraction_gives_rounded_points() {
        let of = |weight, weight_scale| {
            TrafficServer {
                weight_scale,
                ..TrafficServer::default()
            }
            .count(weight)
        };
        // 0.1 is 102.4 points, 0.0017 is 1.74, 1 / 2048 is half a point.
        assert_eq!(
            [
                of(1, 10),
                of(17, 10_000),
                of(1, 2048),
                of(1, 2049),
                of(0, 1)
            ],
            [102, 2, 1, 0, 0]
        );
    }

    #[test]
    fn a_name_is_the_hash_string_or_the_host() {
        let named = |text| name(&Server::new(text)).len();
        assert_eq!(
            ["host:80", "host", "host:http", "[::1]:80"].map(named),
            [4, 4, 9, 5]
        );
        assert_eq!(name(&Server::new("host:80").with_label("zeta")), "zeta");
    }

    #[test]
    fn a_path_is_hashed_without_its_parameters() -> Result<(), Error> {
        let pool = Pool::new(TrafficServer::default(), [Server::new("a")])?;
        let hash = |key: &[u8]| pool.hash_key(key);
        assert_eq!(hash(b"/a;b?c"), hash(b"/a?c"));
        assert_eq!(hash(b"a"), hash(b"/a"));
        assert_ne!(hash(b"/a?c"), hash(b"/a"));
        let ignoring = TrafficServer {
            query: Query::Ignore,
            ..TrafficServer::default()
        };
        let ignoring = Pool::new(ignoring, [Server::new("a")])?;
        assert_eq!(ignoring.hash_key(b"/a?c;d"), hash(b"/a"));
        assert_ne!(hash(b"/a?"), hash(b"/a"));
        let strategy = TrafficServer::default().with_query(Query::NonEmpty);
        let strategy = Pool::new(strategy, [Server::new("a")])?;
        assert_eq!(strategy.hash_key(b"/a?"), hash(b"/a"));
        assert_eq!(strategy.hash_key(b"/a?c"), hash(b"/a?c"));
        Ok(())
    }

    #[test]
    fn a_parent_that_is_down_keeps_shared_points() -> Result<(), Error> {
        let pool = |servers: [Server; 2]| Pool::new(TrafficServer::default(), servers);
        let apart = pool([Server::new("a:80").down(), Server::new("b:80")])?;
        assert_eq!(apart.route(b"/x").map(Node::name), Some("b:80"));
        // The first parent on a host owns the points of both.
        let together = pool([Server::new("a:80").down(), Server::new("a:81")])?;
        assert!(together.layout().is_empty() && together.route(b"/x").is_none());
        assert!(
            Pool::new(TrafficServer::default(), [])?
                .route(b"/x")
                .is_none()
        );
        Ok(())
    }

    #[test]
    fn wrong_options_are_refused() {
        let scale = |weight_scale| TrafficServer {
            weight_scale,
            ..TrafficServer::default()
        };
        assert!(Pool::new(scale(0), [Server::new("a")]).is_err());
        let heavy = Server::new("a").with_weight(u32::MAX);
        assert!(matches!(
            Pool::new(scale(1), [heavy]),
            Err(Error::Capacity { .. })
        ));
        assert!("maybe".parse::<Query>().is_err());
    }
}
