//! Rendezvous with the weights 1 to 4.

use hash_rings::weighted_rendezvous::Ring;
use hashroute::Rendezvous;
use hrw_hash::{HrwNode, HrwNodes};
use rendezvous_hash::{Capacity, RendezvousNodes, WeightedNode};

use crate::measure::{Bench, NOBODY, name, node};
use crate::row::Row;
use crate::setup::{self, SIZES};

const ROUTE: [(usize, f64); 3] = [(10, 0.10), (100, 0.05), (1_000, 0.03)];
const LARGE: [(usize, f64); 1] = [(10_000, 0.03)];

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let names = setup::names(10_000);
    let mut rows: Vec<_> = SIZES.map(|n| goal(bench, &names[..n])).into();
    for n in [100, 1_000] {
        rows.push(hrw_hash(bench, &names[..n]));
        rows.push(rendezvous_hash(bench, &names[..n]));
    }
    rows
}

/// hash-rings up to 1,000 nodes, hrw-hash above.
fn goal(bench: &Bench, names: &[&'static str]) -> Row {
    if names.len() > 1_000 {
        hrw_hash(bench, names).goals(&LARGE)
    } else {
        hash_rings(bench, names).goals(&ROUTE)
    }
}

fn against(
    bench: &Bench,
    names: &[&'static str],
    peer_name: &'static str,
    peer: impl Fn(&str) -> u64,
) -> Row {
    let n = names.len();
    let router = Rendezvous::new(setup::weighted_nodes(names)).expect("it takes these nodes");
    let pair = bench.route(n, |key| node(&router, key), peer);
    Row::new("weighted-rendezvous", n, "route", peer_name, pair)
}

fn hash_rings(bench: &Bench, names: &[&'static str]) -> Row {
    let mut ring = Ring::new();
    for (i, name) in names.iter().enumerate() {
        ring.insert_node(name, setup::weight(i).into());
    }
    against(bench, names, "hash-rings", |key| name(ring.get_node(&key)))
}

/// Hashed by its name alone, as a node is whose capacity may change.
#[derive(Debug, Eq)]
struct Weighted {
    name: &'static str,
    capacity: usize,
}

impl std::hash::Hash for Weighted {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl PartialEq for Weighted {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl HrwNode for Weighted {
    fn capacity(&self) -> usize {
        self.capacity
    }
}

fn hrw_hash(bench: &Bench, names: &[&'static str]) -> Row {
    let weighted = |(i, name): (usize, &&'static str)| Weighted {
        name,
        capacity: setup::weight(i) as usize,
    };
    let nodes = HrwNodes::new(names.iter().enumerate().map(weighted));
    against(bench, names, "hrw-hash", |key| {
        let mut sorted = nodes.sorted(&key);
        sorted.next().map_or(NOBODY, |node| name(node.name))
    })
}

fn rendezvous_hash(bench: &Bench, names: &[&'static str]) -> Row {
    let mut nodes = RendezvousNodes::default();
    for (i, name) in names.iter().enumerate() {
        let capacity = Capacity::new(setup::weight(i).into()).expect("a normal number");
        nodes.insert(WeightedNode::new(*name, capacity));
    }
    against(bench, names, "rendezvous_hash", |key| {
        let mut candidates = nodes.calc_candidates(&key);
        candidates.next().map_or(NOBODY, |node| name(node.node))
    })
}
