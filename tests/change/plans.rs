//! The steps of a plan keep the budget, add up to the diff, and leave no key without an owner.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashroute::plan::{Budget, Phase, Plan, Replicas, Transition};
use hashroute::{
    BoundedLoad, Error, HashSlots, KeyHasher, Maglev, Node, NodeId, Nodes, Rendezvous, Ring,
    Router, RouterExt, Spread, diff,
};
use proptest::collection::vec;
use proptest::prelude::{Just, any, prop_oneof};

use crate::{plannable, states, texts};
use hashroute_test_support::{Outcome, Step, for_all, nodes};

/// The rounding error of a sum of shares.
const ROUNDING: f64 = 1e-9;

fn replicas(n: usize, spread: Spread) -> Replicas {
    Replicas::new(n, spread)
}

/// Checks every figure of every step against the budget, and that no two ranges overlap.
fn check_steps(what: &str, plan: &Plan, budget: Budget) -> f64 {
    let (mut ranges, mut moved) = (Vec::new(), 0.0);
    for step in plan.steps() {
        let mut sums: [BTreeMap<&str, f64>; 2] = Default::default();
        for transfer in step.transfers() {
            assert_ne!(transfer.from, transfer.to, "{what}");
            *sums[0].entry(transfer.to).or_default() += transfer.share;
            *sums[1].entry(transfer.from).or_default() += transfer.share;
        }
        for (sums, limit) in sums.iter().zip([budget.node_in, budget.node_out]) {
            let held = sums.values().all(|share| *share <= limit + ROUNDING);
            assert!(held, "{what}: {sums:?} over {limit}");
        }
        assert!(step.moved() <= budget.step, "{what}: {}", step.moved());
        assert!(
            step.ranges().len() > 0 && (step.moved() > 0.0 || !plan.is_exact()),
            "{what}: an empty step"
        );
        moved += step.moved();
        ranges.extend(step.ranges().map(|range| (range.first(), range.last())));
    }
    ranges.sort_unstable();
    assert!(ranges.iter().all(|(first, last)| first <= last));
    assert!(
        ranges.windows(2).all(|pair| pair[0].1 < pair[1].0),
        "{what}: ranges overlap"
    );
    moved
}

#[test]
fn steps_keep_the_budget_and_add_up_to_the_diff() {
    let share = || prop_oneof![Just(1.0), 0.03..1.0_f64];
    let weights = vec(0_u32..4, 1..8);
    let steps = (any::<usize>(), 0_u32..4);
    let spread = prop_oneof![Just(Spread::Nodes), Just(Spread::Zones)];
    let budget = (share(), share(), share());
    let inputs = (weights, steps, 1_usize..4, spread, budget);
    for strategy in plannable() {
        // Plans from a sample are slow.
        let [router, _] = states(strategy, &[1], &[]);
        let cases = if router.ranges().is_some() { 6 } else { 2 };
        for_all(
            cases,
            &inputs,
            |(weights, (who, weight), n, spread, budget)| {
                let change = [
                    Step::Add(weight),
                    Step::Reweight(who, weight),
                    Step::Remove(who),
                    Step::Add(2),
                ];
                let [old, new] = states(strategy, &weights, &change);
                let (step, node_in, node_out) = budget;
                let budget = Budget::default()
                    .with_step(step)
                    .with_node_in(node_in)
                    .with_node_out(node_out);
                let plan = Plan::new(&*old, &*new, replicas(n, spread), budget).expect("a budget");
                let moved = check_steps(strategy.name, &plan, budget);
                let diff = diff(&*old, &*new).expect("few nodes");
                // Five standard errors of the difference of two samples.
                let sampled = 5.0 * (0.25_f64 / 16_384.0 + 0.25 / 65_536.0).sqrt();
                let error = if plan.is_exact() { ROUNDING } else { sampled };
                if n == 1 {
                    assert!(
                        (moved - diff.moved()).abs() < error,
                        "{}: {moved}",
                        strategy.name
                    );
                } else {
                    assert!(moved > diff.moved() - error, "{}: {moved}", strategy.name);
                }
                // A node that may delete a range does not receive it.
                for range in plan
                    .steps()
                    .flat_map(|step| step.ranges())
                    .filter(|_| plan.is_exact())
                {
                    let deletes: Vec<_> = range.deletes().map(|(name, _)| name).collect();
                    assert!(
                        range
                            .transfers()
                            .all(|transfer| !deletes.contains(&transfer.to))
                    );
                }
            },
        );
    }
}

#[test]
fn a_plan_is_the_same_every_time() -> Outcome {
    let budget = Budget::default().with_step(0.2);
    for strategy in plannable() {
        let [old, new] = states(strategy, &[1, 2, 1], &[Step::Add(2)]);
        let plan = || Plan::new(&*old, &*new, replicas(1, Spread::Nodes), budget);
        assert_eq!(format!("{:?}", plan()?), format!("{:?}", plan()?));
    }
    Ok(())
}

/// Returns the replicas of a key in both routers, by name.
fn lists(routers: [&dyn Router; 2], key: &[u8], replicas: Replicas) -> [Vec<String>; 2] {
    routers.map(|router| {
        let list = router.replicas(key, replicas.n, replicas.spread);
        names(router.nodes(), &list)
    })
}

fn names(nodes: &Nodes, list: &[NodeId]) -> Vec<String> {
    let name = |id: &NodeId| nodes.name(*id).expect("a member").to_owned();
    list.iter().map(name).collect()
}

/// Returns what a transition says of a key in its present phase.
fn check_key(change: &Transition, key: &[u8], [before, after]: &[Vec<String>; 2], plan: &Plan) {
    let phase = change.phase_of(key);
    let lists = change.lists(key);
    let (now, other) = match phase {
        Phase::Waiting => (before, &vec![]),
        Phase::Copying => (before, after),
        Phase::Switched => (after, before),
        Phase::Done => (after, &vec![]),
        _ => panic!("{phase:?}"),
    };
    assert_eq!(names(change.nodes(), &lists.now), *now);
    assert_eq!(names(change.nodes(), &lists.other), *other);
    let owners = change.owners(key);
    assert_eq!(owners.now, lists.now.first().copied());
    let next = lists.other.first().filter(|id| owners.now != Some(**id));
    assert_eq!(owners.other, next.copied());
    let (router, Replicas { n, spread, .. }) =
        (change.router().expect("one hash"), plan.replicas());
    assert_eq!(router.owner(key), owners.now);
    assert_eq!(router.replicas(key, n, spread), lists.now);

    let sources = change.sources(key);
    let gained = after.iter().filter(|name| !before.contains(name)).count();
    assert_eq!(
        sources.len(),
        if phase == Phase::Copying { gained } else { 0 }
    );
    // A key that moves has a step and its copies, whatever the phase is.
    let step = change.step_of(key);
    assert_eq!(change.copies(key).len(), gained);
    assert!(gained == 0 || step.is_some());
    let copying = step.map(|step| 2 * step + 1) == Some(change.phase());
    assert_eq!(phase == Phase::Copying, copying);
    for &[from, to] in &sources {
        assert!(lists.now.contains(&from) && lists.other.contains(&to));
    }
    for (id, node) in change.nodes() {
        let name = node.name().to_owned();
        let needless = before.contains(&name) && !after.contains(&name);
        assert_eq!(change.may_delete(id, key), phase == Phase::Done && needless);
    }
}

/// In every phase each key has the owner and the replicas of the old router or of the new one, and
/// of the new one in the last phase. Every node that receives a key has a source for it.
#[test]
fn every_key_has_an_owner_and_a_source_at_every_moment() -> Outcome {
    let keys = texts(60);
    let budget = Budget::default().with_step(0.2);
    for strategy in plannable() {
        for (n, spread) in [(1, Spread::Nodes), (3, Spread::Nodes), (2, Spread::Zones)] {
            let replicas = replicas(n, spread);
            let change = [
                Step::Add(2),
                Step::Add(1),
                Step::Remove(1),
                Step::Reweight(0, 3),
            ];
            let [old, new] = states(strategy, &[1, 2, 1, 1, 1], &change);
            let plan = Plan::new(&*old, &*new, replicas, budget)?;
            let mut change = Transition::new(old.clone(), new.clone(), &plan)?;
            let mut phases = vec![Phase::Waiting; keys.len()];
            let known: Vec<_> = keys
                .iter()
                .map(|key| lists([&*old, &*new], key.as_bytes(), replicas))
                .collect();
            loop {
                for ((key, lists), phase) in keys.iter().zip(&known).zip(&mut phases) {
                    let key = key.as_bytes();
                    let now = change.phase_of(key);
                    assert!(now >= *phase, "{}: back again", strategy.name);
                    *phase = now;
                    check_key(&change, key, lists, &plan);
                }
                if !change.advance() {
                    break;
                }
            }
            assert!(change.is_done() && phases.iter().all(|phase| *phase == Phase::Done));
            let steps = u32::try_from(plan.steps().len())?;
            assert_eq!(change.phase(), 2 * steps + 1, "{}", strategy.name);
            assert!(change.at(2 * steps + 2).is_err());
        }
    }
    Ok(())
}

/// A node whose weight falls to 0 or rises from 0 serves during the transition. It counts with the
/// larger of its two weights.
#[test]
fn a_node_without_weight_on_one_side_serves_on_the_other() -> Outcome {
    let ring = |weight| -> Result<Arc<dyn Router>, Error> {
        let last = Node::new("c").with_weight(weight);
        Ok(Arc::new(Ring::new(
            ["a", "b"].map(Node::new).into_iter().chain([last]),
        )?))
    };
    let (with, without) = (ring(2)?, ring(0)?);
    let three = replicas(3, Spread::Nodes);
    for (old, new) in [(&with, &without), (&without, &with)] {
        let plan = Plan::new(&**old, &**new, three, Budget::default())?;
        let mut change = Transition::new(old.clone(), new.clone(), &plan)?;
        let mut lengths = Vec::new();
        loop {
            let id = change.nodes().id("c").ok_or("a member")?;
            assert_eq!(change.nodes().weight(id), Some(2));
            let router = change.router().ok_or("one hash")?;
            lengths.push(router.replicas(b"key", 3, Spread::Nodes).len());
            if !change.advance() {
                break;
            }
        }
        let ends = [old, new].map(|router| router.nodes().weighted());
        assert_eq!([lengths[0], lengths[lengths.len() - 1]], ends);
    }
    Ok(())
}

/// So few keys move that the sample contains none of them.
#[test]
fn keys_outside_the_sample_move_as_well() -> Outcome {
    let heavy = |name: &str| Node::new(name).with_weight(10_000);
    let old: Arc<dyn Router> = Arc::new(Rendezvous::new(["a", "b", "c"].map(heavy))?);
    let joined = [heavy("a"), heavy("b"), heavy("c"), Node::new("d")];
    let new: Arc<dyn Router> = Arc::new(Rendezvous::new(joined)?);
    let default = (Replicas::default(), Budget::default());
    let plan = Plan::new(&*old, &*new, default.0, default.1)?;
    assert_eq!((plan.steps().len(), plan.moved()), (1, 0.0));
    let mut change = Transition::new(old.clone(), new.clone(), &plan)?;
    let is_new = |key: &String| {
        new.route(key.as_bytes())
            .is_some_and(|node| node.name() == "d")
    };
    let key = (0..300_000)
        .map(|i| format!("user:{i}"))
        .find(is_new)
        .ok_or("no key of 300,000")?;
    assert_eq!(change.phase_of(key.as_bytes()), Phase::Waiting);
    let owner = change.owners(key.as_bytes()).now.ok_or("no owner")?;
    assert_ne!(change.nodes().name(owner), Some("d"));
    while change.advance() {}
    let owner = change.owners(key.as_bytes()).now.ok_or("no owner")?;
    assert_eq!(change.nodes().name(owner), Some("d"));
    // One slot of thirty moves; its copies are estimated.
    for slot in (0..30_u32).step_by(5) {
        let table = HashSlots::with_slots(nodes(4), 30)?;
        let mut moved = table.clone();
        moved.assign(slot..slot + 1, "node-3")?;
        let plan = Plan::new(&table, &moved, replicas(3, Spread::Nodes), default.1)?;
        let same = table.ranges() == moved.ranges();
        assert_eq!(plan.steps().len() == 0, same, "{slot}");
    }
    // Equal routers need no estimate.
    assert_eq!(
        Plan::new(&*old, &*old, default.0, default.1)?.steps().len(),
        0
    );
    Ok(())
}

/// A plan of other routers would leave keys behind.
#[test]
fn a_plan_is_refused_for_other_routers() -> Outcome {
    let ring = |points| -> Result<Arc<dyn Router>, Error> {
        Ok(Arc::new(Ring::with_points(nodes(5), points)?))
    };
    let weighed = |weight| -> Result<Arc<dyn Router>, Error> {
        let nodes = [
            Node::new("a").with_weight(weight),
            Node::new("b").with_weight(3),
        ];
        Ok(Arc::new(Rendezvous::new(nodes)?))
    };
    let table = |slots: u32| -> Result<Arc<dyn Router>, Error> {
        let ranges = [(0..=slots, "b"), (slots + 1..=16_383, "a")];
        let nodes = ["a", "b"].map(Node::new);
        Ok(Arc::new(HashSlots::from_ranges(nodes, 16_384, ranges)?))
    };
    let default = (Replicas::default(), Budget::default());
    for [old, new, other] in [
        [ring(100)?, ring(101)?, ring(200)?],
        [weighed(1)?, weighed(2)?, weighed(3)?],
        [table(0)?, table(10)?, table(8000)?],
    ] {
        let plan = Plan::new(&*old, &*new, default.0, default.1)?;
        assert!(Transition::new(old.clone(), new.clone(), &plan).is_ok());
        assert!(Transition::new(old.clone(), other.clone(), &plan).is_err());
        assert!(Transition::new(other, new, &plan).is_err());
    }
    Ok(())
}

/// A source in the same rack comes first, then one in the same zone.
#[test]
fn the_nearest_old_replica_is_the_source() -> Result<(), Error> {
    let place = |name: &'static str, zone: &'static str, rack: &'static str| {
        Node::new(name).with_location(zone, rack)
    };
    let old = [
        place("a", "z1", "r1"),
        place("b", "z1", "r2"),
        place("c", "z2", "r1"),
    ];
    let source = |new: Node| {
        let mut list = old.to_vec();
        let router = Ring::new(list.clone())?;
        list.push(new);
        let after = Ring::new(list)?;
        let plan = Plan::new(
            &router,
            &after,
            replicas(3, Spread::Nodes),
            Budget::default(),
        )?;
        let step = plan.steps().next().expect("one");
        let mut from: Vec<_> = step
            .transfers()
            .iter()
            .map(|one| one.from.to_owned())
            .collect();
        from.sort();
        Ok::<_, Error>(from)
    };
    assert_eq!(source(place("n", "z1", "r2"))?, ["b"]);
    assert_eq!(source(place("n", "z2", "r9"))?, ["c"]);
    assert_eq!(
        source(place("n", "z1", "r9"))?,
        ["a", "b"],
        "every replica of the zone is a source"
    );
    assert_eq!(source(place("n", "z9", "r1"))?, ["a", "b", "c"]);
    Ok(())
}

#[test]
fn a_range_is_kept_while_a_new_list_needs_it() -> Result<(), Error> {
    // Both lists have all three nodes and differ in order: nothing is copied or deleted.
    let (old, new) = (Ring::new(nodes(3))?, Maglev::new(nodes(3))?);
    let plan = Plan::new(&old, &new, replicas(3, Spread::Nodes), Budget::default())?;
    assert!(plan.is_exact() && plan.steps().len() == 1);
    for range in plan.steps().flat_map(|step| step.ranges()) {
        assert_eq!((range.transfers().count(), range.deletes().count()), (0, 0));
    }
    Ok(())
}

#[test]
fn impossible_plans_are_refused_with_a_reason() -> Outcome {
    let table = |count| {
        Ok::<_, Error>(HashSlots::with_slots(nodes(count), 100)?.with_hasher(KeyHasher::REDIS))
    };
    let (old, new) = (table(2)?, table(3)?);
    let plan = |budget: Budget, n| {
        Plan::new(&old, &new, replicas(n, Spread::Nodes), budget).map_err(|error| error.to_string())
    };
    // The share named in the error is the smallest that works: each of the first 36 of 100 slots
    // has 656 hashes.
    let least = 656.0 / 65_536.0;
    for (at, name) in ["step", "node_in", "node_out"].into_iter().enumerate() {
        let one = |share| limit(at, share);
        let error = plan(one(least * 0.999), 1).expect_err("too small");
        assert!(
            error.contains(&format!("at least {least}")) && error.starts_with(name),
            "{error}"
        );
        let steps = plan(one(least), 1)?;
        check_steps(name, &steps, one(least));
        for share in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY] {
            assert!(plan(one(share), 1).is_err(), "{name} {share}");
        }
    }
    assert!(plan(Budget::default(), 0).is_err() && plan(Budget::default(), 33).is_err());
    let (full, empty) = (Ring::new(nodes(3))?, Ring::new([] as [Node; 0])?);
    let default = (Replicas::default(), Budget::default());
    assert!(Plan::new(&full, &empty, default.0, default.1).is_err());
    let unowned = HashSlots::from_ranges([Node::new("a")], 100, [])?;
    assert!(Plan::new(&full, &unowned, default.0, default.1).is_err());
    let bounded = BoundedLoad::new(Ring::new(nodes(3))?, 1.25)?;
    assert!(Plan::new(&full, &bounded, default.0, default.1).is_err());
    assert_eq!(
        Plan::new(&empty, &full, default.0, default.1)?
            .steps()
            .len(),
        1
    );
    Ok(())
}

/// Returns a budget with one limit alone: of a step, of what a node receives, or of what it gives.
fn limit(field: usize, share: f64) -> Budget {
    let mut shares = [1.0; 3];
    shares[field] = share;
    let [step, node_in, node_out] = shares;
    Budget::default()
        .with_step(step)
        .with_node_in(node_in)
        .with_node_out(node_out)
}

/// The share that the message names is accepted.
#[test]
fn too_many_steps_are_refused_with_the_least_share() -> Outcome {
    let (old, new) = (Ring::new(nodes(3))?, Ring::new(nodes(4))?);
    let plan = |budget| Plan::new(&old, &new, Replicas::default(), budget);
    for field in 0..3 {
        let of = |share| limit(field, share);
        let error = plan(of(1e-12)).expect_err("no end of steps").to_string();
        let (_, least) = error.split_once("at least ").expect("what would do");
        let (least, why) = least.split_once(", ").expect("and why");
        assert_eq!(why, "so that 65536 steps can be enough");
        let steps = plan(of(least.parse()?))?.steps().len();
        assert!((60_000..=65_536).contains(&steps), "{field}: {steps}");
    }
    Ok(())
}
