//! The ring, 160 points a node on all sides.

mod changes;

use consistent_hash_ring::RingBuilder;
use hashring::HashRing;
use hashroute::{KeyHash, Ring, Router, RouterExt, Spread};
use mpchash::HashRing as MultiProbe;
use pingora_ketama::{Bucket, Continuum};

use crate::limit::Limit;
use crate::measure::{Bench, NOBODY, Pair, id, name, node};
use crate::row::Row;
use crate::setup::{self, SIZES};

const ROUTE: [(usize, f64); 4] = [(10, 0.30), (100, 0.25), (1_000, 0.25), (10_000, 0.35)];
const BATCH: [(usize, f64); 4] = [(10, 0.25), (100, 0.20), (1_000, 0.20), (10_000, 0.25)];
const REPLICAS: f64 = 1.5;
pub(crate) const LIMIT: [(usize, f64); 3] = [(10, 2.0), (100, 2.0), (1_000, 2.0)];
/// Half the time of one reader, and a tenth for what else runs on the machine.
const THREADS: f64 = 0.55;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let names = setup::names(100_000);
    let mut rows = Vec::new();
    for n in SIZES {
        rows.extend(goals(bench, &names[..n]));
    }
    if !bench.is_quick() {
        rows.push(large(bench, &names));
    }
    for n in [10, 100, 1_000] {
        rows.extend(others(bench, &names[..n]));
    }
    rows.extend(changes::rows(&names));
    rows
}

fn ours(names: &[&str]) -> Ring {
    Ring::new(setup::nodes(names)).expect("a ring takes these nodes")
}

fn pingora(n: usize) -> Continuum {
    Continuum::new(&buckets(n))
}

fn buckets(n: usize) -> Vec<Bucket> {
    (0..n).map(|i| Bucket::new(setup::address(i), 1)).collect()
}

#[inline]
fn pingora_node(ring: &Continuum, key: &str) -> u64 {
    ring.node(key.as_bytes()).map_or(NOBODY, |address| {
        // As of an address of ours: what tells it from the others.
        match address {
            std::net::SocketAddr::V4(address) => u64::from(address.ip().to_bits()),
            std::net::SocketAddr::V6(_) => NOBODY,
        }
    })
}

fn goals(bench: &Bench, names: &[&'static str]) -> Vec<Row> {
    let n = names.len();
    let (ring, peer) = (ours(names), pingora(n));
    let (route, theirs) = (
        |key: &str| node(&ring, key),
        |key: &str| pingora_node(&peer, key),
    );
    let row = |metric, pair| Row::new("ring", n, metric, "pingora-ketama", pair);
    let mut rows = vec![
        row("route", bench.route(n, route, theirs)).goals(&ROUTE),
        row("route", bench.route(n, |key| id(&ring, key), theirs)).note("ours gives an id"),
        row("batch", bench.batch(n, &ring, theirs)).goals(&BATCH),
        row("latency", bench.latency(n, route, theirs)),
        limit(bench, &ring),
        replicas(bench, &ring),
    ];
    if n == 1_000 {
        let [wall, cpu] = bench.threads(n, route);
        let row = |pair| Row::new("ring", n, "threads", "one thread", pair);
        rows.push(row(wall).goal(THREADS).note("two readers, by the wall"));
        rows.push(row(cpu).note("two readers, without their waits for a core"));
    }
    rows
}

fn limit(bench: &Bench, ring: &Ring) -> Row {
    let (n, limit) = (ring.nodes().len(), Limit::of(ring));
    let read = |key: &str| limit.read(KeyHash::from_bytes(key.as_bytes()));
    let pair = bench.route(n, |key| id(ring, key), read);
    Row::new("ring", n, "route", "limit", pair).goals(&LIMIT)
}

/// Three distinct nodes, against three times one route.
fn replicas(bench: &Bench, ring: &Ring) -> Row {
    let n = ring.nodes().len();
    let list = |key: &str| {
        // The owner tells the node; the others are read so that they must be there.
        match *ring.replicas(key.as_bytes(), 3, Spread::Nodes) {
            [owner, second, third] => {
                std::hint::black_box((second, third));
                owner.index() as u64
            }
            _ => NOBODY,
        }
    };
    let pair = bench.route(n, list, |key| id(ring, key));
    let pair = Pair {
        peer: 3.0 * pair.peer,
        ..pair
    };
    Row::new("ring", n, "replicas", "3 x our route", pair).goal(REPLICAS)
}

fn large(bench: &Bench, names: &[&'static str]) -> Row {
    let n = names.len();
    let (ring, peer) = (ours(names), pingora(n));
    let pair = bench.route(n, |key| node(&ring, key), |key| pingora_node(&peer, key));
    Row::new("ring", n, "route", "pingora-ketama", pair)
        .note("the peer's index has 16 bits: it knows 65,536 of them")
}

fn others(bench: &Bench, names: &[&'static str]) -> Vec<Row> {
    let mut rows = vec![
        hashring(bench, names),
        hash_rings(bench, names),
        mpchash(bench, names),
    ];
    // It moves half the ring for every point that it adds: seconds for a thousand nodes.
    if names.len() < 1_000 || !bench.is_quick() {
        rows.push(consistent_hash_ring(bench, names));
    }
    rows
}

fn against(
    bench: &Bench,
    names: &[&'static str],
    peer_name: &'static str,
    peer: impl Fn(&str) -> u64,
) -> Row {
    let (n, ring) = (names.len(), ours(names));
    let pair = bench.route(n, |key| node(&ring, key), peer);
    Row::new("ring", n, "route", peer_name, pair)
}

/// The caller makes the virtual nodes.
#[derive(Clone, Debug, Hash, PartialEq)]
struct Vnode {
    name: &'static str,
    index: u32,
}

fn hashring(bench: &Bench, names: &[&'static str]) -> Row {
    let mut ring: HashRing<Vnode> = HashRing::new();
    let vnodes = names
        .iter()
        .flat_map(|name| (0..Ring::DEFAULT_POINTS).map(move |index| Vnode { name, index }));
    ring.batch_add(vnodes.collect());
    against(bench, names, "hashring", |key| {
        ring.get(&key).map_or(NOBODY, |vnode| name(vnode.name))
    })
}

fn consistent_hash_ring(bench: &Bench, names: &[&'static str]) -> Row {
    let ring = RingBuilder::default()
        .vnodes(Ring::DEFAULT_POINTS as usize)
        .nodes(names)
        .build();
    against(bench, names, "consistent_hash_ring", |key| {
        ring.try_get(key).map_or(NOBODY, |node| name(node))
    })
}

fn hash_rings(bench: &Bench, names: &[&'static str]) -> Row {
    let ring = changes::hash_rings(names);
    against(bench, names, "hash-rings", |key| name(ring.get_node(&key)))
}

fn mpchash(bench: &Bench, names: &[&'static str]) -> Row {
    let ring = MultiProbe::new();
    for name in names {
        ring.add(*name);
    }
    against(bench, names, "mpchash", |key| {
        ring.node(&key).map_or(NOBODY, |token| name(token.node()))
    })
    .note("multi-probe: 23 probes, no virtual nodes")
}
