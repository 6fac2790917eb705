//! `slots plan` and `slots simulate`.

use serde_json::{Value, json};

use crate::slots::{FIRST, SECOND, STABLE, THIRD, data, keys_of, unmet};
use crate::{file, json, stdout};

/// Writes a table of one primary with all slots and 200 without any.
fn crowd() -> String {
    let empty = (1..=200).map(|i| format!("n{i} 10.0.1.{i}:6379@16379 master - 0 0 0 connected\n"));
    let all = "n0 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-16383\n";
    let path = file("crowd.txt", all.to_owned() + &empty.collect::<String>());
    path.display().to_string()
}

#[test]
fn one_node_and_two_hundred_empty_ones_end_at_81_or_82_each() {
    let plan = json(&format!("slots plan {} --even", crowd()));
    let nodes = plan["nodes"].as_array().expect("an array");
    let after: Vec<_> = nodes
        .iter()
        .map(|node| node["slots_after"].as_u64().expect("a number"))
        .collect();
    assert_eq!((after.len(), after.iter().sum::<u64>()), (201, 16_384));
    assert!(
        after.iter().all(|slots| [81, 82].contains(slots)),
        "{after:?}"
    );
    assert_eq!(plan["moved"], 16_384 - 82);
    let shown = stdout(&format!("slots plan {} --even", crowd()));
    assert!(shown.contains("and 151 more") && shown.contains("the minimum for this goal"));
    // Nodes without slots receive none unless they are named.
    let alone = json(&format!("slots plan {} --add n7", crowd()));
    assert_eq!(alone["moved"], 8192);
}

#[test]
fn the_json_of_a_plan_has_the_promised_fields() {
    let plan = json(&format!(
        "slots plan {} --add n4@10.0.0.4:6379 --budget 1000",
        data(STABLE)
    ));
    assert_eq!(
        keys_of(&plan),
        [
            "flows",
            "load",
            "may_leave",
            "moved",
            "moved_load",
            "moved_share",
            "moves",
            "nodes",
            "slots",
            "step",
            "steps",
            "stray",
            "travel"
        ]
    );
    assert_eq!(
        (&plan["moved"], &plan["moved_share"], &plan["steps"]),
        (&json!(4096), &json!(0.25), &json!(5))
    );
    assert_eq!(
        plan["flows"][0],
        json!({ "from": SECOND, "to": "n4", "slots": 1366, "load": null, "ranges": [[9557, 10_922]] })
    );
    let first = json!({ "step": 1, "slot": 9557, "from": SECOND, "to": "n4", "load": 1 });
    assert_eq!(plan["moves"][0], first);
    assert_eq!(plan["moves"].as_array().map(Vec::len), Some(4096));
    assert_eq!(
        plan["nodes"][3],
        json!({
            "id": "n4", "address": "10.0.0.4:6379", "weight": 1, "slots": 0, "slots_after": 4096,
            "load": null, "load_after": null,
        })
    );
    let csv = stdout(&format!(
        "slots plan {} --add n4@10.0.0.4:6379 --format csv",
        data(STABLE)
    ));
    assert!(csv.starts_with(&format!("step,slot,from,to,load\n1,9557,{SECOND},n4,1\n")));
}

#[test]
fn a_plan_removes_and_reweights_nodes() {
    let line = format!(
        "slots plan {} --remove 127.0.0.1:27001 --weight 5559=3",
        data(STABLE)
    );
    let plan = json(&line);
    let after = |id: &str| {
        let nodes = plan["nodes"].as_array().expect("an array");
        let node = nodes
            .iter()
            .find(|node| node["id"] == id)
            .expect("the node");
        (node["weight"].as_u64(), node["slots_after"].as_u64())
    };
    assert_eq!(after(FIRST), (Some(0), Some(0)));
    assert_eq!(after(SECOND), (Some(3), Some(12_288)));
    assert_eq!(after(THIRD), (Some(1), Some(4096)));
    assert_eq!(json(&line), plan);
}

#[test]
fn a_plan_by_load_counts_what_slots_hold() {
    // Two slots of the first node have all the load.
    let path = file("loads.csv", "slot,load\n0,100\n1,100\n");
    let plan = json(&format!(
        "slots plan {} --even --loads {}",
        data(STABLE),
        path.display()
    ));
    assert_eq!(plan["load"], "load");
    assert_eq!(plan["moved"], 1);
    assert_eq!(plan["nodes"][0]["load"], 200);
    let keys = file("weights.csv", "key,size,requests\nfoo,7,1\nbar,9,2\n");
    let by = |by: &str| {
        json(&format!(
            "slots plan {} --even --loads {} {by}",
            data(STABLE),
            keys.display()
        ))
    };
    let named: Vec<_> = ["", "--by keys", "--by bytes"]
        .map(|word| by(word)["load"].clone())
        .into();
    assert_eq!(named, ["requests", "keys", "bytes"]);
}

#[test]
fn each_step_begins_where_the_last_ended() {
    let line = format!(
        "slots plan {} --add n4@10.0.0.4:6379 --budget 1500",
        data(STABLE)
    );
    let whole = json(&line);
    let mut moves = Vec::new();
    for step in 1..=3 {
        let part = json(&format!("{line} --step {step}"));
        assert_eq!((&part["step"], &part["steps"]), (&json!(step), &json!(3)));
        let node = &part["nodes"][3];
        assert_eq!(node["slots"], json!(1500 * (step - 1)));
        moves.extend(part["moves"].as_array().expect("an array").clone());
    }
    assert_eq!(whole["moves"], json!(moves));
}

/// Repeating the command after each step completes the plan.
#[test]
fn the_same_command_goes_on_where_a_step_ended() {
    let table = |[second, third]: [u32; 2]| {
        let rest = match third {
            16_384 => String::new(),
            _ => format!("{third}-16383"),
        };
        format!(
            "a 10.0.0.1:6379@1 master - 0 0 1 connected 0-{}\n\
             b 10.0.0.2:6379@1 master - 0 0 2 connected {second}-{}\n\
             n3 10.0.0.3:6379@1 master - 0 0 3 connected {rest}\n",
            second - 1,
            third - 1
        )
    };
    let left = |text: String| {
        let path = file("steps.txt", text);
        json(&format!(
            "slots plan {} --add n3@10.0.0.3:6379",
            path.display()
        ))["moved"]
            .clone()
    };
    assert_eq!(left(table([8192, 16_384])), 5461);
    assert_eq!(left(table([8192, 16_000])), 5461 - 384);
}

#[test]
fn the_classic_commands_come_in_order() {
    let line = format!(
        "slots plan {} --add n4@10.0.0.4:6379 --budget 1 --step 2 --commands classic",
        data(STABLE)
    );
    let expected = format!(
        "\
# before all
127.0.0.1:27002> CLUSTER MEET 10.0.0.4 6379
# step 2 of 4096: 1 slot
10.0.0.4:6379> CLUSTER SETSLOT 9558 IMPORTING {SECOND}
127.0.0.1:27002> CLUSTER SETSLOT 9558 MIGRATING n4
127.0.0.1:27002> CLUSTER GETKEYSINSLOT 9558 100
127.0.0.1:27002> MIGRATE 10.0.0.4 6379 \"\" 0 5000 KEYS <keys>
127.0.0.1:27002> CLUSTER COUNTKEYSINSLOT 9558  # while more than 0, again
10.0.0.4:6379> CLUSTER SETSLOT 9558 NODE n4
127.0.0.1:27002> CLUSTER SETSLOT 9558 NODE n4
127.0.0.1:27003> CLUSTER SETSLOT 9558 NODE n4
127.0.0.1:27001> CLUSTER SETSLOT 9558 NODE n4
"
    );
    assert_eq!(stdout(&line), expected);
    let other = stdout(&format!("{line} --batch 7 --timeout 9"));
    assert!(other.contains("GETKEYSINSLOT 9558 7") && other.contains("\"\" 0 9 KEYS"));
    let actions = json(&line);
    let kinds: Vec<_> = actions
        .as_array()
        .expect("an array")
        .iter()
        .map(|action| &action["kind"])
        .collect();
    assert_eq!(
        kinds,
        [
            "send", "send", "send", "empty", "send", "send", "send", "send"
        ]
    );
    let meet = json!({
        "step": 0, "kind": "send", "at": "127.0.0.1:27002", "host": "127.0.0.1", "port": 27002,
        "command": "CLUSTER MEET 10.0.0.4 6379",
        "command_words": ["CLUSTER", "MEET", "10.0.0.4", "6379"],
    });
    assert_eq!((&actions[0], &actions[1]["step"]), (&meet, &json!(2)));
    assert_eq!(
        keys_of(&actions[3]),
        [
            "at",
            "count",
            "count_words",
            "host",
            "kind",
            "list",
            "list_words",
            "migrate",
            "migrate_words",
            "port",
            "step"
        ]
    );
}

#[test]
fn one_atomic_command_is_sent_for_each_pair_of_nodes() {
    let line = format!(
        "slots plan {} --add n4@10.0.0.4:6379 --commands atomic",
        data(STABLE)
    );
    let text = stdout(&line);
    assert!(
        text.contains("10.0.0.4:6379> CLUSTER MIGRATION IMPORT 9557 10922\n"),
        "{text}"
    );
    assert_eq!(text.matches("MIGRATION STATUS ID").count(), 3);
    let actions = json(&line);
    assert_eq!(actions[0]["step"], 0);
    assert_eq!(
        keys_of(&actions[1]),
        [
            "at",
            "host",
            "import",
            "import_words",
            "kind",
            "port",
            "status",
            "status_words",
            "step"
        ]
    );
}

#[test]
fn open_slots_are_finished_first() {
    let path = data("nodes_importing.txt");
    let plan = json(&format!("slots plan {path} --finish"));
    let moves = json!([{ "step": 1, "slot": 15_495, "from": THIRD, "to": FIRST, "load": 1 }]);
    assert_eq!((&plan["moved"], &plan["moves"]), (&json!(1), &moves));
    let text = stdout(&format!("slots plan {path} --finish --commands classic"));
    assert!(text.contains(&format!(
        "127.0.0.1:27003> CLUSTER SETSLOT 15495 NODE {FIRST}"
    )));
    let none = stdout(&format!("slots plan {} --finish --step 1", data(STABLE)));
    assert!(none.contains("0 slots move"), "{none}");
}

/// The target has the slot and the source does not know it: one mark is left.
#[test]
fn marks_that_fit_no_owner_become_commands() {
    let stopped = "\
aaaa 10.0.0.1:6379@1 myself,master - 0 0 1 connected 0-9 [7->-bbbb] [12->-bbbb]
bbbb 10.0.0.2:6379@1 master - 0 0 2 connected 10-16383
";
    let path = file("stray.txt", stopped);
    let line = format!("slots plan {} --finish", path.display());
    let text = stdout(&format!("{line} --commands classic"));
    let (first, rest) = text.split_once("# step 1 of 1: 1 slot\n").expect(&text);
    assert_eq!(
        first,
        "# before all\n10.0.0.1:6379> CLUSTER SETSLOT 12 STABLE\n"
    );
    assert!(rest.contains("CLUSTER SETSLOT 7 NODE bbbb"));
    let stable = json!({
        "step": 0, "kind": "send", "at": "10.0.0.1:6379", "host": "10.0.0.1", "port": 6379,
        "command": "CLUSTER SETSLOT 12 STABLE",
        "command_words": ["CLUSTER", "SETSLOT", "12", "STABLE"],
    });
    let actions = json(&format!("{line} --commands classic"));
    assert_eq!(actions[0], stable);
    assert_eq!(
        json(&line)["stray"],
        json!([{ "slot": 12, "node": "aaaa" }])
    );
    assert!(stdout(&line).contains("slot 12 at 10.0.0.1:6379"));
    // No other slot is open.
    let path = file("stray.txt", stopped.replace("[7->-bbbb] ", ""));
    let line = format!("slots plan {} --finish --commands", path.display());
    for way in ["classic", "atomic"] {
        assert_eq!(stdout(&format!("{line} {way}")), first);
        assert_eq!(json(&format!("{line} {way}")), json!([stable]));
    }
}

/// A name, an address with a zero before the port and one in brackets mean the same node.
#[test]
fn addresses_name_nodes_however_they_are_written() {
    let nodes = "\
aaaa ::1:7000@17000,one.example master - 0 0 1 connected 0-16383
bbbb ::1:7001@17001 master - 0 0 2 connected
";
    let path = file("brackets.txt", nodes);
    let plan = |goal: &str| json(&format!("slots plan {} {goal}", path.display()))["moved"].clone();
    for name in [
        "bbbb",
        "::1:7001",
        "[::1]:7001",
        "::1:07001",
        "bbbb@[::1]:7001",
    ] {
        assert_eq!(plan(&format!("--add {name}")), 8192, "{name}");
    }
    for name in ["[::1]:7000", "one.example:7000"] {
        assert_eq!(
            plan(&format!("--remove {name} --add bbbb")),
            16_384,
            "{name}"
        );
    }
    // The node returned with another id at the address where it failed.
    let failed = nodes.replace("7001@17001 master", "7001@17001 master,fail");
    let path = file("back.txt", failed);
    let line = format!("slots plan {} --add cccc@[::1]:7001", path.display());
    assert_eq!(json(&line)["moved"], 8192);
}

/// Commands are printed one by one; all at once they would take hundreds of megabytes.
#[test]
#[cfg(target_os = "linux")]
fn the_commands_of_a_large_plan_take_little_memory() {
    let empty = (1..=20).map(|i| format!("n{i} 10.0.1.{i}:6379@16379 master - 0 0 0 connected\n"));
    let all = "n0 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-16383\n";
    let path = file("twenty.txt", all.to_owned() + &empty.collect::<String>());
    for format in ["table", "json"] {
        let status = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 120000 && exec \"$0\" \"$@\" > /dev/null"])
            .arg(env!("CARGO_BIN_EXE_hashroute"))
            .args(["slots", "plan", &path.display().to_string()])
            .args(["--even", "--commands", "classic", "--format", format])
            .status()
            .expect("a shell");
        assert!(status.success(), "{format}: {status}");
    }
}

/// A primary that was drained is a replica: the same command says that all is done.
#[test]
fn a_drained_node_may_leave() {
    let table = data(STABLE);
    let text = std::fs::read_to_string(&table).expect("a file");
    // The first primary gave its slots to the third and follows it now.
    let lines = text.lines().map(|line| {
        if line.starts_with(FIRST) {
            format!("{FIRST} 127.0.0.1:27001@37001 slave {THIRD} 0 0 3 connected\n")
        } else {
            format!("{line}\n").replace("10923-16383", "0-5460 10923-16383")
        }
    });
    let path = file("drained.txt", lines.collect::<String>());
    let line = format!(
        "slots plan {} --remove {FIRST} --weight {THIRD}=2",
        path.display()
    );
    let shown = stdout(&line);
    let done =
        "done: 127.0.0.1:27001 has no slots (it is a replica of 127.0.0.1:27003 now) and may leave";
    assert!(shown.contains(done), "{shown}");
    let plan = json(&line);
    assert_eq!(
        plan["may_leave"],
        json!([{ "id": FIRST, "primary": THIRD }])
    );
    for way in ["classic", "sh"] {
        assert!(stdout(&format!("{line} --commands {way}")).contains(&format!("# {done}")));
    }
}

// --- simulate ---

const SMALL: &str = "--keys 3000 --pace 2 --clients 3";

#[test]
fn a_simulated_resharding_loses_nothing_and_counts_redirections() {
    let line = format!("slots simulate {SMALL} --seed 7");
    let found = json(&line);
    assert_eq!(
        keys_of(&found),
        [
            "attempts",
            "clients",
            "commands",
            "deletes",
            "failed",
            "gave_up",
            "keys",
            "keys_migrated",
            "laws",
            "moved",
            "multi_key",
            "ok",
            "passed",
            "primaries",
            "reads",
            "redirects",
            "refreshes",
            "seed",
            "sends",
            "stale_maps",
            "steps",
            "writes",
        ]
    );
    assert_eq!((&found["ok"], &found["gave_up"]), (&json!(true), &json!(0)));
    assert_eq!(
        (&found["moved"], &found["primaries"]),
        (&json!(4096), &json!(4))
    );
    let number = |value: &Value| value.as_u64().expect("a number");
    let met = &found["redirects"];
    assert_eq!(keys_of(met), ["ask", "moved", "other", "try_again"]);
    assert!(
        ["ask", "moved", "try_again"]
            .iter()
            .all(|kind| number(&met[kind]) > 0),
        "{met}"
    );
    // Each command was answered once; every further send is a redirection.
    let attempts = found["attempts"].as_array().expect("an array");
    let commands: u64 = attempts.iter().map(|row| number(&row["commands"])).sum();
    let sends: u64 = attempts
        .iter()
        .map(|row| number(&row["commands"]) * number(&row["sends"]))
        .sum();
    assert_eq!(
        (commands, sends),
        (number(&found["commands"]), number(&found["sends"]))
    );
    let redirects: u64 = ["ask", "moved", "try_again", "other"]
        .iter()
        .map(|kind| number(&met[kind]))
        .sum();
    assert_eq!(sends - commands, redirects);
    let laws = found["laws"].as_array().expect("an array");
    assert_eq!(laws.len(), 6);
    assert!(
        laws.iter()
            .all(|law| number(&law["checked"]) > 0 && law["broken"] == 0 && law["first"].is_null())
    );
    assert_eq!(json(&line), found);
    assert_ne!(json(&format!("slots simulate {SMALL} --seed 8")), found);
}

#[test]
fn a_simulated_resharding_starts_from_any_table() {
    let line = format!(
        "slots simulate {} --remove 127.0.0.1:27001 {SMALL} --refresh 50",
        data("shards_resp2.txt")
    );
    let found = json(&line);
    assert_eq!(
        (&found["ok"], &found["moved"]),
        (&json!(true), &json!(5461))
    );
    assert!(found["refreshes"].as_u64() > Some(0));
    let shown = stdout(&line);
    assert!(shown.contains("Every law held: no key was lost, none was served twice."));
    assert!(
        shown.lines().all(|line| line.chars().count() <= 100),
        "{shown}"
    );
}

#[test]
fn the_simulation_finds_deliberate_mistakes() {
    let found = |mistake: &str| unmet(&format!("slots simulate {SMALL} --mistake {mistake}"));
    let (out, errors) = found("keys-left");
    assert!(
        out.contains("Broken: a read gives what was written last."),
        "{out}"
    );
    assert!(
        errors.contains("3 laws broken") && errors.contains("node-0 and node-3"),
        "{errors}"
    );
    for mistake in ["no-importing", "source-first"] {
        let (_, errors) = found(mistake);
        assert!(
            errors.contains("would be written at no server"),
            "{mistake}: {errors}"
        );
    }
}
