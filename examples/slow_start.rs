//! A cold cache joins (slow start) and an old one is drained, each by a ramp with one step a
//! minute.
//!
//! `cargo run --example slow_start`

use core::time::Duration;

use hashroute::{Change, Error, KeyHash, Node, Ramp, Ring, Router};

fn main() -> Result<(), Error> {
    // A weight of 100 allows small steps. With 2 points per unit of weight a node has 200 points.
    let warm = ["a", "b", "c", "old"].map(|name| Node::new(name).with_weight(100));
    let mut ring = Ring::with_points(warm, 2)?;
    ring.apply(&Change::Add(Node::new("cold").with_weight(0)))?;

    let minutes = |n: u64| Duration::from_secs(60 * n);
    let mut ramps = vec![
        Ramp::slow_start("cold", 0, 100, minutes(0)..minutes(10), 10)?,
        Ramp::linear("old", 100, 0, minutes(10)..minutes(15), 5)?,
    ];

    let keys: Vec<_> = (0..100_000).map(KeyHash::from_integer).collect();
    let mut owners = vec![None; keys.len()];
    ring.route_batch(&keys, &mut owners);
    println!("minute   cold    old   moved in %   between other nodes");
    // The process is down from minute 4 to minute 6. One change then makes up for the missed steps.
    for now in (0..=16).filter(|minute| !(4..7).contains(minute)) {
        for ramp in &ramps {
            if let Some(change) = ramp.due(minutes(now), ring.nodes())? {
                ring.apply(&change)?;
            }
        }
        // A ramp that is over would undo later changes of the weight by an operator.
        ramps.retain(|ramp| !ramp.is_over(minutes(now), ring.nodes()));
        let before = owners.clone();
        ring.route_batch(&keys, &mut owners);
        let moved = || before.iter().zip(&owners).filter(|(old, new)| old != new);
        let [cold, old] = ["cold", "old"].map(|name| ring.nodes().id(name));
        let astray = moved().filter(|(from, to)| **to != cold && **from != old);
        let weight = |id: Option<_>| id.and_then(|id| ring.nodes().weight(id)).unwrap_or(0);
        println!(
            "{now:>6}   {:>4}   {:>4}   {:>10.2}   {:>19}",
            weight(cold),
            weight(old),
            100.0 * moved().count() as f64 / keys.len() as f64,
            astray.count()
        );
    }
    ring.apply(&Change::remove("old")) // it owns nothing any more
}
