//! Maglev, 65,537 cells on both sides.

use hashroute::{KeyHash, Maglev, Router};
use maglev::{ConsistentHasher, Maglev as Peer};

use crate::limit::Limit;
use crate::measure::{self, Bench, NOBODY, Pair, id, name, node};
use crate::memory::usage;
use crate::ring::LIMIT;
use crate::row::Row;
use crate::setup;

const CELLS: usize = 65_537;
const ROUTE: [(usize, f64); 3] = [(10, 0.25), (100, 0.25), (1_000, 0.25)];
const BUILD: [(usize, f64); 3] = [(10, 0.5), (100, 0.1), (1_000, 0.02)];
const PEAK: f64 = 2e6;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let names = setup::names(10_000);
    let mut rows = Vec::new();
    for n in [10, 100, 1_000] {
        rows.extend(goals(bench, &names[..n]));
    }
    rows.extend(memory(&names[..1_000]));
    rows.extend(large(bench, &names));
    rows
}

fn ours(names: &[&str]) -> Maglev {
    Maglev::new(setup::nodes(names)).expect("a table takes these nodes")
}

fn theirs(names: &[&'static str]) -> Peer<&'static str> {
    Peer::with_capacity(names.iter().copied(), CELLS)
}

fn goals(bench: &Bench, names: &[&'static str]) -> Vec<Row> {
    let (n, router, peer) = (names.len(), ours(names), theirs(names));
    let route = |key: &str| node(&router, key);
    let by_peer = |key: &str| peer.get(key).map_or(NOBODY, |node| name(node));
    let row = |metric, pair| Row::new("maglev", n, metric, "maglev", pair);
    let build = measure::build(
        &(|| setup::nodes(names), Maglev::new),
        &(|| names.to_vec(), |names| Peer::with_capacity(names, CELLS)),
    );
    vec![
        row("route", bench.route(n, route, by_peer)).goals(&ROUTE),
        row("batch", bench.batch(n, &router, by_peer)),
        row("latency", bench.latency(n, route, by_peer)),
        limit(bench, &router).goals(&LIMIT),
        row("build", build).goals(&BUILD),
    ]
}

fn limit(bench: &Bench, router: &Maglev) -> Row {
    let (n, limit) = (router.nodes().len(), Limit::of(router));
    let read = |key: &str| limit.read(KeyHash::from_bytes(key.as_bytes()));
    let pair = bench.route(n, |key| id(router, key), read);
    Row::new("maglev", n, "route", "limit", pair)
}

fn memory(names: &[&'static str]) -> [Row; 2] {
    let (ours, peer) = (usage(|| ours(names)), usage(|| theirs(names)));
    let row =
        |metric, ours, peer| Row::new("maglev", names.len(), metric, "maglev", Pair { ours, peer });
    [
        row("heap", ours.live, peer.live),
        row("peak", ours.peak, peer.peak).own_goal(PEAK),
    ]
}

/// Where the peer would hold 10,000 permutations of 65,537 numbers.
fn large(bench: &Bench, names: &[&'static str]) -> [Row; 2] {
    let router = ours(names);
    let limit = limit(bench, &router);
    let alone = Row::alone("maglev", names.len(), "route", "maglev", limit.ours);
    [limit, alone.note("skipped: the peer would take 5 GB")]
}
