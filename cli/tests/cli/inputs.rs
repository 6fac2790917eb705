//! Keys and nodes from files and pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::{command, file, json, run, stdout};

#[test]
fn keys_are_read_as_bytes() {
    let keys = file("bytes.txt", b"a\r\n\n\xff\tb\nlast");
    let output = run(&format!("route --nodes n --keys {}", keys.display()));
    assert_eq!(output.stdout, b"a\r\tn\n\tn\n\xff\tb\tn\nlast\tn\n");
    let json = stdout(&format!(
        "route --nodes n --raw --keys {} --format json",
        keys.display()
    ));
    assert_eq!(
        json.lines().nth(2),
        Some(r#"{"hex":"ff0962","nodes":["n"]}"#)
    );
    let again = file(
        "bytes.jsonl",
        "\"a\\r\"\n\"\"\n{\"hex\":\"ff0962\"}\n\"last\"",
    );
    assert_eq!(
        run(&format!("route --nodes n --jsonl {}", again.display())).stdout,
        output.stdout
    );
    let table = file("bytes.csv", b"size,key\n1,\"a\r\"\n1,\n1,\xff\tb\n1,last\n");
    assert_eq!(
        run(&format!("route --nodes n --csv {}", table.display())).stdout,
        output.stdout
    );
    assert_eq!(
        json_of_balance(&format!("--csv {}", table.display()))["bytes"]["total"],
        4
    );
    assert!(stdout("explain --nodes n k").contains("the whole key"));
}

fn json_of_balance(keys: &str) -> Value {
    json(&format!("balance --nodes n,m {keys}"))
}

#[test]
fn standard_input_is_routed_line_by_line() {
    let mut child = command(["route", "--nodes", "n", "--keys", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut keys = child.stdin.take().expect("piped");
    let mut routes = BufReader::new(child.stdout.take().expect("piped"));
    for key in ["first", "second"] {
        // The answer must come while the pipe is still open.
        writeln!(keys, "{key}").expect("a pipe");
        let mut line = String::new();
        routes.read_line(&mut line).expect("UTF-8");
        assert_eq!(line, format!("{key}\tn\n"));
    }
    drop(keys);
    assert!(child.wait().expect("ends").success());
}

#[test]
fn long_input_is_routed_whole() {
    let keys: Vec<_> = (0..30_000).map(|i| format!("some-key-{i}")).collect();
    let lines = keys.join("\n");
    let list = file("long.txt", &lines);
    let table = file("long.csv", format!("key\n{lines}"));
    let routed = stdout(&format!("route --count 3 --keys {}", list.display()));
    assert_eq!(
        routed,
        stdout("route --count 3 --template 'some-key-{i}' --range 0..30000")
    );
    assert_eq!(
        routed,
        stdout(&format!("route --count 3 --csv {}", table.display()))
    );
    assert_eq!(routed.lines().count(), keys.len());
}

#[test]
fn node_files_of_every_format_give_the_same_routes() {
    let csv = file(
        "same.csv",
        "\u{feff}name,weight,zone,rack\na,2,z,r\nb,,,\n\"c,d\",0,z,\n",
    );
    let json = file(
        "same.json",
        r#"[{"name":"a","weight":2,"zone":"z","rack":"r"},{"name":"b"},{"name":"c,d","weight":0,"zone":"z"}]"#,
    );
    let toml = file(
        "same.TOML",
        "[[node]]\nname='a'\nweight=2\nzone='z'\nrack='r'\n[[node]]\nname='b'\n[[node]]\nname='c,d'\nweight=0\nzone='z'\n",
    );
    let balance = |path: PathBuf| {
        stdout(&format!(
            "balance --range 0..100 --nodes-file {} --format json",
            path.display()
        ))
    };
    let first = balance(csv);
    assert_eq!(first, balance(json));
    assert_eq!(first, balance(toml));
    let nodes = &serde_json::from_str::<Value>(&first).expect("JSON")["nodes"];
    assert_eq!(
        (&nodes[2]["name"], &nodes[2]["keys"], &nodes[0]["rack"]),
        (&"c,d".into(), &0.into(), &"r".into())
    );
}

#[test]
fn every_csv_file_is_read_by_the_same_rules() {
    let keys = file("trimmed.csv", "\u{feff}key, size\n\n a,10\nb, 20\n");
    assert_eq!(
        stdout(&format!("route --nodes n --csv {}", keys.display())),
        " a\tn\nb\tn\n"
    );
    assert_eq!(
        json_of_balance(&format!("--csv {}", keys.display()))["bytes"]["total"],
        30
    );
    let nodes = file("trimmed-nodes.csv", "name , weight\n a , 2 \n");
    let balance = json(&format!(
        "balance --range 0..9 --nodes-file {}",
        nodes.display()
    ));
    assert_eq!(
        (&balance["nodes"][0]["name"], &balance["nodes"][0]["weight"]),
        (&"a".into(), &2.into())
    );
}

#[test]
fn lines_are_counted_through_all_batches() {
    let repeated = |line: fn(u32) -> String| (0..30_000).map(line).collect::<String>();
    let jsonl = repeated(|i| format!("\"key-{i}\"\n"));
    let csv = repeated(|i| format!("key-{i},1\r\n\r\n"));
    let jsonl = file("long-wrong.jsonl", format!("\u{feff}{jsonl}3\n"));
    let csv = file("long-wrong.csv", format!("key,size\r\n{csv}a,many\r\n"));
    for command in ["route", "balance"] {
        for (option, path, line) in [
            ("--jsonl", &jsonl, "line 30001:"),
            ("--csv", &csv, "line 60002:"),
        ] {
            let output = run(&format!(
                "{command} --strict --nodes n {option} {}",
                path.display()
            ));
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(message.contains(line), "{command}: {message}");
        }
    }
}
