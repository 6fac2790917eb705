//! libketama: servers weighted by memory, and the number of points.

use hashroute::compat::{Server, libketama};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, known, routes, small, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    groups(file, &["points", "servers"])?
        .iter()
        .try_fold(0, |sum, group| {
            let servers = some(group, "servers")?.iter().map(|server| {
                known(server, &["addr", "memory"])?;
                let address = server["addr"].as_str().ok_or("no address")?;
                Ok(Server::new(address).with_weight(small(&server["memory"])?))
            });
            let servers: Fallible<Vec<_>> = servers.collect();
            let pool = libketama::pool(servers?, &Params::default())?;
            assert_eq!(pool.layout().len(), small(&group["points"])? as usize);
            Ok(sum + routes(group, &pool, str::to_owned)?)
        })
}
