//! Progress is drawn on a terminal and nowhere else.
//!
//! The keys come from a pipe that stays silent until the progress is drawn, so nothing here depends
//! on how long a machine takes.

use core::time::Duration;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;

use crate::command;
use crate::terminal::terminal;

/// Starts the program, which waits for keys on its standard input.
fn start(options: &[&str], errors: impl Into<Stdio>) -> Child {
    command(["balance", "--nodes", "a", "--keys", "-"])
        .args(options)
        // Without it, or on a dumb terminal, no bar is drawn.
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .expect("the program starts")
}

/// Sends one key and returns what the program wrote to a piped standard error.
fn finish(mut child: Child) -> Vec<u8> {
    let mut keys = child.stdin.take().expect("standard input is a pipe");
    keys.write_all(b"k\n").expect("the program reads keys");
    drop(keys);
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "{}", output.status);
    output.stderr
}

/// Reads the screen until it shows `text` or the terminal is closed.
fn read_until(screen: &mut File, text: &str) -> String {
    let mut shown = Vec::new();
    let mut buffer = [0; 512];
    while !String::from_utf8_lossy(&shown).contains(text) {
        match screen.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => shown.extend(&buffer[..count]),
        }
    }
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn progress_is_drawn_on_a_terminal_but_not_on_a_pipe_or_with_quiet() {
    let (mut quiet_screen, quiet_terminal) = terminal().expect("the system has terminals");
    let (mut screen, terminal) = terminal().expect("the system has terminals");
    // These two start first, so they have waited longer than the third when that one draws.
    let piped = start(&[], Stdio::piped());
    let quiet = start(&["--quiet"], quiet_terminal);
    let drawing = start(&[], terminal);

    let (sender, drawn) = mpsc::channel();
    thread::spawn(move || {
        let drawn = read_until(&mut screen, "reading keys");
        sender.send((drawn, screen))
    });
    // Guards against a hang: a program that draws does so after about a second.
    let drawn = drawn.recv_timeout(Duration::from_secs(600));
    let (drawn, _screen) = drawn.expect("the program draws its progress");
    assert!(drawn.contains("reading keys"), "{drawn:?}");

    finish(drawing);
    assert_eq!(finish(piped), b"");
    finish(quiet);
    // A closed terminal may be reported as an error; what was drawn before comes first.
    let mut shown = Vec::new();
    let _ = quiet_screen.read_to_end(&mut shown);
    assert_eq!(String::from_utf8_lossy(&shown), "");
}
