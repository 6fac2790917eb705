//! nginx: `hash KEY consistent` and `hash KEY` of an `upstream` block.
//!
//! Source: nginx 1.22.1, `ngx_http_upstream_hash_module`; compared with a running copy.
//!
//! | method | points or cells | lookup |
//! |---|---|---|
//! | `consistent` | 160 x weight points for each server: CRC-32 of `HOST NUL PORT` and the previous point | first point at or after the key's CRC-32 |
//! | `hash` | one cell for each unit of weight, also for servers that are down | bits 16 to 30 of the key's CRC-32, modulo the number of cells |
//!
//! - A server's label is its text in the configuration, `HOST:PORT`. The text after the last colon
//!   is a port if it has only digits. A prefix `unix:` is not hashed.
//! - The order of the servers matters only to `hash`, and to equal points: the first one stays.
//! - A server that is down is skipped: `consistent` looks at the next points; `hash` adds the hash of
//!   `1KEY`, `2KEY` and so on.
//! - After 21 servers in a row that are down, and for the empty key, nginx balances round robin. Such
//!   a key has no owner here, unless only one server is up.
//! - A name with several addresses counts as one server here.

use alloc::vec;
use alloc::vec::Vec;
use core::iter::{repeat_n, successors};
use core::str::FromStr;

use crc::{CRC_32_ISO_HDLC, Crc, Table};

use super::layout::check_capacity;
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

#[cfg(feature = "config")]
mod config;
#[cfg(feature = "config")]
mod write;

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "nginx",
    "hash KEY [consistent] of an upstream block",
    Origin::recorded("1.22.1"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[METHOD])
.with_reader(reader!(config::read))
.with_writer(reader!(write::write));

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let method = params.choice(METHOD.name, Method::default())?;
    Pool::new(Nginx { method }, servers)
}

const METHOD: Param = Param::new(
    "method",
    "consistent",
    "consistent for `hash KEY consistent`, hash for `hash KEY`",
)
.with_values(&["consistent", "hash"]);

/// The `hash` directive of an `upstream` block.
///
/// ```
/// use hashroute::compat::{Pool, Server, nginx::{Method, Nginx}};
/// use hashroute::Router;
///
/// let servers = ["10.0.0.1:80", "10.0.0.2:80"].map(Server::new);
/// let pool = Pool::new(Nginx::default().with_method(Method::Hash), servers)?;
/// assert!(pool.route(b"key").is_some() && pool.route(b"").is_none());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Nginx {
    /// With `consistent` or without.
    pub method: Method,
}

builder! { Nginx: with_method(method: Method) }

/// The form of the `hash` directive.
///
/// ```
/// use hashroute::compat::nginx::Method;
/// assert_eq!("hash".parse::<Method>()?, Method::Hash);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// `hash KEY consistent`: a ring.
    #[default]
    Consistent,
    /// `hash KEY`: modulo.
    Hash,
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "consistent" => Ok(Self::Consistent),
            "hash" => Ok(Self::Hash),
            _ => Err(Error::parameter(METHOD.name, text, "consistent or hash")),
        }
    }
}

/// The number of points for each unit of weight.
const POINTS: u32 = 160;

/// The number of servers that nginx tries before it balances round robin.
const TRIES: u8 = 21;

static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

impl System for Nginx {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let total = servers.iter().map(|(_, server)| u64::from(server.weight()));
        let of_one = match self.method {
            Method::Consistent => POINTS,
            Method::Hash => 1,
        };
        check_capacity(total.sum::<u64>().saturating_mul(of_one.into()))?;
        let (down, up): (Vec<_>, Vec<_>) = servers.iter().partition(|(_, server)| server.is_down());
        if let [(only, _)] = up[..] {
            // With one server up, every key goes there, even the empty one.
            return Layout::cells(32, vec![*only]);
        }
        let down = down.iter().map(|(id, _)| *id).collect();
        match self.method {
            Method::Consistent => circle(servers, down),
            Method::Hash => cells(servers, down),
        }
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], layout: &Layout) -> Option<u64> {
        if key.is_empty() {
            return (layout.len() == 1).then_some(0);
        }
        match self.method {
            Method::Consistent => Some(crc32(&[key]).into()),
            Method::Hash => rehashed(key, layout),
        }
    }

    fn hash_id(&self, _: &[(NodeId, Server)], layout: &Layout) -> Option<SystemHash> {
        // With one cell, the empty key has a hash, which it has not otherwise; with `method=hash`,
        // the hash depends on the cells. Both are not comparable.
        let alone = self.method == Method::Consistent && layout.len() != 1;
        alone.then(|| SystemHash::new("nginx", ()))
    }
}

/// Returns the first sum of hashes whose cell has a server that is up.
fn rehashed(key: &[u8], layout: &Layout) -> Option<u64> {
    let mut sum = 0;
    (0..TRIES).find_map(|round| {
        let digits = [b'0' + round / 10, b'0' + round % 10];
        let prefix = match round {
            0 => &digits[2..],
            1..10 => &digits[1..],
            _ => &digits[..],
        };
        sum += u64::from(middle(crc32(&[prefix, key])));
        layout.owner(sum).map(|_| sum)
    })
}

fn cells(servers: &[(NodeId, Server)], down: Vec<NodeId>) -> Result<Layout, Error> {
    // A sum of 21 hashes of 15 bits has up to 20 bits.
    let bits = if down.is_empty() { 15 } else { 20 };
    let cells = servers
        .iter()
        .flat_map(|(id, server)| repeat_n(*id, server.weight() as usize));
    Ok(Layout::cells(bits, cells.collect())?.without(down))
}

fn circle(servers: &[(NodeId, Server)], mut down: Vec<NodeId>) -> Result<Layout, Error> {
    let mut points = Vec::new();
    for (id, server) in servers {
        let (host, port) = host_and_port(server.label());
        // No overflow: the total is checked to be at most 2^26.
        let count = server.weight() as usize * POINTS as usize;
        points.extend(chain(host, port).take(count).map(|point| (point, *id)));
    }
    points.sort_by_key(|(point, _)| *point);
    points.dedup_by_key(|(point, _)| *point);
    down.sort_unstable();
    pass_over(&mut points, &down);
    Ok(Layout::circle(32, Rule::AtOrAfter, points)?.without(down))
}

/// Gives each point to the first server that is up among it and the 20 points after it. One pass
/// backwards, so O(points).
fn pass_over(points: &mut [(u64, NodeId)], down: &[NodeId]) {
    let is_down = |id: &NodeId| down.binary_search(id).is_ok();
    let Some(first) = points.iter().position(|(_, id)| !is_down(id)) else {
        return;
    };
    // The next server that is up, and its distance in points. The circle wraps: after the last
    // point comes the first one that is up.
    let mut next = (points[first].1, first);
    for (_, id) in points.iter_mut().rev() {
        next = if is_down(id) {
            (next.0, next.1 + 1)
        } else {
            (*id, 0)
        };
        if next.1 < TRIES.into() {
            *id = next.0;
        }
    }
}

/// Splits a server's text into host and port as nginx does.
fn host_and_port(text: &str) -> (&str, &str) {
    if let (Some(scheme), Some(path)) = (text.get(..5), text.get(5..)) {
        if scheme.eq_ignore_ascii_case("unix:") {
            return (path, "");
        }
    }
    match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (text, ""),
    }
}

/// Returns the points of a server. Each is hashed from the previous one; the first from 0.
pub(super) fn chain(host: &str, port: &str) -> impl Iterator<Item = u64> {
    let mut base = CRC32.digest();
    for part in [host.as_bytes(), &[0], port.as_bytes()] {
        base.update(part);
    }
    let next = move |point: &u32| {
        let mut digest = base.clone();
        digest.update(&point.to_le_bytes());
        Some(digest.finalize())
    };
    successors(next(&0), next).map(u64::from)
}

/// Returns zlib's CRC-32 of the concatenated parts.
pub(super) fn crc32(parts: &[&[u8]]) -> u32 {
    let mut digest = CRC32.digest();
    for part in parts {
        digest.update(part);
    }
    digest.finalize()
}

/// Returns the 15 bits of a CRC-32 that `Cache::Memcached` and compatible systems use.
pub(super) fn middle(crc32: u32) -> u32 {
    crc32 >> 16 & 0x7fff
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::{Change, KeyHash, Node, Router};

    fn servers(count: usize) -> Vec<Server> {
        (1..=count)
            .map(|i| Server::new(format!("10.0.0.{i}:80")))
            .collect()
    }

    fn pool(method: Method, servers: Vec<Server>) -> Pool {
        Pool::new(Nginx { method }, servers).expect("a pool")
    }

    fn owner<'a>(pool: &'a Pool, key: &str) -> Option<&'a str> {
        pool.route(key.as_bytes()).map(Node::name)
    }

    fn shares(pool: &Pool) -> Option<Vec<f64>> {
        Some(pool.ranges()?.shares(pool.nodes().id_bound()))
    }

    const METHODS: [Method; 2] = [Method::Consistent, Method::Hash];

    #[test]
    fn a_text_is_split_into_host_and_port_as_in_nginx() {
        for (text, parts) in [
            ("10.0.0.1:80", ("10.0.0.1", "80")),
            ("10.0.0.1", ("10.0.0.1", "")),
            ("cache.example:", ("cache.example", "")),
            ("[::1]:80", ("[::1]", "80")),
            ("[::1]", ("[::1]", "")),
            ("cache:http", ("cache:http", "")),
            ("UNIX:/run/a:1", ("/run/a:1", "")),
            ("é:é:1", ("é:é", "1")),
            ("", ("", "")),
        ] {
            assert_eq!(host_and_port(text), parts, "{text}");
        }
    }

    #[test]
    fn a_point_is_hashed_from_the_previous_one() {
        let points: Vec<_> = chain("a", "80").take(2).collect();
        let first = crc32(&[b"a\x0080", &[0; 4]]);
        let second = crc32(&[b"a\x0080", &first.to_le_bytes()]);
        assert_eq!(points, [first, second].map(u64::from));
    }

    #[test]
    fn without_a_server_that_is_up_no_key_has_an_owner() {
        for method in METHODS {
            assert_eq!(owner(&pool(method, vec![]), "key"), None);
            let down = servers(3).into_iter().map(Server::down).collect();
            let pool = pool(method, down);
            assert_eq!(["", "key"].map(|key| owner(&pool, key)), [None; 2]);
            assert!(pool.nodes().iter().all(|(_, node)| node.weight() == 0));
        }
    }

    #[test]
    fn the_only_server_that_is_up_owns_every_key() {
        for method in METHODS {
            let mut servers = servers(40);
            for server in &mut servers[1..] {
                *server = server.clone().with_weight(9).down();
            }
            let pool = pool(method, servers);
            for key in ["", "a", "b", "c", "d"] {
                assert_eq!(owner(&pool, key), Some("10.0.0.1:80"), "{method:?} {key}");
            }
        }
    }

    #[test]
    fn the_empty_key_has_no_owner() {
        for method in METHODS {
            assert_eq!(owner(&pool(method, servers(2)), ""), None);
        }
    }

    /// Looks at 21 points, one after the other, as nginx does.
    fn slowly(points: &[(u64, usize)], key: &str, up: usize) -> Option<usize> {
        let hash = u64::from(crc32(&[key.as_bytes()]));
        let start = points.partition_point(|(point, _)| *point < hash);
        let tried = points.iter().cycle().skip(start).take(21);
        tried.map(|(_, at)| *at).find(|at| *at < up)
    }

    #[test]
    fn a_key_has_no_owner_after_21_points_of_servers_that_are_down() {
        let mut servers = servers(30);
        for server in &mut servers[2..] {
            *server = server.clone().down();
        }
        let pool = pool(Method::Consistent, servers.clone());
        let points = (0..).zip(&servers).flat_map(|(at, server)| {
            let (host, port) = host_and_port(server.label());
            chain(host, port).take(160).map(move |point| (point, at))
        });
        let mut points: Vec<_> = points.collect();
        points.sort_unstable();
        let mut missed = 0;
        for i in 0..2000 {
            let key = format!("user:{i}");
            let expected = slowly(&points, &key, 2);
            missed += usize::from(expected.is_none());
            let name = expected.map(|at| servers[at].name());
            assert_eq!(owner(&pool, &key), name, "{key}");
        }
        // Expected: (28/30)^21 = 23 % of 2000 keys.
        assert!((300..650).contains(&missed), "{missed}");
        let shares: f64 = shares(&pool).expect("a circle").iter().sum();
        assert!(
            (shares - (1.0 - missed as f64 / 2000.0)).abs() < 0.05,
            "{shares}"
        );
    }

    #[test]
    fn without_consistent_the_key_is_hashed_again_and_added() {
        let mut servers = servers(3);
        servers[1] = servers[1].clone().with_weight(3).down();
        let pool = pool(Method::Hash, servers);
        let [mut once, mut twice] = [0; 2];
        for i in 0..1000 {
            let key = format!("user:{i}");
            let mut sum = middle(crc32(&[key.as_bytes()]));
            let mut round = 0;
            while [1, 2, 3].contains(&(sum % 5)) {
                round += 1;
                sum += middle(crc32(&[format!("{round}{key}").as_bytes()]));
            }
            once += u32::from(round == 1);
            twice += u32::from(round > 1);
            let name = ["10.0.0.1:80", "", "", "", "10.0.0.3:80"][sum as usize % 5];
            assert_eq!(owner(&pool, &key), Some(name), "{key}");
            let hash = Some(KeyHash::from_raw(sum.into()));
            assert_eq!(pool.hash_key(key.as_bytes()), hash);
        }
        assert!(once > 200 && twice > 100, "{once} {twice}");
        // Keys of gaps are hashed again, so hashes depend on the table.
        assert!(matches!(pool.hash_id(), crate::HashId::PerKey));
    }

    #[test]
    fn with_8_cells_one_server_gets_all_keys_of_a_server_that_is_down() {
        let heirs = |count: usize| {
            let up = pool(Method::Hash, servers(count));
            let mut servers = servers(count);
            servers[1] = servers[1].clone().down();
            let pool = pool(Method::Hash, servers);
            let keys = (1000..3000).map(|i| format!("user:{i}"));
            let lost = keys.filter(|key| owner(&up, key) == Some("10.0.0.2:80"));
            let mut heirs: Vec<_> = lost
                .map(|key| pool.route(key.as_bytes()).map(Node::name).map(String::from))
                .collect();
            heirs.sort_unstable();
            heirs.dedup();
            heirs.len()
        };
        assert_eq!([7, 8, 9].map(heirs), [6, 1, 8]);
    }

    #[test]
    fn rounds_past_nine_have_two_digits() {
        let mut servers = servers(2);
        servers.push(Server::new("down:80").with_weight(400).down());
        let pool = pool(Method::Hash, servers);
        let mut late = 0;
        for i in 0..5000 {
            let key = format!("user:{i}");
            let mut sum = 0;
            let round = (0..21).find(|round| {
                let text = if *round == 0 {
                    key.clone()
                } else {
                    format!("{round}{key}")
                };
                sum += middle(crc32(&[text.as_bytes()]));
                sum % 402 < 2
            });
            late += u32::from(round.is_some_and(|round| round > 9));
            let expected = round.map(|_| ["10.0.0.1:80", "10.0.0.2:80"][sum as usize % 402]);
            assert_eq!(owner(&pool, &key), expected, "{key}");
        }
        assert!(late > 100, "{late}");
    }

    #[test]
    fn fifteen_bits_reach_only_32768_cells() {
        let heavy = servers(2)
            .into_iter()
            .map(|server| server.with_weight(30_000));
        let pool = pool(Method::Hash, heavy.collect());
        let shares = shares(&pool).expect("cells");
        let expected = 30_000.0 / 32_768.0;
        assert!((shares[0] - expected).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn a_change_gives_the_pool_that_new_would_build() -> Result<(), Error> {
        for method in METHODS {
            let mut changed = pool(method, servers(4));
            changed.apply(&Change::reweight("10.0.0.2:80", 0))?;
            let mut fresh = servers(4);
            fresh[1] = fresh[1].clone().down();
            let fresh = pool(method, fresh);
            for i in 0..500 {
                let key = format!("user:{i}");
                assert_eq!(owner(&changed, &key), owner(&fresh, &key));
                assert_ne!(owner(&changed, &key), Some("10.0.0.2:80"));
            }
        }
        Ok(())
    }

    #[test]
    fn absurd_weights_are_refused() {
        for (method, weight) in [(Method::Consistent, 1 << 19), (Method::Hash, u32::MAX)] {
            let server = Server::new("a:80").with_weight(weight);
            let error = Pool::new(Nginx { method }, [server, Server::new("b:80")]).unwrap_err();
            assert!(matches!(error, Error::Capacity { .. }), "{error}");
        }
    }
}
