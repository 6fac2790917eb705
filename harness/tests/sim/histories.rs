//! Random events in random order.

use core::cell::RefCell;

use hashroute_harness::sim::{Counts, Event, Operation};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::{CLIENTS, KEYS, Outcome, PRIMARIES, SLOTS, run};

type Drawn = BoxedStrategy<Event>;

fn client() -> impl Strategy<Value = usize> {
    0..CLIENTS
}

fn server() -> impl Strategy<Value = usize> {
    0..2 * PRIMARIES
}

/// Draws a command with one key, which the client sends until it ends.
fn request(operation: Operation) -> Drawn {
    let keys = (client(), 0..KEYS);
    keys.prop_map(move |(client, key)| Event::Request(client, operation, vec![number(key)]))
        .boxed()
}

/// Draws a read of two of the three keys that share a tag.
fn read_two() -> Drawn {
    let keys = (client(), 0..KEYS / 3, 0..3_usize);
    keys.prop_map(|(client, tag, key)| {
        let keys = [3 * tag + key, 3 * tag + (key + 1) % 3];
        Event::Request(client, Operation::Read, keys.map(number).into())
    })
    .boxed()
}

/// Draws an event. Clients send each command until it ends, and a move makes two steps at once.
fn whole() -> Drawn {
    prop_oneof![
        8 => request(Operation::Swap),
        4 => request(Operation::Read),
        4 => read_two(),
        6 => (0..SLOTS, server()).prop_map(|(slot, to)| Event::Begin(slot, to)),
        4 => Just(Event::MoveKeys),
        4 => Just(Event::Finish),
        4 => (0..6_usize).prop_map(Event::Deliver),
        1 => (client(), server()).prop_map(|(client, server)| Event::Refresh(client, server)),
        1 => server().prop_map(Event::Crash),
        1 => Just(Event::Notice),
        1 => Just(Event::Elect),
        2 => Just(Event::Return),
    ]
    .boxed()
}

/// Draws a command that the client begins.
fn start() -> Drawn {
    let operation = prop_oneof![
        Just(Operation::Read),
        Just(Operation::Write),
        Just(Operation::Swap),
        Just(Operation::Delete)
    ];
    let keys = (client(), operation, 0..KEYS / 3, 0..3_usize, 1..3_usize);
    keys.prop_map(|(client, operation, tag, key, count)| {
        let keys = [3 * tag + key, 3 * tag + (key + 1) % 3];
        let keys = keys.into_iter().take(count).map(number);
        Event::Start(client, operation, keys.collect())
    })
    .boxed()
}

/// Draws an event. A move or a failure may come between two sends of a command, and a crash between
/// two steps of a move.
fn stepwise() -> Drawn {
    prop_oneof![
        6 => start(),
        12 => client().prop_map(Event::Send),
        4 => (0..SLOTS, server()).prop_map(|(slot, to)| Event::Plan(slot, to)),
        8 => Just(Event::Step),
        4 => (0..6_usize).prop_map(Event::Deliver),
        1 => (client(), server()).prop_map(|(client, server)| Event::Refresh(client, server)),
        1 => server().prop_map(Event::Crash),
        1 => Just(Event::Notice),
        1 => Just(Event::Elect),
        2 => Just(Event::Return),
    ]
    .boxed()
}

fn number(key: usize) -> u32 {
    u32::try_from(key).unwrap_or(u32::MAX)
}

/// Draws and runs histories, and checks that together they reach every one of [`PLACES`].
fn hold(event: Drawn, length: usize) -> Outcome {
    let seen = RefCell::new(Vec::new());
    let config = Config {
        // A case is a hundred events, each checked for all keys at all servers.
        cases: Config::default().cases / 4,
        failure_persistence: None,
        ..Config::default()
    };
    let is_enough = config.cases >= 64;
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    runner.run(&prop::collection::vec(event, 1..length), |events| {
        seen.borrow_mut().push(run(&events)?.counts().clone());
        Ok(())
    })?;
    for (what, count) in PLACES {
        let all: u64 = seen.borrow().iter().map(count).sum();
        assert!(!is_enough || all > 0, "never {what}");
    }
    Ok(())
}

type Count = fn(&Counts) -> u64;

const PLACES: [(&str, Count); 10] = [
    ("MOVED", |seen| seen.moved),
    ("ASK", |seen| seen.ask),
    ("TRYAGAIN", |seen| seen.try_again),
    ("CLUSTERDOWN", |seen| seen.down),
    ("migrated", |seen| seen.migrated),
    ("finished", |seen| seen.finished),
    ("elected", |seen| seen.elected),
    ("reopened", |seen| seen.reopened),
    ("followed", |seen| seen.followed),
    ("returned", |seen| seen.returned),
];

#[test]
fn the_laws_hold_after_each_whole_command() -> Outcome {
    hold(whole(), 150)
}

#[test]
fn the_laws_hold_between_any_two_sends_or_steps() -> Outcome {
    hold(stepwise(), 300)
}
