//! Envoy: the endpoint that answers, without load and with every request held open.

use hashroute::compat::{Pool, Server, envoy};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::haproxy::placed;
use crate::{Fallible, groups, known, routes, small, some};

/// The fields of a group and the options that they set.
const OPTIONS: [(&str, &str); 6] = [
    ("policy", "policy"),
    ("hash_function", "hash-function"),
    ("minimum_ring_size", "min-ring-size"),
    ("maximum_ring_size", "max-ring-size"),
    ("table_size", "table-size"),
    ("hash_balance_factor", "balance-factor"),
];

/// Fields that decide nothing or are read elsewhere.
const OTHERS: [&str; 4] = ["endpoints", "use_hostname", "key_source", "sequence"];

fn fields() -> Vec<&'static str> {
    let options = OPTIONS.iter().map(|(name, _)| *name);
    options.chain(OTHERS).collect()
}

/// Compares groups of a cluster without load.
pub(crate) fn check(file: &Value) -> Fallible<usize> {
    let groups = groups(file, &fields())?.iter();
    groups
        .map(|group| routes(group, &pool(group)?, str::to_owned))
        .sum()
}

/// Compares groups in order of arrival, where each request meets those before it.
pub(crate) fn check_loads(file: &Value) -> Fallible<usize> {
    let groups = groups(file, &fields())?.iter();
    groups.map(|group| placed(group, &pool(group)?)).sum()
}

fn pool(group: &Value) -> Fallible<Pool> {
    let mut params = Params::default();
    for (field, value) in group.as_object().into_iter().flatten() {
        if let Some((_, option)) = OPTIONS.iter().find(|(name, _)| name == field) {
            let number = value.as_u64().map(|number| number.to_string());
            let text = number.or_else(|| value.as_str().map(str::to_owned));
            params = params.with(*option, text.ok_or("neither text nor a number")?);
        }
    }
    let by_name = group["use_hostname"] == true;
    let endpoint = |value: &Value| -> Fallible<Server> {
        known(value, &["addr", "hash_key", "hostname", "weight"])?;
        let address = value["addr"].as_str().ok_or("no address")?;
        let server = Server::new(address).with_weight(small(&value["weight"])?);
        let name = by_name.then(|| value["hostname"].as_str()).flatten();
        Ok(match value["hash_key"].as_str().or(name) {
            Some(label) => server.with_label(label),
            None => server,
        })
    };
    let endpoints = some(group, "endpoints")?.iter().map(endpoint);
    let endpoints: Vec<_> = endpoints.collect::<Fallible<_>>()?;
    Ok(envoy::pool(endpoints, &params)?)
}
