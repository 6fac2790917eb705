//! Dalli, a Ruby client: a ring that is read counter-clockwise.
//!
//! Source: Dalli 3.0.6, `lib/dalli/ring.rb`; compared with a running copy.
//!
//! | name | value |
//! |---|---|
//! | points of a server | `servers x 160 x weight / total weight`, rounded down |
//! | a point | the first 4 bytes, big-endian, of SHA-1 of `NAME:INDEX` |
//! | owner | the **last** point at or before the key's CRC-32; before the first point, the last one |
//!
//! - A server's label is its name in Dalli: `HOST:PORT` or the path of a socket.
//! - A change of one weight changes the points of every server.
//! - Of equal points, the point of the last server counts, because Ruby's sort keeps their order on
//!   Linux.
//! - A server that is down keeps its points. Unless `failover` is off, its keys are hashed again with
//!   a number before them, `0KEY` to `18KEY`. A key that finds no server that is up has no owner.
//!
//! Dalli changes a key before it hashes it: it puts the namespace and a colon in front, and replaces
//! the end of a key longer than 250 bytes by its MD5. Give keys in this final form.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use sha1::{Digest, Sha1};

use super::layout::check_capacity;
use super::nginx::crc32;
use super::parts::servers::down;
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "dalli",
    "the Ruby client: a ring read counter-clockwise",
    Origin::recorded("3.0.6"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[FAILOVER]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let text: String = params.get(FAILOVER.name, FAILOVER.default.into())?;
    let failover = text.parse();
    let failover = failover.map_err(|_| Error::parameter(FAILOVER.name, text, "true or false"))?;
    Pool::new(Dalli { failover }, servers)
}

const FAILOVER: Param = Param::new(
    "failover",
    "true",
    "whether the keys of a server that is down go to others",
);

/// Dalli's ring.
///
/// ```
/// use hashroute::compat::{Pool, Server, dalli::Dalli};
/// use hashroute::Router;
///
/// let servers = ["10.0.0.1:11211", "10.0.0.2:11211"].map(Server::new);
/// let pool = Pool::new(Dalli::default(), servers)?;
/// assert_eq!(pool.layout().len(), 320);
/// assert!(pool.route(b"key").is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dalli {
    /// Whether the keys of a server that is down go to other servers.
    pub failover: bool,
}

/// With failover.
impl Default for Dalli {
    fn default() -> Self {
        Self { failover: true }
    }
}

builder! { Dalli: with_failover(failover: bool) }

/// The number of points of a server with the mean weight.
const POINTS: u64 = 160;

/// The number of hashes that Dalli tries for a key.
const TRIES: u8 = 20;

impl System for Dalli {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let mean = (servers.len() as u64).saturating_mul(POINTS);
        check_capacity(mean)?;
        let down = down(servers);
        if let [(only, _)] = servers {
            return Ok(Layout::cells(32, vec![*only])?.without(down));
        }
        let weights = servers.iter().map(|(_, server)| u64::from(server.weight()));
        let total = weights.sum::<u64>() as f64;
        let mut points = Vec::new();
        // In Dalli the last of equal points counts; `Layout::circle` keeps the first. Hence the
        // reverse order, of servers and of their points.
        for (id, server) in servers.iter().rev() {
            let count = cut(mean as f64 * f64::from(server.weight()) / total);
            points.extend(
                (0..count)
                    .rev()
                    .map(|index| (point(server.label(), index), *id)),
            );
        }
        Ok(Layout::circle(32, Rule::AtOrBefore, points)?.without(down))
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], layout: &Layout) -> Option<u64> {
        let mut hash = crc32(&[key]).into();
        if layout.is_empty() || !self.failover {
            return Some(hash);
        }
        for round in 0..TRIES {
            if layout.owner(hash).is_some() {
                return Some(hash);
            }
            let digits = [b'0' + round / 10, b'0' + round % 10];
            hash = crc32(&[&digits[usize::from(round < 10)..], key]).into();
        }
        None
    }

    fn hash_id(&self, servers: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        // With failover, a key of a server that is down has another hash.
        let alone = !self.failover || !servers.iter().any(|(_, server)| server.is_down());
        alone.then(|| SystemHash::new("dalli", ()))
    }
}

/// Returns the integer part of a count of points. If no server has a weight, the count is 0 / 0, a
/// NaN, which becomes 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most the points of all servers, which are checked"
)]
fn cut(count: f64) -> u32 {
    count as u32
}

fn point(name: &str, index: u32) -> u64 {
    let digest = Sha1::digest(format!("{name}:{index}"));
    digest[..4]
        .iter()
        .fold(0, |point, byte| point << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::{Node, Router};

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
    fn a_point_is_the_start_of_sha1() {
        // SHA-1 of "a:0" starts with these bytes.
        assert_eq!(point("a", 0), 0xd616_db3c);
    }

    #[test]
    fn counts_are_rounded_down() -> Result<(), Error> {
        // 3 x 160 x (1, 2, 4) / 7: 68.57, 137.1 and 274.3.
        let pool = Pool::new(Dalli::default(), servers(&[1, 2, 4]))?;
        assert_eq!(pool.layout().len(), 68 + 137 + 274);
        Ok(())
    }

    #[test]
    fn keys_of_a_server_that_is_down_are_hashed_again() -> Result<(), Error> {
        let up = Pool::new(Dalli::default(), servers(&[1; 4]))?;
        let mut servers = servers(&[1; 4]);
        for server in &mut servers[1..] {
            *server = server.clone().down();
        }
        let pool = Pool::new(Dalli::default(), servers.clone())?;
        let stuck = Pool::new(Dalli { failover: false }, servers)?;
        let [mut late, mut never] = [0; 2];
        for i in 0..3000 {
            let key = format!("user:{i}");
            let alive = |name: &&str| *name == "10.0.0.1:11211";
            let mut tries = (0..20).map(|round| match round {
                0 => key.clone(),
                _ => format!("{}{key}", round - 1),
            });
            let round = tries.position(|text| owner(&up, &text).as_ref().is_some_and(alive));
            late += u32::from(round.is_some_and(|round| round > 11));
            never += u32::from(round.is_none());
            assert_eq!(owner(&pool, &key), round.map(|_| "10.0.0.1:11211"), "{key}");
            assert_eq!(owner(&stuck, &key), owner(&up, &key).filter(alive), "{key}");
        }
        assert!(late > 20 && never > 0, "{late} {never}");
        Ok(())
    }

    #[test]
    fn one_server_owns_every_key_and_none_owns_none() -> Result<(), Error> {
        let pool = |servers: Vec<Server>| Pool::new(Dalli::default(), servers);
        assert_eq!(owner(&pool(vec![])?, "key"), None);
        assert_eq!(owner(&pool(servers(&[7]))?, ""), Some("10.0.0.1:11211"));
        assert_eq!(owner(&pool(servers(&[0]))?, "key"), None);
        assert_eq!(owner(&pool(servers(&[0, 0]))?, "key"), None);
        let heavy = pool(servers(&[u32::MAX, u32::MAX]))?;
        assert_eq!(heavy.layout().len(), 320);
        Ok(())
    }

    #[test]
    fn failover_is_true_or_false() {
        let build = |value| {
            let params = Params::default().with("failover", value);
            DIALECT.build(servers(&[1]), &params).map(|_| ())
        };
        assert!(build("true").is_ok() && build("false").is_ok());
        assert!(
            build("yes")
                .unwrap_err()
                .to_string()
                .contains("true or false")
        );
    }
}
