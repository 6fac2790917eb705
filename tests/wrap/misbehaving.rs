//! Wrappers keep their promises over a router of another crate that breaks its own.

use core::ops::ControlFlow;
use std::sync::Mutex;

use hashroute::{
    BoundedLoad, Change, Error, KeyHash, Lease, Loads, Node, NodeId, Nodes, Router, RouterExt,
    Spread,
};

/// A router whose walk ignores the visitor.
#[derive(Debug)]
struct Deaf(Nodes);

impl Router for Deaf {
    fn nodes(&self) -> &Nodes {
        &self.0
    }

    fn route_hash(&self, _: KeyHash) -> Option<NodeId> {
        self.0.iter().next().map(|(id, _)| id)
    }

    fn walk(&self, _: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        for (id, _) in &self.0 {
            let _ = visit(id);
        }
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        self.0.apply(change).map(drop)
    }
}

#[test]
fn a_walk_that_ignores_the_stop_yields_no_more_nodes_than_asked_for() -> Result<(), Error> {
    let nodes = || Nodes::new((0..5).map(|i| Node::new(format!("n{i}"))));
    let key = KeyHash::from_raw(1);
    for spread in [Spread::Nodes, Spread::Racks, Spread::Zones] {
        assert_eq!(Deaf(nodes()?).replicas_hash(key, 2, spread).len(), 2);
    }
    let bounded = BoundedLoad::new(Deaf(nodes()?), 1.25)?;
    let leases: Vec<_> = (0..10).filter_map(|_| bounded.acquire_hash(key)).collect();
    assert_eq!(leases.len(), 10);
    let loads = bounded.nodes().iter().map(|(id, _)| bounded.load(id));
    assert_eq!(loads.sum::<u64>(), 10);
    assert!(leases.into_iter().all(|lease| bounded.release(lease)));
    assert!(bounded.nodes().iter().all(|(id, _)| bounded.load(id) == 0));
    Ok(())
}

/// A router that releases leases at the start of a lookup, as another thread might.
#[derive(Debug)]
struct Interrupted(Nodes, Mutex<Option<Box<dyn Interruption>>>);

trait Interruption: core::fmt::Debug + Send + Sync {
    fn strike(&self);
}

impl Router for Interrupted {
    fn nodes(&self) -> &Nodes {
        &self.0
    }

    fn route_hash(&self, _: KeyHash) -> Option<NodeId> {
        if let Some(interruption) = self.1.lock().expect("no thread panicked").take() {
            interruption.strike();
        }
        self.0.iter().next().map(|(id, _)| id)
    }

    fn walk(&self, _: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let _ = self.0.iter().map(|(id, _)| id).try_for_each(visit);
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        self.0.apply(change).map(drop)
    }
}

#[derive(Debug)]
struct GiveBack(&'static BoundedLoad<Interrupted>, Mutex<Vec<Lease>>);

impl Interruption for GiveBack {
    fn strike(&self) {
        for lease in self.1.lock().expect("no thread panicked").drain(..) {
            assert!(self.0.release(lease));
        }
    }
}

#[test]
fn the_bound_is_computed_from_the_load_at_placement() -> Result<(), Error> {
    let nodes = Nodes::new((0..4).map(|i| Node::new(format!("n{i}"))))?;
    let router = Box::leak(Box::new(BoundedLoad::new(
        Interrupted(nodes, Mutex::new(None)),
        1.25,
    )?));
    let key = KeyHash::from_raw(1);
    let leases: Vec<_> = (0..1000).filter_map(|_| router.acquire_hash(key)).collect();
    let first = router.route_hash(key).map(|_| leases[0].node());
    let (kept, others): (Vec<_>, Vec<_>) = leases
        .into_iter()
        .partition(|lease| Some(lease.node()) == first);
    // 200 keys are far below the bound with 900 keys and far above the bound with 200.
    let mut kept = kept;
    for lease in kept.split_off(200) {
        assert!(router.release(lease));
    }
    *router.router().1.lock().expect("no thread panicked") =
        Some(Box::new(GiveBack(router, Mutex::new(others))));
    // During this call all keys but those of the first node are released.
    let lease = router.acquire_hash(key).expect("three nodes are empty");
    assert_ne!(Some(lease.node()), first, "200 of 200 keys are there");
    Ok(())
}
