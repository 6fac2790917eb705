//! Plans of moves, transitions, and routers that readers share.

use std::collections::BTreeMap;
use std::sync::Arc;

use arbitrary::Unstructured;
use hashroute::plan::{Budget, Phase, Plan, Replicas, Transition};
use hashroute::redis::{ClusterNode, Goal, Role, SlotBudget, SlotPlan, SlotRule};
use hashroute::registry::{Params, Scheme};
use hashroute::shared::Shared;
use hashroute::{
    BoundedLoad, Change, KeyHasher, Loads, Node, NodeId, Rendezvous, Ring, Router, Spread, diff,
    strategy,
};

use super::nodes;
use crate::Outcome;
use crate::draw::Draw;

const ROUNDING: f64 = 1e-9;

fn share(u: &mut Unstructured<'_>) -> f64 {
    if u.chance(100) {
        1.0
    } else {
        0.05 + f64::from(u.byte()) / 270.0
    }
}

/// Builds a router of few nodes, and the one after a few changes.
fn pair(u: &mut Unstructured<'_>, row: &'static Scheme) -> Option<[Arc<dyn Router>; 2]> {
    let params = match row.name {
        "ring" => Params::default().with("points", "3"),
        "maglev" => Params::default().with("table-size", "31"),
        _ => Params::default().with("slots", "64"),
    };
    let count = u.range(1, 4);
    let list: Vec<_> = (0..count)
        .map(|i| nodes::node(u, row, format!("n{i}")))
        .collect();
    let old = row.build(list.clone(), &params).ok()?;
    let mut new = row.build(list, &params).ok()?;
    for step in 0..u.range(1, 3) {
        let name = format!("n{}", u.below(count));
        let change = match u.below(3) {
            0 => Change::Add(nodes::node(u, row, format!("new{step}"))),
            1 => Change::remove(name),
            _ => Change::reweight(name, nodes::weight(u, row)),
        };
        let _ = new.apply(&change);
    }
    Some([old.into(), new.into()])
}

/// The steps of a plan keep the budget and add up to the diff; the transition through them loses
/// no key.
pub(crate) fn plans(u: &mut Unstructured<'_>) -> Outcome {
    let row = strategy::find(u.pick(&["ring", "maglev", "slots"])).expect("a strategy");
    let Some([old, new]) = pair(u, row) else {
        return Outcome::Refused;
    };
    // Several replicas over slots are planned from a sample, which is slow.
    let n = if row.name == "slots" && !u.chance(4) {
        1
    } else {
        u.range(1, 3)
    };
    let replicas = Replicas::new(n, u.pick(&[Spread::Nodes, Spread::Zones]));
    let budget = Budget::default()
        .with_step(share(u))
        .with_node_in(share(u))
        .with_node_out(share(u));
    let Ok(plan) = Plan::new(&*old, &*new, replicas, budget) else {
        return Outcome::Refused;
    };
    let mut moved = 0.0;
    let mut ranges = Vec::new();
    for step in plan.steps() {
        assert!(step.moved() <= budget.step + ROUNDING);
        let mut sums: [BTreeMap<&str, f64>; 2] = Default::default();
        for transfer in step.transfers() {
            assert_ne!(transfer.from, transfer.to);
            *sums[0].entry(transfer.to).or_default() += transfer.share;
            *sums[1].entry(transfer.from).or_default() += transfer.share;
        }
        for (sums, limit) in sums.iter().zip([budget.node_in, budget.node_out]) {
            assert!(
                sums.values().all(|share| *share <= limit + ROUNDING),
                "{sums:?} {limit}"
            );
        }
        moved += step.moved();
        ranges.extend(step.ranges().map(|range| (range.first(), range.last())));
    }
    ranges.sort_unstable();
    assert!(
        ranges.windows(2).all(|pair| pair[0].1 < pair[1].0),
        "ranges overlap"
    );
    assert!((moved - plan.moved()).abs() < ROUNDING);
    if plan.is_exact() {
        let diff = diff(&*old, &*new).expect("few nodes");
        if n == 1 {
            assert!(
                (moved - diff.moved()).abs() < ROUNDING,
                "{moved} {}",
                diff.moved()
            );
        } else {
            assert!(moved > diff.moved() - ROUNDING);
        }
    }
    through(u, [old, new], &plan);
    Outcome::Accepted
}

/// Goes through all phases of a transition with a few keys.
fn through(u: &mut Unstructured<'_>, [old, new]: [Arc<dyn Router>; 2], plan: &Plan) {
    let change = Transition::new(old.clone(), new.clone(), plan).expect("the same routers");
    let keys: Vec<_> = (0..3).map(|_| u.key()).collect();
    let owner =
        |router: &dyn Router, key: &[u8]| router.route(key).map(|node| node.name().to_owned());
    let mut at = change;
    let mut phases = vec![Phase::Waiting; keys.len()];
    for turn in 0.. {
        for (key, last) in keys.iter().zip(&mut phases) {
            let owners = at.owners(key);
            let now = owners
                .now
                .and_then(|id| at.nodes().name(id))
                .map(str::to_owned);
            let ends = [owner(&*old, key), owner(&*new, key)];
            assert!(ends.contains(&now), "{now:?} {ends:?}");
            let phase = at.phase_of(key);
            assert!(phase >= *last, "a key goes back");
            *last = phase;
            if turn == 0 {
                assert_eq!(now, ends[0]);
            }
            if at.is_done() {
                assert_eq!(now, ends[1]);
            }
            // Who holds the key now never deletes it.
            for id in &at.lists(key).now {
                assert!(!at.may_delete(*id, key));
            }
        }
        assert!(turn < 200_000, "no end");
        if !at.advance() {
            break;
        }
    }
    assert!(at.is_done());
}

/// A shared router against a list of its versions.
pub(crate) fn shared(u: &mut Unstructured<'_>) -> Outcome {
    let ring = |names: &[String]| Ring::with_points(names.iter().map(|name| Node::new(&**name)), 2);
    let mut names: Vec<String> = (0..u.range(1, 3)).map(|i| format!("n{i}")).collect();
    let shared = Shared::new(ring(&names).expect("a ring"));
    let mut reader = shared.reader();
    let (mut epoch, key) = (0, u.key());
    let mut pins = vec![(shared.pin(), names.clone())];
    for step in 0..u.range(1, 8) {
        match u.below(3) {
            0 => {
                let to = epoch + u.odd_number() % 5;
                let next: Vec<_> = (0..u.range(1, 3)).map(|i| format!("p{i}")).collect();
                let published = shared.publish(ring(&next).expect("a ring"), to);
                assert_eq!(published.is_ok(), to > epoch);
                if published.is_ok() {
                    (epoch, names) = (to, next);
                }
            }
            way => {
                let mut next = names.clone();
                let mut changes = Vec::new();
                for change in 0..u.below(3) {
                    if way == 1 || next.is_empty() {
                        let name = format!("s{step}-{change}");
                        changes.push(Change::add(&*name));
                        next.push(name);
                    } else {
                        let name = next.remove(u.below(next.len()));
                        changes.push(Change::remove(&*name));
                    }
                }
                let fails = u.chance(40) && !changes.is_empty();
                if fails {
                    changes.push(Change::remove("nobody"));
                }
                let updated = shared.update(&changes);
                assert_eq!(updated.is_ok(), !fails);
                if !fails {
                    epoch += u64::from(!changes.is_empty());
                    assert_eq!(updated.expect("as said"), epoch);
                    names = next;
                }
            }
        }
        let version = reader.get();
        assert_eq!(
            (version.epoch(), version.nodes().len()),
            (epoch, names.len())
        );
        let fresh = ring(&names).expect("a ring");
        assert_eq!(version.route(&key), fresh.route(&key));
        pins.push((shared.pin(), names.clone()));
    }
    // A pinned version never changes.
    for (version, names) in pins {
        assert!(names.iter().all(|name| version.nodes().id(name).is_some()));
        assert_eq!(version.nodes().len(), names.len());
    }
    Outcome::Accepted
}

/// Leases under a bound of loads, against a list.
pub(crate) fn leases(u: &mut Unstructured<'_>) -> Outcome {
    let factor = 1.0 + f64::from(u.byte()) / 100.0;
    let list: Vec<_> = (0..u.range(1, 5))
        .map(|i| Node::new(format!("n{i}")).with_weight(u.below(4) as u32))
        .collect();
    let inner: Box<dyn Router> = if u.chance(128) {
        Box::new(Ring::with_points(list, 2).expect("a ring"))
    } else {
        Box::new(Rendezvous::new(list).expect("nodes"))
    };
    let Ok(mut router) = BoundedLoad::new(inner, factor) else {
        return Outcome::Refused;
    };
    let cap = if u.chance(60) {
        u.range(1, 4) as u64
    } else {
        u64::MAX
    };
    router = router.with_cap(cap);
    let (mut held, mut model) = (Vec::new(), BTreeMap::<NodeId, u64>::new());
    for step in 0..u.range(1, 30) {
        match u.byte() {
            0..=159 => {
                let key = u.key();
                // The bound is computed with the key counted.
                let rooms: BTreeMap<_, _> = router
                    .nodes()
                    .ids()
                    .map(|id| (id, router.capacity(id)))
                    .collect();
                let load = |id: &NodeId| model.get(id).copied().unwrap_or(0);
                match router.acquire(&key) {
                    Some(lease) => {
                        let id = lease.node();
                        assert!(
                            load(&id) < rooms[&id] && load(&id) < cap,
                            "{rooms:?} {model:?}"
                        );
                        // The first with room in the order of the router below.
                        let hash = router.hash_key(&key).expect("any key");
                        let mut first = None;
                        router.router().walk(hash, &mut |node| {
                            if load(&node) < rooms[&node] {
                                first = Some(node);
                                return core::ops::ControlFlow::Break(());
                            }
                            core::ops::ControlFlow::Continue(())
                        });
                        assert_eq!(first, Some(id));
                        *model.entry(id).or_default() += 1;
                        held.push(lease);
                    }
                    None => assert!(
                        rooms.iter().all(|(id, room)| load(id) >= *room),
                        "{rooms:?}"
                    ),
                }
            }
            160..=219 if !held.is_empty() => {
                let lease = held.swap_remove(u.below(held.len()));
                let id = lease.node();
                assert!(router.release(lease));
                *model.entry(id).or_default() -= 1;
            }
            220..=239 => {
                let change =
                    Change::Add(Node::new(format!("new{step}")).with_weight(u.below(3) as u32));
                router.apply(&change).expect("a new name");
            }
            240..=247 => {
                let ids: Vec<_> = router.nodes().ids().collect();
                if let Some(id) = ids.get(u.below(ids.len())) {
                    let name = router.nodes().name(*id).expect("a member").to_owned();
                    router.apply(&Change::remove(&*name)).expect("a member");
                    model.remove(id);
                    // Leases of a node that left release nothing.
                    let (gone, stay) = held.into_iter().partition(|lease| lease.node() == *id);
                    held = stay;
                    let gone: Vec<hashroute::Lease> = gone;
                    assert!(gone.into_iter().all(|lease| !router.release(lease)));
                }
            }
            _ => {
                let name = format!("n{}", u.below(5));
                let _ = router.apply(&Change::reweight(&*name, u.below(4) as u32));
            }
        }
        assert_eq!(router.total_load(), held.len() as u64);
        for id in router.nodes().ids() {
            assert_eq!(router.load(id), model.get(&id).copied().unwrap_or(0));
        }
    }
    Outcome::Accepted
}

/// Plans of slots: steps keep their budget, and lead to the goal from anywhere between.
pub(crate) fn slots(u: &mut Unstructured<'_>) -> Outcome {
    let rule = SlotRule::new(KeyHasher::REDIS, u.pick(&[16, 64, 100])).expect("few slots");
    let mut table = super::cluster::table(u, rule.clone());
    let mut goal = if u.chance(128) {
        Goal::even(&table)
    } else {
        Goal::new()
    };
    let primary = |node: &&ClusterNode| node.role() == Role::Primary && !node.flags().failed;
    for (at, node) in table.nodes().iter().filter(primary).enumerate() {
        if at == 0 || u.chance(128) {
            goal = goal.with_weight(node.id(), u32::from(at == 0) + u.below(4) as u32);
        }
    }
    let loaded = u.chance(80);
    if loaded {
        let loads = (0..rule.slots()).map(|_| u64::from(u.byte())).collect();
        goal = goal.with_loads(loads);
    }
    let Ok(plan) = SlotPlan::new(&table, &goal) else {
        return Outcome::Refused;
    };
    let budget = SlotBudget::default().with_slots(u.range(1, 40) as u32);
    let mut next = 0;
    for step in plan.steps(budget) {
        assert_eq!(step.start, next);
        assert!(!step.is_empty() && step.len() <= budget.slots as usize);
        next = step.end;
        for planned in plan.moves().skip(step.start).take(step.len()) {
            assert_ne!(planned.from, Some(planned.to));
            let owner = table.owner(planned.slot).map(ClusterNode::id);
            assert_eq!(owner, planned.from);
        }
        plan.apply(&mut table, step)
            .expect("the step fits the table");
        let left = plan.left(&table).expect("the same nodes");
        assert_eq!(left.len(), plan.len() - next);
    }
    assert_eq!(next, plan.len());
    let unowned = table.runs().any(|(_, owner)| owner.is_none());
    assert!(!unowned, "a plan leaves no slot without an owner");
    if !loaded {
        let again = SlotPlan::new(&table, &goal).expect("as before");
        assert!(
            again.is_empty(),
            "a goal that is reached moves {} slots",
            again.len()
        );
    }
    assert!(
        table
            .nodes()
            .iter()
            .all(|node| node.role() == Role::Primary || table.count(node.id()) == 0)
    );
    Outcome::Accepted
}
