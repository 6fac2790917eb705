//! What share of the keys moves when a real system gives way to a ring of this library, over the
//! same ten servers?
//!
//! `cargo run --release --features compat --example moving_away` for all systems, or the names of
//! some after `--`, each with its options: `-- twemproxy:distribution=modula`.

use std::env;

use hashroute::strategy::Params;
use hashroute::{Error, Node, Ring, Router, compat};

const KEYS: u32 = 1_000_000;

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

/// The share of keys with another owner.
fn share(dialect: &str) -> Result<f64, Error> {
    let mut parts = dialect.split([':', ',']);
    let row = compat::find(parts.next().unwrap_or_default())?;
    let params = parts.fold(Params::default(), |params, option| {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        params.with(name, value)
    });
    let servers = (1..=10).map(|i| Node::new(format!("10.0.0.{i}:11211")));
    let old = row.build(servers.clone(), &params)?;
    let new = Ring::new(servers)?;
    let moved = (0..KEYS).filter(|i| {
        let key = format!("user:{i}");
        old.route(key.as_bytes()) != new.route(key.as_bytes())
    });
    Ok(moved.count() as f64 / f64::from(KEYS))
}
