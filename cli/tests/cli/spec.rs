//! `spec`, and `--spec` instead of nodes and strategy.

use std::path::PathBuf;

use crate::{directory, file, json, run, stdout};

const NODES: &str = "name,weight,zone,rack\na,2,z1,r1\nb,1,z1,r2\nc,1,z2,r1\nd,0,,\n";

/// Writes a file with the output of `spec write` for these options.
fn written(name: &str, options: &str) -> PathBuf {
    file(name, stdout(&format!("spec write {options}")))
}

fn fingerprint(path: &std::path::Path) -> String {
    let line = stdout(&format!("spec fingerprint {}", path.display()));
    let (print, shown) = line.trim_end().split_once('\t').expect("a tab");
    assert_eq!(shown, path.display().to_string());
    print.to_owned()
}

#[test]
fn a_spec_stands_for_nodes_and_strategy() {
    let nodes = file("spec-nodes.csv", NODES);
    let strategies = hashroute::strategy::ALL
        .iter()
        .map(|strategy| strategy.name);
    let weighted = |name: &str| match name {
        "jump" => "--nodes b,a,c".into(),
        _ => format!("--nodes-file {}", nodes.display()),
    };
    for strategy in strategies {
        let options = format!(
            "{} --strategy {strategy} --hash xxh64 --hash-seed 9",
            weighted(strategy)
        );
        for form in ["toml", "json"] {
            let path = written(
                &format!("spec-{strategy}.{form}"),
                &format!("{options} --to {form}"),
            );
            let line = "route --replicas 2 --spread zones --template 'k{i}' --range 0..200";
            let by_spec = stdout(&format!("{line} --spec {}", path.display()));
            assert_eq!(by_spec, stdout(&format!("{line} {options}")), "{strategy}");
        }
        let spec = format!(
            "--spec {}",
            directory().join(format!("spec-{strategy}.toml")).display()
        );
        for command in [
            "balance --range 0..500",
            "explain k",
            "remap --add e --range 0..500",
        ] {
            let by_spec = json(&format!("{command} {spec}"));
            assert_eq!(
                by_spec,
                json(&format!("{command} {options}")),
                "{strategy} {command}"
            );
        }
    }
}

#[test]
fn a_spec_stands_for_a_dialect_and_its_configuration() {
    let text = "alpha:\n  listen: 127.0.0.1:22121\n  hash: md5\n  servers:\n   - 10.0.0.1:6379:1 cache-1\n   \
                - 10.0.0.2:6379:2 cache-2\n   - 10.0.0.3:6379:1 cache-3\n";
    let config = file("spec-nutcracker.yml", text);
    let options = format!("--dialect twemproxy --config {}", config.display());
    let path = written("spec-twemproxy.toml", &options);
    let keys = "--template 'user:{i}' --range 0..300";
    let spec = format!("--spec {}", path.display());
    assert_eq!(
        stdout(&format!("route {spec} {keys}")),
        stdout(&format!("route {options} {keys}"))
    );
    // The nodes have their labels as names, as in the configuration.
    let remap = |options: &str| json(&format!("remap {options} {keys} --remove cache-3"));
    assert_eq!(remap(&spec), remap(&options));
    let check = json(&format!("spec check {}", path.display()));
    assert_eq!(
        (&check["dialect"], &check["hash"]),
        (&"twemproxy".into(), &serde_json::Value::Null)
    );
}

#[test]
fn changes_raise_the_epoch_and_keep_the_table() {
    let first = written(
        "spec-table.toml",
        "--nodes a,b,c --strategy slots --set slots=100",
    );
    let line = format!("--spec {} --add d --remove a", first.display());
    let second = written("spec-table-2.toml", &line);
    let check = json(&format!("spec check {}", second.display()));
    assert_eq!((&check["epoch"], &check["nodes"]), (&2.into(), &3.into()));
    assert_eq!(check["unowned_slots"], 0);
    // A new table of the same nodes would give them other slots.
    let anew = written(
        "spec-table-3.toml",
        "--nodes b,c,d --strategy slots --set slots=100",
    );
    assert_ne!(fingerprint(&second), fingerprint(&anew));
    let set = written(
        "spec-table-4.toml",
        &format!("--spec {} --epoch 40", second.display()),
    );
    assert_eq!(json(&format!("spec check {}", set.display()))["epoch"], 40);
    assert_eq!(fingerprint(&set), fingerprint(&second));
}

#[test]
fn a_change_after_the_last_epoch_is_refused() {
    let last = written("spec-last.toml", "--nodes a --epoch 9007199254740991");
    let output = run(&format!("spec write --spec {} --add b", last.display()));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors.contains("--spec: 9007199254740992 epochs are more"),
        "{errors}"
    );
}

#[test]
fn fingerprints_of_two_files_are_compared() {
    let one = written("spec-1.toml", "--nodes a,b");
    let same = written(
        "spec-2.json",
        "--nodes b,a,d=0 --set points=160 --epoch 7 --to json",
    );
    let other = written("spec-3.toml", "--nodes a,b=2");
    let paths = |paths: &[&PathBuf]| -> String {
        let paths: Vec<_> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        paths.join(" ")
    };
    let lines = stdout(&format!("spec fingerprint {}", paths(&[&one, &same])));
    assert_eq!(lines.lines().count(), 2);
    let output = run(&format!(
        "spec fingerprint {}",
        paths(&[&one, &same, &other])
    ));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        error.contains("spec-1.toml and ") && error.contains("spec-3.toml differ"),
        "{error}"
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 3);

    let print = fingerprint(&one);
    let check = json(&format!(
        "spec check {} --fingerprint {print}",
        same.display()
    ));
    assert_eq!(
        (&check["fingerprint"], &check["weighted"]),
        (&print.as_str().into(), &2.into())
    );
    let output = run(&format!(
        "spec check {} --fingerprint {print}",
        other.display()
    ));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("total weight  3"));
    for wrong in ["", "12", "0123456789abcdeg", "+123456789abcdef"] {
        let output = run(&format!(
            "spec check {} --fingerprint '{wrong}'",
            one.display()
        ));
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_spec_is_converted_between_its_formats() {
    let nodes = file("spec-convert.csv", NODES);
    let path = written(
        "spec-convert.toml",
        &format!("--nodes-file {}", nodes.display()),
    );
    let convert = |form: &str| stdout(&format!("spec convert {} --to {form}", path.display()));
    assert_eq!(convert("nodes"), NODES);
    let toml = std::fs::read_to_string(&path).expect("the file");
    assert_eq!(convert("toml"), toml);
    let json = file("spec-convert.json", convert("json"));
    assert_eq!(
        stdout(&format!("spec convert {} --to toml", json.display())),
        toml
    );
    assert!(convert("canonical").starts_with(r#"{"format":1,"hash":{"#));
}

#[test]
fn an_error_names_the_file() {
    let bad = file(
        "spec-bad.toml",
        "format = 1\nvalues = 1\nstrategy = \"ring\"\ncolour = 7\n",
    );
    let latin = file("spec-latin.toml", b"format = 1\n# caf\xe9\n");
    let none = "no-such-spec.toml".into();
    for (path, expected) in [
        (
            &bad,
            "spec-bad.toml: line 4: unknown field `colour`, expected one of `format`",
        ),
        (
            &latin,
            "line 2 is not UTF-8: expected a spec in TOML or JSON",
        ),
        (&none, "no-such-spec.toml: "),
    ] {
        for line in [
            "spec check",
            "spec fingerprint",
            "spec convert --to json",
            "route k --spec",
        ] {
            let output = run(&format!("{line} {}", path.display()));
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{line}");
            assert!(error.contains(expected), "{error}");
            assert!(output.stdout.is_empty());
        }
    }
    let good = written("spec-good.toml", "--nodes a,b");
    for (options, expected) in [
        ("--nodes a", "cannot be used with"),
        ("--strategy jump", "cannot be used with"),
        ("--set points=1", "cannot be used with"),
        ("--hash md5", "cannot be used with"),
        ("--dialect nginx", "cannot be used with"),
    ] {
        let output = run(&format!("route k --spec {} {options}", good.display()));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && error.contains(expected),
            "{error}"
        );
    }
    let output = run(&format!("spec write --spec {} --remove x", good.display()));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains("--remove x: there is no node \"x\""),
        "{error}"
    );
    let output = run("spec write --nodes a --epoch 9007199254740992");
    assert_eq!(output.status.code(), Some(2));
}
