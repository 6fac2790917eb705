//! Failovers and conflicting claims, compared with real servers and with the rules.

use hashroute::Error;
use hashroute::redis::{
    Claim, ClusterNode, CoverageRule, Flags, Health, Mark, Promotion, Role, SlotRule, Table,
};

use crate::table;
use hashroute_test_support::Outcome;

const OLD: &str = "f74f986224e92c2ad1325303c6ec5e1f6cee0885";
const HEIR: &str = "29da391dcc5dfabc063337dad361774ac12f04c8";

/// Returns the nodes without times and links, since no decision depends on them.
fn still(table: &Table) -> Vec<(String, Role, Option<String>, Flags, u64)> {
    let nodes = table.nodes().iter();
    nodes
        .map(|node| {
            (
                node.id().into(),
                node.role(),
                node.primary().map(Into::into),
                node.flags(),
                node.epoch(),
            )
        })
        .collect()
}

#[test]
fn a_promotion_gives_the_table_of_real_servers() -> Outcome {
    let (mut ours, theirs) = (table("nodes_failed.txt")?, table("nodes_failover.txt")?);
    // The replica had `cluster-replica-no-failover` while the file was recorded.
    let refused = ours.promote(HEIR, Promotion::Election);
    assert!(refused.is_err_and(|error| error.to_string().contains("nofailover")));
    let heir = ours.node(HEIR).ok_or("no heir")?.clone();
    ours.replace(heir.with_flags(Flags::default()))?;
    let failover = ours.promote(HEIR, Promotion::Election)?;
    assert_eq!((failover.epoch, &*failover.from), (8, OLD));
    assert_eq!(failover.slots, theirs.ranges(HEIR));
    assert_eq!(still(&ours), still(&theirs));
    ours.rejoin(OLD, HEIR)?;
    let returned = table("nodes_returned.txt")?;
    assert_eq!(still(&ours), still(&returned));
    for slot in 0..16_384 {
        assert_eq!(
            ours.owner(slot).map(ClusterNode::id),
            returned.owner(slot).map(ClusterNode::id)
        );
    }
    Ok(())
}

#[test]
fn the_old_primary_becomes_a_replica_at_the_first_message_of_the_new_one() -> Outcome {
    // The old primary sees the table from before it stopped.
    let mut view = table("nodes_conf_migrating.conf")?;
    for (slot, mark) in view
        .marks()
        .map(|(slot, _, mark)| (slot, mark.clone()))
        .collect::<Vec<_>>()
    {
        assert!(matches!(mark, Mark::Migrating(_)));
        view.unmark(slot, OLD);
    }
    assert_eq!(view.myself().map(ClusterNode::id), Some(OLD));
    let claim = table("nodes_failover.txt")?.claim_of(HEIR)?;
    let heard = view.hear(&claim)?;
    // One slot had moved to another node; the old primary still claims it.
    assert_eq!(heard.lost, claim.slots);
    assert!(!heard.follows);
    let moved = table("nodes_failover.txt")?;
    let other = moved.owner(15_495).ok_or("nobody")?.id().to_owned();
    let heard = view.hear(&moved.claim_of(&other)?)?;
    assert_eq!((heard.lost, heard.follows), (vec![15_495..=15_495], true));
    let myself = view.myself().ok_or("nobody")?;
    assert_eq!(
        (myself.role(), myself.primary()),
        (Role::Replica, Some(&*other))
    );
    // Its claims are outdated for the other nodes.
    let mut theirs = moved.clone();
    let stale = Claim::new(OLD, 3, vec![10_923..=16_383]);
    let heard = theirs.hear(&stale)?;
    assert_eq!(
        (heard.taken, heard.outdated),
        (vec![], vec![10_923..=16_383])
    );
    Ok(())
}

#[test]
fn coverage_and_health_are_those_of_real_states() -> Outcome {
    let policy = CoverageRule::default();
    let lax = policy.with_require_full_coverage(false);
    for (file, strict, loose) in [
        ("nodes_stable.txt", Health::Ok, Health::Ok),
        ("nodes_suspected.txt", Health::Ok, Health::Ok),
        ("nodes_failed.txt", Health::Uncovered, Health::Ok),
        ("nodes_failover.txt", Health::Ok, Health::Ok),
    ] {
        let table = table(file)?;
        assert_eq!(
            (table.health(policy), table.health(lax)),
            (strict, loose),
            "{file}"
        );
    }
    let failed = table("nodes_failed.txt")?;
    assert_eq!(failed.coverage().failed, failed.ranges(OLD));
    assert_eq!(failed.votes().needed(), 2);
    Ok(())
}

fn three() -> Result<Table, Error> {
    let text = "a h:1@1 master - 0 0 1 connected 0-99\n\
                b h:2@1 master - 0 0 2 connected 100-199\n\
                c h:3@1 master - 0 0 3 connected 200-16383\n\
                d h:4@1 master - 0 0 4 connected\n\
                r h:5@1 slave a 0 0 1 connected\n\
                s h:6@1 slave a 0 0 1 connected\n\
                t h:7@1 slave d 0 0 4 connected\n";
    Table::from_nodes_text(text, SlotRule::REDIS)
}

fn fail(table: &mut Table, id: &str, failed: bool) -> Result<(), Error> {
    let node = table.nodes()[table
        .nodes()
        .iter()
        .position(|node| node.id() == id)
        .unwrap_or(0)]
    .clone();
    let flags = node.flags().with_failed(failed).with_suspected(!failed);
    table.replace(node.with_flags(flags)).map(|_| ())
}

#[test]
fn only_primaries_with_slots_vote() -> Outcome {
    let mut table = three()?;
    assert_eq!((table.votes().primaries, table.votes().reachable), (3, 3));
    fail(&mut table, "d", true)?;
    assert_eq!(table.health(CoverageRule::default()), Health::Ok);
    fail(&mut table, "b", false)?;
    assert!(table.votes().is_majority());
    fail(&mut table, "c", false)?;
    assert_eq!(table.health(CoverageRule::default()), Health::Minority);
    assert!(table.coverage().is_full());
    Ok(())
}

#[test]
fn uncovered_slots_are_listed_as_joined_ranges() -> Outcome {
    let mut table = three()?;
    table.unassign(50..=120)?;
    fail(&mut table, "b", true)?;
    let coverage = table.coverage();
    assert_eq!(coverage.served, [0..=49, 200..=16_383]);
    assert_eq!(coverage.unassigned, [50..=120]);
    assert_eq!(coverage.failed, [121..=199]);
    Ok(())
}

#[test]
fn a_promotion_of_the_wrong_node_is_refused() -> Outcome {
    let mut table = three()?;
    for (id, reason) in [
        ("x", "no node"),
        ("a", "a replica of a primary that is in the table"),
        ("r", "a replica of a failed primary"),
        ("t", "owns slots"),
    ] {
        let before = table.clone();
        let error = table.promote(id, Promotion::Election).err().ok_or(id)?;
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(table, before);
    }
    fail(&mut table, "a", true)?;
    fail(&mut table, "b", true)?;
    assert!(
        table
            .promote("r", Promotion::Election)
            .is_err_and(|error| error.to_string().contains("majority"))
    );
    assert!(table.promote("r", Promotion::Takeover).is_ok());
    assert_eq!(
        table.replicas("r").map(ClusterNode::id).collect::<Vec<_>>(),
        ["s"]
    );
    assert!(table.rejoin("a", "s").is_err() && table.rejoin("a", "a").is_err());
    Ok(())
}

#[test]
fn moves_interrupted_by_a_failover_are_named() -> Outcome {
    let mut table = three()?;
    table.mark(5, "a", Mark::Migrating("b".into()))?;
    table.mark(5, "b", Mark::Importing("a".into()))?;
    table.mark(150, "b", Mark::Migrating("c".into()))?;
    let failover = table.promote("r", Promotion::Manual)?;
    let slots: Vec<_> = failover
        .open
        .iter()
        .map(|(slot, id, _)| (*slot, &**id))
        .collect();
    assert_eq!(slots, [(5, "a"), (5, "b")]);
    assert_eq!(table.mark_of(5, "a"), None);
    assert_eq!(table.marks().count(), 2);
    Ok(())
}

#[test]
fn a_message_takes_no_slot_that_is_being_imported() -> Outcome {
    let mut table = three()?;
    let myself = Flags::default().with_myself(true);
    let node = table.node("d").ok_or("no d")?.clone();
    table.replace(node.with_flags(myself))?;
    table.mark(5, "d", Mark::Importing("a".into()))?;
    let heard = table.hear(&Claim::new("b", 9, vec![0..=9]))?;
    assert_eq!(heard.taken, [0..=4, 6..=9]);
    assert_eq!(table.owner(5).map(ClusterNode::id), Some("a"));
    assert_eq!(table.epochs().0, 9);
    assert!(table.hear(&Claim::new("b", 9, vec![0..=u32::MAX])).is_err());
    Ok(())
}

#[test]
fn equal_epochs_are_separated_and_a_bump_is_the_highest() -> Outcome {
    let nodes: Result<Vec<_>, _> = ["a", "b", "c", "d"]
        .map(ClusterNode::new)
        .into_iter()
        .collect();
    let mut table = Table::with_nodes(SlotRule::REDIS, nodes?)?;
    assert_eq!(table.part_epochs()?, 3);
    let mut epochs: Vec<_> = table.nodes().iter().map(ClusterNode::epoch).collect();
    assert_eq!(epochs, [3, 2, 1, 0]);
    epochs.dedup();
    assert_eq!((epochs.len(), table.part_epochs()?), (4, 0));
    assert_eq!(
        (table.bump("d")?, table.bump("d")?, table.bump("a")?),
        (4, 4, 5)
    );
    let node = table.nodes()[0].clone().with_epoch(u64::MAX);
    table.replace(node)?;
    assert!(table.bump("b").is_err());
    Ok(())
}

#[test]
fn views_of_several_servers_are_merged_by_epoch() -> Outcome {
    let views = [table("nodes_migrating.txt")?, table("nodes_importing.txt")?];
    let both = Table::from_views(&views)?;
    assert_eq!(both.marks().count(), 2);
    assert_eq!(
        (both.myself(), both.open_slots()),
        (None, vec![15_495..=15_495])
    );
    // Before and after a failover: the later view counts, in either order.
    let (old, new) = (table("nodes_stable.txt")?, table("nodes_returned.txt")?);
    for views in [[old.clone(), new.clone()], [new.clone(), old]] {
        let together = Table::from_views(&views)?;
        for slot in 0..16_384 {
            assert_eq!(
                together.owner(slot).map(ClusterNode::id),
                new.owner(slot).map(ClusterNode::id)
            );
        }
        assert_eq!(
            together.node(OLD).map(ClusterNode::role),
            Some(Role::Replica)
        );
    }
    assert!(Table::from_views(&[]).is_err());
    let other = Table::new(SlotRule::new(hashroute::KeyHasher::REDIS, 7)?);
    assert!(Table::from_views(&[new, other]).is_err());
    Ok(())
}
