//! No output destroys an input, another output or its own old version.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{command, directory, file, words};

const KEYS: &str = "user:1\nuser:2\nuser:3\n";
const CONFIG: &str = "pool:\n  servers:\n   - a:11211:1\n   - b:11211:1\n";

/// Every option that writes a file, with a command that has it. `FORM` stands for the inputs.
const OUTPUTS: &[(&str, &str, &str)] = &[
    ("--partial", "x.counts", "balance FORM"),
    ("--partial", "x.counts", "skew FORM"),
    ("--junit", "x.xml", "check FORM --max-cv 9"),
    ("--save-baseline", "x.json", "check FORM --max-cv 9"),
    ("--out", "x.svg", "draw balance FORM"),
    ("--out", "x.html", "report --skew FORM"),
];

/// The inputs that one of these commands reads at once, as `option name`.
const INPUTS: &[&str] = &[
    "--keys K --nodes-file N",
    "--keys K --keys L --spec S",
    "--csv C --nodes-file N",
    "--jsonl J --dialect twemproxy --config Y",
    "--scan K --nodes-file N",
    "--metadump M --nodes-file N",
];

/// Other outputs, each with its own inputs.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "--write-config",
        "x.yml",
        "diff --dialect twemproxy --config Y --to-config Z",
    ),
    (
        "--write-config",
        "x.yml",
        "diff --dialect twemproxy --config Y --to-nodes-file P",
    ),
    (
        "--write-config",
        "x.yml",
        "diff --dialect twemproxy --config Y --add c:1=1 --keys K",
    ),
    ("--partial", "x.counts", "merge A B"),
    ("--partial", "x.counts", "skew --parts E --nodes-file N"),
    (
        "--junit",
        "x.xml",
        "check --keys K --nodes-file N --max-moved 1 --max-cv 9 --baseline G",
    ),
    (
        "--save-baseline",
        "x.json",
        "check --keys K --nodes-file N --max-cv 9 --baseline G",
    ),
    ("--junit", "x.xml", "check --keys K --max-cv 9 --options O"),
    ("--out", "x.toml", "spec write --spec S --add d"),
    ("--out", "x.toml", "spec write --nodes-file N"),
    ("--out", "x.toml", "spec convert S --to toml"),
    ("--out", "x.svg", "draw slots T"),
    ("--out", "x.html", "report --keys K"),
];

/// Writes every input under its name, in a folder of its own.
fn inputs(folder: &Path) {
    let write = |name: &str, content: &str| fs::write(folder.join(name), content).expect("a file");
    write("K", KEYS);
    write("L", "other:1\n");
    write("N", "a\nb\n");
    write("P", "a:11211\nb:11211\nc:11211\n");
    write("C", "key,size\nuser:1,10\nuser:2,20\n");
    write("J", "\"user:1\"\n\"user:2\"\n");
    write("Y", CONFIG);
    write("Z", CONFIG);
    write("M", "key=a exp=-1 la=1 cas=1 fetch=no cls=1 size=65\n");
    write("O", "strategy = \"ring\"\nnodes = \"a,b\"\n");
    write("T", include_str!("../data/redis/nodes_fragmented.txt"));
    for (name, line) in [
        (
            "S",
            "spec write --nodes a,b --hash sip13 --hash-key 00112233445566778899aabbccddeeff --out S",
        ),
        ("A", "balance --nodes a,b --keys K --partial A"),
        ("B", "balance --nodes a,b --keys L --partial B"),
        ("E", "skew --nodes a,b --keys K --partial E"),
        (
            "G",
            "check --nodes-file N --keys K --max-cv 9 --save-baseline G",
        ),
    ] {
        let made = in_folder(folder, line).output().expect("the binary runs");
        assert!(
            made.status.success() && folder.join(name).exists(),
            "{line}: {made:?}"
        );
    }
}

fn in_folder(folder: &Path, line: &str) -> Command {
    let mut command = command(words(line));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Returns the names of all inputs of a line, which are single capital letters.
fn names(line: &str) -> Vec<&str> {
    let words = line.split(' ');
    let is_name = |word: &&str| word.len() == 1 && word.bytes().all(|c| c.is_ascii_uppercase());
    words.filter(is_name).collect()
}

fn lines() -> Vec<(&'static str, &'static str, String)> {
    let shared = OUTPUTS.iter().flat_map(|(option, name, line)| {
        let line = |inputs: &&str| (*option, *name, line.replace("FORM", inputs));
        INPUTS.iter().map(line)
    });
    let others = OTHERS
        .iter()
        .map(|(option, name, line)| (*option, *name, (*line).to_owned()));
    shared.chain(others).collect()
}

#[test]
fn no_output_is_written_onto_an_input_whatever_its_name() {
    let folder = directory();
    inputs(&folder);
    let mut tried = 0;
    for (option, name, line) in lines() {
        for input in names(&line) {
            let before = fs::read(folder.join(input)).expect("an input");
            for how in ["a symbolic link", "a hard link", "the path"] {
                let other = folder.join(name);
                let _ = fs::remove_file(&other);
                // `report` and `draw` take the name of a page or a picture alone.
                let (line, output) = match how {
                    "a symbolic link" => {
                        symlink(input, &other).expect("a link");
                        (line.clone(), name)
                    }
                    "a hard link" => {
                        fs::hard_link(folder.join(input), &other).expect("a link");
                        (line.clone(), name)
                    }
                    _ => {
                        fs::copy(folder.join(input), &other).expect("a copy");
                        let line = line
                            .split(' ')
                            .map(|word| if word == input { name } else { word });
                        (line.collect::<Vec<_>>().join(" "), name)
                    }
                };
                let line = format!("{line} {option} {output}");
                let told = in_folder(&folder, &line).output().expect("the binary runs");
                let errors = String::from_utf8_lossy(&told.stderr);
                assert!(
                    told.status.code() == Some(2)
                        && errors.contains("an input: expected another file"),
                    "{line}, {how} of {input}: {:?} {errors}",
                    told.status
                );
                assert_eq!(
                    fs::read(&other).expect("the file"),
                    before,
                    "{line}, {how} of {input}"
                );
                assert!(told.stdout.is_empty(), "{line}: the work began");
                fs::remove_file(&other).expect("the file");
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn no_output_is_written_onto_the_file_of_standard_input() {
    let folder = directory();
    inputs(&folder);
    for (option, name, line) in OUTPUTS {
        let input = folder.join(name);
        fs::write(&input, KEYS).expect("a file");
        let line = format!(
            "{} {option} {name}",
            line.replace("FORM", "--nodes a,b --keys -")
        );
        let mut command = in_folder(&folder, &line);
        let told = command
            .stdin(File::open(&input).expect("a file"))
            .output()
            .expect("it runs");
        let errors = String::from_utf8_lossy(&told.stderr);
        assert!(
            told.status.code() == Some(2) && errors.contains("the same file as standard input"),
            "{line}: {errors}"
        );
        assert_eq!(fs::read_to_string(&input).expect("a file"), KEYS, "{line}");
    }
}

#[test]
fn standard_output_is_no_input_and_no_other_output() {
    let folder = directory();
    inputs(&folder);
    for (line, target) in [
        ("balance --nodes a,b --keys K", "K"),
        ("spec write --spec S --add d", "S"),
        (
            "check --nodes a,b --keys K --max-cv 9 --junit x.xml",
            "x.xml",
        ),
    ] {
        let target = folder.join(target);
        let out = File::options()
            .append(true)
            .create(true)
            .open(&target)
            .expect("a file");
        let before = fs::read(&target).expect("a file");
        let told = in_folder(&folder, line)
            .stdout(out)
            .output()
            .expect("it runs");
        let errors = String::from_utf8_lossy(&told.stderr);
        assert!(
            told.status.code() == Some(2) && errors.contains("expected another file"),
            "{line}: {errors}"
        );
        assert_eq!(fs::read(&target).expect("a file"), before, "{line}");
    }
}

#[test]
fn two_outputs_are_two_files() {
    let folder = directory();
    let there = file("there.xml", "old");
    symlink(&there, folder.join("link.xml")).expect("a link");
    fs::create_dir(folder.join("below")).expect("a folder");
    for (one, other) in [
        ("new.xml", "new.xml"),
        ("new.xml", "below/../new.xml"),
        ("there.xml", "link.xml"),
    ] {
        let line = format!(
            "check --count 3 --range 0..99 --max-cv 9 --junit {one} --save-baseline {other}"
        );
        let told = in_folder(&folder, &line).output().expect("it runs");
        let errors = String::from_utf8_lossy(&told.stderr);
        assert!(
            told.status.code() == Some(2)
                && errors.contains("another output: expected another file"),
            "{line}: {errors}"
        );
        assert!(!folder.join("new.xml").exists(), "{line}");
    }
}

const COUNTS: &str = "balance --count 3 --range 0..99 --partial";

fn run_in(folder: &Path, line: &str) -> Output {
    let output = in_folder(folder, line).output().expect("the binary runs");
    assert!(output.status.success(), "{line}: {output:?}");
    output
}

#[test]
fn a_file_keeps_its_permissions_and_a_link_stays_a_link() {
    let folder = directory();
    let path = file("counts", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("permissions");
    let before = fs::metadata(&path).expect("a file");
    for (link, target) in [("one", "counts"), ("two", "one"), ("dangling", "new")] {
        symlink(target, folder.join(link)).expect("a link");
    }
    for output in ["counts", "two"] {
        run_in(&folder, &format!("{COUNTS} {output}"));
        let after = fs::metadata(&path).expect("a file");
        assert_eq!(after.mode() & 0o7777, 0o640);
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        assert!(after.len() > 100, "{output}");
        fs::write(&path, "old").expect("a file");
    }
    run_in(&folder, &format!("{COUNTS} dangling"));
    assert!(fs::metadata(folder.join("new")).expect("a file").len() > 100);
    for link in ["one", "two", "dangling"] {
        assert!(folder.join(link).is_symlink(), "{link}");
    }
    assert_eq!(fragments(&folder), Vec::<PathBuf>::new());
}

#[test]
fn pipes_and_devices_are_written_in_place() {
    let folder = directory();
    let pipe = folder.join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let mut writer = in_folder(&folder, &format!("{COUNTS} pipe"))
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let mut text = String::new();
    File::open(&pipe)
        .and_then(|mut pipe| pipe.read_to_string(&mut text))
        .expect("text");
    assert!(writer.wait().expect("the end").success());
    assert!(text.contains("hashroute counts"), "{text}");
    assert!(!pipe.is_file());
    run_in(&folder, &format!("{COUNTS} /dev/null"));
    assert!(!Path::new("/dev/null").is_file());
    // Standard output by its name, as a pipe and as a file: both texts are there, in order.
    let line = format!("{COUNTS} /dev/stdout");
    let piped = run_in(&folder, &line).stdout;
    let path = folder.join("both");
    let out = File::create(&path).expect("a file");
    assert!(
        in_folder(&folder, &line)
            .stdout(out)
            .status()
            .expect("it runs")
            .success()
    );
    let filed = fs::read(&path).expect("a file");
    assert_eq!(piped, filed);
    let text = String::from_utf8(filed).expect("UTF-8");
    assert!(
        text.starts_with("{\"format\":\"hashroute counts\"") && text.contains("node-0"),
        "{text}"
    );
}

/// Returns the files in a folder that an output left behind.
fn fragments(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("a folder");
    let files = files.map(|file| file.expect("a file").path());
    let is_fragment = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(".hashroute-")
    };
    files.filter(is_fragment).collect()
}

#[test]
fn an_output_that_does_not_fit_leaves_the_old_file_whole() {
    let folder = directory();
    inputs(&folder);
    let others = OTHERS
        .iter()
        .map(|(option, name, line)| (option, name, (*line).to_owned()));
    let form = |line: &str| line.replace("FORM", INPUTS[0]);
    let shared = OUTPUTS
        .iter()
        .map(|(option, name, line)| (option, name, form(line)));
    for (option, name, line) in shared.chain(others) {
        let path = folder.join(name);
        for old in [Some("the old version"), None] {
            let _ = fs::remove_file(&path);
            if let Some(old) = old {
                fs::write(&path, old).expect("a file");
            }
            for ignored in ["trap '' XFSZ;", ""] {
                // Blocks of 512 or 1024 bytes; every output is longer than none of them.
                let script = format!("{ignored} ulimit -f 0; exec \"$@\"");
                let mut shell = Command::new("sh");
                shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_hashroute")]);
                shell.args(words(&format!("{line} {option} {name}")));
                let told = shell
                    .current_dir(&folder)
                    .stdin(Stdio::null())
                    .output()
                    .expect("sh runs");
                let errors = String::from_utf8_lossy(&told.stderr);
                assert!(
                    told.status.code() == Some(2) && errors.contains(option),
                    "{line} {option}: {:?} {errors}",
                    told.status
                );
                let found = fs::read_to_string(&path).ok();
                assert_eq!(found.as_deref(), old, "{line} {option}");
                assert_eq!(fragments(&folder), Vec::<PathBuf>::new(), "{line} {option}");
            }
        }
    }
}

#[test]
fn a_spec_with_a_secret_is_private() {
    let folder = directory();
    let key = "--hash sip13 --hash-key 00112233445566778899aabbccddeeff";
    let mode = |name: &str| {
        let data = fs::metadata(folder.join(name)).expect("a file");
        data.permissions().mode() & 0o777
    };
    for (name, form) in [("a.toml", "toml"), ("a.json", "json")] {
        let line = format!("spec write --nodes a,b {key} --to {form} --out {name}");
        assert!(run_in(&folder, &line).stderr.is_empty());
        assert_eq!(mode(name), 0o600, "{name}");
    }
    run_in(&folder, "spec convert a.toml --to json --out b.json");
    assert_eq!(mode("b.json"), 0o600);
    let open = "others may read this file";
    let told = |output: &Output| String::from_utf8_lossy(&output.stderr).contains(open);
    // A file that is there keeps its permissions.
    fs::set_permissions(folder.join("a.toml"), fs::Permissions::from_mode(0o644)).expect("a mode");
    assert!(told(&run_in(
        &folder,
        &format!("spec write --nodes a,b {key} --out a.toml")
    )));
    assert_eq!(mode("a.toml"), 0o644);
    // So does the file of a shell.
    for (mode, line, expected) in [
        (0o644, format!("spec write --nodes a,b {key}"), true),
        (0o600, format!("spec write --nodes a,b {key}"), false),
        (
            0o644,
            format!("spec write --nodes a,b {key} --to canonical"),
            false,
        ),
        (
            0o644,
            format!("spec write --nodes a,b {key} --to nodes"),
            false,
        ),
        (0o644, "spec write --nodes a,b".to_owned(), false),
    ] {
        let out = File::create(folder.join("out")).expect("a file");
        out.set_permissions(fs::Permissions::from_mode(mode))
            .expect("a mode");
        let output = in_folder(&folder, &line)
            .stdout(out)
            .output()
            .expect("it runs");
        assert_eq!(
            (output.status.success(), told(&output)),
            (true, expected),
            "{line}"
        );
    }
}
