//! Names and keys that would act on a terminal, in a spreadsheet or in a document.

use std::fs;
use std::io::Read;
use std::process::{Output, Stdio};

use hashroute_harness::text::is_unsafe;
use serde_json::Value;

use super::terminal::terminal_of;
use super::{command, directory, file, stdout, words};

/// A name with a control sequence, one of eight bits, a change of direction, a character that nobody
/// sees, a tab and a line feed.
const NAME: &str = "a\u{1b}[1m\u{9b}2J\u{7}\u{202e}\u{ad}\u{3164}\u{e0041}\tb\nc\r";

fn hostile_nodes() -> String {
    let json = serde_json::to_string(&[NAME, "b"]).expect("JSON");
    file("hostile.json", json).display().to_string()
}

fn hostile_keys() -> String {
    let keys = [NAME, "x\ta\nvictim", "plain"].map(|key| serde_json::to_string(key).expect("JSON"));
    let bytes = "{\"hex\":\"ff9b31\"}";
    file("hostile.jsonl", keys.join("\n") + "\n" + bytes + "\n")
        .display()
        .to_string()
}

/// Returns what a terminal gets from a command.
fn on_a_terminal(line: &str) -> String {
    let (mut screen, terminal) = terminal_of(80).expect("a terminal");
    let mut child = command(words(line))
        .stdin(Stdio::null())
        .stdout(terminal.try_clone().expect("a terminal"))
        .stderr(terminal)
        .spawn()
        .expect("the binary runs");
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        // A terminal that nobody writes to any more is an error, not an end.
        let _ = screen.read_to_end(&mut text);
        text
    });
    child.wait().expect("the end");
    let text = reader.join().expect("the text");
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn no_command_sends_a_control_character_to_a_terminal() {
    let (nodes, keys) = (hostile_nodes(), hostile_keys());
    let given = format!("--nodes-file {nodes} --jsonl {keys} --color never");
    let mut lines = Vec::new();
    for form in ["table", "json", "csv", "markdown"] {
        for start in [
            format!("route {given}"),
            format!("route {given} --replicas 2 --verbatim"),
            format!("balance {given}"),
            format!("skew {given}"),
            format!("diff {given} --remove b --list"),
            format!("remap {given} --remove b"),
            format!("explain --nodes-file {nodes} --hex 611b5b316d9b"),
            format!("slots check --jsonl {keys}"),
        ] {
            lines.push(format!("{start} --format {form}"));
        }
    }
    for form in ["toml", "json", "nodes", "canonical"] {
        lines.push(format!("spec write --nodes-file {nodes} --to {form}"));
    }
    lines.push(format!("balance {given} --partial -"));
    lines.push(format!("report --skew {given} --out -"));
    lines.push(format!("draw balance {given} --out -"));
    lines.push(format!("diff {given} --remove nobody"));
    for line in &lines {
        let text = on_a_terminal(line);
        assert!(!text.is_empty(), "{line}");
        // The terminal itself adds the carriage returns.
        let text = text.replace("\r\n", "\n");
        let bad: String = text
            .chars()
            .filter(|&c| is_unsafe(c) && c != '\n' && c != '\t')
            .collect();
        assert_eq!(bad, "", "{line}: {text}");
    }
    let routes = on_a_terminal(&format!("route {given}"));
    assert_eq!(routes.lines().count(), 4, "{routes}");
}

#[test]
fn a_pipe_gets_the_bytes_of_keys_and_no_name_ends_a_line() {
    let (nodes, keys) = (hostile_nodes(), hostile_keys());
    let routes = command(words(&format!("route --nodes-file {nodes} --jsonl {keys}")));
    let routes = output(routes).stdout;
    for key in [NAME.as_bytes(), b"x\ta\nvictim", b"\xff\x9b1"] {
        assert!(
            routes.windows(key.len()).any(|bytes| bytes == key),
            "{key:?}"
        );
    }
    let ends = routes
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    // Two of the keys hold a line feed of their own.
    assert_eq!(ends.count(), 4 + 2);
    let objects = stdout(&format!(
        "route --nodes-file {nodes} --jsonl {keys} --format json"
    ));
    let objects: Vec<Value> = objects
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect();
    assert_eq!(objects.len(), 4);
    assert_eq!(objects[0]["key"], NAME);
    let names: Vec<_> = objects.iter().map(|one| one["nodes"][0].as_str()).collect();
    assert!(
        names
            .iter()
            .all(|name| *name == Some(NAME) || *name == Some("b")),
        "{names:?}"
    );
}

fn output(mut command: std::process::Command) -> Output {
    command
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

#[test]
fn json_has_no_character_that_acts_and_means_the_same() {
    let (nodes, keys) = (hostile_nodes(), hostile_keys());
    for line in [
        format!("balance --nodes-file {nodes} --jsonl {keys}"),
        format!("skew --nodes-file {nodes} --jsonl {keys}"),
        format!("diff --nodes-file {nodes} --remove b --jsonl {keys}"),
    ] {
        let text = stdout(&format!("{line} --format json"));
        assert!(
            !text.chars().any(|c| is_unsafe(c) && c != '\n'),
            "{line}: {text}"
        );
        let value: Value = serde_json::from_str(&text).expect("JSON");
        // The sentences of `skew` have escapes.
        let is_there = value.to_string().contains('\u{202e}');
        assert!(is_there || line.starts_with("skew"), "{line}");
    }
    let spec = directory().join("hostile-spec.json");
    stdout(&format!(
        "spec write --nodes-file {nodes} --to json --out {}",
        spec.display()
    ));
    let text = fs::read_to_string(&spec).expect("a file");
    assert!(!text.chars().any(|c| is_unsafe(c) && c != '\n'), "{text}");
    let one = stdout(&format!("spec fingerprint {}", spec.display()));
    let toml = directory().join("hostile-spec.toml");
    stdout(&format!(
        "spec write --nodes-file {nodes} --to toml --out {}",
        toml.display()
    ));
    let other = stdout(&format!("spec fingerprint {}", toml.display()));
    assert_eq!(one.split('\t').next(), other.split('\t').next());
}

#[test]
fn a_page_shows_every_character() {
    let (nodes, keys) = (hostile_nodes(), hostile_keys());
    for kind in ["report --skew", "draw balance"] {
        let page = stdout(&format!(
            "{kind} --nodes-file {nodes} --jsonl {keys} --out -"
        ));
        let bad: String = page
            .chars()
            .filter(|&c| is_unsafe(c) && c != '\n')
            .collect();
        assert_eq!(bad, "", "{kind}");
        assert!(page.contains("\\u{202e}"), "{kind}");
    }
}

#[test]
fn spreadsheets_and_documents_run_nothing_unless_asked() {
    let names = [
        "=cmd|'/c calc'!A1",
        "+1+1",
        "-2+3",
        "@SUM(1)",
        "\t=1",
        "<script>x</script>",
        "`a`",
        "[x](http://x)",
        "-0.5",
        "plain",
    ];
    let json = serde_json::to_string(&names).expect("JSON");
    let nodes = file("formulas.json", json).display().to_string();
    let keys: Vec<_> = names
        .iter()
        .map(|name| serde_json::to_string(name).expect("JSON"))
        .collect();
    let keys = file("formulas.jsonl", keys.join("\n"))
        .display()
        .to_string();
    for line in [
        format!("balance --nodes-file {nodes} --jsonl {keys}"),
        format!("route --nodes-file {nodes} --jsonl {keys} --replicas 10"),
        format!("diff --nodes-file {nodes} --to-nodes other --jsonl {keys} --list"),
    ] {
        let read = |text: &str| {
            let mut rows = csv::Reader::from_reader(text.as_bytes());
            let rows: Vec<_> = rows.records().map(|row| row.expect("CSV")).collect();
            rows.iter()
                .flat_map(|row| row.iter().map(str::to_owned).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };
        let fields = read(&quietly(&format!("{line} --format csv")));
        for field in &fields {
            let acts = field.trim_start().starts_with(['=', '+', '-', '@', '\t']);
            assert!(!acts || field.parse::<f64>().is_ok(), "{line}: {field}");
        }
        assert!(
            fields.iter().any(|field| field == "-0.5"),
            "{line}: a number stays one"
        );
        let raw = read(&quietly(&format!("{line} --format csv --verbatim")));
        let undone = |field: &String| field.strip_prefix('\'').unwrap_or(field).to_owned();
        assert_eq!(fields.iter().map(undone).collect::<Vec<_>>(), raw, "{line}");
        let text = quietly(&format!("{line} --format markdown"));
        for acts in ["<script>", "</script>", "[x](", "| `a`"] {
            assert!(!text.contains(acts), "{line}: {acts}: {text}");
        }
        let raw = quietly(&format!("{line} --format markdown --verbatim"));
        assert!(
            raw.contains("<script>x</script>") && raw.contains("[x](http://x)"),
            "{raw}"
        );
    }
}

/// Returns standard output of a run, whose notes do not matter.
fn quietly(line: &str) -> String {
    let output = output(command(words(line)));
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}
