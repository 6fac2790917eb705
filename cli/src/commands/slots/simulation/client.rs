//! Clients: each with a map of its own, one command at a time.

use std::collections::BTreeMap;

use hashroute::redis::Endpoint;
use hashroute::redis::{Call, Command, Decision, Next, Outcome, SlotMap};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::world::World;
use crate::failure::Failure;

/// Milliseconds that a command of the resharding takes, for those who wait.
const STEP: u64 = 10;

/// What clients did and met.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) deletes: u64,
    /// Of all these, with several keys.
    pub(crate) multi: u64,
    pub(crate) sends: u64,
    pub(crate) moved: u64,
    pub(crate) ask: u64,
    pub(crate) try_again: u64,
    pub(crate) other: u64,
    pub(crate) gave_up: u64,
    pub(crate) refreshes: u64,
    /// Commands by how often each was sent.
    pub(crate) attempts: BTreeMap<u32, u64>,
    /// Clients whose maps were wrong at the end.
    pub(crate) stale_maps: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Read,
    Write,
    Delete,
}

struct Job {
    call: Call,
    work: Work,
    keys: Vec<u32>,
}

pub(super) struct Client {
    map: SlotMap,
    job: Option<Job>,
    /// It waits until then.
    wakes: u64,
    /// Redirections since the map was filled.
    redirected: u32,
    refresh: Option<u32>,
}

impl Client {
    /// A client that knew everything, before the resharding.
    pub(super) fn new(world: &World, refresh: Option<u32>) -> Result<Self, Failure> {
        let mut map = SlotMap::new(world.rule.clone(), world.addresses())?;
        map.refill(&world.servers[0].view)?;
        Ok(Self {
            map,
            job: None,
            wakes: 0,
            redirected: 0,
            refresh,
        })
    }

    pub(super) fn is_busy(&self) -> bool {
        self.job.is_some()
    }

    /// Whether its map names a wrong owner.
    pub(super) fn is_wrong(&self, world: &World) -> bool {
        let view = &world.servers[0].view;
        (0..world.rule.slots()).any(|slot| {
            let owner = view
                .owner(slot)
                .map(|owner| super::world::address(owner.id()));
            self.map.owner(slot) != owner.as_ref()
        })
    }

    /// It sends once, unless it waits: what is under way, or something new.
    pub(super) fn turn(
        &mut self,
        world: &mut World,
        random: &mut Pcg64Mcg,
        focus: Option<u32>,
        counts: &mut Counts,
        begins: bool,
    ) -> Result<(), Failure> {
        if self.wakes > world.now {
            return Ok(());
        }
        let job = match self.job.take() {
            Some(job) => job,
            None if begins => self.begin(world, random, focus, counts)?,
            None => return Ok(()),
        };
        self.send(job, world, counts)?;
        if self.refresh.is_some_and(|after| self.redirected >= after) {
            // Whom it asks may not have heard of the last moves either.
            let server = random.random_range(0..world.servers.len());
            self.map.refill(&world.servers[server].view)?;
            self.redirected = 0;
            counts.refreshes += 1;
        }
        Ok(())
    }

    fn begin(
        &self,
        world: &World,
        random: &mut Pcg64Mcg,
        focus: Option<u32>,
        counts: &mut Counts,
    ) -> Result<Job, Failure> {
        let near = focus.map_or(&[][..], |slot| &world.by_slot[slot as usize]);
        let key = match near.len() {
            0 => random.random_range(0..world.keys()),
            some => near[random.random_range(0..some)],
        };
        let (work, count) = match random.random_range(0..16) {
            0..10 => (Work::Read, &mut counts.reads),
            10 => (Work::Delete, &mut counts.deletes),
            _ => (Work::Write, &mut counts.writes),
        };
        *count += 1;
        let many = work != Work::Delete && random.random_bool(0.5);
        let mut keys = vec![key];
        keys.extend(world.partner(key).filter(|_| many));
        counts.multi += u64::from(keys.len() > 1);
        let call = self.map.start(keys.iter().map(|key| world.key(*key)))?;
        Ok(Job { call, work, keys })
    }

    fn send(
        &mut self,
        mut job: Job,
        world: &mut World,
        counts: &mut Counts,
    ) -> Result<(), Failure> {
        counts.sends += 1;
        let command = match job.work {
            Work::Read => Command::Read,
            Work::Write | Work::Delete => Command::Write,
        };
        let server = world.server(job.call.to());
        let answer = match server {
            None => None,
            Some(server) => {
                let decision = world.decide(server, command, &job.keys, job.call.is_asking())?;
                counts.meet(&decision);
                Some(decision.wire(Endpoint::Ip))
            }
        };
        let outcome = match (&answer, server) {
            (Some(None), Some(server)) => {
                job.execute(world, server);
                Outcome::Answer
            }
            (Some(Some(error)), _) => {
                self.redirected += 1;
                Outcome::Error(error)
            }
            _ => Outcome::Refused,
        };
        let is_done = outcome == Outcome::Answer;
        if let Next::Send { wait } = self.map.after(&mut job.call, outcome) {
            self.wakes = world.now + wait.div_ceil(STEP);
            self.job = Some(job);
        } else {
            *counts.attempts.entry(job.call.sent()).or_default() += 1;
            counts.gave_up += u64::from(!is_done);
            let sent = job.call.sent();
            world
                .laws
                .answered
                .check(is_done, || format!("a command was sent {sent} times"));
        }
        Ok(())
    }
}

impl Job {
    fn execute(&self, world: &mut World, server: usize) {
        for key in &self.keys {
            match self.work {
                Work::Read => world.read(server, *key),
                Work::Write => world.write(server, *key, true),
                Work::Delete => world.write(server, *key, false),
            }
        }
    }
}

impl Counts {
    pub(crate) fn commands(&self) -> u64 {
        self.reads + self.writes + self.deletes
    }

    fn meet(&mut self, decision: &Decision<'_>) {
        match decision {
            Decision::Serve => {}
            Decision::Moved { .. } => self.moved += 1,
            Decision::Ask { .. } => self.ask += 1,
            Decision::TryAgain => self.try_again += 1,
            _ => self.other += 1,
        }
    }
}
