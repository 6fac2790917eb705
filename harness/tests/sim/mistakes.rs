//! Mistakes that break each law, and histories that the simulator must not accept or reject
//! wrongly.

use hashroute_harness::sim::Event::{Begin, Crash, Finish, MoveKeys, Request, Step};
use hashroute_harness::sim::Operation::{Read, Swap};
use hashroute_harness::sim::{Laws, Mistake};

use super::{Event, Outcome, world};

/// Returns the field names of the laws that these events break.
fn broken_by(mistake: Mistake, events: &[Event]) -> Result<Vec<&'static str>, hashroute::Error> {
    let mut world = world()?.with_mistake(mistake);
    for event in events {
        world.happen(event)?;
    }
    world.settle(40)?;
    let expected = world.view(0).expect("a server").clone();
    world.judge(&expected)?;
    Ok(fields(world.laws()))
}

fn fields(laws: &Laws) -> Vec<&'static str> {
    let names = [
        "one_server",
        "last_write",
        "one_copy",
        "answered",
        "all_there",
        "agreed",
    ];
    let laws = names.into_iter().zip(laws.iter());
    let broken = laws.filter(|(_, law)| law.broken > 0);
    broken.map(|(name, _)| name).collect()
}

/// Key 6 is in slot 9, which server 1 owns.
const WRITE: fn() -> Event = || Request(0, Swap, vec![6]);

#[test]
fn keys_that_are_left_are_lost() -> Outcome {
    let read = Request(1, Read, vec![6]);
    let events = [WRITE(), Begin(9, 2), Finish, Finish, read];
    let broken = broken_by(Mistake::KeysLeft, &events)?;
    // Once the target owns the slot, both source and target serve the key.
    assert_eq!(broken, ["one_server", "last_write", "all_there"]);
    Ok(())
}

#[test]
fn a_target_that_does_not_import_sends_clients_back() -> Outcome {
    let events = [WRITE(), Begin(9, 2), MoveKeys, WRITE()];
    let broken = broken_by(Mistake::NoImporting, &events)?;
    assert_eq!(broken, ["one_server", "answered"]);
    Ok(())
}

#[test]
fn a_source_that_lets_go_first_sends_clients_in_circles() -> Outcome {
    let events = [WRITE(), Begin(9, 2), MoveKeys, Step, Step, WRITE()];
    let broken = broken_by(Mistake::SourceFirst, &events)?;
    assert_eq!(broken, ["one_server", "answered"]);
    Ok(())
}

/// The two laws of the end do not hold during a move.
#[test]
fn a_move_under_way_is_no_end() -> Outcome {
    let mut world = world()?;
    world.happen(&WRITE())?;
    world.happen(&Begin(9, 2))?;
    world.happen(&MoveKeys)?;
    world.judge(&super::table()?)?;
    assert_eq!(fields(world.laws()), ["all_there", "agreed"]);
    Ok(())
}

/// While the owner is down, a write may end at no server.
#[test]
fn a_dead_owner_is_no_breach() -> Outcome {
    let mut world = world()?;
    for event in [WRITE(), Crash(1)] {
        world.happen(&event)?;
    }
    assert_eq!(fields(world.laws()), [""; 0]);
    Ok(())
}
