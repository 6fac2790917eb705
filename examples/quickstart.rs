//! The first five minutes: build a router, route keys, change the nodes.
//!
//! `cargo run --example quickstart`

use hashroute::{Change, Error, Node, Ring, Router};

fn main() -> Result<(), Error> {
    let mut ring = Ring::new([
        Node::new("cache-a"),
        Node::new("cache-b"),
        Node::new("cache-c").with_weight(2), // twice the keys
    ])?;

    let keys: Vec<String> = (0..100_000).map(|i| format!("user:{i}")).collect();
    let owners = |ring: &Ring| -> Vec<String> {
        let owner = |key: &String| ring.route(key.as_bytes()).map_or("", Node::name).to_owned();
        keys.iter().map(owner).collect()
    };
    let before = owners(&ring);
    println!("{} is on {}", keys[42], before[42]);

    ring.apply(&Change::Add(Node::new("cache-d")))?;
    let after = owners(&ring);
    let moved: Vec<_> = before
        .iter()
        .zip(&after)
        .filter(|(old, new)| old != new)
        .collect();
    println!(
        "cache-d took {:.1} % of the keys; its weight is 1 of 5",
        100.0 * moved.len() as f64 / keys.len() as f64
    );
    assert!(
        moved.iter().all(|(_, new)| *new == "cache-d"),
        "nothing else moved"
    );

    // A change that fails says why, and changes nothing.
    let error = ring.apply(&Change::Add(Node::new("cache-d"))).unwrap_err();
    println!("{error}");
    assert_eq!(owners(&ring), after);
    Ok(())
}
