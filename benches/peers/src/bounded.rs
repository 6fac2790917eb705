//! Bounded load over the ring, against the ring alone: no peer has it.

use hashroute::{BoundedLoad, Loads, Ring};

use crate::measure::{Bench, NOBODY, id};
use crate::row::Row;
use crate::setup::{self, SIZES};

const GOAL: f64 = 5.0;
/// Leases a node that are held all the time, so that some nodes are full.
const HELD: usize = 10;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let names = setup::names(10_000);
    let rows = SIZES.map(|n| {
        let idle = acquire(bench, &names[..n], 0).note("idle");
        let loaded = acquire(bench, &names[..n], HELD).note("10 leases a node are held");
        [idle, loaded]
    });
    rows.into_iter().flatten().collect()
}

fn acquire(bench: &Bench, names: &[&'static str], held: usize) -> Row {
    let n = names.len();
    let ring = Ring::new(setup::nodes(names)).expect("a ring takes these nodes");
    let bounded = BoundedLoad::new(ring, BoundedLoad::DEFAULT_FACTOR).expect("the usual factor");
    for key in setup::names(held * n) {
        let lease = bounded.acquire(key.as_bytes());
        assert!(lease.is_some(), "there is no absolute limit");
    }
    let there_and_back = |key: &str| {
        let lease = bounded.acquire(key.as_bytes());
        lease.map_or(NOBODY, |lease| {
            let node = lease.node().index() as u64;
            if bounded.release(lease) { node } else { NOBODY }
        })
    };
    // Nodes that are full take no key at all.
    let pair = bench.route(usize::MAX, there_and_back, |key| id(bounded.router(), key));
    Row::new("bounded", n, "acquire", "our ring's route", pair).goal(GOAL)
}
