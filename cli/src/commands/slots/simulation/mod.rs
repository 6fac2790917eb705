//! A resharding in memory: servers that each know only what they were told, clients whose maps
//! are stale, and laws that must hold all the way.
//!
//! Time is counted in commands of the resharding: after each, clients send a number of times,
//! in an order that a seed decides.

mod client;
mod laws;
mod mover;
mod world;

use hashroute::redis::{SlotPlan, Table};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use self::client::Client;
pub(super) use self::client::Counts;
pub(super) use self::laws::Law;
use self::mover::Mover;
use self::world::World;
use super::args::WorldArgs;
use crate::failure::Failure;

/// How often clients send at least when all is moved: their maps are stale still.
const TAIL: u32 = 10_000;

/// What happened.
pub(super) struct Outcome {
    pub(super) counts: Counts,
    /// Keys that were migrated.
    pub(super) migrated: u64,
    /// Commands of the resharding.
    pub(super) steps: u64,
    pub(super) laws: Vec<Law>,
}

/// Carry out a plan for a table that serves all its slots.
pub(super) fn run(table: &Table, plan: &SlotPlan, args: &WorldArgs) -> Result<Outcome, Failure> {
    let mut random = Pcg64Mcg::seed_from_u64(args.seed);
    let mut world = World::new(table, args.keys)?;
    let clients = (0..args.clients).map(|_| Client::new(&world, args.refresh));
    let mut clients = clients.collect::<Result<Vec<_>, Failure>>()?;
    let mut mover = Mover::new(plan, args);
    let mut counts = Counts::default();
    while mover.step(&mut world)? {
        world.probe(mover.moving())?;
        for _ in 0..args.pace {
            let client = random.random_range(0..clients.len());
            let focus = random.random_bool(0.5).then(|| mover.slot()).flatten();
            clients[client].turn(&mut world, &mut random, focus, &mut counts, true)?;
        }
        world.now += 1;
    }
    settle(&mut world, &mut clients, &mut random, &mut counts, args)?;
    count_stale(&world, &clients, &mut counts);
    world.judge(&mover.after(table)?);
    Ok(Outcome {
        counts,
        migrated: mover.migrated,
        steps: mover.steps,
        laws: world.laws.into(),
    })
}

/// Some more commands, then the end of those that are under way.
fn settle(
    world: &mut World,
    clients: &mut [Client],
    random: &mut Pcg64Mcg,
    counts: &mut Counts,
    args: &WorldArgs,
) -> Result<(), Failure> {
    for _ in 0..TAIL.max(args.clients.saturating_mul(args.pace)) {
        world.now += 1;
        let client = random.random_range(0..clients.len());
        clients[client].turn(world, random, None, counts, true)?;
    }
    // Every call ends, since a client's patience does.
    while clients.iter().any(Client::is_busy) {
        world.now += 1;
        for client in clients.iter_mut() {
            client.turn(world, random, None, counts, false)?;
        }
    }
    Ok(())
}

/// How many maps still are wrong about some slot.
fn count_stale(world: &World, clients: &[Client], counts: &mut Counts) {
    let stale = clients.iter().filter(|client| client.is_wrong(world));
    counts.stale_maps = stale.count() as u64;
}
