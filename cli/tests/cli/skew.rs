//! `skew`: why keys are uneven.

use serde_json::Value;

use crate::{directory, file, json, run, stdout};

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
fn csv_has_a_row_for_each_number_of_nodes() {
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
    let text = stdout("skew --count 10 --strategy rendezvous --range 0..1000");
    assert!(text.starts_with("Even, within noise ("), "{text}");
    assert!(!text.contains("Changes that were tried"), "{text}");
}

#[test]
fn unreadable_lists_of_node_counts_are_refused() {
    for wrong in [
        "", "0", "8,", "8,8", "2..=8,8", "x", "4..=2", "2..2", "..", "1..=5000", "1000001",
    ] {
        let output = run(&format!("skew --node-counts '{wrong}'"));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(
            message.contains("--node-counts") && message.contains("of nodes"),
            "{message}"
        );
    }
}

#[test]
fn keys_without_a_node_are_not_called_even() {
    let page = directory().join("nowhere.html");
    let report = format!("report --skew --out {}", page.display());
    for command in ["skew", &report] {
        let output = run(&format!(
            "{command} --nodes a=0,b=0 --template 'user:{{i}}' --range 0..100"
        ));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        let told = error.contains("nothing to check: 100 keys without a node");
        assert!(told && output.stdout.is_empty(), "{error}");
    }
    assert!(!page.exists());
}

/// Checks that parts of the lines, merged in two stages, give the report of all, byte for byte.
fn assert_parts(name: &str, header: &str, lines: &[String], keys: &str, setup: &str) {
    let keys_of = |name: &str, lines: &mut dyn Iterator<Item = &String>| {
        let lines: String = lines.map(String::as_str).collect();
        file(name, format!("{header}{lines}")).display().to_string()
    };
    let mut parts = Vec::new();
    for turn in 0..3 {
        let mut some = lines.iter().skip(turn).step_by(3);
        let from = keys_of(&format!("{name}-{turn}.txt"), &mut some);
        let to = file(&format!("{name}-{turn}.part"), "")
            .display()
            .to_string();
        let line = format!("skew {setup} {keys} {from} --partial");
        if turn == 0 {
            stdout(&format!("{line} {to}"));
        } else {
            std::fs::write(&to, stdout(&format!("{line} -"))).expect("a file");
        }
        parts.push(to);
    }
    let stage = file(&format!("{name}-stage.part"), "")
        .display()
        .to_string();
    let [first, second, third] = [0, 1, 2].map(|turn| &parts[turn]);
    stdout(&format!(
        "skew {setup} --parts {second} {first} --partial {stage}"
    ));
    let all = keys_of(&format!("{name}.txt"), &mut lines.iter());
    for format in ["json", "table", "csv"] {
        let setup = format!("{setup} --format {format}");
        let whole = stdout(&format!("skew {setup} {keys} {all}"));
        let merged = stdout(&format!("skew {setup} --parts {third} {stage}"));
        assert_eq!(merged, whole, "{setup}");
    }
}

#[test]
fn merged_parts_give_the_report_of_all_keys() {
    let lines: Vec<_> = (0..900).map(|i| format!("metric:demo:{i}\n")).collect();
    assert_parts(
        "steps",
        "",
        &lines,
        "--keys",
        &format!("--count 60 {TWEMPROXY}"),
    );
    let row = |i: u64| match i % 9 {
        0 => format!("hot,{i},7\n"),
        _ => format!("user:{i},{},1\n", i * i % 700),
    };
    let lines: Vec<_> = (0..900).map(row).collect();
    let setup = "--nodes a,b=2,c --strategy rendezvous --hash sip13 --hash-key \
                 00112233445566778899aabbccddeeff";
    assert_parts("sizes", "key,size,requests\n", &lines, "--csv", setup);
    let part = std::fs::read_to_string(file("sizes-0.part", "").with_file_name("sizes-stage.part"));
    assert!(!part.expect("a part").contains("00112233"));
}

#[test]
fn parts_of_another_kind_are_refused() {
    let [few, many, sized, counts, none, torn] = ["few", "many", "sized", "counts", "none", "torn"]
        .map(|name| file(&format!("kind-{name}"), ""));
    let path = |path: &std::path::Path| path.display().to_string();
    let [few, many, sized, counts, none, torn] =
        [few, many, sized, counts, none, torn].map(|p| path(&p));
    let csv = file("kind.csv", "key,size\na,1\nb,2\n");
    stdout(&format!("skew --count 3 --range 0..9 --partial {few}"));
    stdout(&format!("skew --count 4 --range 0..9 --partial {many}"));
    stdout(&format!(
        "skew --count 3 --csv {} --partial {sized}",
        csv.display()
    ));
    stdout(&format!(
        "balance --count 3 --range 0..9 --partial {counts}"
    ));
    let no_keys = file("kind.none", "");
    stdout(&format!(
        "skew --count 3 --keys {} --partial {none}",
        no_keys.display()
    ));
    let text = std::fs::read_to_string(&few).expect("a part");
    std::fs::write(
        &torn,
        text.replacen("\"unplaced\":[0", "\"unplaced\":[1", 1),
    )
    .expect("a file");
    for (line, words) in [
        (
            format!("skew --count 3 --parts {few} {many}"),
            &["kind-many", "number of nodes"][..],
        ),
        (
            format!("skew --count 3 --parts {few} {sized}"),
            &["kind-sized", "columns"],
        ),
        (
            format!("skew --count 3 --parts {counts}"),
            &["kind-counts", "hashroute merge"],
        ),
        (
            format!("skew --count 3 --parts {torn}"),
            &["kind-torn", "checksum"],
        ),
        (format!("skew --count 3 --parts {none}"), &["no keys"]),
        (
            format!("skew --count 3 --parts {few} --keys x"),
            &["--parts", "--keys"],
        ),
        (
            format!("skew --count 3 --parts {few} --range 0..9"),
            &["--parts", "--range"],
        ),
        (
            format!("merge {few}"),
            &["kind-few", "hashroute skew --parts"],
        ),
        (
            "skew --strategy bounded --count 3 --range 0..9 --partial -".into(),
            &["loads"],
        ),
        (
            "skew --count 3 --range 0..9 --partial no/such".into(),
            &["--partial no/such"],
        ),
    ] {
        let output = run(&line);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        assert!(
            words.iter().all(|word| error.contains(word)),
            "{line}: {error}"
        );
        assert!(output.stdout.is_empty(), "{line}");
    }
}

#[test]
fn refused_keys_are_no_part_of_the_judgement() {
    let numbers: Vec<_> = (0..300).map(|i| i.to_string()).collect();
    let words: Vec<_> = (0..3000).map(|i| format!("user:{i}")).collect();
    let alone = file("numbers.txt", numbers.join("\n"));
    let mixed = file("mixed.txt", [numbers, words].concat().join("\n"));
    let [alone, mixed] = [alone, mixed].map(|path| {
        json(&format!(
            "skew --dialect guava --count 10 --keys {}",
            path.display()
        ))
    });
    assert_eq!(
        (&alone["unplaced"], &mixed["unplaced"]),
        (&0.into(), &3000.into())
    );
    for field in ["distinct_keys", "measures", "stages"] {
        assert!(!alone[field].is_null(), "{field}");
        assert_eq!(alone[field], mixed[field], "{field}");
    }
}
