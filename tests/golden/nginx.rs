//! nginx: both hash methods of an `upstream` block.

use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, known, routes, small, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    let mut checked = 0;
    for group in groups(file, &["key_source", "method"])? {
        let config = group["config"].as_str().ok_or("a group without a name")?;
        known(&file["configurations"][config], &["servers"])?;
        let rows = some(&file["configurations"][config], "servers")?;
        let servers = rows.iter().map(server).collect::<Fallible<Vec<_>>>()?;
        let method = match words(group)?[..] {
            ["hash", _] => "hash",
            ["hash", _, "consistent"] => "consistent",
            ref other => return Err(format!("an unknown method: {other:?}").into()),
        };
        let params = Params::default().with("method", method);
        let pool = compat::find("nginx")?.build(servers.clone(), &params)?;
        checked += routes(group, &pool, address)?;
        #[cfg(feature = "config")]
        routes(group, &written(group, &servers)?, address)?;
    }
    Ok(checked)
}

fn words(group: &Value) -> Fallible<Vec<&str>> {
    let method = group["method"].as_str().ok_or("a group without a method")?;
    Ok(method.split_whitespace().collect())
}

fn server(row: &Value) -> Fallible<Server> {
    known(row, &["down", "server", "weight"])?;
    let name = row["server"].as_str().ok_or("a server without a name")?;
    let server = Server::new(name).with_weight(small(&row["weight"])?);
    match row["down"].as_bool() {
        Some(true) => Ok(server.down()),
        Some(false) => Ok(server),
        None => Err(format!("neither up nor down: {row}").into()),
    }
}

/// Returns the address of a server, with the default port where it has none.
fn address(name: &str) -> String {
    if name.contains(':') {
        name.to_owned()
    } else {
        format!("{name}:80")
    }
}

/// Returns the same pool, read from a configuration file.
#[cfg(feature = "config")]
fn written(group: &Value, servers: &[Server]) -> Fallible<Box<dyn hashroute::Router>> {
    let lines = servers.iter().map(|server| {
        let down = if server.is_down() { " down" } else { "" };
        format!("server {} weight={}{down};", server.name(), server.weight())
    });
    let (method, lines) = (
        words(group)?.join(" "),
        lines.collect::<Vec<_>>().join("\n"),
    );
    let text = format!("http {{ upstream backend {{ {method}; {lines} }} }}");
    let configs = compat::find("nginx")?.read(&text)?;
    let [config] = configs.as_slice() else {
        return Err(format!("{} upstreams of one", configs.len()).into());
    };
    assert!(config.unknown().is_empty(), "{:?}", config.unknown());
    Ok(config.build()?)
}
