//! Two set-ups, one answer: equal for every key, or which keys move and why.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{file, json, run, stdout};

pub(crate) fn errors(line: &str) -> (Option<i32>, String) {
    let output = run(line);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), errors)
}

/// Returns what a run prints, with anything on standard error.
fn printed(line: &str) -> String {
    let output = run(line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

pub(crate) fn twemproxy(name: &str, servers: &[&str]) -> String {
    let servers: Vec<_> = servers
        .iter()
        .map(|line| format!("   - {line}\n"))
        .collect();
    let servers = servers.concat();
    let text =
        format!("alpha:\n  listen: 127.0.0.1:22121\n  hash: fnv1a_64\n  servers:\n{servers}");
    file(name, text).display().to_string()
}

pub(crate) const ABC: [&str; 3] = [
    "10.0.0.1:6379:1 a",
    "10.0.0.2:6379:1 b",
    "10.0.0.3:6379:2 c",
];

/// Proxies that list the same servers in another order.
#[test]
fn two_files_that_differ_only_in_an_order_without_meaning_are_equal() {
    let now = twemproxy("now.yml", &ABC);
    let turned = twemproxy("turned.yml", &[ABC[2], ABC[0], ABC[1]]);
    let line = format!("diff --dialect twemproxy --config {now} --to-config {turned}");
    let text = stdout(&line);
    assert_eq!(text.lines().next(), Some("Equal for every key."), "{text}");
    let answer = json(&line);
    assert_eq!(
        (&answer["equal"], &answer["moved_share"]),
        (&true.into(), &0.0.into())
    );
    assert_eq!(answer["differences"][0]["kind"], "order");
    let keyed = json(&format!("{line} --range 0..500"));
    assert_eq!(
        (&keyed["equal"], &keyed["moved"]),
        (&true.into(), &0.into())
    );
    for command in ["remap --range 0..99", "plan"] {
        let text = stdout(&line.replace("diff", command));
        assert!(text.starts_with("Equal for every key."), "{text}");
    }
    let specs = [&now, &turned].map(|config| {
        let spec = stdout(&format!("spec write --dialect twemproxy --config {config}"));
        file(&format!("{}.toml", config.len()), spec)
            .display()
            .to_string()
    });
    let [one, other] = &specs;
    assert_eq!(
        run(&format!("spec fingerprint {one} {other}"))
            .status
            .code(),
        Some(0)
    );
}

/// nginx without `consistent` follows the order of the file (upstream-sync modules, two proxies).
#[test]
fn an_order_with_a_meaning_moves_keys() {
    let config = |name: &str, servers: &str| {
        let text = format!("upstream a {{ hash $uri; {servers} }}\n");
        file(name, text).display().to_string()
    };
    let one = config("order-a.conf", "server 10.0.0.1:80; server 10.0.0.2:80;");
    let other = config("order-b.conf", "server 10.0.0.2:80; server 10.0.0.1:80;");
    let line = format!("diff --dialect nginx --config {one} --to-config {other} --range 0..400");
    let answer = json(&line);
    assert_eq!(
        (&answer["equal"], &answer["moved"]),
        (&false.into(), &400.into())
    );
    assert_eq!(answer["differences"][0]["kind"], "order");
    let text = stdout(&line);
    assert!(
        text.starts_with("400 of these 400 keys (100.00%) move to another node"),
        "{text}"
    );
}

#[test]
fn each_difference_says_what_it_moves() {
    let now = twemproxy("why-now.yml", &ABC);
    let next = twemproxy(
        "why-next.yml",
        &[
            "10.0.0.3:6379:1 c",
            "10.0.0.1:6379:1 a",
            "10.0.0.2:6379:1 x",
        ],
    );
    let line = format!("diff --dialect twemproxy --config {now} --to-config {next}");
    let answer = json(&format!("{line} --range 0..2000"));
    let kinds: BTreeMap<_, _> = answer["differences"]
        .as_array()
        .expect("differences")
        .iter()
        .map(|one| (one["kind"].as_str().unwrap_or_default(), one))
        .collect();
    assert_eq!(
        kinds.keys().copied().collect::<Vec<_>>(),
        ["labels", "order", "weights"]
    );
    assert_eq!(kinds["order"]["matters"], false);
    assert_eq!(kinds["order"]["alone_share"], 0.0);
    assert_eq!(kinds["weights"]["details"][0], "10.0.0.3:6379 2 to 1");
    for kind in ["labels", "weights"] {
        assert_eq!(kinds[kind]["matters"], true);
        assert!(kinds[kind]["alone_share"].as_f64() > Some(0.05), "{kind}");
    }
    let text = stdout(&format!("{line} --range 0..2000"));
    assert!(
        text.contains(
            "- order: 10.0.0.3:6379 is now before 10.0.0.1:6379; no effect on these keys"
        ),
        "{text}"
    );
}

/// A server at another address under the same name.
#[test]
fn a_new_address_of_a_label_is_named() {
    let now = twemproxy("address-now.yml", &ABC);
    let next = twemproxy("address-next.yml", &[ABC[0], ABC[1], "10.0.0.9:6379:2 c"]);
    let line = format!("diff --dialect twemproxy --config {now} --to-config {next}");
    let answer = json(&line);
    assert_eq!(
        answer["differences"][0]["details"][0],
        "10.0.0.3:6379 (c) is now 10.0.0.9:6379"
    );
    assert_eq!(answer["flows"].as_array().map(Vec::len), Some(1));
}

/// Keys whose routes happen to agree prove nothing.
#[test]
fn keys_that_stay_are_no_proof() {
    let text = stdout("diff --nodes a,b --to-set points=163 --range 0..2");
    assert!(
        text.starts_with("None of these 2 keys has another node, but "),
        "{text}"
    );
    let text =
        stdout("diff --strategy rendezvous --nodes a=1,b=1 --to-nodes a=2,b=2 --range 0..20");
    assert!(text.contains("no proof for other keys"), "{text}");
    assert_eq!(
        json("diff --nodes a,b --to-set points=160 --range 0..2")["equal"],
        true
    );
}

/// Runs `route` for both sides and joins the answers.
fn joined(before: &str, after: &str, keys: &str) -> Vec<[String; 3]> {
    let routes = |side: &str| -> Vec<(String, String)> {
        let lines = printed(&format!("route {side} {keys}"));
        let pair = |line: &str| {
            line.rsplit_once('\t')
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
        };
        lines.lines().filter_map(pair).collect()
    };
    let pairs = routes(before).into_iter().zip(routes(after));
    let moved = pairs.filter(|(old, new)| old.1 != new.1);
    moved.map(|(old, new)| [old.0, old.1, new.1]).collect()
}

fn listed(line: &str) -> Vec<[String; 3]> {
    let text = printed(line);
    let row = |line: &str| {
        let mut fields = line.split('\t').map(str::to_owned);
        [(); 3].map(|()| fields.next().unwrap_or_default())
    };
    text.lines().map(row).collect()
}

#[test]
fn a_list_equals_two_runs_of_route_joined() {
    let now = twemproxy("list-now.yml", &ABC);
    let next = twemproxy(
        "list-next.yml",
        &[ABC[0], ABC[1], ABC[2], "10.0.0.4:6379:1 d"],
    );
    let pairs = [
        (
            "--nodes a,b,c".to_owned(),
            "--nodes a,b,c,d=2".to_owned(),
            "--add d=2".to_owned(),
        ),
        (
            format!("--dialect twemproxy --config {now}"),
            format!("--dialect twemproxy --config {next}"),
            format!("--to-config {next}"),
        ),
        (
            "--strategy bounded --nodes a,b,c".into(),
            "--strategy bounded --nodes a,b".into(),
            "--to-nodes a,b".into(),
        ),
    ];
    for (before, after, change) in pairs {
        let keys = "--range 0..3000";
        let expected = joined(&before, &after, keys);
        assert!(expected.len() > 100);
        for command in ["diff", "remap"] {
            let list = listed(&format!("{command} {before} {change} {keys} --list"));
            assert_eq!(list, expected, "{command} {before}");
        }
        let csv = printed(&format!(
            "diff {before} {change} {keys} --list --format csv"
        ));
        let rows: Vec<_> = expected.iter().map(|row| row.join(",")).collect();
        assert_eq!(csv, format!("key,from,to\n{}\n", rows.join("\n")));
    }
}

#[test]
fn a_list_has_what_the_keys_carry_and_bytes_as_they_are() {
    let csv = file("carried.csv", "key,size,requests\nk1,7,1\nk2,9,4\n");
    let line = format!("diff --nodes a --to-nodes b --csv {} --list", csv.display());
    assert_eq!(printed(&line), "k1\ta\tb\t7\t1\nk2\ta\tb\t9\t4\n");
    let first = printed(&format!("{line} --format csv"));
    assert!(
        first.starts_with("key,from,to,size,requests\nk1,a,b,7,1\n"),
        "{first}"
    );
    let bytes = file("bytes.jsonl", "{\"hex\":\"ff00\"}\n\"k\"\n");
    let line = format!(
        "diff --nodes a --to-nodes b --jsonl {} --list --format json",
        bytes.display()
    );
    let lines: Vec<Value> = printed(&line)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        lines[0],
        serde_json::json!({"hex": "ff00", "from": "a", "to": "b"})
    );
    assert_eq!(lines[1]["key"], "k");
    let quiet = run(&format!("{line} --quiet"));
    assert!(quiet.stderr.is_empty());
    let (_, told) = errors(&line);
    assert_eq!(
        told,
        "note: 2 of these 2 keys (100.00%) move to another node, and 100.00% of all keys\n"
    );
}

#[test]
fn bytes_and_requests_that_move_are_counted() {
    let csv = file("moved-bytes.csv", "key,size,requests\nk1,7,1\nk2,9,4\n");
    let answer = json(&format!(
        "diff --nodes a --to-nodes b --csv {}",
        csv.display()
    ));
    assert_eq!(
        answer["bytes"],
        serde_json::json!({"total": 16, "moved": 16, "moved_share": 1.0})
    );
    assert_eq!(answer["requests"]["moved"], 5);
    assert_eq!(answer["flows"][0]["bytes"], 16);
}

#[test]
fn nobody_lists_keys_that_nobody_gave() {
    for command in ["diff", "remap", "plan"] {
        let (code, told) = errors(&format!("{command} --nodes a,b --add c --list"));
        assert_eq!(code, Some(2));
        assert!(
            told.contains("--list: no keys: expected --keys FILE"),
            "{told}"
        );
    }
}

#[test]
fn each_step_of_a_plan_lists_its_keys() {
    for strategy in ["ring", "rendezvous", "slots"] {
        let line = format!("--strategy {strategy} --nodes a,b,c --add d");
        let keys = "--range 0..2000";
        let all = printed(&format!(
            "plan {line} {keys} --max-step 10% --list --format csv"
        ));
        let mut rows: Vec<_> = all.lines().skip(1).map(str::to_owned).collect();
        let step = |number: u32| {
            let line =
                format!("plan {line} {keys} --max-step 10% --step {number} --list --format csv");
            let text = printed(&line);
            text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        let counted = json(&format!("plan {line} {keys} --max-step 10%"));
        let steps = counted["steps"].as_array().expect("steps").clone();
        let mut parts = Vec::new();
        for (number, of) in (1..).zip(&steps) {
            let part = step(number);
            assert_eq!(of["keys"], part.len(), "{strategy}");
            assert!(
                part.iter()
                    .all(|row| row.starts_with(&format!("{number},")))
            );
            parts.extend(part);
        }
        let moved = printed(&format!("diff {line} {keys} --list --format csv"));
        let mut moved: Vec<_> = moved.lines().skip(1).map(str::to_owned).collect();
        rows.sort();
        parts.sort();
        assert_eq!(rows, parts, "{strategy}");
        let mut plain: Vec<_> = rows.iter().filter_map(|row| row.split_once(',')).collect();
        plain.sort_by_key(|(_, row)| row.to_owned());
        moved.sort();
        assert!(
            plain
                .iter()
                .map(|(_, row)| *row)
                .eq(moved.iter().map(String::as_str)),
            "{strategy}"
        );
        assert!(steps.len() > 2 && moved.len() > 300, "{strategy}");
    }
}

#[test]
fn a_step_counts_the_bytes_that_are_copied() {
    let csv = file("step-bytes.csv", "key,size\nk1,7\nk2,9\n");
    let line = format!("plan --nodes a --to-nodes b --csv {}", csv.display());
    let plan = json(&line);
    assert_eq!(
        (&plan["steps"][0]["keys"], &plan["steps"][0]["bytes"]),
        (&2.into(), &16.into())
    );
    let list = printed(&format!("{line} --list"));
    assert_eq!(list, "1\tk1\ta\tb\t7\n1\tk2\ta\tb\t9\n");
}

#[test]
fn every_part_of_the_second_set_up_has_its_option() {
    let moved = |line: &str| json(line)["moved_share"].clone();
    assert_eq!(
        moved("diff --nodes a,b --to-nodes a,b,c"),
        moved("diff --nodes a,b --add c")
    );
    assert_eq!(
        moved("diff --count 3 --to-count 4"),
        moved("diff --count 3 --add node-3")
    );
    for option in [
        "--to-hash-seed 7",
        "--to-hash-tag {}",
        "--to-hash xxh64 --to-hash-seed 3",
    ] {
        let keys = file("tags.txt", "{a}1\n{b}2\n{c}3\n{d}4\n{e}5\n{f}6\n{g}7\n");
        let line = format!("diff --count 50 {option} --keys {}", keys.display());
        assert!(moved(&line).as_f64() > Some(0.5), "{option}");
    }
    assert_eq!(moved("diff --count 5 --hash-seed 7 --to-hash-seed 7"), 0.0);
    let untagged = json("diff --count 5 --hash-tag {} --to-hash-tag none --range 0..9");
    assert_eq!(
        (&untagged["moved"], &untagged["equal"]),
        (&0.into(), &false.into())
    );
    let now = file(
        "now.toml",
        stdout("spec write --nodes a,b --strategy maglev"),
    );
    let next = file(
        "next.toml",
        stdout("spec write --nodes a,b,c --strategy maglev"),
    );
    let line = format!("diff --spec {} --to-spec {}", now.display(), next.display());
    assert_eq!(
        moved(&line),
        moved("diff --strategy maglev --nodes a,b --add c")
    );
    let pools = "a:\n  listen: h:1\n  servers:\n   - 10.0.0.1:1:1\n   - 10.0.0.2:1:1\nb:\n  listen: h:2\n  servers:\n   - 10.0.0.1:1:1\n";
    let pools = file("pools.yml", pools);
    let line = format!(
        "diff --dialect twemproxy --config {} --pool a --to-pool b",
        pools.display()
    );
    assert_eq!(
        json(&line)["differences"][0]["details"][0],
        "10.0.0.2:1 leaves"
    );
    for (line, told) in [
        (
            "diff --nodes a --to-nodes a, ",
            "--to-nodes, entry 2: no name",
        ),
        ("diff --nodes a --to-pool x", "--to-pool: no configuration"),
        (
            "diff --nodes a --to-config x.yml",
            "--to-config: no dialect",
        ),
        (
            "diff --nodes a --to-nodes b --to-count 3",
            "cannot be used with",
        ),
        (
            "diff --nodes a --to-hash-seed x",
            "--to-hash-seed x: expected",
        ),
        (
            "diff --nodes a --to-hash md5 --to-hash-seed 1",
            "md5 takes neither",
        ),
        ("diff --nodes a --to-hash-tag x", "or none"),
        (
            "diff --nodes a --to-spec no.toml --to-set points=1",
            "cannot be used with",
        ),
    ] {
        let (code, errors) = errors(line);
        assert!(code == Some(2) && errors.contains(told), "{line}: {errors}");
    }
    let line = format!(
        "diff --dialect twemproxy --nodes 10.0.0.1:6379 --to-config {}",
        pools.display()
    );
    let (_, told) = errors(&line);
    assert!(
        told.contains("several pools: expected --to-pool with one of: a, b"),
        "{told}"
    );
}

#[test]
fn keys_without_a_node_are_told_apart() {
    let keys = file("refused.txt", "1\n2\nx\ny\n");
    let line = format!(
        "diff --dialect guava --count 3 --to-count 3 --keys {}",
        keys.display()
    );
    let answer = json(&line);
    assert_eq!(
        (&answer["unowned_share"], &answer["kept_share"]),
        (&0.5.into(), &0.5.into())
    );
    assert!(stdout(&line).contains("no node"), "{}", stdout(&line));
}

/// Specs that differ are an answer, not an error.
#[test]
fn specs_that_differ_point_to_diff() {
    let spec = |name: &str, nodes: &str| {
        let text = stdout(&format!("spec write --nodes {nodes}"));
        file(name, text).display().to_string()
    };
    let [one, other] = [spec("differ-a.toml", "a,b"), spec("differ-b.toml", "a,c")];
    let (code, told) = errors(&format!("spec fingerprint {one} {other}"));
    assert_eq!(code, Some(1));
    assert!(
        told.starts_with("note: ") && !told.contains("error"),
        "{told}"
    );
    assert!(
        told.contains(&format!("hashroute diff --spec {one} --to-spec {other}")),
        "{told}"
    );
}

/// A list states all servers: without labels, they are hashed by address.
#[test]
fn labels_of_a_list_after_the_change_count() {
    let keys = file(
        "label-keys.txt",
        (0..2000)
            .map(|i| format!("user:{i}\n"))
            .collect::<Vec<_>>()
            .concat(),
    );
    let (labelled, plain) = (
        "10.0.0.1:80=1,label=x,10.0.0.2:80=1,label=y",
        "10.0.0.1:80,10.0.0.2:80",
    );
    for dialect in ["twemproxy", "envoy", "nginx"] {
        let routes = |nodes: &str| {
            let line = format!(
                "route --dialect {dialect} --nodes {nodes} --keys {} --quiet",
                keys.display()
            );
            stdout(&line)
        };
        let (before, after) = (routes(labelled), routes(plain));
        let moved = before.lines().zip(after.lines()).filter(|(a, b)| a != b);
        let moved = moved.count();
        assert!(moved > 0, "{dialect}");
        for [from, to] in [[labelled, plain], [plain, labelled]] {
            let line = format!(
                "diff --dialect {dialect} --nodes {from} --to-nodes {to} --keys {}",
                keys.display()
            );
            let answer = json(&line);
            assert_eq!(answer["moved"], moved, "{line}");
            assert_eq!(answer["equal"], false, "{line}");
        }
    }
}
