//! A second state that options list is the one that `route` has with these options.

use std::collections::BTreeMap;

use crate::{file, json, run, stdout};

fn routes(line: &str) -> BTreeMap<String, String> {
    let output = run(line);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let pair = |line: &str| {
        let (key, node) = line.split_once('\t')?;
        Some((key.to_owned(), node.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

/// Returns the keys that have another node, with both nodes, from two runs of `route`.
fn between(first: &str, second: &str) -> Vec<String> {
    let [first, second] = [first, second].map(|line| routes(&format!("route {line}")));
    assert_eq!(first.len(), second.len());
    let moved = first.iter().filter_map(|(key, from)| {
        let to = &second[key];
        (from != to).then(|| format!("{key}\t{from}\t{to}"))
    });
    moved.collect()
}

fn listed(line: &str) -> Vec<String> {
    let output = run(line);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn listed_nodes_are_the_state_that_route_has_for_every_strategy() {
    const KEYS: &str = "--range 0..2000";
    let nodes = file(
        "second.csv",
        "name\nnode-0\nnode-1\nnode-2\nnode-3\nnode-4\nnode-5\n",
    );
    let file = nodes.display();
    let rows = hashroute::strategy::ALL.iter();
    // The nodes of bounded loads depend on the keys that came before.
    for name in rows.map(|row| row.name).filter(|name| *name != "bounded") {
        for (before, after, state) in [
            (
                "--count 4",
                "--to-count 7".to_owned(),
                "--count 7".to_owned(),
            ),
            ("--count 7", "--to-count 4".into(), "--count 4".into()),
            (
                "--count 3",
                "--to-nodes node-0,node-1,node-2,node-3".into(),
                "--nodes node-0,node-1,node-2,node-3".into(),
            ),
            (
                "--count 4",
                format!("--to-nodes-file {file}"),
                format!("--nodes-file {file}"),
            ),
        ] {
            let two = between(
                &format!("-s {name} {before} {KEYS}"),
                &format!("-s {name} {state} {KEYS}"),
            );
            assert!(!two.is_empty(), "{name} {after}");
            for command in ["diff", "remap"] {
                let one = listed(&format!(
                    "{command} -s {name} {before} {after} {KEYS} --list"
                ));
                assert_eq!(one, two, "{command} {name} {after}");
            }
        }
    }
}

#[test]
fn a_strategy_with_a_table_says_which_table_is_compared() {
    let words = "in a new table, as route builds it (--add and --remove keep the old table)";
    for command in ["diff", "plan", "remap --range 0..300"] {
        let text = stdout(&format!("{command} -s slots --count 3 --to-count 4"));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{command}: {text}");
        let text = stdout(&format!("{command} -s slots --count 3 --add node-3"));
        assert!(!text.contains("new table"), "{command}: {text}");
        let text = stdout(&format!("{command} -s maglev --count 3 --to-count 4"));
        assert!(!text.contains("table"), "{command}: {text}");
    }
    // A table that grows moves the part of the new node; a new table moves more.
    let grown = json("diff -s slots --count 3 --add node-3")["moved_share"].as_f64();
    let fresh = json("diff -s slots --count 3 --to-count 4")["moved_share"].as_f64();
    assert!(grown < fresh, "{grown:?} {fresh:?}");
    let plan = json("plan -s slots --count 3 --to-count 4")["moved_share"].as_f64();
    assert_eq!(plan, fresh);
}

#[test]
fn the_table_of_a_spec_is_kept_and_the_answer_says_so() {
    let spec = stdout("spec write -s slots --count 3 --add node-3");
    let spec = file("table.toml", spec);
    let line = format!("diff --spec {} --to-count 5", spec.display());
    let text = stdout(&line);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("in the table from before, not in a new one"),
        "{text}"
    );
    let moved = json(&line)["moved_share"].as_f64().expect("a share");
    assert!((moved - 0.2).abs() < 0.001, "{moved}");
}
