//! What a command-line tool has: help that fits, completions, manual pages, short options,
//! suggestions, settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::messages::check_messages;
use crate::{command, directory, file, json, run, stdout, words};

/// Returns the path of every command that takes options: `balance`, `slots plan`.
fn commands() -> Vec<String> {
    let listed = |path: &str| -> Vec<String> {
        let help = stdout(&format!("{path} --help"));
        let Some((_, list)) = help.split_once("Commands:\n") else {
            return Vec::new();
        };
        let lines = list.lines().take_while(|line| !line.is_empty());
        let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        let names = names.filter(|name| *name != "help");
        names
            .map(|name| format!("{path} {name}").trim().to_owned())
            .collect()
    };
    let all: Vec<String> = listed("")
        .into_iter()
        .flat_map(|path| match listed(&path) {
            below if below.is_empty() => vec![path],
            below => below,
        })
        .collect();
    assert!(all.len() > 25, "{all:?}");
    all
}

/// Returns the options of a help, each with its short form.
fn options(help: &str) -> Vec<(Option<char>, String)> {
    // Further in stand lines of a description that went on.
    let lines = help.lines().filter(|line| {
        let named = line.trim_start();
        named.starts_with('-') && line.len() - named.len() <= 6
    });
    lines
        .map(str::trim_start)
        .map(|line| {
            let mut names = line.split([' ', ',']).filter(|word| word.starts_with('-'));
            match (names.next(), names.next()) {
                (Some(long), _) if long.starts_with("--") => (None, long.to_owned()),
                (Some(short), Some(long)) => (short.chars().nth(1), long.to_owned()),
                _ => panic!("no long option: {line}"),
            }
        })
        .collect()
}

#[test]
fn a_short_option_means_one_thing_in_every_command() {
    let (mut meaning, mut with, mut without) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    for path in commands() {
        for (short, long) in options(&stdout(&format!("{path} --help"))) {
            match short {
                Some(short) => {
                    let known = meaning.entry(short).or_insert_with(|| long.clone());
                    assert_eq!(*known, long, "-{short} of {path}");
                    with.insert(long);
                }
                None => without.push((path.clone(), long)),
            }
        }
    }
    // The number of keys that are simulated is no file of keys.
    without.retain(|(path, long)| {
        with.contains(long) && (&**path, &**long) != ("slots simulate", "--keys")
    });
    assert_eq!(without, [], "the option has a short form elsewhere");
    for long in [
        "--nodes",
        "--count",
        "--nodes-file",
        "--strategy",
        "--dialect",
        "--keys",
        "--format",
        "--quiet",
    ] {
        assert!(with.contains(long), "{long}");
    }
}

#[test]
fn short_options_are_the_long_ones() {
    let keys = file("keys.txt", "a\nb\nc\n");
    let keys = keys.display();
    for (short, long) in [
        (
            "route -n a,b=2 -s rendezvous x y",
            "route --nodes a,b=2 --strategy rendezvous x y",
        ),
        (
            "route -c 4 -r 2 -f json x",
            "route --count 4 --replicas 2 --format json x",
        ),
        (
            "route -d dalli -n h1:1,h2:1 x",
            "route --dialect dalli --nodes h1:1,h2:1 x",
        ),
        (
            "remap -c 4 -a node-4 -q --range 0..99",
            "remap --count 4 --add node-4 --quiet --range 0..99",
        ),
    ] {
        assert_eq!(stdout(short), stdout(long), "{short}");
    }
    let short = format!("balance -k {keys} -c 3");
    assert_eq!(
        stdout(&short),
        stdout(&format!("balance --keys {keys} --count 3"))
    );
}

#[test]
fn the_short_help_is_short_and_names_the_long_one() {
    for path in commands() {
        let short = stdout(&format!("{path} -h"));
        let long = stdout(&format!("{path} --help"));
        let (few, all) = (options(&short).len(), options(&long).len());
        assert!(
            short.lines().count() <= 60,
            "{path}: {}",
            short.lines().count()
        );
        assert!(
            long.lines().count() <= 110,
            "{path}: {}",
            long.lines().count()
        );
        let more = format!("hashroute {path} --help has {} more option", all - few);
        assert_eq!(short.contains(&more), all > few, "{path}: {short}");
        assert_eq!(long, stdout(&format!("help {path}")), "{path}");
        for line in short.lines().chain(long.lines()) {
            assert!(line.chars().count() <= 130, "{path}: {line}");
        }
    }
}

/// The first block after the usage has what other commands do not have.
#[test]
fn a_command_shows_its_own_options_first() {
    for (path, own) in [
        ("balance", "--partial"),
        ("check", "--max-cv"),
        ("skew", "--node-counts"),
        ("draw ring", "--shown"),
        ("diff", "--add"),
    ] {
        let help = stdout(&format!("{path} --help"));
        let at = |option: &str| help.find(option).expect(option);
        assert!(at(own) < at("--nodes <LIST>"), "{path}");
    }
}

#[test]
fn the_long_version_tells_what_was_built_in() {
    let short = stdout("-V");
    assert_eq!(
        short.trim(),
        format!("hashroute {}", env!("CARGO_PKG_VERSION"))
    );
    let long = stdout("--version");
    assert!(long.starts_with(short.trim()), "{long}");
    let png = if cfg!(feature = "png") {
        "SVG, PNG\n"
    } else {
        "--features png"
    };
    assert!(
        long.contains(png) && long.contains(std::env::consts::ARCH),
        "{long}"
    );
}

/// Asks the completion of bash for the words that may follow.
fn completed(line: &str) -> Option<Vec<String>> {
    let script = directory().join("completion.bash");
    fs::write(&script, stdout("completions bash")).expect("a script");
    let ask = format!(
        "source '{}'; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         last=${{COMP_WORDS[$COMP_CWORD]}}; prev=${{COMP_WORDS[$((COMP_CWORD - 1))]}}; \
         _hashroute hashroute \"$last\" \"$prev\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", &ask])
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn bash_completes_commands_options_and_names() {
    for (line, expected, others) in [
        ("hashroute bal", &["balance"][..], "compare"),
        (
            "hashroute balance --str",
            &["--strategy", "--strict"],
            "--nodes",
        ),
        (
            "hashroute balance --strategy r",
            &["ring", "rendezvous"],
            "jump",
        ),
        ("hashroute balance -s ma", &["maglev"], "ring"),
        ("hashroute route --dialect tw", &["twemproxy"], "nginx"),
        (
            "hashroute route --hash cr",
            &["crc16", "crc32", "crc64"],
            "md5",
        ),
        ("hashroute skew --format j", &["json"], "csv"),
        ("hashroute slots pl", &["plan"], "show"),
        ("hashroute dialects ngi", &["nginx"], "haproxy"),
        ("hashroute completions f", &["fish"], "bash"),
    ] {
        let Some(found) = completed(line) else {
            return; // no bash here
        };
        for word in expected {
            assert!(found.iter().any(|one| one == word), "{line}: {found:?}");
        }
        assert!(!found.iter().any(|one| one == others), "{line}: {found:?}");
    }
}

#[test]
fn every_shell_gets_a_script_that_knows_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&format!("completions {shell}"));
        for path in commands() {
            let name = path.rsplit(' ').next().expect("a name");
            assert!(script.contains(name), "{shell}: {path}");
        }
        // The scripts for the others complete no values.
        if ["bash", "zsh", "fish"].contains(&shell) {
            assert!(script.contains("rendezvous"), "{shell}");
        }
    }
    assert_eq!(run("completions tcsh").status.code(), Some(2));
}

#[test]
fn every_command_has_a_manual_page_without_warnings() {
    let folder = directory().join("man1");
    assert_eq!(stdout(&format!("man --out {}", folder.display())), "");
    let mut pages = 0;
    for path in commands() {
        let name = format!("hashroute-{}.1", path.replace(' ', "-"));
        let page = fs::read_to_string(folder.join(&name)).expect(&name);
        assert_eq!(page, stdout(&format!("man {path}")));
        for section in [
            ".TH",
            ".SH NAME",
            ".SH SYNOPSIS",
            ".SH DESCRIPTION",
            ".SH OPTIONS",
            ".SH \"EXIT STATUS\"",
        ] {
            assert!(page.contains(section), "{name}: {section}");
        }
        let long = options(&stdout(&format!("{path} --help")));
        let plain = page.replace("\\-", "-");
        for (_, option) in long {
            let mut entries = plain.split("\n.TP\n").map(|entry| entry.split_once('\n'));
            let named = |first: &str| first.contains(&format!("{option}\\"));
            let entry = entries.find(|entry| entry.is_some_and(|(first, _)| named(first)));
            let text = entry.flatten().map(|(_, text)| text).unwrap_or_default();
            assert!(text.contains(' '), "{name}: {option}: {text}");
        }
        if let Some(warnings) = warnings(&page) {
            assert_eq!(warnings, "", "{name}");
        }
        pages += 1;
    }
    assert!(
        fs::read_dir(&folder).expect("pages").count() > pages,
        "with hashroute.1"
    );
    let wrong = run("man balance no-such");
    assert_eq!(wrong.status.code(), Some(2));
}

/// Returns what groff has to say about a page, if groff is there.
fn warnings(page: &str) -> Option<String> {
    let mut groff = Command::new("groff")
        .args(["-man", "-Tutf8", "-ww", "-z"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = groff.stdin.take()?;
    input.write_all(page.as_bytes()).ok()?;
    drop(input);
    let output = groff.wait_with_output().ok()?;
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The typed line => the parts that the message must contain.
const MEANT: &str = r"
# Options of other tools.
balance --json => --json | hint: did you mean --format json?
slots show --json x => hint: did you mean --format json?
balance --vnodes 100 => hint: did you mean --set points=100?
balance --virtual-nodes=100 => hint: did you mean --set points=100?
balance --tokens => hint: did you mean --set points=N?
balance --weights 1,2,3 => hint: weights stand with the names: --nodes a=1,b=2,c=3
route --nodes x,y --weights 1,2 k => --nodes x=1,y=2
balance --servers a,b => hint: did you mean --nodes a,b?
balance --algorithm maglev => hint: did you mean --strategy maglev?
draw balance --output x.svg => hint: did you mean --out x.svg?
remap --delete a => hint: did you mean --remove a?
balance --nodes_file x => hint: did you mean --nodes-file?
route --fromat json k => hint: did you mean --format?
# Options of other commands.
balance --node-counts 3 => balance has no --node-counts; it is an option of | skew
draw --count 3 => expected one of ring, balance | node-counts | hint: for example: hashroute draw balance --count 3
slots --budget 3 => such as hashroute slots plan --budget 3
# Words.
balance a,b,c => hint: did you mean --nodes a,b,c?
balance a=1 => hint: did you mean --nodes a=1?
balance --nodes a b c => hint: write a list with commas: --nodes a,b,c
balance -n a b => hint: write a list with commas: --nodes a,b
balance DIR/keys.txt => hint: did you mean --keys | keys.txt?
balance DIR/keys.csv => hint: did you mean --csv | keys.csv?
balance DIR/nodes.toml => hint: did you mean --nodes-file | nodes.toml?
balance 12 => hint: did you mean --count 12?
balance maglev => hint: did you mean --strategy maglev?
balance twemproxy => hint: did you mean --dialect twemproxy?
# Names.
balance --strategy ketama => hint: libketama is a dialect: --dialect libketama
balance --strategy twemproxy => hint: twemproxy is a dialect: --dialect twemproxy
balance --dialect maglev => hint: maglev is a strategy: --strategy maglev
diff --to-strategy nginx => hint: nginx is a dialect: --to-dialect nginx
compare --strategy ketama => hint: did you mean libketama?
balance --strategy hrw => hint: did you mean rendezvous?
balance --strategy Consistent_Hash => hint: did you mean ring?
balance --strategy rign => hint: did you mean ring?
balance --dialect ketama => hint: did you mean libketama?
balance --dialect memcached => hint: did you mean libmemcached?
balance --hash murmur3 => hint: did you mean murmur3-32?
balance --hash xxhash => hint: did you mean xxh3?
hashes siphash => hint: did you mean sip24?
balance --format md => hint: did you mean markdown?
strategies nginx => hint: nginx is a dialect: hashroute dialects nginx
dialects ring => hint: ring is a strategy: hashroute strategies ring
# Parameters.
balance --set vnodes=100 => hint: did you mean --set points=100?
balance --strategy bounded --set load-factor=2 => hint: did you mean --set load=2?
balance --strategy maglev --set size=7 => hint: did you mean --set table-size=7?
diff --count 3 --to-set vnodes=100 => hint: did you mean --to-set points=100?
# Commands.
completion => hint: did you mean hashroute completions?
lookup k => hint: did you mean hashroute route?
slots rebalance => slots
rout k => hint: did you mean hashroute route?
version => hint: did you mean hashroute --version?
draw rnig => hint: did you mean hashroute draw ring?
# Nodes.
remap --remove 2 => hint: there are node-0, node-1, node-2, ... node-9
remap --nodes a,b --remove c => hint: there are a, b
# Configurations.
route --config DIR/nutcracker.yml k => --dialect | twemproxy
spec check DIR/nodes.csv => hint: | a list of nodes is no spec
spec check DIR/nodes.json => hint: | a list of nodes is no spec
";

#[test]
fn what_was_meant_is_suggested() {
    file("keys.txt", "a\n");
    file("keys.csv", "key\na\n");
    file("nodes.toml", "[[node]]\nname = \"a\"\n");
    file("nodes.csv", "name,weight\na,1\n");
    file("nodes.json", r#"[{"name":"a"}]"#);
    let pool = "alpha:\n  listen: 127.0.0.1:22121\n  hash: fnv1a_64\n  distribution: ketama\n  servers:\n   - 127.0.0.1:11211:1 a\n";
    file("nutcracker.yml", pool);
    check_messages(MEANT);
}

/// An option that no command has is never to be passed as a value.
#[test]
fn no_command_suggests_to_pass_an_option_as_a_value() {
    for path in commands() {
        for option in ["--scan", "--json", "--frobnicate", "--weights", "-x"] {
            let Output { stderr, .. } = run(&format!("{path} {option}"));
            let told = String::from_utf8_lossy(&stderr);
            assert!(
                !told.contains("as a value") && !told.contains("tip:"),
                "{path} {option}: {told}"
            );
        }
    }
}

#[test]
fn names_are_taken_in_any_spelling() {
    for (loose, exact) in [
        ("route -c 4 --hash MD5 k", "route -c 4 --hash md5 k"),
        (
            "route -c 4 --strategy Ring k",
            "route -c 4 --strategy ring k",
        ),
        (
            "route -n h1:1,h2:1 --dialect dialect:NGINX k",
            "route -n h1:1,h2:1 --dialect nginx k",
        ),
        (
            "route -c 4 --strategy strategy:jump k",
            "route -c 4 --strategy jump k",
        ),
        (
            "route -c 4 --strategy maglev --set TABLE_SIZE=251 k",
            "route -c 4 --strategy maglev --set table-size=251 k",
        ),
        (
            "route -n h1:1,h2:1 --dialect twemproxy --set hash-tag={} k",
            "route -n h1:1,h2:1 --dialect twemproxy --set hash_tag={} k",
        ),
        ("route -c 4 --format JSON k", "route -c 4 --format json k"),
        (
            "balance --hash FNV1A_64 --range 0..99",
            "balance --hash fnv1a-64 --range 0..99",
        ),
    ] {
        assert_eq!(stdout(loose), stdout(exact), "{loose}");
    }
}

#[test]
fn a_list_shows_one_by_its_name() {
    for (list, name) in [
        ("strategies", "ring"),
        ("dialects", "twemproxy"),
        ("hashes", "md5"),
    ] {
        let all = json(list);
        let one = json(&format!("{list} {name}"));
        let rows = all.as_array().expect("rows");
        let found = rows
            .iter()
            .find(|row| row["name"] == name)
            .expect("the row");
        assert_eq!(
            one.as_array().expect("a row").as_slice(),
            core::slice::from_ref(found)
        );
    }
    let text = stdout("strategies ring");
    assert!(
        text.contains("points") && text.contains("labels") && !text.contains("maglev"),
        "{text}"
    );
    let text = stdout("dialects twemproxy");
    assert!(
        text.contains("hash_tag") && !text.contains("min-ring-size"),
        "{text}"
    );
}

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

/// Returns the page about continuous integration.
fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../harness/docs/ci.md");
    fs::read_to_string(path).expect("the page")
}

/// Runs a line of a shell in the directory of this test, with the program on its path.
fn shell(line: &str) -> Option<Output> {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_hashroute"));
    let folder = program.parent()?.display().to_string();
    let path = std::env::var("PATH").ok()?;
    Command::new("bash")
        .args(["--norc", "-e", "-o", "pipefail", "-c", line])
        .current_dir(directory())
        .env("PATH", format!("{folder}:{path}"))
        .env("GITHUB_STEP_SUMMARY", "summary.md")
        .stdin(Stdio::null())
        .output()
        .ok()
}

/// Writes the files that the page speaks of.
fn files_of_the_page() {
    let page = page();
    let (_, settings) = page.split_once("```toml\n").expect("settings");
    let (settings, _) = settings.split_once("```").expect("their end");
    file("hashroute.toml", settings);
    let nodes = ["a", "b", "c"].map(|name| format!("[[node]]\nname = \"{name}\"\n"));
    file("nodes.toml", nodes.concat());
    let keys = (0..2000)
        .map(|i| format!("user:{i},{}\n", i % 7))
        .collect::<Vec<_>>()
        .concat();
    file("keys.csv", format!("key,size\n{keys}"));
    let keys = (0..20)
        .map(|i| format!("user:{i}\n"))
        .collect::<Vec<_>>()
        .concat();
    file("keys.txt", keys);
}

/// The commands are those of the YAML; the summary is written whether or not all checks hold.
#[test]
fn the_recipes_for_ci_run_as_they_stand() {
    files_of_the_page();
    let page = page();
    let lines: Vec<_> = page.lines().map(str::trim).collect();
    let begin = lines
        .iter()
        .position(|line| *line == "code=0")
        .expect("a script");
    let end = lines
        .iter()
        .position(|line| *line == "exit \"$code\"")
        .expect("its end");
    let github = lines[begin..=end].join("\n");
    let gitlab = lines
        .iter()
        .find_map(|line| line.strip_prefix("- hashroute check"));
    let gitlab = format!("hashroute check{}", gitlab.expect("a line of GitLab"));
    let settings = "export HASHROUTE_OPTIONS=hashroute.toml";
    let save = format!("{settings}; hashroute check --save-baseline baseline.json");
    let Some(saved) = shell(&save) else {
        return; // no bash here
    };
    assert_eq!(saved.status.code(), Some(0), "{saved:?}");
    for script in [&github, &gitlab] {
        let output = shell(&format!("{settings}\n{script}")).expect("bash");
        assert_eq!(output.status.code(), Some(0), "{script}: {output:?}");
        let junit = fs::read_to_string(directory().join("hashroute.xml")).expect("a report");
        assert!(junit.contains("failures=\"0\""), "{junit}");
    }
    let summary = directory().join("summary.md");
    let text = fs::read_to_string(&summary).expect("a summary");
    assert!(text.contains("| --- |") || text.contains("|---"), "{text}");
    let failing = format!("export HASHROUTE_MAX_CV=0 {settings}\n{github}").replace(
        "export HASHROUTE_MAX_CV=0 export",
        "export HASHROUTE_MAX_CV=0",
    );
    let output = shell(&failing).expect("bash");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(fs::read_to_string(&summary).expect("a summary").len() > text.len());
}

#[test]
fn the_recipes_for_jq_run_as_they_stand() {
    files_of_the_page();
    let page = page();
    let recipes: Vec<_> = page
        .lines()
        .filter_map(|line| line.split_once("| `hashroute ")?.1.strip_suffix("` |"))
        .map(|rest| format!("hashroute {}", rest.replace("\\|", "|")))
        .filter(|line| line.contains("| jq"))
        .collect();
    assert!(recipes.len() >= 5, "{recipes:?}");
    if shell("jq --version").is_none_or(|output| !output.status.success()) {
        return; // no jq here
    }
    for recipe in recipes {
        // Few keys do for this.
        let fewer = recipe
            .replace("--format", "--keys keys.txt --format")
            .replace("--keys keys.txt --keys keys.txt", "--keys keys.txt");
        let fewer = if recipe.contains("strategies") {
            recipe.clone()
        } else {
            fewer
        };
        let output = shell(&fewer).expect("bash");
        assert!(output.status.success(), "{fewer}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("null"), "{fewer}: {text}");
    }
}
