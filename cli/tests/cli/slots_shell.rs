//! `slots plan --commands sh`, and plans that are asked for again.

use std::process::{Command, Output};

use serde_json::json;

use crate::slots::{FIRST, STABLE, data};
use crate::{file, json, stdout};

/// Runs a script with a program in place of `redis-cli`.
#[cfg(unix)]
fn shell(script: &str, name: &str, program: &str) -> Output {
    use std::os::unix::fs::PermissionsExt;
    let program = file(&format!("{name}-cli"), format!("#!/bin/sh\n{program}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("a mode");
    let script = file(&format!("{name}.sh"), script);
    let mut command = Command::new("sh");
    command.arg(script).env("HASHROUTE_REDIS_CLI", program);
    command.output().expect("a shell")
}

#[test]
#[cfg(unix)]
fn a_script_stops_at_the_first_error_and_says_what_to_do() {
    let script = stdout(&format!(
        "slots plan {} --remove {FIRST} --commands sh",
        data(STABLE)
    ));
    for (answer, hint) in [
        ("NOAUTH Authentication required.", "REDISCLI_AUTH"),
        (
            "Could not connect to Redis at 127.0.0.1:27001: Connection refused",
            "HASHROUTE_REDIS_CLI_ARGS",
        ),
        (
            "LOADING Redis is loading the dataset in memory",
            "run this script again",
        ),
        ("0000000000000000000000000000000000000000", "plan again"),
    ] {
        let output = shell(&script, "stops", &format!("echo '{answer}'"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains(hint) && said.starts_with("error: "),
            "{answer}: {said}"
        );
        assert!(output.stdout.is_empty());
    }
}

/// A name in the table never becomes a command of the shell.
#[test]
#[cfg(unix)]
fn names_are_quoted_for_the_shell() {
    let nodes = "\
$(touch${IFS}x) a'b;echo${IFS}'pwned:1@1 myself,master - 0 0 1 connected 0-16383
`id` h\"*:2@2 master - 0 0 2 connected
";
    let path = file("odd.txt", nodes);
    let script = stdout(&format!(
        "slots plan {} --even --commands sh",
        path.display()
    ));
    // The first answer is the argument after -h, which is no id.
    let output = shell(&script, "odd", "printf '%s\\n' \"$2\"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("is the node") && !said.contains("not found"),
        "{said}"
    );
    assert!(output.stdout.is_empty(), "{:?}", output.stdout);
}

#[test]
fn a_script_has_a_line_for_each_move() {
    let line = format!(
        "slots plan {} --add n4@10.0.0.4:6379 --budget 1000 --commands sh",
        data(STABLE)
    );
    let script = stdout(&line);
    assert!(script.starts_with("#!/bin/sh\n# Moves 4,096 slots"));
    assert_eq!(
        script
            .lines()
            .filter(|line| line.starts_with("move "))
            .count(),
        4096
    );
    assert_eq!(script.matches("\necho 'step ").count(), 5);
    assert_eq!(script.matches("\nmeet ").count(), 1);
    let second = stdout(&format!("{line} --step 2 --batch 7 --timeout 9"));
    assert_eq!(
        second
            .lines()
            .filter(|line| line.starts_with("move "))
            .count(),
        1000
    );
    assert!(second.contains("\nbatch=7\ntimeout=9\n"));
    // Marks that belong to no move are removed first.
    let stopped = "\
aaaa 10.0.0.1:6379@1 myself,master - 0 0 1 connected 0-9 [7->-bbbb] [12->-bbbb]
bbbb 10.0.0.2:6379@1 master - 0 0 2 connected 10-16383
";
    let path = file("stray-sh.txt", stopped);
    let script = stdout(&format!(
        "slots plan {} --finish --commands sh",
        path.display()
    ));
    let lines: Vec<_> = script
        .lines()
        .filter(|line| line.starts_with("stable ") || line.starts_with("move "))
        .collect();
    assert_eq!(lines, ["stable 12 1", "move 7 1 2"]);
}

#[test]
fn commands_are_also_lists_of_words() {
    let actions = json(&format!(
        "slots plan {} --remove {FIRST} --budget 1 --step 1 --commands classic",
        data(STABLE)
    ));
    assert_eq!(actions[0]["command_words"][0], "CLUSTER");
    assert_eq!(
        (&actions[0]["host"], &actions[0]["port"]),
        (&json!("127.0.0.1"), &json!(27_002))
    );
    assert_eq!(
        actions[2]["migrate_words"],
        json!(["MIGRATE", "127.0.0.1", "27002", "", "0", "5000", "KEYS"])
    );
}
