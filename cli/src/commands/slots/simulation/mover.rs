//! The resharding: the classic commands of a plan, one at a time.

use std::collections::VecDeque;

use hashroute::redis::{Mark, Move, SlotPlan, Table};

use super::world::World;
use crate::commands::slots::args::{Mistake, WorldArgs};
use crate::failure::Failure;

/// One command of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Importing,
    Migrating,
    /// `MIGRATE`, until nothing is left.
    Empty,
    Target,
    Source,
    /// One half of the other servers learn it, then the other.
    Others(usize),
}

pub(super) struct Mover<'p> {
    plan: &'p SlotPlan,
    /// Those that have not begun.
    moves: Box<dyn Iterator<Item = Move<'p>> + 'p>,
    stages: VecDeque<Stage>,
    batch: u32,
    mistake: Option<Mistake>,
    /// The slot under way, from, to.
    moving: Option<(u32, String, String)>,
    pub(super) migrated: u64,
    pub(super) steps: u64,
}

impl<'p> Mover<'p> {
    pub(super) fn new(plan: &'p SlotPlan, args: &WorldArgs) -> Self {
        Self {
            plan,
            moves: Box::new(plan.moves()),
            stages: VecDeque::new(),
            batch: args.batch,
            mistake: args.mistake,
            moving: None,
            migrated: 0,
            steps: 0,
        }
    }

    pub(super) fn moving(&self) -> Option<(u32, &str, &str)> {
        let (slot, from, to) = self.moving.as_ref()?;
        Some((*slot, from, to))
    }

    pub(super) fn slot(&self) -> Option<u32> {
        self.moving.as_ref().map(|(slot, ..)| *slot)
    }

    /// The table as it should be at the end.
    pub(super) fn after(&self, table: &Table) -> Result<Table, Failure> {
        let mut table = table.clone();
        self.plan.apply(&mut table, 0..self.plan.len())?;
        Ok(table)
    }

    /// The next command; false when all are done.
    pub(super) fn step(&mut self, world: &mut World) -> Result<bool, Failure> {
        if self.stages.is_empty() && !self.next() {
            self.moving = None;
            return Ok(false);
        }
        let Some((slot, from, to)) = self.moving.clone() else {
            return Ok(false);
        };
        self.steps += 1;
        let stage = self.stages.front().copied();
        let servers = (world.index_of(&from)?, world.index_of(&to)?);
        match stage {
            Some(Stage::Empty) => {
                let moved = world.migrate(slot, servers.0, servers.1, self.batch);
                self.migrated += moved;
                if moved > 0 {
                    return Ok(true);
                }
            }
            Some(stage) => tell(world, stage, (slot, &from, &to), servers)?,
            None => {}
        }
        self.stages.pop_front();
        Ok(true)
    }

    /// Whether there is another move.
    fn next(&mut self) -> bool {
        let Some(step) = self.moves.next() else {
            return false;
        };
        self.moving = step
            .from
            .map(|from| (step.slot, from.to_owned(), step.to.to_owned()));
        self.stages = self.order().into();
        true
    }

    fn order(&self) -> Vec<Stage> {
        let mut order = vec![
            Stage::Importing,
            Stage::Migrating,
            Stage::Empty,
            Stage::Target,
            Stage::Source,
            Stage::Others(0),
            Stage::Others(1),
        ];
        match self.mistake {
            None => {}
            Some(Mistake::KeysLeft) => order.retain(|stage| *stage != Stage::Empty),
            Some(Mistake::NoImporting) => order.retain(|stage| *stage != Stage::Importing),
            Some(Mistake::SourceFirst) => order.swap(3, 4),
        }
        order
    }
}

fn tell(
    world: &mut World,
    stage: Stage,
    (slot, from, to): (u32, &str, &str),
    servers: (usize, usize),
) -> Result<(), Failure> {
    match stage {
        Stage::Importing => {
            let mark = Mark::Importing(from.into());
            world.servers[servers.1].view.mark(slot, to, mark)?;
        }
        Stage::Migrating => {
            let mark = Mark::Migrating(to.into());
            world.servers[servers.0].view.mark(slot, from, mark)?;
        }
        Stage::Target => give(world, servers.1, slot, to)?,
        Stage::Source => {
            give(world, servers.0, slot, to)?;
            world.forget(slot, servers.0);
        }
        Stage::Others(half) => {
            for server in (half..world.servers.len()).step_by(2) {
                if server != servers.0 && server != servers.1 {
                    give(world, server, slot, to)?;
                }
            }
        }
        Stage::Empty => {}
    }
    Ok(())
}

/// `SETSLOT NODE` at one server.
fn give(world: &mut World, server: usize, slot: u32, to: &str) -> Result<(), Failure> {
    let server = &mut world.servers[server];
    let id = server.id().to_owned();
    server.view.assign(slot..=slot, to)?;
    server.view.unmark(slot, &id);
    Ok(())
}
