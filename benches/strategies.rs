//! Measures every strategy of the registry: route, batch, build, change and diff. The sizes are
//! round numbers, powers of two and their neighbours, because some algorithms are faster at powers
//! of two.
//!
//! `cargo bench`, or `cargo bench -- 'ring/route'` for one part.

#![expect(missing_docs, reason = "criterion's macro writes a public function")]

use core::hint::black_box;
use core::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hashroute::registry::Scheme;
use hashroute::strategy::{self, Params};
use hashroute::{Change, KeyHash, Node, Router, RouterExt};

const SIZES: [usize; 7] = [10, 100, 1_000, 1_023, 1_024, 1_025, 10_000];
const KEYS: usize = 1 << 14;

fn router(strategy: &Scheme, size: usize) -> Box<dyn Router> {
    strategy
        .build(nodes(size), &Params::default())
        .expect("every strategy accepts equal weights")
}

fn nodes(size: usize) -> impl Iterator<Item = Node> {
    (0..size).map(|i| Node::new(format!("node-{i}")))
}

fn route(c: &mut Criterion) {
    let keys: Vec<String> = (0..KEYS).map(|i| format!("user:{i:011}")).collect();
    for strategy in strategy::ALL {
        let mut group = c.benchmark_group(format!("{}/route", strategy.name));
        group.throughput(Throughput::Elements(1));
        for size in SIZES {
            let router = router(strategy, size);
            let mut turn = keys.iter().cycle();
            group.bench_function(BenchmarkId::from_parameter(size), |b| {
                b.iter(|| {
                    let key = turn.next().map_or("", String::as_str);
                    router.owner(black_box(key.as_bytes()))
                });
            });
        }
    }
}

fn batch(c: &mut Criterion) {
    let keys: Vec<_> = (0..KEYS as u64).map(KeyHash::from_integer).collect();
    let mut owners = vec![None; KEYS];
    for strategy in strategy::ALL {
        let mut group = c.benchmark_group(format!("{}/batch", strategy.name));
        group.throughput(Throughput::Elements(KEYS as u64));
        for size in SIZES {
            let router = router(strategy, size);
            group.bench_function(BenchmarkId::from_parameter(size), |b| {
                b.iter(|| router.route_batch(black_box(&keys), black_box(&mut owners)));
            });
        }
    }
}

fn build(c: &mut Criterion) {
    for strategy in strategy::ALL {
        let mut group = c.benchmark_group(format!("{}/build", strategy.name));
        for size in SIZES {
            group.bench_function(BenchmarkId::from_parameter(size), |b| {
                b.iter_batched(
                    || nodes(size).collect::<Vec<_>>(),
                    |nodes| strategy.build(nodes, &Params::default()),
                    BatchSize::LargeInput,
                );
            });
        }
    }
}

fn change(c: &mut Criterion) {
    let add = Change::Add(Node::new("one-more"));
    let remove = Change::remove("one-more");
    for strategy in strategy::ALL {
        let mut group = c.benchmark_group(format!("{}/change", strategy.name));
        for size in SIZES {
            let mut router = router(strategy, size);
            group.bench_function(BenchmarkId::from_parameter(size), |b| {
                b.iter(|| {
                    router
                        .apply(black_box(&add))
                        .and_then(|()| router.apply(black_box(&remove)))
                });
            });
        }
    }
}

/// Measures the diff for a node that joins: exact by ranges, or else from a sample.
fn diff(c: &mut Criterion) {
    for strategy in strategy::ALL {
        let mut group = c.benchmark_group(format!("{}/diff", strategy.name));
        let size = 1_000;
        let (old, mut new) = (router(strategy, size), router(strategy, size));
        new.apply(&Change::Add(Node::new("one-more")))
            .expect("every strategy accepts one more node");
        group.bench_function(BenchmarkId::from_parameter(size), |b| {
            b.iter(|| hashroute::diff(black_box(&*old), black_box(&*new)));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400));
    targets = route, batch, build, change, diff
}
criterion_main!(benches);
