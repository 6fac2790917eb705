//! HAProxy: `hash-type` consistent and map-based, its four functions, avalanche, weights, ids, also
//! equal ones modulo 2^20, disabled servers and those that track them; from 3.0 on, `hash-key`.

use std::fmt::Write;
use std::process::Command;

use hashroute::compat::{self, haproxy};

use crate::http::{Backends, Client};
use crate::process::{Running, free_port, path};
use crate::random::Random;
use crate::tally::{Fallible, Outcome, Tally, owner};

const POOLS: usize = 16;
const KEYS: usize = 300;

pub(crate) fn check(random: &mut Random) -> Outcome {
    let backends = Backends::start(12)?;
    let (folder, port) = (tempfile::tempdir()?, free_port()?);
    let version = version()?;
    let text = configuration(random, &backends, port, version >= (3, 0));
    let file = folder.path().join("haproxy.cfg");
    std::fs::write(&file, &text)?;
    let args = ["-db".as_ref(), "-f".as_ref(), file.as_os_str()];
    let _server = Running::start("haproxy", args, &folder.path().join("log"), port)?;
    let mut client = Client::new(port);
    let mut tally = Tally::new(format!("{POOLS} backend sections"));
    for config in compat::find("haproxy")?.read(&text)? {
        assert!(config.unknown().is_empty(), "{:?}", config.unknown());
        // The bits of an id that count, by version: 3.0.11 uses all.
        let bits = if version == (3, 0) { "32" } else { "20" };
        let params = config.params().clone().with("id-bits", bits);
        let pool = haproxy::pool(config.servers().to_vec(), &params)?;
        for _ in 0..KEYS {
            let key = random.text(1..40);
            let theirs = client.get(&format!("/{}/?k={key}", config.name()), "")?;
            // Servers are called `at-ADDRESS`.
            let ours = owner(&pool, key.as_bytes()).trim_start_matches("at-");
            tally.compare(config.name(), key.as_bytes(), &theirs, ours);
        }
    }
    Ok(tally)
}

/// Returns the version of the program, such as (2, 6).
fn version() -> Fallible<(u32, u32)> {
    let mut program = Command::new("haproxy");
    let output = program.arg("-v").env("PATH", path()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().nth(2).ok_or("no version")?;
    let mut parts = version.split('.').map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) => Ok((major?, minor?)),
        _ => Err(format!("an unknown version: {version}").into()),
    }
}

fn configuration(random: &mut Random, backends: &Backends, port: u16, by_address: bool) -> String {
    let mut text = format!(
        "global\n  maxconn 1000\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  \
         timeout server 30s\nfrontend all\n  bind 127.0.0.1:{port}\n"
    );
    for i in 0..POOLS {
        _ = writeln!(text, "  use_backend pool{i} if {{ path_beg /pool{i}/ }}");
    }
    for i in 0..POOLS {
        let method = random.pick(&["consistent", "map-based"]);
        let function = random.pick(&["sdbm", "djb2", "wt6", "crc32"]);
        let avalanche = random.pick(&["", " avalanche"]);
        _ = writeln!(
            text,
            "backend pool{i}\n  balance url_param k\n  hash-type {method} {function}{avalanche}"
        );
        let count = 1 + random.below(backends.addresses.len());
        let ids = random.below(2) == 0;
        for (at, address) in backends.addresses.iter().take(count).enumerate() {
            _ = write!(text, "  server at-{address} {address}");
            if random.below(4) > 0 {
                _ = write!(text, " weight {}", 1 + random.below(20));
            }
            if ids {
                // Some ids differ in bits that do not count.
                let same = random.below(6) == 0;
                let id = if same {
                    7 + at * 0x10_0000
                } else {
                    10 + at * 100 + random.below(90)
                };
                _ = write!(text, " id {id}");
            }
            if by_address && random.below(3) == 0 {
                let key = random.pick(&["id", "addr", "addr-port"]);
                _ = write!(text, " hash-key {key}");
            }
            match random.below(8) {
                0 if at > 0 => text.push_str(" disabled"),
                1 if at > 0 => {
                    let other = &backends.addresses[random.below(at)];
                    _ = write!(text, " track tracked/at-{other}");
                }
                _ => {}
            }
            text.push('\n');
        }
    }
    text.push_str("backend tracked\n");
    for address in &backends.addresses {
        let disabled = random.pick(&["", " disabled"]);
        _ = writeln!(text, "  server at-{address} {address} check{disabled}");
    }
    text
}
