//! Remap: the keys that move, that had to move, and that moved in excess.

use hashroute::registry::Agree;
use hashroute::strategy::{self, Params};
use hashroute::{
    BoundedLoad, Change, Error, Jump, Loads, Node, Nodes, Router, RouterExt, diff_keys,
};
use hashroute_harness::{self, Assignment, Keys, Remap, Scenario, Undo, remap, round_trip};

use crate::nodes;

fn change(strategy: &str, count: usize, changes: &[Change], keys: &Keys) -> Result<Remap, Error> {
    let scenario = Scenario::new(nodes(count), keys).with_changes(changes);
    scenario.remap(strategy::find(strategy)?, &Params::default())
}

/// Returns an assignment to nodes of these weights, by the name of each key's owner.
fn assignment(weights: &[(&str, u32)], owners: &[&str]) -> Result<Assignment, Error> {
    let nodes = Nodes::new(
        weights
            .iter()
            .map(|&(name, weight)| Node::new(name).with_weight(weight)),
    )?;
    Ok(Assignment::new(
        &nodes,
        owners.iter().map(|name| nodes.id(name)),
    ))
}

#[test]
fn a_remap_has_the_flows_of_a_diff_by_keys() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..5000)?;
    let assign = |router: &dyn Router| {
        Assignment::new(router.nodes(), keys.iter().map(|key| router.owner(key)))
    };
    for strategy in strategy::ALL {
        let build = |count| strategy.build(nodes(count), &Params::default());
        for (before, after) in [(5, 6), (7, 5)] {
            let (old, new) = (build(before)?, build(after)?);
            let diff = diff_keys(&*old, &*new, keys.iter())?;
            let remap = remap(&assign(&*old), &assign(&*new), &keys);
            let of_diff = diff.flows().map(|flow| (flow.from, flow.to, flow.count));
            let of_remap = remap.flows.iter();
            let of_remap = of_remap.map(|flow| {
                (
                    flow.from.as_deref(),
                    flow.to.as_deref(),
                    u128::from(flow.keys),
                )
            });
            assert!(of_remap.eq(of_diff), "{}", strategy.name);
            assert!(!remap.flows.is_empty(), "{}", strategy.name);
        }
    }
    Ok(())
}

#[test]
fn a_remap_is_that_computed_by_hand() -> Result<(), Error> {
    let keys = Keys::template("{i}", 0..6)?.with_sizes(vec![1, 2, 4, 8, 16, 32])?;
    let before = assignment(
        &[("a", 1), ("b", 1), ("c", 2)],
        &["a", "a", "b", "b", "c", "nobody"],
    )?;
    // The names have other ids afterwards: a leaves, c loses weight, d joins.
    let after = assignment(
        &[("d", 2), ("c", 1), ("b", 1)],
        &["d", "b", "b", "c", "b", "d"],
    )?;
    let remap = remap(&before, &after, &keys);
    let flow = |from, to, keys, bytes| {
        let name = |name: &'static str| (!name.is_empty()).then_some(name);
        (name(from), name(to), keys, Some(bytes))
    };
    let flows = [
        flow("", "d", 1, 32),
        flow("a", "b", 1, 2),
        flow("a", "d", 1, 1),
        flow("b", "c", 1, 8),
        flow("c", "b", 1, 16),
    ];
    let found = remap.flows.iter().map(|flow| {
        let (from, to) = (flow.from.as_deref(), flow.to.as_deref());
        (from, to, flow.keys, flow.bytes)
    });
    assert_eq!(found.collect::<Vec<_>>(), flows);
    assert_eq!(
        (remap.keys, remap.moved, remap.excess),
        (6, 5, 1),
        "only b to c is an excess move"
    );
    assert_eq!(remap.ideal_share, 0.5); // d gains 2 of 4
    assert_eq!(
        remap.bytes.map(|bytes| (bytes.total, bytes.moved)),
        Some((63, 59))
    );
    Ok(())
}

#[test]
fn an_even_strategy_moves_the_ideal_share_within_its_error() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..40_000)?;
    for count in [1, 2, 3, 7, 20, 64] {
        let add = [Change::Add(Node::new("new"))];
        for strategy in ["rendezvous", "jump"] {
            let remap = change(strategy, count, &add, &keys)?;
            let ideal = 1.0 / (count as f64 + 1.0);
            assert!((remap.ideal_share - ideal).abs() < 1e-12);
            assert!((remap.noise_share - (ideal * (1.0 - ideal) / 40_000.0).sqrt()).abs() < 1e-12);
            let error = (remap.moved_share - ideal).abs() / remap.noise_share;
            assert!(error < 4.0, "{strategy} {count}: {error} standard errors");
            assert_eq!(remap.excess, 0);
        }
    }
    Ok(())
}

#[test]
fn the_error_of_a_moved_share_counts_distinct_keys() -> Result<(), Error> {
    let mut repeated = Keys::default();
    (0..1000).for_each(|i: u32| repeated.push(&(i % 10).to_le_bytes()));
    let remap = change("rendezvous", 3, &[Change::Add(Node::new("new"))], &repeated)?;
    assert!((remap.noise_share - (0.25 * 0.75 / 10.0_f64).sqrt()).abs() < 1e-12);
    Ok(())
}

#[test]
fn a_ring_has_no_excess_moves_and_modulo_many() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..20_000)?;
    let changes = [
        vec![Change::Add(Node::new("new").with_weight(2))],
        vec![Change::remove("n0")],
        vec![Change::reweight("n3", 5)],
        vec![
            Change::remove("n0"),
            Change::Add(Node::new("new")),
            Change::reweight("n1", 0),
        ],
    ];
    for changes in &changes {
        let ring = change("ring", 8, changes, &keys)?;
        assert!(ring.excess == 0 && ring.moved > 0, "{changes:?}");
        let modulo = change("modulo", 8, changes, &keys)?;
        let touched = ["new", "n0", "n1", "n3"].map(|name| Some(name.to_owned()));
        let stable = |flow: &&hashroute_harness::KeyFlow| {
            !touched.contains(&flow.from) && !touched.contains(&flow.to)
        };
        let between_others: u64 = modulo
            .flows
            .iter()
            .filter(stable)
            .map(|flow| flow.keys)
            .sum();
        assert!(modulo.excess >= between_others && between_others > 0);
        assert!(modulo.excess_share > 0.25, "{}", modulo.excess_share);
    }
    Ok(())
}

#[test]
fn a_change_of_weight_has_an_ideal_share() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..50_000)?;
    // From 1/4 to 3/6.
    let remap = change("rendezvous", 4, &[Change::reweight("n0", 3)], &keys)?;
    assert!((remap.ideal_share - 0.25).abs() < 1e-12);
    assert!((remap.moved_share - 0.25).abs() < 4.0 * remap.noise_share);
    let same = change("rendezvous", 4, &[], &keys)?;
    assert_eq!(
        (same.moved, same.ideal_share, same.noise_share),
        (0, 0.0, 0.0)
    );
    // Doubling all weights changes no fair share.
    let doubled: Vec<_> = nodes(4)
        .iter()
        .map(|node| Change::reweight(node.name(), 2))
        .collect();
    assert_eq!(change("rendezvous", 4, &doubled, &keys)?.ideal_share, 0.0);
    Ok(())
}

#[test]
fn keys_without_an_owner_before_or_after_are_flows_of_their_own() -> Result<(), Error> {
    let keys = Keys::template("{i}", 0..10)?;
    let first = change("ring", 0, &[Change::Add(Node::new("first"))], &keys)?;
    assert_eq!(
        (first.moved_share, first.ideal_share, first.excess),
        (1.0, 1.0, 0)
    );
    assert_eq!(first.flows[0].from, None);
    let last = change("ring", 1, &[Change::reweight("n0", 0)], &keys)?;
    assert_eq!(
        (last.moved_share, last.ideal_share, last.excess),
        (1.0, 1.0, 0)
    );
    Ok(())
}

#[test]
fn a_round_trip_restores_every_route() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..3000)?;
    let any = [
        Change::remove("n1"),
        Change::Add(Node::new("x").with_weight(2)),
        Change::reweight("n2", 3),
        Change::remove("n5"),
    ];
    let growth = ["x", "y", "z"].map(|name| Change::Add(Node::new(name)));
    for strategy in strategy::ALL {
        let build = || strategy.build(nodes(6), &Params::default());
        for seed in 0..5 {
            let remap = match strategy.agree() {
                Agree::Set => round_trip(&build, &any, Undo::AnyOrder, seed, &keys)?,
                Agree::Count | Agree::History => {
                    round_trip(&build, &growth, Undo::LastFirst, seed, &keys)?
                }
                Agree::Load => round_trip(&build, &any, Undo::LastFirst, seed, &keys)?,
                _ => continue, // its table depends on earlier changes
            };
            assert_eq!(
                (remap.moved, remap.ideal_share),
                (0, 0.0),
                "{} {seed}",
                strategy.name
            );
        }
    }
    let build = || Ok(Box::new(Jump::new(nodes(3))?) as Box<dyn Router>);
    assert!(round_trip(&build, &[Change::remove("n0")], Undo::LastFirst, 1, &keys).is_err());
    Ok(())
}

#[test]
fn loads_start_at_0_in_every_state() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..1000)?;
    let bounded = BoundedLoad::new(Jump::new(nodes(4))?, 1.1)?;
    let (first, second) = (
        Assignment::of(&bounded, &keys),
        Assignment::of(&bounded, &keys),
    );
    assert_eq!(bounded.total_load(), 2000, "one router counts on");
    assert_ne!(first, second);
    assert_eq!(
        change("bounded", 4, &[], &keys)?.moved,
        0,
        "a scenario takes fresh ones"
    );
    Ok(())
}
