//! Histories that once broke a law, event by event.

use hashroute_harness::sim::Event::{Begin, Crash, Finish, Request};
use hashroute_harness::sim::Operation::Swap;

use super::{Outcome, run};

/// A replica must hear that its primary lost slot 9 before the primary's epoch rises with slot 2.
#[test]
fn a_replica_hears_of_a_move_before_its_primary_takes_another_slot() -> Outcome {
    let world = run(&[
        Begin(9, 2),
        Request(0, Swap, vec![6]),
        Finish,
        Finish,
        Begin(2, 1),
        Finish,
        Crash(1),
    ])?;
    assert!(world.counts().elected > 0);
    Ok(())
}
