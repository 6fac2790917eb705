//! The parent selection of Traffic Server.

use std::collections::BTreeMap;

use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, known, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    let groups = groups(file, &["key_source", "parents", "qstring"])?.iter();
    groups.map(check_group).sum()
}

fn check_group(group: &Value) -> Fallible<usize> {
    let parents = some(group, "parents")?;
    let (scale, weights) = crate::weights(parents)?;
    let mut addresses = BTreeMap::new();
    let mut servers = Vec::new();
    for (parent, weight) in parents.iter().zip(weights) {
        known(parent, &["addr", "hash_string", "parent", "weight"])?;
        let name = parent["parent"].as_str().ok_or("no parent")?;
        let server = Server::new(name).with_weight(weight);
        servers.push(match parent["hash_string"].as_str() {
            Some(label) => server.with_label(label),
            None => server,
        });
        let address = parent["addr"].as_str().ok_or("no address")?;
        addresses.insert(name.to_owned(), address.to_owned());
    }
    let query = group["qstring"].as_str().ok_or("no qstring")?;
    let params = Params::default()
        .with("qstring", query)
        .with("weight-scale", scale.to_string());
    let pool = compat::find("trafficserver")?.build(servers, &params)?;
    crate::routes(group, &pool, |name| addresses[name].clone())
}
