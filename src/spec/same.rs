//! The checks that a router is the one that a spec builds, and that an order decides nothing.

use alloc::vec::Vec;
use core::ops::ControlFlow;

use crate::change::diff::exact;
use crate::registry::Setup;
use crate::{KeyHash, NodeId, Router};

/// The number of keys to compare if a router has no ranges.
const SAMPLES: u64 = 4096;

/// The number of walks to compare. Few, because each visits every point.
const WALKS: u64 = 4;

/// Returns whether both routers route alike: exactly if both have ranges, else by a sample. Under
/// bounded loads it compares preference lists, because routes depend on the present load.
pub(super) fn alike(ours: &dyn Router, theirs: &dyn Router) -> bool {
    if ours.loads().is_some() != theirs.loads().is_some() {
        return false;
    }
    if ours.loads().is_some() {
        return (0..WALKS).all(|i| walk_alike(ours, theirs, KeyHash::from_integer(i)));
    }
    if let Ok(Some(diff)) = exact(ours, theirs) {
        return diff.flows().next().is_none();
    }
    (0..SAMPLES).all(|i| {
        let key = KeyHash::from_integer(i);
        let [our, their] = [ours, theirs].map(|router| name(router, router.route_hash(key)));
        our == their
    })
}

/// Returns whether the order of the servers decides no route: by a rule of the system, or because
/// in order of name keys are hashed alike and the table is the same.
pub(super) fn has_free_order(setup: &Setup) -> bool {
    let servers = setup.servers();
    if servers.is_sorted_by(|a, b| a.name() <= b.name()) {
        return true;
    }
    if setup.scheme().has_free_order(servers, setup.params()) {
        return true;
    }
    let mut sorted = servers.to_vec();
    sorted.sort_by(|a, b| a.name().cmp(b.name()));
    let (Ok(ours), Ok(theirs)) = (setup.build(), setup.with_members(sorted).build()) else {
        return false;
    };
    let diff = exact(&*ours, &*theirs);
    diff.is_ok_and(|diff| diff.is_some_and(|diff| diff.moved_count() == 0))
}

/// Compares the walks of two routers that bound loads. Such a walk offers the nodes with room, then
/// all nodes of the inner router. `ours` has no load, so every node has room, and the second half
/// of its walk is the whole walk of the inner router.
fn walk_alike(ours: &dyn Router, theirs: &dyn Router, key: KeyHash) -> bool {
    let [our, their] = [ours, theirs].map(|router| walked(router, key));
    let all = &our[our.len() / 2..];
    let Some(start) = their.len().checked_sub(all.len()) else {
        return false;
    };
    let mut pairs = all.iter().zip(&their[start..]);
    pairs.all(|(&our, &their)| name(ours, Some(our)) == name(theirs, Some(their)))
}

fn walked(router: &dyn Router, key: KeyHash) -> Vec<NodeId> {
    let mut visited = Vec::new();
    router.walk(key, &mut |id| {
        visited.push(id);
        ControlFlow::Continue(())
    });
    visited
}

fn name(router: &dyn Router, id: Option<NodeId>) -> Option<&str> {
    router.nodes().name(id?)
}
