//! Real systems: `--dialect`, `--config`, `dialects`.

use crate::{file, json, run, stdout};

const NGINX: &str = "http {
  upstream cache {
    hash $arg_k consistent;
    server 10.0.0.1:80 weight=2;
    server 10.0.0.2:80;
    server 10.0.0.3:80 down;
    frobnicate on;
  }
  upstream plain { hash $arg_k; server 10.0.0.1:80; server 10.0.0.2:80; }
}
";

#[test]
fn a_configuration_file_routes_as_the_same_options() {
    let path = file("dialect.conf", NGINX);
    let config = format!("--dialect nginx --config {}", path.display());
    let keys = "--template 'user:{i}' --range 0..200";
    let by_options = stdout(&format!(
        "route --dialect nginx --nodes 10.0.0.1:80=2,10.0.0.2:80=1,10.0.0.3:80=0 {keys}"
    ));
    // An unknown directive of the file is reported with its line.
    let output = run(&format!("route {config} --pool cache {keys}"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), by_options);
    let note = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        note.contains("line 7: unknown to hashroute, may change routes: frobnicate")
            && output.status.success(),
        "{note}"
    );
    let plain = stdout(&format!("route -q {config} --pool plain {keys}"));
    let by_options = "route --dialect nginx --set method=hash --nodes 10.0.0.1:80,10.0.0.2:80";
    assert_eq!(plain, stdout(&format!("{by_options} {keys}")));
}

#[test]
fn a_configuration_without_its_dialect_is_known_by_sight() {
    let path = file("unnamed.conf", NGINX);
    for options in ["", "--dialect haproxy", "--strategy jump"] {
        let line = format!("route {options} --config {} --pool plain k", path.display());
        let output = run(&line);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(
            message.contains("it looks like a file of nginx")
                && message.contains("--dialect nginx"),
            "{message}"
        );
    }
}

#[test]
fn a_token_is_shown_as_cassandra_shows_it() {
    let shown = stdout("explain --dialect cassandra --nodes a,b user:1");
    assert!(shown.contains("6120565781388772718"), "{shown}");
}

/// The hash of twemproxy sends 890 of 1,000 keys to one of 87 servers and none to 84.
#[test]
fn balance_and_explain_use_the_hash_of_the_proxy() {
    let pool = "--dialect twemproxy --set hash=fnv1a_64 --set distribution=modula --count 87";
    let balance = json(&format!(
        "balance {pool} --template 'metric:demo:{{i}}' --range 0..1000"
    ));
    let figures = (&balance["used"], &balance["max"]);
    assert_eq!(figures, (&3.into(), &890.into()));
    let way = &json(&format!("explain {pool} metric:demo:0"))[0];
    assert_eq!(
        (&way["value"], &way["hashed"]),
        (&0x40c4_9708_u64.into(), &serde_json::Value::Null)
    );
}

#[test]
fn remap_changes_the_configuration() {
    let path = file("dialect-remap.conf", NGINX.replace("frobnicate on;", ""));
    let line = format!(
        "remap --dialect nginx --config {} --pool cache",
        path.display()
    );
    let remap = json(&format!("{line} --reweight 10.0.0.3:80=1 --range 0..1000"));
    assert!(
        remap["moved"].as_u64() > Some(100) && remap["excess"] == 0,
        "{remap}"
    );
}

#[test]
fn a_refused_key_has_no_node() {
    for (line, routes) in [
        ("--dialect nginx --nodes a:80,b:80 ''", "\t\n"),
        ("--dialect jump --count 3 42 abc", "42\tnode-2\nabc\t\n"),
    ] {
        let output = run(&format!("route --quiet {line}"));
        assert_eq!(String::from_utf8_lossy(&output.stdout), routes);
        assert_eq!((output.status.code(), &*output.stderr), (Some(1), &b""[..]));
    }
}

/// Operators of twemproxy refer to servers by these names.
#[test]
fn servers_of_a_configuration_are_known_by_their_labels() {
    let text = "alpha:\n  listen: 127.0.0.1:22121\n  servers:\n   - 10.0.0.1:6379:1 cache-1\n   \
                - 10.0.0.2:6379:1 cache-2\n   - 10.0.0.3:6379:1 cache-3\nbeta:\n  distribution: \
                random\n  servers:\n   - 10.0.0.1:6379:1\n";
    let path = file("nutcracker.yml", text);
    let file = format!("--dialect twemproxy --config {}", path.display());
    let line = format!("{file} --pool alpha");
    for change in ["--remove", "--reweight"] {
        let value = if change == "--remove" { "" } else { "=0" };
        let remap = |name: &str| {
            json(&format!(
                "remap {line} {change} {name}{value} --range 0..500"
            ))
        };
        assert_eq!(remap("cache-3"), remap("10.0.0.3:6379"));
        assert!(remap("cache-3")["moved"].as_u64() > Some(50));
    }
    let output = run(&format!("remap {line} --remove cache-4"));
    assert!(!output.status.success());
    let way = &json(&format!("explain {line} user:1"))[0];
    let (name, label) = (&way["owner"]["name"], &way["owner_label"]);
    let (name, label) = (
        name.as_str().expect("a name"),
        label.as_str().expect("a label"),
    );
    assert_eq!(name[..8].chars().last(), label.chars().last());
    let text = stdout(&format!("explain {line} user:1"));
    assert!(
        text.contains(&format!("{name} ({label}), weight 1")),
        "{text}"
    );
    // An unreadable pool is an error only where it is asked for.
    let output = run(&format!("route {file} --pool beta user:1"));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("line 8: distribution \"random\""), "{error}");
}

#[test]
fn comments_are_in_any_encoding_and_servers_in_utf_8() {
    let text = b"upstream a { # caf\xe9\n  hash $uri consistent;\n  server s\xe9:80;\n}\n\
                 upstream b { hash $uri consistent; server s:80; }\n";
    let path = file("latin-1.conf", text);
    let line = format!(
        "route -q --dialect nginx --config {} --pool",
        path.display()
    );
    assert_eq!(stdout(&format!("{line} b /")), "/\ts:80\n");
    let output = run(&format!("{line} a /"));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains("line 3: \"s\u{fffd}:80\" is not UTF-8"),
        "{error}"
    );
}

/// A refused key has no hash and must not be routed.
#[test]
fn every_command_reports_a_refused_key_as_without_node() {
    const REASON: &str = "nobody: the system does not route this key by its bytes";
    for (pool, key) in [
        ("--dialect guava --count 3", "abc"),
        ("--dialect jump --count 3", "abc"),
        ("--dialect nginx --nodes a:80,b:80", "''"),
        ("--dialect nginx --set method=hash --nodes a:80,b:80", "''"),
    ] {
        let text = stdout(&format!("explain {pool} {key}"));
        assert!(text.contains(REASON), "{text}");
        assert!(!text.contains("0xffff"), "{text}");
        let way = &json(&format!("explain {pool} {key}"))[0];
        let none = &serde_json::Value::Null;
        assert_eq!((&way["value"], &way["owner"]), (none, none));
    }
    let keys = file("dialect-keys.txt", "1\n2\nabc\nno\n");
    let line = format!("--dialect guava --count 3 --keys {}", keys.display());
    assert_eq!(json(&format!("balance {line}"))["unplaced"], 2);
    let text = stdout(&format!("balance {line}"));
    let reason = "2 keys without a node: the system does not route them by their bytes";
    assert!(text.contains(reason), "{text}");
    let remap = json(&format!("remap {line} --add node-3"));
    assert_eq!(remap["unplaced"], 2, "{remap}");
    let text = stdout(&format!("remap {line} --add node-3"));
    assert!(text.contains(reason), "{text}");
    // The number 2^64 - 1 is a key like any other.
    let way = &json("explain --dialect jump --count 3 18446744073709551615")[0];
    assert_eq!(way["value"], u64::MAX);
    assert!(way["owner"].is_object(), "{way}");
}

#[test]
fn the_list_of_dialects_is_complete() {
    let rows = json("dialects");
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), hashroute::compat::ALL.len());
    for row in rows {
        assert!(
            row["version"].is_string() && row["proof"].is_string() && row["parameters"].is_array()
        );
    }
}

#[test]
fn a_dialect_with_a_hash_tag_says_what_is_hashed() {
    let nodes = "--nodes a,b,c 'x{a}user:1'";
    for tagged in [
        "explain --dialect twemproxy --set hash_tag={}",
        "explain --dialect redis-cluster",
    ] {
        let line = format!("{tagged} {nodes}");
        assert_eq!(json(&line)[0]["hashed"], "a", "{line}");
        assert!(stdout(&line).contains("a, the hash tag"), "{line}");
        // A key without a tag is whole.
        assert!(json(&format!("{tagged} --nodes a,b,c user:1"))[0]["hashed"].is_null());
    }
    let line = format!("explain --dialect twemproxy {nodes}");
    assert!(json(&line)[0]["hashed"].is_null(), "{line}");
}
