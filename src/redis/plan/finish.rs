//! Repairs after an interrupted resharding: moves to finish and marks to remove.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use super::commands::{address, check_batch, empty, send};
use super::{Action, SlotPlan, Step, index};
use crate::Error;
use crate::redis::{ClusterNode, Mark, Role, Table};

impl SlotPlan {
    /// Plans the moves that close all open slots. A slot goes to the node to which its owner sends
    /// it, or else to the node that imports it from the owner. A target that is now a replica stands
    /// for its primary. Marks that do not fit the owner are [`stray`](Self::stray).
    /// O(marks x log slots).
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] if a server that has to act has failed.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Mark, SlotPlan, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// table.assign(0..=16_383, "a")?;
    /// table.mark(7, "a", Mark::Migrating("b".into()))?;
    /// let plan = SlotPlan::finish(&table)?;
    /// assert_eq!(plan.moves().map(|step| (step.slot, step.to)).collect::<Vec<_>>(), [(7, "b")]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn finish(table: &Table) -> Result<Self, Error> {
        let mut open: BTreeMap<u32, Step> = BTreeMap::new();
        for (slot, id, mark) in table.marks() {
            works(table, id)?;
            if let Some(step) = step(table, slot, id, mark)? {
                let is_sent = matches!(mark, Mark::Migrating(_));
                open.entry(slot)
                    .and_modify(|known| *known = if is_sent { step } else { *known })
                    .or_insert(step);
            }
        }
        Ok(Self::from_steps(table, open.into_values().collect()))
    }

    /// Returns the marks that belong to no move of this plan, as (slot, node, mark). While any
    /// exists, [`SlotPlan::new`] refuses to plan. O(marks x log marks).
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Mark, SlotPlan, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// table.assign(0..=16_383, "b")?;
    /// table.mark(7, "a", Mark::Migrating("b".into()))?;
    /// let plan = SlotPlan::finish(&table)?;
    /// assert!(plan.is_empty());
    /// assert_eq!(plan.stray(&table).map(|(slot, id, _)| (slot, id)).collect::<Vec<_>>(), [(7, "a")]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn stray<'t>(&self, table: &'t Table) -> impl Iterator<Item = (u32, &'t str, &'t Mark)> {
        let ends = self.moves().flat_map(|step| {
            let ends = [step.from.unwrap_or_default(), step.to];
            ends.map(|id| (step.slot, id))
        });
        let ends: BTreeSet<_> = ends.collect();
        let marks = table.marks();
        let marks = marks.filter(|(slot, id, _)| !ends.contains(&(*slot, *id)));
        marks.collect::<Vec<_>>().into_iter()
    }

    /// Returns the commands that remove the [`stray`](Self::stray) marks: `SETSLOT STABLE`. Send
    /// them before the commands of the plan. A node that imports a slot and does not get it first
    /// sends its keys of that slot to the owner, where clients look for them.
    /// O(marks x log marks).
    ///
    /// Source: Redis documentation, `CLUSTER SETSLOT`; the commands were run against Redis 7.0.15.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] for a batch of 0, for a node without a known address, or for a failed
    /// owner.
    ///
    /// ```
    /// use hashroute::redis::{SlotPlan, SlotRule, Table};
    ///
    /// let text = "\
    /// a 10.0.0.1:1@2 myself,master - 0 0 1 connected [7->-b]
    /// b 10.0.0.2:1@2 master - 0 0 2 connected 0-16383";
    /// let table = Table::from_text(text, SlotRule::REDIS)?;
    /// let actions = SlotPlan::finish(&table)?.stable(&table, 100, 5000)?;
    /// assert_eq!(actions.len(), 1);
    /// assert_eq!(actions[0].to_string(), "10.0.0.1:1> CLUSTER SETSLOT 7 STABLE");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn stable(&self, table: &Table, batch: u32, timeout: u32) -> Result<Vec<Action>, Error> {
        check_batch(batch)?;
        let mut actions = Vec::new();
        // A replica has dropped its marks, and refuses `SETSLOT`.
        let primaries = self.stray(table).filter(|(_, id, _)| {
            let node = table.node(id);
            node.is_some_and(|node| node.role() == Role::Primary)
        });
        for (slot, id, mark) in primaries {
            let at = address(table, id)?;
            let owner = table.owner(slot).filter(|owner| owner.id() != id);
            if let (Some(owner), Mark::Importing(_)) = (owner, mark) {
                works(table, owner.id())?;
                let to = address(table, owner.id())?;
                actions.push(empty(&at, &to, slot, batch, timeout));
            }
            actions.push(send(&at, format!("CLUSTER SETSLOT {slot} STABLE")));
        }
        Ok(actions)
    }
}

/// Returns the move that a mark describes; `None` if it does not fit the owner of the slot.
fn step(table: &Table, slot: u32, id: &str, mark: &Mark) -> Result<Option<Step>, Error> {
    let (from, to) = match mark {
        Mark::Migrating(to) => (id, &**to),
        Mark::Importing(from) => (&**from, id),
    };
    let to = table.node(to).and_then(ClusterNode::primary).unwrap_or(to);
    let (Some(source), Some(target)) = (table.index_of(from), table.index_of(to)) else {
        return Ok(None);
    };
    let is_primary = table.nodes()[target].role() == Role::Primary;
    if table.owner_index(slot) != Some(source) || source == target || !is_primary {
        return Ok(None);
    }
    works(table, from)?;
    works(table, to)?;
    Ok(Some(Step {
        slot,
        from: index(source),
        to: index(target),
        load: 1,
    }))
}

fn works(table: &Table, id: &str) -> Result<(), Error> {
    if table.node(id).is_some_and(|node| node.flags().failed) {
        let expected = "a working server, because slots on the move need it: restart it, promote a replica, or forget it";
        return Err(Error::parameter("node", id, expected));
    }
    Ok(())
}
