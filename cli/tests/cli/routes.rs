//! `route` and `explain`.

use serde_json::Value;

use crate::{file, json, run, stdout};

#[test]
fn routes_are_lines_in_every_format() {
    assert_eq!(stdout("route --nodes a k1 k2"), "k1\ta\nk2\ta\n");
    assert_eq!(
        stdout("route --nodes a k1 --format json"),
        "{\"key\":\"k1\",\"nodes\":[\"a\"]}\n"
    );
    assert_eq!(
        stdout("route --nodes a k1 --format csv"),
        "key,node\nk1,a\n"
    );
    assert_eq!(
        stdout("route --nodes a 'k|1' --format markdown"),
        "| key | node |\n| --- | --- |\n| k\\|1 | a |\n"
    );
    assert_eq!(
        stdout("route --nodes a --template 'k{i:02}' --range 8..11"),
        "k08\ta\nk09\ta\nk10\ta\n"
    );
    assert_eq!(
        incomplete("route --quiet --nodes a,b --replicas 5 k --format csv")
            .lines()
            .next(),
        Some("key,node_1,node_2")
    );
}

/// Returns standard output of a quiet run in which some key has too few nodes.
fn incomplete(line: &str) -> String {
    let output = run(line);
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert_eq!(output.stderr, b"", "{line}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn fewer_replicas_than_asked_for_are_counted_in_a_note() {
    let output = run("route --nodes a,b --replicas 3 k l");
    let note = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        note,
        "note: 2 keys with fewer than 3 replicas: 2 nodes with weight\n"
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout.split(|&byte| byte == b'\n').count(), 3);
    assert!(run("route --nodes a,b --replicas 2 k").stderr.is_empty());
}

#[test]
fn a_key_that_routes_nowhere_has_no_node() {
    for strategy in [
        "modulo",
        "ring",
        "rendezvous",
        "shortlist",
        "maglev",
        "slots",
        "bounded",
    ] {
        let line = format!("route --quiet --strategy {strategy} --nodes a=0,b=0 k");
        assert_eq!(incomplete(&line), "k\t\n");
        assert_eq!(incomplete(&format!("{line} --replicas 2")), "k\t\n");
        assert_eq!(
            incomplete(&format!("{line} --format json")),
            "{\"key\":\"k\",\"nodes\":[]}\n"
        );
        assert_eq!(
            incomplete(&format!("{line} --format csv")),
            "key,node\nk,\n"
        );
    }
}

#[test]
fn keys_without_a_node_are_counted_in_a_note() {
    let output = run("route --nodes a=0 k l");
    let note = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{note}");
    assert_eq!(note, "note: 2 keys without a node: no node has weight\n");
}

#[test]
fn a_full_cluster_takes_no_more_keys() {
    let line = "route --quiet --strategy bounded --set cap=1 --nodes a,b k1 k2 k3";
    for replicas in ["", "--replicas 2"] {
        let routes = incomplete(&format!("{line} {replicas}"));
        let nodes: Vec<_> = routes
            .lines()
            .filter_map(|line| line.split('\t').nth(1))
            .collect();
        assert!(nodes[0] != nodes[1] && nodes[2].is_empty(), "{routes}");
    }
    let way = &json("explain --strategy bounded --set cap=1 --nodes a,b --range 0..9 k")[0];
    assert!(
        way["owner"].is_null() && way["replicas"] == Value::Array(Vec::new()),
        "{way}"
    );
    assert!(
        stdout("balance --strategy bounded --set cap=1 --nodes a,b --range 0..9")
            .contains("7 keys without a node")
    );
}

#[test]
fn replicas_are_distinct_and_spread() {
    let nodes = file(
        "zones.toml",
        "[[node]]\nname = 'a1'\nzone = 'a'\n[[node]]\nname = 'a2'\nzone = 'a'\nweight = 9\n[[node]]\nname = 'b1'\nzone = 'b'\nrack = 'r'\n",
    );
    for key in ["k1", "k2", "k3", "k4", "k5"] {
        let line = stdout(&format!(
            "route --nodes-file {} --replicas 2 --spread zones {key}",
            nodes.display()
        ));
        let fields: Vec<_> = line.trim_end().split('\t').collect();
        let [_, first, second] = fields[..] else {
            panic!("{line}")
        };
        assert_ne!(first[..1], second[..1]);
        assert_eq!(
            stdout(&format!("route --nodes-file {} {key}", nodes.display())),
            format!("{key}\t{first}\n")
        );
    }
}

#[test]
fn names_may_hold_the_separator_of_weights() {
    assert_eq!(stdout("route --nodes a=b=1 k"), "k\ta=b\n");
}

#[test]
fn hashes_and_tags_reach_the_router() {
    let slot = |key: &str| {
        json(&format!(
            "explain --count 10 --strategy slots --hash crc16 --hash-tag '{{}}' '{key}'"
        ))[0]["facts"][0]["value"]
            .clone()
    };
    assert_eq!(slot("{user1000}.following"), "3443 of 16384");
    assert_eq!(slot("123456789"), "12739 of 16384");
    let value =
        |options: &str| json(&format!("explain --count 10 {options} k"))[0]["value"].clone();
    assert_ne!(value("--hash-seed 1"), value("--hash-seed 0x2"));
    assert_eq!(value("--hash-seed 16"), value("--hash-seed 0x10"));
    let key = "--hash sip24 --hash-key 000102030405060708090a0b0c0d0e0f";
    // The first published vector of SipHash, for the empty input.
    assert_eq!(
        json(&format!("explain --count 10 {key} ''"))[0]["value_hex"],
        "0x726fdb47dd0e0e31"
    );
}

#[test]
fn explain_shows_nodes_that_were_passed_over() {
    let way =
        &json("explain --strategy bounded --set cap=1 --nodes a,b,c=0 --range 0..1 user:0")[0];
    let facts = way["facts"].as_array().expect("facts");
    assert!(
        facts.iter().any(|fact| fact["name"] == "passed over"),
        "{way}"
    );
    assert_eq!(way["drained"][0], "c");
    assert_ne!(
        way["owner"]["name"],
        json("explain --strategy bounded --nodes a,b,c=0 user:0")[0]["owner"]["name"]
    );
}

#[test]
fn a_dialect_that_routes_no_key_has_no_figures() {
    let line =
        "compare --strategy jump,dialect:jump --count 5 --template 'user:{i}' --range 0..500";
    let comparison = json(line);
    let [ours, theirs] = [0, 1].map(|i| &comparison["rows"][i]);
    assert_eq!(
        (&ours["strategy"], &theirs["strategy"]),
        (&"jump".into(), &"dialect:jump".into())
    );
    assert!(ours["balance"].is_object() && theirs["balance"].is_null());
    let refused = theirs["refused"].as_str().unwrap_or_default();
    assert!(refused.contains("no key has a node"), "{refused}");
    let full = line.replace(
        "jump,dialect:jump",
        "strategy:jump,dialect:jump,dialect:nginx",
    );
    assert_eq!(json(&full)["rows"][2]["strategy"], "nginx");
}

/// A report says so, and is no success: nothing is even where nothing lies.
#[test]
fn a_balance_without_a_placed_key_is_not_even() {
    for (set_up, why) in [
        (
            "--dialect jump --count 5",
            "does not route them by their bytes",
        ),
        ("--nodes a=0,b=0", "no node has weight"),
    ] {
        let line = format!("balance {set_up} --template 'user:{{i}}' --range 0..500");
        let output = run(&line);
        let [table, error] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        assert!(
            error.ends_with("error: nothing to judge: no key found a node\n"),
            "{error}"
        );
        assert!(table.contains("keys: none lie on any node"), "{table}");
        assert!(table.contains(why), "{table}");
        let output = run(&format!("{line} --format json"));
        let balance: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let verdict = &balance["verdict"];
        assert_eq!(
            [&verdict["cause"], &verdict["keys"]["cause"]],
            ["nothing"; 2]
        );
        assert!(verdict["matter"].is_null() && output.status.code() == Some(2));
    }
}
