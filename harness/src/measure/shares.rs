//! The exact shares of a router.

use hashroute::{HashId, Node, Router};

/// The router's exact shares, by index. `None` where it has no ranges, and where a table has gaps
/// whose keys its system hashes again, nobody knows where to.
pub(crate) fn own_shares(router: &dyn Router) -> Option<Vec<f64>> {
    let ranges = router.ranges()?;
    let rehashes = ranges.modulus().is_some() && matches!(router.hash_id(), HashId::PerKey);
    if rehashes && ranges.iter().any(|range| range.owner.is_none()) {
        return None;
    }
    Some(ranges.shares(router.nodes().id_bound()))
}

/// The router's exact shares in order of these nodes.
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
