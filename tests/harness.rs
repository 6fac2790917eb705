//! The harness against what is known by other ways: arithmetic, simulation, planted faults.
#![cfg(feature = "harness")]
#![expect(clippy::float_cmp, reason = "figures that are exact by arithmetic")]

#[path = "harness/dumps.rs"]
mod dumps;
#[path = "harness/figures.rs"]
mod figures;
#[path = "harness/inputs.rs"]
mod inputs;
#[path = "harness/moves.rs"]
mod moves;
#[path = "harness/reports.rs"]
mod reports;
#[path = "harness/skew.rs"]
mod skew;
#[path = "harness/stream.rs"]
mod stream;
#[path = "harness/verdicts.rs"]
mod verdicts;

use hashroute::harness::{Assignment, Balance, Keys, balance};
use hashroute::hash::mix64;
use hashroute::{Node, Router};

/// `n0`, `n1` … of weight 1.
fn nodes(count: usize) -> Vec<Node> {
    (0..count).map(|i| Node::new(format!("n{i}"))).collect()
}

fn balance_of(router: &dyn Router, keys: &Keys) -> Balance {
    balance("test", router, keys, &Assignment::of(router, keys))
}

/// Fair numbers that owe nothing to the harness's own generator.
fn draws(seed: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |i: u64| mix64(mix64(seed) ^ mix64(i.wrapping_add(0x9e37_79b9_7f4a_7c15))))
}
