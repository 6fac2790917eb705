//! `diff` and `plan`: their options and their answers.

use serde_json::Value;

use crate::{file, json, run, stdout};

fn sum(values: &Value, field: &str) -> f64 {
    let values = values.as_array().expect("an array");
    values
        .iter()
        .filter_map(|value| value[field].as_f64())
        .sum()
}

fn refused(line: &str, message: &str) {
    let output = run(line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(errors.contains(message), "{line}: {errors}");
}

#[test]
fn a_diff_states_what_it_counts() {
    let exact = json("diff --nodes a,b --add c");
    assert_eq!(
        (&exact["basis"], &exact["keys"]),
        (&"hashes".into(), &Value::Null)
    );
    assert!(
        (sum(&exact["flows"], "share") - exact["moved_share"].as_f64().expect("a share")).abs()
            < 1e-9
    );
    assert_eq!(exact["flows"][0]["to"], "c");
    let sampled = json("diff --strategy rendezvous --nodes a,b --add c");
    assert_eq!(
        (&sampled["basis"], &sampled["keys"]),
        (&"sample".into(), &65_536.into())
    );
    assert!(sampled["moved_error"].as_f64() > Some(0.001));
    let given = json("diff --strategy rendezvous --nodes a,b --add c --range 0..300");
    assert_eq!(
        (&given["basis"], &given["keys"]),
        (&"keys".into(), &300.into())
    );
    let remap = json("remap --strategy rendezvous --nodes a,b --add c --range 0..300");
    assert_eq!(given["moved_share"], remap["moved_share"]);
}

#[test]
fn ranges_are_listed_where_the_diff_is_exact() {
    let line = "diff --strategy modulo --nodes a --add b --ranges";
    assert_eq!(
        stdout(&format!("{line} --format csv")),
        "first,last,from,to\n1,1,a,b\n"
    );
    assert_eq!(json(line)["modulus"], 2);
    refused(
        "diff --strategy jump --nodes a --add b --ranges",
        "no hash ranges to compare",
    );
}

#[test]
fn the_second_set_up_differs_where_it_is_said_to() {
    let text = stdout("diff --nodes a,b --add c --to-set points=20 --range 0..99");
    assert_eq!(
        text.lines().nth(1),
        Some("Change: strategy ring to strategy ring points=20, add c.")
    );
    let same = json("diff --count 5 --set points=20 --to-set points=20");
    assert_eq!(same["moved_share"], 0.0);
    let kept = json("diff --count 5 --hash md5 --to-strategy maglev");
    assert_eq!(kept["basis"], "hashes");
    let pools = json("diff --count 3 --dialect twemproxy --add node-3");
    assert_eq!(pools["basis"], "hashes");
    let pools = json("diff --count 3 --dialect twemproxy --to-set hash_tag={}");
    assert_eq!(pools["basis"], "sample");
    let other = json("diff --count 5 --dialect twemproxy --to-strategy ring --range 0..500");
    assert!(other["moved_share"].as_f64() > Some(0.5));
    refused("diff --count 5", "--to-strategy");
    refused(
        "diff --count 5 --to-set pionts=1",
        "--to-set pionts=1: unknown parameter",
    );
    refused(
        "diff --count 5 --dialect twemproxy --to-hash md5",
        "--to-hash md5: a dialect",
    );
    refused(
        "diff --nodes a,b --to-strategy jump --reweight a=2",
        "strategy jump",
    );
}

/// The second list may differ in order and in locations.
#[test]
fn a_second_list_of_nodes_is_compared() {
    let rows =
        |a: &str, b: &str| format!("name,weight,zone,rack\n{a}\n{b}\nc,1,z2,r1\nd,1,z2,r2\n");
    let one = file("list-one.csv", rows("a,1,z1,r1", "b,1,z1,r2"));
    let two = file("list-two.csv", rows("b,1,z1,r2", "a,1,z2,r9"));
    let asked = |command: &str| {
        format!(
            "{command} --nodes-file {} --to-nodes-file {}",
            one.display(),
            two.display()
        )
    };
    let jump = json(&asked("diff --strategy jump"));
    assert!(jump["moved_share"].as_f64() > Some(0.4));
    let text = stdout(&asked("diff --strategy jump"));
    assert_eq!(
        text.lines().nth(1),
        Some("Change: location a=z2/r9, another order.")
    );
    let plan = json(&asked("plan --replicas 2 --spread zones"));
    assert!(plan["moved_share"].as_f64() > Some(0.1));
    assert_eq!(json(&asked("diff"))["moved_share"], 0.0);
    // A strategy with a table ignores locations; its new table has the order of the list.
    for line in [
        asked("diff --strategy slots"),
        asked("remap --strategy slots --range 0..9"),
    ] {
        let text = stdout(&line);
        assert!(
            text.contains("Change: location a=z2/r9, another order, in a new table"),
            "{text}"
        );
    }
}

#[test]
fn a_second_hash_keeps_seed_key_and_tag() {
    let same = |line: &str| assert_eq!(json(line)["moved_share"], 0.0, "{line}");
    same("diff --count 5 --hash-seed 7 --hash-tag {} --to-hash xxh3");
    same("diff --count 5 --hash sip13 --hash-key 000102030405060708090a0b0c0d0e0f --to-hash sip13");
    // All keys of a hash tag count as one key.
    let keys = file(
        "tagged.txt",
        "{a}1\n{a}2\n{a}3\n{a}4\n{a}5\n{a}6\n{a}7\n{a}8\n",
    );
    let keys = keys.display();
    let tagged = json(&format!(
        "diff --count 99 --hash-tag {{}} --to-hash md5 --keys {keys}"
    ));
    assert_eq!(tagged["flows"].as_array().map(Vec::len), Some(1));
    refused("diff --count 5 --to-hash sip13", "--to-hash-key");
    refused(
        "diff --count 5 --to-hash md5 --to-hash-key 000102030405060708090a0b0c0d0e0f",
        "md5 takes neither",
    );
    refused(
        "diff --count 5 --hash-seed 0x100000000 --to-hash murmur3-32",
        "a seed of 32 bits",
    );
    let output = run("diff --count 5 --hash-seed 7 --to-hash md5");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("note: --to-hash md5: takes neither seed nor key"),
        "{errors}"
    );
}

/// The second setup keeps what the spec or the configuration file says.
#[test]
fn a_second_set_up_keeps_what_a_spec_says() {
    let spec = |name: &str, options: &str| {
        let path = file(name, stdout(&format!("spec write {options}")));
        format!("--spec {}", path.display())
    };
    let moved = |line: &str| json(line)["moved_share"].clone();
    let ring = spec(
        "as-before.toml",
        "--nodes a,b,c --set points=300 --hash-tag {}",
    );
    for same in [
        "--to-strategy ring",
        "--to-set points=300",
        "--to-hash xxh3",
        "--to-strategy ring --to-set labels=drawn",
    ] {
        assert_eq!(moved(&format!("diff {ring} {same}")), 0.0, "{same}");
        assert_eq!(moved(&format!("plan {ring} {same}")), 0.0, "{same}");
    }
    let options = "--nodes a,b,c --set points=300 --hash-tag {}";
    for other in [
        "--to-set points=20 --add d",
        "--to-hash murmur3-32 --range 0..99",
        "--to-strategy maglev",
    ] {
        let by_options = moved(&format!("diff {options} {other}"));
        assert_eq!(
            moved(&format!("diff {ring} {other}")),
            by_options,
            "{other}"
        );
        assert!(by_options.as_f64() > Some(0.1), "{other}");
    }

    // The slot table, the labels and the states of servers stay.
    let table = spec(
        "as-before-dealt.toml",
        "--nodes a,b --strategy slots --set slots=10",
    );
    let table = spec("as-before-table.toml", &format!("{table} --add c"));
    assert_eq!(moved(&format!("diff {table} --to-hash xxh3")), 0.0);
    refused(
        &format!("diff {table} --to-set slots=20"),
        "--to-set slots=20: expected as many as before",
    );
    let text = "alpha:\n  listen: 127.0.0.1:22121\n  hash: md5\n  servers:\n   - 10.0.0.1:6379:1 one\n   - 10.0.0.2:6379:1 two\n";
    let path = file("as-before.yml", text);
    let config = format!("--dialect twemproxy --config {}", path.display());
    let pool = spec("as-before-pool.toml", &config);
    for before in [&config, &pool] {
        for same in ["--to-dialect twemproxy", "--to-set hash=md5"] {
            assert_eq!(
                moved(&format!("diff {before} {same}")),
                0.0,
                "{before} {same}"
            );
        }
        assert!(moved(&format!("diff {before} --to-set hash=fnv1a_64")).as_f64() > Some(0.1));
    }
    refused(
        &format!("diff {pool} --to-hash md5"),
        "expected --to-strategy",
    );
}

/// Many readers of JSON lose bits of numbers above 2^53.
#[test]
fn ends_of_ranges_are_written_in_hexadecimal_too() {
    let diff = json("diff --nodes a,b --add c --ranges");
    let plan = json("plan --nodes a,b --add c");
    for range in [&diff["ranges"][0], &plan["steps"][0]["ranges"][0]] {
        for end in ["first", "last"] {
            let number = range[end].as_u64().expect("a number");
            assert_eq!(range[format!("{end}_hex")], format!("{number:016x}"));
        }
    }
}

#[test]
fn a_plan_keeps_its_limits() {
    let plan = json("plan --count 5 --add node-5 --max-step 5% --max-out 0.02 --replicas 2");
    assert_eq!(
        (&plan["exact"], &plan["replicas"]),
        (&true.into(), &2.into())
    );
    let steps = plan["steps"].as_array().expect("steps");
    assert!(steps.len() > 5);
    for (number, step) in (1..).zip(steps) {
        assert_eq!(step["step"], number);
        assert!(step["moved_share"].as_f64() <= Some(0.05));
        let ranges = step["ranges"].as_array().expect("ranges");
        assert!(ranges.iter().all(|range| range["deletes"].is_array()));
    }
    assert!(
        (sum(&plan["steps"], "moved_share") - plan["moved_share"].as_f64().expect("a share")).abs()
            < 1e-9
    );
    let one =
        json("plan --count 5 --add node-5 --max-step 5% --max-out 0.02 --replicas 2 --step 3");
    assert_eq!(one["steps"][0], steps[2]);
    let csv = stdout("plan --strategy slots --nodes a --set slots=2 --add b --format csv");
    assert_eq!(
        csv,
        "step,first,last,share,copies,deletes\n1,0,0,0.5,a>b,a\n"
    );
}

#[test]
fn limits_that_cannot_be_kept_are_refused() {
    refused(
        "plan --nodes a --strategy slots --add b --max-step 0.00001",
        "--max-step 0.00001: expected at least 0.00006103515625",
    );
    refused(
        "plan --nodes a --add b --max-step 1e-300",
        "--max-step 1e-300: expected at least 5.421010862427522e-20, what one position takes",
    );
    refused("plan --nodes a --add b --max-in 101%", "a share above 0");
    refused(
        "plan --nodes a --add b --replicas 33",
        "--replicas 33: expected a whole number from 1 to 32",
    );
    refused(
        "plan --nodes a --add b --step 9",
        "no such step: the plan has 1 step",
    );
    refused("plan --nodes a --reweight a=0", "nobody could hold them");
    refused(
        "plan --strategy bounded --nodes a,b --add c",
        "plan for the routers below them",
    );
    let unseen = stdout("plan --strategy rendezvous --nodes a=1000000,b=1000000 --add c=1");
    assert!(
        unseen.contains("in 1 step") && !unseen.contains("-0.00%"),
        "{unseen}"
    );
    let none = stdout("plan --nodes a --to-set points=7");
    assert!(
        none.contains("0.00% of all keys change nodes, in 0 steps"),
        "{none}"
    );
}
