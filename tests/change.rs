//! What moves, in which steps, and that nothing is lost on the way: over the whole registry.

#[path = "change/diffs.rs"]
mod diffs;
#[path = "change/migration.rs"]
mod migration;
#[path = "change/plans.rs"]
mod plans;

mod common;

use std::sync::Arc;

use common::{Cluster, Step};
use hashroute::Router;
use hashroute::strategy::Strategy;

/// A router of some strategy, and the same after some changes.
pub(crate) fn states(
    strategy: &'static Strategy,
    weights: &[u32],
    steps: &[Step],
) -> [Arc<dyn Router>; 2] {
    let old = Cluster::new(strategy, weights).router;
    let mut cluster = Cluster::new(strategy, weights);
    for step in steps {
        if let Some(change) = cluster.change(*step) {
            cluster.apply(&change);
        }
    }
    [old.into(), cluster.router.into()]
}

/// Keys as bytes.
pub(crate) fn texts(count: u32) -> Vec<String> {
    (0..count).map(|i| format!("user:{i}")).collect()
}
