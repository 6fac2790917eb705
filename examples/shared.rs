//! Threads serve requests while nodes join, leave and fail.
//!
//! `cargo run --features shared --example shared`

use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use hashroute::health::{Liveness, Policy};
use hashroute::shared::Shared;
use hashroute::{Change, Node, Ring, Router, RouterExt};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let start = Instant::now();
    let nodes = (0..8).map(|i| Node::new(format!("cache-{i}")));
    let shared = Shared::new(Liveness::new(Ring::new(nodes)?, Policy::default())?);

    // A hook runs after each swap. This one counts the keys that moved.
    let (sender, news) = mpsc::channel();
    shared.subscribe(move |before, after| {
        let owner = |router: &Liveness<Ring>, i: &u32| {
            let node = router.route(format!("user:{i}").as_bytes());
            node.map(|node| node.name().to_owned())
        };
        let moved = (0..10_000).filter(|i| owner(before, i) != owner(after, i));
        let _ = sender.send((after.epoch(), moved.count()));
    });

    thread::scope(|scope| {
        for worker in 0..4 {
            let mut reader = shared.reader();
            scope.spawn(move || {
                for request in 0..100_000 {
                    // One version for the whole request, so that the id stays valid.
                    let now = reader.get();
                    let Some(id) = now.owner(format!("user:{worker}:{request}").as_bytes()) else {
                        return;
                    };
                    // In this example, one node does not answer.
                    if now.nodes().name(id) == Some("cache-3") {
                        now.failed(id, start.elapsed());
                    } else {
                        now.succeeded(id, start.elapsed());
                    }
                }
            });
        }
        // Both changes are one swap.
        shared.update(&[Change::Add(Node::new("cache-8")), Change::remove("cache-0")])
    })?;

    let (epoch, moved) = news.recv()?;
    println!("epoch {epoch}: {moved} of 10000 keys moved");
    let now = shared.pin();
    for (id, node) in now.nodes() {
        println!(
            "  {} {}",
            node.name(),
            if now.is_down(id) { "is down" } else { "is up" }
        );
    }
    assert!(now.nodes().id("cache-3").is_some_and(|id| now.is_down(id)));
    Ok(())
}
