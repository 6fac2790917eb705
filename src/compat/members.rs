//! What the systems ask of their servers.

use super::Server;
use crate::{Error, NodeId};

/// Those that are up.
pub(super) fn live(servers: &[(NodeId, Server)]) -> impl Iterator<Item = (NodeId, &Server)> {
    let live = servers.iter().filter(|(_, server)| !server.is_down());
    live.map(|(id, server)| (*id, server))
}

/// Refuse a weight in a system that knows none.
pub(super) fn unweighted(servers: &[(NodeId, Server)]) -> Result<(), Error> {
    match servers.iter().find(|(_, server)| server.weight() > 1) {
        None => Ok(()),
        Some((_, server)) => Err(Error::Weight {
            name: server.name().into(),
            weight: server.weight(),
            expected: "1, as this system knows no weights, or 0 for a server that is down",
        }),
    }
}
