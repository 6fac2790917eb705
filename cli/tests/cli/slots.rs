//! `slots`: keys and tables.

use core::ops::Range;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{command, file, json, run, stdout};

pub(crate) const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/redis");

/// A table of three primaries with 5,461 or 5,462 slots each.
pub(crate) const STABLE: &str = "nodes_stable.txt";
pub(crate) const FIRST: &str = "fac98630e0e8d49092f79969449ee5d8d96c13b8";
pub(crate) const SECOND: &str = "5559d52e7bd1922a4f5a5b539a98ac693357cb26";
pub(crate) const THIRD: &str = "f74f986224e92c2ad1325303c6ec5e1f6cee0885";

pub(crate) fn data(name: &str) -> String {
    format!("{DATA}/{name}")
}

/// Returns standard output and error of a run that must end with exit code 1.
pub(crate) fn unmet(line: &str) -> (String, String) {
    let output = run(line);
    let [out, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    assert_eq!(output.status.code(), Some(1), "{line}: {errors}");
    (out, errors)
}

pub(crate) fn keys_of(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

pub(crate) fn each(numbers: Range<u32>, line: impl Fn(u32) -> String) -> String {
    numbers.map(line).collect::<Vec<_>>().concat()
}

// --- key ---

#[test]
fn keys_have_slots_and_tags() {
    let keys = json("slots key foo {user1000}.following foo{}{bar} foo{{bar}}zap ''");
    let slots: Vec<_> = keys.as_array().expect("an array").iter().collect();
    let found: Vec<_> = slots
        .iter()
        .map(|key| (&key["slot"], &key["tag"]))
        .collect();
    let expected = [
        (json!(12_182), Value::Null),
        (json!(3443), json!("user1000")),
        (json!(8363), Value::Null),
        (json!(4015), json!("{bar")),
        (json!(0), Value::Null),
    ];
    assert!(
        found
            .into_iter()
            .eq(expected.iter().map(|(slot, tag)| (slot, tag)))
    );
    assert_eq!(keys_of(slots[0]), ["key", "slot", "tag"]);
    let csv = stdout("slots key foo {a}b --format csv");
    assert_eq!(csv, "key,slot,tag\nfoo,12182,\n{a}b,15495,a\n");
    let markdown = stdout("slots key foo --format markdown");
    assert_eq!(
        markdown,
        "| key | slot | tag |\n| --- | --: | --- |\n| foo | 12182 | - |\n"
    );
}

#[test]
fn the_keys_of_a_request_are_checked_for_a_common_slot() {
    let same = stdout("slots key {a}x {a}y");
    assert!(same.contains("they share a slot"), "{same}");
    let other = stdout("slots key foo bar");
    assert!(other.contains("12182") && other.contains("5061") && other.contains("may not"));
    let many = stdout("slots key --template k{i} --range 0..3 --format csv");
    assert_eq!(many.lines().count(), 4);
}

#[test]
fn a_table_shows_the_servers_of_a_key() {
    let keys = json(&format!("slots key foo --table {}", data(STABLE)));
    assert_eq!(
        keys,
        json!([{ "key": "foo", "slot": 12_182, "tag": null, "node": THIRD, "address": "127.0.0.1:27003" }])
    );
    let shown = stdout(&format!("slots key foo --table {}", data(STABLE)));
    assert!(shown.contains("f74f9862  127.0.0.1:27003"), "{shown}");
}

#[test]
#[cfg(unix)]
fn binary_keys_are_shown_in_hexadecimal() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let args = ["slots", "key", "--format", "json"].map(OsStr::new);
    let key = OsStr::from_bytes(b"{\xff}x");
    let output = command(args.into_iter().chain([key]))
        .output()
        .expect("runs");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found[0]["hex"], "7bff7d78");
    assert_eq!(found[0]["tag"], json!({ "hex": "ff" }));
}

// --- check ---

#[test]
fn groups_across_slots_are_found() {
    let path = file("groups.tsv", "user:1\n{a}x\t{a}y\nfoo\tbar\tbaz\n");
    let (out, errors) = unmet(&format!("slots check {} --format json", path.display()));
    let found: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        keys_of(&found),
        [
            "cross_slot",
            "cross_slot_examples",
            "failed",
            "failures",
            "groups",
            "keys",
            "lines",
            "measures",
            "ok",
            "passed",
        ]
    );
    assert_eq!(
        (&found["lines"], &found["keys"], &found["groups"]),
        (&json!(3), &json!(6), &json!(2))
    );
    assert_eq!(found["cross_slot"], 1);
    assert_eq!(
        found["cross_slot_examples"],
        json!([{ "line": 3, "first": "foo", "first_slot": 12_182, "other": "bar", "other_slot": 5061 }])
    );
    assert_eq!(found["ok"], false);
    assert!(
        errors.contains("1 group falls") && errors.contains("--max-cross 0"),
        "{errors}"
    );
    let allowed = json(&format!("slots check {} --max-cross 1", path.display()));
    assert_eq!(
        (&allowed["ok"], &allowed["failures"]),
        (&json!(true), &json!([]))
    );
}

#[test]
fn a_tag_that_holds_every_key_is_reported() {
    let lines = each(0..50, |i| format!("{{app}}:{i}\n"));
    let path = file("one-tag.txt", lines);
    let (out, errors) = unmet(&format!("slots check {}", path.display()));
    for text in [&out, &errors] {
        assert!(
            text.contains("tag {app} holds 100.00% of the keys"),
            "{text}"
        );
        assert!(text.contains("slot 6805"), "{text}");
    }
    // A quarter of all keys is above the given limit.
    let lines = each(0..40, |i| {
        format!("{}:{i}\n", if i % 4 == 0 { "{b}" } else { "x" })
    });
    let path = file("some-tag.txt", lines);
    let half = "--max-tag 0.5 --max-slot 0.5";
    stdout(&format!("slots check {} {half}", path.display()));
    let (_, errors) = unmet(&format!("slots check {} --max-tag 0.2", path.display()));
    assert!(
        errors.contains("tag {b} holds 25.00%") && errors.contains("--max-tag 0.2"),
        "{errors}"
    );
    // A single line is not reported.
    let path = file("one-group.txt", "{a}1\t{a}2\n");
    stdout(&format!("slots check {}", path.display()));
}

#[test]
fn a_csv_is_judged_by_keys_bytes_and_requests() {
    let lines = each(0..100, |i| format!("user:{i},100,5\n"));
    let path = file(
        "hot.csv",
        format!("key,size,requests\n{lines}big,90000,9000\n"),
    );
    let (out, errors) = unmet(&format!(
        "slots check --csv {} --top 2 --format json",
        path.display()
    ));
    let found: Value = serde_json::from_str(&out).expect("JSON");
    let measures = found["measures"].as_array().expect("an array");
    let named: Vec<_> = measures.iter().map(|measure| &measure["measure"]).collect();
    assert_eq!(named, ["keys", "bytes", "requests"]);
    assert_eq!(
        keys_of(&measures[0]),
        ["measure", "slots", "slots_used", "tagged", "tags", "total"]
    );
    assert_eq!(
        measures[1]["slots"][0],
        json!({ "slot": 6392, "amount": 90_000, "share": 0.9 })
    );
    assert_eq!(measures[2]["total"], 9500);
    assert!(
        errors.contains("slot 6392 holds 90.00% of the bytes"),
        "{errors}"
    );
    assert!(
        errors.contains("slot 6392 holds 94.74% of the requests"),
        "{errors}"
    );
    assert!(!errors.contains("of the keys"), "{errors}");
    stdout(&format!(
        "slots check --csv {} --max-slot 1",
        path.display()
    ));
    let csv = stdout(&format!(
        "slots check --csv {} --max-slot 1 --top 1 --format csv",
        path.display()
    ));
    assert_eq!(csv.lines().next(), Some("measure,tag,slot,amount,share"));
    assert_eq!(csv.lines().count(), 4);
}

// --- show ---

#[test]
fn every_form_that_servers_print_shows_the_same() {
    let expected = owners(STABLE);
    assert_eq!(expected.len(), 3);
    for name in [
        "nodes_stable_replica.txt",
        "slots_raw.txt",
        "slots_resp2.txt",
        "slots_resp3.txt",
        "shards_raw.txt",
        "shards_resp2.txt",
        "shards_resp3.txt",
    ] {
        assert_eq!(owners(name), expected, "{name}");
    }
    let files = fs::read_dir(DATA).expect("a directory");
    for path in files.map(|entry| entry.expect("a file").path()) {
        if !["txt", "conf"]
            .map(Some)
            .contains(&path.extension().and_then(|e| e.to_str()))
        {
            continue;
        }
        for format in ["table", "json", "csv", "markdown"] {
            let shown = stdout(&format!("slots show {} --format {format}", path.display()));
            let wide = shown.lines().find(|line| line.chars().count() > 100);
            assert!(
                format != "table" || wide.is_none(),
                "{}: {wide:?}",
                path.display()
            );
        }
    }
}

fn owners(name: &str) -> BTreeMap<String, Value> {
    let path = Path::new(DATA).join(name);
    let shown = json(&format!("slots show {}", path.display()));
    let nodes = shown["nodes"].as_array().expect("an array").clone();
    let owners = nodes.into_iter().filter(|node| node["slots"] != 0);
    owners
        .map(|node| {
            (
                node["id"].as_str().expect("text").to_owned(),
                node["ranges"].clone(),
            )
        })
        .collect()
}

#[test]
fn a_table_is_shown_with_nodes_health_and_warnings() {
    let shown = json(&format!("slots show {}", data("nodes_migrating.txt")));
    assert_eq!(
        keys_of(&shown),
        [
            "balance",
            "current_epoch",
            "failed",
            "health",
            "last_vote_epoch",
            "nodes",
            "open",
            "served",
            "slots",
            "unassigned",
            "votes",
            "warnings"
        ]
    );
    let first = &shown["nodes"][0];
    assert_eq!(
        keys_of(first),
        [
            "address", "epoch", "hostname", "id", "myself", "primary", "ranges", "role", "share",
            "slots", "state"
        ]
    );
    assert_eq!(
        (&first["id"], &first["ranges"]),
        (&json!(FIRST), &json!([[0, 5460]]))
    );
    assert_eq!(
        (&shown["served"], &shown["health"]),
        (&json!(16_384), &json!("ok"))
    );
    assert_eq!(
        shown["votes"],
        json!({ "primaries": 3, "reachable": 3, "needed": 2 })
    );
    assert_eq!(
        shown["open"],
        json!([{ "slot": 15_495, "owner": THIRD, "importing": [], "migrating": [{ "node": THIRD, "to": FIRST }] }])
    );
    let failed = json(&format!("slots show {}", data("nodes_failed.txt")));
    assert_eq!(
        (&failed["served"], &failed["health"]),
        (&json!(10_924), &json!("uncovered"))
    );
    assert_eq!(
        failed["failed"],
        json!([[10_923, 15_494], [15_496, 16_383]])
    );
    assert!(
        failed["warnings"][0]
            .as_str()
            .expect("text")
            .contains("a replica can take its place")
    );
    let csv = stdout(&format!("slots show {} --format csv", data(STABLE)));
    assert!(csv.starts_with("id,address,role,primary,epoch,state,slots,share,ranges\n"));
}

#[test]
fn a_table_is_printed_in_another_form() {
    let expected = owners(STABLE);
    for form in ["nodes", "setnodes"] {
        let text = stdout(&format!(
            "slots show {} --to {form}",
            data("shards_resp3.txt")
        ));
        let path = file("form.txt", text);
        assert_eq!(owners(&path.display().to_string()), expected, "{form}");
    }
}

#[test]
fn a_table_may_come_from_a_pipe() {
    let mut child = command(["slots", "show", "-"]);
    let input = fs::File::open(Path::new(DATA).join(STABLE)).expect("a file");
    let output = child.stdin(input).output().expect("runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("16,384 of 16,384 served"));
}

/// A primary for each slot: a search through all slots for each would take minutes.
#[test]
fn the_largest_cluster_is_shown() {
    let node = |i: u32| format!("n{i} 10.0.0.1:{}@1 master - 0 0 {i} connected {i}\n", i + 1);
    let path = file("largest.txt", each(0..16_384, node));
    let shown = json(&format!("slots show {}", path.display()));
    let nodes = shown["nodes"].as_array().expect("an array");
    let ranges = |node: &Value| node["ranges"][0][0].clone();
    let slots: Vec<_> = nodes.iter().map(ranges).collect();
    assert_eq!(slots, (0..16_384).map(Value::from).collect::<Vec<_>>());
    let facts = stdout(&format!("slots show {}", path.display()));
    assert!(
        facts.contains("16,384 of 16,384 voting primaries reachable"),
        "{facts}"
    );
}
