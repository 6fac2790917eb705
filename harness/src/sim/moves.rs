//! Moves of a slot from one server to another by `SETSLOT` and `MIGRATE`, one command at a time.

use std::borrow::ToOwned;
use std::vec::Vec;

use hashroute::Error;
use hashroute::redis::{ClusterNode, Mark};

use super::moving::{Moving, Step, steps};
use super::world::World;

impl World {
    /// Begins to move a slot, if no other slot moves. No server is told yet.
    pub(super) fn start_move(&mut self, slot: u32, from: usize, to: usize) {
        if self.moving.is_none() {
            self.moving = Some(Moving {
                slot,
                from,
                to,
                steps: steps(self.gossips, self.mistake),
            });
        }
    }

    /// Begins to move a slot from its owner, unless the owner is down, `to` is not a running
    /// primary, or `to` believes in another owner.
    pub(super) fn plan_move(&mut self, slot: u32, to: usize) -> Result<(), Error> {
        let to = to % self.servers.len();
        let mut servers = self.servers.iter();
        let from = servers.position(|server| server.up && server.owns(slot));
        let from = from.filter(|from| *from != to && self.servers[to].is_primary());
        let Some(from) = from.filter(|_| self.moving.is_none()) else {
            return Ok(());
        };
        // The target must know the owner of the slot, or it refuses `SETSLOT IMPORTING`.
        let claim = self.servers[from].claim()?;
        self.hear(to, &claim)?;
        let believed = self.servers[to].view().owner(slot).map(ClusterNode::id);
        if believed == Some(self.servers[from].id()) {
            self.start_move(slot, from, to);
        }
        Ok(())
    }

    /// Makes the next step of the move, unless source or target is down. A step that migrates keys
    /// is done when it finds no key.
    pub(super) fn step_move(&mut self) -> Result<(), Error> {
        let Some(mut moving) = self.moving.take_if(|moving| !moving.steps.is_empty()) else {
            return Ok(());
        };
        if self.servers[moving.from].up && self.servers[moving.to].up {
            let step = moving.steps[0];
            let is_done = step != Step::Keys || self.migrate(&moving) == 0;
            self.tell_step(step, &moving)?;
            if is_done {
                moving.steps.pop_front();
            }
        }
        if moving.steps.is_empty() {
            self.counts.finished += 1;
        } else {
            self.moving = Some(moving);
        }
        Ok(())
    }

    /// Marks the slot at target and source.
    pub(super) fn open_move(&mut self) -> Result<(), Error> {
        while matches!(self.next_step(), Some(Step::Importing | Step::Migrating)) {
            self.step_move()?;
        }
        Ok(())
    }

    /// Migrates a batch of keys, if that is the next step.
    pub(super) fn move_keys(&mut self) {
        if let Some(moving) = self.moving.clone() {
            let is_up = self.servers[moving.from].up && self.servers[moving.to].up;
            if is_up && moving.steps.front() == Some(&Step::Keys) {
                self.migrate(&moving);
            }
        }
    }

    /// Tells the target or the source of the new owner, if no key is left at the source.
    pub(super) fn finish_move(&mut self) -> Result<(), Error> {
        if self.next_step() == Some(Step::Keys) && !self.has_keys_left() {
            self.step_move()?;
        }
        match self.next_step() {
            Some(Step::Target | Step::Source) => self.step_move(),
            _ => Ok(()),
        }
    }

    /// Returns the next step of the move, if source and target are up.
    fn next_step(&self) -> Option<Step> {
        let moving = self.moving.as_ref()?;
        let is_up = self.servers[moving.from].up && self.servers[moving.to].up;
        moving.steps.front().copied().filter(|_| is_up)
    }

    fn has_keys_left(&self) -> bool {
        let moving = self.moving.as_ref();
        moving.is_some_and(|moving| !self.data.in_slot(moving.from, moving.slot, 1).is_empty())
    }

    /// Migrates a batch of keys, and returns the number of keys.
    fn migrate(&mut self, moving: &Moving) -> usize {
        let keys = self.data.in_slot(moving.from, moving.slot, self.batch);
        for key in &keys {
            self.data
                .migrate(moving.from, moving.to, self.keys.entry(*key));
            // `MIGRATE` fails with BUSYKEY if the target already has the key.
            self.check_only_copy(*key);
        }
        self.counts.migrated += keys.len() as u64;
        keys.len()
    }

    fn tell_step(&mut self, step: Step, moving: &Moving) -> Result<(), Error> {
        let Moving { slot, from, to, .. } = *moving;
        match step {
            Step::Importing => self.mark_importing(moving),
            Step::Migrating => self.mark_migrating(moving),
            Step::Keys => Ok(()),
            Step::Target => {
                self.give(to, slot, to)?;
                self.claim_slot(moving)?;
                self.drain(moving)
            }
            // A replica refuses `SETSLOT`, so a plan sends nothing to a source that is one now.
            Step::Source if !self.servers[from].is_primary() => Ok(()),
            Step::Source => {
                self.give(from, slot, to)?;
                // A server drops the keys of a slot that it does not own. There are none, unless a
                // mistake left them.
                self.data.drop_slot(from, slot);
                Ok(())
            }
            Step::Others(half) => {
                let others = (half..self.servers.len()).step_by(2);
                let others: Vec<_> = others.filter(|i| *i != from && *i != to).collect();
                others.into_iter().try_for_each(|i| self.give(i, slot, to))
            }
        }
    }

    fn mark_importing(&mut self, moving: &Moving) -> Result<(), Error> {
        let mark = Mark::Importing(self.servers[moving.from].id().into());
        self.mark(moving.to, moving.slot, mark)
    }

    fn mark_migrating(&mut self, moving: &Moving) -> Result<(), Error> {
        let mark = Mark::Migrating(self.servers[moving.to].id().into());
        self.mark(moving.from, moving.slot, mark)
    }

    fn mark(&mut self, server: usize, slot: u32, mark: Mark) -> Result<(), Error> {
        let server = &mut self.servers[server];
        let id = server.id().to_owned();
        server.view_mut().mark(slot, &id, mark).map(|_| ())
    }

    /// Assigns the slot at one server, as `SETSLOT NODE` does.
    fn give(&mut self, server: usize, slot: u32, owner: usize) -> Result<(), Error> {
        let owner = self.servers[owner].id().to_owned();
        let server = &mut self.servers[server];
        let id = server.id().to_owned();
        server.view_mut().assign(slot..=slot, &owner)?;
        server.view_mut().unmark(slot, &id);
        Ok(())
    }

    /// Raises the epoch of the target without a vote, and sends its claim to the others. The higher
    /// epoch makes them accept the claim, in any order of messages.
    fn claim_slot(&mut self, moving: &Moving) -> Result<(), Error> {
        if !self.gossips {
            return Ok(());
        }
        let (source, target) = (moving.from, &mut self.servers[moving.to]);
        let id = target.id().to_owned();
        target.view_mut().bump(&id)?;
        let claim = target.claim()?;
        // The source hears the claim late too: a command tells it, and it may crash before.
        self.tell(&claim, |world, i| {
            let server = &world.servers[i];
            i != source && (server.is_primary() || server.primary() == Some(&*id))
        })
    }

    /// Lets a source hear at once that it gave its last slot: it becomes a replica of the target, as
    /// Redis 7 does, before a command can tell it. Only without gossip; with gossip it hears late.
    fn drain(&mut self, moving: &Moving) -> Result<(), Error> {
        let source = &self.servers[moving.from];
        let mut slots = 0..source.view().rule().slots();
        let owns_more = slots.any(|slot| slot != moving.slot && source.owns(slot));
        if self.gossips || owns_more || !source.owns(moving.slot) {
            return Ok(());
        }
        let target = &mut self.servers[moving.to];
        let id = target.id().to_owned();
        target.view_mut().bump(&id)?;
        let claim = target.claim()?;
        self.hear(moving.from, &claim)
    }

    /// Reopens a move that a failover interrupted, with the successor in place of the dead server.
    /// Replicas do not know the marks of their primary.
    pub(super) fn reopen(&mut self, dead: usize, successor: usize) -> Result<(), Error> {
        let Some(mut moving) = self.moving.take() else {
            return Ok(());
        };
        if moving.from != dead && moving.to != dead {
            self.moving = Some(moving);
            return Ok(());
        }
        for end in [&mut moving.from, &mut moving.to] {
            if *end == dead {
                *end = successor;
                self.counts.reopened += 1;
            }
        }
        if moving.steps.contains(&Step::Target) {
            self.mark_importing(&moving)?;
            self.mark_migrating(&moving)?;
            moving
                .steps
                .retain(|step| !matches!(step, Step::Importing | Step::Migrating));
            self.moving = Some(moving);
        } else if moving.to == successor {
            self.mark_migrating(&moving)?;
            self.moving = Some(moving);
        }
        // Otherwise the source died before a command told it of the new owner. Its successor heard
        // of it before the election.
        Ok(())
    }
}
