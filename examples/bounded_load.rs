//! One key gets far more requests than the others. Bounded load keeps its owner from overload.
//!
//! `cargo run --example bounded_load`

use std::thread;

use hashroute::{BoundedLoad, Error, Loads, Node, Ring, Router};

fn main() -> Result<(), Error> {
    let nodes = (0..8).map(|i| Node::new(format!("worker-{i}")));
    let router = BoundedLoad::new(Ring::new(nodes)?, 1.25)?;

    // Four threads with 1,000 requests in flight each. Half of the requests are for one key.
    let serve = |thread: usize| {
        let request = |i: usize| {
            if i % 2 == 0 {
                "hot".into()
            } else {
                format!("user:{thread}:{i}")
            }
        };
        let leases = (0..1000).filter_map(|i| router.acquire(request(i).as_bytes()));
        leases.collect::<Vec<_>>()
    };
    let leases: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| scope.spawn(move || serve(thread)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect()
    });

    println!(
        "{} requests in flight; a fair share is {}",
        leases.len(),
        leases.len() / 8
    );
    for (id, node) in router.nodes() {
        println!("  {}: {}", node.name(), router.load(id));
        assert!(router.load(id) <= 625); // ceil(1.25 * 4000 / 8)
    }

    // A lease borrows nothing: keep it with the request, and release it in any thread.
    for lease in leases {
        router.release(lease);
    }
    assert_eq!(router.total_load(), 0);
    Ok(())
}
