//! Measures the cost of change: reads of a shared router compared with reads of the plain router,
//! in one process and with the same keys; the swap of a ring for one with an additional node; the
//! diff of two rings.
//!
//! `cargo bench --features shared --bench change`. With `--test` each runs once, as a check.

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use hashroute::health::{Liveness, Policy};
use hashroute::shared::Shared;
use hashroute::{Change, Error, Node, NodeId, Ring, RouterExt, diff};

const KEYS: usize = 1 << 14;

fn ring(size: usize) -> Result<Ring, Error> {
    Ring::new((0..size).map(|i| Node::new(format!("node-{i}"))))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A named way to route keys.
type Way<'a> = (&'a str, Box<dyn FnMut(&[String]) + 'a>);

/// Routes all keys, from bytes to node.
fn each(keys: &[String], mut route: impl FnMut(&[u8]) -> Option<NodeId>) {
    for key in keys {
        black_box(route(black_box(key.as_bytes())));
    }
}

/// Measures one pass of each way. The ways take turns, so that a disturbance affects all of them.
/// Each is measured after a pass that warms its caches.
fn compare(ways: &mut [Way<'_>], keys: &[String], passes: usize) -> Vec<Duration> {
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..passes {
        for ((_, way), times) in ways.iter_mut().zip(&mut times) {
            way(keys);
            let start = Instant::now();
            way(keys);
            times.push(start.elapsed());
        }
    }
    times.into_iter().map(median).collect()
}

fn reads(size: usize, passes: usize) -> Result<(), Error> {
    let keys: Vec<_> = (0..KEYS).map(|i| format!("user:{i:011}")).collect();
    // One ring for all ways: two rings at different addresses differ by more than the effect that
    // is measured.
    let shared = Shared::new(Liveness::new(ring(size)?, Policy::default())?);
    let filter = shared.pin();
    let plain = filter.router();
    let mut reader = shared.reader();
    let mut ways: Vec<Way<'_>> = vec![
        ("plain", Box::new(|keys| each(keys, |key| plain.owner(key)))),
        (
            "reader",
            Box::new(|keys| {
                each(keys, |key| {
                    let now = reader.get().router();
                    now.owner(key)
                });
            }),
        ),
        (
            "pin",
            Box::new(|keys| {
                each(keys, |key| {
                    let now = shared.pin();
                    let now = now.router();
                    now.owner(key)
                });
            }),
        ),
        (
            "health",
            Box::new(|keys| each(keys, |key| filter.owner(key))),
        ),
    ];
    let times = compare(&mut ways, &keys, passes);
    for ((name, _), time) in ways.iter().zip(&times) {
        let per_key = time.as_secs_f64() * 1e9 / KEYS as f64;
        let ratio = time.as_secs_f64() / times[0].as_secs_f64();
        println!("ring of {size:5} nodes  {name:8} {per_key:7.1} ns a key  {ratio:5.2} x plain");
    }
    Ok(())
}

/// Measures a swap from call to return: the clone, the change, and the drop of the old version.
fn swaps(size: usize, passes: usize) -> Result<(), Error> {
    let shared = Shared::new(ring(size)?);
    let mut times = Vec::new();
    for i in 0..passes {
        let name = format!("one-more-{i}");
        for change in [Change::Add(Node::new(&*name)), Change::remove(&*name)] {
            let start = Instant::now();
            shared.update(&[change])?;
            times.push(start.elapsed());
        }
    }
    println!(
        "ring of {size:5} nodes  swap     {:7.1} us",
        median(times).as_secs_f64() * 1e6
    );
    Ok(())
}

/// Measures the diff of two rings of `size` nodes that differ in `joining` nodes.
fn diffs(size: usize, joining: usize, passes: usize) -> Result<(), Error> {
    let nodes = |first: usize| (first..first + size).map(|i| Node::new(format!("node-{i}")));
    let (old, new) = (Ring::new(nodes(0))?, Ring::new(nodes(joining))?);
    let mut times = Vec::new();
    let mut ranges = 0;
    for _ in 0..passes {
        let start = Instant::now();
        ranges = diff(&old, &new)?.ranges().len();
        times.push(start.elapsed());
    }
    println!(
        "ring of {size:5} nodes  diff     {:7.1} ms  {joining:4} others, {ranges} ranges move",
        median(times).as_secs_f64() * 1e3
    );
    Ok(())
}

fn main() -> Result<(), Error> {
    let passes = if std::env::args().any(|arg| arg == "--test") {
        1
    } else {
        201
    };
    for size in [100, 1_000] {
        reads(size, passes)?;
    }
    for size in [100, 1_000] {
        swaps(size, passes)?;
    }
    for joining in [1, 10, 1_000] {
        diffs(1_000, joining, passes.div_ceil(10))?;
    }
    Ok(())
}
