//! The cost of a strategy: time and memory. These are the only figures of the harness that differ
//! from run to run.

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::keys::Keys;
use crate::summary::ratio;
use hashroute::registry::{Params, Scheme};
use hashroute::{Change, Error, KeyHash, Node, NodeId, Router, RouterExt};

/// The times and the memory of a strategy on a scenario. Each time is the median of several passes.
///
/// ```
/// use hashroute_harness::{Keys, cost};
/// use hashroute::strategy::{self, Params};
/// use hashroute::Node;
///
/// let keys = Keys::template("user:{i}", 0..1000)?;
/// let cost = cost(strategy::find("ring")?, &Params::default(), &[Node::new("a")], &keys, None)?;
/// assert!(cost.route_ns > 0.0 && cost.heap_bytes > 160 * 12);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cost {
    /// Nanoseconds to hash and route one key.
    pub route_ns: f64,
    /// Nanoseconds for each key to hash a batch and route it at once.
    pub batch_ns: f64,
    /// Nanoseconds to build the router.
    pub build_ns: f64,
    /// Nanoseconds for one change: half of adding and removing a node of weight 1. `None` if the
    /// router refuses that.
    pub change_ns: Option<f64>,
    /// Bytes on the heap.
    pub heap_bytes: u64,
    /// Allocations for each lookup, if the program counts them.
    pub allocations_per_lookup: Option<f64>,
}

/// Runs a closure and returns the number of allocations that the run made.
///
/// Only a program can count them, with a global allocator. Count those of the calling thread, because
/// other threads allocate meanwhile.
pub type AllocationCounter<'a> = &'a dyn Fn(&mut dyn FnMut()) -> u64;

/// The number of passes that a median is taken over.
const PASSES: usize = 5;

/// The time after which a pass, or a series of passes, ends early.
const ENOUGH: Duration = Duration::from_millis(40);

/// The number of keys in a batch, and between two readings of the clock.
const BATCH: usize = 1024;

/// Measures a strategy. Takes about half a second, or longer if a single build or change does.
///
/// `allocations` counts those of a lookup.
///
/// # Errors
/// As [`Scheme::build`](hashroute::registry::Scheme::build).
///
/// ```
/// # use hashroute::{Node, strategy::{self, Params}};
/// # use hashroute_harness::{Keys, cost};
/// let count = |run: &mut dyn FnMut()| {
///     run();
///     0 // by a counting allocator
/// };
/// let keys = Keys::template("user:{i}", 0..1000)?;
/// let cost = cost(strategy::find("jump")?, &Params::default(), &[Node::new("a")], &keys, Some(&count))?;
/// assert_eq!(cost.allocations_per_lookup, Some(0.0));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn cost(
    scheme: &Scheme,
    params: &Params,
    nodes: &[Node],
    keys: &Keys,
    allocations: Option<AllocationCounter<'_>>,
) -> Result<Cost, Error> {
    let build_ns = median(&series(|| {
        scheme.build(nodes.iter().cloned(), params).map(drop)
    })?);
    let mut router = scheme.build(nodes.iter().cloned(), params)?;
    let heap_bytes = router.heap_bytes() as u64;
    let (route_ns, allocations_per_lookup) = route(&*router, keys, allocations);
    let batch_ns = median(
        &(0..PASSES)
            .map(|_| batch(&*router, keys))
            .collect::<Vec<_>>(),
    );
    let fresh = Node::new(fresh_name(&*router));
    let (join, leave) = (Change::Add(fresh.clone()), Change::remove(fresh.name()));
    let pairs = series(|| router.apply(&join).and_then(|()| router.apply(&leave)));
    Ok(Cost {
        route_ns,
        batch_ns,
        build_ns,
        change_ns: pairs.ok().map(|pairs| median(&pairs) / 2.0),
        heap_bytes,
        allocations_per_lookup,
    })
}

/// Returns the nanoseconds of each run, up to [`PASSES`] runs or until [`ENOUGH`] time has passed.
fn series(mut run: impl FnMut() -> Result<(), Error>) -> Result<Vec<f64>, Error> {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < PASSES && (times.is_empty() || start.elapsed() < ENOUGH) {
        let run_start = Instant::now();
        run()?;
        times.push(run_start.elapsed().as_nanos() as f64);
    }
    Ok(times)
}

/// Returns the nanoseconds and, if counted, the allocations for each key.
fn route(
    router: &dyn Router,
    keys: &Keys,
    allocations: Option<AllocationCounter<'_>>,
) -> (f64, Option<f64>) {
    let route_all = |keys: &mut dyn Iterator<Item = &[u8]>| {
        for key in keys {
            black_box(router.owner(black_box(key)));
        }
    };
    let passes: Vec<_> = (0..PASSES)
        .map(|_| pass(keys, &mut |some| route_all(some)))
        .collect();
    let counted = allocations.map(|count| {
        let some = keys.len().min(BATCH);
        let made = count(&mut || route_all(&mut keys.iter().take(some)));
        ratio(made as f64, some as f64)
    });
    (median(&passes), counted)
}

fn batch(router: &dyn Router, keys: &Keys) -> f64 {
    let mut hashes: Vec<KeyHash> = Vec::with_capacity(BATCH);
    let mut owners: Vec<Option<NodeId>> = vec![None; BATCH];
    pass(keys, &mut |some| {
        hashes.clear();
        hashes.extend(some.filter_map(|key| router.hash_key(black_box(key))));
        router.route_batch(&hashes, &mut owners);
        black_box(&owners);
    })
}

/// Returns the nanoseconds for each key of one pass, over all keys or until [`ENOUGH`] time has
/// passed.
fn pass(keys: &Keys, run: &mut dyn FnMut(&mut dyn Iterator<Item = &[u8]>)) -> f64 {
    let mut all = keys.iter();
    let (total, start) = (all.len(), Instant::now());
    while all.len() > 0 && start.elapsed() < ENOUGH {
        run(&mut all.by_ref().take(BATCH));
    }
    ratio(
        start.elapsed().as_nanos() as f64,
        (total - all.len()) as f64,
    )
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

fn fresh_name(router: &dyn Router) -> String {
    let mut names = (0_u64..).map(|i| format!("fresh-{i}"));
    names
        .find(|name| router.nodes().id(name).is_none())
        .unwrap_or_default()
}
