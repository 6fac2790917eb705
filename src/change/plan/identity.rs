//! A fingerprint of a router, by which a plan recognises its own routers.

use alloc::vec::Vec;

use crate::change::diff::sample;
use crate::change::union::Union;
use crate::hash::mix64;
use crate::{KeyHash, Node, NodeId, Router, RouterExt};

/// The number of keys that represent a router without ranges. Its nodes are compared as well.
const SAMPLE: u64 = 1 << 12;

/// Returns a number that is equal for routers with the same nodes and the same owners: by their
/// ranges, or else by a sample. Ids are those of the union.
pub(super) fn identity(members: &Union, side: usize, router: &dyn Router) -> u64 {
    let known = |owner: Option<NodeId>| owner.and_then(|id| members.id(side, id));
    let number = |id: Option<NodeId>| id.map_or(u64::MAX, |id| id.index() as u64);
    let mut nodes: Vec<[u64; 4]> = router
        .nodes()
        .iter()
        .map(|(id, node)| describe(number(known(Some(id))), node))
        .collect();
    nodes.sort_unstable();
    let nodes = nodes.into_iter().flatten().fold(0, fold);
    match router.ranges() {
        Some(ranges) => ranges.iter().fold(nodes, |sum, range| {
            fold(fold(sum, range.first), number(known(range.owner)))
        }),
        None => sample(SAMPLE).fold(nodes, |sum, key| {
            fold(sum, number(known(router.owner(key.as_bytes()))))
        }),
    }
}

fn describe(id: u64, node: &Node) -> [u64; 4] {
    let text =
        |text: Option<&str>| text.map_or(0, |text| KeyHash::from_bytes(text.as_bytes()).get());
    [
        id,
        node.weight().into(),
        text(node.zone()),
        text(node.rack()),
    ]
}

const fn fold(sum: u64, value: u64) -> u64 {
    mix64(sum.rotate_left(1) ^ mix64(value))
}
