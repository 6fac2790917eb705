//! Plans move the fewest slots, by brute force for small tables and by a lower bound for large.

use hashroute::redis::{
    ClusterNode, Flags, Goal, Heat, Mark, SlotBudget, SlotPlan, SlotRule, Table,
};
use hashroute::{Error, HashSlots, KeyHasher, Router};
use proptest::prelude::*;

use crate::printed;
use hashroute_test_support::Outcome;

fn cluster(slots: u32, nodes: usize) -> Result<Table, Error> {
    let nodes: Result<Vec<_>, _> = (0..nodes)
        .map(|i| ClusterNode::new(format!("n{i:03}")))
        .collect();
    Table::with_nodes(SlotRule::new(KeyHasher::REDIS, slots)?, nodes?)
}

fn goal(weights: &[u32]) -> Goal {
    let named = weights.iter().enumerate();
    named.fold(Goal::new(), |goal, (i, weight)| {
        goal.with_weight(format!("n{i:03}"), *weight)
    })
}

fn owners(table: &Table) -> Vec<Option<String>> {
    let slots = 0..table.rule().slots();
    slots
        .map(|slot| table.owner(slot).map(|node| node.id().to_owned()))
        .collect()
}

#[test]
fn two_hundred_empty_nodes_share_the_slots_of_one() -> Outcome {
    let mut table = cluster(16_384, 201)?;
    table.assign(0..=16_383, "n000")?;
    let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    plan.apply(&mut table, 0..plan.len())?;
    assert!(table.counts().iter().all(|count| [81, 82].contains(count)));
    assert_eq!(plan.len(), 16_384 - table.counts()[0] as usize);
    assert!(SlotPlan::new(&table, &Goal::even(&table))?.is_empty());
    Ok(())
}

#[test]
fn a_drained_node_ends_at_zero() -> Outcome {
    let mut table = cluster(16_384, 4)?;
    for (i, first) in [0, 4096, 8192, 12_288].into_iter().enumerate() {
        table.assign(first..=first + 4095, &format!("n{i:03}"))?;
    }
    // Weight 0 drains a node, and so does leaving it out.
    for goal in [goal(&[1, 1, 1, 0]), goal(&[1, 1, 1])] {
        let plan = SlotPlan::new(&table, &goal)?;
        let mut after = table.clone();
        plan.apply(&mut after, 0..plan.len())?;
        assert_eq!((plan.len(), after.count("n003")), (4096, 0));
    }
    Ok(())
}

/// Returns the fewest moves to any of the most even assignments, by trying all of them.
fn brute_force(before: &[Option<usize>], weights: &[u32]) -> usize {
    let (slots, nodes) = (before.len(), weights.len());
    let total: u32 = weights.iter().sum();
    let mut best: Option<(u64, usize)> = None;
    for code in 0..nodes.pow(u32::try_from(slots).unwrap_or(0)) {
        let deal: Vec<usize> = (0..slots)
            .map(|slot| code / nodes.pow(u32::try_from(slot).unwrap_or(0)) % nodes)
            .collect();
        let uneven = weights.iter().enumerate().map(|(node, weight)| {
            let count = deal.iter().filter(|owner| **owner == node).count();
            let count = i64::try_from(count).unwrap_or(0);
            let off =
                count * i64::from(total) - i64::try_from(slots).unwrap_or(0) * i64::from(*weight);
            off.unsigned_abs().pow(2)
        });
        let drained = deal.iter().any(|owner| weights[*owner] == 0);
        let moved = deal
            .iter()
            .zip(before)
            .filter(|(now, then)| Some(**now) != **then)
            .count();
        let cost = (uneven.sum(), moved);
        if !drained && best.is_none_or(|best| cost < best) {
            best = Some(cost);
        }
    }
    best.map_or(usize::MAX, |best| best.1)
}

fn random_table(before: &[Option<usize>], nodes: usize) -> Result<Table, Error> {
    let mut table = cluster(u32::try_from(before.len()).unwrap_or(1), nodes)?;
    for (slot, owner) in (0..).zip(before) {
        if let Some(owner) = owner {
            table.assign(slot..=slot, &format!("n{owner:03}"))?;
        }
    }
    Ok(table)
}

proptest! {
    #![proptest_config(hashroute_test_support::fixed(256))]

    #[test]
    fn no_other_plan_moves_fewer_slots(
        before in prop::collection::vec(prop::option::weighted(0.9, 0..3_usize), 1..8),
        weights in prop::collection::vec(0..4_u32, 3),
    ) {
        prop_assume!(weights.iter().any(|weight| *weight > 0));
        let plan = SlotPlan::new(&random_table(&before, 3)?, &goal(&weights))?;
        prop_assert_eq!(plan.len(), brute_force(&before, &weights));
    }

    /// A plan moves exactly the slots that nodes have above their shares.
    #[test]
    fn large_plans_reach_the_flow_bound(
        before in prop::collection::vec(prop::option::weighted(0.9, 0..12_usize), 1..700),
        weights in prop::collection::vec(prop_oneof![Just(0), 1..5_u32, Just(1000)], 12),
        budget in 1..50_u32,
    ) {
        prop_assume!(weights.iter().any(|weight| *weight > 0));
        let mut table = random_table(&before, 12)?;
        let (start, goal) = (table.counts(), goal(&weights));
        let unowned = before.iter().filter(|owner| owner.is_none()).count();
        let plan = SlotPlan::new(&table, &goal)?;
        prop_assert_eq!(&plan, &SlotPlan::new(&table, &goal)?);
        let mut moved = std::collections::BTreeSet::new();
        let mut last = start.clone();
        let steps: Vec<_> = plan.steps(SlotBudget::default().with_slots(budget)).collect();
        prop_assert_eq!(steps.iter().map(ExactSizeIterator::len).sum::<usize>(), plan.len());
        let end = {
            let mut end = table.clone();
            plan.apply(&mut end, 0..plan.len())?;
            end.counts()
        };
        for step in steps {
            prop_assert!(step.len() <= budget as usize && !step.is_empty());
            plan.apply(&mut table, step)?;
            // A node above its share only gives, and a node below it only receives.
            for (node, count) in table.counts().into_iter().enumerate() {
                let (from, to) = (last[node].min(end[node]), last[node].max(end[node]));
                prop_assert!((from..=to).contains(&count));
            }
            last = table.counts();
            let owned: u32 = last.iter().sum();
            prop_assert!(owned as usize >= before.len() - unowned);
        }
        for step in plan.moves() {
            prop_assert!(moved.insert(step.slot), "slot {} moves twice", step.slot);
        }
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let mut surplus = unowned;
        for (node, weight) in weights.iter().enumerate() {
            let whole = before.len() as u64 * u64::from(*weight) / total;
            prop_assert!((whole..=whole + 1).contains(&u64::from(end[node])));
            prop_assert!(*weight > 0 || end[node] == 0);
            surplus += start[node].saturating_sub(end[node]) as usize;
        }
        prop_assert_eq!(plan.len(), surplus);
        prop_assert!(SlotPlan::new(&table, &goal)?.is_empty());
    }

    #[test]
    fn a_plan_that_stopped_can_go_on(
        before in prop::collection::vec(prop::option::weighted(0.9, 0..5_usize), 1..200),
        weights in prop::collection::vec(1..5_u32, 5),
        stop in 0..=100_usize,
    ) {
        let start = random_table(&before, 5)?;
        let goal = goal(&weights);
        let plan = SlotPlan::new(&start, &goal)?;
        let mut whole = start.clone();
        plan.apply(&mut whole, 0..plan.len())?;
        let at = plan.len() * stop / 100;
        let mut halfway = start.clone();
        plan.apply(&mut halfway, 0..at)?;
        let progress = plan.progress(&halfway)?;
        prop_assert_eq!((progress.done, progress.left), (at, plan.len() - at));
        // The rest of the plan and a new plan for the same goal move the same slots.
        let rest = plan.left(&halfway)?;
        prop_assert_eq!(rest.len(), plan.len() - at);
        prop_assert_eq!(SlotPlan::new(&halfway, &goal)?.len(), rest.len());
        rest.apply(&mut halfway, 0..rest.len())?;
        prop_assert_eq!(owners(&halfway), owners(&whole));
        prop_assert!(plan.progress(&halfway)?.is_done());
        plan.apply(&mut halfway, 0..plan.len())?;
        prop_assert_eq!(owners(&halfway), owners(&whole));
    }

    #[test]
    fn plans_by_load_end_near_the_shares(
        before in prop::collection::vec(prop::option::weighted(0.9, 0..5_usize), 1..200),
        loads in prop::collection::vec(prop_oneof![Just(0_u64), 1..10_u64, 1..1000_u64], 200),
        weights in prop::collection::vec(0..4_u32, 5),
    ) {
        prop_assume!(weights.iter().any(|weight| *weight > 0));
        let loads = loads[..before.len()].to_vec();
        let mut table = random_table(&before, 5)?;
        let total: u64 = loads.iter().sum();
        let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let off = |table: &Table| -> Vec<f64> {
            let mut off: Vec<f64> = weights.iter().map(|w| -(total as f64) * f64::from(*w) / sum as f64).collect();
            for (slot, owner) in owners(table).into_iter().enumerate() {
                if let Some(i) = owner.and_then(|owner| owner[1..].parse::<usize>().ok()) {
                    off[i] += loads[slot] as f64;
                }
            }
            off
        };
        let start = off(&table);
        let plan = SlotPlan::new(&table, &goal(&weights).with_loads(loads.clone()))?;
        plan.apply(&mut table, 0..plan.len())?;
        let end = off(&table);
        let heaviest = loads.iter().copied().max().unwrap_or(0) as f64;
        for (node, weight) in weights.iter().enumerate() {
            if *weight == 0 {
                prop_assert_eq!(table.count(&format!("n{node:03}")), 0);
            }
        }
        let worst = |off: &[f64]| off.iter().fold(0.0_f64, |worst, off| worst.max(off.abs()));
        prop_assert!(worst(&end) <= worst(&start).max(2.0 * heaviest) + 1e-6, "{start:?} {end:?}");
        // A slot moves where that gains a third of its load: what is left is a few heavy slots.
        let most = end.iter().copied().fold(f64::MIN, f64::max);
        let least = end.iter().copied().fold(f64::MAX, f64::min);
        prop_assert!(most <= heaviest * 5.0 + 1e-6 && -least <= heaviest * 5.0 + 1e-6, "{end:?} {heaviest}");
        // No node with a weight gives its last slot away: it would become a replica.
        for (node, weight) in weights.iter().enumerate() {
            let had = before.contains(&Some(node));
            let has = table.count(&format!("n{node:03}"));
            prop_assert!(*weight == 0 || !had || has > 0);
        }
        let mut slots: Vec<_> = plan.moves().map(|step| step.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        prop_assert_eq!(slots.len(), plan.len());
    }
}

#[test]
fn equal_remainders_go_where_they_save_a_move() -> Outcome {
    // The shares are 1.5 and 4.5: a node that already has the rounded-up share keeps it.
    for (owned, moves) in [([2, 4], 0), ([1, 5], 0), ([3, 3], 1)] {
        let mut table = cluster(6, 2)?;
        table.assign(0..=5, "n001")?;
        table.assign(0..=owned[0] - 1, "n000")?;
        assert_eq!(
            SlotPlan::new(&table, &goal(&[1, 3]))?.len(),
            moves,
            "{owned:?}"
        );
    }
    Ok(())
}

#[test]
fn heavy_slots_are_counted_by_what_they_hold() -> Outcome {
    let mut table = cluster(16_384, 2)?;
    table.assign(0..=16_383, "n000")?;
    let mut heat = Heat::new(table.rule().clone(), 10);
    for i in 0..1000 {
        heat.feed(format!("key:{i}").as_bytes(), 1);
    }
    heat.feed(b"{one}", 1000);
    let goal = Goal::even(&table).with_loads(heat.loads().to_vec());
    let plan = SlotPlan::new(&table, &goal)?;
    // One slot has half of the load: it stays, and all others go.
    let heavy = table.rule().slot(b"{one}");
    assert!(plan.moves().all(|step| step.slot != heavy));
    assert!((900..=1000).contains(&plan.load()), "{}", plan.load());
    assert!(SlotPlan::new(&table, &Goal::even(&table).with_loads(vec![1; 5])).is_err());
    assert!(
        SlotPlan::new(
            &table,
            &Goal::even(&table).with_loads(vec![u64::MAX; 16_384])
        )
        .is_err()
    );
    let budget = SlotBudget::default().with_load(100);
    let loads: Vec<u64> = plan.moves().map(|step| step.load).collect();
    for step in plan.steps(budget) {
        let load: u64 = loads[step.clone()].iter().sum();
        assert!(load <= 100 || step.len() == 1, "{load}");
    }
    Ok(())
}

#[test]
fn light_slots_move_before_one_heavy_slot() -> Outcome {
    let mut table = cluster(3, 2)?;
    table.assign(0..=2, "n000")?;
    let plan = SlotPlan::new(&table, &goal(&[1, 1]).with_loads(vec![9, 3, 3]))?;
    let moves: Vec<_> = plan.moves().map(|step| step.slot).collect();
    assert_eq!((moves, plan.load()), (vec![1, 2], 6));
    // A heavy slot moves where no light one helps, and where it is worth its load.
    let plan = SlotPlan::new(&table, &goal(&[1, 1]).with_loads(vec![9, 0, 8]))?;
    assert_eq!(plan.moves().map(|step| step.load).collect::<Vec<_>>(), [8]);
    Ok(())
}

/// One slot has 3,002 of 23,001 keys; its node has 2,290 keys more than its share.
#[test]
fn only_the_surplus_of_a_node_travels() -> Outcome {
    let mut table = cluster(16_384, 4)?;
    for (i, first) in [0, 4096, 8192, 12_288].into_iter().enumerate() {
        table.assign(first..=first + 4095, &format!("n{i:03}"))?;
    }
    let mut loads = vec![1; 16_384];
    loads[4260] = 3002;
    let plan = SlotPlan::new(&table, &goal(&[1, 1, 1, 1]).with_loads(loads.clone()))?;
    let share = loads.iter().sum::<u64>() / 4;
    assert_eq!(plan.load(), 4095 + 3002 - share - 1);
    assert!(
        plan.moves()
            .all(|step| step.slot != 4260 && step.from == Some("n001"))
    );
    Ok(())
}

/// Returns the half of the sum of all distances from the shares, in units of 1 / `sum`.
fn distance(deal: &[usize], loads: &[u64], weights: &[u32]) -> u64 {
    let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    let total: u64 = loads.iter().sum();
    let off = weights.iter().enumerate().map(|(node, weight)| {
        let held = deal.iter().zip(loads).filter(|(owner, _)| **owner == node);
        let held: u64 = held.map(|(_, load)| load * sum).sum();
        held.abs_diff(total * u64::from(*weight))
    });
    off.sum()
}

proptest! {
    #![proptest_config(hashroute_test_support::fixed(192))]

    /// Among all deals that come as close to the shares, none moves less than a third of the load
    /// of the plan; and none less than all of it, unless a slot took a node past its share.
    #[test]
    fn plans_by_load_move_little(
        before in prop::collection::vec(0..3_usize, 1..8),
        loads in prop::collection::vec(prop_oneof![0..4_u64, 1..30_u64], 8),
        weights in prop::collection::vec(1..4_u32, 3),
    ) {
        let loads = &loads[..before.len()];
        prop_assume!(loads.iter().any(|load| *load > 0));
        let owned: Vec<_> = before.iter().copied().map(Some).collect();
        let mut table = random_table(&owned, 3)?;
        let plan = SlotPlan::new(&table, &goal(&weights).with_loads(loads.to_vec()))?;
        let start = table.clone();
        plan.apply(&mut table, 0..plan.len())?;
        let deal: Vec<usize> = owners(&table).into_iter().flatten().filter_map(|id| id[1..].parse().ok()).collect();
        let reached = distance(&deal, loads, &weights);
        prop_assert!(reached <= distance(&before, loads, &weights));
        let slots = u32::try_from(before.len()).unwrap_or(0);
        let least = (0..3_usize.pow(slots)).filter_map(|code| {
            let other: Vec<usize> = (0..slots).map(|slot| code / 3_usize.pow(slot) % 3).collect();
            let moved = other.iter().zip(&before).zip(loads).filter(|((now, then), _)| now != then);
            let moved: u64 = moved.map(|(_, load)| load).sum();
            (distance(&other, loads, &weights) <= reached).then_some(moved)
        });
        let least = least.min().unwrap_or(0);
        prop_assert!(plan.load() <= 3 * least, "{} instead of {least}", plan.load());
        let mut at = start;
        let mut deal = before.clone();
        let mut past = false;
        for (index, step) in plan.moves().enumerate() {
            let before_step = distance(&deal, loads, &weights);
            plan.apply(&mut at, index..index + 1)?;
            deal[step.slot as usize] = step.to[1..].parse().unwrap_or(0);
            let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
            past |= before_step - distance(&deal, loads, &weights) < 2 * step.load * sum;
        }
        prop_assert!(past || plan.load() == least, "{} instead of {least}", plan.load());
    }
}

/// The second node receives a slot above its share and gives one of its own away.
#[test]
fn a_node_above_its_share_gives_slots_back() -> Outcome {
    let mut table = cluster(6, 3)?;
    table.assign(0..=1, "n000")?;
    table.assign(2..=2, "n001")?;
    table.assign(3..=5, "n002")?;
    let loads = vec![12, 18, 16, 4, 4, 6];
    let plan = SlotPlan::new(&table, &goal(&[1, 1, 1]).with_loads(loads))?;
    let moves: Vec<_> = plan
        .moves()
        .map(|step| (step.slot, step.from, step.to))
        .collect();
    assert_eq!(
        moves,
        [(0, Some("n000"), "n002"), (3, Some("n002"), "n001")]
    );
    Ok(())
}

#[test]
fn a_new_node_gets_slots_although_no_slot_has_load() -> Outcome {
    let mut table = cluster(9, 3)?;
    table.assign(0..=4, "n000")?;
    table.assign(5..=8, "n001")?;
    let plan = SlotPlan::new(&table, &goal(&[1, 1, 1]).with_loads(vec![0; 9]))?;
    assert!(plan.moves().all(|step| step.load == 0));
    plan.apply(&mut table, 0..plan.len())?;
    assert_eq!(table.counts(), [3, 3, 3]);
    Ok(())
}

#[test]
fn slots_without_owner_move_first_and_then_those_of_leaving_nodes() -> Outcome {
    let mut table = cluster(13, 3)?;
    table.assign(0..=7, "n000")?;
    table.assign(8..=11, "n001")?;
    let plan = SlotPlan::new(&table, &goal(&[1, 0, 1]))?;
    let givers: Vec<_> = plan.moves().map(|step| step.from.unwrap_or("-")).collect();
    assert_eq!(givers, ["-", "n001", "n001", "n001", "n001", "n000"]);
    Ok(())
}

#[test]
fn a_failed_node_gets_no_slot() -> Outcome {
    let text = "\
a 10.0.0.1:1@2 master - 0 0 1 connected 0-16383
b 10.0.0.2:1@2 master - 0 0 2 connected
c 10.0.0.3:1@2 master,fail - 0 0 3 disconnected";
    let table = Table::from_text(text, SlotRule::REDIS)?;
    let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    let actions = plan.classic(&table, 0..1, 100, 5000)?;
    assert_eq!(actions.len(), 5);
    let is_there = |action: &hashroute::redis::Action| action.to_string().contains("10.0.0.3");
    assert!(!actions.iter().any(is_there), "{actions:?}");
    Ok(())
}

/// A primary that gave its last slot becomes a replica, which refuses `SETSLOT`.
#[test]
fn nothing_is_sent_to_a_node_that_has_no_slot_left() -> Outcome {
    let text = "\
a 10.0.0.1:1@2 master - 0 0 1 connected 0-1 4-16383
b 10.0.0.2:1@2 master - 0 0 2 connected 2
c 10.0.0.3:1@2 master - 0 0 3 connected 3";
    let mut table = Table::from_text(text, SlotRule::REDIS)?;
    let plan = SlotPlan::new(&table, &Goal::new().with_weight("a", 1))?;
    let lines = |table: &Table, moves| -> Result<Vec<String>, Error> {
        let actions = plan.classic(table, moves, 100, 5000)?;
        Ok(actions.iter().map(ToString::to_string).collect())
    };
    let all = lines(&table, 0..2)?;
    let node = |line: &str| all.iter().filter(|sent| sent.contains(line)).count();
    assert_eq!(node("10.0.0.2:1> CLUSTER SETSLOT 2 NODE a"), 0);
    assert_eq!(node("10.0.0.3:1> CLUSTER SETSLOT 2 NODE a"), 1);
    assert_eq!(node("10.0.0.2:1> CLUSTER SETSLOT 3"), 0);
    assert_eq!(node("10.0.0.3:1> CLUSTER SETSLOT 3 MIGRATING"), 1);
    assert_eq!(node("10.0.0.3:1> CLUSTER SETSLOT 3 NODE"), 0);
    // One move at a time, and what is left of a plan, give the same commands.
    let second = lines(&table, 1..2)?;
    assert!(
        !second.iter().any(|line| line.starts_with("10.0.0.2")),
        "{second:?}"
    );
    plan.apply(&mut table, 0..1)?;
    let left = plan.left(&table)?.classic(&table, 0..1, 100, 5000)?;
    assert_eq!(
        left.iter().map(ToString::to_string).collect::<Vec<_>>(),
        second
    );
    // A source that stayed a primary keeps its mark until it is told.
    table.assign(3..=3, "a")?;
    table.mark(3, "c", Mark::Migrating("a".into()))?;
    assert!(
        lines(&table, 1..2)?
            .iter()
            .any(|line| line == "10.0.0.3:1> CLUSTER SETSLOT 3 NODE a")
    );
    Ok(())
}

#[test]
fn empty_slots_of_a_drained_node_are_spread_as_well() -> Outcome {
    let mut table = cluster(900, 4)?;
    table.assign(0..=899, "n000")?;
    let plan = SlotPlan::new(&table, &goal(&[0, 1, 1, 1]).with_loads(vec![0; 900]))?;
    plan.apply(&mut table, 0..plan.len())?;
    assert_eq!(table.counts(), [0, 300, 300, 300]);
    Ok(())
}

#[test]
fn impossible_plans_of_slots_are_refused() -> Outcome {
    let mut table = cluster(100, 3)?;
    table.assign(0..=99, "n000")?;
    assert!(SlotPlan::new(&table, &goal(&[0, 0, 0])).is_err());
    assert!(matches!(
        SlotPlan::new(&table, &Goal::new().with_weight("x", 1)),
        Err(Error::UnknownNode { .. })
    ));
    let failed = Flags::default().with_failed(true);
    let node = table.nodes()[0].clone();
    table.replace(node.clone().with_flags(failed))?;
    let error = SlotPlan::new(&table, &Goal::even(&table))
        .err()
        .ok_or("planned")?;
    assert!(error.to_string().contains("promote"), "{error}");
    assert!(matches!(
        SlotPlan::new(&table, &goal(&[1, 1, 1])),
        Err(Error::Weight { .. })
    ));
    table.replace(node)?;
    // Open moves must be finished first.
    table.mark(7, "n000", Mark::Migrating("n002".into()))?;
    assert!(SlotPlan::new(&table, &Goal::even(&table)).is_err());
    table.unmark(7, "n000");
    let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    // Another operator moved a slot of the plan.
    let stolen = plan
        .moves()
        .find(|step| step.to == "n001")
        .ok_or("no move")?
        .slot;
    table.assign(stolen..=stolen, "n002")?;
    assert!(plan.progress(&table).is_err() && plan.apply(&mut table, 0..plan.len()).is_err());
    assert!(plan.apply(&mut table, 0..usize::MAX).is_err());
    Ok(())
}

#[test]
fn a_real_table_gives_the_expected_commands() -> Outcome {
    let mut table = Table::from_text(&printed("nodes_fragmented.txt")?, SlotRule::REDIS)?;
    table.add(ClusterNode::new("new")?.with_address("127.0.0.1:27007".parse()?))?;
    let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    let classic = plan.classic(&table, 0..plan.len(), 100, 5000)?;
    // IMPORTING, MIGRATING, the keys, then NODE at target, source and the two others.
    assert_eq!(classic.len(), plan.len() * 7);
    let atomic = plan.atomic(&table, 0..plan.len())?;
    assert_eq!(atomic.len(), 3);
    assert!(atomic.iter().all(|action| {
        action
            .to_string()
            .starts_with("127.0.0.1:27007> CLUSTER MIGRATION IMPORT ")
    }));
    // Finished commands are not repeated.
    let mut halfway = table.clone();
    plan.apply(&mut halfway, 0..10)?;
    assert_eq!(plan.classic(&halfway, 0..20, 100, 5000)?.len(), 70);
    table.unassign(0..=9)?;
    let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    let lines: Vec<_> = plan
        .atomic(&table, 0..10)?
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(lines[0].contains("CLUSTER ADDSLOTSRANGE 0 9"), "{lines:?}");
    assert!(
        plan.classic(&table, 0..1, 100, 5000)?[0]
            .to_string()
            .ends_with("CLUSTER ADDSLOTS 0")
    );
    assert!(plan.classic(&table, 0..1, 0, 5000).is_err());
    Ok(())
}

#[test]
fn a_table_is_a_router_and_a_table_again() -> Outcome {
    let mut table = Table::from_text(&printed("nodes_fragmented.txt")?, SlotRule::REDIS)?;
    table.unassign(3..=5)?;
    let router = HashSlots::try_from(&table)?;
    for i in 0..1000 {
        let key = format!("key:{i}");
        let id = table.owner_of(key.as_bytes()).map(ClusterNode::id);
        assert_eq!(router.route(key.as_bytes()).map(hashroute::Node::name), id);
    }
    assert_eq!(owners(&Table::try_from(&router)?), owners(&table));
    Ok(())
}

#[test]
fn plan_types_are_send_and_sync() {
    fn is_shared<T: Send + Sync + Clone + core::fmt::Debug>() {}
    is_shared::<Table>();
    is_shared::<SlotPlan>();
    is_shared::<Heat>();
    is_shared::<hashroute::redis::SlotMap>();
    is_shared::<hashroute::redis::Call>();
}
