//! uhashring: nodes by name and weight, rings and virtual nodes.

use hashroute::compat::{Server, uhashring};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, known, routes, small, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    groups(file, &["points", "ring"])?
        .iter()
        .try_fold(0, |sum, group| {
            let configuration = group["config"].as_str().ok_or("no configuration")?;
            let servers = some(&file["configurations"], configuration)?;
            let servers = servers.iter().map(|server| {
                known(server, &["name", "weight"])?;
                let name = server["name"].as_str().ok_or("no name")?;
                Ok(Server::new(name).with_weight(small(&server["weight"])?))
            });
            let servers: Fallible<Vec<_>> = servers.collect();
            let pool = uhashring::pool(servers?, &params(&group["ring"])?)?;
            assert_eq!(pool.layout().len(), small(&group["points"])? as usize);
            Ok(sum + routes(group, &pool, str::to_owned)?)
        })
}

/// Reads a kind of ring: `ketama` or `default`, alone or with `_vnodes_` and their number.
fn params(ring: &Value) -> Fallible<Params> {
    let text = ring.as_str().ok_or("no ring")?;
    Ok(match text.split_once("_vnodes_") {
        Some((ring, vnodes)) => Params::default().with("ring", ring).with("vnodes", vnodes),
        None => Params::default().with("ring", text),
    })
}
