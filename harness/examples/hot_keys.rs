//! Shares the hottest keys between several nodes, and shows how much the load of the busiest node
//! drops.
//!
//! `cargo run --release -p hashroute-harness --example hot_keys`

use hashroute::hot::{HeavyHitters, HotKeys};
use hashroute::{Error, Node, Rendezvous, Router};
use hashroute_harness::{Keys, assign};

const NODES: u32 = 20;
const REQUESTS: usize = 200_000;

fn main() -> Result<(), Error> {
    let nodes = || (0..NODES).map(|i| Node::new(format!("cache-{i:02}")));
    // Learn from yesterday's requests and serve today's. Many caches have this skew.
    let yesterday = Keys::zipf(1, REQUESTS, 100_000, 1.1)?;
    let today = Keys::zipf(2, REQUESTS, 100_000, 1.1)?;

    let plain = Rendezvous::new(nodes())?;
    let mut hitters = HeavyHitters::new(2000)?;
    for key in &yesterday {
        if let Some(hash) = plain.hash_key(key) {
            hitters.feed(hash, 1);
        }
    }
    let first: u64 = hitters.top(1).iter().map(|(_, count)| count).sum();
    println!(
        "the hottest key has {:.1}% of {REQUESTS} requests; the busiest of {NODES} nodes over the mean:\n",
        100.0 * first as f64 / hitters.total() as f64
    );
    println!("hot from    hot keys    copies    busiest / mean");
    println!(
        "{:>8}    {:>8}    {:>6}    {:>14.2}",
        "-",
        0,
        1,
        busiest(&plain, &today)
    );
    for (share, copies) in [(0.01, 2), (0.01, 4), (0.01, 8), (0.002, 4), (0.002, 8)] {
        let mut router = HotKeys::new(Rendezvous::new(nodes())?, copies, share)?;
        router.set_hot(router.due(&hitters)?)?;
        println!(
            "{:>7.1}%    {:>8}    {copies:>6}    {:>14.2}",
            100.0 * share,
            router.hot().len(),
            busiest(&router, &today)
        );
    }
    println!("\nall other keys keep their owner; a write of a hot key goes to all its copies");
    Ok(())
}

/// Returns the requests of the busiest node over the mean.
fn busiest(router: &dyn Router, requests: &Keys) -> f64 {
    let mut loads = vec![0_u32; router.nodes().id_bound()];
    for key in requests {
        if let Some(id) = assign(router, key) {
            loads[id.index()] += 1;
        }
    }
    let most = loads.iter().copied().max().unwrap_or(0);
    f64::from(most) * router.nodes().len() as f64 / requests.len() as f64
}
