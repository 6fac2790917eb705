//! `skew`: why the keys lie unevenly.

use serde_json::Value;

use crate::{json, run, stdout};

const METRIC: &str = "--template 'metric:demo:{i}' --range 0..1000";
const TWEMPROXY: &str = "--strategy modulo --hash twemproxy-fnv1a-64";

#[test]
fn the_verdict_comes_first_and_names_the_hash() {
    let line = format!("skew --count 87 {TWEMPROXY} {METRIC}");
    let text = stdout(&line);
    let first = text.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("The keys are uneven, and not by chance"),
        "{first}"
    );
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains("hashes bunch modulo 3, 5 and 29"), "{whole}");
    assert!(whole.contains("435 = 3 · 5 · 29"), "{whole}");
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn a_dialect_and_the_hash_of_its_name_agree() {
    let dialect = "--dialect twemproxy --set distribution=modula";
    let [ours, theirs] = [TWEMPROXY, dialect].map(|way| {
        json(&format!(
            "skew --count 60 {way} {METRIC} --node-counts 2..=128"
        ))
    });
    let dangerous = |skew: &Value| -> Vec<Value> {
        let rows = skew["node_counts"]["rows"].as_array().expect("rows");
        let rows = rows.iter().filter(|row| row["dangerous"] == true);
        rows.map(|row| row["nodes"].clone()).collect()
    };
    assert_eq!(dangerous(&ours).len(), 62);
    assert_eq!(dangerous(&ours), dangerous(&theirs));
    assert_eq!(ours["measures"][0]["because"][0], "hash");
    for field in ["verdict", "advice", "strategy", "hash"] {
        assert!(ours[field].is_string(), "{field}");
    }
    for field in [
        "nodes",
        "keys",
        "distinct_keys",
        "tests",
        "threshold",
        "significance",
    ] {
        assert!(ours[field].is_number(), "{field}");
    }
    for field in ["stages", "steps", "residues", "bunched", "remedies"] {
        assert!(ours[field].is_array(), "{field}");
    }
}

#[test]
fn a_row_of_csv_for_each_number_of_nodes() {
    let line = format!("skew --count 61 {TWEMPROXY} {METRIC} --node-counts 60,61,87 --format csv");
    let text = stdout(&line);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[0],
        "nodes,used,max,cv,noise_cv,noise_cv_p99,p_value,dangerous,because"
    );
    assert!(lines[1].starts_with("60,16,200,2.97") && lines[1].ends_with("true,3 5"));
    assert!(lines[2].starts_with("61,61,22,0.208") && lines[2].ends_with("false,"));
    assert!(lines[3].starts_with("87,3,890,8.29") && lines[3].ends_with("true,3 29"));
}

#[test]
fn even_keys_are_even_and_exit_0() {
    let text = stdout("skew --strategy rendezvous --range 0..1000");
    assert!(text.starts_with("Even, within noise ("), "{text}");
    assert!(!text.contains("What was tried"), "{text}");
}

#[test]
fn lists_of_node_counts_that_cannot_be_read() {
    for wrong in [
        "", "0", "8,", "x", "4..=2", "2..2", "..", "1..=5000", "1000001",
    ] {
        let output = run(&format!("skew --node-counts '{wrong}'"));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(
            message.contains("--node-counts") && message.contains("numbers of nodes"),
            "{message}"
        );
    }
}

#[test]
fn keys_that_go_nowhere_are_not_even() {
    let page = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("nowhere.html");
    let report = format!("report --skew --out {}", page.display());
    for command in ["skew", &report] {
        let output = run(&format!(
            "{command} --nodes a=0,b=0 --template 'user:{{i}}' --range 0..100"
        ));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        let told = error.contains("nothing to check: 100 keys went nowhere");
        assert!(told && output.stdout.is_empty(), "{error}");
    }
    assert!(!page.exists());
}
