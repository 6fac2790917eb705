//! Hash slots: Redis Cluster's, and with our default hash.

use anchorhash::Builder;
use hashroute::{HashSlots, KeyHash, KeyHasher};
use resp_rs::cluster::hash_slot;

use crate::limit::Limit;
use crate::measure::{Bench, NOBODY, id, name, node};
use crate::ring::LIMIT;
use crate::row::Row;
use crate::setup::{self, SIZES};

const ROUTE: [(usize, f64); 4] = [(10, 0.5), (100, 0.5), (1_000, 0.5), (10_000, 0.5)];

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let names = setup::names(10_000);
    let mut rows = Vec::new();
    for n in SIZES {
        rows.extend(redis(bench, &names[..n]));
        rows.push(by_default(bench, &names[..n]));
        rows.push(anchorhash(bench, &names[..n]));
    }
    rows.push(tagged(bench, &names[..1_000]));
    rows
}

fn ours(names: &[&str]) -> HashSlots {
    HashSlots::new(setup::nodes(names)).expect("a table takes these nodes")
}

fn ours_for_redis(names: &[&str]) -> HashSlots {
    ours(names).with_hasher(KeyHasher::REDIS)
}

/// The caller of resp-rs keeps the table of owners; ours has the same.
fn owners(table: &HashSlots) -> Vec<u16> {
    let owner = |slot| table.owner(slot).map(hashroute::NodeId::index);
    let owners = (0..HashSlots::DEFAULT_SLOTS).map(|slot| owner(slot).expect("it has an owner"));
    owners
        .map(|owner| u16::try_from(owner).expect("10,000 nodes at most"))
        .collect()
}

fn redis(bench: &Bench, names: &[&'static str]) -> Vec<Row> {
    let (n, table) = (names.len(), ours_for_redis(names));
    let (owners, limit) = (owners(&table), Limit::of(&table));
    let route = |key: &str| id(&table, key);
    let theirs = |key: &str| u64::from(owners[usize::from(hash_slot(key.as_bytes()))]);
    let read = |key: &str| limit.slot(KeyHasher::REDIS.raw(key.as_bytes()));
    let row = |metric, peer, pair| Row::new("slots", n, metric, peer, pair);
    vec![
        row("route", "resp-rs", bench.same(n, route, theirs)).goals(&ROUTE),
        row("batch", "resp-rs", bench.batch(n, &table, theirs)),
        row("latency", "resp-rs", bench.latency(n, route, theirs)),
        row("route", "limit", bench.route(n, route, read)).goals(&LIMIT),
    ]
}

fn tagged(bench: &Bench, names: &[&'static str]) -> Row {
    let (n, table) = (names.len(), ours_for_redis(names));
    let owners = owners(&table);
    let theirs = |key: &str| u64::from(owners[usize::from(hash_slot(key.as_bytes()))]);
    let bench = bench.with_keys(setup::tagged_keys());
    let pair = bench.same(n, |key| id(&table, key), theirs);
    Row::new("slots", n, "route", "resp-rs", pair).note("every key has a tag")
}

fn by_default(bench: &Bench, names: &[&'static str]) -> Row {
    let (n, table) = (names.len(), ours(names));
    let limit = Limit::of(&table);
    let read = |key: &str| limit.slot(KeyHash::from_bytes(key.as_bytes()));
    let pair = bench.route(n, |key| id(&table, key), read);
    Row::new("slots", n, "route", "limit", pair)
        .goals(&LIMIT)
        .note("with XXH3, our default")
}

/// No strategy of ours is an anchor; slots are nearest: one read, and any node may leave.
fn anchorhash(bench: &Bench, names: &[&'static str]) -> Row {
    let (n, table) = (names.len(), ours(names));
    let capacity = u16::try_from(2 * n).expect("10,000 nodes at most");
    let anchor = Builder::default()
        .with_resources(names.iter().copied())
        .build(capacity);
    let theirs = |key: &str| anchor.get_resource(key).map_or(NOBODY, |node| name(node));
    let pair = bench.route(n, |key| node(&table, key), theirs);
    Row::new("slots", n, "route", "anchorhash", pair).note("XXH3 against an anchor")
}
