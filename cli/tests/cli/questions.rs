//! No answer to a question that nobody asked: keys that nobody gave, lists that are no lists, files
//! of another kind.
//!
//! The lines were typed by people who meant something else and got a plausible table.

use std::fs;
use std::process::{Output, Stdio};

use crate::{command, file, json, run, stdout, words};

/// Runs a line with these bytes on standard input, a pipe.
fn fed(line: &str, input: &[u8]) -> Output {
    use std::io::Write;
    let mut child = command(words(line))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut pipe = child.stdin.take().expect("piped");
    // A program that refuses its options does not read.
    let _ = pipe.write_all(input);
    drop(pipe);
    child.wait_with_output().expect("ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the message of a run that must end with exit code 2 and no answer.
fn refused(line: &str) -> String {
    refused_with(&run(line), line)
}

fn refused_with(output: &Output, line: &str) -> String {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {message}");
    assert_eq!(output.stdout, b"", "{line}");
    message
}

#[test]
fn keys_come_from_a_pipe_or_a_file_that_no_option_names() {
    let keys = b"a\nb\nc\n";
    let list = file("three.txt", keys);
    for line in [
        "balance --count 3",
        "skew --count 3",
        "remap --count 3 --add node-3",
        "compare --count 3 --strategy ring,jump",
    ] {
        let named = stdout(&format!("{line} --keys {}", list.display()));
        let piped = fed(line, keys);
        assert_eq!(text(&piped.stderr), "", "{line}");
        let is_timed = line.starts_with("compare");
        assert!(is_timed || text(&piped.stdout) == named, "{line}");
        let redirected = command(words(line))
            .stdin(fs::File::open(&list).expect("a file"))
            .output()
            .expect("runs");
        assert!(is_timed || text(&redirected.stdout) == named, "{line}");
    }
    let routes = fed("route --nodes n", keys);
    assert_eq!(text(&routes.stdout), "a\tn\nb\tn\nc\tn\n");
    let slots = fed("slots key", keys);
    assert_eq!(
        text(&slots.stdout),
        stdout("slots key a b c")
            .split("\n\n")
            .next()
            .map(|table| format!("{}\n", table.trim_end()))
            .expect("a table")
    );
    assert!(
        fed("check --count 3 --max-over-mean 9", keys)
            .status
            .success()
    );
}

#[test]
fn keys_that_an_option_or_an_argument_names_leave_standard_input_alone() {
    assert_eq!(text(&fed("route --nodes n k", b"x\n").stdout), "k\tn\n");
    let few = fed("balance --count 3 --range 0..9 --format json", b"x\n");
    assert!(text(&few.stdout).contains("\"keys\": 9"));
    // Standard input holds the nodes.
    let nodes = fed("balance --nodes-file - --format json", b"a\nb 2\n");
    assert!(
        text(&nodes.stdout).contains("\"made_up_keys\""),
        "{}",
        text(&nodes.stderr)
    );
    let both = fed("balance --nodes-file - --keys -", b"a\nb 2\n");
    assert!(refused_with(&both, "both").contains("already read for another option"));
}

#[test]
fn an_empty_pipe_is_no_answer() {
    for line in [
        "balance --count 3",
        "route --count 3",
        "check --count 3 --max-cv 1",
    ] {
        let message = refused_with(&fed(line, b""), line);
        assert!(
            message.contains("standard input: no keys"),
            "{line}: {message}"
        );
        assert!(
            message.contains("--template 'user:{i}'"),
            "{line}: {message}"
        );
    }
}

#[test]
fn made_up_keys_are_announced_in_every_form() {
    const KEYS: &str = "no keys given: user:0 to user:999999";
    let line = "balance --count 3";
    assert!(stdout(line).starts_with(&format!("{KEYS}\n")));
    assert!(stdout(&format!("{line} --format markdown")).starts_with(KEYS));
    let csv = run(&format!("{line} --format csv"));
    assert_eq!(text(&csv.stderr), format!("note: {KEYS}\n"));
    assert!(!text(&csv.stdout).contains("user:"));
    for line in [line, "remap --count 3 --add node-3"] {
        let made_up = &json(line)["made_up_keys"];
        assert_eq!(made_up, "user:0 to user:999999", "{line}");
        let asked = json(&format!("{line} --range 0..1000"));
        assert!(asked["made_up_keys"].is_null(), "{line}");
    }
}

#[test]
fn a_check_and_a_route_make_up_no_keys() {
    let message = refused("check --count 3 --max-cv 0.2");
    assert!(message.contains("no keys: expected --keys"), "{message}");
    assert!(
        message.contains("--template 'user:{i}' --range 0..1000000"),
        "{message}"
    );
    assert!(
        run("check --count 3 --max-cv 0.2 --range 0..1000")
            .status
            .success()
    );
    for line in ["route", "route --count 3", "route --nodes a,b"] {
        let message = refused(line);
        assert!(
            message.contains("no keys: expected KEY"),
            "{line}: {message}"
        );
        assert!(
            message.contains("hint: hashroute route --nodes"),
            "{line}: {message}"
        );
    }
    assert!(refused("route k1").contains("no nodes: expected --nodes"));
}

#[test]
fn lists_of_nodes_are_read_as_meant_or_refused() {
    for (line, words) in [
        ("route --nodes a:2,b:1 k", &["entry 1", "a=2", "a:2=1"][..]),
        (
            "route --nodes 10.0.0.1:6379:2,10.0.0.2:6379:1 k",
            &["10.0.0.1:6379=2"],
        ),
        (
            "route --nodes a b c k",
            &["one node", "--nodes a,b,c,k", "--nodes a=1"],
        ),
        (
            "route --nodes node-1 node-2 node-3 k",
            &["--nodes node-1,node-2,node-3,"],
        ),
        ("balance --nodes 3", &["--count 3", "3=1"]),
        ("balance --nodes 'a b c'", &["blanks", "a,b,c"]),
        ("remap --nodes a,b --add c:2", &["c=2"]),
        (
            "remap --count 12 --add 13",
            &["13", "node-0, node-1, node-2, ... node-11"],
        ),
        (
            "remap --count 12 --remove 2",
            &["no node", "node-0, node-1, node-2, ... node-11"],
        ),
        ("compare --count 3 --add x,y", &["list", "one node"]),
        (
            "balance --nodes a=1.5,b=0.25",
            &["1.5", "whole number", "a=6,b=1"],
        ),
        ("remap --nodes a,b --add c,label=x", &["label", "dialect"]),
    ] {
        let message = refused(line);
        for word in words {
            assert!(message.contains(word), "{line}: no {word:?} in {message}");
        }
    }
    let names = |line: &str| {
        let answer = json(line);
        let nodes = answer["nodes"].as_array().expect("nodes").clone();
        nodes
            .iter()
            .map(|node| node["name"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names("balance --nodes 'a, b=2 ,c' --range 0..9"),
        ["a", "b", "c"]
    );
    assert_eq!(
        names("balance --nodes a:2=1,3=1 --range 0..9"),
        ["3", "a:2"]
    );
    let moved = |line: &str| json(&format!("{line} --range 0..5000"))["moved"].clone();
    assert_eq!(
        moved("remap --count 12 --add node-12,node-13"),
        moved("remap --count 12 --add node-12 --add node-13")
    );
    assert_eq!(
        moved("remap --nodes a,b --add 'c, d=2'"),
        moved("remap --nodes a,b --add c --add d=2")
    );
    assert_eq!(
        moved("remap --count 9 --remove node-1,node-2"),
        moved("remap --count 9 --remove node-1 --remove node-2")
    );
}

#[test]
fn a_file_is_no_key() {
    let path = file("keys.txt", "a\n").display().to_string();
    let message = refused(&format!("route --count 3 {path}"));
    assert!(message.contains(&format!("--keys {path}")), "{message}");
    assert!(message.contains("--hex"), "{message}");
}

#[test]
fn keys_of_bytes_are_written_in_hexadecimal() {
    let route = stdout("route --nodes n --hex 8b00 --hex 61 k --format json");
    assert_eq!(
        route,
        "{\"key\":\"k\",\"nodes\":[\"n\"]}\n{\"hex\":\"8b00\",\"nodes\":[\"n\"]}\n{\"key\":\"a\",\"nodes\":[\"n\"]}\n"
    );
    assert_eq!(
        json("slots key --hex 61")[0]["slot"],
        json("slots key a")[0]["slot"]
    );
    assert_eq!(
        json("explain --nodes n --hex 61"),
        json("explain --nodes n a")
    );
    assert!(refused("route --nodes n --hex 8").contains("two hexadecimal digits"));
}

#[test]
fn files_of_another_kind_are_known_by_their_first_lines() {
    let dumps = format!("{}/../harness/tests/data/dumps", env!("CARGO_MANIFEST_DIR"));
    let written = |name: &str, content: &str| file(name, content).display().to_string();
    for (path, words) in [
        (
            written("keys.csv", "key,size,requests\nuser:0,100,19\n"),
            "--csv",
        ),
        (
            written("keys.jsonl", "\"a\"\n{\"hex\":\"00\"}\n"),
            "--jsonl",
        ),
        (format!("{dumps}/bigkeys.txt"), "--bigkeys"),
        (format!("{dumps}/memkeys.txt"), "--memkeys"),
        (format!("{dumps}/scan_numbered.txt"), "--scan"),
        (format!("{dumps}/metadump.txt"), "--metadump"),
        (
            written(
                "hot.txt",
                "# Scanning the entire keyspace to find hot keys as well as\n",
            ),
            "--hotkeys",
        ),
        (
            written("noauth.txt", "NOAUTH Authentication required.\n"),
            "an error of a server",
        ),
    ] {
        let message = refused(&format!("balance --count 3 --keys {path}"));
        assert!(message.contains(words), "{path}: {message}");
        let raw = format!("balance --count 3 --raw --keys {path}");
        assert!(run(&raw).status.success(), "{path}");
    }
    let piped = fed("balance --count 3", b"key,size\na,1\n");
    assert!(refused_with(&piped, "piped").contains("--csv -"));
}

#[test]
fn a_part_counts_once() {
    let keys = file("part.txt", "a\nb\n").display().to_string();
    let part = file("part.counts", "").display().to_string();
    stdout(&format!("balance --count 3 --keys {keys} --partial {part}"));
    let message = refused(&format!("merge {part} {part}"));
    assert!(message.contains("the same file as"), "{message}");
    // Equal parts of different files may be meant: two shards with the same keys.
    let copy = file("copy.counts", fs::read(&part).expect("counts"))
        .display()
        .to_string();
    let both = run(&format!("merge {part} {copy} --format json"));
    assert!(
        text(&both.stderr).contains("a part equal to one of"),
        "{}",
        text(&both.stderr)
    );
    assert!(text(&both.stdout).contains("\"keys\": 4"));
    let evidence = file("part.evidence", "").display().to_string();
    stdout(&format!(
        "skew --count 3 --keys {keys} --partial {evidence}"
    ));
    let message = refused(&format!("skew --count 3 --parts {evidence} {evidence}"));
    assert!(message.contains("the same file as"), "{message}");
}

#[test]
fn several_files_of_keys_are_read_as_one() {
    let [first, second] = [("1.txt", "a\nb"), ("2.txt", "c\nd\n")]
        .map(|(name, text)| file(name, text).display().to_string());
    let lines = format!("route --nodes n --keys {first} --keys {second}");
    assert_eq!(stdout(&lines), "a\tn\nb\tn\nc\tn\nd\tn\n");
    let whole = file("whole.txt", "a\nb\nc\nd\n").display().to_string();
    for strategy in ["ring", "bounded"] {
        assert_eq!(
            stdout(&format!(
                "balance --strategy {strategy} --count 3 --keys {first} --keys {second}"
            )),
            stdout(&format!(
                "balance --strategy {strategy} --count 3 --keys {whole}"
            )),
        );
    }
    let twice = refused(&format!("balance --keys {first} --keys {first}"));
    assert!(twice.contains("named twice"), "{twice}");
    let bad = file("bad.jsonl", "\"a\"\n?\n").display().to_string();
    let good = file("good.jsonl", "\"a\"\n").display().to_string();
    let told = run(&format!("balance --jsonl {good} --jsonl {bad}"));
    let told = text(&told.stderr);
    assert!(told.contains(&format!("--jsonl {bad}: line 2:")), "{told}");
}

#[test]
fn packed_keys_are_read() {
    const GZIP: &str = "1f8b08000000000000034be44ae24ae60200d90e670a06000000";
    const ZSTD: &str = "28b52ffd0458310000610a620a630a3462230c";
    for (name, hex) in [("keys.gz", GZIP), ("keys.zst", ZSTD)] {
        let bytes = hex.as_bytes().chunks(2).map(|pair| {
            u8::from_str_radix(core::str::from_utf8(pair).expect("ASCII"), 16).expect("hex")
        });
        let bytes: Vec<u8> = bytes.collect();
        let path = file(name, &bytes).display().to_string();
        assert_eq!(
            stdout(&format!("route --nodes n --keys {path}")),
            "a\tn\nb\tn\nc\tn\n"
        );
        let cut = file(&format!("cut-{name}"), &bytes[..bytes.len() - 5])
            .display()
            .to_string();
        let message = text(&run(&format!("balance --count 3 --keys {cut}")).stderr);
        assert!(message.contains("packed by"), "{name}: {message}");
    }
}

#[test]
fn columns_of_csv_have_any_names() {
    let path = file(
        "hits.csv",
        "url;hits;bytes;region\n/a;3;10;eu\n/b;4;20;us\n",
    );
    let line = format!(
        "balance --count 3 --csv {} --key-column url --requests-column hits --size-column bytes",
        path.display()
    );
    let answer = json(&line);
    assert_eq!(
        (&answer["requests"]["total"], &answer["bytes"]["total"]),
        (&7.into(), &30.into())
    );
    let message = refused(&format!(
        "balance --csv {} --key-column path",
        path.display()
    ));
    assert!(
        message.contains("no column \"path\"") && message.contains("\"region\""),
        "{message}"
    );
    let message = refused(&format!("balance --csv {}", path.display()));
    assert!(message.contains("--key-column"), "{message}");
}

#[test]
fn node_files_have_the_forms_that_people_have() {
    for (name, content) in [
        ("n.txt", "# mine\na\nb 2 # big\n\nc\n"),
        ("n", "a\nb=2\nc\n"),
        ("n.list", "a\nb,2\nc;1\n"),
        ("n.json", r#"["a",{"name":"b","weight":2},"c"]"#),
        ("m.json", r#"{"nodes":["a",{"name":"b","weight":2},"c"]}"#),
        ("n.csv", "# mine\nname,weight\na,1\n# more\nb,2\nc,1\n"),
        ("s.csv", "name;weight\na;1\nb;2\nc;1\n"),
        ("n.tsv", "name\tweight\na\t1\nb\t2\nc\t1\n"),
        ("csv.txt", "name,weight\na,1\nb,2\nc,1\n"),
    ] {
        let path = file(name, content);
        let line = format!("balance --range 0..500 --nodes-file {}", path.display());
        assert_eq!(
            json(&line),
            json("balance --range 0..500 --nodes a,b=2,c"),
            "{name}"
        );
    }
    for (name, content, words) in [
        ("weights.txt", "a\nb:2\n", &["line 2", "b=2"][..]),
        ("three.txt", "a 1 eu\n", &["line 1", "3 fields"]),
        ("half.txt", "a\nb 0.5\n", &["line 2", "0.5", "whole"]),
        (
            "nutcracker.yml",
            "alpha:\n  listen: 127.0.0.1:1\n  servers:\n   - 10.0.0.1:1:1 a\n",
            &["--dialect twemproxy --config"],
        ),
        (
            "nginx.conf",
            "upstream a {\n  server s:80;\n}\n",
            &["--dialect nginx --config"],
        ),
    ] {
        let path = file(name, content).display().to_string();
        let message = refused(&format!("balance --nodes-file {path}"));
        assert!(message.contains(&path), "{message}");
        for word in words {
            assert!(message.contains(word), "{name}: no {word:?} in {message}");
        }
    }
}

/// twemproxy hashes the label, and tables name the address.
#[test]
fn a_node_has_an_address_and_a_label() {
    let config = |name: &str, servers: &str| {
        let pool = "alpha:\n  listen: 127.0.0.1:22121\n  hash: fnv1a_64\n  distribution: ketama\n  servers:\n";
        file(name, format!("{pool}{servers}")).display().to_string()
    };
    let three = "   - 10.0.0.1:6379:1 cache-1\n   - 10.0.0.2:6379:1 cache-2\n   - 10.0.0.3:6379:2 cache-3\n";
    let (now, next) = (
        config("now.yml", three),
        config(
            "next.yml",
            &format!("{three}   - 10.0.0.4:6379:1 cache-4\n"),
        ),
    );
    let line = |command: &str, config: &str| {
        format!("{command} --dialect twemproxy --config {config} --range 0..5000")
    };
    let routes = |config: &str| stdout(&line("route", config));
    let (before, after) = (routes(&now), routes(&next));
    let moved = before
        .lines()
        .zip(after.lines())
        .filter(|(old, new)| old != new)
        .count();
    let remap = line("remap", &now);
    for add in ["10.0.0.4:6379=1,label=cache-4", "10.0.0.4:6379:1 cache-4"] {
        assert_eq!(
            json(&format!("{remap} --add '{add}'"))["moved"],
            moved,
            "{add}"
        );
    }
    let bare = run(&format!("{remap} --add 10.0.0.4:6379"));
    let note = text(&bare.stderr);
    assert!(
        note.contains("no label") && note.contains("cache-1") && note.contains("label=NAME"),
        "{note}"
    );
    for command in ["remap", "diff", "plan"] {
        let line = line(command, &now).replace(" --range", " --quiet --range");
        let table = stdout(&format!("{line} --add 10.0.0.4:6379=1,label=cache-4"));
        for (name, label) in [("10.0.0.4:6379", "cache-4"), ("10.0.0.3:6379", "cache-3")] {
            let both = format!("{name} ({label})");
            assert!(table.contains(&both), "{command}: {table}");
            assert!(!table.contains(&format!("{both} (")), "{command}: {table}");
        }
        let answer = json(&format!("{line} --add 10.0.0.4:6379=1,label=cache-4"));
        assert_eq!(answer["labels"]["10.0.0.4:6379"], "cache-4", "{command}");
    }
    let skewed = stdout(&line("skew", &now));
    assert!(skewed.contains("(cache-"), "{skewed}");
    let table = stdout(&line("balance", &now));
    assert!(
        table.contains("label") && table.contains("cache-3"),
        "{table}"
    );
    let list =
        "10.0.0.1:6379=1,label=cache-1,10.0.0.2:6379=1,label=cache-2,10.0.0.3:6379=2,label=cache-3";
    let listed = format!(
        "route --dialect twemproxy --set hash=fnv1a_64 --set distribution=ketama --nodes {list} --range 0..5000"
    );
    assert_eq!(stdout(&listed), before);
}
