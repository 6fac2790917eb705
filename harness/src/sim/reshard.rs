//! A whole resharding, with clients that have stale maps.

use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

use hashroute::Error;
use hashroute::redis::{Address, ClusterNode, Move, Role, SlotPlan, Table};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::client::{Client, Operation};
use super::counts::Counts;
use super::laws::Laws;
use super::moving::Mistake;
use super::world::{World, address};

/// The minimum number of sends after the last move.
const TAIL: u32 = 10_000;
/// The number of keys of the moving slot that are checked after each command.
const PROBES: usize = 4;

/// The settings of a simulated resharding and its clients.
///
/// ```
/// use hashroute_harness::sim::Workload;
///
/// let workload = Workload::default().with_keys(1000).with_seed(7);
/// assert_eq!((workload.keys, workload.clients, workload.seed), (1000, 8, 7));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workload {
    /// The number of keys. Half of them have no tag, the others share a tag in pairs. Nine of ten
    /// keys have a value at the start. 100,000 by default.
    pub keys: u32,
    /// The number of clients, each with its own slot map. 8 by default, and at least 1.
    pub clients: u32,
    /// The number of client sends for each command of the resharding. 8 by default.
    pub pace: u32,
    /// The number of errors after which a client reloads its map from a random server. Every error
    /// reply counts, `TRYAGAIN` and `CLUSTERDOWN` too. `None`, the default, is never.
    pub refresh: Option<u32>,
    /// The number of keys in one `MIGRATE`. 1 by default, and at least 1.
    pub batch: u32,
    /// The seed of the client commands and their order. 1 by default.
    pub seed: u64,
    /// The mistake that every move makes. `None` by default.
    pub mistake: Option<Mistake>,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            keys: 100_000,
            clients: 8,
            pace: 8,
            refresh: None,
            batch: 1,
            seed: 1,
            mistake: None,
        }
    }
}

builder! { Workload:
    with_keys(keys: u32),
    with_clients(clients: u32),
    with_pace(pace: u32),
    with_refresh(refresh: Option<u32>),
    with_batch(batch: u32),
    with_seed(seed: u64),
    with_mistake(mistake: Option<Mistake>),
}

/// The result of a simulated resharding.
///
/// ```
/// # use hashroute_harness::sim::Resharding;
/// let is_clean = |run: &Resharding| run.laws.broken().next().is_none();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resharding {
    /// Counts of commands, replies and migrated keys.
    pub counts: Counts,
    /// The number of commands of the resharding.
    pub steps: u64,
    /// The number of clients with a wrong slot owner in their map at the end.
    pub stale_maps: u64,
    /// The results of the law checks.
    pub laws: Laws,
}

/// Applies a plan, command by command, while clients send commands. Half of the client commands use
/// the moving slot. O(steps x (pace + 12) + servers x slots).
///
/// No server fails. An operator tells each server of each move, as `redis-cli` does, so there is no
/// gossip. Replicas are left out. Failure flags of the table are ignored.
///
/// # Errors
///
/// Returns the errors of [`World::new`] for the primaries of `table`, and those of
/// [`SlotPlan::apply`] for a plan that was made for another table.
///
/// ```
/// use hashroute::redis::{ClusterNode, Goal, SlotPlan, SlotRule, Table};
/// use hashroute_harness::sim::{Workload, reshard};
///
/// let mut table = Table::new(SlotRule::REDIS);
/// table.add(ClusterNode::new("a")?)?;
/// table.assign(0..=16_383, "a")?;
/// table.add(ClusterNode::new("b")?)?;
/// let plan = SlotPlan::new(&table, &Goal::new().with_weight("a", 99).with_weight("b", 1))?;
/// let run = reshard(&table, &plan, &Workload::default().with_keys(20_000))?;
/// assert!(run.counts.ask > 0 && run.counts.moved > 0);
/// assert_eq!(run.laws.broken().count(), 0);
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn reshard(table: &Table, plan: &SlotPlan, workload: &Workload) -> Result<Resharding, Error> {
    let mut expected = primaries(table)?;
    let mut run = Run::new(&expected, plan, workload)?;
    while run.step()? {
        run.probe()?;
        run.clients_send()?;
        run.world.now += 1;
    }
    run.settle()?;
    plan.apply(&mut expected, 0..plan.len())?;
    run.world.judge(&expected)?;
    Ok(Resharding {
        steps: run.steps,
        stale_maps: run.stale_maps(&expected),
        counts: run.world.counts,
        laws: run.world.laws,
    })
}

/// Returns the table without replicas.
fn primaries(table: &Table) -> Result<Table, Error> {
    let nodes = table.nodes().iter();
    let primaries = nodes.filter(|node| node.role() == Role::Primary);
    let mut alone = Table::with_nodes(table.rule().clone(), primaries.cloned())?;
    for (slots, owner) in table.runs() {
        if let Some(owner) = owner {
            alone.assign(slots, owner.id())?;
        }
    }
    for (slot, id, mark) in table.marks() {
        alone.mark(slot, id, mark.clone())?;
    }
    Ok(alone)
}

/// Writes nine of ten keys. Clients may write the others.
fn fill(world: &mut World, table: &Table) -> Result<(), Error> {
    for key in world.keys.numbers().filter(|key| key % 10 != 9) {
        if let Some(owner) = table.owner(world.keys.slot(key)) {
            world.write(world.index_of(owner.id())?, key);
        }
    }
    Ok(())
}

/// A resharding under way.
struct Run<'r> {
    world: World,
    workload: &'r Workload,
    random: Pcg64Mcg,
    /// The moves that have not begun, in reverse order.
    moves: Vec<Move<'r>>,
    /// The slot, source and target of the current or last move.
    focus: Option<(u32, usize, usize)>,
    /// The last server that was probed besides source and target.
    other: usize,
    steps: u64,
}

impl<'r> Run<'r> {
    fn new(table: &Table, plan: &'r SlotPlan, workload: &'r Workload) -> Result<Self, Error> {
        let names = (0..workload.keys).map(|key| name(key, workload.keys));
        let mut world = World::new(table, names)?.with_clients(workload.clients.max(1) as usize)?;
        world.gossips = false;
        world.mistake = workload.mistake;
        world.batch = workload.batch.max(1) as usize;
        for client in 0..world.clients.len() {
            world.refill(client, 0)?;
        }
        fill(&mut world, table)?;
        let mut moves: Vec<_> = plan.moves().collect();
        moves.reverse();
        Ok(Self {
            world,
            workload,
            random: Pcg64Mcg::seed_from_u64(workload.seed),
            moves,
            focus: None,
            other: 0,
            steps: 0,
        })
    }

    /// Makes the next step of the resharding. Returns false if there is none.
    fn step(&mut self) -> Result<bool, Error> {
        if self.world.moving.is_none() && !self.next_move()? {
            return Ok(false);
        }
        self.steps += 1;
        self.world.step_move()?;
        Ok(true)
    }

    fn next_move(&mut self) -> Result<bool, Error> {
        // A move without a source cannot occur: `World::new` rejects slots without an owner.
        let Some((next, from)) = self.moves.pop().and_then(|next| Some((next, next.from?))) else {
            self.focus = None;
            return Ok(false);
        };
        let (from, to) = (self.world.index_of(from)?, self.world.index_of(next.to)?);
        self.world.start_move(next.slot, from, to);
        self.focus = Some((next.slot, from, to));
        Ok(true)
    }

    /// Checks that writes of some keys of the moving slot end at one server. Servers other than
    /// source and target do not own the slot and have no marks, so one of them in turn is enough.
    fn probe(&mut self) -> Result<(), Error> {
        let Some((slot, from, to)) = self.focus else {
            return Ok(());
        };
        self.other = (self.other + 1) % self.world.servers();
        let starts = [from, to, self.other];
        let keys = self.world.keys.in_slot(slot).iter().take(PROBES);
        let keys: Vec<_> = keys.copied().collect();
        keys.into_iter()
            .try_for_each(|key| self.world.check_writers(key, &starts))
    }

    fn clients_send(&mut self) -> Result<(), Error> {
        for _ in 0..self.workload.pace {
            let client = self.random.random_range(0..self.world.clients.len());
            let is_near = self.random.random_bool(0.5);
            let slot = self.focus.filter(|_| is_near).map(|(slot, ..)| slot);
            self.turn(client, slot, true)?;
        }
        Ok(())
    }

    /// Lets clients send more commands, then end those under way.
    fn settle(&mut self) -> Result<(), Error> {
        let more = self.workload.clients.saturating_mul(self.workload.pace);
        for _ in 0..TAIL.max(more) {
            self.world.now += 1;
            let client = self.random.random_range(0..self.world.clients.len());
            self.turn(client, None, true)?;
        }
        // Every call ends, since a client's patience is finite.
        while self.world.clients.iter().any(Client::is_busy) {
            self.world.now += 1;
            for client in 0..self.world.clients.len() {
                self.turn(client, None, false)?;
            }
        }
        Ok(())
    }

    /// Lets a client send once, unless it waits. An idle client begins a new command if `begins`.
    fn turn(&mut self, client: usize, near: Option<u32>, begins: bool) -> Result<(), Error> {
        let state = &self.world.clients[client];
        if state.is_waiting(self.world.now) || !state.is_busy() && !begins {
            return Ok(());
        }
        if !state.is_busy() {
            let (operation, keys) = self.command(near);
            self.world.begin(client, operation, &keys)?;
        }
        self.world.send(client)?;
        let errors = self.world.clients[client].errors();
        if self.workload.refresh.is_some_and(|after| errors >= after) {
            // The server may not know of the last moves either.
            let server = self.random.random_range(0..self.world.servers());
            self.world.refresh(client, server)?;
        }
        Ok(())
    }

    /// Draws a command, for a key of the slot `near` if it has keys.
    fn command(&mut self, near: Option<u32>) -> (Operation, Vec<u32>) {
        let random = &mut self.random;
        let near = near.map_or(&[][..], |slot| self.world.keys.in_slot(slot));
        let key = match near.len() {
            0 => random.random_range(0..self.workload.keys),
            some => near[random.random_range(0..some)],
        };
        let operation = match random.random_range(0..16) {
            0..10 => Operation::Read,
            10 => Operation::Delete,
            _ => Operation::Write,
        };
        let many = operation != Operation::Delete && random.random_bool(0.5);
        let mut keys = vec![key];
        keys.extend(partner(key, self.workload.keys).filter(|_| many));
        (operation, keys)
    }

    fn stale_maps(&self, expected: &Table) -> u64 {
        let slots = 0..expected.rule().slots();
        let owner = |slot| expected.owner(slot).map(ClusterNode::id).map(address);
        let owners: Vec<Option<Address>> = slots.map(owner).collect();
        let clients = self.world.clients.iter();
        clients.filter(|client| !client.knows(&owners)).count() as u64
    }
}

/// Returns the first key with a tag. About half of the keys, before it, have none.
const fn first_tagged(keys: u32) -> u32 {
    keys / 4 * 2
}

fn name(key: u32, keys: u32) -> String {
    match key.checked_sub(first_tagged(keys)) {
        None => format!("user:{key}"),
        Some(tagged) if tagged % 2 == 0 => format!("{{cart:{}}}:items", tagged / 2),
        Some(tagged) => format!("{{cart:{}}}:total", tagged / 2),
    }
}

/// Returns the other key with the same tag, if there is one.
fn partner(key: u32, keys: u32) -> Option<u32> {
    let first = first_tagged(keys);
    let partner = (key.checked_sub(first)? ^ 1) + first;
    (partner < keys).then_some(partner)
}
