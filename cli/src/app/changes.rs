//! Changes of membership: in the order in which they stand on the command line, or from one list
//! of nodes to another.

use std::collections::BTreeMap;

use hashroute::{Change, Error, Node, Nodes};

use super::nearest;
use crate::failure::{Asked, Failure};

/// Refuse what no strategy could do, with the option that asks for it.
pub(crate) fn check(nodes: &[Node], changes: &[Change]) -> Result<(), Failure> {
    let mut nodes = Nodes::new(nodes.iter().cloned())?;
    for change in changes {
        if let Err(error) = nodes.apply(change) {
            let hint = match &error {
                Error::UnknownNode { name } => {
                    nearest::hint(name, nodes.iter().map(|(_, node)| node.name()))
                }
                _ => None,
            };
            let refused = Asked::At(format!("--{change}")).refused(error);
            return Err(refused.with_hint(hint));
        }
    }
    Ok(())
}

/// From one list of nodes to another: who leaves, the last first, so that strategies which let
/// only the last go can follow; then other weights; then who joins, in order. A node that only
/// stands elsewhere keeps its keys and is not changed.
pub(crate) fn between(before: &[Node], after: &[Node]) -> Vec<Change> {
    let by_name = |nodes: &[Node]| {
        nodes
            .iter()
            .map(|node| (node.name().to_owned(), node.weight()))
            .collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (by_name(before), by_name(after));
    let leave = before
        .iter()
        .rev()
        .filter(|node| !new.contains_key(node.name()));
    let join = after.iter().filter(|node| !old.contains_key(node.name()));
    let reweight = after.iter().filter(|node| {
        old.get(node.name())
            .is_some_and(|&weight| weight != node.weight())
    });
    let leave = leave.map(|node| Change::remove(node.name()));
    let reweight = reweight.map(|node| Change::reweight(node.name(), node.weight()));
    leave
        .chain(reweight)
        .chain(join.cloned().map(Change::Add))
        .collect()
}

/// The nodes in their order after changes that can be made.
pub(crate) fn after(mut nodes: Vec<Node>, changes: &[Change]) -> Vec<Node> {
    for change in changes {
        match change {
            Change::Add(node) => nodes.push(node.clone()),
            Change::Remove(name) => nodes.retain(|node| node.name() != &**name),
            Change::Reweight(name, weight) => {
                for node in nodes.iter_mut().filter(|node| node.name() == &**name) {
                    *node = node.clone().with_weight(*weight);
                }
            }
            _ => {}
        }
    }
    nodes
}

/// What of the second list is no change of a member, in words: other locations and another order.
pub(crate) fn beside(
    before: &[Node],
    changes: &[Change],
    list: &[Node],
    order: bool,
) -> Vec<String> {
    let kept = after(before.to_vec(), changes);
    let names = |nodes: &[Node]| -> Vec<String> {
        nodes.iter().map(|node| node.name().to_owned()).collect()
    };
    let reordered = order && names(&kept) != names(list);
    let location = |node: &Node| [node.zone(), node.rack()].map(|part| part.map(str::to_owned));
    let locations: BTreeMap<_, _> = kept
        .iter()
        .map(|node| (node.name(), location(node)))
        .collect();
    let moved = list.iter().filter(|node| {
        let location_before = locations.get(node.name());
        location_before.is_some_and(|before| *before != location(node))
    });
    let texts = moved.map(|node| {
        let [zone, rack] = location(node).map(|part| part.unwrap_or_else(|| "-".into()));
        format!("location {}={zone}/{rack}", node.name())
    });
    texts
        .chain(reordered.then(|| "another order".into()))
        .collect()
}

/// Say on standard error what of the second list is not looked at.
pub(crate) fn note_unseen(beside: &[String]) {
    const SHOWN: usize = 5;
    if beside.is_empty() {
        return;
    }
    let shown = beside[..beside.len().min(SHOWN)].join(", ");
    let more = if beside.len() > SHOWN { ", .." } else { "" };
    eprintln!("note: --to-nodes-file: only members and weights count here, and not: {shown}{more}");
}
