//! Tests of the simulator of Redis Cluster: moves, failovers, late gossip, clients with stale maps,
//! and the laws that hold at every moment.
//!
//! | subject | module |
//! |---|---|
//! | random events in random order | `histories` |
//! | cases that once failed | `cases` |
//! | mistakes that break each law | `mistakes` |
//! | a whole plan with clients | `reshardings` |
//!
//! Histories are drawn with a fixed seed. Their number is `PROPTEST_CASES` / 4.

mod cases;
mod histories;
mod mistakes;
mod reshardings;

use hashroute::redis::{Address, ClusterNode, SlotRule, Table};
use hashroute::{Error, KeyHasher};
use hashroute_harness::sim::{Event, Operation, World};
use hashroute_test_support::Outcome;

const SLOTS: u32 = 12;
const PRIMARIES: usize = 4;
const CLIENTS: usize = 3;
const KEYS: usize = 18;

/// Builds a table of four primaries with three slots and one replica each. Servers 0 to 3 are the
/// primaries, 4 to 7 their replicas.
fn table() -> Result<Table, Error> {
    let primaries = (0..PRIMARIES).map(|i| {
        let id = format!("p{i}");
        let node = ClusterNode::new(&*id)?.with_epoch(i as u64);
        Ok(node.with_address(Address::new(&*id, 1)))
    });
    let replicas = (0..PRIMARIES).map(|i| {
        let node = ClusterNode::new(format!("r{i}"))?.with_epoch(i as u64);
        Ok(node.with_primary(format!("p{i}")))
    });
    let nodes: Result<Vec<_>, Error> = primaries.chain(replicas).collect();
    let mut table = Table::with_nodes(SlotRule::new(KeyHasher::REDIS, SLOTS)?, nodes?)?;
    for slot in 0..SLOTS {
        table.assign(slot..=slot, &format!("p{}", slot as usize % PRIMARIES))?;
    }
    Ok(table)
}

/// Builds a world in which three keys share a tag, so that commands with two keys are possible.
fn world() -> Result<World, Error> {
    let keys = (0..KEYS).map(|key| format!("{{{}}}:{}", key / 3, key % 3));
    World::new(&table()?, keys)?.with_clients(CLIENTS)
}

/// Panics if a law was broken.
fn assert_lawful(world: &World) {
    let broken: Vec<_> = world.laws().broken().collect();
    assert!(broken.is_empty(), "{broken:?}");
}

/// Applies events to a new world, and checks the laws after each event and when the cluster is at
/// rest.
fn run(events: &[Event]) -> Result<World, Error> {
    let mut world = world()?;
    for event in events {
        world.happen(event)?;
        assert_lawful(&world);
    }
    world.settle(40)?;
    assert_lawful(&world);
    find_all(&mut world)?;
    Ok(world)
}

/// Lets every client read every key.
fn find_all(world: &mut World) -> Result<(), Error> {
    for client in 0..CLIENTS {
        for key in (0..).take(KEYS) {
            world.happen(&Event::Request(client, Operation::Read, vec![key]))?;
        }
    }
    Ok(())
}
