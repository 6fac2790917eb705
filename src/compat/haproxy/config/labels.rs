//! The names of servers here, and their labels: what HAProxy hashes of each.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use super::values::is_socket;
use super::{HashKey, Named};
use crate::Error;
use crate::compat::config::expected;
use crate::compat::haproxy::keys::{Address, number};

/// Returns the names of servers: the address, or the name if an address comes twice. Names are unique
/// in a section, addresses need not be.
pub(super) fn names(servers: &[Named]) -> Vec<String> {
    let mut addresses = BTreeMap::<_, usize>::new();
    for server in servers {
        *addresses.entry(&*server.address).or_default() += 1;
    }
    let name = |server: &Named| match addresses.get(&*server.address) {
        Some(1) => server.address.clone(),
        _ => server.name.clone(),
    };
    servers.iter().map(name).collect()
}

/// Returns the `hash-key` of the section if all servers have the same, which is not `id`, and the label
/// of each server.
pub(super) fn of(servers: &[Named]) -> Result<(Option<&'static str>, Vec<Option<String>>), Error> {
    let kinds = servers.iter().map(kind).collect::<Result<Vec<_>, _>>()?;
    let different: BTreeSet<_> = kinds.iter().collect();
    let text = |server: &Named, kind| {
        let address = Address::parse(&server.address)?;
        let ip = match address.ip {
            IpAddr::V4(ip) => format!("{ip}"),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        match kind {
            HashKey::AddrPort => Some(format!("{ip}:{}", address.port.unwrap_or(0))),
            _ => Some(ip),
        }
    };
    let (word, labels) = match different.first() {
        Some(HashKey::Id) | None if different.len() < 2 => {
            let ids = servers.iter().map(|server| server.line.id.clone());
            (None, ids.collect())
        }
        Some(kind) if different.len() == 1 => {
            let labels = servers.iter().zip(names(servers)).map(|(server, name)| {
                let named = name != server.address;
                named.then(|| text(server, **kind)).flatten()
            });
            let word = if **kind == HashKey::Addr {
                "addr"
            } else {
                "addr-port"
            };
            (Some(word), labels.collect())
        }
        // Each server says what is hashed of it, and so needs its number.
        _ => {
            let own = |server: &Named| server.line.id.as_ref().and_then(|id| id.parse().ok());
            let taken = servers.iter().filter_map(own).collect();
            let ids = number(servers.iter().map(own), &taken);
            let labels = servers.iter().zip(&kinds).zip(ids);
            let labels = labels.map(|((server, kind), id)| match kind {
                HashKey::Id => Some(format!("{id}")),
                _ => text(server, *kind),
            });
            (None, labels.collect())
        }
    };
    Ok((word, labels))
}

/// Returns what HAProxy hashes of a server. One without an IP address, such as a socket, has its id.
fn kind(server: &Named) -> Result<HashKey, Error> {
    let by = server.line.hash_key;
    if by == HashKey::Id || Address::parse(&server.address).is_some() {
        return Ok(by);
    }
    if is_socket(&server.address) {
        return Ok(HashKey::Id);
    }
    let known = "an IP address with hash-key addr or addr-port, since HAProxy hashes the address";
    Err(expected(server.at, "server", &server.address, known))
}
