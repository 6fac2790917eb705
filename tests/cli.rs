//! The command line as scripts see it: options, output, exit codes.
#![cfg(feature = "cli")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hashroute"));
    command.args(args);
    command
}

fn run(line: &str) -> Output {
    command(words(line))
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

/// The words of a line; those in single quotes stay together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, piece) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Standard output of a run that must succeed and say nothing else.
fn stdout(line: &str) -> String {
    let output = run(line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "{line}: {errors}"
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(line: &str) -> Value {
    serde_json::from_str(&stdout(&format!("{line} --format json"))).expect("JSON")
}

fn file(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("a file in the directory for tests");
    path
}

/// Files for [`every_bad_input_has_one_clear_message`]; `DIR` in its lines is where they are.
fn bad_files() {
    let files: &[(&str, &[u8])] = &[
        (
            "weight.csv",
            b"name,weight\na,1\nb,1\nc,1\nd,1\ne,1\nf,1.5\n",
        ),
        ("negative.csv", b"name,weight\na,-1\n"),
        ("fields.csv", b"name,weight\na,1\nb,1,2\n"),
        ("column.csv", b"name,wieght\na,1\n"),
        ("nameless.csv", b"weight\n1\n"),
        ("empty.csv", b"name,weight\n"),
        ("blank.csv", b"name,weight\n,1\n"),
        ("twice.csv", b"name\na\na\n"),
        ("binary.csv", b"name\na\n\xff\n"),
        ("field.json", br#"[{"name":"a","wieght":1}]"#),
        ("weight.json", br#"[{"name":"a","weight":1.5}]"#),
        ("large.json", br#"[{"name":"a","weight":4294967296}]"#),
        ("broken.json", br#"[{"name":"a""#),
        ("object.json", br#"{"name":"a"}"#),
        ("weight.toml", b"[[node]]\nname = \"a\"\nweight = -1\n"),
        ("broken.toml", b"[[node]]\nname = \"a\"\nweight = \n"),
        ("field.toml", b"[[node]]\nname = \"a\"\nwieght = 1\n"),
        ("none.toml", b""),
        ("nodes.yaml", b"- a\n"),
        ("nodes", b"a\n"),
        ("none.txt", b""),
        ("size.csv", b"key,size\na,1\nb,1\nc,1\nd,1\ne,1\nf,many\n"),
        ("keyless.csv", b"name,size\na,1\n"),
        ("number.jsonl", b"\"a\"\n\"b\"\n3\n"),
        ("hex.jsonl", b"{\"hex\":\"8\"}\n"),
    ];
    for (name, content) in files {
        file(name, content);
    }
}

/// What is typed => what the message must hold.
const BAD: &str = r#"
# Nodes.
route --count 0 k => --count | from 1 to
route --count -1 k => --count | -1 | from 1 to
route --count many k => --count | many | whole number
route --count 4000000000 k => --count | 1000000
route --nodes '' k => --nodes | no nodes | a,b=2,c
route --nodes a,,b k => --nodes | entry 2 | without a name
route --nodes =2 k => --nodes | without a name
route --nodes a,b,a k => --nodes | "a" | twice
route --nodes a=1.5 k => --nodes | 1.5 | whole number
route --nodes a=-1 k => --nodes | -1 | from 0
route --nodes a=4294967296 k => --nodes | 4294967296 | 4294967295
route --nodes a=b k => --nodes | "b" is not a weight | a=b=1
route --nodes a --count 3 k => --nodes | --count
route --nodes-file DIR/missing.csv k => --nodes-file | missing.csv | os error
route --nodes-file DIR/weight.csv k => weight.csv | line 7 | 1.5 | whole number
route --nodes-file DIR/negative.csv k => line 2 | -1 | from 0
route --nodes-file DIR/fields.csv k => fields.csv | line 3 | 3 fields | expected 2
route --nodes-file DIR/column.csv k => wieght | name,weight,zone,rack
route --nodes-file DIR/nameless.csv k => no column "name"
route --nodes-file DIR/empty.csv k => no nodes
route --nodes-file DIR/blank.csv k => line 2 | name is empty
route --nodes-file DIR/twice.csv k => "a" | twice
route --nodes-file DIR/binary.csv k => line 3 | UTF-8
route --nodes-file DIR/field.json k => wieght | weight | line 1
route --nodes-file DIR/weight.json k => 1.5 | whole number | line 1
route --nodes-file DIR/large.json k => 4294967296 | 4294967295
route --nodes-file DIR/broken.json k => broken.json | line 1
route --nodes-file DIR/object.json k => object.json | array of objects
route --nodes-file DIR/weight.toml k => line 3 | -1 | whole number
route --nodes-file DIR/broken.toml k => line 3
route --nodes-file DIR/field.toml k => line 3 | wieght
route --nodes-file DIR/none.toml k => no nodes | [[node]]
route --nodes-file DIR/nodes.yaml k => .yaml | .csv, .json or .toml
route --nodes-file DIR/nodes k => no extension | .csv, .json or .toml
# Strategy and hash.
route --strategy rign k => rign | ring | rendezvous
route --set pionts=1 k => --set | pionts | points
route --set points k => --set points | '='
route --set points=0 k => --set points=0 | at least 1
route --set points=many k => --set points=many | number
route --strategy modulo --set points=1 k => points | modulo takes none
route --strategy maglev --set table-size=65536 k => 65536 | 65537
compare --strategy maglev --set table-size=65536 => 65536 | 65537
compare --set pionts=1 => --set | pionts | points | (ring) | (bounded)
route --nodes a=4294967295 k => ring | points | 67108864
route --strategy jump --nodes a=2 k => jump | "a" | weight 2 | expected 1
route --hash sha1 k => sha1 | xxh3 | crc32
route --hash md5 --hash-seed 1 k => --hash-seed | md5 | neither seed nor key
route --hash-seed many k => --hash-seed many | whole number
route --hash-seed -1 k => --hash-seed -1 | whole number
route --hash murmur3-32 --hash-seed 4294967296 k => --hash-seed | 32 bits
route --hash sip13 --hash-key 00 k => --hash-key | 32 hexadecimal digits
route --hash sip13 --hash-key 0123456789abcdef0123456789abcdeg k => --hash-key | 32 hexadecimal
route --hash-key 00000000000000000000000000000000 k => --hash-key | xxh3 | 64 bits
route --hash-tag '{' k => --hash-tag | two bytes
route --dialect twemproxy k => --dialect | no dialects yet
# Keys.
balance --keys DIR/missing.txt => --keys | missing.txt | os error
balance --keys DIR => --keys | os error
route --keys DIR --format csv => --keys | os error
balance --keys DIR/none.txt => --keys | none.txt | no keys
balance --keys - => --keys - | no keys
balance --csv DIR/size.csv => --csv | line 7 | many | whole number
balance --csv DIR/keyless.csv => --csv | "key"
route --csv DIR/keyless.csv => --csv | "key"
balance --jsonl DIR/number.jsonl => --jsonl | line 3 | string
route --jsonl DIR/number.jsonl => --jsonl | line 3 | string
balance --jsonl DIR/hex.jsonl => line 1 | hex
balance --template user => --template | {i}
balance --template 'user:{i' => --template | }
route --template 'user:{i:x}' => --template | {i:04}
balance --range 5..3 => --range 5..3 | A..B
balance --range 3..3 => --range 3..3 | A..B
route --range many => --range many | A..B
balance --range -1..5 => --range -1..5 | A..B
balance --range 0..18446744073709551615 => --range | 18446744073709551615 keys | at most
explain --range 0..18446744073709551615 k => --range | at most
balance --keys a --csv b => --keys | --csv
balance --keys a --range 0..5 => --keys | --range
route --keys a k => --keys | KEY
route --replicas 0 k => --replicas | at least 1
route --spread moon k => moon | zones
explain => KEY
# Changes.
remap --range 0..9 => --add | --remove | --reweight | --to-nodes-file
remap --add node-1 => --add node-1 | already there
remap --remove x => --remove x | no node
remap --reweight x=1 => --reweight x=1 | no node
remap --reweight node-1 => --reweight | NAME=WEIGHT
remap --add x=1.5 => --add | 1.5 | whole number
remap --remove node-0 --range 0..9 --strategy jump => jump | node-0 | last
remap --add x --to-nodes-file y.csv => --add | --to-nodes-file
remap --to-nodes-file DIR/twice.csv => --to-nodes-file | twice
compare --add node-1 --range 0..9 => --add node-1 | already there
compare --remove x --range 0..9 => --remove x | no node
# Clap's own.
route --fromat json k => --fromat | --format
route --format yaml k => yaml | table | json | csv | markdown
rout k => rout | route
 => Usage
"#;

#[test]
fn every_bad_input_has_one_clear_message() {
    bad_files();
    let lines = BAD
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let (typed, expected) = line
            .split_once(" => ")
            .expect("what is typed => the message");
        let output = run(&typed.replace("DIR", env!("CARGO_TARGET_TMPDIR")));
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{typed}: {message}");
        assert_eq!(output.stdout, b"", "{typed}");
        assert!(!message.contains("panicked"), "{typed}: {message}");
        for word in expected.split(" | ") {
            assert!(message.contains(word), "{typed}: no {word:?} in {message}");
        }
    }
}

#[test]
#[cfg(unix)]
fn a_pipe_that_cannot_be_read_is_told() {
    let directory = File::open(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let output = command(["route", "--keys", "-"])
        .stdin(directory)
        .output()
        .expect("the binary runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        message.starts_with("error: --keys -: ") && message.contains("directory"),
        "{message}"
    );
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for line in [
        "route",
        "route --format json",
        "route --format csv --replicas 3",
    ] {
        let mut child = command(words(line))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        let mut first = String::new();
        BufReader::new(child.stdout.take().expect("piped"))
            .read_line(&mut first)
            .expect("a line");
        let mut errors = String::new();
        child
            .stderr
            .take()
            .expect("piped")
            .read_to_string(&mut errors)
            .expect("UTF-8");
        assert!(
            child.wait().expect("ends").success() && errors.is_empty(),
            "{line}: {errors}"
        );
        assert!(first.ends_with('\n'));
    }
}

#[test]
fn output_that_cannot_be_written_is_told() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return;
    };
    let output = command(["strategies"]).stdout(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
}

#[test]
fn help_and_version_succeed() {
    assert_eq!(
        stdout("--version"),
        concat!("hashroute ", env!("CARGO_PKG_VERSION"), "\n")
    );
    for command in [
        "compare",
        "route",
        "balance",
        "remap",
        "explain",
        "strategies",
        "hashes",
    ] {
        let help = stdout(&format!("{command} --help"));
        assert!(
            help.contains(&format!("hashroute {command}")) && help.contains("Example"),
            "{command}"
        );
        assert!(help.contains("--format"));
    }
}

#[test]
fn routes_are_lines_in_every_format() {
    assert_eq!(stdout("route --nodes a k1 k2"), "k1\ta\nk2\ta\n");
    assert_eq!(
        stdout("route --nodes a k1 --format json"),
        "{\"key\":\"k1\",\"nodes\":[\"a\"]}\n"
    );
    assert_eq!(
        stdout("route --nodes a k1 --format csv"),
        "key,node\nk1,a\n"
    );
    assert_eq!(
        stdout("route --nodes a 'k|1' --format markdown"),
        "| key | node |\n| --- | --- |\n| k\\|1 | a |\n"
    );
    assert_eq!(
        stdout("route --nodes a --template 'k{i:02}' --range 8..11"),
        "k08\ta\nk09\ta\nk10\ta\n"
    );
    assert_eq!(
        stdout("route --nodes a,b --replicas 5 k --format csv")
            .lines()
            .next(),
        Some("key,node_1,node_2")
    );
}

#[test]
fn a_key_that_routes_nowhere_has_no_node() {
    for strategy in ["modulo", "ring", "rendezvous", "maglev", "slots", "bounded"] {
        let line = format!("route --strategy {strategy} --nodes a=0,b=0 k");
        assert_eq!(stdout(&line), "k\t\n");
        assert_eq!(stdout(&format!("{line} --replicas 2")), "k\t\n");
        assert_eq!(
            stdout(&format!("{line} --format json")),
            "{\"key\":\"k\",\"nodes\":[]}\n"
        );
        assert_eq!(stdout(&format!("{line} --format csv")), "key,node\nk,\n");
    }
}

#[test]
fn a_full_cluster_takes_no_more_keys() {
    let line = "route --strategy bounded --set cap=1 --nodes a,b k1 k2 k3";
    for replicas in ["", "--replicas 2"] {
        let routes = stdout(&format!("{line} {replicas}"));
        let nodes: Vec<_> = routes
            .lines()
            .filter_map(|line| line.split('\t').nth(1))
            .collect();
        assert!(nodes[0] != nodes[1] && nodes[2].is_empty(), "{routes}");
    }
    let way = &json("explain --strategy bounded --set cap=1 --nodes a,b --range 0..9 k")[0];
    assert!(
        way["owner"].is_null() && way["replicas"] == Value::Array(Vec::new()),
        "{way}"
    );
    assert!(
        stdout("balance --strategy bounded --set cap=1 --nodes a,b --range 0..9")
            .contains("7 keys went nowhere")
    );
}

#[test]
fn replicas_are_distinct_and_spread() {
    let nodes = file(
        "zones.toml",
        "[[node]]\nname = 'a1'\nzone = 'a'\n[[node]]\nname = 'a2'\nzone = 'a'\nweight = 9\n[[node]]\nname = 'b1'\nzone = 'b'\nrack = 'r'\n",
    );
    for key in ["k1", "k2", "k3", "k4", "k5"] {
        let line = stdout(&format!(
            "route --nodes-file {} --replicas 2 --spread zones {key}",
            nodes.display()
        ));
        let fields: Vec<_> = line.trim_end().split('\t').collect();
        let [_, first, second] = fields[..] else {
            panic!("{line}")
        };
        assert_ne!(first[..1], second[..1]);
        assert_eq!(
            stdout(&format!("route --nodes-file {} {key}", nodes.display())),
            format!("{key}\t{first}\n")
        );
    }
}

#[test]
fn keys_are_bytes() {
    let keys = file("bytes.txt", b"a\r\n\n\xff\tb\nlast");
    let output = run(&format!("route --nodes n --keys {}", keys.display()));
    assert_eq!(output.stdout, b"a\r\tn\n\tn\n\xff\tb\tn\nlast\tn\n");
    let json = stdout(&format!(
        "route --nodes n --keys {} --format json",
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
        // The answer comes while the pipe is still open.
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
    let routed = stdout(&format!("route --keys {}", list.display()));
    assert_eq!(
        routed,
        stdout("route --template 'some-key-{i}' --range 0..30000")
    );
    assert_eq!(routed, stdout(&format!("route --csv {}", table.display())));
    assert_eq!(routed.lines().count(), keys.len());
}

#[test]
fn node_files_say_the_same() {
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
fn names_may_hold_the_separator_of_weights() {
    assert_eq!(stdout("route --nodes a=b=1 k"), "k\ta=b\n");
}

/// The object has these fields, numbers where it says so.
fn assert_fields(object: &Value, texts: &[&str], numbers: &[&str], others: &[&str]) {
    for field in texts {
        assert!(object[*field].is_string(), "{field} in {object}");
    }
    for field in numbers {
        assert!(object[*field].is_number(), "{field} in {object}");
    }
    for field in others {
        assert!(object.get(*field).is_some(), "{field} in {object}");
    }
}

const FIGURES: &[&str] = &[
    "used",
    "empty",
    "min",
    "max",
    "mean",
    "stddev",
    "cv",
    "noise_cv",
    "max_over_mean",
    "p95_over_mean",
    "max_over_median",
    "chi2",
    "df",
    "p_value",
];

fn assert_balance(balance: &Value) {
    assert_fields(
        balance,
        &["strategy", "hash"],
        &["keys", "distinct_keys"],
        &["nodes", "top"],
    );
    assert_fields(balance, &[], FIGURES, &[]);
    assert_fields(
        &balance["nodes"][0],
        &["name"],
        &["weight", "keys", "share", "fair_share"],
        &["zone", "rack"],
    );
    assert_fields(&balance["top"][0], &[], &["n", "share"], &[]);
}

fn assert_remap(remap: &Value) {
    let numbers = [
        "keys",
        "moved",
        "moved_share",
        "ideal_share",
        "excess",
        "excess_share",
    ];
    assert_fields(remap, &[], &numbers, &["flows"]);
    assert_fields(&remap["flows"][0], &["from", "to"], &["keys"], &[]);
}

#[test]
fn json_has_the_promised_fields() {
    let balance = json("balance --range 0..1000");
    assert_balance(&balance);
    assert_eq!(
        (&balance["keys"], &balance["strategy"], &balance["hash"]),
        (&1000.into(), &"ring".into(), &"xxh3".into())
    );
    assert_remap(&json("remap --range 0..1000 --add x=2"));
    let sizes = file(
        "sizes.csv",
        "key,size,requests\na,10,1\nb,20,2\nc,30,3\nd,40,4\ne,50,5\n",
    );
    let balance = json(&format!("balance --nodes a --csv {}", sizes.display()));
    for measure in ["bytes", "requests"] {
        assert_fields(&balance[measure], &[], FIGURES, &["top"]);
    }
    assert_fields(&balance["nodes"][0], &[], &["bytes", "requests"], &[]);
    assert_fields(
        &json("strategies")[0],
        &["name", "about", "weights", "leave", "share", "excess"],
        &[],
        &["parameters"],
    );
    assert_fields(
        &json("hashes")[0],
        &["name", "about", "secret"],
        &["bits"],
        &["spread"],
    );
    let way = &json("explain k")[0];
    assert_fields(
        way,
        &["key", "hashed", "hash", "value_hex", "strategy"],
        &["value"],
        &["facts", "owner", "replicas"],
    );
}

#[test]
fn compare_has_the_promised_fields_and_fits_a_terminal() {
    let comparison = json("compare --range 0..2000");
    assert!(comparison["scenario"].is_object());
    let rows = comparison["rows"].as_array().expect("rows");
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["strategy"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        hashroute::strategy::ALL
            .iter()
            .map(|strategy| strategy.name)
            .collect::<Vec<_>>()
    );
    for row in rows {
        assert_fields(
            row,
            &["state"],
            &[
                "route_ns",
                "batch_ns",
                "build_ns",
                "change_ns",
                "heap_bytes",
            ],
            &["refused"],
        );
        assert_balance(&row["balance"]);
        assert_remap(&row["add"]);
        assert_remap(&row["remove"]);
        assert_eq!(row["allocations_per_lookup"], 0.0, "{}", row["strategy"]);
    }
    let table = stdout("compare --range 0..2000 --nodes a,b=2,c");
    assert!(
        table
            .lines()
            .take_while(|line| !line.contains("refused:"))
            .all(|line| line.chars().count() <= 100),
        "{table}"
    );
}

#[test]
fn compare_tells_what_was_refused() {
    let line = "compare --strategy jump,ring --nodes a,b,c --remove a --add d --range 0..1000";
    let rows = &json(line)["rows"];
    assert!(
        rows[0]["remove"].is_null()
            && rows[0]["refused"]
                .as_str()
                .is_some_and(|why| why.contains("only the last node"))
    );
    assert!(rows[1]["remove"].is_object() && rows[1]["refused"].is_null());
    let table = stdout(line);
    assert!(
        table.contains("refused") && table.contains("only the last node"),
        "{table}"
    );
}

#[test]
fn changes_are_applied_in_the_order_of_the_line() {
    let moved = |changes: &str| {
        json(&format!(
            "remap --strategy rendezvous --nodes a,b --range 0..300 {changes}"
        ))
    };
    assert_eq!(moved("--add c --reweight c=0")["moved"], 0);
    assert_eq!(moved("--remove b --add b")["moved"], 0);
    assert_eq!(
        moved("--add c --remove c --add c=0 --reweight c=2 --remove a")["ideal_share"],
        2.0 / 3.0
    );
    let wrong = run("remap --nodes a,b --range 0..300 --reweight c=0 --add c");
    assert_eq!(wrong.status.code(), Some(2));
    let to = file("to.json", r#"[{"name":"b"},{"name":"c","weight":2}]"#);
    let by_file = moved(&format!("--to-nodes-file {}", to.display()));
    assert_eq!(by_file, moved("--remove a --add c=2"));
}

#[test]
fn hashes_and_tags_reach_the_router() {
    let slot = |key: &str| {
        json(&format!(
            "explain --strategy slots --hash crc16 --hash-tag '{{}}' '{key}'"
        ))[0]["facts"][0]["value"]
            .clone()
    };
    assert_eq!(slot("{user1000}.following"), "3443 of 16384");
    assert_eq!(slot("123456789"), "12739 of 16384");
    let value = |options: &str| json(&format!("explain {options} k"))[0]["value"].clone();
    assert_ne!(value("--hash-seed 1"), value("--hash-seed 0x2"));
    assert_eq!(value("--hash-seed 16"), value("--hash-seed 0x10"));
    let key = "--hash sip24 --hash-key 000102030405060708090a0b0c0d0e0f";
    // The first vector of the paper's implementation: the empty input.
    assert_eq!(
        json(&format!("explain {key} ''"))[0]["value_hex"],
        "0x726fdb47dd0e0e31"
    );
}

#[test]
fn explain_tells_who_was_passed_over() {
    let way =
        &json("explain --strategy bounded --set cap=1 --nodes a,b,c=0 --range 0..1 user:0")[0];
    let facts = way["facts"].as_array().expect("facts");
    assert!(
        facts.iter().any(|fact| fact["name"] == "passed over"),
        "{way}"
    );
    assert_eq!(way["drained"][0], "c");
    assert_ne!(
        way["owner"]["name"],
        json("explain --strategy bounded --nodes a,b,c=0 user:0")[0]["owner"]["name"]
    );
}

#[test]
fn output_is_deterministic() {
    for line in [
        "balance --range 0..2000 --count 60",
        "balance --range 0..2000 --format csv",
        "remap --range 0..2000 --add x --strategy maglev",
        "explain k --replicas 4",
        "strategies --format markdown",
    ] {
        assert_eq!(stdout(line), stdout(line), "{line}");
    }
}

#[test]
fn tables_of_many_nodes_are_cut_and_csv_is_not() {
    let table = stdout("balance --range 0..500 --count 60");
    assert!(table.contains("10 most loaded of 60") && table.contains("10 least loaded"));
    let csv = stdout("balance --range 0..500 --count 60 --format csv");
    assert_eq!(csv.lines().count(), 61);
    assert_eq!(
        csv.lines().next(),
        Some("name,weight,zone,rack,keys,share,fair_share,bytes,requests")
    );
    assert!(
        stdout("balance --range 0..500 --count 50")
            .lines()
            .filter(|line| line.starts_with("node-"))
            .count()
            == 50
    );
}

/// 1000 metric names on twemproxy's modula with its `fnv1a_64`: used nodes, most keys, cv.
#[test]
fn twemproxy_is_as_uneven_as_reported() {
    let known = [
        (
            "{i}:metric:demo",
            [
                (60, 60, 26, 0.214),
                (61, 61, 24, 0.279),
                (64, 64, 20, 0.154),
                (87, 87, 20, 0.236),
            ],
        ),
        (
            "metric:{i}:demo",
            [
                (60, 60, 26, 0.251),
                (61, 61, 26, 0.218),
                (64, 64, 20, 0.139),
                (87, 87, 19, 0.251),
            ],
        ),
        (
            "metric:demo:{i}",
            [
                (60, 16, 200, 2.979),
                (61, 61, 22, 0.208),
                (64, 64, 24, 0.210),
                (87, 3, 890, 8.294),
            ],
        ),
    ];
    for (template, counts) in known {
        for (count, used, most, cv) in counts {
            let keys = format!("--template '{template}' --range 0..1000");
            let balance = json(&format!(
                "balance --strategy modulo --hash twemproxy-fnv1a-64 {keys} --count {count}"
            ));
            assert_eq!(
                (&balance["used"], &balance["max"]),
                (&used.into(), &most.into()),
                "{template} {count}"
            );
            let found = balance["cv"].as_f64().expect("a number");
            assert_eq!(
                format!("{found:.3}"),
                format!("{cv:.3}"),
                "{template} {count}"
            );
        }
    }
}
