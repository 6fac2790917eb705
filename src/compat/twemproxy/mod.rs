//! twemproxy (nutcracker): the pools of its YAML configuration.
//!
//! Source: twemproxy 0.5.0, `nc_server.c`, `nc_conf.c`, `src/hashkit`; compared with a running copy.
//!
//! | distribution | points or cells | lookup |
//! |---|---|---|
//! | `ketama` | 4 from each MD5 of "name-i"; about 40 MD5s for each server | first point at or after the key's hash |
//! | `modula` | one cell for each unit of weight, sorted by name | the key's hash, modulo the number of cells |
//! | `random` | | none: it is no function of the key, so it is refused |
//!
//! - The key's hash is the pool's `hash`, one of twelve ([`hashkit`](super::hashkit)). With a
//!   `hash_tag`, only the part between its two bytes is hashed, unless it is empty. The empty key
//!   hashes to 0.
//! - A server's label is the name after the blank. Without one, it is `host:port`, only `host` at
//!   port 11211, or `path:` for a socket. Servers are sorted by name, shorter names first.
//! - A server that is down is one that `auto_eject_hosts` has ejected. It is left out, and the points
//!   or cells of the others are computed again. With `auto_eject_hosts: false`, no server is down.
//! - The number of MD5s of a server is rounded in f32: with 25, 47, 50, 55 or 61 equal servers, each
//!   has 39, not 40.
//! - Builds for x86-64 and arm64 differ for keys with bytes from 0x80 on: [`Char`].

use alloc::vec::Vec;
use core::str::FromStr;

#[cfg(feature = "config")]
mod config;
#[cfg(feature = "config")]
mod write;

use super::layout::check_capacity;
use super::parts::hashkit::{CHAR, Char, Function};
use super::parts::ketama::{Ketama, hashes_f32, words};
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, HashTag, Limit, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "twemproxy",
    "nutcracker's ketama and modula pools, with its twelve hashes",
    Origin::recorded("0.5.0"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[HASH, DISTRIBUTION, HASH_TAG, CHAR])
.with_reader(reader!(config::read))
.with_writer(reader!(write::write))
.with_free_order(|_, _| true);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let hash = params.get(HASH.name, alloc::string::String::from(HASH.default))?;
    let twemproxy = Twemproxy {
        hash: Function::of_twemproxy(&hash)?,
        distribution: params.choice(DISTRIBUTION.name, Distribution::default())?,
        hash_tag: params.optional(HASH_TAG.name)?,
        char: params.choice(CHAR.name, Char::default())?,
    };
    Pool::new(twemproxy, servers)
}

const HASH: Param = Param::new(
    "hash",
    "fnv1a_64",
    "the key's hash, by its name in twemproxy",
)
.with_hashes(&["murmur", "md5"])
.with_values(&[
    "one_at_a_time",
    "md5",
    "crc16",
    "crc32",
    "crc32a",
    "fnv1_64",
    "fnv1a_64",
    "fnv1_32",
    "fnv1a_32",
    "hsieh",
    "murmur",
    "jenkins",
]);

const DISTRIBUTION: Param = Param::new("distribution", "ketama", "ketama or modula")
    .with_finer(&["ketama"])
    .with_values(&["ketama", "modula"]);

const HASH_TAG: Param = Param::new(
    "hash_tag",
    "",
    "two bytes, such as {}: only the part between them is hashed",
);

/// A pool of twemproxy.
///
/// ```
/// use hashroute::compat::{Pool, Server, twemproxy::Twemproxy};
/// use hashroute::{HashTag, Router};
///
/// let servers = [("10.0.0.1:6379", "alpha"), ("10.0.0.2:6379", "beta")]
///     .map(|(address, name)| Server::new(address).with_label(name));
/// let twemproxy = Twemproxy::default().with_hash_tag(HashTag::BRACES);
/// let pool = Pool::new(twemproxy, servers)?;
/// assert_eq!(pool.route(b"{user:1}:cart"), pool.route(b"{user:1}:orders"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Twemproxy {
    /// The hash function of keys.
    pub hash: Function,
    /// The mapping from hashes to servers.
    pub distribution: Distribution,
    /// The two bytes around the hashed part of a key.
    pub hash_tag: Option<HashTag>,
    /// The signedness of `char` in the build.
    pub char: Char,
}

/// The defaults of a pool: `fnv1a_64`, `ketama`, no hash tag; on x86-64.
impl Default for Twemproxy {
    fn default() -> Self {
        Self {
            hash: Function::Fnv1a64,
            distribution: Distribution::default(),
            hash_tag: None,
            char: Char::default(),
        }
    }
}

builder! { Twemproxy:
    with_hash(hash: Function),
    with_distribution(distribution: Distribution),
    with_hash_tag(hash_tag: impl Into<Option<HashTag>>),
    with_char(char: Char),
}

/// The mapping from hashes to servers.
///
/// ```
/// use hashroute::compat::twemproxy::Distribution;
/// assert_eq!("modula".parse::<Distribution>()?, Distribution::Modula);
/// let error = "random".parse::<Distribution>().unwrap_err();
/// assert!(error.to_string().contains("not a function of the key"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distribution {
    /// A ring.
    #[default]
    Ketama,
    /// Modulo the sum of the weights.
    Modula,
}

impl FromStr for Distribution {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let expected = match text {
            "ketama" => return Ok(Self::Ketama),
            "modula" => return Ok(Self::Modula),
            "random" => "ketama or modula: random is not a function of the key",
            _ => "ketama or modula",
        };
        Err(Error::parameter(DISTRIBUTION.name, text, expected))
    }
}

impl System for Twemproxy {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let mut up = in_order(servers)?;
        up.retain(|server| !server.down);
        match self.distribution {
            Distribution::Ketama => ketama(&up),
            Distribution::Modula => modula(&up),
        }
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        let key = self.hash_tag.map_or(key, |tag| tag.part(key));
        let hash = if key.is_empty() {
            0
        } else {
            self.hash.value(key, self.char)
        };
        Some(hash.into())
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        let options = (self.hash, self.char, self.hash_tag);
        let fills = self.hash.fills_32_bits();
        fills.then(|| SystemHash::new("twemproxy", options))
    }
}

/// A server with its name in twemproxy.
struct Named {
    name: alloc::string::String,
    id: NodeId,
    weight: u32,
    down: bool,
}

/// Sorts the servers by name, and refuses equal names.
fn in_order(servers: &[(NodeId, Server)]) -> Result<Vec<Named>, Error> {
    let mut by_name: Vec<_> = servers
        .iter()
        .map(|(id, server)| Named {
            name: name(server),
            id: *id,
            weight: server.weight(),
            down: server.is_down(),
        })
        .collect();
    by_name.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
    for pair in by_name.windows(2) {
        if pair[0].name == pair[1].name {
            return Err(Error::DuplicateNode {
                name: pair[0].name.as_str().into(),
            });
        }
    }
    Ok(by_name)
}

/// Returns the name of a server: the label, or the name that twemproxy derives from the address. For
/// a socket, that is the path with the colon after it.
fn name(server: &Server) -> alloc::string::String {
    let address = server.name();
    match server.own_label() {
        Some(label) => label.into(),
        None if address.starts_with('/') => alloc::format!("{address}:"),
        // twemproxy compares the port as a number, so 011211 is the default port, too. Any other
        // port stays in the name as written.
        None => match address.rsplit_once(':') {
            Some((host, port)) if is_default(port) => host.into(),
            _ => address.into(),
        },
    }
}

fn is_default(port: &str) -> bool {
    port.trim_start_matches('0') == "11211"
}

fn ketama(up: &[Named]) -> Result<Layout, Error> {
    check_capacity(up.len() as u64 * 160)?;
    let total = total(up)?;
    let mut ketama = Ketama::default();
    for server in up {
        let hashes = hashes_f32(server.weight, total, up.len());
        check_length(&server.name, hashes)?;
        ketama.add(server.id, &server.name, hashes, words);
    }
    Layout::circle(32, Rule::AtOrAfter, ketama.points)
}

fn modula(up: &[Named]) -> Result<Layout, Error> {
    check_capacity(total(up)?)?;
    let cells = up
        .iter()
        .flat_map(|server| (0..server.weight).map(|_| server.id));
    Layout::cells(32, cells.collect())
}

/// Returns the sum of the weights; refuses one that overflows 32 bits, in which twemproxy sums.
fn total(up: &[Named]) -> Result<u64, Error> {
    let total = up.iter().map(|server| u64::from(server.weight)).sum();
    if total > u64::from(u32::MAX) {
        return Err(Error::Capacity {
            what: Limit::WeightUnits,
            wanted: total,
            limit: u32::MAX.into(),
            advice: "divide all weights by a common factor",
        });
    }
    Ok(total)
}

/// Refuses a name that is too long: twemproxy writes "name-i" and a NUL into 86 bytes. If the text
/// is longer, it hashes memory beyond that buffer.
fn check_length(name: &str, hashes: u32) -> Result<(), Error> {
    let digits = hashes.saturating_sub(1).checked_ilog10().unwrap_or(0) + 1;
    let length = name.len() as u64 + 1 + u64::from(digits);
    if hashes > 0 && length > 85 {
        return Err(Error::parameter(
            "name",
            name,
            "at most 85 bytes with -i after the name: twemproxy reads beyond its buffer",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
