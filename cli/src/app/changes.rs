//! Changes of the nodes: checked, applied to a list, and derived from two lists.

use std::collections::BTreeMap;

use hashroute::{Change, Error, Node, Nodes};
use hashroute_harness::text::printable;

use super::nearest;
use crate::failure::{Asked, Failure};

/// Refuses changes that no strategy could make, and names the option that asks for them.
pub(crate) fn check(before: &[Node], changes: &[Change]) -> Result<(), Failure> {
    let mut nodes = Nodes::new(before.iter().cloned())?;
    for change in changes {
        if let Err(error) = nodes.apply(change) {
            let hint = match &error {
                Error::UnknownNode { name } => {
                    let near = nearest::hint(name, nodes.iter().map(|(_, node)| node.name()));
                    near.or_else(|| Some(format!("there are {}", names(before))))
                }
                _ => None,
            };
            let refused = Asked::At(format!("--{change}")).refused(error);
            return Err(refused.with_hint(hint));
        }
    }
    Ok(())
}

/// Splits lists of names in removals, and refuses a number where the nodes have names.
pub(crate) fn split(nodes: &[Node], changes: &[Change]) -> Result<Vec<Change>, Failure> {
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let has_numbers = nodes.iter().any(|node| is_number(node.name()));
    let is_node = |name: &str| nodes.iter().any(|node| node.name() == name);
    let mut all = Vec::new();
    for change in changes {
        match change {
            Change::Add(node) if is_number(node.name()) && !has_numbers && !nodes.is_empty() => {
                let name = node.name();
                let wrong =
                    format!("--add {name}: a number, but nodes have names here: expected a name");
                let known = names(nodes);
                return Err(Failure::Input(wrong).with_hint(Some(format!(
                    "the nodes are {known}; --to-nodes-file takes any name"
                ))));
            }
            Change::Remove(list) if list.contains(',') && !is_node(list) => {
                all.extend(list.split(',').map(|name| Change::remove(name.trim())));
            }
            other => all.push(other.clone()),
        }
    }
    Ok(all)
}

/// Lists the names of nodes, for messages.
fn names(nodes: &[Node]) -> String {
    const SHOWN: usize = 5;
    let names = |nodes: &[Node]| {
        let names: Vec<_> = nodes.iter().map(Node::name).collect();
        names.join(", ")
    };
    match nodes {
        [first @ .., last] if nodes.len() > SHOWN => {
            format!("{}, ... {}", names(&first[..SHOWN - 2]), last.name())
        }
        few => names(few),
    }
}

/// Returns the changes from one list of nodes to another: first nodes that leave, then weights,
/// then nodes that join. The last node leaves first, for strategies that can only remove the last.
/// A node with only another zone or rack is not changed.
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

/// Returns the nodes, in order, after changes that [`check`] accepted.
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

/// Says in words what else differs in the second list: zones and racks, and with `order` the order.
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

/// Notes on standard error what else differs in the second list and does not count.
pub(crate) fn note_unseen(option: &str, beside: &[String]) {
    const SHOWN: usize = 5;
    if beside.is_empty() {
        return;
    }
    let shown = printable(&beside[..beside.len().min(SHOWN)].join(", "));
    let more = if beside.len() > SHOWN { ", .." } else { "" };
    eprintln!("note: {option}: only names and weights count here; ignored: {shown}{more}");
}
