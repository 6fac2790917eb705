//! What a file is, noticed wherever files are read.

use std::fs;
use std::io::Read;

use super::{file, run};

fn told(line: &str) -> (Option<i32>, String) {
    let output = run(line);
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn wide(text: &str, little: bool, mark: bool) -> Vec<u8> {
    let units = mark
        .then_some(0xfeff)
        .into_iter()
        .chain(text.encode_utf16());
    let bytes = |unit: u16| {
        if little {
            unit.to_le_bytes()
        } else {
            unit.to_be_bytes()
        }
    };
    units.flat_map(bytes).collect()
}

fn tar() -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..8].copy_from_slice(b"keys.txt");
    header[257..263].copy_from_slice(b"ustar\0");
    header.extend_from_slice(b"user:1\nuser:2\n");
    header.resize(2048, 0);
    header
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut encoder = flate2::read::GzEncoder::new(bytes, flate2::Compression::fast());
    encoder.read_to_end(&mut packed).expect("memory");
    packed
}

/// Every option that reads a file, with the file as `X`.
const READERS: &[&str] = &[
    "balance --count 3 --keys X",
    "balance --count 3 --csv X",
    "balance --count 3 --jsonl X",
    "balance --count 3 --scan X",
    "balance --count 3 --metadump X",
    "slots check X",
    "slots check --keys X",
    "route --nodes-file X k",
    "diff --nodes a --to-nodes-file X",
    "route --spec X k",
    "diff --nodes a --to-spec X",
    "spec check X",
    "route --dialect haproxy --config X k",
    "route --dialect twemproxy --config X k",
    "slots show X",
    "check --count 3 --range 0..9 --max-cv 9 --baseline X",
    "route --options X --nodes a k",
];

#[test]
fn packed_and_wide_files_are_refused_by_name_everywhere() {
    let text = "user:1\nuser:2\nuser:3\n";
    for (bytes, name) in [
        (b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46".to_vec(), "packed by xz"),
        (b"BZh91AY&SY\x1b\xa3\x0f\x8e".to_vec(), "packed by bzip2"),
        (
            b"\x04\x22\x4d\x18\x64\x40\xa7\x0f".to_vec(),
            "packed by lz4",
        ),
        (b"PK\x03\x04\x14\0\0\0\x08\0".to_vec(), "a zip archive"),
        (tar(), "a tar archive"),
        (wide(text, true, true), "text in UTF-16"),
        (wide(text, false, true), "text in UTF-16"),
        (wide(text, true, false), "text in UTF-16"),
        (wide(text, false, false), "text in UTF-16"),
    ] {
        let path = file("packed", bytes).display().to_string();
        for line in READERS {
            let (code, told) = told(&line.replace('X', &path));
            assert!(code == Some(2) && told.contains(name), "{line}: {told}");
        }
    }
    // Where no keys are read, gzip is refused, too.
    let path = file("packed.gz", gzip(b"{}")).display().to_string();
    for line in &READERS[7..] {
        let (code, told) = told(&line.replace('X', &path));
        assert!(
            code == Some(2) && told.contains("packed by gzip"),
            "{line}: {told}"
        );
    }
    let path = file("keys.tgz", gzip(&tar())).display().to_string();
    for line in &READERS[..7] {
        let (code, told) = told(&line.replace('X', &path));
        assert!(
            code == Some(2) && told.contains("a tar archive"),
            "{line}: {told}"
        );
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_key() {
    let plain = file("plain", "user:42\nuser:42\n").display().to_string();
    let marked = file("marked", "\u{feff}user:42\nuser:42\n")
        .display()
        .to_string();
    let routes = |path: &str| run(&format!("route --count 10 --keys {path}"));
    let (plain, marked_routes) = (routes(&plain), routes(&marked));
    assert_eq!(plain.stdout, marked_routes.stdout);
    let note = String::from_utf8_lossy(&marked_routes.stderr).into_owned();
    assert!(
        note.contains("byte order mark, which is dropped (--raw keeps it)"),
        "{note}"
    );
    let raw = run(&format!("route --count 10 --raw --keys {marked}"));
    assert!(raw.stdout.starts_with("\u{feff}".as_bytes()) && raw.stderr.is_empty());
    for (option, text) in [
        ("--scan", "user:42\nuser:42\n"),
        ("--csv", "key\nuser:42\nuser:42\n"),
        ("--jsonl", "\"user:42\"\n\"user:42\"\n"),
    ] {
        let path = file("other", format!("\u{feff}{text}"))
            .display()
            .to_string();
        assert_eq!(
            run(&format!("route --count 10 {option} {path}")).stdout,
            plain.stdout,
            "{option}"
        );
    }
    let count = run(&format!(
        "slots check {marked} --format json --max-tag 1 --max-slot 1"
    ))
    .stdout;
    assert!(String::from_utf8_lossy(&count).contains("\"slots_used\": 1"));
    let nodes = file("nodes", "\u{feff}a\nb\n").display().to_string();
    let nodes = run(&format!("route --nodes-file {nodes} user:1")).stdout;
    assert_eq!(nodes, run("route --nodes a,b user:1").stdout);
}

#[test]
fn carriage_returns_stay_and_are_noted_once() {
    let path = file("windows", "a\r\nb\r\nc\n").display().to_string();
    let output = run(&format!("route --nodes x --keys {path}"));
    assert_eq!(output.stdout, b"a\r\tx\nb\r\tx\nc\tx\n");
    let note = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        note.matches("2 of 3 keys end in a carriage return").count(),
        1,
        "{note}"
    );
    let counted = run(&format!("balance --count 3 --keys {path}"));
    let note = String::from_utf8_lossy(&counted.stderr).into_owned();
    assert_eq!(
        note.matches("2 of 3 keys end in a carriage return").count(),
        1,
        "{note}"
    );
    assert!(
        run(&format!("route --nodes x --raw --keys {path}"))
            .stderr
            .is_empty()
    );
}

#[test]
fn a_numbered_list_of_redis_cli_is_read_by_scan() {
    let path = file("listed", "1) \"user:1\"\n2) \"a\\x00b\"\n3) \"user:3\"\n")
        .display()
        .to_string();
    let (code, told) = told(&format!("balance --count 3 --keys {path}"));
    assert!(
        code == Some(2) && told.contains(&format!("--scan {path}")),
        "{told}"
    );
    let routes = run(&format!("route --nodes a --scan {path}"));
    assert_eq!(routes.stdout, b"user:1\ta\na\0b\ta\nuser:3\ta\n");
    assert!(routes.stderr.is_empty());
}

#[test]
fn a_configuration_given_as_keys_is_refused_with_the_right_option() {
    for (dialect, text) in [
        (
            "twemproxy",
            "alpha:\n  listen: 127.0.0.1:22121\n  hash: fnv1a_64\n  distribution: ketama\n  servers:\n   - 127.0.0.1:11211:1\n",
        ),
        (
            "nginx",
            "upstream cache {\n  hash $uri consistent;\n  server 10.0.0.1:80;\n}\n",
        ),
    ] {
        let path = file("configuration", text).display().to_string();
        let (code, told) = told(&format!("balance --count 3 --keys {path}"));
        let right = format!("--dialect {dialect} --config {path}");
        assert!(
            code == Some(2) && told.contains(&right),
            "{dialect}: {told}"
        );
        assert_eq!(
            run(&format!("balance --count 3 --raw --keys {path}"))
                .status
                .code(),
            Some(0)
        );
    }
}

#[test]
fn rows_of_csv_given_as_keys_are_noted_and_not_refused() {
    let note = "looks like CSV";
    for (text, is_noted) in [
        ("url,hits\n/a,3\n/b,4\n", true),
        ("url;hits;bytes\n/a;3;10\n/b;4;20\n", true),
        ("user,1\nuser,2\nuser,3\n", false),
        ("Smith,John\nMiller,Ann\nMeier,Jo\n", false),
        ("tenant:a,user:1\ntenant:a,user:2\ntenant:b,user:3\n", false),
        ("user:1\nuser:2\nuser:3\n", false),
    ] {
        let path = file("rows", text).display().to_string();
        let (code, told) = told(&format!("balance --count 3 --keys {path}"));
        assert_eq!(
            (code, told.contains(note)),
            (Some(0), is_noted),
            "{text}: {told}"
        );
        fs::remove_file(path).expect("a file");
    }
}

/// A check of a file without keys must not pass.
#[test]
fn a_check_of_slots_takes_no_configuration_and_no_error_for_keys() {
    let config = "alpha:\n  listen: 127.0.0.1:22121\n  hash: fnv1a_64\n  distribution: ketama\n  servers:\n   - 10.0.0.1:6379:1 cache-1\n";
    for (name, content, words) in [
        ("nutcracker.yml", config, "a configuration of twemproxy"),
        (
            "moved.txt",
            "MOVED 1 10.0.0.2:6379\n",
            "an error of a server",
        ),
    ] {
        let path = file(name, content);
        let (code, errors) = told(&format!("slots check {}", path.display()));
        assert!(code == Some(2) && errors.contains(words), "{errors}");
    }
}
