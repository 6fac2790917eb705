//! From the table as it is to the shares that are wanted, with the fewest moves.
//!
//! | | slots counted | slots weighed |
//! |---|---|---|
//! | share of a node | slots x weight / sum of weights, by largest remainder | load x weight / sum of weights |
//! | moves | the sum of what nodes have over their share: none could be fewer | from the fullest to the emptiest, the slot that fits best first: few, not proved the fewest |
//! | ends | at the shares exactly | where no slot that stayed would bring the fullest and the emptiest closer |
//! | cost | O(slots + n log n) | O(slots x log) |
//!
//! A plan is a list of moves, each of one slot, in an order that may be stopped anywhere: every
//! state on the way is a whole table. Where slots are counted, nobody is ever further from its
//! share than before; where they are weighed, a heavy slot may take its new owner past it.

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

/// What a plan should reach: a weight for each primary, and what the slots weigh.
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
    /// Nobody has a weight yet. Nodes without one are drained.
    ///
    /// ```
    /// use hashroute::redis::{Goal, SlotPlan, SlotRule, Table};
    ///
    /// assert!(SlotPlan::new(&Table::new(SlotRule::REDIS), &Goal::new()).is_err());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Weight 1 for every primary that did not fail.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Goal, SlotRule, Table};
    ///
    /// let table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// assert_eq!(Goal::even(&table), Goal::new().with_weight("a", 1));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn even(table: &Table) -> Self {
        let nodes = table.nodes().iter();
        let nodes = nodes.filter(|node| node.role() == Role::Primary && !node.flags().failed);
        Self {
            weights: nodes.map(|node| (node.id().into(), 1)).collect(),
            loads: None,
        }
    }

    /// The same with this weight for a node; 0 drains it.
    ///
    /// ```
    /// # use hashroute::redis::Goal;
    /// assert_ne!(Goal::new().with_weight("a", 2), Goal::new());
    /// ```
    #[must_use]
    pub fn with_weight(mut self, id: impl Into<Box<str>>, weight: u32) -> Self {
        self.weights.insert(id.into(), weight);
        self
    }

    /// The same with slots that are weighed, by keys, bytes or requests as the caller counted
    /// them, instead of counted: one number for each slot.
    ///
    /// ```
    /// # use hashroute::redis::Goal;
    /// assert_ne!(Goal::new().with_loads(vec![7; 16_384]), Goal::new());
    /// ```
    #[must_use]
    pub fn with_loads(mut self, loads: Vec<u64>) -> Self {
        self.loads = Some(loads);
        self
    }
}

/// One slot that changes hands.
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
    /// Its owner; `None` where it is nobody's yet.
    pub from: Option<&'p str>,
    /// Its owner to be.
    pub to: &'p str,
    /// What it weighs; 1 where slots are counted.
    pub load: u64,
}

/// How much of a plan one step may do.
///
/// ```
/// assert_eq!(hashroute::redis::SlotBudget::default().slots, u32::MAX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotBudget {
    /// Slots in a step, at least 1.
    pub slots: u32,
    /// Load in a step; a slot that is heavier has a step for itself.
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

/// How far a table has come with a plan.
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
    /// Moves that are done.
    pub done: usize,
    /// Moves that have begun: the slot is marked.
    pub open: usize,
    /// Moves that have not begun.
    pub left: usize,
}

impl Progress {
    /// Whether nothing is left to do.
    ///
    /// ```
    /// # use hashroute::redis::{ClusterNode, Goal, SlotPlan, SlotRule, Table};
    /// let table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("a")?])?;
    /// let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    /// assert!(!plan.progress(&table)?.is_done());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn is_done(self) -> bool {
        self.open + self.left == 0
    }
}

/// In place of the index of a node: nobody has the slot.
const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    slot: u32,
    from: u32,
    to: u32,
    load: u64,
}

/// Moves from a table to a [`Goal`]. Deterministic: the same table and goal give the same plan.
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
    /// Ids, by index in the table.
    ids: Vec<Box<str>>,
    steps: Vec<Step>,
}

impl SlotPlan {
    /// The moves from a table to a goal: first slots of nobody, then those of nodes that are
    /// drained, then surplus.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`]; [`Error::Weight`] for a node that is no primary that works;
    /// [`Error::Parameter`] for weights of 0 alone, for loads that are not one a slot, or for a
    /// failed owner that would have to give slots; [`Error::Capacity`] for loads whose sum
    /// exceeds 64 bits; [`Error::Unsupported`] while slots are on the move:
    /// [`finish`](Self::finish) them first.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Goal, SlotPlan, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// table.assign(0..=16_383, "a")?;
    /// // Draining: all of a's slots go to b.
    /// let plan = SlotPlan::new(&table, &Goal::new().with_weight("b", 1))?;
    /// assert_eq!(plan.len(), 16_384);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(table: &Table, goal: &Goal) -> Result<Self, Error> {
        if table.marks().next().is_some() {
            return Err(Error::Unsupported {
                what: Refusal::SlotsOnTheMove,
                advice: "finish the moves that are open first, then plan again",
            });
        }
        let weights = weights(table, goal)?;
        let steps = match &goal.loads {
            None => counted::steps(table, &weights, 1),
            Some(loads) if loads.len() == table.rule().slots() as usize => {
                if sum(loads)? == 0 {
                    // Nothing to weigh: who joins is to have a share all the same.
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
            let expected = "a primary that works to move slots from: promote its replica first";
            return Err(Error::parameter("owner", id, expected));
        }
        Ok(Self::from_steps(table, steps))
    }

    fn from_steps(table: &Table, steps: Vec<Step>) -> Self {
        Self {
            ids: table.nodes().iter().map(|node| node.id().into()).collect(),
            steps,
        }
    }

    /// How many slots move.
    ///
    /// ```
    /// use hashroute::redis::{SlotPlan, SlotRule, Table};
    ///
    /// assert_eq!(SlotPlan::finish(&Table::new(SlotRule::REDIS))?.len(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing is to do.
    ///
    /// ```
    /// use hashroute::redis::{SlotPlan, SlotRule, Table};
    ///
    /// assert!(SlotPlan::finish(&Table::new(SlotRule::REDIS))?.is_empty());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// All moves, in order.
    ///
    /// ```
    /// use hashroute::redis::{SlotPlan, SlotRule, Table};
    ///
    /// assert_eq!(SlotPlan::finish(&Table::new(SlotRule::REDIS))?.moves().count(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
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

    /// The same moves, in order, cut into steps that keep to a budget: each is a range of
    /// [`moves`](Self::moves), none is empty. O(moves) for all.
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

    /// Does some of the moves in a table, as if the servers had: owners change, marks of these
    /// slots go. Epochs stay. Moves that are done already stay done. O(moves).
    ///
    /// # Errors
    ///
    /// As [`progress`](Self::progress); nothing has changed then.
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

    /// How far a table has come with this plan: for going on after a stop, or in another process.
    /// What is [left](Self::left) is what its moves say and the table does not. O(moves log n).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`] and [`Error::Parameter`] where the table went another way: a slot
    /// of the plan is with a node that is neither its old owner nor its new one, or that one is
    /// gone. Plan again.
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

    /// The plan without the moves that a table has done. O(moves log n).
    ///
    /// Whoever has lost the plan makes a new one for the same goal. Where slots are counted, it has
    /// as many moves as this, if not always the same; where they are weighed, it may have more.
    ///
    /// # Errors
    ///
    /// As [`progress`](Self::progress).
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
        let is_left = |step: &&Step| State::of(&self.show(step), table) != State::Done;
        Ok(Self {
            ids: self.ids.clone(),
            steps: self.steps.iter().filter(is_left).copied().collect(),
        })
    }

    fn check(&self, table: &Table, steps: &[Step]) -> Result<(), Error> {
        for step in steps {
            let step = self.show(step);
            let target = &table.nodes()[table.known(step.to)?];
            let owner = table.owner(step.slot).map(ClusterNode::id);
            let on_the_way = owner == step.from || owner == Some(step.to);
            if !on_the_way || target.role() != Role::Primary || step.slot >= table.rule().slots() {
                let expected = "a slot of the table that the plan was made for: plan again";
                return Err(Error::parameter("slot of the plan", step.slot, expected));
            }
        }
        Ok(())
    }
}

/// How far a table is with one move.
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

/// The weight of each node, by index; of those that no weight was given for, 0.
fn weights(table: &Table, goal: &Goal) -> Result<Vec<u32>, Error> {
    let mut weights = alloc::vec![0; table.nodes().len()];
    for (id, weight) in &goal.weights {
        let at = table.known(id)?;
        let node = &table.nodes()[at];
        if *weight > 0 && (node.role() != Role::Primary || node.flags().failed) {
            return Err(Error::Weight {
                name: id.clone(),
                weight: *weight,
                expected: "0, since it is no primary that works",
            });
        }
        weights[at] = *weight;
    }
    if weights.iter().all(|weight| *weight == 0) {
        return Err(Error::parameter(
            "weights",
            "0",
            "at least one primary with more, to take the slots",
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
        advice: "give loads in larger units: their sum must fit into 64 bits",
    })
}

/// Indexes fit: there are at most [`Table::MAX_NODES`].
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NOBODY)
}
