//! What a command-line tool has: help that fits, completions, manual pages, short options,
//! suggestions, settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::messages::check_messages;
use crate::{directory, file, json, run, stdout};

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
