//! Finishing a resharding that stopped halfway.

use hashroute::Error;
use hashroute::redis::{Action, Goal, Mark, SlotPlan, SlotRule, Table};

use hashroute_test_support::Outcome;

const NODES: &str = "\
a 10.0.0.1:1@2 master - 0 0 1 connected 0-9
b 10.0.0.2:1@2 master - 0 0 2 connected 10-16383
c 10.0.0.3:1@2 master - 0 0 3 connected
d 10.0.0.4:1@2 slave c 0 0 3 connected";

fn nodes() -> Result<Table, Error> {
    Table::from_text(NODES, SlotRule::REDIS)
}

fn to(id: &str) -> Mark {
    Mark::Migrating(id.into())
}

fn by(id: &str) -> Mark {
    Mark::Importing(id.into())
}

fn fail(table: &mut Table, id: &str) -> Outcome {
    let node = table.node(id).cloned().ok_or("no such node")?;
    let failed = node.flags().with_failed(true);
    table.replace(node.with_flags(failed))?;
    Ok(())
}

fn lines(actions: &[Action]) -> String {
    let lines = actions.iter().map(|action| format!("{action}\n"));
    lines.collect()
}

#[test]
fn an_open_slot_goes_where_its_owner_sends_it() -> Outcome {
    let mut table = nodes()?;
    table.mark(1, "a", to("b"))?;
    table.mark(2, "b", by("a"))?;
    // Two nodes import the slot; the owner knows the right one.
    table.mark(10, "a", by("b"))?;
    table.mark(10, "b", to("c"))?;
    // The target became a replica.
    table.mark(11, "b", to("d"))?;
    let plan = SlotPlan::finish(&table)?;
    let moves: Vec<_> = plan
        .moves()
        .map(|step| (step.slot, step.from.unwrap_or("-"), step.to))
        .collect();
    let expected = [(1, "a", "b"), (2, "a", "b"), (10, "b", "c"), (11, "b", "c")];
    assert_eq!(moves, expected);
    assert_eq!(plan.progress(&table)?.open, 4);
    let stray: Vec<_> = plan.stray(&table).map(|(slot, id, _)| (slot, id)).collect();
    assert_eq!(stray, [(10, "a")]);
    Ok(())
}

/// After all commands no mark is left.
#[test]
fn marks_that_fit_no_owner_are_taken_back() -> Outcome {
    let mut table = nodes()?;
    // The target has the slot, and the source does not know it.
    table.mark(10, "a", to("b"))?;
    // Imported from a node that lost the slot: the imported keys belong to the owner.
    table.mark(11, "c", by("a"))?;
    // Migrating to an unknown node.
    table.mark(1, "a", to("gone"))?;
    let plan = SlotPlan::finish(&table)?;
    assert!(plan.is_empty());
    let expected = "\
10.0.0.1:1> CLUSTER SETSLOT 1 STABLE
10.0.0.1:1> CLUSTER SETSLOT 10 STABLE
10.0.0.3:1> CLUSTER GETKEYSINSLOT 11 7
10.0.0.3:1> MIGRATE 10.0.0.2 1 \"\" 0 9 KEYS <keys>
10.0.0.3:1> CLUSTER COUNTKEYSINSLOT 11  # while more than 0, again
10.0.0.3:1> CLUSTER SETSLOT 11 STABLE
";
    assert_eq!(lines(&plan.stable(&table, 7, 9)?), expected);
    assert!(plan.stable(&table, 0, 9).is_err());
    Ok(())
}

#[test]
fn finishing_a_move_of_a_failed_node_is_refused() -> Outcome {
    let cases = [
        // The target, the source, and a node with a mark that fits no owner.
        ("c", 10, "b", to("c")),
        ("b", 10, "c", by("b")),
        ("a", 10, "a", to("b")),
    ];
    for (dead, slot, id, mark) in cases {
        let mut table = nodes()?;
        table.mark(slot, id, mark)?;
        assert!(SlotPlan::finish(&table).is_ok());
        fail(&mut table, dead)?;
        let error = SlotPlan::finish(&table).err().ok_or(dead)?.to_string();
        assert!(
            error.contains(dead) && error.contains("restart it"),
            "{error}"
        );
    }
    // The owner that should get the imported keys back.
    let mut table = nodes()?;
    table.mark(11, "c", by("a"))?;
    fail(&mut table, "b")?;
    assert!(SlotPlan::finish(&table)?.stable(&table, 1, 1).is_err());
    Ok(())
}

/// Redis 8.4 starts no migration task for a slot with a mark.
#[test]
fn an_open_slot_is_not_moved_atomically() -> Outcome {
    let mut table = nodes()?;
    let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    assert!(plan.atomic(&table, 0..plan.len()).is_ok());
    let first = plan.moves().next().ok_or("no move")?;
    table.mark(first.slot, first.from.unwrap_or_default(), to(first.to))?;
    let error = plan.atomic(&table, 0..1).err().ok_or("moved")?;
    assert!(error.to_string().contains("classic"), "{error}");
    assert!(plan.classic(&table, 0..1, 100, 5000).is_ok());
    Ok(())
}
