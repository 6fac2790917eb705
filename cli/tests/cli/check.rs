//! `check`: thresholds and `JUnit` XML.

use core::fmt::Write;
use std::fs;
use std::process::Output;

use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use serde_json::Value;

use crate::baselines::baseline;
use crate::messages::check_messages;
use crate::{directory, file, json, run, stdout};

/// Returns options for four nodes with 1, 2, 3 and 4 keys; the keys were found by trial.
fn uneven() -> String {
    let mut keys = String::from("key,size,requests\n");
    let mut counts = [0_u64; 4];
    for i in 0.. {
        let key = format!("k{i}");
        let routed = owner_of(&key);
        if counts[routed] <= routed as u64 {
            counts[routed] += 1;
            let requests = if routed == 0 { 90 } else { 1 };
            _ = writeln!(keys, "{key},10,{requests}");
        }
        if counts == [1, 2, 3, 4] {
            break;
        }
    }
    let path = file("uneven.csv", keys);
    format!("--strategy modulo --count 4 --csv {}", path.display())
}

/// Returns the node that the library chooses with the same options.
fn owner_of(key: &str) -> usize {
    use hashroute::{Modulo, Node, Router};
    let nodes = (0..4).map(|i| Node::new(format!("node-{i}")));
    let modulo = Modulo::new(nodes).expect("four nodes");
    let node = modulo.route(key.as_bytes()).expect("weight");
    node.name()["node-".len()..].parse().expect("a number")
}

pub(crate) fn code(output: &Output) -> Option<i32> {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{errors}");
    output.status.code()
}

/// The mean is 2.5 and the variance 1.25, so cv = sqrt(1.25) / 2.5 = 0.4472…
#[test]
fn each_threshold_holds_at_its_edge_and_fails_beyond() {
    let keys = uneven();
    let p = json(&format!("balance {keys}"))["p_value"]
        .as_f64()
        .expect("a number");
    let cv = json(&format!("balance {keys}"))["cv"]
        .as_f64()
        .expect("a number");
    assert!((cv - 0.2_f64.sqrt()).abs() < 1e-12);
    let edges = [
        format!("--max-cv {cv} => --max-cv {}", cv - 1e-9),
        "--max-over-mean 1.6 => --max-over-mean 1.599999".into(),
        "--max-top 0.4@1 => --max-top 0.399999@1".into(),
        "--max-top 70%@2 => --max-top 69.9999%@2".into(),
        format!("--significance {p} => --significance {}", p + 1e-9),
    ];
    for edge in edges {
        let (within, beyond) = edge.split_once(" => ").expect("two sides");
        let passed = run(&format!("check --measure keys {keys} {within}"));
        assert_eq!(code(&passed), Some(0), "{within}");
        assert!(
            String::from_utf8_lossy(&passed.stdout).contains("ok"),
            "{within}"
        );
        let failed = run(&format!("check --measure keys {keys} {beyond}"));
        assert_eq!(code(&failed), Some(1), "{beyond}");
        let told = String::from_utf8_lossy(&failed.stdout).into_owned();
        assert!(
            told.contains("FAILED") && !told.contains(" ok"),
            "{beyond}: {told}"
        );
        let error = String::from_utf8_lossy(&failed.stderr);
        assert!(error.contains("1 of 1 checks did not hold"), "{error}");
    }
}

#[test]
fn empty_nodes_are_counted() {
    let line = "check --strategy modulo --count 4 --template 'k{i}' --range 0..1";
    assert_eq!(code(&run(&format!("{line} --max-empty 3"))), Some(0));
    assert_eq!(code(&run(&format!("{line} --max-empty 2"))), Some(1));
}

#[test]
fn every_known_measure_is_checked_unless_one_is_named() {
    let keys = uneven();
    let answer = run(&format!("check {keys} --max-over-mean 1.7 --format json"));
    assert_eq!(code(&answer), Some(1));
    let answer: Value = serde_json::from_slice(&answer.stdout).expect("JSON");
    let checks = answer["checks"].as_array().expect("an array");
    let told: Vec<_> = checks
        .iter()
        .map(|check| (check["measure"].as_str(), check["passed"].as_bool()))
        .collect();
    let expected = [("keys", true), ("bytes", true), ("requests", false)];
    assert!(
        told.iter()
            .copied()
            .eq(expected.map(|(m, p)| (Some(m), Some(p))))
    );
    assert_eq!(
        (&answer["passed"], &answer["failed"]),
        (&false.into(), &1.into())
    );
    // The key of the first node gets 90 of 99 requests.
    let value = checks[2]["value"].as_f64().expect("a number");
    assert!((value - 90.0 / 99.0 * 4.0).abs() < 1e-12);
    let only = run(&format!(
        "check {keys} --max-over-mean 1.7 --measure keys,bytes"
    ));
    assert_eq!(code(&only), Some(0));
}

/// Returns the checks that failed, as JSON.
fn failures(line: &str) -> Vec<Value> {
    let output = run(&format!("{line} --format json"));
    assert_eq!(code(&output), Some(1), "{line}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = answer["checks"].as_array().expect("checks").iter();
    checks
        .filter(|check| check["passed"] == false)
        .cloned()
        .collect()
}

#[test]
fn a_failed_check_names_its_node_and_a_command_that_runs() {
    let line = "check --nodes a,b=2,c --strategy rendezvous --template 'a b{i}' --range 0..3000";
    let nodes =
        &json("balance --nodes a,b=2,c --strategy rendezvous --template 'a b{i}' --range 0..3000")
            ["nodes"];
    let nodes = nodes.as_array().expect("nodes");
    let of_fair = |node: &&Value| {
        let [share, fair] = ["share", "fair_share"].map(|name| node[name].as_f64().expect(name));
        share / fair
    };
    let fullest = nodes
        .iter()
        .max_by(|a, b| of_fair(a).total_cmp(&of_fair(b)));
    let failed = failures(&format!(
        "{line} --max-over-mean 1 --max-top 1%@1 --measure keys"
    ));
    assert_eq!(failed[0]["node"], fullest.expect("a node")["name"]);
    assert_eq!(failed[1]["node"], "b");
    for check in &failed {
        let command = check["command"].as_str().expect("a command");
        let rest = command.strip_prefix("hashroute ").expect("this program");
        let skew = json(rest);
        assert_eq!(skew["keys"], 3000, "{command}");
    }
    // People see both, and the command on one line.
    let text = run(&format!("{line} --max-over-mean 1"));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let command = failed[0]["command"].as_str().expect("a command");
    assert!(text.lines().any(|line| line.trim() == command), "{text}");
    let empty =
        failures("check --strategy modulo --count 4 --template 'k{i}' --range 0..1 --max-empty 0");
    let balance = json("balance --strategy modulo --count 4 --template 'k{i}' --range 0..1");
    let without = balance["nodes"].as_array().expect("nodes").iter();
    let first = without.clone().find(|node| node["keys"] == 0);
    assert_eq!(empty[0]["node"], first.expect("an empty node")["name"]);
}

#[test]
fn a_secret_key_stays_out_of_the_next_command() {
    let key = "00112233445566778899aabbccddeeff";
    let failed = failures(&format!(
        "check --count 3 --range 0..99 --hash sip24 --hash-key {key} --max-cv 0"
    ));
    let command = failed[0]["command"].as_str().expect("a command");
    assert!(
        !command.contains(key) && command.contains("--hash-key HEX32"),
        "{command}"
    );
}

#[test]
fn percentages_are_taken_wherever_ratios_are() {
    for (ratio, percent) in [("1.3", "130%"), ("1.05", "105%")] {
        let line = "check --count 9 --range 0..3000 --measure keys --max-over-mean";
        let [one, other] =
            [ratio, percent].map(|limit| run(&format!("{line} {limit} --format csv")));
        assert_eq!((code(&one), one.stdout), (code(&other), other.stdout));
    }
}

/// GitHub reads `::error` lines from the log of a step.
#[test]
fn github_gets_a_line_for_each_check_that_failed() {
    let line = "check --count 5 --range 0..3000 --max-cv 9 --max-over-mean 1 --max-top 1%@1";
    let output = run(&format!("{line} --format github"));
    assert_eq!(code(&output), Some(1));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("::error "))
        .collect();
    assert_eq!(errors.len(), 2, "{text}");
    for (error, figure) in errors.iter().zip(["max_over_mean", "top_1"]) {
        assert!(
            error.starts_with("::error title=hashroute check::"),
            "{error}"
        );
        assert!(
            error.contains(figure) && error.contains("next: hashroute skew "),
            "{error}"
        );
    }
    assert!(text.contains("FAILED"));
    let held = stdout("check --count 5 --range 0..3000 --max-cv 9 --format github");
    assert!(!held.contains("::"), "{held}");
}

#[test]
fn several_node_counts_are_checked_at_once() {
    let line = "check --range 0..5000 --strategy modulo --node-counts 2..=5,8 --max-cv 0.5";
    let answer = json(line);
    let counts: Vec<_> = answer["checks"]
        .as_array()
        .expect("an array")
        .iter()
        .collect();
    let nodes: Vec<_> = counts
        .iter()
        .filter_map(|check| check["nodes"].as_u64())
        .collect();
    assert_eq!(nodes, [2, 3, 4, 5, 8]);
    // The same figure as in balance.
    let balance = json("balance --range 0..5000 --strategy modulo --count 5");
    assert_eq!(counts[3]["value"], balance["cv"]);
    assert_eq!(counts[3]["noise"], balance["noise_cv"]);
    // The names of earlier versions.
    assert_eq!(counts[3]["by_chance"], counts[3]["noise"]);
    assert_eq!(counts[3]["node_count"], counts[3]["nodes"]);
    let csv = stdout(&format!("{line} --format csv"));
    assert_eq!(csv.lines().count(), 6);
    assert!(csv.starts_with(
        "nodes,measure,figure,value,limit,by_chance,passed,node,noise,ideal,command\n2,keys,cv,"
    ));
}

/// The hashes of these keys differ by multiples of 3, 5 and 29.
#[test]
fn a_dialect_with_dangerous_node_counts_fails_on_those_alone() {
    let line = "check --strategy modulo --hash twemproxy-fnv1a-64 --template 'metric:demo:{i}' --range 0..1000 --max-empty 0 --node-counts 60,61,64,87 --format json";
    let answer = run(line);
    assert_eq!(code(&answer), Some(1));
    let answer: Value = serde_json::from_slice(&answer.stdout).expect("JSON");
    let checks = answer["checks"].as_array().expect("an array");
    let failed = checks.iter().filter(|check| check["passed"] == false);
    let failed: Vec<_> = failed.filter_map(|check| check["nodes"].as_u64()).collect();
    assert_eq!(failed, [60, 87]);
}

#[test]
fn junit_and_json_report_the_same_checks() {
    let path = directory().join("check.xml");
    let line = format!(
        "check {} --max-over-mean 1.7 --max-cv 9 --junit {} --format json",
        uneven(),
        path.display()
    );
    let answer: Value = serde_json::from_slice(&run(&line).stdout).expect("JSON");
    let checks = answer["checks"].as_array().expect("an array");
    let xml = fs::read_to_string(&path).expect("written");
    let report = Report::deserialize_from_str(&xml).expect("JUnit XML");
    assert_eq!((report.tests, report.failures, report.errors), (6, 1, 0));
    let [suite] = report.test_suites.as_slice() else {
        panic!("one suite: {xml}")
    };
    assert_eq!(suite.name.as_str(), "modulo, 4 nodes");
    for (case, check) in suite.test_cases.iter().zip(checks) {
        assert!(
            case.name
                .as_str()
                .contains(check["figure"].as_str().expect("a name"))
        );
        match &case.status {
            TestCaseStatus::Success { .. } => assert_eq!(check["passed"], true),
            TestCaseStatus::NonSuccess { kind, message, .. } => {
                assert_eq!(
                    (*kind, &check["passed"]),
                    (NonSuccessKind::Failure, &false.into())
                );
                let message = message.as_ref().expect("a message").as_str();
                assert!(
                    message.contains("3.6364") && message.contains("<= 1.7"),
                    "{message}"
                );
            }
            skipped @ TestCaseStatus::Skipped { .. } => panic!("{skipped:?}"),
        }
    }
}

const BAD: &str = r"
check --count 3 --range 0..9 => no threshold | --max-cv | --max-over-mean | --max-empty | --max-top | --significance | --max-moved
check --count 3 --range 0..9 --max-cv -1 => --max-cv | at least 0
check --count 3 --range 0..9 --max-cv NaN => --max-cv | number
check --count 3 --range 0..9 --max-empty 1.5 => --max-empty | 1.5
check --count 3 --range 0..9 --max-top 0.2 => --max-top | SHARE@N
check --count 3 --range 0..9 --max-top 2@1 => --max-top | SHARE@N
check --count 3 --range 0..9 --max-top 100%@9 => --max-top | never fails
check --count 3 --range 0..9 --significance 0 => --significance | never fails
check --count 3 --range 0..9 --max-cv 1 --junit - => --junit | standard output
check --count 3 --range 0..9 --significance 2 => --significance | 0 to 1
check --count 3 --range 0..9 --max-moved 0.1 => --baseline
check --range 0..9 --max-cv 1 --node-counts 0 => --node-counts | 2..=128
check --range 0..9 --max-cv 1 --node-counts 1..=1000000 => --node-counts | 4096
check --range 0..9 --max-cv 1 --node-counts 3 --count 4 => --node-counts | --count
check --count 3 --range 0..9 --max-cv 1 --measure bytes => --measure bytes | size | --memkeys
check --count 3 --range 0..9 --max-cv 1 --measure weight => --measure | requests
check --count 3 --range 0..9 --max-cv 1 --baseline DIR/no-such.json => --baseline | no-such.json | os error
check --count 3 --range 0..9 --max-cv 1 --baseline DIR => --baseline | os error
check --count 3 --range 0..9 --max-cv 1 --baseline DIR/not.json => --baseline | not a baseline | --save-baseline
check --count 3 --range 0..9 --max-cv 1 --baseline DIR/cut.json => --baseline | not a baseline
check --count 3 --range 0..9 --max-cv 1 --baseline DIR/later.json => --baseline | format 2 | expected 1
check --count 3 --range 0..9 --max-cv 1 --baseline DIR/baseline-field.json => --baseline | surprise
check --count 3 --range 0..9 --max-cv 1 --junit DIR/no/such.xml => --junit | such.xml | os error
check --count 3 --range 0..9 --max-cv 9 --save-baseline DIR/no/such.json => --save-baseline | os error
check --range 0..9 --nodes a=0 --max-cv 1 => nothing to check | no node has weight
";

#[test]
fn every_bad_option_of_check_has_one_clear_message() {
    let good =
        fs::read_to_string(baseline("good.json", "--count 10 --range 0..99")).expect("written");
    file("not.json", "[1]");
    file("cut.json", &good[..good.len() / 2]);
    file(
        "later.json",
        good.replace("\"hashroute_baseline\":1", "\"hashroute_baseline\":2"),
    );
    file(
        "baseline-field.json",
        good.replace("\"pool\":null", "\"pool\":null,\"surprise\":1"),
    );
    check_messages(BAD);
}

#[test]
fn a_check_of_the_few_lines_that_could_be_read_is_no_check() {
    let lines = |good: usize, bad: usize| {
        let good = (0..good).map(|i| format!("\"k{i}\"\n"));
        let text: String = good.chain((0..bad).map(|_| "oops\n".to_owned())).collect();
        let path = crate::file("most.jsonl", text);
        format!("check --nodes a,b --max-cv 9 --jsonl {}", path.display())
    };
    for sets in ["", " --node-counts 2,3"] {
        let line = |good, bad| lines(good, bad) + sets;
        let line = |good, bad| match sets {
            "" => line(good, bad),
            _ => line(good, bad).replace("--nodes a,b ", ""),
        };
        assert!(crate::run(&line(10, 10)).status.success());
        let output = crate::run(&line(10, 11));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert_eq!(output.stdout, b"");
        assert!(
            message.contains("nothing to check: 11 of 21 lines could not be read"),
            "{message}"
        );
    }
}
