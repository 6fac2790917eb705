//! `Cache::Memcached::Fast`, a Perl client: its ring, and the modulo of `Cache::Memcached`.
//!
//! Source: `Cache::Memcached::Fast` 0.28, `src/dispatch_key.c`; compared with a running copy.
//!
//! | `ketama_points` | points | lookup |
//! |---|---|---|
//! | above 0 | `points x weight`, rounded: CRC-32 of `HOST NUL PORT` and the previous point | first point at or after the key's CRC-32 |
//! | 0 | one for each server, at the end of its share of the circle | bits 16 to 30 of the key's CRC-32, modulo the total weight, scaled to the circle |
//!
//! - With 160 points the ring is the one of nginx's `hash KEY consistent`.
//! - A server's label is its address; the text after the last colon is the port.
//! - Of equal points, the point of the first server counts.
//! - The namespace is hashed only if `hash_namespace` is on.
//! - Weights may be fractions. Give them as multiples of a unit: 2500 in units of 1/1000 is 2.5.
//! - With 0 points, rounding in f64 can send the keys of a tiny share to a neighbour, as in the
//!   client.
//! - The keys of a server that is down have no owner: the client sends them nowhere.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::layout::check_capacity;
use super::nginx::{chain, crc32, middle};
use super::parts::servers::down;
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, Limit, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "cache-memcached-fast",
    "the Perl client: ketama_points or modulo",
    Origin::recorded("0.28"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[KETAMA_POINTS, NAMESPACE, UNIT]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = CacheMemcachedFast::default();
    let system = CacheMemcachedFast {
        ketama_points: params.get(KETAMA_POINTS.name, default.ketama_points)?,
        namespace: params.get(NAMESPACE.name, default.namespace)?,
        unit: params.get(UNIT.name, default.unit)?,
    };
    Pool::new(system, servers)
}

const KETAMA_POINTS: Param = Param::new(
    "ketama_points",
    "0",
    "points for a server of weight 1; 0 for modulo",
);

const NAMESPACE: Param = Param::new("namespace", "", "the namespace, if hash_namespace is on");

const UNIT: Param = Param::new(
    "unit",
    "1",
    "the weight that counts as 1: 1000 for weights in thousandths",
);

/// `Cache::Memcached::Fast` with its options; by default, modulo.
///
/// ```
/// use hashroute::compat::{Pool, Server, cache_memcached_fast::CacheMemcachedFast};
/// use hashroute::Router;
///
/// let system = CacheMemcachedFast::default().with_ketama_points(150);
/// let pool = Pool::new(system, ["10.0.0.1:11211", "10.0.0.2:11211"].map(Server::new))?;
/// assert_eq!(pool.layout().len(), 300);
/// assert!(pool.route(b"key").is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheMemcachedFast {
    /// The number of points of a server of weight 1; 0 for modulo.
    pub ketama_points: u32,
    /// The text that is hashed before each key: the namespace, if `hash_namespace` is on.
    pub namespace: String,
    /// The weight that counts as 1.
    pub unit: u32,
}

/// Modulo, without a namespace, with integer weights.
impl Default for CacheMemcachedFast {
    fn default() -> Self {
        Self {
            ketama_points: 0,
            namespace: String::new(),
            unit: 1,
        }
    }
}

builder! { CacheMemcachedFast:
    with_ketama_points(ketama_points: u32),
    with_namespace(namespace: impl Into<String>),
    with_unit(unit: u32),
}

/// The end of the circle.
const LAST: f64 = u32::MAX as f64;

/// The maximum number of servers without points. Keys have 15 bits, so more servers would get none;
/// and the layout takes quadratic time.
const MOST_SERVERS: usize = 1 << 15;

impl System for CacheMemcachedFast {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        if self.unit == 0 {
            return Err(Error::parameter(UNIT.name, 0, "at least 1"));
        }
        let down = down(servers);
        let layout = match weighted(servers).collect::<Vec<_>>()[..] {
            [(only, _)] => Layout::cells(32, vec![*only])?,
            ref servers if self.ketama_points > 0 => self.ring(servers)?,
            ref servers => self.shares(servers)?,
        };
        Ok(layout.without(down))
    }

    fn hash(&self, key: &[u8], servers: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        let hash = crc32(&[self.namespace.as_bytes(), key]);
        if self.ketama_points > 0 {
            return Some(hash.into());
        }
        let total = weighted(servers).fold(0.0, |sum, (_, server)| sum + self.weight(server));
        // The client rounds the total before it takes the remainder, but scales by the exact total.
        let cell = middle(hash).checked_rem(cut(total + 0.5))?;
        let point = cut(f64::from(cell) / total * LAST + 0.5);
        // A share starts after the previous server's point, which is its end.
        Some(point.wrapping_add(1).into())
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        // With 0 points the hash depends on the weights of the servers.
        (self.ketama_points > 0)
            .then(|| SystemHash::new("cache_memcached_fast", self.namespace.clone()))
    }
}

impl CacheMemcachedFast {
    fn weight(&self, server: &Server) -> f64 {
        f64::from(server.weight()) / f64::from(self.unit)
    }

    fn points(&self, server: &Server) -> u32 {
        cut(f64::from(self.ketama_points) * self.weight(server) + 0.5)
    }

    fn ring(&self, servers: &[(&NodeId, &Server)]) -> Result<Layout, Error> {
        let counts = servers.iter().map(|(_, server)| self.points(server));
        check_capacity(counts.map(u64::from).sum())?;
        let mut points = Vec::new();
        for (id, server) in servers {
            let (host, port) = server
                .label()
                .rsplit_once(':')
                .unwrap_or((server.label(), ""));
            let own = chain(host, port).take(self.points(server) as usize);
            points.extend(own.map(|point| (point, **id)));
        }
        Layout::circle(32, Rule::AtOrAfter, points)
    }

    /// Builds one point for each server, at the end of its share. Each new server scales down the
    /// points of the others, with the roundings of the client.
    fn shares(&self, servers: &[(&NodeId, &Server)]) -> Result<Layout, Error> {
        check_servers(servers.len())?;
        let mut points: Vec<(u32, NodeId)> = Vec::new();
        let mut total = 0.0;
        for (id, server) in servers {
            total += self.weight(server);
            let scale = self.weight(server) / total;
            for (point, _) in &mut points {
                *point = cut(f64::from(*point) - f64::from(*point) * scale);
            }
            points.push((u32::MAX, **id));
        }
        let points = points.iter().map(|(point, id)| (u64::from(*point), *id));
        Layout::circle(32, Rule::AtOrAfter, points.collect())
    }
}

/// Returns the integer part, like a cast in C. A value beyond `u32` saturates and is refused as too
/// large for any ring.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "cuts the fraction on purpose; never negative"
)]
fn cut(value: f64) -> u32 {
    value as u32
}

/// Returns the servers with a weight: the client refuses a weight of 0.
fn weighted(servers: &[(NodeId, Server)]) -> impl Iterator<Item = (&NodeId, &Server)> {
    let servers = servers.iter().map(|(id, server)| (id, server));
    servers.filter(|(_, server)| server.weight() > 0)
}

fn check_servers(count: usize) -> Result<(), Error> {
    if count <= MOST_SERVERS {
        return Ok(());
    }
    Err(Error::Capacity {
        what: Limit::ServersWithoutKetama,
        wanted: count as u64,
        limit: MOST_SERVERS as u64,
        advice: "set ketama_points",
    })
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;
    use crate::{Node, Router};

    fn ring(ketama_points: u32) -> CacheMemcachedFast {
        CacheMemcachedFast {
            ketama_points,
            ..CacheMemcachedFast::default()
        }
    }

    fn servers(weights: &[u32]) -> Vec<Server> {
        let servers = (1..).zip(weights);
        servers
            .map(|(i, weight)| Server::new(format!("10.0.0.{i}:11211")).with_weight(*weight))
            .collect()
    }

    fn owner<'a>(pool: &'a Pool, key: &str) -> Option<&'a str> {
        pool.route(key.as_bytes()).map(Node::name)
    }

    #[test]
    fn modulo_equals_a_table_with_one_cell_for_each_unit_of_weight() -> Result<(), Error> {
        let weights = [1, 4, 2, 7];
        let pool = Pool::new(ring(0), servers(&weights))?;
        let cells: Vec<_> = (0..4)
            .flat_map(|at| vec![at; weights[at] as usize])
            .collect();
        for i in 0..2000 {
            let key = format!("user:{i}");
            let cell = middle(crc32(&[key.as_bytes()])) as usize % cells.len();
            let name = format!("10.0.0.{}:11211", cells[cell] + 1);
            assert_eq!(owner(&pool, &key), Some(&*name), "{key}");
        }
        Ok(())
    }

    #[test]
    fn keys_of_a_server_that_is_down_have_no_owner() -> Result<(), Error> {
        for points in [0, 160] {
            let up = Pool::new(ring(points), servers(&[1, 1, 1]))?;
            let mut servers = servers(&[1, 1, 1]);
            servers[1] = servers[1].clone().down();
            let pool = Pool::new(ring(points), servers)?;
            for i in 0..500 {
                let key = format!("user:{i}");
                let expected = owner(&up, &key).filter(|name| *name != "10.0.0.2:11211");
                assert_eq!(owner(&pool, &key), expected, "{key}");
            }
        }
        Ok(())
    }

    #[test]
    fn a_namespace_is_hashed_with_the_key() -> Result<(), Error> {
        let system = CacheMemcachedFast {
            namespace: "ns:".into(),
            ..ring(160)
        };
        let pool = Pool::new(system, servers(&[1, 1]))?;
        let plain = Pool::new(ring(160), servers(&[1, 1]))?;
        assert_eq!(pool.hash_key(b"key"), plain.hash_key(b"ns:key"));
        Ok(())
    }

    #[test]
    fn a_unit_makes_weights_fractions() -> Result<(), Error> {
        let system = CacheMemcachedFast {
            unit: 1000,
            ..ring(150)
        };
        let pool = Pool::new(system, servers(&[1003, 10, 3]))?;
        // 150.45, 1.5 and 0.45, rounded.
        assert_eq!(pool.layout().len(), 150 + 2);
        Ok(())
    }

    #[test]
    fn one_server_owns_every_key_and_none_owns_none() -> Result<(), Error> {
        for points in [0, 160] {
            assert_eq!(owner(&Pool::new(ring(points), servers(&[]))?, "key"), None);
            assert_eq!(
                owner(&Pool::new(ring(points), servers(&[0, 0]))?, "key"),
                None
            );
            for weights in [&[7][..], &[7, 0]] {
                let pool = Pool::new(ring(points), servers(weights))?;
                assert_eq!(owner(&pool, ""), Some("10.0.0.1:11211"));
            }
            let down = servers(&[7]).into_iter().map(Server::down);
            assert_eq!(owner(&Pool::new(ring(points), down)?, "key"), None);
        }
        // A total below half a unit rounds to 0 cells.
        let system = CacheMemcachedFast { unit: 9, ..ring(0) };
        assert_eq!(owner(&Pool::new(system, servers(&[1, 1]))?, "key"), None);
        Ok(())
    }

    #[test]
    fn absurd_numbers_are_refused() {
        let units = CacheMemcachedFast {
            unit: 0,
            ..ring(160)
        };
        let error = Pool::new(units, servers(&[1])).unwrap_err();
        assert!(error.to_string().contains("unit"), "{error}");
        for (points, weight) in [(u32::MAX, u32::MAX), (160, 1 << 20)] {
            let error = Pool::new(ring(points), servers(&[weight, 1])).unwrap_err();
            assert!(matches!(error, Error::Capacity { .. }), "{error}");
        }
        assert!(check_servers(MOST_SERVERS + 1).is_err());
        assert!(Pool::new(ring(0), servers(&[u32::MAX, u32::MAX])).is_ok());
    }

    #[test]
    fn half_a_unit_in_the_total_rounds_up_to_a_cell() -> Result<(), Error> {
        let system = CacheMemcachedFast { unit: 2, ..ring(0) };
        let pool = Pool::new(system, servers(&[1, 2]))?;
        let keys = (0..100).map(|i| format!("user:{i}"));
        let mut hashes: Vec<_> = keys.map(|key| pool.hash_key(key.as_bytes())).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 2, "1.5 units");
        Ok(())
    }
}
