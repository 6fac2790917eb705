//! `strategies.yaml`: strategies with groups of hosts, often through anchors.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Parent, Weight, port, servers};
use crate::Error;
use crate::compat::config::{expected, wrong};
use crate::compat::parts::yaml::{Value, Yaml};
use crate::compat::trafficserver::{QUERY, WEIGHT_SCALE};
use crate::registry::{Config, Params, Scheme, Unknown};

/// Fields of a strategy that do not change the first parent of a request.
const HARMLESS: &[&str] = &[
    "strategy",
    "policy",
    "scheme",
    "go_direct",
    "parent_is_proxy",
    "ignore_self_detect",
    "cache_peer_result",
    "host_override",
    "use_pristine",
];

pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    let include = text.lines().position(|line| line.starts_with("#include"));
    let document = Yaml::document_with_aliases(text).map_err(|error| match include {
        // The anchors are probably in the other file.
        Some(at) => wrong(
            at + 1,
            format!("#include: expected the content of that file in this text ({error})"),
        ),
        None => error,
    })?;
    let strategies = field(&document, "strategies");
    let strategies = strategies.ok_or_else(|| wrong(1, "expected a list of strategies"))?;
    let mut configs = Vec::new();
    for strategy in strategies.list("strategies")? {
        let name = text_of(strategy, "strategy").unwrap_or_default();
        if text_of(strategy, "policy") == Some("consistent_hash") {
            let failed = |error| Config::failed(dialect, name, error);
            configs.push(config(dialect, name, strategy).unwrap_or_else(failed));
        }
    }
    if configs.is_empty() {
        let reason = "no strategy has the policy consistent_hash";
        return Err(wrong(strategies.line, reason));
    }
    Ok(configs)
}

fn field<'y>(map: &'y Yaml, name: &str) -> Option<&'y Yaml> {
    let Value::Map(entries) = &map.value else {
        return None;
    };
    let entry = entries.iter().find(|entry| entry.key == name);
    entry.map(|entry| &entry.value)
}

fn text_of<'y>(map: &'y Yaml, name: &str) -> Option<&'y str> {
    field(map, name)?.text(name).ok()
}

fn config(dialect: &'static Scheme, name: &str, strategy: &Yaml) -> Result<Config, Error> {
    let (mut parents, mut unknown) = (Vec::new(), Vec::new());
    let mut query = "ignore";
    for entry in strategy.map("a strategy")? {
        let (line, value) = (entry.line, &entry.value);
        match &*entry.key {
            "groups" => parents = groups(value, line, &mut unknown)?,
            "hash_key" => {
                query = match value.text("hash_key")? {
                    "path" => "ignore",
                    // The server hashes no `?` before an empty query.
                    "path+query" => "nonempty",
                    other => {
                        let known = "path or path+query, the only supported parts of a URL";
                        return Err(expected(line, "hash_key", other, known));
                    }
                }
            }
            "hash_url" if value.text("hash_url")? == "request" => {}
            // Of Traffic Server 10; these are the defaults.
            "hash_algorithm" => only(line, &entry.key, value, "siphash24")?,
            "hash_replicas" => only(line, &entry.key, value, "1024")?,
            "hash_seed0" | "hash_seed1" => only(line, &entry.key, value, "0")?,
            "failover" => {
                if text_of(value, "ring_mode") == Some("peering_ring") {
                    let text = "peering_ring: a host that is a peer itself asks the next group; the \
                                routes here are those among the peers";
                    unknown.push(Unknown::sentence(line, text));
                }
            }
            key if HARMLESS.contains(&key) => {}
            key => unknown.push(Unknown::directive(line, key)),
        }
    }
    if parents.is_empty() {
        return Err(wrong(
            strategy.line,
            format!("strategy {name:?} has no hosts"),
        ));
    }
    let (servers, scale) = servers(&parents)?;
    let mut params = Params::default().with(QUERY.name, query);
    if scale > 1 {
        params = params.with(WEIGHT_SCALE.name, format!("{scale}"));
    }
    Ok(Config::new(dialect, name, servers, params).with_unknown(unknown))
}

/// Refuses a value other than the default.
fn only(line: usize, key: &str, value: &Yaml, known: &str) -> Result<(), Error> {
    let text = value.text(key)?;
    if text == known {
        return Ok(());
    }
    let known = format!("{known}, the only supported value");
    Err(expected(line, key, text, &known))
}

/// Reads the hosts of the first group. Each further group is a ring of its own for failed requests.
fn groups(groups: &Yaml, line: usize, unknown: &mut Vec<Unknown>) -> Result<Vec<Parent>, Error> {
    let groups = groups.list("groups")?;
    if groups.len() > 1 {
        let text = "groups: those after the first take keys of hosts that are down; left out here";
        unknown.push(Unknown::sentence(line, text));
    }
    let Some(first) = groups.first() else {
        return Ok(Vec::new());
    };
    first.list("a group")?.iter().map(host).collect()
}

fn host(host: &Yaml) -> Result<Parent, Error> {
    let line = host.line;
    let name = field(host, "host").ok_or_else(|| wrong(line, "a host without `host`"))?;
    let name = name.text("host")?;
    let weight = match field(host, "weight") {
        Some(weight) => Weight::parse(weight.line, weight.text("weight")?)?,
        None => Weight::one(),
    };
    let hash_string = field(host, "hash_string");
    let hash_string = hash_string.map(|text| text.text("hash_string").map(String::from));
    Ok(Parent {
        line,
        address: address(name, host)?,
        hash_string: hash_string.transpose()?.filter(|text| !text.is_empty()),
        weight,
    })
}

/// Returns the host with its port for HTTP, or its first port.
fn address(name: &str, host: &Yaml) -> Result<String, Error> {
    let Some(protocols) = field(host, "protocol") else {
        return Err(wrong(
            host.line,
            format!("host {name:?} without a protocol"),
        ));
    };
    let protocols = protocols.list("protocol")?;
    let http = protocols
        .iter()
        .find(|protocol| text_of(protocol, "scheme") == Some("http"));
    let first = http.or(protocols.first());
    let digits = first.and_then(|protocol| field(protocol, "port"));
    let digits = digits.ok_or_else(|| wrong(host.line, format!("host {name:?} without a port")))?;
    let port = port(digits.line, digits.text("port")?)?;
    Ok(if name.contains(':') && !name.starts_with('[') {
        format!("[{name}]:{port}")
    } else {
        format!("{name}:{port}")
    })
}
