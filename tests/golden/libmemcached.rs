//! libmemcached: each group lists the calls that were made, in their order.

use hashroute::compat::hashkit::{Char, Function};
use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, hashkit, known, routes, small, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    groups(
        file,
        &["calls", "hash", "note", "result_columns", "servers_set"],
    )?
    .iter()
    .try_fold(0, |sum, group| {
        let checked = if group.get("result_columns").is_some() {
            hashkit::columns(group, some(group, "result_columns")?, value)?
        } else {
            let set = group["servers_set"].as_str().ok_or("no set of servers")?;
            let servers = some(&file["configurations"], set)?;
            let servers: Fallible<Vec<_>> = servers.iter().map(server).collect();
            let params = params(some(group, "calls")?)?;
            let pool = compat::find("libmemcached")?.build(servers?, &params)?;
            routes(group, &pool, str::to_owned)?
        };
        Ok(sum + checked)
    })
}

/// Returns a value of a raw function; a function that is not built in gives 1.
fn value(name: &str, key: &[u8]) -> Fallible<u32> {
    match Function::of_libmemcached(name)? {
        Function::Hsieh => Ok(1),
        function => Ok(function.value(key, Char::Signed)),
    }
}

fn server(server: &Value) -> Fallible<Server> {
    known(server, &["host", "port", "weight"])?;
    let host = server["host"].as_str().ok_or("no host")?;
    let name = format!("{host}:{}", small(&server["port"])?);
    Ok(Server::new(name).with_weight(small(&server["weight"])?.max(1)))
}

/// The names of the functions, in the order of their numbers.
const HASHES: [&str; 11] = [
    "DEFAULT", "MD5", "CRC", "FNV1_64", "FNV1A_64", "FNV1_32", "FNV1A_32", "HSIEH", "MURMUR",
    "JENKINS", "MURMUR3",
];

/// Returns the pool that results from the calls.
fn params(calls: &[Value]) -> Fallible<Params> {
    let mut params = Params::default();
    let (mut hash, mut ring_hash) = ("DEFAULT", "DEFAULT");
    for call in calls {
        let call = call.as_str().ok_or("a call that is no text")?;
        params = match call.split_once('=') {
            Some(("H", number)) => {
                hash = HASHES.get(number.parse::<usize>()?).ok_or("no such hash")?;
                params
            }
            Some(("K", "1")) => {
                hash = "MD5";
                params
                    .with("distribution", "CONSISTENT")
                    .with("weighted", "always")
            }
            Some(("D", "0")) => params.with("distribution", "MODULA"),
            Some(("D", "1")) => params
                .with("distribution", "CONSISTENT")
                .with("weighted", "if-any"),
            Some(("D", "2")) => params
                .with("distribution", "CONSISTENT_KETAMA")
                .with("weighted", "if-any"),
            Some(("D", "4")) => params.with("distribution", "CONSISTENT_KETAMA_SPY"),
            Some(("O", "1")) => params.with("sort_hosts", "true"),
            None if call == "SERVERS" => {
                ring_hash = hash;
                params
            }
            _ => return Err(format!("an unknown call: {call:?}").into()),
        };
    }
    Ok(params.with("hash", hash).with("point_hash", ring_hash))
}
