//! Baselines of `check`: saved, compared, refused.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::check::code;
use crate::{directory, file, json, run, stdout};

/// Saves a baseline of these options in a file of this name.
pub(crate) fn baseline(name: &str, options: &str) -> PathBuf {
    let path = directory().join(name);
    stdout(&format!(
        "check {options} --save-baseline {}",
        path.display()
    ));
    path
}

fn against(path: &Path, options: &str) -> Value {
    let path = path.display();
    json(&format!("check --max-cv 9 --baseline {path} {options}"))["baseline"].take()
}

#[test]
fn an_unchanged_setup_differs_in_nothing_from_its_baseline() {
    let options = "--range 0..3000 --nodes a,b=2,c";
    let same = against(&baseline("same.json", options), options);
    assert_eq!(same["changes"], Value::Array(Vec::new()));
    let result = &same["results"][0];
    assert_eq!(
        (&result["moved"]["moved"], &result["moved"]["keys"]),
        (&0.into(), &3000.into())
    );
    let figures = result["figures"].as_array().expect("an array");
    assert!(figures.len() > 15 && figures.iter().all(|figure| figure["difference"] == 0.0));
    let path = baseline("same.json", options);
    let text = stdout(&format!(
        "check --max-moved 0 {options} --baseline {}",
        path.display()
    ));
    assert!(text.contains("No figure changed."), "{text}");
}

#[test]
fn a_change_of_nodes_and_weights_is_reported_with_the_moved_keys() {
    let path = baseline(
        "nodes.json",
        "--range 0..30000 --nodes a,b,c --strategy rendezvous",
    );
    let now = "--range 0..30000 --nodes a,b=2,d --strategy rendezvous";
    let comparison = against(&path, now);
    let result = &comparison["results"][0];
    let changes: Vec<_> = result["changes"]
        .as_array()
        .expect("an array")
        .iter()
        .collect();
    assert_eq!(changes, ["remove c", "reweight b=2", "add d"]);
    // remap counts the same moved keys.
    let remap = json(
        "remap --range 0..30000 --nodes a,b,c --strategy rendezvous --remove c --reweight b=2 --add d",
    );
    assert_eq!(result["moved"], remap);
    let share = remap["moved_share"].as_f64().expect("a share");
    for (limit, expected) in [(share, 0), (share - 1e-9, 1)] {
        let line = format!(
            "check {now} --max-moved {limit} --baseline {}",
            path.display()
        );
        assert_eq!(code(&run(&line)), Some(expected), "{limit}");
    }
    let figures = result["figures"].as_array().expect("an array");
    let same = figures.iter().filter(|one| one["before"] == one["after"]);
    let said = format!("{} of {} figures did not", same.count(), figures.len());
    let held = format!("check {now} --max-moved 1 --baseline {}", path.display());
    let text = stdout(&held);
    assert!(text.contains(&said), "{said}: {text}");
    // What had to move is not what chance gives.
    let answer = json(&held);
    let check = &answer["checks"][0];
    assert_eq!(
        (&check["ideal"], &check["noise"]),
        (&remap["ideal_share"], &Value::Null)
    );
    assert!(
        text.contains("had to") && !text.contains("by chance"),
        "{text}"
    );
    // Only the figures that matter, unless all are asked for.
    assert!(
        text.contains("max_over_mean") && !text.contains("chi2"),
        "{text}"
    );
    let all = stdout(&format!("{held} --all-figures"));
    assert!(all.contains("chi2"), "{all}");
}

#[test]
fn a_change_of_strategy_hash_and_parameters_is_reported() {
    let path = baseline("ways.json", "--range 0..2000 --count 5");
    let comparison = against(
        &path,
        "--range 0..2000 --count 5 --set points=10 --hash md5",
    );
    assert_eq!(
        comparison["changes"],
        serde_json::json!(["parameters: default -> points=10", "hash: default -> md5"])
    );
    assert!(comparison["results"][0]["moved"]["moved_share"].as_f64() > Some(0.5));
    let jump = against(&path, "--range 0..2000 --count 5 --strategy jump");
    assert_eq!(jump["changes"][0], "strategy: ring -> jump");
}

#[test]
fn a_change_of_sizes_alone_is_reported() {
    let path = directory().join("sizes.csv");
    let options = format!("--count 10 --csv {}", path.display());
    let write = |rows: &str| fs::write(&path, rows).expect("written");
    write("key,size\na,1\nb,2\n");
    let before = baseline("sizes.json", &options);
    write("key,size\nb,2\na,1\n"); // another order is the same baseline
    assert_eq!(against(&before, &options)["changes"], Value::Array(vec![]));
    write("key,size\na,2\nb,1\n");
    let change = against(&before, &options)["changes"][0].to_string();
    assert!(change.contains("other keys, sizes or requests"), "{change}");
}

#[test]
fn a_change_of_template_compares_key_by_key() {
    let path = baseline(
        "template.json",
        "--template 'a:{i}' --range 0..2000 --count 5",
    );
    let comparison = against(&path, "--template '{i}:a' --range 0..2000 --count 5");
    let change = comparison["changes"][0].as_str().expect("words");
    assert!(
        change.contains("'a:{i}'") && change.contains("'{i}:a'"),
        "{change}"
    );
    let share = comparison["results"][0]["moved"]["moved_share"]
        .as_f64()
        .expect("a share");
    // Two independent choices agree one time in five: six standard errors around 0.8.
    assert!(
        (share - 0.8).abs() < 0.06 + 6.0 * (0.16_f64 / 2000.0).sqrt(),
        "{share}"
    );
    // Different numbers of keys cannot be paired.
    let other = against(&path, "--template '{i}:a' --range 0..100 --count 5");
    let reason = other["results"][0]["moved_unknown"]
        .as_str()
        .expect("words");
    assert!(reason.contains("2000 keys"), "{reason}");
    let line = "check --template '{i}:a' --range 0..100 --count 5 --max-moved 1 --baseline";
    let refused = run(&format!("{line} {}", path.display()));
    assert_eq!(code(&refused), Some(2));
}

/// Includes more keys than are counted exactly, where the stream does not hold them.
#[test]
fn a_stream_and_keys_in_memory_give_the_same_figures() {
    let options = "--range 0..70000 --count 5";
    let same = against(&baseline("stream.json", options), options);
    let result = &same["results"][0];
    assert_eq!(result["moved"]["moved"], 0);
    let figures = result["figures"].as_array().expect("an array");
    assert!(!figures.is_empty());
    for figure in figures {
        assert_eq!(figure["before"], figure["after"], "{figure}");
    }
    assert_eq!(same["changes"], Value::Array(Vec::new()));
}

#[test]
fn a_secret_hash_key_stays_out_of_the_baseline() {
    let key = "000102030405060708090a0b0c0d0e0f";
    let options = format!("--count 10 --range 0..2000 --hash sip13 --hash-key {key}");
    let path = baseline("secret.json", &options);
    assert!(!fs::read_to_string(&path).expect("written").contains(key));
    assert_eq!(against(&path, &options)["results"][0]["moved"]["moved"], 0);
    let without = against(&path, "--count 10 --range 0..2000");
    let reason = without["results"][0]["moved_unknown"]
        .as_str()
        .expect("words");
    assert!(reason.contains("--hash-key"), "{reason}");
}

#[test]
fn a_failed_check_writes_no_baseline() {
    let path = directory().join("never.json");
    let line = format!(
        "check --count 10 --range 0..99 --max-cv 0 --save-baseline {}",
        path.display()
    );
    assert_eq!(code(&run(&line)), Some(1));
    assert!(!path.exists());
}

#[test]
fn node_counts_are_compared_by_number() {
    let path = baseline("counts.json", "--range 0..2000 --node-counts 3..=5");
    let comparison = against(&path, "--range 0..2000 --node-counts 4,5,6");
    let results = comparison["results"].as_array().expect("an array");
    assert!(results.iter().map(|result| &result["nodes"]).eq([4, 5]));
    assert_eq!(comparison["missing"], serde_json::json!([6]));
}

/// A baseline may come from a stranger: any content gives an answer or an error.
#[test]
fn a_hostile_baseline_is_refused_or_reported() {
    let good =
        fs::read_to_string(baseline("victim.json", "--range 0..99 --nodes a,b")).expect("written");
    let twists = [
        ("\"name\":\"a\"", "\"name\":\"b\""),
        ("\"name\":\"a\"", "\"name\":\"\""),
        (
            "\"strategy\":\"ring\",\"dialect\"",
            "\"strategy\":\"rign\",\"dialect\"",
        ),
        ("\"set\":[]", "\"set\":[\"points=99999999999\"]"),
        ("\"range\":[0,99]", "\"range\":[5,0]"),
        ("\"template\":\"user:{i}\"", "\"template\":\"{i\""),
        ("\"template\":\"user:{i}\"", "\"template\":null"),
        ("\"dialect\":null", "\"dialect\":\"twemproxy\""),
        ("\"dialect\":null", "\"dialect\":\"none\""),
        ("\"weight\":1", "\"weight\":4294967295"),
        ("\"results\":[", "\"results\":[],\"gone\":["),
    ];
    for (from, to) in twists {
        assert!(good.contains(from), "{from}");
        let path = file("twisted.json", good.replace(from, to));
        let line = format!(
            "check --range 0..99 --nodes a,b --max-cv 9 --baseline {}",
            path.display()
        );
        let output = run(&line);
        assert!(matches!(code(&output), Some(0 | 2)), "{to}");
        let line = format!("{line} --template 'x{{i}}'");
        assert!(matches!(code(&run(&line)), Some(0 | 2)), "{to}");
    }
}
