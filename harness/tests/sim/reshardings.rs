//! A whole plan, with clients.

use hashroute::redis::{ClusterNode, Goal, SlotPlan, Table};
use hashroute_harness::sim::{Mistake, Resharding, Workload, reshard};

use super::{Outcome, table};

/// Plans a fifth primary, to which the other four give slots.
fn planned() -> Result<(Table, SlotPlan), hashroute::Error> {
    let mut table = table()?;
    table.add(ClusterNode::new("p4")?)?;
    let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    Ok((table, plan))
}

fn run(workload: &Workload) -> Result<Resharding, hashroute::Error> {
    let (table, plan) = planned()?;
    reshard(&table, &plan, workload)
}

#[test]
fn a_plan_loses_nothing_whatever_the_workload() -> Outcome {
    let small = Workload::default().with_keys(500);
    let workloads = [
        small.clone(),
        small.clone().with_batch(7).with_clients(1),
        small.clone().with_refresh(Some(1)).with_clients(40),
        small.clone().with_pace(100),
        small.with_keys(40),
    ];
    for workload in workloads {
        for seed in 1..=3 {
            let run = run(&workload.clone().with_seed(seed))?;
            let broken: Vec<_> = run.laws.broken().collect();
            assert!(broken.is_empty(), "{workload:?}, {seed}: {broken:?}");
            assert!(run.laws.iter().all(|law| law.checked > 0));
            assert_eq!((run.counts.finished, run.counts.gave_up), (2, 0));
        }
    }
    Ok(())
}

#[test]
fn the_seed_decides() -> Outcome {
    let workload = Workload::default().with_keys(500);
    let first = run(&workload)?;
    assert_eq!(first, run(&workload)?);
    assert_ne!(first, run(&workload.with_seed(2))?);
    Ok(())
}

#[test]
fn every_mistake_is_found() -> Outcome {
    for mistake in [
        Mistake::KeysLeft,
        Mistake::NoImporting,
        Mistake::SourceFirst,
    ] {
        let run = run(&Workload::default()
            .with_keys(500)
            .with_mistake(Some(mistake)))?;
        assert!(run.laws.one_server.broken > 0, "{mistake:?}");
    }
    Ok(())
}

/// A primary that gives its last slot becomes a replica before it is told.
#[test]
fn a_drained_primary_becomes_a_replica() -> Outcome {
    let table = table()?;
    let drained = table.nodes()[1].id();
    let goal = Goal::even(&table).with_weight(drained, 0);
    let plan = SlotPlan::new(&table, &goal)?;
    for seed in 1..=3 {
        let workload = Workload::default().with_keys(500).with_seed(seed);
        let run = reshard(&table, &plan, &workload)?;
        let broken: Vec<_> = run.laws.broken().collect();
        assert!(broken.is_empty(), "{seed}: {broken:?}");
        assert_eq!((run.counts.followed, run.counts.gave_up), (1, 0));
    }
    Ok(())
}

#[test]
fn a_cluster_that_is_not_at_rest_is_refused() -> Outcome {
    let (mut table, plan) = planned()?;
    table.unassign(3..=4)?;
    let error = reshard(&table, &plan, &Workload::default()).expect_err("slots of nobody");
    assert!(error.to_string().contains("3-4"), "{error}");
    Ok(())
}
