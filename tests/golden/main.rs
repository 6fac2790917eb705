//! Routers give the answers that real programs gave.
//!
//! The files in `data/golden` may have any groups and any number of vectors. A file without vectors
//! fails, and so does a system, a group or a field that no check here reads.

mod cache_memcached_fast;
mod cassandra;
mod core_functions;
mod dalli;
mod envoy;
mod go;
mod haproxy;
mod hashkit;
mod libketama;
mod libmemcached;
mod nginx;
mod npm_hashring;
mod pymemcache;
mod python_memcached;
mod trafficserver;
mod twemproxy;
mod uhashring;
mod varnish;

use std::fs;
use std::path::Path;

use hashroute::Router;
use hashroute_test_support::Outcome;
use serde_json::{Value, json};

type Fallible<T> = Result<T, Box<dyn core::error::Error>>;

/// Compares all vectors of a file and returns their number.
type Check = fn(&Value) -> Fallible<usize>;

/// The check of a file, by the beginning of its `system`; the longest match wins.
const CHECKS: &[(&str, Check)] = &[
    ("Apache Traffic Server", trafficserver::check),
    ("Cassandra", cassandra::check),
    ("Guava", core_functions::guava),
    ("Perl Cache::Memcached::Fast", cache_memcached_fast::check),
    ("Ruby Dalli", dalli::check),
    ("envoy hash_balance_factor", envoy::check_loads),
    ("envoy", envoy::check),
    ("go_buraksezer_consistent", go::buraksezer),
    ("go_groupcache", go::groupcache),
    ("go_jump", core_functions::go_jump),
    ("go_maglev", go::maglev),
    ("go_mpchash", go::mpchash),
    ("go_rendezvous", go::rendezvous),
    ("go_serialx_hashring", go::serialx),
    ("go_stathat_consistent", go::stathat),
    ("haproxy hash-balance-factor", haproxy::check_loads),
    ("haproxy", haproxy::check),
    ("hashring (npm)", npm_hashring::check),
    ("jump consistent hash", core_functions::jump),
    ("libketama", libketama::check),
    ("libmemcached", libmemcached::check),
    ("nginx", nginx::check),
    ("pymemcache", pymemcache::check),
    ("python-memcached", python_memcached::check),
    ("redis cluster", core_functions::redis),
    ("twemproxy hashkit", hashkit::twemproxy),
    ("twemproxy", twemproxy::check),
    ("uhashring", uhashring::check),
    ("varnish", varnish::check),
];

#[test]
fn every_recorded_vector_is_answered_alike() -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/golden");
    let (mut total, mut failures) = (0, Vec::new());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        match serde_json::from_str(&text)
            .map_err(Into::into)
            .and_then(|file| check(&file))
        {
            Ok(checked) => {
                println!("{checked:>6} vectors of {}", path.display());
                total += checked;
            }
            Err(error) => failures.push(format!("{}: {error}", path.display())),
        }
    }
    println!("{total:>6} vectors in all");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(total > 0, "no vectors at all");
    Ok(())
}

fn check(file: &Value) -> Fallible<usize> {
    let system = file["system"].as_str().ok_or("no system is named")?;
    let known = CHECKS.iter().filter(|(start, _)| system.starts_with(start));
    let (_, check) = known
        .max_by_key(|(start, _)| start.len())
        .ok_or_else(|| format!("nothing here understands {system:?}"))?;
    let (checked, all) = (check(file)?, vectors(file)?);
    if checked == 0 || checked != all {
        return Err(format!("{checked} of {all} vectors were compared").into());
    }
    Ok(checked)
}

/// Returns the number of vectors of a file, which stand in groups or outside, not in both.
fn vectors(file: &Value) -> Fallible<usize> {
    match (file.get("groups"), file.get("vectors")) {
        (None, _) => return Ok(some(file, "vectors")?.len()),
        (Some(_), None) => {}
        (Some(_), Some(_)) => return Err("vectors in groups and beside them".into()),
    }
    some(file, "groups")?
        .iter()
        .try_fold(0, |sum, group| Ok(sum + some(group, "vectors")?.len()))
}

/// Returns the groups of a file. Each has these fields beside its name and its vectors, and no
/// others, since a field that no check reads may change the answers.
fn groups<'a>(file: &'a Value, fields: &[&str]) -> Fallible<&'a Vec<Value>> {
    let groups = some(file, "groups")?;
    for group in groups {
        let common = ["config", "n_vectors", "refused", "vectors"];
        known(group, &[&common, fields].concat())?;
        columns(some(group, "vectors")?, 2)?;
    }
    Ok(groups)
}

/// Refuses a field that is none of these.
fn known(object: &Value, fields: &[&str]) -> Fallible<()> {
    let object = object.as_object();
    let mut names = object.ok_or("not an object")?.keys();
    match names.find(|name| !fields.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(format!("an unknown field: {name:?}").into()),
    }
}

/// Refuses rows of more or fewer columns.
fn columns(rows: &[Value], count: usize) -> Fallible<()> {
    let fits = |row: &&Value| row.as_array().is_some_and(|row| row.len() == count);
    match rows.iter().find(|row| !fits(row)) {
        None => Ok(()),
        Some(row) => Err(format!("not {count} columns: {row}").into()),
    }
}

/// Compares the vectors of a group, each a key and the address of its server, and returns their
/// number.
fn routes(group: &Value, router: &dyn Router, address: impl Fn(&str) -> String) -> Fallible<usize> {
    let rows = some(group, "vectors")?;
    for row in rows {
        let (key, expected) = (bytes(&row[0])?, row[1].as_str().ok_or("no server")?);
        let owner = router.route(&key).map(|node| address(node.name()));
        if owner.as_deref() != Some(expected) {
            return Err(format!("{}: {row}, not {owner:?}", group["config"]).into());
        }
    }
    Ok(rows.len())
}

/// Returns the weights, which may be fractions, as whole numbers, and the unit that is 1.
fn weights(servers: &[Value]) -> Fallible<(u32, Vec<u32>)> {
    let texts = servers.iter().map(|server| server["weight"].to_string());
    let texts: Vec<_> = texts.collect();
    let decimals = |text: &String| text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let most = texts.iter().map(decimals).max().unwrap_or(0);
    let whole = |text: &String| {
        let zeros = "0".repeat(most - decimals(text));
        format!("{}{zeros}", text.replace('.', "")).parse::<u32>()
    };
    let weights = texts.iter().map(whole).collect::<Result<_, _>>()?;
    Ok((10_u32.pow(u32::try_from(most)?), weights))
}

/// Returns the rows under `field`. Without any it fails, since a test of none always passes.
fn some<'a>(holder: &'a Value, field: &str) -> Fallible<&'a Vec<Value>> {
    let rows = holder[field].as_array().filter(|rows| !rows.is_empty());
    rows.ok_or_else(|| format!("nothing under {field:?}").into())
}

/// Reads a key: a string, or `{"hex": ".."}` for bytes that are not UTF-8.
fn bytes(key: &Value) -> Fallible<Vec<u8>> {
    if let Some(text) = key.as_str() {
        return Ok(text.into());
    }
    let hex = key["hex"]
        .as_str()
        .ok_or_else(|| format!("not a key: {key}"))?;
    let byte = |at| u8::from_str_radix(hex.get(at..at + 2).unwrap_or("?"), 16);
    Ok((0..hex.len())
        .step_by(2)
        .map(byte)
        .collect::<Result<_, _>>()?)
}

/// Reads a number in decimal digits, since JSON loses bits above 2^53.
fn number(key: &Value) -> Fallible<u64> {
    let digits = key.as_str().ok_or_else(|| format!("not a number: {key}"))?;
    Ok(digits.parse()?)
}

fn small(value: &Value) -> Fallible<u32> {
    let number = value
        .as_u64()
        .ok_or_else(|| format!("not a count: {value}"))?;
    Ok(u32::try_from(number)?)
}

#[test]
fn a_file_without_vectors_fails() {
    let file = |fields: Value| {
        let mut file = json!({"system": "go_jump"});
        for (name, value) in fields.as_object().into_iter().flatten() {
            file[name] = value.clone();
        }
        file
    };
    for empty in [
        json!({}),
        json!({"vectors": []}),
        json!({"vectors": 1}),
        json!({"groups": []}),
        json!({"groups": [{"config": "other/5", "vectors": [["a", 0]]}]}),
        json!({"groups": [{"config": "go-jump/5", "vectors": []}]}),
        json!({"groups": [{"config": "go-jump/5", "vectors": [["a", 9]]}]}),
        json!({"groups": [{"config": "go-jump/5", "vectors": [["a", 4, 1]]}]}),
        json!({"groups": [{"config": "go-jump/5", "vectors": [["a", 4]], "seed": 1}]}),
        json!({"groups": [{"config": "go-jump/5", "vectors": [["a", 4]]}], "vectors": [["a", 4]]}),
    ] {
        assert!(check(&file(empty.clone())).is_err(), "{empty}");
    }
    let server = |server: Value| {
        let group = json!({"config": "one", "servers": [server], "vectors": [["a", "h:1"]]});
        check(&json!({"system": "Ruby Dalli::Ring", "groups": [group]}))
    };
    assert!(server(json!({"addr": "h:1", "weight": 1})).is_ok());
    let error = server(json!({"addr": "h:1", "weight": 1, "down": true})).unwrap_err();
    assert_eq!(error.to_string(), "an unknown field: \"down\"");
    assert!(check(&json!({"system": "nobody knows", "vectors": [["a", 0]]})).is_err());
    assert!(check(&json!({"vectors": [["a", 0]]})).is_err());
    assert!(bytes(&json!({"hex": "8"})).is_err() && number(&json!(7)).is_err());
}
