//! hashring of npm: servers as a list, by weight, or with options.

use hashroute::compat::{Server, npm_hashring};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, routes, small};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    groups(file, &["algorithm", "options", "points", "servers"])?
        .iter()
        .try_fold(0, |sum, group| {
            let (servers, vnodes) = servers(&group["servers"])?;
            let params = params(group)?.with("vnodes", vnodes);
            let pool = npm_hashring::pool(servers, &params)?;
            assert_eq!(pool.layout().len(), small(&group["points"])? as usize);
            Ok(sum + routes(group, &pool, str::to_owned)?)
        })
}

/// Returns the servers, and those with their own number of virtual nodes.
fn servers(servers: &Value) -> Fallible<(Vec<Server>, String)> {
    let mut own = Vec::new();
    let servers: Fallible<Vec<_>> = match servers {
        Value::Array(names) => names
            .iter()
            .map(|name| Ok(Server::new(name.as_str().ok_or("no name")?)))
            .collect(),
        Value::Object(entries) => entries
            .iter()
            .map(|(name, value)| {
                let server = Server::new(name.as_str());
                let Some(options) = value.as_object() else {
                    return Ok(server.with_weight(small(value)?));
                };
                let mut weight = 1;
                for (option, value) in options {
                    match option.as_str() {
                        "vnodes" => own.push(format!("{name}={value}")),
                        "weight" => weight = small(value)?,
                        _ => return Err(format!("an unknown option: {option:?}").into()),
                    }
                }
                Ok(server.with_weight(weight))
            })
            .collect(),
        _ => return Err("no servers".into()),
    };
    Ok((servers?, own.join(",")))
}

fn params(group: &Value) -> Fallible<Params> {
    let algorithm = group["algorithm"].as_str().ok_or("no algorithm")?;
    let mut params = Params::default().with("algorithm", algorithm);
    for (name, value) in group["options"].as_object().ok_or("no options")? {
        params = match (name.as_str(), value.as_str()) {
            ("vnode count", None) => params.with("vnode_count", value.to_string()),
            ("default port", None) => params.with("default_port", value.to_string()),
            ("replicas", None) => params.with("replicas", value.to_string()),
            ("compatibility", Some("hash_ring")) => params.with("replicas", "3"),
            ("compatibility", Some("ketama")) => params.with("replicas", "4"),
            _ => return Err(format!("an unknown option: {name:?}").into()),
        };
    }
    Ok(params)
}
