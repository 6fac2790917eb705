//! Jump hash and its constant-time cousins. All give a number of a bucket.

use fliphash::fliphash_64;
use hashroute::{Jump, KeyHash};
use jump_back_hash::bucket;
use jump_consistent_hash::hash as jump;
use jumphash::JumpHasher;
use rand_core::{Error, RngCore};
use xxhash_rust::xxh3::xxh3_64;

use crate::measure::{Bench, id};
use crate::row::Row;
use crate::setup::{self, SIZES};

const MILLION: usize = 1_000_000;
const ROUTE: [(usize, f64); 4] = [(10, 1.0), (100, 1.0), (1_000, 1.0), (10_000, 1.0)];
const BATCH: [(usize, f64); 4] = [(10, 0.35), (100, 0.30), (1_000, 0.30), (10_000, 0.30)];
/// Powers of two flatter some: their neighbours do not.
const OTHERS: [usize; 6] = [10, 100, 1_000, 1_023, 1_024, 1_025];

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let names = setup::names(if bench.is_quick() { 10_000 } else { MILLION });
    let sizes = SIZES.into_iter().chain([MILLION]);
    let mut rows = Vec::new();
    for n in sizes.filter(|n| *n <= names.len()) {
        rows.extend(goals(bench, &names[..n]));
    }
    for n in OTHERS.into_iter().chain([10_000, MILLION]) {
        if n <= names.len() {
            rows.extend(others(bench, &names[..n]));
        }
    }
    rows
}

fn ours(names: &[&str]) -> Jump {
    Jump::new(setup::nodes(names)).expect("jump takes these nodes")
}

fn buckets(n: usize) -> u32 {
    u32::try_from(n).expect("a million at most")
}

fn goals(bench: &Bench, names: &[&'static str]) -> Vec<Row> {
    let (n, router) = (names.len(), ours(names));
    let route = |key: &str| id(&router, key);
    let theirs = |key: &str| u64::from(jump(xxh3_64(key.as_bytes()), n));
    let row = |metric, pair| Row::new("jump", n, metric, "jump-consistent-hash", pair);
    vec![
        row("route", bench.same(n, route, theirs)).goals(&ROUTE),
        row("batch", bench.batch(n, &router, theirs)).goals(&BATCH),
        row("latency", bench.latency(n, route, theirs)),
        limit(bench, &router, n),
    ]
}

/// There is no table to read: the hash, spread over the buckets as modulo does.
fn limit(bench: &Bench, router: &Jump, n: usize) -> Row {
    let read = |key: &str| {
        let hash = KeyHash::from_bytes(key.as_bytes()).get();
        u64::try_from((u128::from(hash) * n as u128) >> 64).unwrap_or_default()
    };
    let pair = bench.route(n, |key| id(router, key), read);
    Row::new("jump", n, "route", "limit", pair).note("the hash and a multiplication")
}

fn others(bench: &Bench, names: &[&'static str]) -> Vec<Row> {
    let (n, router) = (names.len(), ours(names));
    let (last, count) = (n as u64 - 1, buckets(n));
    let flip = |key: &str| fliphash_64(xxh3_64(key.as_bytes()), ..=last);
    let back = |key: &str| bucket(&mut SplitMix64(xxh3_64(key.as_bytes())), count).into();
    let hasher = JumpHasher::new();
    let jump = |key: &str| hasher.slot(&key, count).into();
    let route = |key: &str| id(&router, key);
    let row = |peer, pair| Row::new("jump", n, "route", peer, pair);
    vec![
        row("jumphash", bench.route(n, route, jump)),
        row("jump-back-hash", bench.route(n, route, back)),
        row("fliphash", bench.route(n, route, flip)),
    ]
}

/// The generator of a caller who has a hash and no other: jump-back-hash leaves the choice.
struct SplitMix64(u64);

impl RngCore for SplitMix64 {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        let next = KeyHash::from_integer(self.0).get();
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        next
    }

    fn fill_bytes(&mut self, dest: &mut [u8]) {
        for chunk in dest.chunks_mut(8) {
            let bytes = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }

    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
        self.fill_bytes(dest);
        Ok(())
    }
}
