//! A plan of slots, its steps, and the tables between the steps.

use core::ops::Range;
use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use hashroute::redis::{ClusterNode, SlotBudget, SlotPlan, Table};

use super::goal::{self, GoalArgs, Wanted};
use super::loads::{self, LoadArgs, Loads};
use crate::failure::Failure;
use crate::units;

#[derive(Debug, Args)]
#[command(next_help_heading = "Steps")]
pub(crate) struct StepArgs {
    /// The most slots in one step
    #[arg(long, value_name = "SLOTS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) budget: Option<u32>,
    /// The most load in one step; a slot with more load gets a step of its own
    #[arg(long, value_name = "LOAD", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) load_budget: Option<u64>,
    /// Show only this step, counted from 1
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<usize>,
}

/// A plan, and what it was made from.
pub(super) struct Planned {
    pub(super) wanted: Wanted,
    pub(super) plan: SlotPlan,
    pub(super) loads: Option<Loads>,
    pub(super) finish: bool,
}

/// The steps to show, numbered from 1.
pub(super) struct Steps {
    pub(super) all: usize,
    pub(super) shown: Vec<(usize, Range<usize>)>,
    pub(super) only: Option<usize>,
}

impl Steps {
    /// Returns the moves to show.
    pub(super) fn range(&self) -> Range<usize> {
        let start = self.shown.first().map_or(0, |(_, range)| range.start);
        start..self.shown.last().map_or(start, |(_, range)| range.end)
    }
}

impl Planned {
    /// Plans the moves to a goal.
    pub(super) fn new(
        table: Table,
        path: &Path,
        args: &GoalArgs,
        loads: &LoadArgs,
        steps: &StepArgs,
    ) -> Result<Self, Failure> {
        if !goal::is_given(args) {
            return Err(Failure::input(
                "nothing to plan: expected --add, --remove, --weight, --even or --finish",
            ));
        }
        if table.marks().next().is_some() {
            let open: usize = table
                .open_slots()
                .iter()
                .map(|range| range.clone().count())
                .sum();
            return Err(Failure::Input(format!(
                "TABLE {}: {} on the move: expected none; finish them first with slots plan --finish",
                path.display(),
                units::counted(open as u64, "slot") + if open == 1 { " is" } else { " are" },
            )));
        }
        let wanted = Wanted::of(table, args)?;
        if steps.load_budget.is_some() && !loads::is_given(loads) {
            return Err(Failure::input(
                "--load-budget: no loads: expected --loads or keys, such as --scan FILE",
            ));
        }
        let loads = loads::read(loads)?;
        let goal = match &loads {
            Some(loads) => wanted.goal().with_loads(loads.of.clone()),
            None => wanted.goal(),
        };
        let plan = SlotPlan::new(&wanted.table, &goal)?;
        Ok(Self {
            wanted,
            plan,
            loads,
            finish: false,
        })
    }

    /// Plans the rest of the moves that have begun.
    pub(super) fn finish(table: Table) -> Result<Self, Failure> {
        let plan = SlotPlan::finish(&table)?;
        let wanted = Wanted {
            table,
            weights: BTreeMap::new(),
            strangers: Vec::new(),
            drained: Vec::new(),
        };
        Ok(Self {
            wanted,
            plan,
            loads: None,
            finish: true,
        })
    }

    /// Splits the plan into steps within the budget.
    pub(super) fn steps(&self, args: &StepArgs) -> Result<Steps, Failure> {
        let budget = SlotBudget::default()
            .with_slots(args.budget.unwrap_or(u32::MAX))
            .with_load(args.load_budget.unwrap_or(u64::MAX));
        let all: Vec<_> = (1..).zip(self.plan.steps(budget)).collect();
        let count = all.len();
        let shown: Vec<_> = match args.step {
            None => all,
            Some(step) => all
                .into_iter()
                .filter(|(number, _)| *number == step)
                .collect(),
        };
        match args.step {
            // A script that asks for step 1 until nothing is left gets an empty answer, not an
            // error.
            Some(1) if count == 0 => Ok(Steps {
                all: 0,
                shown,
                only: None,
            }),
            Some(step) if shown.is_empty() => Err(Failure::Input(format!(
                "--step {step}: no such step: the plan has {}, counted from 1",
                units::counted(count as u64, "step")
            ))),
            only => Ok(Steps {
                all: count,
                shown,
                only,
            }),
        }
    }

    /// Returns the table after this many moves.
    pub(super) fn after(&self, moves: usize) -> Result<Table, Failure> {
        let mut table = self.wanted.table.clone();
        self.plan.apply(&mut table, 0..moves)?;
        Ok(table)
    }

    /// Returns the slots and the load of each node, by index.
    pub(super) fn held(&self, table: &Table) -> Vec<(u32, u64)> {
        let mut held: Vec<_> = table.counts().into_iter().map(|count| (count, 0)).collect();
        let indexes: BTreeMap<_, _> = table
            .nodes()
            .iter()
            .map(ClusterNode::id)
            .zip(0_usize..)
            .collect();
        for (range, owner) in table.runs() {
            let index = owner.and_then(|owner| indexes.get(owner.id()));
            if let (Some(index), Some(loads)) = (index, &self.loads) {
                let of = &loads.of[*range.start() as usize..=*range.end() as usize];
                held[*index].1 += of.iter().sum::<u64>();
            }
        }
        held
    }
}
