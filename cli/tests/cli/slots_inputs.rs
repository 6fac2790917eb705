//! `slots` with what people have at hand: keys in place of a table, loads that no plan balances.

use crate::slots::{FIRST, STABLE, data};
use crate::{file, run, stdout};

fn refused(line: &str) -> String {
    let output = run(line);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{line}: {message}");
    message
}

#[test]
fn keys_in_place_of_a_table_are_known_by_sight() {
    let dumps = concat!(env!("CARGO_MANIFEST_DIR"), "/../harness/tests/data/dumps");
    let plain = file("plain-keys.txt", "user:1\nuser:2\n");
    let plain = plain.display().to_string();
    for (path, option) in [
        (format!("{dumps}/bigkeys.txt"), "--bigkeys"),
        (format!("{dumps}/hotkeys.txt"), "--hotkeys"),
        (plain, "--keys"),
    ] {
        for command in ["slots show", "slots plan --even"] {
            let message = refused(&format!("{command} {path}"));
            assert!(
                message.contains("expected the output of CLUSTER NODES"),
                "{message}"
            );
            assert!(!message.contains("INFO"), "{message}");
            let hint = format!("slots plan TABLE {option} {path} weighs slots");
            assert!(message.contains(&hint), "{message}");
        }
    }
}

#[test]
fn a_slot_that_is_heavier_than_the_part_of_a_node_is_told() {
    let plan = |loads: &str| {
        let loads = file("slot-loads.csv", loads);
        let text = stdout(&format!(
            "slots plan {} --even --loads {}",
            data(STABLE),
            loads.display()
        ));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = plan("slot,load\n7,1000\n8,100\n9,100\n");
    assert!(
        text.contains(
            "No plan balances these loads: slot 7 alone holds 1,000, more than the 400 that each"
        ),
        "{text}"
    );
    let text = plan("slot,load\n7,100\n8000,100\n16000,100\n");
    assert!(!text.contains("No plan balances"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_script_without_moves_says_so_and_asks_no_server() {
    use std::process::Command;
    let script = stdout(&format!("slots plan {} --even --commands sh", data(STABLE)));
    let path = file("nothing.sh", &script);
    let output = Command::new("sh")
        .arg(path)
        .env("HASHROUTE_REDIS_CLI", "false")
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("nothing to move"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_password_in_the_arguments_of_a_script_is_refused() {
    use std::process::Command;
    let script = stdout(&format!(
        "slots plan {} --remove {FIRST} --commands sh",
        data(STABLE)
    ));
    let path = file("password.sh", script);
    for arguments in ["-a secret", "--tls -a secret", "--pass secret"] {
        let output = Command::new("sh")
            .arg(&path)
            .env("HASHROUTE_REDIS_CLI", "false")
            .env("HASHROUTE_REDIS_CLI_ARGS", arguments)
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("hint: put it into REDISCLI_AUTH"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
