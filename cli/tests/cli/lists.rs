//! Lists of nodes and keys that were meant as something else are refused with what to write.

use std::process::Stdio;

use crate::{command, directory, file, run, stdout, words};

/// Returns the message of a run that must end with exit code 2 and no answer.
fn refused(line: &str) -> String {
    let output = run(line);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{line}: {message}");
    assert_eq!(output.stdout, b"", "{line}");
    message
}

#[test]
fn no_list_of_another_form_is_one_name() {
    let list = file("nodes.txt", "a\nb\n");
    let list = list.display().to_string();
    for (list, write) in [
        (list.as_str(), "expected --nodes-file "),
        ("absent.txt", "expected --nodes-file absent.txt"),
        ("a;b", "such as a,b "),
        ("a|b=2", "such as a,b=2 "),
        ("a*2", "expected a=2, or a*2=1"),
        ("x,a*2", "expected a=2, or a*2=1"),
        ("[\"a\",\"b\"]", "such as a,b "),
        ("[{\"name\": \"a\"}]", "a file of nodes may be JSON"),
        ("node-{0..2}", "such as node-0,node-1,node-2"),
        ("node-[0-2]", "such as node-0,node-1,node-2"),
        ("\"a\"", "such as a "),
        ("\"a\",\"b\"", "such as a "),
    ] {
        for option in ["--nodes", "--count 2 --to-nodes", "--count 2 --add"] {
            let line = format!("diff --strategy ring {option} '{list}'");
            let message = refused(&line);
            let write = match option {
                "--count 2 --add" if write.starts_with("expected --nodes-file") => {
                    "expected a name, or"
                }
                "--count 2 --to-nodes" => &write.replace("--nodes-file", "--to-nodes-file"),
                _ => write,
            };
            assert!(message.contains(write), "{line}: {message}");
        }
    }
}

#[test]
fn a_weight_makes_a_name_of_what_looks_like_a_file() {
    assert_eq!(stdout("route --nodes nodes.txt=1 k"), "k\tnodes.txt\n");
    assert_eq!(stdout("route --nodes a*2=1 k"), "k\ta*2\n");
}

#[test]
fn names_that_are_numbers_are_noted() {
    let output = run("route --nodes 3,4 k");
    assert!(output.status.success());
    let note = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        note.starts_with("note: --nodes 3,4: numbers, taken as names"),
        "{note}"
    );
    assert_eq!(run("route --nodes 3=1,4=1 k").stderr, b"");
    assert_eq!(run("route --nodes a1,4 k").stderr, b"");
}

#[test]
fn quotes_around_names_in_a_file_are_no_part_of_the_names() {
    let route = |content: &str| {
        let nodes = file("quoted.txt", content);
        stdout(&format!(
            "route --nodes-file {} --range 0..200",
            nodes.display()
        ))
    };
    let plain = route("a 2\nb 1\n");
    for content in [
        "\"a\" 2\n\"b\" 1\n",
        "'a';2\n'b';1\n",
        "\"a\",\"2\"\n\"b\",\"1\"\n",
        "\"a\"\t2\nb\t1\n",
    ] {
        assert_eq!(route(content), plain, "{content}");
    }
    let broken = file("broken.txt", "a\n\"b c\" 2\n");
    let message = refused(&format!("route --nodes-file {} k", broken.display()));
    assert!(
        message.contains("line 2: ") && message.contains("quote"),
        "{message}"
    );
}

#[test]
fn a_key_that_is_a_file_or_a_pipe_is_told() {
    let keys = file("some-keys.txt", "k\n");
    let keys = keys.display();
    for line in [
        format!("route --nodes a,b {keys}"),
        format!("explain --nodes a,b {keys}"),
        format!("slots key {keys}"),
        format!(
            "draw ring --nodes a,b --out {}/x.svg {keys}",
            directory().display()
        ),
    ] {
        let message = refused(&line);
        assert!(message.contains("a file, not a key"), "{line}: {message}");
        assert!(message.contains("--keys"), "{line}: {message}");
    }
    let mixed = run(&format!("route --nodes a k {keys}"));
    assert!(mixed.status.success());
    let note = String::from_utf8_lossy(&mixed.stderr).into_owned();
    assert!(note.contains("its name is taken as a key"), "{note}");
}

#[cfg(unix)]
#[test]
fn a_pipe_of_the_shell_is_no_key_and_no_list() {
    for line in [
        "route --nodes a,b /dev/fd/0",
        "route --nodes a,b k /dev/fd/0",
        "route --nodes /dev/fd/0 k",
    ] {
        let mut child = command(words(line))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let input = child.stdin.take();
        let output = child.wait_with_output().expect("ends");
        drop(input);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(message.contains("a file, not a "), "{line}: {message}");
    }
}
