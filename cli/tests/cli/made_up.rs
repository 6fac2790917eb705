//! Nodes that nobody gave are announced in every form of the answer, or refused.

use crate::{directory, json, run, stdout};

const NODES: &str = "no nodes given: node-0 to node-9";

fn errors(line: &str) -> String {
    let output = run(line);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {errors}");
    errors
}

/// Commands that answer with a report, with the options for their keys.
const REPORTS: [&str; 7] = [
    "balance --range 0..300",
    "skew --range 0..300",
    "diff --add x",
    "diff --to-dialect twemproxy --best --range 0..300",
    "remap --add x --range 0..300",
    "plan --add x",
    "compare --strategy jump --range 0..300",
];

#[test]
fn made_up_nodes_are_announced_first_in_every_form() {
    for line in REPORTS {
        assert!(stdout(line).starts_with(NODES), "{line}");
        let markdown = stdout(&format!("{line} --format markdown"));
        assert!(markdown.starts_with(NODES), "{line}");
        assert_eq!(json(line)["made_up_nodes"], "node-0 to node-9", "{line}");
        let csv = errors(&format!("{line} --format csv"));
        assert!(csv.contains(NODES), "{line}: {csv}");
    }
}

#[test]
fn given_nodes_are_not_announced() {
    let spec = stdout("spec write --nodes a,b,c");
    let spec = crate::file("given.toml", spec);
    for nodes in [
        "--count 10",
        "--nodes a,b,c",
        &format!("--spec {}", spec.display()),
    ] {
        for line in REPORTS {
            if line.starts_with("compare") && nodes.starts_with("--spec") {
                continue;
            }
            let answer = json(&format!("{line} {nodes}"));
            assert_eq!(answer.get("made_up_nodes"), None, "{line} {nodes}");
        }
    }
}

#[test]
fn made_up_nodes_and_keys_are_announced_side_by_side() {
    let answer = json("balance --strategy jump");
    assert_eq!(answer["made_up_keys"], "user:0 to user:999999");
    assert_eq!(answer["made_up_nodes"], "node-0 to node-9");
    let text = stdout("balance --strategy jump");
    let lines: Vec<_> = text.lines().take(2).collect();
    assert_eq!(lines, ["no keys given: user:0 to user:999999", NODES]);
}

#[test]
fn lists_pictures_and_specs_announce_made_up_nodes_beside_the_answer() {
    let out = directory().join("out.svg");
    let out = out.display();
    for line in [
        "explain user:1".to_owned(),
        "diff --add x --range 0..300 --list".into(),
        "remap --add x --range 0..300 --list".into(),
        "plan --add x --range 0..300 --list".into(),
        "spec write".into(),
        format!("draw ring --range 0..300 --out {out}"),
        format!("draw balance --range 0..300 --out {out}"),
        format!("draw remap --add x --range 0..300 --out {out}"),
        format!("draw node-counts --range 0..300 --out {out}"),
    ] {
        let told = errors(&line);
        assert!(told.contains(NODES), "{line}: {told}");
    }
    let page = stdout("report --range 0..300 --strategy ring --out -");
    assert!(page.contains("No nodes given: node-0 to node-9."));
    let page = stdout("report --skew --range 0..300 --out -");
    assert!(page.contains("No nodes given: node-0 to node-9."));
}

#[test]
fn answers_that_somebody_acts_on_refuse_made_up_nodes() {
    for line in [
        "route user:1",
        "route --range 0..300",
        "check --range 0..300 --max-cv 1",
    ] {
        let output = run(line);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(
            message.starts_with("error: no nodes: expected"),
            "{line}: {message}"
        );
        assert_eq!(output.stdout, b"", "{line}");
    }
}
