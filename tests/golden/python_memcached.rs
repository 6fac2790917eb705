//! python-memcached: weighted modulo.

use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, known, routes, small, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    groups(file, &["servers"])?
        .iter()
        .try_fold(0, |checked, group| {
            let rows = some(group, "servers")?;
            let servers = rows.iter().map(server).collect::<Fallible<Vec<_>>>()?;
            let pool = compat::find("python-memcached")?.build(servers, &Params::default())?;
            Ok(checked + routes(group, &pool, str::to_owned)?)
        })
}

fn server(row: &Value) -> Fallible<Server> {
    known(row, &["addr", "weight"])?;
    let address = row["addr"].as_str().ok_or("a server without address")?;
    Ok(Server::new(address).with_weight(small(&row["weight"])?))
}
