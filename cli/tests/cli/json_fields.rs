//! The page on JSON fields says what the commands print.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Stdio;

use serde_json::{Deserializer, Value};

use crate::slots::{DATA, STABLE};
use crate::{command, directory, file, words};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../harness/docs/json.md");

/// Commands that print every field of the page at least once.
fn lines() -> Vec<(&'static str, String)> {
    let row = |i: u32| format!("key-{i},{},{}\n", i % 97 * 1000, 1 + i % 7 * i);
    let rows: String = (0..400).map(row).collect();
    let csv = file("fields.csv", format!("key,size,requests\n{rows}bad,x,1\n"));
    let csv = csv.display();
    let nodes = "name,weight,zone,rack\na,2,z1,r1\nb,1,z2,r2\nc,1,z2,\n";
    let nodes = file("fields-nodes.csv", nodes);
    let nodes = format!("--nodes-file {}", nodes.display());
    let upstream = "upstream u {\n  hash $uri consistent;\n  server 10.0.0.1:80;\n}\n";
    let upstream = file("fields.conf", upstream);
    let upstream = upstream.display();
    let stable = format!("{DATA}/{STABLE}");
    let tagged = file("fields-keys.txt", "{a}:1\n{a}:2\n{a}:3\nb\n");
    let tagged = tagged.display();
    let spec = "format = 1\nvalues = 1\nstrategy = \"ring\"\nnode = [{ name = \"a\" }]\n";
    let spec = file("fields.toml", spec);
    let spec = spec.display();
    let labelled = "10.0.0.1:6379=1,label=a,10.0.0.2:6379=1,label=b";
    let saved = directory().join("fields.json");
    let saved = saved.display();
    vec![
        ("compare", "compare --range 0..300 --strategy ring,jump --nodes a,b,c --remove a --add d".into()),
        ("compare", format!("compare --csv {csv} --strategy ring --nodes a,b,c")),
        ("balance", format!("balance {nodes} --csv {csv}")),
        ("skew", format!("skew {nodes} --csv {csv} --node-counts 2..=4")),
        ("skew", "skew --strategy modulo --count 60 --hash twemproxy-fnv1a-64 --template metric:demo:{i} --range 0..1000".into()),
        ("remap", format!("remap {nodes} --csv {csv} --add d")),
        ("diff", "diff --nodes a,b,c --add d --ranges".into()),
        ("diff", "diff --nodes a,b,c --add d --range 0..300".into()),
        ("diff", format!("diff --nodes a,b,c --add d=2 --csv {csv}")),
        ("diff", format!("diff --nodes a,b,c --add d --csv {csv} --list")),
        ("diff", "diff --nodes a,b,c --to-dialect twemproxy --best --range 0..300".into()),
        ("plan", "plan --nodes a,b,c --add d --replicas 2".into()),
        ("plan", format!("plan --nodes a,b,c --add d --csv {csv}")),
        ("check", "check --nodes a,b,c --range 0..300 --max-cv 0 --max-empty 9".into()),
        ("check", format!("check --nodes a,b,c --csv {csv} --max-cv 9 --save-baseline {saved}")),
        ("check", format!("check --nodes a,b,c,d --csv {csv} --max-cv 9 --baseline {saved} --max-moved 1%")),
        ("explain", format!("explain {nodes} user:1")),
        ("explain", "explain --nodes a=0 user:1".into()),
        ("explain", format!("explain --dialect nginx --config {upstream} /")),
        ("route", "route --nodes a,b user:1".into()),
        ("slots show", format!("slots show {DATA}/nodes_migrating.txt")),
        ("slots show", format!("slots show {DATA}/nodes_failed.txt")),
        ("slots plan", format!("slots plan {stable} --even")),
        ("slots plan", format!("slots plan {stable} --even --csv {csv}")),
        ("slots key", format!("slots key --table {stable} {{a}}:x")),
        ("slots check", format!("slots check {tagged} --max-tag 1%")),
        ("slots simulate", "slots simulate --keys 200 --clients 2".into()),
        ("slots simulate", "slots simulate --keys 200 --clients 2 --mistake source-first".into()),
        ("spec check", format!("spec check {spec}")),
        ("spec fingerprint", format!("spec fingerprint {spec}")),
        ("balance", "balance --range 0..9".into()),
        ("remap", "remap --count 3 --add d".into()),
        ("diff", format!("diff --dialect twemproxy --nodes {labelled} --add 10.0.0.3:6379,label=c")),
        ("strategies", "strategies".into()),
        ("dialects", "dialects".into()),
        ("hashes", "hashes".into()),
    ]
}

/// Where a field is printed, and with which types.
type Fields = BTreeMap<String, BTreeMap<&'static str, BTreeSet<&'static str>>>;

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

fn gather(command: &'static str, value: &Value, fields: &mut Fields) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let commands = fields.entry(name.clone()).or_default();
                commands.entry(command).or_default().insert(kind(value));
                // Its fields are the names of nodes.
                if name == "labels" {
                    continue;
                }
                gather(command, value, fields);
            }
        }
        Value::Array(list) => list.iter().for_each(|one| gather(command, one, fields)),
        _ => {}
    }
}

/// Returns the fields that the commands print.
fn printed() -> Fields {
    let mut fields = Fields::new();
    for (name, line) in lines() {
        let output = command(words(&line))
            .args(["--format", "json"])
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs");
        let mut found = 0;
        for value in Deserializer::from_slice(&output.stdout).into_iter::<Value>() {
            gather(name, &value.expect(&line), &mut fields);
            found += 1;
        }
        assert!(
            found > 0,
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    fields
}

/// A row of the page: the commands that print a field, and its types.
type Row = (BTreeSet<String>, BTreeSet<String>);

fn listed() -> BTreeMap<String, Row> {
    let page = fs::read_to_string(PAGE).expect("the page");
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        let name = cells.next()?.trim_end_matches('`').to_owned();
        let set = |cell: &str, between: &str| cell.split(between).map(str::to_owned).collect();
        Some((name, (set(cells.next()?, ", "), set(cells.next()?, " or "))))
    });
    rows.collect()
}

#[test]
fn every_field_is_on_the_page_with_its_type_and_every_row_is_printed() {
    let (printed, listed) = (printed(), listed());
    let mut wrong = Vec::new();
    for (name, commands) in &printed {
        let types: BTreeSet<_> = commands.values().flatten().copied().collect();
        let names: Vec<_> = commands.keys().copied().collect();
        let types: Vec<_> = types.into_iter().collect();
        let known = listed.get(name).is_some_and(|(of, kinds)| {
            of.iter().map(String::as_str).eq(names.iter().copied())
                && types.iter().all(|kind| kinds.contains(*kind))
        });
        if !known {
            wrong.push(format!(
                "| `{name}` | {} | {} |",
                names.join(", "),
                types.join(" or ")
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "rows for harness/docs/json.md:\n{}",
        wrong.join("\n")
    );
    let mut gone = listed.keys().filter(|name| !printed.contains_key(*name));
    assert_eq!(gone.next(), None, "a row that nothing prints");
}
