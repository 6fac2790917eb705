//! Peers that agree through etcd: the Spec is one key, the revision of the key is the epoch.
//!
//! ```text
//! hashroute-etcd ENDPOINT KEY init FILE    put the first Spec
//! hashroute-etcd ENDPOINT KEY write        make the changes on standard input, one a line:
//!                                          add NAME [WEIGHT], remove NAME, reweight NAME WEIGHT
//! hashroute-etcd ENDPOINT KEY follow       route the keys on standard input, one a line, by what
//!                                          is in etcd; an empty line asks for a report
//! ```
//!
//! `follow` reports each swap, and says on standard error when it lost etcd or refuses what is
//! there; it keeps routing with what it has. It ends with its input.

mod follow;
mod store;
mod view;

use std::env;
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use hashroute::{Change, Node, Router};
use tokio::runtime::{Builder, Runtime};

use crate::follow::Follower;

pub(crate) type Fallible<T> = Result<T, Box<dyn Error>>;

const USAGE: &str = "expected: ENDPOINT KEY, and init FILE, write or follow";

const LINES: &str = "add NAME [WEIGHT], remove NAME or reweight NAME WEIGHT";

fn main() -> ExitCode {
    let args: Vec<_> = env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hashroute-etcd: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[&str]) -> Fallible<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    match *args {
        [endpoint, key, "init", file] => init(&runtime, endpoint, key, file),
        [endpoint, key, "write"] => write(&runtime, endpoint, key),
        [endpoint, key, "follow"] => follow(runtime, endpoint, key),
        _ => Err(USAGE.into()),
    }
}

fn init(runtime: &Runtime, endpoint: &str, key: &str, file: &str) -> Fallible<()> {
    let (spec, _) = view::read(&std::fs::read(file)?)?;
    let epoch = runtime.block_on(store::create(endpoint, key, &spec))?;
    println!("epoch {epoch}");
    Ok(())
}

fn write(runtime: &Runtime, endpoint: &str, key: &str) -> Fallible<()> {
    for line in input() {
        let line = line?;
        let made = std::str::from_utf8(&line)
            .map_err(Into::into)
            .and_then(parse)
            .and_then(|change| runtime.block_on(store::change(endpoint, key, &change)));
        match made {
            Ok(made) => println!("epoch {} tries {}", made.epoch, made.tries),
            Err(error) => println!("failed: {error}"),
        }
    }
    Ok(())
}

fn parse(line: &str) -> Fallible<Change> {
    Ok(match *line.split_whitespace().collect::<Vec<_>>() {
        ["add", name] => Change::Add(Node::new(name)),
        ["add", name, weight] => Change::Add(Node::new(name).with_weight(parse_weight(weight)?)),
        ["remove", name] => Change::remove(name),
        ["reweight", name, weight] => Change::reweight(name, parse_weight(weight)?),
        _ => return Err(format!("{line:?}: expected {LINES}").into()),
    })
}

fn parse_weight(weight: &str) -> Fallible<u32> {
    let number = weight.parse();
    number.map_err(|_| {
        format!(
            "weight {weight:?}: expected a whole number, 0 to {}",
            u32::MAX
        )
        .into()
    })
}

fn follow(runtime: Runtime, endpoint: &str, key: &str) -> Fallible<()> {
    let started = Instant::now();
    let clock = move || started.elapsed();
    let view = Arc::new(runtime.block_on(follow::start(endpoint, key, clock()))?);
    println!("{}", view.report(clock()));
    let mut reader = view.shared().reader();
    let (endpoint, key, followed) = (endpoint.to_owned(), key.to_owned(), Arc::clone(&view));
    thread::spawn(move || {
        runtime.block_on(
            Follower {
                endpoint: &endpoint,
                key: &key,
                view: &followed,
                clock,
            }
            .run(),
        )
    });
    for line in input() {
        let key = line?;
        if key.is_empty() {
            println!("{}", view.report(clock()));
            continue;
        }
        let node = reader.get().route(&key);
        let answer = [&key, node.map_or("-", Node::name).as_bytes()].join(&b' ');
        io::stdout().write_all(&[&answer[..], b"\n"].concat())?;
    }
    Ok(())
}

/// The lines of standard input: keys may be any bytes.
fn input() -> impl Iterator<Item = io::Result<Vec<u8>>> {
    let lines = io::stdin().lock().split(b'\n');
    lines.map(|line| line.map(|line| line.strip_suffix(b"\r").map(<[u8]>::to_vec).unwrap_or(line)))
}
