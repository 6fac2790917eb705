//! What the systems ask of their servers.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::compat::Server;
use crate::compat::layout::check_capacity;
use crate::{Error, NodeId};

/// Those that are up.
pub(in crate::compat) fn up(
    servers: &[(NodeId, Server)],
) -> impl Iterator<Item = (NodeId, &Server)> {
    let up = servers.iter().filter(|(_, server)| !server.is_down());
    up.map(|(id, server)| (*id, server))
}

/// Those that are down, which some systems leave in their tables.
pub(in crate::compat) fn down(servers: &[(NodeId, Server)]) -> Vec<NodeId> {
    let down = servers.iter().filter(|(_, server)| server.is_down());
    down.map(|(id, _)| *id).collect()
}

/// Refuse a weight in a system that knows none.
pub(in crate::compat) fn unweighted(servers: &[(NodeId, Server)]) -> Result<(), Error> {
    match servers.iter().find(|(_, server)| server.weight() > 1) {
        None => Ok(()),
        Some((_, server)) => Err(Error::Weight {
            name: server.name().into(),
            weight: server.weight(),
            expected: "1, as this system knows no weights, or 0 for a server that is down",
        }),
    }
}

/// Refuse a name in an option's map that no server has: a slip of the pen would cost it its keys.
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
            "names of nodes; one that is yet to come is given with weight 0",
        )),
    }
}

/// The points of the servers that are up: of each, as many times `points` of its label and a
/// number from 0 as `count` says. Backwards, for systems where the last of equal points counts.
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
