//! Prints the share of the keys that move when a ring of this library replaces a real system, over
//! the same ten servers.
//!
//! `cargo run --release --features compat --example moving_away` runs all systems. Add the names of
//! some systems after `--`, each with its options: `-- twemproxy:distribution=modula`.

use std::env;

use hashroute::strategy::Params;
use hashroute::{Error, KeyHash, Node, Ring, Router, compat};

const KEYS: u32 = 100_000;

fn main() {
    let mut asked: Vec<_> = env::args().skip(1).collect();
    if asked.is_empty() {
        asked = compat::ALL.iter().map(|row| row.name.to_owned()).collect();
    }
    for dialect in asked {
        match share(&dialect) {
            Ok(share) => println!("{dialect:<50} {:>6.1} %", 100.0 * share),
            Err(error) => println!("{dialect:<50} {error}"),
        }
    }
}

/// Returns the share of the keys that get another owner.
fn share(dialect: &str) -> Result<f64, Error> {
    let mut parts = dialect.split([':', ',']);
    let row = compat::find(parts.next().unwrap_or_default())?;
    let params = parts.fold(Params::default(), |params, option| {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        params.with(name, value)
    });
    // The servers of Katran are addresses without a port.
    let port = if row.name == "katran" { "" } else { ":11211" };
    let servers = (1..=10).map(|i| Node::new(format!("10.0.0.{i}{port}")));
    let old = row.build(servers.clone(), &params)?;
    let new = Ring::new(servers)?;
    let moved = (0..KEYS).map(|i| key(row.name, i));
    let moved = moved.filter(|key| old.route(key) != new.route(key));
    Ok(moved.count() as f64 / f64::from(KEYS))
}

/// Returns a key in the form of the system: text, a number, or the parts of a packet.
fn key(dialect: &str, i: u32) -> Vec<u8> {
    // The address and the ports of a client; for Cilium also the protocol, TCP.
    let [high, address @ ..] = i.to_be_bytes();
    let flow = [&[192][..], &address, &[0x9c, high, 0, 80, 6]].concat();
    match dialect {
        "katran" => flow[..8].into(),
        "cilium" => flow,
        "guava" | "jump" => KeyHash::from_integer(i.into()).get().to_string().into(),
        _ => format!("user:{i}").into(),
    }
}
