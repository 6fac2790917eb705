//! Whether a router is the one that a spec builds.

use alloc::vec::Vec;
use core::ops::ControlFlow;

use crate::change::diff::exact;
use crate::{KeyHash, NodeId, Router};

/// How many keys are asked where no structure says all.
const SAMPLES: u64 = 4096;

/// How many whole walks are compared, each of which visits every point.
const WALKS: u64 = 4;

/// Whether both route alike: exact where both have ranges, else by sample; under bounded loads
/// by the order of preference, as routes are of the moment.
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

/// A walk under bounded loads offers the nodes with room, then all of the router inside. Ours has
/// no load: room everywhere, so its second half is all.
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
