//! Chooses a strategy: rules out those that the cluster cannot use, then measures the others on the
//! keys.
//!
//! `cargo run --release -p hashroute-harness --example choosing`

use hashroute::registry::{Agree, Leave, Weights};
use hashroute::strategy::{ALL, Params};
use hashroute::{Change, Error, Node};
use hashroute_harness::{Contest, Keys, compare};

fn main() -> Result<(), Error> {
    // The cluster has nodes of two sizes, and any node may fail. Clients learn of changes in any
    // order, so they must agree as soon as they know the same set of nodes.
    let fits = ALL.iter().filter(|strategy| {
        strategy
            .caps()
            .is_some_and(|caps| caps.weights == Weights::Any)
            && strategy.caps().is_some_and(|caps| caps.leave == Leave::Any)
            && strategy.agree() == Agree::Set
    });
    let strategies: Vec<_> = fits.map(|strategy| (strategy, Params::default())).collect();

    let keys = Keys::template("session:{i}", 0..200_000)?;
    let nodes = (0..12).map(|i| Node::new(format!("node-{i:02}")).with_weight(1 + i % 2));
    let comparison = compare(
        &Contest::new(&keys)
            .with_nodes(nodes.collect::<Vec<_>>())
            .with_add([Change::Add(Node::new("node-12").with_weight(2))])
            .with_remove([Change::remove("node-03")])
            .with_schemes(strategies),
        &mut |_, _| {},
    );

    println!("strategy     cv (chance)       moved / ideal    excess   ns a key   bytes");
    for row in &comparison.rows {
        let (Some(balance), Some(remove)) = (&row.balance, &row.remove) else {
            continue;
        };
        println!(
            "{:<12} {:.4} ({:.4})   {:>6.3}           {:>5.2}%   {:>6.1}   {:>7}",
            row.strategy,
            balance.figures.cv,
            balance.figures.noise.cv,
            remove.moved_share / remove.ideal_share,
            100.0 * remove.excess_share,
            row.route_ns.unwrap_or_default(),
            row.heap_bytes.unwrap_or_default(),
        );
    }
    println!(
        "\nmodulo moves nearly all keys. Choose among the others by what the cluster can accept:"
    );
    println!(
        "the ring's shares vary, rendezvous looks at every node, and Maglev makes a few excess moves."
    );
    Ok(())
}
