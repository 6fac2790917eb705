//! What is counted. This part runs under callgrind, one strategy and one size at a time, so that
//! no count depends on what else is in the registry.

use core::hint::black_box;

use hashroute::registry::{Scheme, Weights};
use hashroute::strategy::Params;
use hashroute::{Change, KeyHash, KeyHasher, Node, Router, RouterExt, Spread};

/// The operations in the order in which they are counted, and how often each is done.
pub(crate) const OPERATIONS: [(&str, usize); 6] = [
    ("route", KEYS),
    ("batch", KEYS),
    ("replicas", LISTS),
    ("change", 2 * NEWCOMERS),
    ("weighted", KEYS),
    ("tagged", KEYS),
];

/// The function between whose call and return callgrind counts.
pub(crate) const COUNTED: &str = "counted_by_callgrind";

const KEYS: usize = 1 << 10;
const LISTS: usize = 1 << 7;
const COPIES: usize = 3;
/// Each joins and leaves again. They differ, since the cost may depend on the name.
const NEWCOMERS: usize = 4;

/// Every operation on a router of `size` nodes of weight 1, at the default parameters; then routes
/// over unlike weights, where the strategy takes any, and routes of tagged keys by Redis's hash.
pub(crate) fn run(strategy: &Scheme, size: usize) {
    let nodes = (0..size).map(|i| Node::new(format!("node-{i}")));
    let mut router = strategy
        .build(nodes, &Params::default())
        .expect("every strategy takes equal weights");
    let keys: Vec<String> = (0..KEYS).map(|i| format!("user:{i:011}")).collect();
    let hashes: Vec<_> = (0..KEYS as u64).map(KeyHash::from_integer).collect();
    let mut owners = vec![None; KEYS];
    let changes: Vec<_> = (0..NEWCOMERS)
        .map(|i| format!("one-more-{i}"))
        .flat_map(|name| [Change::Add(Node::new(name.clone())), Change::remove(name)])
        .collect();

    count(&mut || routes(&*router, &keys));
    count(&mut || router.route_batch(black_box(&hashes), black_box(&mut owners)));
    count(&mut || {
        for &hash in &hashes[..LISTS] {
            black_box(router.replicas_hash(black_box(hash), COPIES, Spread::Nodes));
        }
    });
    count(&mut || {
        for change in &changes {
            black_box(router.apply(black_box(change))).expect("a newcomer may join and leave");
        }
    });

    let most = match strategy.caps().map(|caps| caps.weights) {
        Some(Weights::One) => 1,
        _ => 4,
    };
    let weights = (1..=most).cycle().zip(0..size);
    let nodes = weights.map(|(weight, i)| Node::new(format!("node-{i}")).with_weight(weight));
    let router = strategy
        .build(nodes, &Params::default())
        .expect("every strategy takes weights that it says it takes");
    count(&mut || routes(&*router, &keys));

    let nodes = (0..size).map(|i| Node::new(format!("node-{i}")));
    let router = strategy
        .build(nodes, &Params::default().with_hasher(KeyHasher::REDIS))
        .expect("every strategy takes any hasher");
    let tagged: Vec<String> = keys.iter().map(|key| format!("{{{key}}}:cart")).collect();
    count(&mut || routes(&*router, &tagged));
}

fn routes(router: &dyn Router, keys: &[String]) {
    for key in keys {
        if let Some(hash) = router.hash_key(black_box(key.as_bytes())) {
            black_box(router.route_hash(hash));
        }
    }
}

/// Once for nothing, since the first time finds out what the CPU can do, links lazily and makes
/// room; then once for the count.
fn count(work: &mut dyn FnMut()) {
    work();
    counted_by_callgrind(work);
}

#[inline(never)]
fn counted_by_callgrind(work: &mut dyn FnMut()) {
    work();
    black_box(()); // or the call is a jump, and nothing returns here
}

/// The kind of CPU that the crate's vector code is chosen for; under valgrind that is the CPU
/// that valgrind plays.
pub(crate) fn cpu() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        return "avx512";
    } else if is_x86_feature_detected!("avx2") {
        return "avx2";
    }
    "plain"
}
