//! Checks the harness against what is known in other ways: arithmetic, simulation, planted faults.
#![expect(clippy::float_cmp, reason = "figures that are exact by arithmetic")]

mod dumps;
mod figures;
mod forged;
mod inputs;
mod kinds;
mod moves;
mod reports;
mod skew;
mod skew_work;
mod stream;
mod verdicts;

use hashroute::hash::mix64;
use hashroute::{Node, Router};
use hashroute_harness::{Assignment, Balance, Keys, balance};

/// Returns nodes `n0`, `n1` ... of weight 1.
fn nodes(count: usize) -> Vec<Node> {
    (0..count).map(|i| Node::new(format!("n{i}"))).collect()
}

fn balance_of(router: &dyn Router, keys: &Keys) -> Balance {
    balance("test", router, keys, &Assignment::of(router, keys))
}

/// Returns random numbers from another generator than the harness uses.
fn draws(seed: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |i: u64| mix64(mix64(seed) ^ mix64(i.wrapping_add(0x9e37_79b9_7f4a_7c15))))
}
