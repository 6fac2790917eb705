//! How many keys move when a real system's routes are given up for a ring of the same nodes.
//!
//! `cargo run --release --features compat --example leaving [DIALECT ...]`

use hashroute::compat::{self, Dialect};
use hashroute::strategy::Params;
use hashroute::{Error, KeyHash, Node, Ring, Router};

const NODES: u32 = 10;
const KEYS: u64 = 100_000;

fn main() -> Result<(), Error> {
    let names: Vec<_> = std::env::args().skip(1).collect();
    let dialects: Vec<_> = match names.as_slice() {
        [] => compat::ALL.iter().collect(),
        names => names
            .iter()
            .map(|name| compat::find(name))
            .collect::<Result<_, _>>()?,
    };
    println!("{KEYS} keys, {NODES} nodes of weight 1");
    for dialect in dialects {
        println!(
            "{:<24} {:>5.1} % move",
            dialect.name,
            100.0 * moved(dialect)?
        );
    }
    Ok(())
}

/// The share of keys whose node on the ring is another.
fn moved(dialect: &Dialect) -> Result<f64, Error> {
    // Hosts of their own, since Traffic Server does not see ports.
    let nodes = || (0..NODES).map(|i| Node::new(format!("10.0.0.{i}:8080")));
    let pool = dialect.build(nodes(), &Params::default())?;
    let ring = Ring::new(nodes())?;
    // Decimal numbers, as some dialects take no other keys.
    let keys = (0..KEYS).map(|key| KeyHash::from_integer(key).get().to_string());
    let moves = keys.filter(|key| {
        let names =
            [&pool as &dyn Router, &ring].map(|of| of.route(key.as_bytes()).map(Node::name));
        names[0] != names[1]
    });
    Ok(moves.count() as f64 / KEYS as f64)
}
