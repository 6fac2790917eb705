//! Checks and selections of servers that several dialects share.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::compat::Server;
use crate::compat::layout::check_capacity;
use crate::{Error, NodeId};

/// Returns the servers that are up.
pub(in crate::compat) fn up(
    servers: &[(NodeId, Server)],
) -> impl Iterator<Item = (NodeId, &Server)> {
    let up = servers.iter().filter(|(_, server)| !server.is_down());
    up.map(|(id, server)| (*id, server))
}

/// Returns the servers that are down. Some systems keep them in their tables.
pub(in crate::compat) fn down(servers: &[(NodeId, Server)]) -> Vec<NodeId> {
    let down = servers.iter().filter(|(_, server)| server.is_down());
    down.map(|(id, _)| *id).collect()
}

/// Refuses weights in a system without weights.
pub(in crate::compat) fn unweighted(servers: &[(NodeId, Server)]) -> Result<(), Error> {
    match servers.iter().find(|(_, server)| server.weight() > 1) {
        None => Ok(()),
        Some((_, server)) => Err(Error::Weight {
            name: server.name().into(),
            weight: server.weight(),
            expected: "1, because this system has no weights, or 0 for a server that is down",
        }),
    }
}

/// Refuses a name in an option that no server has: with a mistyped name, the server would lose its
/// keys without an error.
pub(in crate::compat) fn check_names<'a>(
    option: &str,
    names: impl IntoIterator<Item = &'a str>,
    servers: &[Server],
) -> Result<(), Error> {
    let known: BTreeSet<_> = servers.iter().map(Server::name).collect();
    match names.into_iter().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Error::parameter(
            option,
            name,
            "names of nodes; give a node that is not there yet weight 0",
        )),
    }
}

/// Returns the points of the servers that are up: for each server, `points` of its label and each
/// number from 0 to `count` - 1. They are in reverse order, for systems in which the last of equal
/// points counts: [`Layout::circle`](crate::compat::Layout::circle) keeps the first.
pub(in crate::compat) fn points_backwards<const N: usize>(
    servers: &[(NodeId, Server)],
    count: impl Fn(&Server) -> u64,
    points: impl Fn(&str, u64) -> [u64; N],
) -> Result<Vec<(u64, NodeId)>, Error> {
    let counts = up(servers).map(|(_, server)| count(server));
    let total = counts.fold(0, u64::saturating_add);
    check_capacity(total.saturating_mul(N as u64))?;
    let mut all = Vec::new();
    for (id, server) in up(servers) {
        let numbers = 0..count(server);
        let points = numbers.flat_map(|i| points(server.label(), i));
        all.extend(points.map(|point| (point, id)));
    }
    all.reverse();
    Ok(all)
}
