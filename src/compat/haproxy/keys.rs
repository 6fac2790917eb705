//! The numbers from which HAProxy computes the points of its servers.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::str::FromStr;

use xxhash_rust::xxh32::xxh32;

use super::hash::full_hash;
use super::{HASH_KEY, HaProxy, ID_BITS, Server};
use crate::{Error, NodeId};

/// What identifies a server of a ring.
///
/// ```
/// use hashroute::compat::haproxy::HashKey;
/// assert_eq!("addr-port".parse::<HashKey>()?, HashKey::AddrPort);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HashKey {
    /// `id`: its `id`, or its position in the section.
    #[default]
    Id,
    /// `addr`: its IP address.
    Addr,
    /// `addr-port`: its IP address and its port.
    AddrPort,
}

impl FromStr for HashKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "id" => Ok(Self::Id),
            "addr" => Ok(Self::Addr),
            "addr-port" => Ok(Self::AddrPort),
            _ => Err(Error::parameter(
                HASH_KEY.name,
                text,
                "id, addr or addr-port",
            )),
        }
    }
}

/// An IP address with its port, 0 if the configuration has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) ip: IpAddr,
    pub(super) port: Option<u16>,
}

impl Address {
    /// Reads an address in a form of HAProxy; `None` for a name, a socket or a mapped port.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let prefixes = ["ipv4@", "ipv6@", "tcp4@", "tcp6@", "tcp@", "inet@"];
        let bare = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
        let text = bare.unwrap_or(text);
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => (host, Some(rest.strip_prefix(':')?)),
            // The port is what follows the last colon, also of an IPv6 address without brackets.
            None => match text.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let port = match port {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            Some(_) => return None,
            None => None,
        };
        let ip = host.parse().ok()?;
        Some(Self { ip, port })
    }

    /// Returns the number for an address, and its port if that counts.
    fn base(self, port: Option<u16>) -> u32 {
        let port = port.map_or(0, |port| full_hash(port.into()));
        match self.ip {
            // HAProxy adds the bytes of the network order, read on a little-endian machine.
            IpAddr::V4(ip) => full_hash(port.wrapping_add(u32::from_le_bytes(ip.octets()))),
            IpAddr::V6(ip) => xxh32(&ip.octets(), port),
        }
    }
}

/// Returns the number of each server from which its points are computed.
pub(super) fn bases(haproxy: &HaProxy, servers: &[(NodeId, Server)]) -> Result<Vec<u32>, Error> {
    let ids = ids(servers)?;
    let base = |((_, server), id): (&(NodeId, Server), u32)| {
        let label = server.own_label();
        // A label that is an address counts as `addr` or `addr-port`, one that is a number as `id`.
        if let Some(address) = label.and_then(Address::parse) {
            return Ok(address.base(address.port));
        }
        let port = match haproxy.hash_key {
            _ if label.is_some() => return Ok(of_id(haproxy, id)),
            HashKey::Id => return Ok(of_id(haproxy, id)),
            HashKey::Addr => false,
            HashKey::AddrPort => true,
        };
        let address = Address::parse(server.name());
        let address = address.ok_or_else(|| {
            let known = "nodes that are IP addresses: HAProxy hashes the address of a server";
            Error::parameter(HASH_KEY.name, server.name(), known)
        })?;
        Ok(address.base(port.then(|| address.port.unwrap_or(0))))
    };
    servers.iter().zip(ids).map(base).collect()
}

fn of_id(haproxy: &HaProxy, id: u32) -> u32 {
    match haproxy.id_bits {
        IdBits::Low20 => id.wrapping_mul(4096),
        IdBits::All32 => full_hash(id),
    }
}

/// The bits of an `id` that count. Versions differ.
///
/// ```
/// use hashroute::compat::haproxy::IdBits;
/// assert_eq!("32".parse::<IdBits>()?, IdBits::All32);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdBits {
    /// `20`: the lower 20 bits, as in 2.6.12 and 3.2.26.
    #[default]
    Low20,
    /// `32`: all bits, mixed once more, as in 3.0.11.
    All32,
}

impl FromStr for IdBits {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "20" => Ok(Self::Low20),
            "32" => Ok(Self::All32),
            _ => Err(Error::parameter(ID_BITS.name, text, "20 or 32")),
        }
    }
}

/// Returns the `id` of each server: its label if that is a number, or its position from 1, or the next
/// free number if another server has that one as its label.
pub(super) fn ids(servers: &[(NodeId, Server)]) -> Result<Vec<u32>, Error> {
    let wrong = |label: &str, expected: &str| Err(Error::parameter("id", label, expected));
    let mut taken = BTreeSet::new();
    for label in servers.iter().filter_map(|(_, server)| server.own_label()) {
        match label.parse::<u32>() {
            Ok(id) if (1..1 << 31).contains(&id) => {
                if !taken.insert(id) {
                    return wrong(label, "an id that no other server has");
                }
            }
            Err(_) if Address::parse(label).is_some() => {}
            _ => return wrong(label, "a whole number from 1 to 2^31 - 1"),
        }
    }
    let own = |server: &Server| server.own_label().and_then(|label| label.parse().ok());
    Ok(number(
        servers.iter().map(|(_, server)| own(server)),
        &taken,
    ))
}

/// Returns the id of each server: its own, or its position from 1, or the next free number if another
/// server has that one.
pub(super) fn number(own: impl Iterator<Item = Option<u32>>, taken: &BTreeSet<u32>) -> Vec<u32> {
    let mut next = 1;
    let id = |own: Option<u32>| {
        let id = own.unwrap_or_else(|| {
            while taken.contains(&next) {
                next += 1;
            }
            next
        });
        next += 1;
        id
    };
    own.map(id).collect()
}
