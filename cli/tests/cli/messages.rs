//! Messages about wrong input.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Output, Stdio};

use crate::{command, directory, file, run, words};

/// Writes the files for [`every_bad_input_has_one_clear_message`]; `DIR` is their folder.
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
        (
            "rnig.toml",
            b"format = 1\nvalues = 1\nstrategy = \"rnig\"\n[[node]]\nname = \"a\"\n",
        ),
        ("plain.txt", b"hello there\n"),
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
        ("quoted.toml", b"[[node]]\nname = \"a\"\nweight = \"0\"\n"),
        ("quoted.json", br#"[{"name":"a","weight":"0"}]"#),
        ("nodes.yaml", b"- a\n"),
        ("lines.csv", b"name,weight\na,1\n\n\nb,x\n"),
        ("doubled.csv", b"name,weight,weight\na,1,2\n"),
        ("open.csv", b"name,weight\n\"a,1\n"),
        ("numbers.json", br"[1]"),
        ("none.txt", b""),
        ("size.csv", b"key,size\na,1\nb,1\nc,1\nd,1\ne,1\nf,many\n"),
        ("keyless.csv", b"name,size\na,1\n"),
        ("typo.csv", b"key,sise\na,1\n"),
        ("key-key.csv", b"key,key\na,b\n"),
        ("unclosed.csv", b"key,size\na,1\n\"b,2\n"),
        ("vast.csv", b"key,size\na,18446744073709551615\nb,1\n"),
        ("header.csv", b"key,size\n"),
        ("number.jsonl", b"\"a\"\n\"b\"\n3\n"),
        ("hex.jsonl", b"{\"hex\":\"8\"}\n"),
    ];
    for (name, content) in files {
        file(name, content);
    }
}

/// The typed line => the parts that the message must contain.
const BAD: &str = r#"
# Nodes.
diff --count 2 --to-nodes 3 => --to-nodes | expected --to-count 3
remap --count 2 --drain a => hint: did you mean --reweight a=0?
slots plan x --drain a => hint: did you mean --remove a?
slots plan x --rebalance => hint: did you mean --even?
slots plan x --apply => hint: did you mean --commands sh?
slots plan x --by size => hint: did you mean bytes?
draw balance --by qps => hint: did you mean requests?
slots plan x --commands bash => hint: did you mean sh?
route --spread az k => hint: did you mean zones?
check --format junit => hint: JUnit is written to a file: --junit FILE
balance --format junit => hint: hashroute check --junit FILE writes JUnit
slots simulate --seed x => --seed | expected a whole number
plan --step 1.5 => --step | expected a whole number
plan --step 99999999999999999999999 => --step | expected a smaller number
spec write --epoch x => --epoch | expected a whole number
route --nodes-file DIR/quoted.toml k => quoted.toml: line 3: weight "0" is a text: expected a whole number | without quotes
route --nodes-file DIR/quoted.json k => quoted.json: line 1: weight "0" is a text: expected a whole number | without quotes
route --count 0 k => --count | from 1 to
route --count -1 k => --count | -1 | from 1 to
route --count many k => --count | many | whole number
route --count 4000000000 k => --count | 1000000
route --nodes '' k => --nodes | no nodes | a,b=2,c
route --nodes a,,b k => --nodes | entry 2 | no name
route --nodes =2 k => --nodes | no name
route --nodes a,b,a k => --nodes | "a" | already there
route --nodes a=1.5 k => --nodes | 1.5 | whole number
route --nodes a=-1 k => --nodes | -1 | from 0
route --nodes a=4294967296 k => --nodes | 4294967296 | 4294967295
route --nodes a=b k => --nodes | "b" is no weight | a=b=1
route --nodes a --count 3 k => --nodes | --count
route --nodes-file DIR/missing.csv k => --nodes-file | missing.csv | os error
route --nodes-file DIR/weight.csv k => weight.csv | line 7 | 1.5 | whole number
route --nodes-file DIR/negative.csv k => line 2 | -1 | from 0
route --nodes-file DIR/fields.csv k => fields.csv | line 3 | 3 fields | expected 2
route --nodes-file DIR/column.csv k => wieght | name,weight,zone,rack
route --nodes-file DIR/nameless.csv k => no column "name"
route --nodes-file DIR/empty.csv k => no nodes
route --nodes-file DIR/blank.csv k => line 2 | no name
route --nodes-file DIR/twice.csv k => "a" | already there
route --nodes-file DIR/binary.csv k => line 3 | UTF-8
route --nodes-file DIR/lines.csv k => line 5 | "x" | whole number
route --nodes-file DIR/doubled.csv k => line 1 | "weight" twice
route --nodes-file DIR/open.csv k => line 2 | quote
route --nodes-file DIR/numbers.json k => objects with a name | line 1
route --nodes-file DIR/field.json k => field.json: line 1: unknown | wieght | hint: did you mean weight?
route --nodes-file DIR/weight.json k => 1.5 | whole number | line 1
route --nodes-file DIR/large.json k => 4294967296 | 4294967295
route --nodes-file DIR/broken.json k => broken.json: line 1: not JSON | array of objects
route --nodes-file DIR/object.json k => object.json | array of objects
route --nodes-file DIR/weight.toml k => line 3 | -1 | whole number
route --nodes-file DIR/broken.toml k => line 3
route --nodes-file DIR/field.toml k => line 3 | wieght | hint: did you mean weight?
route --nodes-file DIR/none.toml k => no nodes | [[node]]
route --nodes-file DIR/nodes.yaml k => nodes.yaml: line 1: YAML | one node per line
# Strategy and hash.
route --strategy rign k => rign | ring | rendezvous
spec check DIR/rnig.toml => rnig.toml | "rnig" | hint: did you mean ring?
spec check DIR/plain.txt => plain.txt: line 1: not a spec | spec write
merge DIR/plain.txt => plain.txt: line 1: not JSON: expected counts
route --set pionts=1 k => --set | pionts | points | hint: did you mean points?
remap --nodes alpha,beta --remove alhpa => --remove alhpa | hint: did you mean alpha?
diff --count 3 --to-set pionts=1 => --to-set pionts=1 | hint: did you mean points?
route --set points k => --set points | '='
route --set points=0 k => --set points=0 | at least 1
route --set points=many k => --set points=many | number
route --set points=1e9 k => --set points=1e9 | from 0 to 4294967295
route --set points=1.5 k => --set points=1.5 | a whole number
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
route --hash sip13 --hash-key 0123456789abcdef0123456789abcdeg k => --hash-key | 32 hexadecimal | character 32
route --hash-key 00000000000000000000000000000000 k => --hash-key | xxh3 takes no key | --hash-seed | --hash sip13
route --hash-tag '{' k => --hash-tag | two bytes
route --dialect ngnix k => --dialect | nginx
route --dialect nginx --strategy ring k => --dialect | --strategy
route --dialect nginx --hash md5 k => --dialect | --hash
route --dialect nginx --set method=magic k => method=magic | consistent or hash
route --dialect nginx --set points=1 k => points | method
route --dialect nginx --config DIR/missing.conf k => --config | missing.conf | os error
route --config DIR/missing.conf k => --dialect
route --dialect dalli --config DIR/lines.csv k => this system has no configuration file that can be read
compare --strategy ring,ngnix => 'ngnix' | nginx
compare --strategy nginx,haproxy --hash md5 => --hash | a dialect hashes as its system does
# Keys.
balance --keys DIR/missing.txt => --keys | missing.txt | os error
balance --keys DIR => --keys | os error
route --count 3 --keys DIR --format csv => --keys | os error
balance --keys DIR/none.txt => --keys | none.txt | no keys
balance --keys - => --keys - | no keys
balance --strict --csv DIR/size.csv => --csv | line 7 | many | whole number
balance --csv DIR/keyless.csv => --csv | "key"
route --count 3 --csv DIR/keyless.csv => --csv | "key"
balance --csv DIR/typo.csv => --csv | line 1 | "sise" | key,size,requests
route --count 3 --csv DIR/typo.csv => --csv | line 1 | "sise" | key,size,requests
route --count 3 --csv DIR/key-key.csv => --csv | "key" twice
route --count 3 --strict --csv DIR/size.csv => --csv | line 7 | many | whole number
balance --strict --csv DIR/unclosed.csv => --csv | line 3 | quote
route --count 3 --strict --csv DIR/unclosed.csv => --csv | line 3 | quote
balance --strict --csv DIR/vast.csv => --csv | line 3 | sum | 18446744073709551615
route --count 3 --keys DIR/none.txt => --keys | none.txt | no keys
route --count 3 --csv DIR/header.csv => --csv | header.csv | no keys
route --count 3 --keys - => --keys - | no keys
balance --strict --jsonl DIR/number.jsonl => --jsonl | line 3 | string
route --count 3 --strict --jsonl DIR/number.jsonl => --jsonl | line 3 | string
balance --strict --jsonl DIR/hex.jsonl => line 1 | hex
remap --add x --template '{i:099}x20' --range 0..100000000 => 10200000000 bytes of keys
remap --add x --template '{i:099}{i:099}{i:099}' --range 0..100000000 => 29700000000 bytes of keys
balance --template user => --template | {i}
balance --template 'user:{i' => --template | }
route --count 3 --template 'user:{i:x}' => --template | {i:04}
balance --range 5..3 => --range 5..3 | A..B
balance --range 3..3 => --range 3..3 | A..B
route --count 3 --range many => --range many | A..B
balance --range -1..5 => --range -1..5 | A..B
balance --range 0..18446744073709551615 => --range | 18446744073709551615 keys | at most 1099511627776
compare --range 0..18446744073709551615 => --range | 18446744073709551615 keys | at most 100000000
balance --strategy bounded --partial - --range 0..9 => strategy | bounded | loads
balance --partial DIR/no/such --range 0..9 => --partial | no/such | os error
balance --partial DIR --keys DIR/missing => --partial | os error
skew --partial DIR/no/such --keys DIR/missing => --partial | no/such | os error
merge DIR/missing --partial DIR/no/such => --partial | no/such | os error
merge DIR/missing => missing | os error
skew --parts DIR/missing => --parts | missing | os error
merge => FILE
merge DIR/missing.counts => missing.counts | os error
merge DIR/none.txt => none.txt: empty
merge DIR/size.csv => size.csv | line 1 | --partial
explain --range 0..18446744073709551615 k => --range | at most
balance --keys a --csv b => --keys | --csv
balance --keys a --range 0..5 => --keys | --range
route --count 3 --keys a k => --keys | KEY
route --replicas 0 k => --replicas | of at least 1; more than the number of nodes
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
remap --to-nodes-file DIR/twice.csv => --to-nodes-file | already there
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
    check_messages(BAD);
}

/// Runs each typed line and checks that its message contains the expected parts.
pub(crate) fn check_messages(lines: &str) {
    let lines = lines
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let (typed, expected) = line
            .split_once(" => ")
            .expect("what is typed => the message");
        let output = run(&typed.replace("DIR", &directory().display().to_string()));
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
fn an_unreadable_standard_input_is_reported() {
    let directory = File::open(directory()).expect("a directory");
    let output = command(["route", "--count", "3", "--keys", "-"])
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
        "route --count 9 --range 0..1000000",
        "route --count 9 --range 0..1000000 --format json",
        "route --count 9 --range 0..1000000 --format csv --replicas 3",
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
fn unwritable_output_is_reported() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return;
    };
    let output = command(["strategies"]).stdout(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
}

/// Names and keys may contain escape sequences.
#[test]
fn control_characters_never_reach_a_terminal() {
    let keys = file("escape.csv", "key,size\n\u{1b}[31mred,900\nb,1\nc,1\nd,1\n");
    let lines = [
        "remap --nodes a,\u{1b}[31mb --add \u{1b}c --range 0..9".to_owned(),
        "compare --strategy jump,ring --nodes \u{1b}[31ma,b --remove \u{1b}[31ma --range 0..99"
            .into(),
        format!("balance --nodes \u{1b}a,b --csv {}", keys.display()),
        "explain --nodes a \u{1b}k".into(),
        "balance --nodes a,\u{1b}b,\u{1b}b".into(),
        "remap --nodes a --remove \u{1b}b".into(),
        "route --count \u{1b}b k".into(),
        "route --strategy \u{1b}b k".into(),
    ];
    for line in lines {
        for format in ["table", "markdown"] {
            let Output { stdout, stderr, .. } = run(&format!("{line} --format {format}"));
            for text in [stdout, stderr] {
                assert!(!text.contains(&0x1b), "{}", String::from_utf8_lossy(&text));
            }
        }
    }
}

/// One option for one thing, under the name that another command has for it, too.
#[test]
fn options_answer_to_the_names_that_other_commands_have() {
    let same = |one: &str, other: &str| {
        let [one, other] = [one, other].map(run);
        assert!(
            one.status.code() < Some(2),
            "{}",
            String::from_utf8_lossy(&one.stderr)
        );
        assert_eq!((one.status, one.stdout), (other.status, other.stdout));
    };
    let check = "check --count 3 --range 0..99 --max-cv 1";
    same(
        &format!("{check} --measure keys"),
        &format!("{check} --by keys"),
    );
    let draw = "draw balance --count 3 --range 0..99";
    same(
        &format!("{draw} --by keys"),
        &format!("{draw} --measure keys"),
    );
    let table = format!("{}/{}", crate::slots::DATA, crate::slots::STABLE);
    let plan = format!("slots plan {table} --format json");
    let node = crate::slots::FIRST;
    same(
        &format!("{plan} --weight {node}=0"),
        &format!("{plan} --reweight {node}=0"),
    );
}
