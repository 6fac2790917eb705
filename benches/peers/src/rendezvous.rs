//! Rendezvous with equal weights.

use hash_rings::rendezvous::Ring;
use hashroute::{Rendezvous, Router};
use hrw::Rendezvous as Hrw;
use rendezvous_hash::RendezvousNodes;

use crate::measure::{self, Bench, NOBODY, Op, name, node};
use crate::row::Row;
use crate::setup::{self, SIZES};

const ROUTE: [(usize, f64); 3] = [(10, 0.15), (100, 0.10), (1_000, 0.06)];
const LARGE: [(usize, f64); 1] = [(10_000, 0.05)];

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let names = setup::names(10_000);
    let mut rows = Vec::new();
    for n in SIZES {
        rows.extend(goals(bench, &names[..n]));
    }
    for n in [100, 1_000] {
        rows.push(rendezvous_hash(bench, &names[..n]));
    }
    rows.extend(changes(&names[..1_000]));
    rows
}

fn ours(names: &[&str]) -> Rendezvous {
    Rendezvous::new(setup::nodes(names)).expect("rendezvous takes these nodes")
}

fn hash_rings<'a>(names: &'a [&'static str]) -> Ring<'a, &'static str> {
    let mut ring = Ring::new();
    for name in names {
        ring.insert_node(name, 1);
    }
    ring
}

/// hash-rings up to 1,000 nodes, hrw above.
fn goals(bench: &Bench, names: &[&'static str]) -> Vec<Row> {
    let (n, hrw) = (names.len(), Hrw::from_nodes(names.iter().copied()));
    let by_hrw = |key: &str| hrw.pick_top(&key).map_or(NOBODY, |node| name(node));
    if n > 1_000 {
        return three(bench, names, "hrw", by_hrw, &LARGE);
    }
    let ring = hash_rings(names);
    let mut rows = three(
        bench,
        names,
        "hash-rings",
        |key| name(ring.get_node(&key)),
        &ROUTE,
    );
    rows.push(against(bench, names, "hrw", by_hrw));
    rows
}

fn three(
    bench: &Bench,
    names: &[&'static str],
    peer_name: &'static str,
    peer: impl Fn(&str) -> u64 + Copy,
    goals: &[(usize, f64)],
) -> Vec<Row> {
    let (n, router) = (names.len(), ours(names));
    let row = |metric, pair| Row::new("rendezvous", n, metric, peer_name, pair);
    let route = |key: &str| node(&router, key);
    vec![
        row("route", bench.route(n, route, peer)).goals(goals),
        row("batch", bench.batch(n, &router, peer)),
        row("latency", bench.latency(n, route, peer)),
    ]
}

fn against(
    bench: &Bench,
    names: &[&'static str],
    peer_name: &'static str,
    peer: impl Fn(&str) -> u64,
) -> Row {
    let (n, router) = (names.len(), ours(names));
    let pair = bench.route(n, |key| node(&router, key), peer);
    Row::new("rendezvous", n, "route", peer_name, pair)
}

fn rendezvous_hash(bench: &Bench, names: &[&'static str]) -> Row {
    let mut nodes = RendezvousNodes::default();
    for name in names {
        nodes.insert(*name);
    }
    against(bench, names, "rendezvous_hash", |key| {
        let mut candidates = nodes.calc_candidates(&key);
        candidates.next().map_or(NOBODY, |node| name(node))
    })
}

fn changes(members: &[&'static str]) -> Vec<Row> {
    let (mut router, mut peer) = (ours(members), hash_rings(members));
    let changes = setup::changes(members);
    let mut change_ours = |op, node: usize| {
        let change = changes[node].of(op);
        router.apply(change).expect("it leaves and joins in turn");
    };
    let mut change_theirs = |op, node: usize| match op {
        Op::Add => peer.insert_node(&members[node], 1),
        Op::Remove => peer.remove_node(&members[node]),
    };
    let n = members.len();
    let mut row = |metric, timed| {
        let pair = measure::change(n, timed, &mut change_ours, &mut change_theirs);
        Row::new("rendezvous", n, metric, "hash-rings", pair)
    };
    vec![row("add", Op::Add), row("remove", Op::Remove)]
}
