//! Keys from the output of `redis-cli` and memcached, on the command line.

use std::path::PathBuf;

use serde_json::Value;

use crate::messages::check_messages;
use crate::{file, run, stdout};

fn fixture(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/dumps");
    folder.join(name).display().to_string()
}

#[test]
fn a_partial_dump_is_reported_on_standard_error_and_in_json() {
    let line = format!(
        "balance --nodes a,b --memkeys {} --format json",
        fixture("memkeys.txt")
    );
    let output = run(&line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("only the largest keys are listed") && errors.contains("of 49"),
        "{errors}"
    );
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let source = &answer["source"];
    assert_eq!(
        (&source["format"], &source["partial"]),
        (&"memkeys".into(), &true.into())
    );
    assert_eq!(
        (&source["keys_seen"], &source["bytes_seen"]),
        (&49.into(), &15_760.into())
    );
    assert_eq!(source["bytes_listed"], answer["bytes"]["total"]);
}

#[test]
fn a_partial_dump_is_reported_after_merging_too() {
    let [short, whole] = ["memkeys.txt", "metadump.txt"].map(fixture);
    let counts = |name: &str, command: &str, keys: &str| {
        let path = file(name, "").display().to_string();
        let output = run(&format!("{command} --nodes a,b {keys} --partial {path}"));
        assert!(output.status.success(), "{command}");
        path
    };
    let one = counts("dump.counts", "balance", &format!("--memkeys {short}"));
    let balance = run(&format!(
        "balance --nodes a,b --memkeys {short} --format json"
    ));
    let merged = run(&format!("merge {one} --format json"));
    assert_eq!(merged.stdout, balance.stdout);
    let copy = std::fs::read(&one).expect("counts");
    let copy = file("copy.counts", copy).display().to_string();
    let other = counts("whole.counts", "balance", &format!("--metadump {whole}"));
    let output = run(&format!("merge {other} {one} {copy} --format json"));
    let told = String::from_utf8_lossy(&output.stderr);
    let note = "note: --memkeys: only the largest keys are listed";
    assert_eq!(told.matches(note).count(), 1, "{told}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let sources = answer["sources"].as_array().expect("lists");
    let partial: Vec<_> = sources.iter().map(|list| &list["partial"]).collect();
    assert_eq!(partial, [true, true, false]);
    let part = counts("dump.part", "skew", &format!("--memkeys {short}"));
    let output = run(&format!("skew --nodes a,b --parts {part}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(note), "{told}");
}

#[test]
fn a_complete_dump_gives_the_report_of_a_list() {
    let line = format!("route --nodes n --scan {}", fixture("scan_numbered.txt"));
    let routed = run(&line).stdout;
    let ends = routed.windows(3).filter(|bytes| bytes == b"\tn\n");
    assert_eq!(ends.count(), 49);
    // A key with line feeds counts once and is printed as bytes.
    let json = stdout(&format!("{line} --format json"));
    assert_eq!(json.lines().count(), 49);
    assert!(
        json.contains(r#""hex":"00ff225c71756f2774650a0d090708""#),
        "{json}"
    );
    let line = format!(
        "balance --nodes a,b --metadump {} --format json",
        fixture("metadump.txt")
    );
    let answer: Value = serde_json::from_str(&stdout(&line)).expect("JSON");
    assert_eq!(
        (&answer["keys"], &answer["source"]["partial"]),
        (&33.into(), &false.into())
    );
    assert!(answer["bytes"]["total"].as_u64() > Some(4000));
    let checked = format!(
        "check --nodes a,b --metadump {} --max-cv 9 --format json",
        fixture("metadump.txt")
    );
    let answer: Value = serde_json::from_str(&stdout(&checked)).expect("JSON");
    assert_eq!(answer["checks"].as_array().map(Vec::len), Some(2));
    assert_eq!(answer["source"]["keys_listed"], 33);
}

#[test]
fn bad_lines_of_a_dump_are_skipped_and_reported() {
    let path = file(
        "bad-dump.txt",
        "key=a size=1\nkey=%4 size=2\nkey=b size=3\nEND\n",
    );
    for command in ["balance", "route"] {
        let line = format!("{command} --nodes n --metadump {}", path.display());
        let output = run(&line);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{errors}");
        assert!(
            errors.contains("skipped: ") && errors.contains("line 2: "),
            "{errors}"
        );
        let strict = run(&format!("{line} --strict"));
        assert_eq!(strict.status.code(), Some(2));
        let errors = String::from_utf8_lossy(&strict.stderr);
        assert!(
            errors.contains("--metadump") && errors.contains("line 2: "),
            "{errors}"
        );
    }
}

#[test]
fn dumps_that_hold_no_keys_are_refused() {
    file(
        "refused.txt",
        "Could not connect to Redis at 127.0.0.1:6379: Connection refused\n",
    );
    file("cursors.txt", "12\n7\n0\n");
    file("scan.json", "[\"12\",[\"a\",\"b\"]]\n[\"0\",[]]\n");
    check_messages(
        r"
balance --bigkeys DIR/refused.txt => --bigkeys | no keys | Could not connect
route --count 3 --scan DIR/cursors.txt => --scan | no keys | cursors
route --count 3 --scan DIR/scan.json => --scan | no keys | without --json
balance --scan DIR/scan.json --strict => --scan | line 1 | without --json
balance --keystats DIR/missing.txt => --keystats | missing.txt | os error
balance --memkeys DIR/refused.txt --strict => --memkeys | line 1
balance --scan a --keys b => --scan | --keys
balance --scan a --range 0..5 => --scan | --range
route --count 3 --metadump a k => --metadump | KEY
",
    );
}
