//! `slots check` and `slots plan` with keys from the tools of a server.

use serde_json::{Value, json};

use crate::slots::{STABLE, data, each, unmet};
use crate::{command, file, json, stdout};

const HOT: &str = "\n# Scanning the entire keyspace to find hot keys as well as
# average sizes per key type.  You can use -i 0.1 to sleep 0.1 sec
# per 100 SCAN commands (not usually needed).

[00.00%] Hot key '\"user:77\"' found so far with counter 13
[52.00%] Hot key '\"a \\x00b\"' found so far with counter 2

-------- summary -------

Sampled 23001 keys in the keyspace!
hot key found with counter: 13\tkeyname: \"user:77\"
hot key found with counter: 2\tkeyname: \"a \\x00b\"
";

const BIG: &str = "\n# Scanning the entire keyspace to find biggest keys as well as
[00.00%] Biggest string found so far '\"user:1\"' with 9 bytes
-------- summary -------
Sampled 3 keys in the keyspace!
";

fn errors(line: &str) -> String {
    let output = command(line.split(' ')).output().expect("runs");
    assert_eq!(output.status.code(), Some(2), "{line}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn hot_keys_are_read_with_their_counters() {
    let path = file("hot.txt", HOT);
    let (out, _) = unmet(&format!(
        "slots check --hotkeys {} --max-slot 0.8 --format json",
        path.display()
    ));
    let found: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        (&found["keys"], &found["measures"][1]["measure"]),
        (&json!(2), &json!("requests"))
    );
    assert_eq!(found["measures"][1]["total"], 15);
    let line = format!(
        "slots plan {} --even --hotkeys {} --format json",
        data(STABLE),
        path.display()
    );
    let output = command(line.split(' ')).output().expect("runs");
    let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(plan["load"], "requests");
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(
        notes.contains("2 of 23001") && notes.contains("logarithm"),
        "{notes}"
    );
}

/// A file that the command would take for keys is refused with the option that reads it.
#[test]
fn outputs_of_tools_are_not_taken_for_keys() {
    for (name, text, option) in [
        ("check-hot.txt", HOT, "--hotkeys"),
        ("check-big.txt", BIG, "--bigkeys"),
        ("check-scan.txt", "1) \"0\"\n2) 1) \"a\"\n", "--scan"),
        (
            "check-meta.txt",
            "key=a exp=-1 la=1 cas=1 fetch=no cls=1 size=65\nEND\n",
            "--metadump",
        ),
        ("check-csv.txt", "key,size\na,1\n", "--csv"),
        (
            "check-error.txt",
            "NOAUTH Authentication required.\n",
            "an error",
        ),
    ] {
        let path = file(name, text);
        let said = errors(&format!("slots check {}", path.display()));
        assert!(said.contains(option), "{name}: {said}");
        if option.starts_with("--") && option != "--csv" {
            let line = format!(
                "slots plan {} --even --loads {}",
                data(STABLE),
                path.display()
            );
            let said = errors(&line);
            assert!(said.contains(option), "{name}: {said}");
        }
    }
    // The option that was asked for exists: no tip to take it as a value.
    let said = errors("slots check --scan");
    assert!(!said.contains("-- --scan"), "{said}");
}

#[test]
fn every_list_of_keys_is_read() {
    let scan = file("check-scan-plain.txt", "a\nb\n\"c\n");
    let keys = file("check-keys.txt", "a\tx\nb\n\nc\r\n");
    for (line, count) in [
        (format!("slots check --scan {}", scan.display()), 3),
        (format!("slots check --keys {}", scan.display()), 3),
        // A tab separates the keys of a request; a blank line is no key.
        (format!("slots check {} --max-cross 1", keys.display()), 4),
    ] {
        assert_eq!(json(&line)["keys"], count, "{line}");
    }
    let said = errors("slots check");
    assert!(
        said.contains("KEYS-FILE") && said.contains("--scan"),
        "{said}"
    );
}

/// One slot with 13 % of the keys is far too much; chance on few keys is not.
#[test]
fn a_slot_far_above_its_share_exceeds_the_default() {
    let even = |count: u32| each(0..count, |i| format!("user:{i}\n"));
    let tagged: String = each(0..150, |i| format!("{{tenant-7}}:{i}\n"));
    let path = file("check-tenant.txt", even(850) + &tagged);
    let (out, said) = unmet(&format!("slots check {}", path.display()));
    assert!(
        out.contains("15.00%") && said.contains("--max-tag 0.05"),
        "{said}"
    );
    stdout(&format!(
        "slots check {} --max-tag 0.2 --max-slot 0.2",
        path.display()
    ));
    for count in [2, 10, 20, 21, 50, 100, 1000] {
        let path = file(&format!("check-even-{count}.txt"), even(count));
        stdout(&format!("slots check {}", path.display()));
    }
}

#[test]
fn a_plan_by_load_says_what_travels() {
    let lines: String = each(0..3000, |i| format!("user:{i},10,{}\n", 1 + i % 7));
    let path = file("travel.csv", format!("key,size,requests\n{lines}"));
    let line = format!(
        "slots plan {} --weight 5559=2 --loads {}",
        data(STABLE),
        path.display()
    );
    let plan = json(&format!("{line} --by keys"));
    let travel = plan["travel"].as_array().expect("an array");
    let named: Vec<_> = travel
        .iter()
        .map(|row| row["measure"].as_str().expect("text"))
        .collect();
    assert_eq!(named, ["keys", "requests", "bytes"]);
    assert_eq!(
        (&travel[0]["moved"], &travel[0]["total"]),
        (&plan["moved_load"], &json!(3000))
    );
    let moved = plan["moved_load"].as_u64().expect("a number");
    assert_eq!(travel[2]["moved"], moved * 10);
    let loads = plan["moves"].as_array().expect("an array").iter();
    assert_eq!(
        loads
            .map(|step| step["load"].as_u64().unwrap_or(0))
            .sum::<u64>(),
        moved
    );
    let shown = stdout(&format!("{line} --by keys"));
    assert!(
        shown.contains("Their load: ") && shown.contains("of 3,000 keys"),
        "{shown}"
    );
}

#[test]
fn the_help_promises_no_keys_of_its_own() {
    for name in ["check", "plan"] {
        let help = stdout(&format!("slots {name} --help"));
        assert!(
            help.contains("--hotkeys") && !help.contains("Keys (default"),
            "{help}"
        );
    }
}
