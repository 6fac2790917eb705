//! Libraries of Go. A group is named by library, options and number of nodes, such as
//! `go-maglev-dead1,3/50/65537`.

use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use hashroute::{KeyHash, Node, Router};
use serde_json::Value;

use crate::{Fallible, groups, routes, small, some};

/// The parts of the name of a group.
type Parts<'a> = [&'a str];

/// Compares every group of a file; `pool` builds the router from the parts of its name.
fn check(
    file: &Value,
    pool: impl Fn(&Value, &Parts<'_>) -> Fallible<Box<dyn Router>>,
) -> Fallible<usize> {
    let groups = groups(file, &[])?.iter();
    let check_group = |group: &Value| {
        let name = group["config"].as_str().ok_or("a group without a name")?;
        let parts: Vec<_> = name.split('/').collect();
        let pool = pool(file, &parts)?;
        if parts[0].starts_with("go-maglev-table") {
            return cells(group, &pool, &servers(file, parts[1])?);
        }
        routes(group, &pool, str::to_owned)
    };
    groups.map(check_group).sum()
}

/// Returns the nodes of a configuration such as "5 nodes".
fn servers(file: &Value, count: &str) -> Fallible<Vec<Server>> {
    let names = some(&file["configurations"], &format!("{count} nodes"))?.iter();
    let names = names.map(|name| Ok(Server::new(name.as_str().ok_or("a node without a name")?)));
    names.collect()
}

fn unknown<T>(parts: &Parts<'_>) -> Fallible<T> {
    Err(format!("an unknown group: {parts:?}").into())
}

fn function(name: &str) -> Fallible<&'static str> {
    match name {
        "fnv1a64" => Ok("fnv1a-64"),
        "xxh64" => Ok("xxh64"),
        _ => Err(format!("an unknown hash function: {name:?}").into()),
    }
}

/// Compares rows of a cell and a position in the list of nodes.
fn cells(group: &Value, pool: &dyn Router, servers: &[Server]) -> Fallible<usize> {
    let rows = some(group, "vectors")?;
    for row in rows {
        let (cell, node) = (small(&row[0])?, small(&row[1])? as usize);
        let owner = pool.route_hash(KeyHash::from_raw(cell.into()));
        let owner = owner.and_then(|id| pool.nodes().get(id)).map(Node::name);
        assert_eq!(owner, servers.get(node).map(Server::name), "{row}");
    }
    Ok(rows.len())
}

pub(crate) fn maglev(file: &Value) -> Fallible<usize> {
    check(file, |file, parts| {
        let &[library, count, size] = parts else {
            return unknown(parts);
        };
        let options = library.strip_prefix("go-maglev").ok_or("not go-maglev")?;
        let options = options.strip_prefix("-table").unwrap_or(options);
        let mut servers = servers(file, count)?;
        match options.strip_prefix("-dead") {
            Some(dead) => {
                for at in dead.split(',') {
                    let server = servers
                        .get_mut(at.parse::<usize>()?)
                        .ok_or("no such node")?;
                    *server = server.clone().down();
                }
            }
            None if options.is_empty() => {}
            None => return unknown(parts),
        }
        let params = Params::default().with("table-size", size);
        Ok(compat::find("go-maglev")?.build(servers, &params)?)
    })
}

pub(crate) fn rendezvous(file: &Value) -> Fallible<usize> {
    check(file, |file, parts| {
        let [library, count] = parts else {
            return unknown(parts);
        };
        let hash = library
            .strip_prefix("go-rendezvous-")
            .ok_or("no function")?;
        let params = Params::default().with("hash", function(hash)?);
        Ok(compat::find("go-rendezvous")?.build(servers(file, count)?, &params)?)
    })
}

pub(crate) fn mpchash(file: &Value) -> Fallible<usize> {
    check(file, |file, parts| {
        let ["go-mpchash", count] = parts else {
            return unknown(parts);
        };
        Ok(compat::find("go-mpchash")?.build(servers(file, count)?, &Params::default())?)
    })
}

pub(crate) fn serialx(file: &Value) -> Fallible<usize> {
    check(file, |file, parts| {
        let (count, times) = match parts {
            ["serialx-hashring", count] => (count, 0),
            ["serialx-hashring-weighted40x", count] => (count, 40),
            _ => return unknown(parts),
        };
        let weights = [1, 2, 3, 1, 5].iter().cycle();
        let servers = servers(file, count)?.into_iter().zip(weights);
        let servers = servers.map(|(server, weight)| server.with_weight((weight * times).max(1)));
        Ok(compat::find("serialx-hashring")?.build(servers, &Params::default())?)
    })
}

pub(crate) fn stathat(file: &Value) -> Fallible<usize> {
    check(file, |file, parts| {
        let (hash, count) = match parts {
            ["stathat-consistent-fnv=false", count] => ("crc32", count),
            ["stathat-consistent-fnv=true", count] => ("fnv1a-32", count),
            _ => return unknown(parts),
        };
        let params = Params::default().with("hash", hash);
        Ok(compat::find("stathat-consistent")?.build(servers(file, count)?, &params)?)
    })
}

pub(crate) fn groupcache(file: &Value) -> Fallible<usize> {
    check(file, |file, parts| {
        let [library, count] = parts else {
            return unknown(parts);
        };
        let replicas = library.strip_prefix("groupcache-crc32-rep");
        let params = Params::default().with("replicas", replicas.ok_or("no replicas")?);
        Ok(compat::find("groupcache")?.build(servers(file, count)?, &params)?)
    })
}

pub(crate) fn buraksezer(file: &Value) -> Fallible<usize> {
    check(file, |file, parts| {
        let &[library, hash, options, count] = parts else {
            return unknown(parts);
        };
        let format = library.strip_prefix("buraksezer-").ok_or("no version")?;
        let mut params = Params::default()
            .with("format", format)
            .with("hash", function(hash)?);
        for option in options.split('-') {
            let (letter, value) = option.split_at_checked(1).ok_or("an empty option")?;
            let name = match letter {
                "p" => "partitions",
                "r" => "replication",
                "l" => "load",
                _ => return unknown(parts),
            };
            params = params.with(name, value);
        }
        Ok(compat::find("buraksezer-consistent")?.build(servers(file, count)?, &params)?)
    })
}
