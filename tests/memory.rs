//! `heap_bytes` is what the allocator gave.
//!
//! A program of its own with one test, since it looks at all memory of the process.

use hashroute::hot::HotKeys;
use hashroute::registry::Params;
use hashroute::{BoundedLoad, Error, KeyHash, Node, Rendezvous, Router, schemes};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Returns the bytes that a router says it has on the heap, and those that the allocator gave
/// without the router itself.
fn bytes<R: Router + ?Sized>(
    build: impl FnOnce() -> Result<Box<R>, Error>,
) -> Result<[f64; 2], Error> {
    let before = ALLOCATOR.current_usage();
    let router = build()?;
    let given = ALLOCATOR.current_usage() - before - size_of_val(&*router);
    Ok([router.heap_bytes() as f64, given as f64])
}

/// Weights of 1 to 3, or 1 where the row takes no weights.
fn nodes(count: u32, weights: u32) -> impl Iterator<Item = Node> {
    (0..count).map(move |i| {
        let node = Node::new(format!("10.0.{}.{}", i / 200, 1 + i % 200));
        node.with_weight(1 + i % weights)
    })
}

#[test]
fn heap_bytes_are_those_of_the_allocator() -> Result<(), Error> {
    let mut wrong = Vec::new();
    let mut check = |name: &str, count, [said, given]: [f64; 2]| {
        println!("{name} {count}: {said} of {given}");
        // The roots of some maps are not counted, and of labels 10 bytes a server.
        if !(said..said * 1.08 + 1024.0).contains(&given) {
            wrong.push(format!("{name}, {count} nodes: {said} of {given} bytes"));
        }
    };
    for count in [50, 400] {
        for row in schemes() {
            let build = |weights| row.build(nodes(count, weights), &Params::default());
            let build = || build(3).or_else(|_| build(1));
            check(row.name, count, bytes(build)?);
        }
        let inside = || Rendezvous::new(nodes(count, 3));
        let bounded = || Ok(Box::new(BoundedLoad::new(inside()?, 1.25)?));
        check("bounded", count, bytes(bounded)?);
        let hot = || {
            let mut router = HotKeys::new(inside()?, 2, 0.01)?;
            router.set_hot((0..10_000).map(KeyHash::from_raw))?;
            Ok(Box::new(router))
        };
        check("hot keys", count, bytes(hot)?);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}
