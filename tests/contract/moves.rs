//! Laws 3, 4 and 6: what moves when the members change, and what comes back.

use hashroute::registry::{Agree, Excess, Leave, Scheme};
use hashroute::strategy::ALL;
use hashroute::{Change, KeyHash};
use proptest::prelude::{Strategy as _, any, prop_oneof};

use crate::common::{
    Checks, Cluster, SIGNIFICANCE, Step, at_least, at_most, build, caps, fit, for_all, is_set,
    keys, owners, placed, share_of, shares,
};

/// The keys that moved: to or from the node of the change, as they should, and between others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moves {
    right: u64,
    excess: u64,
}

/// Compare owners before and after a change; `rises` when its node gained weight.
fn moves(change: &Change, rises: bool, before: &[Box<str>], after: &[Box<str>]) -> Moves {
    let (Change::Add(_) | Change::Remove(_) | Change::Reweight(..)) = change else {
        panic!("teach the tests about {change:?}");
    };
    let mut moves = Moves::default();
    for (old, new) in before.iter().zip(after).filter(|(old, new)| old != new) {
        let side = if rises { new } else { old };
        if **side == *subject(change) {
            moves.right += 1;
        } else {
            moves.excess += 1;
        }
    }
    moves
}

/// The name of the node that a change is about.
fn subject(change: &Change) -> &str {
    match change {
        Change::Add(node) => node.name(),
        Change::Remove(name) | Change::Reweight(name, _) => name,
        other => panic!("teach the tests about {other:?}"),
    }
}

fn rises(cluster: &Cluster, change: &Change) -> bool {
    match change {
        Change::Add(_) => true,
        Change::Reweight(name, weight) => *weight > cluster.weight(name),
        _ => false,
    }
}

/// The chance of an excess as large, when as much as the strategy states is allowed.
fn excess_chance(strategy: &Scheme, excess: u64, keys: usize, live: usize) -> f64 {
    match caps(strategy).excess {
        Excess::None => f64::from(excess == 0),
        Excess::AtMost(bound) => at_least(excess, keys as u64, bound(live)),
        Excess::Unbounded => 1.0,
        other => panic!("teach the tests about {other:?}"),
    }
}

fn steps() -> impl proptest::strategy::Strategy<Value = Step> {
    let weight = prop_oneof![4 => 0_u32..6, 1 => 6_u32..60];
    prop_oneof![
        weight.clone().prop_map(Step::Add),
        any::<usize>().prop_map(Step::Remove),
        (any::<usize>(), weight).prop_map(|(index, weight)| Step::Reweight(index, weight)),
    ]
}

#[test]
fn changes_move_keys_only_to_or_from_their_node() {
    const CASES: u32 = 16;
    const STEPS: usize = 10;
    let weights = proptest::collection::vec(0_u32..6, 0..10);
    let histories = (weights, proptest::collection::vec(steps(), 1..=STEPS));
    let keys = keys(3, 1500);
    let limit = SIGNIFICANCE / (CASES as usize * STEPS * ALL.len()) as f64;
    for strategy in ALL {
        for_all(CASES, &histories, |(weights, steps)| {
            let mut cluster = Cluster::new(strategy, &weights);
            let mut before = owners(&*cluster.router, &keys);
            let mut live = cluster.router.nodes().weighted();
            for step in steps {
                let Some(change) = cluster.change(step) else {
                    continue;
                };
                let rises = rises(&cluster, &change);
                cluster.apply(&change);
                let after = owners(&*cluster.router, &keys);
                let moves = moves(&change, rises, &before, &after);
                live = live.max(cluster.router.nodes().weighted());
                let likely = excess_chance(strategy, moves.excess, keys.len(), live);
                assert!(
                    likely >= limit,
                    "{} {change:?}: {moves:?} of {} keys",
                    strategy.name,
                    keys.len()
                );
                (before, live) = (after, cluster.router.nodes().weighted());
            }
        });
    }
}

/// Some strategies search a large cluster in another way than a small one.
#[test]
fn changes_of_a_large_cluster_move_no_other_keys() {
    const NODES: u32 = 1500;
    let weights: Vec<_> = (0..NODES)
        .map(|i| [1, 1, 1, 2, 5, 0, 40][i as usize % 7])
        .collect();
    let keys = keys(9, 3000);
    let claim_none = |strategy: &&Scheme| caps(strategy).excess.is_none();
    for strategy in ALL.iter().filter(claim_none) {
        let mut cluster = Cluster::new(strategy, &weights);
        let mut before = owners(&*cluster.router, &keys);
        for step in [
            Step::Add(1),
            Step::Add(500),
            Step::Remove(3),
            Step::Reweight(6, 900),
            Step::Remove(6),
            Step::Reweight(11, 0),
            Step::Reweight(0, 300),
            Step::Reweight(0, 299),
        ] {
            let Some(change) = cluster.change(step) else {
                continue;
            };
            let rises = rises(&cluster, &change);
            cluster.apply(&change);
            let after = owners(&*cluster.router, &keys);
            let moves = moves(&change, rises, &before, &after);
            assert_eq!(moves.excess, 0, "{} {change:?}", strategy.name);
            before = after;
        }
        let last: Vec<_> = cluster
            .router
            .nodes()
            .iter()
            .map(|(_, node)| node.clone())
            .collect();
        if is_set(strategy) {
            let fresh = build(strategy, last.into_iter().rev());
            assert_eq!(owners(&*fresh, &keys), before, "{}", strategy.name);
        }
    }
}

/// Place all keys on a cluster, and again on its like after one change: the moves, and how
/// many nodes with weight there were at most.
fn moves_when_filled(
    strategy: &'static Scheme,
    weights: &[u32],
    step: Step,
    keys: &[KeyHash],
) -> Option<(Change, Moves, usize)> {
    let [whole, mut changed] = [(); 2].map(|()| Cluster::new(strategy, weights));
    let change = whole.change(step)?;
    changed.apply(&change);
    let [before, after] = [&whole, &changed].map(|cluster| placed(&*cluster.router, keys));
    let live = [&whole, &changed].map(|cluster| cluster.router.nodes().weighted());
    let moves = moves(&change, rises(&whole, &change), &before, &after);
    Some((change, moves, live[0].max(live[1])))
}

#[test]
fn a_stated_bound_on_excess_holds_at_any_size() {
    let mut checks = Checks::default();
    let keys = keys(4, 100_000);
    // A claim of none is tried here as well where keys push each other about.
    let tried =
        |strategy: &&Scheme| !caps(strategy).excess.is_none() || strategy.agree() == Agree::Load;
    for strategy in ALL.iter().filter(tried) {
        for weights in [
            vec![1; 2],
            vec![1; 10],
            vec![1; 100],
            vec![1; 300],
            [vec![1; 40], vec![10; 20]].concat(),
        ] {
            for step in [Step::Add(5), Step::Remove(0), Step::Reweight(0, 7)] {
                let filled = moves_when_filled(strategy, &weights, step, &keys);
                if let Some((_, moves, live)) = filled {
                    let nodes = weights.len();
                    let what = format!("{} {nodes} nodes {step:?} {moves:?}", strategy.name);
                    let chance = excess_chance(strategy, moves.excess, keys.len(), live);
                    checks.note(what, chance);
                }
            }
        }
    }
    checks.judge();
}

/// The share that a change should move, and how much the strategy may add to it: of the exact
/// shares where there are some, else of the weights.
fn ideal(before: &Cluster, after: &Cluster, name: &str) -> f64 {
    let exact = [before, after].map(|cluster| shares(&*cluster.router));
    if let [Some(old), Some(new)] = exact {
        let old = share_of(&*before.router, &old, name);
        return (share_of(&*after.router, &new, name) - old).abs();
    }
    let share = |cluster: &Cluster| match cluster.router.nodes().total_weight() {
        0 => 0.0,
        total => f64::from(cluster.weight(name)) / total as f64,
    };
    (share(after) - share(before)).abs()
}

#[test]
fn the_moved_share_is_the_share_that_changed_hands() {
    let mut checks = Checks::default();
    // Where loads decide, law 5 bounds what a node gets.
    let ideal_ones =
        |strategy: &&Scheme| caps(strategy).excess.is_bounded() && strategy.agree() != Agree::Load;
    for (seed, strategy) in (100..).zip(ALL.iter().filter(ideal_ones)) {
        let keys = keys(seed, 20_000);
        for weights in [vec![1, 1], vec![3, 1, 2], vec![1; 10], vec![2; 50]] {
            let last = weights.len() - 1;
            for step in [
                Step::Add(1),
                Step::Add(4),
                Step::Remove(last),
                Step::Reweight(0, 8),
                Step::Reweight(0, 0),
            ] {
                let [before, mut after] = [(); 2].map(|()| Cluster::new(strategy, &weights));
                let Some(change) = before.change(step) else {
                    continue;
                };
                after.apply(&change);
                let [old, new] = [&before, &after].map(|cluster| owners(&*cluster.router, &keys));
                let moved = moves(&change, rises(&before, &change), &old, &new).right;
                let share = ideal(&before, &after, subject(&change));
                let live = [&before, &after].map(|cluster| cluster.router.nodes().weighted());
                let more = match caps(strategy).excess {
                    Excess::AtMost(bound) => bound(live[0].max(live[1])),
                    _ => 0.0,
                };
                let count = keys.len() as u64;
                let few = at_most(moved, count, share);
                let many = at_least(moved, count, share + more);
                let what = format!("{} {weights:?} {step:?}: {moved}, {share}", strategy.name);
                checks.note(what, (2.0 * few.min(many)).min(1.0));
            }
        }
    }
    checks.judge();
}

/// Whether adding and removing leads back: a table depends on all that was done to it.
fn restores(strategy: &Scheme) -> bool {
    strategy.agree() != Agree::Table
}

#[test]
fn adding_then_removing_restores_every_route() {
    let weights = proptest::collection::vec(0_u32..6, 0..8);
    let added = proptest::collection::vec((0_u32..6, any::<u16>()), 1..6);
    let keys = keys(6, 1000);
    for strategy in ALL.iter().filter(|strategy| restores(strategy)) {
        for_all(14, &(weights.clone(), added.clone()), |(weights, added)| {
            let mut cluster = Cluster::new(strategy, &weights);
            let before = owners(&*cluster.router, &keys);
            let mut leaving = Vec::new();
            for (weight, turn) in added {
                let change = cluster
                    .change(Step::Add(weight))
                    .expect("any node may join");
                cluster.apply(&change);
                leaving.push((turn, subject(&change).to_owned()));
            }
            leaving.reverse(); // last in, first out
            if is_set(strategy) {
                leaving.sort();
            }
            for (_, name) in leaving {
                cluster.apply(&Change::remove(name));
            }
            let after = owners(&*cluster.router, &keys);
            assert_eq!(before, after, "{}", strategy.name);
        });
    }
}

#[test]
fn a_weight_that_comes_back_restores_every_route() {
    let keys = keys(7, 1000);
    let restoring = |strategy: &&Scheme| is_set(strategy) && fit(strategy, 2) == 2;
    for strategy in ALL.iter().filter(restoring) {
        let mut cluster = Cluster::new(strategy, &[1, 2, 3, 4]);
        let before = owners(&*cluster.router, &keys);
        for weight in [0, 5, 1, 3] {
            cluster.apply(&Change::reweight("node-2", weight));
        }
        assert_eq!(before, owners(&*cluster.router, &keys), "{}", strategy.name);
    }
}

#[test]
fn two_hundred_removals_and_returns_restore_exactly() {
    const GONE: usize = 200;
    let keys = keys(8, 300);
    for strategy in ALL.iter().filter(|strategy| restores(strategy)) {
        let mut cluster = Cluster::new(strategy, &[1; GONE + 20]);
        let first = owners(&*cluster.router, &keys);
        let mut names: Vec<_> = (20..GONE + 20).map(|i| format!("node-{i}")).collect();
        if caps(strategy).leave == Leave::Last {
            names.reverse();
        } else {
            // Any order that is not the order of the names.
            names.sort_by_key(|name| KeyHash::from_bytes(name.as_bytes()));
        }
        let mut before = first.clone();
        let mut change = |cluster: &mut Cluster, change: Change| {
            let rises = matches!(change, Change::Add(_));
            let live = cluster.router.nodes().weighted() + usize::from(rises);
            cluster.apply(&change);
            let after = owners(&*cluster.router, &keys);
            let excess = moves(&change, rises, &before, &after).excess;
            let chance = excess_chance(strategy, excess, keys.len(), live);
            let limit = SIGNIFICANCE / (2 * GONE * ALL.len()) as f64;
            assert!(chance >= limit, "{} {change:?} {excess}", strategy.name);
            before = after;
        };
        for name in &names {
            change(&mut cluster, Change::remove(name.as_str()));
        }
        // They return as they left where any may leave, last out first in where not.
        names.reverse();
        if caps(strategy).leave == Leave::Any && is_set(strategy) {
            names.rotate_left(GONE / 3);
        }
        for name in &names {
            let node = hashroute::Node::new(name.as_str());
            change(&mut cluster, Change::Add(node));
        }
        let last = owners(&*cluster.router, &keys);
        assert_eq!(first, last, "{}", strategy.name);
    }
}
