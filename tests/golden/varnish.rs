//! The shard director of Varnish.

use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, known, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    let groups = groups(file, &["backends", "call", "key_source", "replicas"])?.iter();
    groups.map(check_group).sum()
}

fn check_group(group: &Value) -> Fallible<usize> {
    let (by, alt) = match group["key_source"].as_str().unwrap_or_default() {
        by @ ("key" | "url" | "hash" | "blob") => (by, "0"),
        source => match source.strip_prefix("key_alt") {
            Some(alt) => ("key", alt),
            None => return Err(format!("an unknown source of keys: {source:?}").into()),
        },
    };
    let replicas = group["replicas"].to_string();
    let params = Params::default()
        .with("by", by)
        .with("alt", alt)
        .with("replicas", replicas)
        .with("host", "x");
    let backends = some(group, "backends")?;
    let (scale, weights) = crate::weights(backends)?;
    let servers = backends.iter().zip(weights).map(|(backend, weight)| {
        known(backend, &["addr", "ident", "name", "weight"])?;
        let name = backend["addr"].as_str().ok_or("no address")?;
        let ident = backend["ident"].as_str().or(backend["name"].as_str());
        let label = ident.ok_or("no name")?;
        Ok(Server::new(name).with_weight(weight).with_label(label))
    });
    let servers: Vec<_> = servers.collect::<Fallible<_>>()?;
    let params = params.with("weight-scale", scale.to_string());
    let pool = compat::find("varnish")?.build(servers, &params)?;
    crate::routes(group, &pool, str::to_owned)
}
