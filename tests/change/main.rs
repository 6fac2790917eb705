//! Diffs, plans, migrations and ramps between two routers, over the whole registry.

mod diffs;
mod migration;
mod plans;
mod ramp;

use std::sync::Arc;

use hashroute::registry::{Agree, Scheme};
use hashroute::strategy::{ALL, Params};
use hashroute::{Change, Router};
use hashroute_test_support::{Cluster, Step, weighted};

/// Returns parameters of small rings and tables, where rare cases are common.
fn small(strategy: &Scheme) -> Params {
    let sizes = [("points", "20"), ("table-size", "1021"), ("slots", "500")];
    let known = |(name, _): &(&str, &str)| strategy.params.iter().any(|param| param.name == *name);
    let sizes = sizes.into_iter().filter(known);
    sizes.fold(Params::default(), |params, (name, value)| {
        params.with(name, value)
    })
}

/// Returns a router over nodes in two zones, and the same router after some changes, which may add
/// a third zone.
pub(crate) fn states(
    strategy: &'static Scheme,
    weights: &[u32],
    steps: &[Step],
) -> [Arc<dyn Router>; 2] {
    let zones = ["z1", "z1", "z2"].into_iter().cycle();
    let nodes = weighted(strategy, weights).into_iter().zip(zones);
    let nodes: Vec<_> = nodes.map(|(node, zone)| node.with_zone(zone)).collect();
    let cluster = || Cluster::of(strategy, nodes.clone(), &small(strategy));
    let (old, mut cluster) = (cluster().router, cluster());
    for step in steps {
        match cluster.change(*step) {
            Some(Change::Add(node)) => cluster.apply(&Change::Add(node.with_zone("z3"))),
            Some(change) => cluster.apply(&change),
            None => {}
        }
    }
    [old.into(), cluster.router.into()]
}

/// Returns the strategies that can be planned: all but those that decide by load.
pub(crate) fn plannable() -> impl Iterator<Item = &'static Scheme> {
    ALL.iter()
        .filter(|strategy| strategy.agree() != Agree::Load)
}

/// Returns keys as text.
pub(crate) fn texts(count: u32) -> Vec<String> {
    (0..count).map(|i| format!("user:{i}")).collect()
}
