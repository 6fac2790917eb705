//! HAProxy: the server that answers, without load and with every request held open.

use std::collections::BTreeMap;

use hashroute::Router;
use hashroute::compat::{Pool, Server, haproxy};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, bytes, groups, known, routes, small, some};
use hashroute_test_support::{name, place};

/// Compares groups of one hash type over the servers of a configuration.
pub(crate) fn check(file: &Value) -> Fallible<usize> {
    let mut checked = 0;
    for group in groups(file, &["balance", "extra", "hash_type", "key_source"])? {
        let name = text(&group["config"])?;
        known(&file["configurations"][name], &["servers"])?;
        let servers = servers(&file["configurations"][name])?;
        let extra = text(&group["extra"])?;
        let factor = match extra.split_once(' ') {
            None if extra.is_empty() => "0",
            Some(("hash-balance-factor", factor)) => factor,
            _ => return Err(format!("an unknown line: {extra:?}").into()),
        };
        let pool = pool(servers, text(&group["hash_type"])?, factor)?;
        checked += routes(group, &pool, str::to_owned)?;
    }
    Ok(checked)
}

/// Compares groups in order of arrival, where each request meets those before it.
pub(crate) fn check_loads(file: &Value) -> Fallible<usize> {
    let mut checked = 0;
    for group in groups(
        file,
        &["hash_balance_factor", "hash_type", "sequence", "servers"],
    )? {
        let factor = small(&group["hash_balance_factor"])?.to_string();
        let pool = pool(servers(group)?, text(&group["hash_type"])?, &factor)?;
        checked += placed(group, &pool)?;
    }
    Ok(checked)
}

/// Places the keys of a group in order, by the counts of the pool and by counts kept outside.
pub(crate) fn placed(group: &Value, pool: &Pool) -> Fallible<usize> {
    let (rows, mut loads) = (some(group, "vectors")?, BTreeMap::new());
    for row in rows {
        let hash = pool.hash_key(&bytes(&row[0])?).ok_or("no hash")?;
        let expected = text(&row[1])?;
        let chosen = pool.choose(hash, &|id| loads.get(&id).copied().unwrap_or(0));
        let id = place(pool, hash).ok_or("nobody takes it")?;
        let name = name(pool, id);
        if chosen != Some(id) || name != expected {
            return Err(format!("{}: {row}, not {name} or {chosen:?}", group["config"]).into());
        }
        *loads.entry(id).or_insert(0) += 1;
    }
    Ok(rows.len())
}

fn pool(servers: Vec<Server>, hash_type: &str, factor: &str) -> Fallible<Pool> {
    let words: Vec<_> = hash_type.split(' ').collect();
    let (method, function, avalanche) = match words[..] {
        [method, function] => (method, function, "off"),
        [method, function, "avalanche"] => (method, function, "on"),
        _ => return Err(format!("an unknown hash type: {hash_type:?}").into()),
    };
    let params = Params::default()
        .with("method", method)
        .with("function", function)
        .with("avalanche", avalanche)
        .with("balance-factor", factor);
    Ok(haproxy::pool(servers, &params)?)
}

fn servers(holder: &Value) -> Fallible<Vec<Server>> {
    let server = |value: &Value| {
        known(
            value,
            &["addr", "disabled", "explicit_id", "id", "name", "weight"],
        )?;
        let mut server = Server::new(text(&value["addr"])?).with_weight(small(&value["weight"])?);
        if value["explicit_id"] == true {
            server = server.with_label(small(&value["id"])?.to_string());
        }
        Ok(if value["disabled"] == true {
            server.down()
        } else {
            server
        })
    };
    some(holder, "servers")?.iter().map(server).collect()
}

fn text(value: &Value) -> Fallible<&str> {
    value
        .as_str()
        .ok_or_else(|| format!("not text: {value}").into())
}
