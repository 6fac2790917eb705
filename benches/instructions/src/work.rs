//! What is counted. This part runs under callgrind, one strategy and one size at a time, so that
//! no count depends on what else is in the registry.

use core::hint::black_box;

use hashroute::strategy::{Params, Strategy};
use hashroute::{Change, KeyHash, Node, Spread};

/// The operations in the order in which they are counted, and how often each is done.
pub(crate) const OPERATIONS: [(&str, usize); 4] = [
    ("route", KEYS),
    ("batch", KEYS),
    ("replicas", LISTS),
    ("change", 2 * NEWCOMERS),
];

/// The function between whose call and return callgrind counts.
pub(crate) const COUNTED: &str = "counted_by_callgrind";

const KEYS: usize = 1 << 10;
const LISTS: usize = 1 << 7;
const COPIES: usize = 3;
/// Each joins and leaves again. They differ, since the cost may depend on the name.
const NEWCOMERS: usize = 4;

/// Every operation on a router of `size` nodes of weight 1, at the default parameters.
pub(crate) fn run(strategy: &Strategy, size: usize) {
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

    count(&mut || {
        for key in &keys {
            black_box(router.route_hash(router.hash_key(black_box(key.as_bytes()))));
        }
    });
    count(&mut || router.route_batch(black_box(&hashes), black_box(&mut owners)));
    count(&mut || {
        for &hash in &hashes[..LISTS] {
            black_box(router.replicas(black_box(hash), COPIES, Spread::Nodes));
        }
    });
    count(&mut || {
        for change in &changes {
            black_box(router.apply(black_box(change))).expect("a newcomer may join and leave");
        }
    });
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
