//! Law 6: undoing a change restores every route.

use super::agreement::is_set;
use super::chance::limit;
use super::clause::Clause;
use super::moves::{excess_chance, moves};
use super::random::Random;
use super::subject::{Cluster, Step, Subject, members, owners, same_owners};
use super::trial::{Held, equal, fail};
use super::waivers;
use hashroute::registry::Leave;
use hashroute::{Change, KeyHash, Node};

pub(super) const RESTORES: &[Clause] = &[
    Clause::new("nodes that join and leave", added_and_removed).unless(waivers::no_way_back),
    Clause::new("a weight that comes back", reweighted).unless(waivers::no_weights),
    Clause::new("a server that goes down and comes up", down_and_up)
        .unless(waivers::nothing_goes_down),
    Clause::new("two hundred nodes that leave and return", many_removed)
        .unless(waivers::no_long_history),
];

fn added_and_removed(subject: &Subject) -> Held {
    let keys = subject.keys(6, 1000);
    let cases = if subject.scheme.is_dialect() { 5 } else { 14 };
    for case in 0..cases {
        let mut random = Random::new(200 + case);
        let mut cluster = Cluster::new(subject, &random.weights(8, 6))?;
        let (start, before) = (members(&*cluster.router), owners(&*cluster.router, &keys));
        let mut added = Vec::new();
        for _ in 0..=random.below(5) {
            let weight = random.below(6);
            if let Some(change) = cluster.change(Step::Add(weight)) {
                if cluster.apply(&change)? {
                    added.push(change.name().to_string());
                }
            }
        }
        let joined = added.clone();
        added.reverse(); // last in, first out
        if is_set(subject) {
            random.shuffle(&mut added);
        }
        for name in &added {
            if !cluster.apply(&Change::remove(name.as_str()))? {
                let input = format!("{start}, {joined:?} added, remove {name}");
                return fail(input, "the node to leave that came last", "a refusal");
            }
        }
        let input = || format!("{start}, {joined:?} added, {added:?} removed");
        same_owners(input, &keys, &before, &owners(&*cluster.router, &keys))?;
    }
    Ok(())
}

fn reweighted(subject: &Subject) -> Held {
    let keys = subject.keys(7, 1000);
    let mut cluster = Cluster::new(subject, &[1, 2, 3, 4])?;
    let before = owners(&*cluster.router, &keys);
    let input = || String::from("weights 1 2 3 4, the third 0, 5, 1 and 3 again");
    for weight in [0, 5, 1, 3] {
        cluster.apply(&Change::reweight(subject.name(2), weight))?;
    }
    same_owners(input, &keys, &before, &owners(&*cluster.router, &keys))
}

/// Takes each server down and up in turn, if the row can.
fn down_and_up(subject: &Subject) -> Held {
    let keys = subject.keys(8, 300);
    let mut cluster = Cluster::new(subject, &[1; 7])?;
    let before = owners(&*cluster.router, &keys);
    for i in [0, 1, 3, 6] {
        let name = subject.name(i);
        if !cluster.apply(&Change::reweight(name.as_str(), 0))? {
            continue;
        }
        let now = owners(&*cluster.router, &keys);
        let held = now.iter().any(|owner| **owner == *name);
        let input = || format!("seven nodes, {name} down");
        equal(input, &false, &held)?;
        cluster.apply(&Change::reweight(name.as_str(), 1))?;
        let input = || format!("seven nodes, {name} down and up");
        same_owners(input, &keys, &before, &owners(&*cluster.router, &keys))?;
    }
    Ok(())
}

const GONE: usize = 200;

fn many_removed(subject: &Subject) -> Held {
    let keys = subject.keys(8, 300);
    let mut cluster = Cluster::new(subject, &[1; GONE + 20])?;
    let first = owners(&*cluster.router, &keys);
    let mut names = leaving(subject);
    let mut before = first.clone();
    let mut change = |change: Change| -> Held {
        let rises = matches!(change, Change::Add(_));
        let weighted = cluster.router.nodes().weighted() + usize::from(rises);
        cluster.apply(&change)?;
        let after = owners(&*cluster.router, &keys);
        let excess = moves(&change, rises, &before, &after).excess;
        if excess_chance(subject, excess, keys.len(), weighted) < limit(2 * GONE) {
            let input = format!("{weighted} nodes, {change:?}");
            let found = format!("{excess} of {} keys that did", keys.len());
            return fail(input, "no excess moves beyond the stated bound", found);
        }
        before = after;
        Ok(())
    };
    for name in &names {
        change(Change::remove(name.as_str()))?;
    }
    // They return in the order in which they left, or in another if the row promises that.
    names.reverse();
    if is_set(subject) {
        names.rotate_left(GONE / 3);
    }
    for name in &names {
        change(Change::Add(Node::new(name.as_str())))?;
    }
    let input = || format!("{} nodes of which {GONE} left and returned", GONE + 20);
    same_owners(input, &keys, &first, &owners(&*cluster.router, &keys))
}

/// Returns the names of the nodes that leave, in order: the last first, or in any order.
fn leaving(subject: &Subject) -> Vec<String> {
    let mut names: Vec<_> = (20..GONE + 20).map(|i| subject.name(i)).collect();
    let leave = subject.scheme.caps().map(|caps| caps.leave);
    if leave == Some(Leave::Last) {
        names.reverse();
    } else {
        names.sort_by_key(|name| KeyHash::from_bytes(name.as_bytes()));
    }
    names
}
