//! libmemcached: the memcached client in C, on which PHP's memcached, pylibmc and others are built.
//!
//! Source: libmemcached 1.1.4, `hosts.cc`, `behavior.cc`, `libhashkit`; compared with a running copy.
//!
//! | distribution | points or cells | lookup |
//! |---|---|---|
//! | `MODULA` | one cell for each server; weights do not count | the key's hash, modulo the number of servers |
//! | `CONSISTENT`, `CONSISTENT_KETAMA` | 100 points for each server: "host:port-i", hashed with the key's function | first point at or after the key's hash |
//! | the same, weighted | 4 points from each MD5 of "host:port-i"; about 40 MD5s for each server | the same |
//! | `CONSISTENT_KETAMA_SPY` | either ring, with "/host:port-i" | the same |
//!
//! - At port 11211, "host:port" is only "host", except for `SPY`. The port of a socket is 0.
//! - Points are hashed with the function that was set when the servers were added. A function that
//!   is set later hashes keys only ([`point_hash`](Libmemcached::point_hash)).
//! - `KETAMA_WEIGHTED` is `CONSISTENT` with [`Weighted::Always`] and MD5. A server with a weight
//!   above 1 makes any ring weighted: [`Weighted::IfAny`].
//! - A server that is down has been ejected from the ring. `MODULA` ejects no server: the keys of
//!   a server that is down have no owner.
//! - Builds for x86-64 and arm64 differ for keys with bytes from 0x80 on: [`Char`].

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
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
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "libmemcached",
    "the memcached client in C: modula, consistent, weighted ketama, spy",
    Origin::recorded("1.1.4"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[
    DISTRIBUTION,
    HASH,
    POINT_HASH,
    WEIGHTED,
    SORT_HOSTS,
    NAMESPACE,
    CHAR,
])
.with_reader(reader!(config::read))
.with_writer(reader!(write::write));

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    Pool::new(Libmemcached::of(params)?, servers)
}

const DISTRIBUTION: Param = Param::new(
    "distribution",
    "MODULA",
    "MODULA, CONSISTENT or CONSISTENT_KETAMA_SPY",
)
.with_finer(&["ketama"])
.with_values(&["MODULA", "CONSISTENT", "CONSISTENT_KETAMA_SPY"]);

// No default text: without a hash the function depends on `weighted` (MD5 or one-at-a-time), and a
// spec leaves out values that equal the default. With the default `DEFAULT`, two specs that route
// differently would have one fingerprint.
const HASH: Param = Param::new(
    "hash",
    "",
    "the key's hash, by its name in libmemcached; by default MD5 with weighted=always, else DEFAULT",
)
.with_hashes(&["MURMUR", "MD5"])
.with_values(&["", "MD5", "CRC", "FNV1_64", "FNV1A_64", "FNV1_32", "FNV1A_32", "MURMUR", "JENKINS"]);

const POINT_HASH: Param = Param::new(
    "point_hash",
    "",
    "the hash that was set when the servers were added, if it differs",
);

const WEIGHTED: Param = Param::new(
    "weighted",
    "if-any",
    "always (KETAMA_WEIGHTED), if-any (a weight is above 1) or never",
)
.with_values(&["if-any", "always", "never"]);

const SORT_HOSTS: Param = Param::new(
    "sort_hosts",
    "false",
    "true sorts the servers by host and port",
)
.with_values(&["false", "true"]);

const NAMESPACE: Param = Param::new(
    "namespace",
    "",
    "the text hashed before each key, with HASH_WITH_NAMESPACE",
);

/// The behaviors of a `memcached_st` that decide routes.
///
/// ```
/// use hashroute::compat::libmemcached::{ServerDistribution, Libmemcached, Weighted};
/// use hashroute::compat::{Pool, Server, hashkit::Function};
/// use hashroute::Router;
///
/// // The settings of PHP's LIBKETAMA_COMPATIBLE.
/// let compatible = Libmemcached::default()
///     .with_distribution(ServerDistribution::Consistent)
///     .with_weighted(Weighted::Always)
///     .with_hash(Function::Md5);
/// let pool = Pool::new(compatible, ["10.0.0.1:11211", "10.0.0.2"].map(Server::new))?;
/// assert_eq!(pool.layout().len(), 320);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Libmemcached {
    /// The mapping from hashes to servers.
    pub distribution: ServerDistribution,
    /// The hash function of keys.
    pub hash: Function,
    /// The hash function of points in an unweighted ring; `None` for the key's.
    pub point_hash: Option<Function>,
    /// Whether a ring is weighted.
    pub weighted: Weighted,
    /// Whether the servers are sorted by host and port.
    pub sort_hosts: bool,
    /// The text that is hashed before each key.
    pub namespace: Box<str>,
    /// The signedness of `char` in the build.
    pub char: Char,
}

/// The settings of a new `memcached_st`: `MODULA` and one-at-a-time, on x86-64.
impl Default for Libmemcached {
    fn default() -> Self {
        Self {
            distribution: ServerDistribution::default(),
            hash: Function::OneAtATime,
            point_hash: None,
            weighted: Weighted::default(),
            sort_hosts: false,
            namespace: Box::default(),
            char: Char::default(),
        }
    }
}

builder! { Libmemcached:
    with_distribution(distribution: ServerDistribution),
    with_hash(hash: Function),
    with_point_hash(point_hash: impl Into<Option<Function>>),
    with_weighted(weighted: Weighted),
    with_sort_hosts(sort_hosts: bool),
    with_namespace(namespace: impl Into<Box<str>>),
    with_char(char: Char),
}

/// The mapping from hashes to servers: `MEMCACHED_BEHAVIOR_DISTRIBUTION`.
///
/// ```
/// use hashroute::compat::libmemcached::ServerDistribution;
/// assert_eq!("CONSISTENT_KETAMA".parse::<ServerDistribution>()?, ServerDistribution::Consistent);
/// assert!("RANDOM".parse::<ServerDistribution>().is_err());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerDistribution {
    /// `MODULA`.
    #[default]
    Modula,
    /// `CONSISTENT`, which is `CONSISTENT_KETAMA`.
    Consistent,
    /// `CONSISTENT_KETAMA_SPY`.
    Spy,
}

impl FromStr for ServerDistribution {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let expected = match text.to_ascii_uppercase().as_str() {
            "MODULA" => return Ok(Self::Modula),
            "CONSISTENT" | "CONSISTENT_KETAMA" => return Ok(Self::Consistent),
            "CONSISTENT_KETAMA_SPY" => return Ok(Self::Spy),
            "RANDOM" => {
                "MODULA, CONSISTENT or CONSISTENT_KETAMA_SPY: RANDOM is not a function of the key"
            }
            _ => "MODULA, CONSISTENT or CONSISTENT_KETAMA_SPY",
        };
        Err(Error::parameter(DISTRIBUTION.name, text, expected))
    }
}

/// Whether a ring is weighted.
///
/// ```
/// use hashroute::compat::libmemcached::Weighted;
/// assert_eq!("always".parse::<Weighted>()?, Weighted::Always);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weighted {
    /// The ring is weighted if any weight is above 1: the servers were added to a ring.
    #[default]
    IfAny,
    /// The ring is weighted: `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED` or `CONSISTENT_WEIGHTED`.
    Always,
    /// The ring is not weighted, whatever the weights: `CONSISTENT` was set after the servers were
    /// added.
    Never,
}

impl FromStr for Weighted {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "if-any" => Ok(Self::IfAny),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => Err(Error::parameter(
                WEIGHTED.name,
                text,
                "always, if-any or never",
            )),
        }
    }
}

impl Libmemcached {
    fn of(params: &Params) -> Result<Self, Error> {
        let weighted = params.choice(WEIGHTED.name, Weighted::default())?;
        let default = match weighted {
            Weighted::Always => Function::Md5,
            _ => Function::OneAtATime,
        };
        let sort_hosts = params.get(SORT_HOSTS.name, String::from("false"))?;
        Ok(Self {
            distribution: params.choice(DISTRIBUTION.name, ServerDistribution::default())?,
            hash: function(params, HASH.name)?.unwrap_or(default),
            point_hash: function(params, POINT_HASH.name)?,
            weighted,
            sort_hosts: sort_hosts
                .parse()
                .map_err(|_| Error::parameter(SORT_HOSTS.name, &sort_hosts, "true or false"))?,
            namespace: params.get(NAMESPACE.name, String::new())?.into(),
            char: params.choice(CHAR.name, Char::default())?,
        })
    }

    fn is_weighted(&self, servers: &[(NodeId, &Server)]) -> bool {
        match self.weighted {
            Weighted::Always => true,
            Weighted::Never => false,
            Weighted::IfAny => servers.iter().any(|(_, server)| server.weight() > 1),
        }
    }

    /// Returns the label of a server: the text that is hashed for its points, before "-i".
    fn label<'s>(&self, server: &'s Server) -> Cow<'s, str> {
        let (host, port) = address(server.name());
        match (self.distribution, server.own_label()) {
            (ServerDistribution::Spy, Some(label)) => format!("/{label}").into(),
            (ServerDistribution::Spy, None) => format!("/{host}:{port}").into(),
            (_, Some(label)) => label.into(),
            (_, None) if port == PORT => host.into(),
            (_, None) => format!("{host}:{port}").into(),
        }
    }

    fn ring(&self, servers: &[(NodeId, &Server)]) -> Result<Layout, Error> {
        let weighted = self.is_weighted(servers);
        let up = servers.iter().filter(|(_, server)| !server.is_down());
        let count = up.clone().count();
        check_capacity(count as u64 * if weighted { 160 } else { 100 })?;
        let total = up.clone().map(|(_, server)| u64::from(server.weight()));
        let (total, function) = (total.sum(), self.point_hash.unwrap_or(self.hash));
        let mut ketama = Ketama::default();
        for (id, server) in up {
            let label = self.label(server);
            if weighted {
                let hashes = hashes_f32(server.weight(), total, count);
                ketama.add(*id, &label, hashes, words);
            } else {
                ketama.add(*id, &label, 100, |text| [function.value(text, self.char)]);
            }
        }
        Layout::circle(32, Rule::AtOrAfter, ketama.points)
    }
}

/// Reads the hash function that an option names.
fn function(params: &Params, option: &str) -> Result<Option<Function>, Error> {
    let name = params.get(option, String::new())?;
    if name.is_empty() {
        return Ok(None);
    }
    let function = Function::of_libmemcached(&name)?;
    if function == Function::Hsieh {
        return Err(Error::parameter(
            option,
            name,
            "another function: libmemcached is built without HSIEH and refuses it",
        ));
    }
    Ok(Some(function))
}

/// The default port, which labels omit.
const PORT: u16 = 11211;

/// Returns the host and the port of a server. Port 0 means the default port; a socket has port 0.
fn address(name: &str) -> (&str, u16) {
    if name.starts_with('/') {
        return (name, 0);
    }
    let parts = name.rsplit_once(':');
    let parts = parts.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let parts = parts.map(|(host, port)| (host, if port == 0 { PORT } else { port }));
    parts.unwrap_or((name, PORT))
}

impl System for Libmemcached {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let mut servers: Vec<_> = servers.iter().map(|(id, server)| (*id, server)).collect();
        if self.sort_hosts {
            servers.sort_by_key(|(_, server)| address(server.name()));
        }
        if self.distribution != ServerDistribution::Modula {
            return self.ring(&servers);
        }
        let down = servers.iter().filter(|(_, server)| server.is_down());
        let down: Vec<_> = down.map(|(id, _)| *id).collect();
        let cells = servers.iter().map(|(id, _)| *id).collect();
        Ok(Layout::cells(32, cells)?.without(down))
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        /// The maximum length of a namespace and key. libmemcached hashes longer ones to 0.
        const LONGEST: usize = 250;
        if self.namespace.is_empty() {
            return Some(self.hash.value(key, self.char).into());
        }
        let mut whole = [0; LONGEST];
        let parts = [self.namespace.as_bytes(), key];
        let length = parts[0].len() + parts[1].len();
        if length > LONGEST {
            return Some(0);
        }
        for (target, byte) in whole.iter_mut().zip(parts.iter().copied().flatten()) {
            *target = *byte;
        }
        Some(self.hash.value(&whole[..length], self.char).into())
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        let options = (self.hash, self.char, self.namespace.clone());
        let fills = self.hash.fills_32_bits();
        fills.then(|| SystemHash::new("libmemcached", options))
    }
}

#[cfg(test)]
mod tests;
