//! More keys than memory holds: merged counts and skipped lines.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::{command, file, json, run, stdout, words};

/// Returns standard output of a run that reads these bytes and must succeed.
fn fed(line: &str, input: &[u8]) -> Vec<u8> {
    let mut command = command(words(line));
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = child.spawn().expect("the binary runs");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input)
        .expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(" ")
}

/// Checks that parts of the lines, merged in stages, give the report of all, byte for byte.
fn assert_merged(name: &str, lines: &[String], cuts: &[usize], setup: &str) {
    let mut bounds: Vec<_> = cuts.iter().map(|cut| cut % (lines.len() + 1)).collect();
    bounds.extend([0, lines.len()]);
    bounds.sort_unstable();
    let counts: Vec<_> = bounds
        .windows(2)
        .enumerate()
        .map(|(number, bounds)| {
            let part = lines[bounds[0]..bounds[1]].concat();
            let counted = fed(
                &format!("balance {setup} --keys - --partial -"),
                part.as_bytes(),
            );
            file(&format!("{name}-{number}.counts"), counted)
        })
        .collect();
    let (some, rest) = counts.split_at(counts.len().div_ceil(2));
    let stage = file(&format!("{name}-stage.counts"), "");
    stdout(&format!(
        "merge {} --partial {}",
        list(some),
        stage.display()
    ));
    let stages = format!("{} {}", list(rest), stage.display());
    for format in ["json", "table", "markdown", "csv"] {
        let whole = fed(
            &format!("balance {setup} --keys - --format {format}"),
            lines.concat().as_bytes(),
        );
        let merged = run(&format!("merge {stages} --format {format}"));
        assert_eq!(
            String::from_utf8_lossy(&merged.stdout),
            String::from_utf8_lossy(&whole),
            "{}",
            String::from_utf8_lossy(&merged.stderr)
        );
    }
}

#[test]
fn merged_counts_of_any_parts_give_the_report_of_all() {
    let mut runner = TestRunner::new(Config {
        cases: 6,
        rng_seed: RngSeed::Fixed(0),
        failure_persistence: None,
        ..Config::default()
    });
    let keys = prop::collection::vec("[a-c]{0,2}[0-9]{1,3}", 1..400);
    let cuts = prop::collection::vec(any::<usize>(), 0..4);
    let test = |(keys, cuts): (Vec<String>, Vec<usize>)| {
        let lines: Vec<_> = keys.iter().map(|key| format!("{key}\n")).collect();
        assert_merged("few", &lines, &cuts, "--count 7 --hash md5");
        Ok(())
    };
    runner.run(&(keys, cuts), test).expect("equal reports");
}

#[test]
fn merged_estimates_give_the_report_of_all() {
    let line = |i: u32| match i % 10 {
        0 => "hot\n".to_owned(),
        1 => format!("warm:{}\n", i % 70),
        _ => format!("user:{i}\n"),
    };
    let lines: Vec<_> = (0..90_000).map(line).collect();
    assert_merged(
        "many",
        &lines,
        &[12_345, 80_000],
        "--nodes a,b=2,c --strategy rendezvous",
    );
}

#[test]
fn beyond_exact_counting_the_report_says_so() {
    let line = "balance --range 0..100000";
    let balance = json(line);
    assert!(
        balance["estimated"]["distinct_keys_error"]
            .as_f64()
            .is_some_and(|error| error < 0.005)
    );
    assert_eq!(balance["keys"], 100_000);
    assert!(stdout(line).contains("Estimated:"));
    let few = json("balance --range 0..1000");
    assert!(few.get("estimated").is_none() && few.get("unreadable").is_none());
}

#[test]
fn counts_of_different_setups_are_not_added() {
    let counts = |name: &str, setup: &str| {
        let path = file(name, "");
        stdout(&format!(
            "balance --range 0..99 {setup} --partial {}",
            path.display()
        ));
        path.display().to_string()
    };
    let base = counts("base.counts", "");
    for (name, setup, word) in [
        ("count.counts", "--count 9", "nodes"),
        ("strategy.counts", "--strategy jump", "strategy"),
        ("hash.counts", "--hash md5", "hash"),
        ("seed.counts", "--hash-seed 7", "seed"),
        ("points.counts", "--set points=40", "parameters"),
        ("tag.counts", "--hash-tag 12", "tag"),
        ("braces.counts", "--hash-tag {}", "tag"),
    ] {
        let other = counts(name, setup);
        let output = run(&format!("merge {base} {other}"));
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(name) && message.contains(word),
            "{message}"
        );
    }
}

#[test]
fn counts_of_dialects_that_route_otherwise_are_not_added() {
    let tables = [
        "a:1=0-8191;b:1=8192-16383",
        "a:1=0-8190,8192;b:1=8191,8193-16383",
    ];
    let slots =
        tables.map(|table| format!("--dialect redis-cluster --nodes a:1,b:1 --set slots={table}"));
    let tags = ["", "--set hash_tag={}"];
    let tags = tags.map(|set| format!("--count 2 --dialect twemproxy {set}"));
    for setups in [slots, tags] {
        let [one, other] = ["one.counts", "other.counts"].map(|name| {
            let path = file(&format!("dialect-{name}"), "");
            path.display().to_string()
        });
        for (setup, path) in setups.iter().zip([&one, &other]) {
            stdout(&format!("balance {setup} --range 0..9 --partial {path}"));
        }
        let output = run(&format!("merge {one} {other}"));
        assert_eq!(output.status.code(), Some(2), "{setups:?}");
    }
}

#[test]
fn counts_are_not_written_over_the_keys() {
    let keys = file("own.keys", "a\nb\n");
    let path = keys.display();
    for command in ["balance", "skew"] {
        let output = run(&format!(
            "{command} --count 2 --keys {path} --partial {path}"
        ));
        assert_eq!(output.status.code(), Some(2));
    }
    assert_eq!(fs::read_to_string(&keys).expect("keys"), "a\nb\n");
}

#[test]
fn an_empty_file_is_no_part() {
    let [counts, part, empty] =
        ["full.counts", "full.part", "empty.counts"].map(|name| file(name, ""));
    let [counts, part, empty] = [counts, part, empty].map(|path| path.display().to_string());
    stdout(&format!(
        "balance --count 2 --range 0..9 --partial {counts}"
    ));
    stdout(&format!("skew --count 2 --range 0..9 --partial {part}"));
    for line in [
        format!("merge {counts} {empty}"),
        format!("skew --count 2 --parts {part} {empty}"),
    ] {
        let output = run(&line);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(told.contains("empty.counts: empty: expected"), "{told}");
    }
}

#[test]
fn check_and_skew_report_unreadable_lines() {
    let keys = file("few-bad.jsonl", "\"a\"\n?\n\"b\"\n?\n?\n\"c\"\n")
        .display()
        .to_string();
    let xml = file("few-bad.xml", "").display().to_string();
    for line in [
        format!("check --nodes a,b --max-cv 9 --jsonl {keys} --junit {xml}"),
        format!("check --node-counts 2,3 --max-cv 9 --jsonl {keys}"),
        format!("skew --nodes a,b --jsonl {keys}"),
    ] {
        let output = run(&line);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("Skipped 3 lines"), "{line}: {text}");
        let output = run(&format!("{line} --format json"));
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(answer["unreadable"], 3, "{line}");
    }
    let xml = fs::read_to_string(xml).expect("a report");
    assert!(
        xml.contains(r#"<property name="unreadable" value="3"/>"#),
        "{xml}"
    );
}

#[test]
fn damaged_keys_are_refused() {
    let path = file("keys.gz", b"\x1f\x8b\x08\0\n\n").display().to_string();
    for option in ["--keys", "--csv", "--jsonl", "--scan"] {
        let output = run(&format!("balance {option} {path}"));
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(told.contains("packed by gzip"), "{told}");
        assert!(told.contains(&path), "{told}");
    }
    let one = file("one-byte.txt", "\x1f").display().to_string();
    assert!(run(&format!("balance --keys {one}")).status.success());
}

#[test]
fn a_bad_line_is_reported_with_one_line_number() {
    let path = file("one-bad.jsonl", "\"a\"\n?\n").display().to_string();
    let output = run(&format!("balance --jsonl {path}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("line 2: not JSON: expected"), "{told}");
}

#[test]
fn a_sum_beyond_64_bits_is_not_written() {
    let csv = file("most.csv", format!("key,size\na,{}\n", u64::MAX))
        .display()
        .to_string();
    let counts = file("most.counts", "").display().to_string();
    stdout(&format!("balance --count 2 --csv {csv} --partial {counts}"));
    let sum = file("beyond.counts", "").with_file_name("beyond-sum.counts");
    let copy = file("copy.counts", fs::read(&counts).expect("counts"));
    let output = run(&format!(
        "merge {counts} {} --partial {}",
        copy.display(),
        sum.display()
    ));
    assert_eq!(output.status.code(), Some(2));
    assert!(!sum.exists());
}

#[test]
fn a_part_without_keys_is_a_part() {
    let none = file("nothing.txt", "");
    let counts = file("nothing.counts", "");
    stdout(&format!(
        "balance --count 10 --keys {} --partial {}",
        none.display(),
        counts.display()
    ));
    let output = run(&format!("merge {}", counts.display()));
    assert_eq!(output.status.code(), Some(2));
    let some = file("something.counts", "");
    let whole = stdout(&format!(
        "balance --count 10 --range 0..9 --partial {}",
        some.display()
    ));
    assert_eq!(
        whole,
        stdout(&format!("merge {} {}", counts.display(), some.display()))
    );
}

#[test]
fn bad_lines_are_skipped_and_reported() {
    let bad = |i: u32| {
        if i % 10 == 0 {
            "oops\n".to_owned()
        } else {
            format!("\"k{i}\"\n")
        }
    };
    let path = file("bad.jsonl", (1..=100).map(bad).collect::<String>());
    for (command, least) in [
        ("balance", 90),
        ("compare --strategy ring", 90),
        ("route", 90),
    ] {
        let line = format!(
            "{command} --nodes a,b --jsonl {} --format json",
            path.display()
        );
        let output = run(&line);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {told}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains(&least.to_string()) || text.lines().count() == least,
            "{text}"
        );
        for said in ["line 10: ", "line 50: ", "5 more lines", "--strict"] {
            assert!(told.contains(said), "{line}: {told}");
        }
        assert!(!told.contains("line 60: "), "{told}");
        let output = run(&format!("{line} --strict"));
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {told}");
        assert!(
            told.contains("line 10: ") && told.lines().count() == 1,
            "{told}"
        );
    }
    let balance = run(&format!("balance --jsonl {} --format json", path.display()));
    let balance: serde_json::Value = serde_json::from_slice(&balance.stdout).expect("JSON");
    assert_eq!(
        (&balance["unreadable"], &balance["keys"]),
        (&10.into(), &90.into())
    );
}

#[test]
fn files_of_counts_name_their_format_and_hold_no_secret() {
    let key = "00112233445566778899aabbccddeeff";
    let path = file("secret.counts", "");
    stdout(&format!(
        "balance --range 0..9 --hash sip13 --hash-key {key} --partial {}",
        path.display()
    ));
    let text = fs::read_to_string(path).expect("counts");
    assert!(
        !text.contains(key) && text.starts_with(r#"{"format":"hashroute counts","version":2,"#)
    );
}
