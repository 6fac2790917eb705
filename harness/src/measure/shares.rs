//! The exact shares of a router.

use hashroute::{HashId, Node, Router};

/// Returns the router's exact shares, by the index of an id. `None` if it has no ranges, and if its
/// table has gaps: a system rehashes the keys in a gap, and the ranges do not say to which node.
pub(crate) fn own_shares(router: &dyn Router) -> Option<Vec<f64>> {
    let ranges = router.ranges()?;
    let rehashes = ranges.modulus().is_some() && matches!(router.hash_id(), HashId::PerKey);
    if rehashes && ranges.iter().any(|range| range.owner.is_none()) {
        return None;
    }
    Some(ranges.shares(router.nodes().id_bound()))
}

/// Returns the router's exact shares in the order of these nodes.
pub(super) fn exact_shares(router: &dyn Router, nodes: &[Node]) -> Option<Vec<f64>> {
    let shares = own_shares(router)?;
    let share = |node: &Node| {
        router
            .nodes()
            .id(node.name())
            .and_then(|id| shares.get(id.index()).copied())
    };
    Some(
        nodes
            .iter()
            .map(|node| share(node).unwrap_or(0.0))
            .collect(),
    )
}
