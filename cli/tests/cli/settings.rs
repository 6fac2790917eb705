//! Settings from the environment and from a file of options.

use std::process::Stdio;

use crate::{command, file, stdout, words};

/// Runs a line with these variables.
fn with(variables: &[(&str, &str)], line: &str) -> (Option<i32>, String, String) {
    let mut command = command(words(line));
    let output = command
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_variable_is_an_option_and_says_so() {
    let (code, out, told) = with(
        &[("HASHROUTE_STRATEGY", "maglev"), ("HASHROUTE_COUNT", "5")],
        "route k",
    );
    assert_eq!(
        (code, &out),
        (Some(0), &stdout("route --strategy maglev --count 5 k"))
    );
    assert_eq!(
        told,
        "note: set by HASHROUTE_COUNT: --count=5\nnote: set by HASHROUTE_STRATEGY: --strategy=maglev\n"
    );
    let (_, quiet, told) = with(
        &[("HASHROUTE_STRATEGY", "maglev")],
        "balance --range 0..99 --quiet",
    );
    assert_eq!(
        (quiet, &*told),
        (stdout("balance --range 0..99 --strategy maglev"), "")
    );
    // No setting silences what tells of settings.
    let variables = [("HASHROUTE_QUIET", "1"), ("HASHROUTE_STRATEGY", "maglev")];
    let (_, _, told) = with(&variables, "balance --range 0..99");
    assert!(
        told.contains("set by HASHROUTE_STRATEGY: --strategy=maglev"),
        "{told}"
    );
    // The scripts of slots plan have variables of their own.
    let (_, _, told) = with(&[("HASHROUTE_REDIS_USER", "joe")], "balance --range 0..99");
    assert_eq!(told, "");
}

#[test]
fn a_typed_option_counts_more_than_any_setting() {
    let options = file(
        "options.toml",
        "strategy = \"maglev\"\ncount = 7\nset = [\"table-size=251\"]\n",
    );
    let options = options.display();
    let cases = [
        // The same option, and options that cannot stand beside it.
        (
            &[("HASHROUTE_COUNT", "5")][..],
            "route --count 3 k",
            "route --count 3 k",
        ),
        (
            &[("HASHROUTE_COUNT", "5")],
            "route --nodes a,b k",
            "route --nodes a,b k",
        ),
        (
            &[("HASHROUTE_STRATEGY", "jump")],
            "route -n h1:1,h2:1 --dialect dalli k",
            "route -n h1:1,h2:1 --dialect dalli k",
        ),
        // A variable counts more than a file, and parameters stay with their strategy.
        (
            &[("HASHROUTE_STRATEGY", "jump")],
            &format!("--options {options} route k"),
            "route --strategy jump --count 7 k",
        ),
        (
            &[],
            &format!("route --options {options} --strategy ring k"),
            "route --strategy ring --count 7 k",
        ),
        (
            &[],
            &format!("route --options {options} -n a,b -s ring k"),
            "route -n a,b -s ring k",
        ),
        (
            &[],
            &format!("route --options {options} k"),
            "route -s maglev --set table-size=251 -c 7 k",
        ),
        // An empty variable is none.
        (&[("HASHROUTE_COUNT", "")], "route -c 4 k", "route -c 4 k"),
    ];
    for (variables, line, same) in cases {
        let (code, out, told) = with(variables, line);
        assert_eq!((code, out), (Some(0), stdout(same)), "{line}: {told}");
    }
}

/// A setting is for the commands that have the option, and that can use it as they were typed.
#[test]
fn a_setting_fails_no_command_that_does_not_use_it() {
    let all = [
        ("HASHROUTE_COUNT", "5"),
        ("HASHROUTE_POOL", "alpha"),
        ("HASHROUTE_CONFIG", "/no/such/file"),
        ("HASHROUTE_MAX_MOVED", "5%"),
        ("HASHROUTE_SPREAD", "zones"),
        ("HASHROUTE_TO_HASH_KEY", "00112233445566778899aabbccddeeff"),
        ("HASHROUTE_KEYS", "/no/such/keys"),
    ];
    for line in [
        "strategies",
        "route -n a,b k",
        "slots key k",
        "slots simulate",
        "completions bash",
        "diff -n a,b --add c --keys /dev/null/none",
    ] {
        let (_, out, told) = with(&all, line);
        let usage = told.contains("cannot be used with") || told.contains("required arguments");
        assert!(
            !usage && (line.starts_with("diff") || !out.is_empty()),
            "{line}: {told}"
        );
    }
}

#[test]
fn a_file_has_options_for_all_commands_and_for_one() {
    let keys = file("some.txt", "a\nb\nc\nd\n");
    let text = format!(
        "nodes = \"a,b=2\"\nkeys = \"{}\"\n[check]\nmax-over-mean = 3\nmax_top = [\"90%@1\", \"99%@2\"]\n[slots.plan]\nbudget = 3\n",
        keys.display()
    );
    let options = file("both.toml", text.replace("99%@2", "99.5%@1"));
    let line = format!("check --options {}", options.display());
    let (code, out, told) = with(&[], &line);
    let typed = format!(
        "check --nodes a,b=2 --keys {} --max-over-mean 3 --max-top 90%@1 --max-top 99.5%@1",
        keys.display()
    );
    assert_eq!((code, out), (Some(0), stdout(&typed)), "{told}");
    assert!(
        told.starts_with("note: set by ") && told.contains("--max-over-mean=3"),
        "{told}"
    );
    let (code, out, _) = with(
        &[("HASHROUTE_OPTIONS", &options.display().to_string())],
        "balance",
    );
    let typed = format!("balance -n a,b=2 -k {}", keys.display());
    assert_eq!((code, out), (Some(0), stdout(&typed)));
}

/// The content of the file => the parts that the message must contain.
#[test]
fn a_mistake_in_the_file_is_named_with_its_line() {
    for (text, expected) in [
        (
            "count = 3\nstrategie = \"ring\"\n",
            "line 2: no command has an option --strategie | hint: did you mean strategy?",
        ),
        (
            "[chekc]\nmax-cv = 1\n",
            "line 1: there is no command \"chekc\" | hint: did you mean check?",
        ),
        (
            "[check]\nmax-cvv = 1\n",
            "line 2: check has no option --max-cvv | hint: did you mean max-cv?",
        ),
        (
            "[remap]\n\nbudget = 1\n",
            "line 3: remap has no option --budget",
        ),
        (
            "count = [1, 2]\n",
            "line 1: count: expected a text or a number",
        ),
        ("quiet = \"yes\"\n", "line 1: quiet: expected true or false"),
        ("count = \n", "line 1"),
        (
            "count = 3\nnodes = \"a\"\n",
            "--nodes cannot be used with --count",
        ),
        ("count = \"many\"\n", "many | from 1 to"),
        ("help = true\n", "--help"),
        ("options = \"x\"\n", "--options"),
    ] {
        let path = file("wrong.toml", text);
        let (code, out, told) = with(&[], &format!("route --options {} k", path.display()));
        assert_eq!((code, &*out), (Some(2), ""), "{text}: {told}");
        for part in expected.split(" | ") {
            assert!(told.contains(part), "{text}: no {part:?} in {told}");
        }
    }
    let (code, _, told) = with(&[("HASHROUTE_OPTIONS", "/no/such.toml")], "route k");
    assert!(code == Some(2) && told.contains("/no/such.toml"), "{told}");
}

#[test]
fn variables_that_are_wrong_are_told() {
    let (code, _, told) = with(&[("HASHROUTE_STRATEGIE", "ring")], "route -c 4 k");
    assert_eq!(code, Some(0));
    assert!(
        told.contains(
            "HASHROUTE_STRATEGIE: there is no option --strategie; did you mean HASHROUTE_STRATEGY?"
        ),
        "{told}"
    );
    let (code, _, told) = with(&[("HASHROUTE_STRATEGY", "rign")], "route -c 4 -q k");
    assert!(
        code == Some(2) && told.contains("set by HASHROUTE_STRATEGY"),
        "{told}"
    );
    assert!(told.contains("did you mean ring?"), "{told}");
    let (code, _, told) = with(&[("HASHROUTE_QUIET", "maybe")], "route k");
    assert!(
        code == Some(2) && told.contains("HASHROUTE_QUIET"),
        "{told}"
    );
}

#[test]
fn a_secret_from_the_environment_is_not_shown() {
    let key = "00112233445566778899aabbccddeeff";
    let (code, out, told) = with(
        &[("HASHROUTE_HASH_KEY", key), ("HASHROUTE_HASH", "sip13")],
        "route -c 4 k",
    );
    assert_eq!(
        (code, out),
        (
            Some(0),
            stdout(&format!("route -c 4 --hash sip13 --hash-key {key} k"))
        )
    );
    assert!(
        told.contains("--hash-key (secret)") && !told.contains(key),
        "{told}"
    );
}
