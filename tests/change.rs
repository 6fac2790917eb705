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
use hashroute::strategy::{ALL, Agree, Strategy};

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

/// The strategies between which a plan can be: loads cannot be planned.
pub(crate) fn plannable() -> impl Iterator<Item = &'static Strategy> {
    ALL.iter()
        .filter(|strategy| strategy.caps.agree != Agree::Load)
}

/// Keys as bytes.
pub(crate) fn texts(count: u32) -> Vec<String> {
    (0..count).map(|i| format!("user:{i}")).collect()
}
