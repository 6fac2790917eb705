//! No input takes unbounded memory or time, whatever reads it.

use core::time::Duration;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use super::{directory, file, words};

/// Every command that reads keys, with the input as `X`.
const KEYS: &[&str] = &[
    "balance --count 3 --keys X",
    "balance --count 3 --csv X",
    "balance --count 3 --csv X --key-column a",
    "balance --count 3 --jsonl X",
    "balance --count 3 --scan X",
    "balance --count 3 --metadump X",
    "balance --count 3 --bigkeys X",
    "balance --count 3 --hotkeys X",
    "skew --count 3 --keys X",
    "check --count 3 --max-cv 9 --keys X",
    "route --count 3 --keys X",
    "diff --count 3 --remove node-0 --keys X",
    "compare --keys X",
    "slots check X",
    "slots check --keys X",
];

/// Every command that reads something else.
const WHOLE: &[&str] = &[
    "route --nodes-file X k",
    "route --spec X k",
    "diff --nodes a --to-nodes-file X",
    "diff --nodes a --to-spec X",
    "diff --dialect twemproxy --nodes a:1 --to-config X",
    "route --dialect twemproxy --config X k",
    "route --dialect haproxy --config X k",
    "route --dialect nginx --config X k",
    "route --dialect envoy --config X k",
    "route --dialect libmemcached --config X k",
    "route --dialect trafficserver --config X k",
    "route --dialect redis-cluster --config X k",
    "route --config X k",
    "spec check X",
    "spec convert X --to json",
    "slots show X",
    "slots key --table X k",
    "merge X",
    "skew --nodes a --parts X",
    "check --count 3 --range 0..9 --max-cv 9 --baseline X",
    "route --options X --nodes a k",
];

/// Runs a line with 4 GB of address space.
fn bounded(line: &str) -> Output {
    bounded_to(4_000_000, line)
}

fn bounded_to(kilobytes: u32, line: &str) -> Output {
    let script = format!("ulimit -v {kilobytes}; exec \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_hashroute")]);
    shell.args(words(line)).stdin(Stdio::null());
    shell.output().expect("sh runs")
}

fn check(line: &str, codes: &[i32]) {
    judge(line, codes, &bounded(line));
}

fn judge(line: &str, codes: &[i32], output: &Output) {
    let told = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(
        code.is_some_and(|code| codes.contains(&code)) && !told.contains("memory"),
        "{line}: {:?} {told}",
        output.status
    );
}

/// Makes a file of zero bytes that takes no room on the disk, with one line at its end.
fn sparse(name: &str, size: u64) -> PathBuf {
    let path = directory().join(name);
    let mut file = File::create(&path).expect("a file");
    file.seek(SeekFrom::Start(size)).expect("a place");
    file.write_all(b"\nlast\n").expect("a line");
    path
}

#[test]
fn a_device_without_an_end_is_refused_by_every_command() {
    for line in KEYS.iter().chain(WHOLE) {
        check(&line.replace('X', "/dev/zero"), &[2]);
    }
}

#[test]
fn a_huge_file_is_refused_by_every_command() {
    let huge = sparse("huge", 10 << 30).display().to_string();
    for line in KEYS.iter().step_by(3).chain(WHOLE) {
        check(&line.replace('X', &huge), &[2]);
    }
}

#[test]
fn long_lines_are_passed_over_or_refused_by_every_command() {
    // Less than the line that ends the reading.
    let long = sparse("long", 8 << 20).display().to_string();
    for line in KEYS {
        check(&line.replace('X', &long), &[0, 1, 2]);
    }
    // 50 MB of tabs took 837 MB as fields of one line.
    let tabs = file("tabs", vec![b'\t'; 50 << 20]).display().to_string();
    for line in ["slots check X", "balance --count 3 --csv X"] {
        check(&line.replace('X', &tabs), &[2]);
    }
    let tabs = file("tabs", vec![b'\t'; 1 << 20]).display().to_string();
    for line in KEYS.iter().chain(WHOLE) {
        check(&line.replace('X', &tabs), &[0, 1, 2]);
    }
}

#[test]
fn the_keys_behind_a_long_line_are_read() {
    let long = sparse("passed", 32 << 20).display().to_string();
    let output = bounded(&format!("route --nodes a --keys {long}"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "last\ta\n");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("line 1: too long for a key"), "{told}");
    let output = bounded(&format!("slots check {long}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("line 1 is too long: expected at most 65536 bytes"),
        "{told}"
    );
}

/// 65,536 bytes are the longest key, everywhere.
#[test]
fn the_longest_key_is_the_same_everywhere() {
    for (length, fits) in [(65_536, true), (65_537, false)] {
        for end in ["", "\n"] {
            let key = file("longest", "x".repeat(length) + end)
                .display()
                .to_string();
            for line in [
                "slots check X",
                "slots check --strict --keys X",
                "route --nodes a --strict --keys X",
            ] {
                let output = bounded(&line.replace('X', &key));
                assert_eq!(
                    output.status.code() != Some(2),
                    fits,
                    "{line} {length}: {output:?}"
                );
            }
        }
    }
}

/// Files of many small values, which take many times their size in memory: an eighth of the largest
/// file has an eighth of 4 GB.
#[test]
fn many_small_values_do_not_fill_the_memory() {
    let many = |start: &str, piece: &str, end: &str, bytes: usize| {
        let text = start.to_owned() + &piece.repeat(bytes / piece.len()) + end;
        file("many", text).display().to_string()
    };
    let check = |line: String, codes: &[i32]| {
        judge(&line, codes, &bounded_to(500_000, &line));
    };
    let names = many("[", "\"\",", "\"\"]", 16 << 20);
    check(format!("route --nodes-file {names} k"), &[2]);
    let lines = many("", "a\n", "", 16 << 20);
    check(format!("route --nodes-file {lines} k"), &[2]);
    let rows = many("name,weight\n", "\n", "a,1\n", 4 << 20);
    check(format!("route --nodes-file {rows} k"), &[0]);
    let tables = many("", "[[node]]\n", "", 4 << 20);
    check(format!("route --nodes-file {tables} k"), &[2]);
    let start = "{\"hashroute_baseline\":1,\"results\":[{\"nodes\":[";
    let nodes = many(start, "{\"name\":\"\"},", "", 16 << 20);
    check(
        format!("check --count 3 --range 0..9 --max-cv 9 --baseline {nodes}"),
        &[2],
    );
    let start = "{\"format\":1,\"strategy\":\"ring\",\"nodes\":[";
    let spec = many(start, "{\"name\":\"\"},", "]}", 8 << 20);
    check(format!("route --spec {spec} k"), &[2]);
    let spec = many("x=[", "1,", "1]", 4 << 20);
    check(format!("route --spec {spec} k"), &[2]);
}

/// `CLUSTER SLOTS` with the largest number took seconds to refuse.
#[test]
fn a_range_of_slots_is_checked_before_it_is_walked() {
    let id = "95e4a77a10882af42fb1f34ae0c9951d6b2b49d4";
    let reply = file(
        "range",
        format!("0\n4294967295\n127.0.0.1\n27901\n{id}\n\n"),
    );
    let mut child = super::command(["slots", "show"]);
    let mut child = child
        .arg(&reply)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // In a debug build, two billion steps take minutes.
    let mut left = 600;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a state") {
            break status;
        }
        left -= 1;
        assert!(left > 0, "it still runs");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(status.code(), Some(2));
}
