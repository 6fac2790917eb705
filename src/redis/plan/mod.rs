//! Plans that move slots from the current table to the wanted shares, with few moves.
//!
//! | | each slot counts 1 | slots have loads |
//! |---|---|---|
//! | share of a node | slots x weight / sum of weights, by largest remainder | load x weight / sum of weights |
//! | moves | the sum of all surpluses over the shares: the minimum | light slots from the fullest node to the emptiest: the least load if slots fit, at most three times the least load of a plan that gets as close |
//! | end | every node has exactly its share | no slot that has not moved would bring the fullest and the emptiest node closer by a third of its load |
//! | cost | O(slots + n log n) | O(slots x log slots) |
//!
//! A plan is a list of moves of one slot each. It may stop after any move: the table is complete at
//! each point. If each slot counts 1, no move takes a node further from its share. If slots have
//! loads, a heavy slot may take its new owner beyond its share, where no lighter slot helps.

mod commands;
mod counted;
mod finish;
mod weighed;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

pub use commands::Action;

use super::{ClusterNode, Role, Table};
use crate::{Error, Limit, Refusal};

/// The goal of a plan: a weight for each primary and, if wanted, a load for each slot.
///
/// ```
/// use hashroute::redis::{ClusterNode, Goal, SlotPlan, SlotRule, Table};
///
/// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?];
/// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
/// table.assign(0..=16_383, "a")?;
/// let goal = Goal::even(&table).with_weight("b", 3);
/// let plan = SlotPlan::new(&table, &goal)?;
/// assert_eq!(plan.len(), 16_384 / 4 * 3);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Goal {
    weights: BTreeMap<Box<str>, u32>,
    loads: Option<Vec<u64>>,
}

impl Goal {
    /// Builds a goal without weights. A node without a weight is drained.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a goal with weight 1 for every primary that has not failed.
    pub fn even(table: &Table) -> Self {
        let nodes = table.nodes().iter();
        let nodes = nodes.filter(|node| node.role() == Role::Primary && !node.flags().failed);
        Self {
            weights: nodes.map(|node| (node.id().into(), 1)).collect(),
            loads: None,
        }
    }

    /// Sets the weight of a node; 0 drains it.
    #[must_use]
    pub fn with_weight(mut self, id: impl Into<Box<str>>, weight: u32) -> Self {
        self.weights.insert(id.into(), weight);
        self
    }

    /// Sets one load for each slot, such as its keys, bytes or requests. Without loads, each slot
    /// counts 1.
    #[must_use]
    pub fn with_loads(mut self, loads: Vec<u64>) -> Self {
        self.loads = Some(loads);
        self
    }
}

/// The move of one slot.
///
/// ```
/// use hashroute::redis::{ClusterNode, Goal, SlotPlan, SlotRule, Table};
///
/// let table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
/// let plan = SlotPlan::new(&table, &Goal::even(&table))?;
/// let first = plan.moves().next().expect("all slots are unassigned");
/// assert_eq!((first.slot, first.from, first.to, first.load), (0, None, "a", 1));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Move<'p> {
    /// The slot.
    pub slot: u32,
    /// The id of its owner; `None` if it is unassigned.
    pub from: Option<&'p str>,
    /// The id of its new owner.
    pub to: &'p str,
    /// Its load; 1 if the goal has no loads.
    pub load: u64,
}

/// The limits of one step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotBudget {
    /// The maximum number of slots in a step, at least 1.
    pub slots: u32,
    /// The maximum load of a step. A slot with a larger load has its own step.
    pub load: u64,
}

impl Default for SlotBudget {
    fn default() -> Self {
        Self {
            slots: u32::MAX,
            load: u64::MAX,
        }
    }
}

builder! { SlotBudget: with_slots(slots: u32), with_load(load: u64) }

/// The progress of a table with a plan.
///
/// ```
/// use hashroute::redis::{ClusterNode, Goal, SlotPlan, SlotRule, Table};
///
/// let table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
/// let progress = SlotPlan::new(&table, &Goal::even(&table))?.progress(&table)?;
/// assert_eq!((progress.done, progress.open, progress.left), (0, 0, 16_384));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of moves that are done.
    pub done: usize,
    /// The number of moves that have begun: an end of the move has a mark for the slot.
    pub open: usize,
    /// The number of moves that have not begun.
    pub left: usize,
}

impl Progress {
    /// Returns whether all moves are done.
    pub const fn is_done(self) -> bool {
        self.open + self.left == 0
    }
}

/// Stands for the index of a node if the slot is unassigned.
const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    slot: u32,
    from: u32,
    to: u32,
    load: u64,
}

/// The moves from a table to a [`Goal`]. The same table and goal always give the same plan.
///
/// ```
/// use hashroute::redis::{SlotBudget, ClusterNode, Goal, SlotPlan, SlotRule, Table};
///
/// let nodes = ["a", "b", "c"].map(ClusterNode::new).into_iter().collect::<Result<Vec<_>, _>>()?;
/// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
/// table.assign(0..=16_383, "a")?;
/// let plan = SlotPlan::new(&table, &Goal::even(&table))?;
/// for step in plan.steps(SlotBudget::default().with_slots(1000)) {
///     plan.apply(&mut table, step)?;
/// }
/// assert_eq!(table.counts(), [5462, 5461, 5461]);
/// assert!(SlotPlan::new(&table, &Goal::even(&table))?.is_empty());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotPlan {
    /// The ids of the table's nodes, in its order.
    ids: Vec<Box<str>>,
    steps: Vec<Step>,
    /// The indexes of the steps that take the last slot of their source, ascending.
    drains: Vec<usize>,
    /// The nodes that steps before these drained.
    drained: Vec<u32>,
}

impl SlotPlan {
    /// Plans the moves from a table to a goal: first the unassigned slots, then the slots of drained
    /// nodes, then the surplus of the others.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`]. [`Error::Weight`] for a weight above 0 of a replica or a failed
    /// node. [`Error::Parameter`] if all weights are 0, if the number of loads is not the number of
    /// slots, or if a failed owner would have to give slots. [`Error::Capacity`] if the sum of the
    /// loads exceeds 64 bits. [`Error::Unsupported`] while slots are on the move:
    /// [`finish`](Self::finish) those moves first.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Goal, SlotPlan, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// table.assign(0..=16_383, "a")?;
    /// // Drain a: all its slots go to b.
    /// let plan = SlotPlan::new(&table, &Goal::new().with_weight("b", 1))?;
    /// assert_eq!(plan.len(), 16_384);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(table: &Table, goal: &Goal) -> Result<Self, Error> {
        if table.marks().next().is_some() {
            return Err(Error::Unsupported {
                what: Refusal::SlotsOnTheMove,
                advice: "finish the open moves first, then plan again",
            });
        }
        let weights = weights(table, goal)?;
        let steps = match &goal.loads {
            None => counted::steps(table, &weights, 1),
            Some(loads) if loads.len() == table.rule().slots() as usize => {
                if sum(loads)? == 0 {
                    // All loads are 0, but a new node must still get slots: count them instead.
                    counted::steps(table, &weights, 0)
                } else {
                    weighed::steps(table, &weights, loads)
                }
            }
            Some(loads) => {
                let expected = alloc::format!("one for each of {} slots", table.rule().slots());
                return Err(Error::parameter("loads", loads.len(), expected));
            }
        };
        let dead = |step: &&Step| {
            let owner = table.nodes().get(step.from as usize);
            owner.is_some_and(|owner| owner.flags().failed)
        };
        if let Some(step) = steps.iter().find(dead) {
            let id = table.nodes()[step.from as usize].id();
            let expected = "a working primary as the source of slots: promote its replica first";
            return Err(Error::parameter("owner", id, expected));
        }
        Ok(Self::from_steps(table, steps))
    }

    fn from_steps(table: &Table, steps: Vec<Step>) -> Self {
        Self {
            ids: table.nodes().iter().map(|node| node.id().into()).collect(),
            drains: drains(table, &steps),
            drained: Vec::new(),
            steps,
        }
    }

    /// Returns the number of moves.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns whether the plan has no moves.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the sum of the loads of all moves: what travels. It is [`len`](Self::len) if the goal
    /// has no loads. O(moves).
    pub fn load(&self) -> u64 {
        let loads = self.steps.iter().map(|step| step.load);
        loads.fold(0, u64::saturating_add)
    }

    /// Returns all moves, in order.
    pub fn moves(&self) -> impl ExactSizeIterator<Item = Move<'_>> {
        self.steps.iter().map(|step| self.show(step))
    }

    fn show(&self, step: &Step) -> Move<'_> {
        let id = |index: u32| self.ids.get(index as usize).map(|id| &**id);
        Move {
            slot: step.slot,
            from: id(step.from),
            to: id(step.to).unwrap_or_default(),
            load: step.load,
        }
    }

    /// Cuts the moves into steps within a budget. Each step is a non-empty range of
    /// [`moves`](Self::moves). O(moves) for all.
    ///
    /// ```
    /// use hashroute::redis::{SlotBudget, ClusterNode, Goal, SlotPlan, SlotRule, Table};
    ///
    /// let table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    /// let steps = plan.steps(SlotBudget::default().with_slots(10_000));
    /// assert_eq!(steps.collect::<Vec<_>>(), [0..10_000, 10_000..16_384]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn steps(&self, budget: SlotBudget) -> impl Iterator<Item = core::ops::Range<usize>> {
        let mut start = 0;
        core::iter::from_fn(move || {
            let rest = self.steps.get(start..)?;
            let mut load = 0_u64;
            let fits = rest
                .iter()
                .take(budget.slots.max(1) as usize)
                .take_while(|step| {
                    load = load.saturating_add(step.load);
                    load <= budget.load
                });
            let end = (start + fits.count().max(1)).min(self.steps.len());
            let range = start..end;
            start = end;
            (!range.is_empty()).then_some(range)
        })
    }

    /// Applies a range of moves to a table, as if the servers had made them. Sets the owners and
    /// removes the marks of both ends; epochs stay. Moves that are already done stay done.
    /// O(moves).
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] for a range beyond the plan; those of [`progress`](Self::progress). The
    /// table is unchanged then.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Goal, SlotPlan, SlotRule, Table};
    ///
    /// let mut table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    /// plan.apply(&mut table, 0..plan.len())?;
    /// assert_eq!(table.count("a"), 16_384);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn apply(&self, table: &mut Table, moves: core::ops::Range<usize>) -> Result<(), Error> {
        let last = self.steps.len();
        let Some(steps) = self.steps.get(moves.clone()) else {
            let value = alloc::format!("{}..{}", moves.start, moves.end);
            return Err(Error::parameter(
                "moves",
                value,
                alloc::format!("a range within 0..{last}"),
            ));
        };
        self.check(table, steps)?;
        for step in steps {
            let step = self.show(step);
            table.assign(step.slot..=step.slot, step.to)?;
            for id in [step.from.unwrap_or_default(), step.to] {
                table.unmark(step.slot, id);
            }
        }
        Ok(())
    }

    /// Counts the moves that a table has done, begun and not begun. Use it to continue after a stop
    /// or in another process; [`left`](Self::left) returns the remaining moves. O(moves log n).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`] and [`Error::Parameter`] if the table does not fit the plan: the owner
    /// of a slot is neither the old nor the new one, or the new owner is gone or no primary. Plan
    /// again.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Goal, SlotPlan, SlotRule, Table};
    ///
    /// let mut table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    /// plan.apply(&mut table, 0..1000)?;
    /// let progress = plan.progress(&table)?;
    /// assert_eq!((progress.done, progress.left), (1000, 15_384));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn progress(&self, table: &Table) -> Result<Progress, Error> {
        self.check(table, &self.steps)?;
        let mut progress = Progress {
            done: 0,
            open: 0,
            left: 0,
        };
        for step in self.moves() {
            match State::of(&step, table) {
                State::Done => progress.done += 1,
                State::Open => progress.open += 1,
                State::Left => progress.left += 1,
            }
        }
        Ok(progress)
    }

    /// Returns the plan without the moves that a table has done. O(moves log n).
    ///
    /// If the plan is lost, make a new one for the same goal. Without loads, it has the same number
    /// of moves as this one, though perhaps other moves. With loads, it may have more.
    ///
    /// # Errors
    ///
    /// Those of [`progress`](Self::progress).
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Goal, SlotPlan, SlotRule, Table};
    ///
    /// let mut table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    /// plan.apply(&mut table, 0..1000)?;
    /// assert_eq!(plan.left(&table)?.len(), 15_384);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn left(&self, table: &Table) -> Result<Self, Error> {
        self.check(table, &self.steps)?;
        let mut left = Self {
            ids: self.ids.clone(),
            steps: Vec::new(),
            drains: Vec::new(),
            drained: self.drained.clone(),
        };
        for (at, step) in self.steps.iter().enumerate() {
            let drains = self.drains.binary_search(&at).is_ok();
            if State::of(&self.show(step), table) != State::Done {
                left.drains.extend(drains.then_some(left.steps.len()));
                left.steps.push(*step);
            } else if drains {
                left.drained.push(step.from);
            }
        }
        Ok(left)
    }

    fn check(&self, table: &Table, steps: &[Step]) -> Result<(), Error> {
        for step in steps {
            let step = self.show(step);
            let target = &table.nodes()[table.known(step.to)?];
            let owner = table.owner(step.slot).map(ClusterNode::id);
            let on_the_way = owner == step.from || owner == Some(step.to);
            if !on_the_way || target.role() != Role::Primary || step.slot >= table.rule().slots() {
                let expected = "a slot with its old or new owner of the plan: plan again";
                return Err(Error::parameter("slot of the plan", step.slot, expected));
            }
        }
        Ok(())
    }
}

/// Returns the indexes of the steps after which their source has no slot for the rest of the plan.
fn drains(table: &Table, steps: &[Step]) -> Vec<usize> {
    let mut counts = table.counts();
    let mut last = alloc::vec![None; counts.len()];
    for (at, step) in steps.iter().enumerate() {
        for (node, gets) in [(step.from, false), (step.to, true)] {
            let node = node as usize;
            if let (Some(count), Some(last)) = (counts.get_mut(node), last.get_mut(node)) {
                *count = count.saturating_add_signed(if gets { 1 } else { -1 });
                *last = (*count == 0).then_some(at);
            }
        }
    }
    let mut drains: Vec<usize> = last.into_iter().flatten().collect();
    drains.sort_unstable();
    drains
}

/// The progress of a table with one move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Done,
    /// One of the two ends has a mark.
    Open,
    Left,
}

impl State {
    fn of(step: &Move<'_>, table: &Table) -> Self {
        let ends = [step.from.unwrap_or_default(), step.to];
        let is_open = ends.iter().any(|id| table.mark_of(step.slot, id).is_some());
        match table.owner(step.slot).map(ClusterNode::id) {
            _ if is_open => Self::Open,
            Some(id) if id == step.to => Self::Done,
            _ => Self::Left,
        }
    }
}

/// Returns the weight of each node by its index; 0 for a node that the goal does not name.
fn weights(table: &Table, goal: &Goal) -> Result<Vec<u32>, Error> {
    let mut weights = alloc::vec![0; table.nodes().len()];
    for (id, weight) in &goal.weights {
        let at = table.known(id)?;
        let node = &table.nodes()[at];
        if *weight > 0 && (node.role() != Role::Primary || node.flags().failed) {
            return Err(Error::Weight {
                name: id.clone(),
                weight: *weight,
                expected: "0, because it is not a working primary",
            });
        }
        weights[at] = *weight;
    }
    if weights.iter().all(|weight| *weight == 0) {
        return Err(Error::parameter(
            "weights",
            "0",
            "at least one primary with a weight above 0, to take the slots",
        ));
    }
    Ok(weights)
}

fn sum(loads: &[u64]) -> Result<u64, Error> {
    let sum = loads
        .iter()
        .try_fold(0_u64, |sum, load| sum.checked_add(*load));
    sum.ok_or(Error::Capacity {
        what: Limit::LoadUnits,
        wanted: u64::MAX,
        limit: u64::MAX,
        advice: "give the loads in larger units: their sum must fit into 64 bits",
    })
}

/// Converts the index of a node, which fits: there are at most [`Table::MAX_NODES`].
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NOBODY)
}
