//! Varnish: the shard director of its `directors` module.
//!
//! Source: Varnish Cache 7.1.1, `vmod/vmod_directors_shard_dir.c` and related files; compared with a
//! running copy.
//!
//! | name | value |
//! |---|---|
//! | points of a backend | floor(replicas x weight); a weight below 1 counts as 1 |
//! | point j | the last 4 bytes, little-endian, of SHA-256(ident + decimal j) |
//! | key of `by=KEY`, `by=URL` | the same bytes of SHA-256(text) |
//! | key of `by=HASH` | the first 4 bytes, big-endian, of SHA-256(URL NUL host NUL) |
//! | key of `by=BLOB` | the first 4 bytes, big-endian |
//! | lookup | first point at or after the key; past the last point, the **last** |
//!
//! The ident is the server's label: `ident=` of `.add_backend()`, or the backend's name in VCL. A
//! second backend with the same ident is left out, as in Varnish. Weights in Varnish are fractions:
//! [`weight_scale`](Varnish::weight_scale) is the weight here that counts as 1.0 there.
//!
//! Surprises:
//!
//! - The circle does not wrap at its end, but the search for another backend does.
//! - The two ends of the digest are read in different byte orders.
//! - `rampup` and `warmup` send some keys elsewhere at random and are not modelled. The default
//!   `healthy=CHOSEN` is modelled.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::str::FromStr;

use sha2::{Digest, Sha256};

use super::layout::check_capacity;
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "varnish",
    "the shard director",
    Origin::recorded("7.1.1"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[BY, HOST, REPLICAS, WEIGHT_SCALE, ALT]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = Varnish::default();
    let varnish = Varnish {
        by: params.choice(BY.name, default.by)?,
        host: params.get(HOST.name, default.host)?,
        replicas: params.get(REPLICAS.name, default.replicas)?,
        weight_scale: params.get(WEIGHT_SCALE.name, default.weight_scale)?,
        alt: params.get(ALT.name, default.alt)?,
    };
    Pool::new(varnish, servers)
}

const BY: Param = Param::new(
    "by",
    "key",
    "the meaning of keys: key, url, hash (the URL of the builtin hash) or blob",
);
const HOST: Param = Param::new(
    "host",
    "",
    "the Host header of the requests, which by=hash hashes, too",
);
const REPLICAS: Param = Param::new("replicas", "67", "points of a backend of weight 1");
pub(super) const WEIGHT_SCALE: Param = Param::new(
    "weight-scale",
    "1",
    "the weight that counts as 1.0: with 10, a weight of 15 is 1.5",
);
const ALT: Param = Param::new(
    "alt",
    "0",
    "the number of backends to skip, such as the number of retries: 0 to 64",
);

/// The maximum `alt`, which is a number of retries.
const MOST_ALT: u32 = 64;

/// The shard director.
///
/// ```
/// use hashroute::compat::{Pool, Server, varnish::Varnish};
/// use hashroute::{Node, Router};
///
/// let servers = [("127.0.0.1:9601", "b1"), ("127.0.0.1:9602", "b2")]
///     .map(|(address, name)| Server::new(address).with_label(name));
/// let first = Pool::new(Varnish::default(), servers.clone())?;
/// let other = Pool::new(Varnish::default().with_alt(1), servers)?;
/// assert_ne!(first.route(b"key"), other.route(b"key"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Varnish {
    /// The meaning of keys.
    pub by: By,
    /// The Host header, hashed only with [`By::Hash`].
    pub host: String,
    /// The number of points of a backend with weight 1.0.
    pub replicas: u32,
    /// The weight of a server that counts as 1.0, at least 1.
    pub weight_scale: u32,
    /// The `alt` argument: the number of backends to skip, up to 64. Values above the number of
    /// backends - 1 count as that.
    pub alt: u32,
}

impl Default for Varnish {
    fn default() -> Self {
        Self {
            by: By::Key,
            host: String::new(),
            replicas: 67,
            weight_scale: 1,
            alt: 0,
        }
    }
}

builder! { Varnish:
    with_by(by: By),
    with_host(host: impl Into<String>),
    with_replicas(replicas: u32),
    with_weight_scale(weight_scale: u32),
    with_alt(alt: u32),
}

/// The `by` argument: the meaning of keys.
///
/// ```
/// use hashroute::compat::varnish::By;
/// assert_eq!("blob".parse::<By>()?, By::Blob);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// The text given to `.key()`.
    #[default]
    Key,
    /// The URL of the request, as it was sent.
    Url,
    /// The URL of the request; the builtin `vcl_hash` hashes it with the Host header.
    Hash,
    /// Bytes: the first four are a big-endian number. Fewer bytes are its low bytes.
    Blob,
}

impl FromStr for By {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "key" => Ok(Self::Key),
            "url" => Ok(Self::Url),
            "hash" => Ok(Self::Hash),
            "blob" => Ok(Self::Blob),
            _ => Err(Error::parameter(BY.name, text, "key, url, hash or blob")),
        }
    }
}

impl Varnish {
    fn check(&self) -> Result<(), Error> {
        let at_least_1 = |param: &Param, value: u32| match value {
            0 => Err(Error::parameter(param.name, value, "at least 1")),
            _ => Ok(()),
        };
        at_least_1(&REPLICAS, self.replicas)?;
        at_least_1(&WEIGHT_SCALE, self.weight_scale)?;
        if self.alt > MOST_ALT {
            return Err(Error::parameter(ALT.name, self.alt, "at most 64"));
        }
        Ok(())
    }

    /// Returns the number of points for a weight.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "C's conversion of a number from 0"
    )]
    fn count(&self, weight: u32) -> u64 {
        let weight = scaled(weight, self.weight_scale).max(1.0);
        (f64::from(self.replicas) * weight) as u64
    }
}

/// Returns the fraction that a weight stands for: the nearest double, which a literal would give.
pub(super) fn scaled(weight: u32, scale: u32) -> f64 {
    f64::from(weight) / f64::from(scale)
}

impl System for Varnish {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        self.check()?;
        let counts = servers.iter().map(|(_, of)| self.count(of.weight()));
        check_capacity(counts.fold(0, u64::saturating_add))?;
        let mut labels = BTreeSet::new();
        let mut points = Vec::new();
        for (at, (_, server)) in servers.iter().enumerate() {
            if labels.insert(server.label()) {
                let count = self.count(server.weight());
                points.extend((0..count).map(|j| (point(server.label(), j), at)));
            }
        }
        points.sort_by_key(|(point, _)| *point);
        let alt = labels.len().saturating_sub(1).min(self.alt as usize);
        Layout::circle(32, Rule::AtOrAfterUnwrapped, owners(&points, servers, alt))
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        let hash = match self.by {
            By::Key | By::Url => low(Sha256::digest(key).into()),
            By::Hash => {
                let sha = Sha256::new().chain_update(key).chain_update([0]);
                let sha = sha.chain_update(&self.host).chain_update([0]);
                high(&<[u8; 32]>::from(sha.finalize()))
            }
            By::Blob => high(key),
        };
        Some(hash.into())
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("varnish", (self.by, self.host.clone())))
    }
}

fn point(label: &str, index: u64) -> u64 {
    let sha = Sha256::new().chain_update(label);
    low(sha.chain_update(index.to_string()).finalize().into()).into()
}

fn low(digest: [u8; 32]) -> u32 {
    let [.., a, b, c, d] = digest;
    u32::from_le_bytes([a, b, c, d])
}

/// Returns the first four bytes as a big-endian number; fewer bytes are its low bytes.
fn high(bytes: &[u8]) -> u32 {
    let first = bytes.iter().take(4);
    first.fold(0, |sum, &byte| sum << 8 | u32::from(byte))
}

/// Returns the points with the owner of their keys. A backend that is down counts among those that
/// `alt` skips.
fn owners(points: &[(u64, usize)], servers: &[(NodeId, Server)], alt: usize) -> Vec<(u64, NodeId)> {
    let mut ahead = Ahead::new(servers.len());
    let mut owners = Vec::with_capacity(points.len());
    // Backwards, twice around: in the second round, `ahead` also knows the points beyond the end.
    let twice = points.iter().rev().chain(points.iter().rev());
    for (steps, &(point, server)) in twice.enumerate() {
        ahead.meet(
            server,
            2 * points.len() - steps,
            !servers[server].1.is_down(),
        );
        if steps >= points.len() {
            let owner = ahead.choice(alt);
            owners.extend(owner.map(|owner| (point, servers[owner].0)));
        }
    }
    owners.reverse();
    owners
}

/// The next point of each server in clockwise order.
struct Ahead {
    at: Vec<Option<usize>>,
    all: BTreeSet<usize>,
    up: BTreeMap<usize, usize>,
}

impl Ahead {
    fn new(servers: usize) -> Self {
        Self {
            at: vec![None; servers],
            all: BTreeSet::new(),
            up: BTreeMap::new(),
        }
    }

    fn meet(&mut self, server: usize, at: usize, up: bool) {
        if let Some(old) = self.at[server].replace(at) {
            self.all.remove(&old);
            self.up.remove(&old);
        }
        self.all.insert(at);
        if up {
            self.up.insert(at, server);
        }
    }

    /// Returns the first server that is up after `alt` skipped ones; else the last server that is up
    /// among the skipped ones.
    fn choice(&self, alt: usize) -> Option<usize> {
        let mut skipped = self.all.iter().skip(alt.saturating_sub(1));
        let last = *skipped.next()?;
        let from = if alt == 0 {
            Some(&last)
        } else {
            skipped.next()
        };
        let beyond = from.and_then(|from| self.up.range(from..).next());
        let before = || self.up.range(..last).next_back();
        // If only the last skipped server is up, Varnish fails; here that server is the owner.
        let found = beyond.or_else(before).or_else(|| self.up.first_key_value());
        found.map(|(_, server)| *server)
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::format;

    use super::*;
    use crate::{Change, KeyHash, Node, Router};

    fn servers(count: usize) -> Vec<Server> {
        (0..count).map(|i| Server::new(format!("b{i}"))).collect()
    }

    /// Searches like the source of the director: point by point, from the key's.
    fn slow(points: &[(u64, usize)], down: &[usize], key: u64, alt: usize) -> Option<usize> {
        let first = points.iter().position(|(point, _)| *point >= key);
        let mut picked = Vec::new();
        let ring = points.iter().cycle();
        let from = ring
            .skip(first.unwrap_or(points.len() - 1))
            .take(points.len());
        for (_, server) in from {
            if !picked.contains(server) {
                picked.push(*server);
            }
        }
        let up = |server: &&usize| !down.contains(server);
        let (skipped, rest) = picked.split_at(alt);
        let before = skipped.split_last().map_or(&[][..], |(_, before)| before);
        let found = rest.iter().find(up);
        found.or_else(|| before.iter().rev().find(up)).copied()
    }

    #[test]
    fn equals_the_search_of_the_source() -> Result<(), Error> {
        for alt in 0..4 {
            for down in [&[][..], &[1], &[0, 3], &[0, 1, 2]] {
                let all = servers(5).into_iter().enumerate();
                let all = all.map(|(i, of)| if down.contains(&i) { of.down() } else { of });
                let varnish = Varnish {
                    replicas: 4,
                    alt,
                    ..Varnish::default()
                };
                let pool = Pool::new(varnish, all)?;
                let mut points: Vec<_> = (0..5)
                    .flat_map(|i| (0..4).map(move |j| (point(&format!("b{i}"), j), i)))
                    .collect();
                points.sort_unstable();
                for key in (0..=u64::from(u32::MAX)).step_by(1 << 22) {
                    let owner = pool.layout().owner(key);
                    let owner = owner.and_then(|id| pool.nodes().name(id));
                    let wanted = slow(&points, down, key, alt as usize);
                    if let Some(wanted) = wanted {
                        assert_eq!(owner, Some(&*format!("b{wanted}")), "{key} {alt} {down:?}");
                    }
                }
            }
        }
        Ok(())
    }

    #[test]
    fn a_key_past_the_last_point_belongs_to_it() -> Result<(), Error> {
        let pool = Pool::new(Varnish::default(), servers(3))?;
        let last = (0..3)
            .flat_map(|i| (0..67).map(move |j| (point(&format!("b{i}"), j), i)))
            .max();
        let (_, owner) = last.expect("points");
        let end = pool.layout().owner(u32::MAX.into());
        assert_eq!(end, pool.nodes().id(&format!("b{owner}")));
        Ok(())
    }

    #[test]
    fn a_weight_that_is_a_fraction_is_rounded_down() {
        let of = |weight, weight_scale| {
            Varnish {
                weight_scale,
                ..Varnish::default()
            }
            .count(weight)
        };
        assert_eq!(
            [of(15, 10), of(11, 10), of(1, 2), of(0, 1)],
            [100, 73, 67, 67]
        );
    }

    #[test]
    fn a_short_blob_is_a_small_number() {
        let varnish = Varnish {
            by: By::Blob,
            ..Varnish::default()
        };
        let pool = Pool::new(varnish, servers(2)).expect("a pool");
        let hash = |key: &[u8]| pool.hash_key(key).map(KeyHash::get);
        assert_eq!(
            [hash(b"\x01\x02"), hash(b"\x01\x02\x03\x04\x05"), hash(b"")],
            [0x102, 0x0102_0304, 0].map(Some)
        );
    }

    #[test]
    fn the_first_of_two_equal_idents_owns_every_key() -> Result<(), Error> {
        assert_eq!(Pool::new(Varnish::default(), [])?.route(b"key"), None);
        let mut one = Pool::new(
            Varnish {
                alt: 1,
                ..Varnish::default()
            },
            servers(1),
        )?;
        assert_eq!(one.route(b"key").map(Node::name), Some("b0"));
        one.apply(&Change::reweight("b0", 0))?;
        assert_eq!(one.route(b"key"), None);
        let twins = ["x", "y"].map(|name| Server::new(name).with_label("same"));
        let twins = Pool::new(Varnish::default(), twins)?;
        assert!((0..99_u8).all(|i| twins.route(&[i]).map(Node::name) == Some("x")));
        Ok(())
    }

    #[test]
    fn wrong_options_are_refused() {
        let refused = |varnish: Varnish| Pool::new(varnish, servers(2)).is_err();
        let default = Varnish::default;
        assert!(refused(Varnish {
            replicas: 0,
            ..default()
        }));
        assert!(refused(Varnish {
            weight_scale: 0,
            ..default()
        }));
        assert!(refused(Varnish {
            alt: 65,
            ..default()
        }));
        assert!(refused(Varnish {
            replicas: u32::MAX,
            ..default()
        }));
        let error = "sky".parse::<By>().map_err(Box::new);
        assert!(error.is_err_and(|error| error.to_string().contains("blob")));
    }

    #[test]
    fn a_second_backend_with_the_same_ident_has_no_points() -> Result<(), Error> {
        let twins = [("x", 1), ("y", 3)];
        let twins = twins.map(|(name, w)| Server::new(name).with_weight(w).with_label("same"));
        let twins = Pool::new(Varnish::default(), twins)?;
        assert!((0..99_u8).all(|i| twins.route(&[i]).map(Node::name) == Some("x")));
        Ok(())
    }

    #[test]
    fn alt_is_limited_by_the_number_of_backends() -> Result<(), Error> {
        let owners = |alt| {
            let varnish = Varnish {
                alt,
                ..Varnish::default()
            };
            let pool = Pool::new(varnish, servers(3))?;
            let owner = |i: u8| pool.route(&[i]).map(|node| String::from(node.name()));
            Ok::<Vec<_>, Error>((0..99).map(owner).collect())
        };
        assert_eq!(owners(64)?, owners(2)?);
        assert!(owners(64)?.iter().all(Option::is_some));
        Ok(())
    }

    #[test]
    fn the_only_backend_that_is_up_owns_every_point() -> Result<(), Error> {
        for alt in 0..2 {
            let varnish = Varnish {
                alt,
                ..Varnish::default()
            };
            let pool = Pool::new(varnish, [Server::new("b0"), Server::new("b1").down()])?;
            // One more arc, from the last point to the end.
            assert_eq!(pool.layout().len(), 2 * 67 + 1, "{alt}");
            assert_eq!(pool.route(b"key").map(Node::name), Some("b0"));
        }
        Ok(())
    }
}
