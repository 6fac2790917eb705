//! npm's hashring: a hash ring for Node.js.
//!
//! Source: hashring 3.2.0, `index.js`; compared with a running copy.
//!
//! | points | lookup |
//! |---|---|
//! | 4 (3 with `compatibility: "hash_ring"`) from each digest of "server-i"; about 40 digests for each server | first point at or after the first word of the key's digest |
//!
//! - The digest is MD5, or the first 16 bytes of SHA-1. Words are little-endian.
//! - A server has floor(weight / sum of the weights x vnodes x servers) digests, computed in f64
//!   from left to right: with 7, 14, 28, 49 or 56 equal servers that is 39, not 40.
//! - A server with its own number of vnodes has that number of digests. Its weight then counts only
//!   in the sum.
//! - At the `default port`, the hashed text of a server is only its host.
//! - hashring does not know servers that are down: they are left out, as if they were removed.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

use sha1::{Digest, Sha1};

use super::layout::check_capacity;
use super::parts::ketama::{Ketama, words};
use super::parts::servers::check_names;
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "npm-hashring",
    "Node.js's hashring",
    Origin::recorded("3.2.0"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[ALGORITHM, VNODE_COUNT, REPLICAS, DEFAULT_PORT, VNODES]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default_port = match params.get(DEFAULT_PORT.name, String::new())?.as_str() {
        "" => None,
        _ => Some(params.get(DEFAULT_PORT.name, 0)?),
    };
    let hashring = NpmHashring {
        algorithm: params.choice(ALGORITHM.name, Algorithm::default())?,
        vnode_count: params.get(VNODE_COUNT.name, 40)?,
        replicas: params.get(REPLICAS.name, 4)?,
        default_port,
        vnodes: vnodes(&params.get(VNODES.name, String::new())?)?,
    };
    let names = hashring.vnodes.keys().map(|name| &**name);
    check_names(VNODES.name, names, &servers)?;
    Pool::new(hashring, servers)
}

const ALGORITHM: Param =
    Param::new("algorithm", "md5", "md5 or sha1").with_values(&["md5", "sha1"]);

const VNODE_COUNT: Param = Param::new("vnode_count", "40", "digests of a server, `vnode count`");

const REPLICAS: Param = Param::new(
    "replicas",
    "4",
    "points of a digest, 1 to 4; 3 is `compatibility: hash_ring`",
);

const DEFAULT_PORT: Param = Param::new("default_port", "", "the port that is not hashed");

const VNODES: Param = Param::new(
    "vnodes",
    "",
    "servers with their own number of digests: a:80=50,b:80=200",
);

/// A `HashRing` of npm's hashring.
///
/// ```
/// use hashroute::compat::{Pool, Server, npm_hashring::NpmHashring};
///
/// let hash_ring = NpmHashring::default().with_replicas(3);
/// let pool = Pool::new(hash_ring, ["127.0.0.1:22121", "127.0.0.1:22122"].map(Server::new))?;
/// assert_eq!(pool.layout().len(), 240);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NpmHashring {
    /// The digest.
    pub algorithm: Algorithm,
    /// `vnode count`: the approximate number of digests of a server.
    pub vnode_count: u32,
    /// `replicas`: the number of points from a digest, 1 to 4; 3 with `compatibility: "hash_ring"`.
    pub replicas: usize,
    /// `default port`: the port that is not hashed.
    pub default_port: Option<u16>,
    /// The servers with their own number of digests, by name.
    pub vnodes: BTreeMap<Box<str>, u32>,
}

/// The settings of `new HashRing(servers)`: MD5, 40 digests with 4 points each.
impl Default for NpmHashring {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            vnode_count: 40,
            replicas: 4,
            default_port: None,
            vnodes: BTreeMap::new(),
        }
    }
}

builder! { NpmHashring:
    with_algorithm(algorithm: Algorithm),
    with_vnode_count(vnode_count: u32),
    with_replicas(replicas: usize),
    with_default_port(default_port: impl Into<Option<u16>>),
    with_vnodes(vnodes: impl Into<BTreeMap<Box<str>, u32>>),
}

/// The digest of keys and servers.
///
/// ```
/// use hashroute::compat::npm_hashring::Algorithm;
/// assert_eq!("sha1".parse::<Algorithm>()?, Algorithm::Sha1);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// MD5.
    #[default]
    Md5,
    /// The first 16 bytes of SHA-1.
    Sha1,
}

impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "md5" => Ok(Self::Md5),
            "sha1" => Ok(Self::Sha1),
            _ => Err(Error::parameter(ALGORITHM.name, text, "md5 or sha1")),
        }
    }
}

/// Reads servers with their number of digests: `name=count,..`.
fn vnodes(text: &str) -> Result<BTreeMap<Box<str>, u32>, Error> {
    let pairs = text.split(',').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let parts = pair.rsplit_once('=');
            let parts = parts.and_then(|(name, count)| Some((name.into(), count.parse().ok()?)));
            parts.ok_or_else(|| Error::parameter(VNODES.name, pair, "server=number of digests"))
        })
        .collect()
}

impl NpmHashring {
    fn words(&self, bytes: &[u8]) -> [u32; 4] {
        match self.algorithm {
            Algorithm::Md5 => words(bytes),
            Algorithm::Sha1 => {
                let digest: [u8; 20] = Sha1::digest(bytes).into();
                let word = |at: usize| [0, 1, 2, 3].map(|byte| digest[4 * at + byte]);
                [0, 1, 2, 3].map(|at| u32::from_le_bytes(word(at)))
            }
        }
    }

    /// Returns the number of digests of a server. hashring ignores an own number that is 0 or equals
    /// the general one.
    fn count(&self, server: &Server, total: f64, servers: usize) -> u64 {
        match self.vnodes.get(server.name()) {
            Some(&own) if own != 0 && own != self.vnode_count => own.into(),
            _ => {
                let share = f64::from(server.weight()) / total;
                cut(share * f64::from(self.vnode_count) * servers as f64)
            }
        }
    }

    fn text<'s>(&self, server: &'s Server) -> &'s str {
        let label = server.label();
        let Some(port) = self.default_port else {
            return label;
        };
        let parts = label.rsplit_once(':');
        let parts = parts.filter(|(_, own)| own.parse() == Ok(port));
        parts.map_or(label, |(host, _)| host)
    }

    fn check_replicas(&self) -> Result<(), Error> {
        if (1..=4).contains(&self.replicas) {
            return Ok(());
        }
        let expected = "1 to 4: a digest has no more words";
        Err(Error::parameter(REPLICAS.name, self.replicas, expected))
    }
}

impl System for NpmHashring {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        self.check_replicas()?;
        let up: Vec<_> = servers.iter().filter(|(_, s)| !s.is_down()).collect();
        let total: u64 = up.iter().map(|(_, s)| u64::from(s.weight())).sum();
        let count = |server: &Server| self.count(server, total as f64, up.len());
        let counts = up.iter().map(|(_, server)| count(server));
        let all = counts.fold(0_u64, u64::saturating_add);
        check_capacity(all.saturating_mul(self.replicas as u64))?;
        let mut ketama = Ketama::default();
        for (id, server) in &up {
            let count = u32::try_from(count(server)).unwrap_or(u32::MAX);
            ketama.add(*id, self.text(server), count, |text| {
                self.words(text).into_iter().take(self.replicas)
            });
        }
        Layout::circle(32, Rule::AtOrAfter, ketama.points)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(self.words(key)[0].into())
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("npm_hashring", self.algorithm))
    }
}

/// Rounds towards zero, like `Math.floor` for numbers from 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "cuts, as Math.floor does"
)]
fn cut(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::{Change, Node, Router};

    #[test]
    fn an_unknown_name_in_vnodes_is_refused() {
        let build = |vnodes| {
            let params = Params::default().with("vnodes", vnodes);
            DIALECT.build(["a:1", "b:1"].map(Server::new), &params)
        };
        let error = build("a:1=9,typo=9").unwrap_err();
        assert!(
            error.to_string().starts_with("vnodes = \"typo\""),
            "{error}"
        );
        assert!(build("a:1=9,b:1=9").is_ok());
    }

    #[test]
    fn f64_gives_some_numbers_of_servers_39_digests_instead_of_40() -> Result<(), Error> {
        let mut short = Vec::new();
        for count in 1..60 {
            let servers = (0..count).map(|i: usize| Server::new(i.to_string()));
            let pool = Pool::new(NpmHashring::default(), servers)?;
            if pool.layout().len() < count * 159 {
                short.push(count);
            }
        }
        assert_eq!(short, [7, 14, 28, 49, 56]);
        Ok(())
    }

    #[test]
    fn the_default_port_is_not_hashed() {
        let hashring = NpmHashring {
            default_port: Some(11211),
            ..NpmHashring::default()
        };
        for (name, text) in [("h:11211", "h"), ("h:11212", "h:11212"), ("h", "h")] {
            assert_eq!(hashring.text(&Server::new(name)), text);
            assert_eq!(NpmHashring::default().text(&Server::new(name)), name);
        }
    }

    #[test]
    fn options_change_the_number_of_points_and_wrong_ones_are_refused() -> Result<(), Error> {
        let build = |name: &str, value: &str| {
            let params = Params::default().with(name, value);
            pool(["a:80", "b:80"].map(Server::new).into(), &params)
        };
        assert_eq!(build("vnode_count", "10")?.layout().len(), 80);
        assert_eq!(build("replicas", "3")?.layout().len(), 240);
        assert_eq!(build("vnodes", "a:80=5")?.layout().len(), 180);
        assert_eq!(build("vnodes", "a:80=40,b:80=0")?.layout().len(), 320);
        for (name, value) in [
            ("replicas", "0"),
            ("replicas", "5"),
            ("algorithm", "sha512"),
            ("default_port", "http"),
            ("vnodes", "a:80"),
            ("vnodes", "a:80=x"),
            ("vnode_count", "4294967295"),
        ] {
            assert!(build(name, value).is_err(), "{name}={value}");
        }
        Ok(())
    }

    #[test]
    fn a_server_that_is_down_is_left_out() -> Result<(), Error> {
        let mut pool = Pool::new(NpmHashring::default(), ["a", "b"].map(Server::new))?;
        pool.apply(&Change::reweight("a", 0))?;
        assert_eq!(pool.route(b"key").map(Node::name), Some("b"));
        assert_eq!(pool.layout().len(), 160);
        pool.apply(&Change::remove("b"))?;
        assert_eq!(pool.route(b"key"), None);
        Ok(())
    }

    #[test]
    fn an_own_number_equal_to_the_general_one_is_ignored() -> Result<(), Error> {
        let points = |own| {
            let hashring = NpmHashring {
                vnodes: BTreeMap::from([("a".into(), own)]),
                ..NpmHashring::default()
            };
            let servers = [Server::new("a"), Server::new("b").with_weight(3)];
            Ok::<_, Error>(Pool::new(hashring, servers)?.layout().len())
        };
        // 20 digests and 60, or 41 and 60.
        assert_eq!((points(40)?, points(41)?), (320, 404));
        Ok(())
    }
}
