//! Reads back what `redis-cli` and memcached print about random binary keys.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use hashroute::redis::Address;
use hashroute_harness::{Dump, DumpFormat, Keys};
use redis::Connection;

use crate::cluster_client::open;
use crate::process::{Running, free_port};
use crate::random::Random;
use crate::tally::{Fallible, Outcome, Tally};

const KEYS: usize = 3000;
/// The bytes of an item of memcached beside key and value: header, CAS, two line ends.
const ITEM: usize = 48 + 8 + 1 + 2;

/// Keys with the lengths of their values.
type Written = BTreeMap<Vec<u8>, usize>;

pub(crate) fn check(random: &mut Random) -> Outcome {
    let mut tally = Tally::new("dumps of redis-cli and memcached");
    let written: Written = (0..KEYS)
        .map(|_| (random.bytes(1..60), random.below(900)))
        .collect();
    redis(&written, &mut tally)?;
    memcached(&written, &mut tally)?;
    Ok(tally)
}

fn redis(written: &Written, tally: &mut Tally) -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    let port = free_port()?;
    let text = port.to_string();
    let path = folder.path().display().to_string();
    let args = [
        "--bind",
        "127.0.0.1",
        "--port",
        &text,
        "--save",
        "",
        "--dir",
        &path,
    ];
    let _server = Running::start("redis-server", args, &folder.path().join("log"), port)?;
    let mut link = open(&Address::new("127.0.0.1", port))?;
    for (key, length) in written {
        let value = vec![b'v'; *length];
        redis::cmd("SET").arg(key).arg(value).exec(&mut link)?;
    }
    for scan in [cli(port, &["--no-raw", "--scan"])?, replies(port)?] {
        all(tally, DumpFormat::Scan, &scan, written, &|_, _| None)?;
    }
    for (option, format, of) in [
        ("--memkeys", DumpFormat::MemKeys, "MEMORY USAGE"),
        ("--bigkeys", DumpFormat::BigKeys, "STRLEN"),
    ] {
        largest(tally, &read(format, &cli(port, &[option])?)?, &mut link, of)?;
    }
    Ok(())
}

fn cli(port: u16, args: &[&str]) -> Fallible<Vec<u8>> {
    let port = port.to_string();
    let mut command = Command::new("redis-cli");
    let output = command
        .args(["-h", "127.0.0.1", "-p", &port])
        .args(args)
        .output()?;
    if !output.status.success() {
        return Err(format!("redis-cli {args:?}: {}", output.status).into());
    }
    Ok(output.stdout)
}

/// Returns the replies to `SCAN` until the cursor is 0, as a terminal shows them.
fn replies(port: u16) -> Fallible<Vec<u8>> {
    let (mut text, mut cursor) = (Vec::new(), "0".to_owned());
    loop {
        let reply = cli(port, &["--no-raw", "scan", &cursor, "count", "100"])?;
        let first = reply.lines().next().ok_or("no reply")??;
        cursor = first.trim_start_matches("1) ").trim_matches('"').to_owned();
        text.extend(reply);
        if cursor == "0" {
            return Ok(text);
        }
    }
}

fn read(format: DumpFormat, text: &[u8]) -> Fallible<Dump> {
    Ok(Keys::dump(format, text, true)?)
}

/// Checks that exactly the written keys are read, each with this size.
fn all(
    tally: &mut Tally,
    format: DumpFormat,
    text: &[u8],
    written: &Written,
    size: &dyn Fn(&[u8], usize) -> Option<u64>,
) -> Fallible<()> {
    let dump = read(format, text)?;
    assert!(!dump.source.partial, "{:?}", dump.source);
    let sizes = dump.keys.sizes();
    let found = dump.keys.iter().enumerate();
    let mut found: BTreeMap<_, _> = found
        .map(|(at, key)| (key, sizes.map(|sizes| sizes[at])))
        .collect();
    for (key, length) in written {
        let theirs = format!("{:?}", Some(size(key, *length)));
        let ours = format!("{:?}", found.remove(key.as_slice()));
        tally.compare(&format.to_string(), key, &theirs, &ours);
    }
    for key in found.keys() {
        tally.compare(&format.to_string(), key, "no such key", "a key");
    }
    Ok(())
}

/// Checks that each listed key has the size that the server reports.
fn largest(tally: &mut Tally, dump: &Dump, link: &mut Connection, of: &str) -> Fallible<()> {
    let sizes = dump.keys.sizes().ok_or("no sizes")?;
    for (key, size) in dump.keys.iter().zip(sizes) {
        let mut command = redis::Cmd::new();
        for word in of.split(' ') {
            command.arg(word);
        }
        let theirs: u64 = command.arg(key).query(link)?;
        tally.compare(of, key, &theirs.to_string(), &size.to_string());
    }
    let seen = dump.source.keys_seen.unwrap_or(0).to_string();
    let there: u64 = redis::cmd("DBSIZE").query(link)?;
    tally.compare(of, b"(all)", &there.to_string(), &seen);
    Ok(())
}

fn memcached(written: &Written, tally: &mut Tally) -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    let port = free_port()?;
    let text = port.to_string();
    // memcached refuses to run as root without a user.
    let args = [
        "-l",
        "127.0.0.1",
        "-p",
        &text,
        "-U",
        "0",
        "-m",
        "64",
        "-u",
        "nobody",
    ];
    let _server = Running::start("memcached", args, &folder.path().join("log"), port)?;
    let mut link = TcpStream::connect(("127.0.0.1", port))?;
    link.set_read_timeout(Some(Duration::from_secs(10)))?;
    for (key, length) in written {
        set(&mut link, key, &vec![b'v'; *length])?;
    }
    let dump = metadump(port)?;
    all(
        tally,
        DumpFormat::Metadump,
        &dump,
        written,
        &|key, length| Some((key.len() + length + ITEM) as u64),
    )
}

/// Writes a key with the binary protocol, which accepts any bytes.
fn set(link: &mut TcpStream, key: &[u8], value: &[u8]) -> Fallible<()> {
    let mut request = vec![0x80, 1];
    request.extend(u16::try_from(key.len())?.to_be_bytes());
    request.extend([8, 0, 0, 0]);
    request.extend(u32::try_from(8 + key.len() + value.len())?.to_be_bytes());
    request.extend([0; 4 + 8 + 8]);
    request.extend(key);
    request.extend(value);
    link.write_all(&request)?;
    let mut reply = [0; 24];
    link.read_exact(&mut reply)?;
    match reply[6..8] {
        [0, 0] => Ok(()),
        _ => Err(format!("memcached refuses {}", key.escape_ascii()).into()),
    }
}

/// Returns the answer to `lru_crawler metadump all`; the crawler may be busy at first.
fn metadump(port: u16) -> Fallible<Vec<u8>> {
    for _ in 0..50 {
        let mut link = BufReader::new(TcpStream::connect(("127.0.0.1", port))?);
        link.get_ref()
            .set_read_timeout(Some(Duration::from_secs(10)))?;
        link.get_mut().write_all(b"lru_crawler metadump all\r\n")?;
        let mut text = Vec::new();
        while link.read_until(b'\n', &mut text)? > 0 && !text.ends_with(b"END\r\n") {
            if text.starts_with(b"BUSY") || text.starts_with(b"ERROR") {
                break;
            }
        }
        if text.ends_with(b"END\r\n") {
            return Ok(text);
        }
        sleep(Duration::from_millis(100));
    }
    Err("the crawler of memcached is always busy".into())
}
