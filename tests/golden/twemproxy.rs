//! twemproxy: pools from values, and the same pools from its configuration file.

#[cfg(feature = "config")]
use core::fmt::Write;

use hashroute::Router;
use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, known, routes, small, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    groups(file, &["distribution", "hash", "hash_tag"])?
        .iter()
        .try_fold(0, |sum, group| {
            let configuration = group["config"].as_str().ok_or("no configuration")?;
            let configured = &file["configurations"][configuration];
            known(configured, &["hash_tag", "servers"])?;
            assert_eq!(configured["hash_tag"], group["hash_tag"], "{configuration}");
            let servers = some(configured, "servers")?;
            let same = |address: &str| address.to_owned();
            let checked = routes(group, &pool(group, servers)?, same)?;
            #[cfg(feature = "config")]
            assert_eq!(routes(group, &read(group, servers)?, same)?, checked);
            Ok(sum + checked)
        })
}

/// Returns the options of a group by the names of the directives of twemproxy.
fn options(group: &Value) -> Fallible<Vec<(&str, &str)>> {
    let mut options = Vec::new();
    for name in ["hash", "distribution", "hash_tag"] {
        match &group[name] {
            Value::Null if name == "hash_tag" => {}
            value => options.push((name, value.as_str().ok_or("an option that is no text")?)),
        }
    }
    Ok(options)
}

fn pool(group: &Value, servers: &[Value]) -> Fallible<Box<dyn Router>> {
    let servers = servers.iter().map(|server| {
        known(server, &["addr", "name", "weight"])?;
        let address = server["addr"].as_str().ok_or("no address")?;
        let weighted = Server::new(address).with_weight(small(&server["weight"])?);
        Ok(match server["name"].as_str() {
            Some(name) => weighted.with_label(name),
            None => weighted,
        })
    });
    let params = options(group)?
        .iter()
        .fold(Params::default(), |params, (name, value)| {
            params.with(*name, *value)
        });
    Ok(compat::find("twemproxy")?.build(servers.collect::<Fallible<Vec<_>>>()?, &params)?)
}

#[cfg(feature = "config")]
fn read(group: &Value, servers: &[Value]) -> Fallible<Box<dyn Router>> {
    let mut text = String::from("pool:\n  listen: 127.0.0.1:22120\n  redis: true\n");
    for (name, value) in options(group)? {
        writeln!(text, "  {name}: \"{value}\"")?;
    }
    text.push_str("  servers:\n");
    for server in servers {
        let address = server["addr"].as_str().ok_or("no address")?;
        let name = server["name"].as_str().unwrap_or_default();
        let line = format!("{address}:{} {name}", server["weight"]);
        writeln!(text, "   - {}", line.trim_end())?;
    }
    let config = compat::find("twemproxy")?.read(&text)?.remove(0);
    assert_eq!(config.unknown(), []);
    Ok(config.build()?)
}
