//! The decisions of a client, one by one. `harness/tests/sim` combines them.

use hashroute::Error;
use hashroute::redis::{
    Address, Next, Outcome, Patience, Redirect, SlotMap, SlotRule, Stop, Table,
};
use proptest::prelude::*;

use crate::table;
use hashroute_test_support::Outcome as Done;

fn at(host: &str) -> Address {
    Address::new(host, 6379)
}

fn map() -> Result<SlotMap, Error> {
    let text = "a a:6379@1 master - 0 0 1 connected 0-8191\n\
                b b:6379@1 master - 0 0 2 connected 8192-16383\n\
                c c:6379@1 slave a 0 0 1 connected\n\
                d d:6379@1 slave,fail a 0 0 1 connected\n";
    let mut map = SlotMap::new(SlotRule::REDIS, [at("seed")])?;
    map.refill(&Table::from_nodes_text(text, SlotRule::REDIS)?)?;
    Ok(map)
}

const NOW: Next = Next::Send { wait: 0 };

#[test]
fn a_map_of_a_table_knows_owners_and_replicas() -> Done {
    let map = map()?;
    assert_eq!(
        (map.owner(8191), map.owner(8192)),
        (Some(&at("a")), Some(&at("b")))
    );
    assert_eq!(map.owner(16_384), None);
    assert_eq!(map.replicas(0), [at("c")]);
    assert!(map.replicas(8192).is_empty() && !map.is_stale());
    assert!(matches!(
        map.start(["foo", "bar"]),
        Err(Error::CrossSlot { .. })
    ));
    Ok(())
}

#[test]
fn real_redirections_are_read() {
    // Replies of a real server with each kind of preferred endpoint.
    let asked = Address::new("127.0.0.1", 27_001);
    for (text, host) in [
        ("MOVED 12182 127.0.0.1:27003", "127.0.0.1"),
        ("MOVED 12182 ?:27003", "?"),
        ("MOVED 12182 :27003", "127.0.0.1"),
        ("MOVED 12182 two.example:27003", "two.example"),
        ("-MOVED 12182 [2001:db8::1]:27003\r\n", "2001:db8::1"),
        ("MOVED 12182 2001:db8::1:27003", "2001:db8::1"),
    ] {
        let expected = Redirect::Moved {
            slot: 12_182,
            to: Address::new(host, 27_003),
        };
        assert_eq!(Redirect::parse(text, &asked), Some(expected), "{text}");
    }
    for text in [
        "",
        "-",
        "MOVED",
        "MOVED x a:1",
        "MOVED 1",
        "MOVED 1 a",
        "MOVED 1 a:99999",
        "ASK -1 a:1",
        "ERR no",
    ] {
        assert_eq!(Redirect::parse(text, &asked), None, "{text}");
    }
}

#[test]
fn moved_corrects_the_map_and_ask_does_not() -> Done {
    let mut map = map()?;
    let mut call = map.start(["foo"])?;
    assert_eq!((call.to(), call.slot()), (&at("b"), Some(12_182)));
    assert_eq!(
        map.after(&mut call, Outcome::Error("ASK 12182 a:6379")),
        NOW
    );
    assert_eq!((call.to(), call.is_asking()), (&at("a"), true));
    assert_eq!((map.owner(12_182), map.is_stale()), (Some(&at("b")), false));
    // The next command asks the owner again.
    assert_eq!(map.start(["foo"])?.to(), &at("b"));

    let mut call = map.start(["foo"])?;
    assert_eq!(
        map.after(&mut call, Outcome::Error("MOVED 12182 a:6379")),
        NOW
    );
    assert_eq!((call.to(), call.is_asking()), (&at("a"), false));
    assert_eq!((map.owner(12_182), map.is_stale()), (Some(&at("a")), true));
    assert_eq!(map.owner(12_183), Some(&at("b")));
    assert_eq!(map.after(&mut call, Outcome::Answer), Next::Done);
    Ok(())
}

#[test]
fn try_again_waits_longer_each_time_and_goes_to_the_owner() -> Done {
    let mut map = map()?;
    let mut call = map.start(["foo"])?;
    map.after(&mut call, Outcome::Error("ASK 12182 a:6379"));
    let mut waits = Vec::new();
    loop {
        match map.after(
            &mut call,
            Outcome::Error("TRYAGAIN Multiple keys request during rehashing of slot"),
        ) {
            Next::Send { wait } => waits.push(wait),
            next => {
                assert_eq!(next, Next::GiveUp(Stop::Patience));
                break;
            }
        }
        assert_eq!((call.to(), call.is_asking()), (&at("b"), false));
    }
    assert_eq!(waits[..8], [10, 20, 40, 80, 160, 320, 640, 1000]);
    assert_eq!((call.sent(), waits.len(), map.is_stale()), (64, 62, false));
    Ok(())
}

#[test]
fn crossed_slots_are_never_tried_again() -> Done {
    let mut map = map()?;
    let mut call = map.start(["foo"])?;
    let text = "CROSSSLOT Keys in request don't hash to the same slot";
    assert_eq!(
        map.after(&mut call, Outcome::Error(text)),
        Next::GiveUp(Stop::CrossSlot)
    );
    // Errors that do not concern the cluster go to the caller.
    let mut call = map.start(["foo"])?;
    assert_eq!(
        map.after(&mut call, Outcome::Error("WRONGTYPE no")),
        Next::Done
    );
    Ok(())
}

#[test]
fn a_circle_of_redirections_ends() -> Done {
    let mut map = map()?;
    let mut call = map.start(["foo"])?;
    let mut waits = 0;
    let end = loop {
        let other = if call.to() == &at("a") { "b" } else { "a" };
        match map.after(
            &mut call,
            Outcome::Error(&format!("MOVED 12182 {other}:6379")),
        ) {
            Next::Send { wait } => waits += u32::from(wait > 0),
            next => break next,
        }
    };
    assert_eq!((end, call.sent()), (Next::GiveUp(Stop::Loop), 64));
    assert!(waits > 5, "{waits}");
    // A server that redirects to itself and then is gone is no circle.
    let mut call = map.start(["foo"])?;
    let itself = format!("MOVED 12182 {}", call.to());
    assert!(matches!(
        map.after(&mut call, Outcome::Error(&itself)),
        Next::Send { wait: 1.. }
    ));
    let end = loop {
        match map.after(&mut call, Outcome::Refused) {
            Next::Send { .. } => {}
            next => break next,
        }
    };
    assert_eq!(end, Next::GiveUp(Stop::Patience));
    Ok(())
}

/// The owner and its replicas are gone; another server knows the new primary.
#[test]
fn every_server_is_asked_in_turn_with_the_owner() -> Done {
    let seeds = ["a", "b", "c", "d", "e"].map(at);
    for owner in [Some("a"), Some("c"), Some("e"), None] {
        let mut map = SlotMap::new(SlotRule::REDIS, seeds.clone())?;
        if let Some(owner) = owner {
            let moved = format!("MOVED 12182 {owner}:6379");
            map.after(&mut map.start(["foo"])?.clone(), Outcome::Error(&moved));
        }
        let mut call = map.start(["foo"])?;
        let mut asked = vec![call.to().clone()];
        while map.after(&mut call, Outcome::Refused) != Next::GiveUp(Stop::Patience) {
            asked.push(call.to().clone());
        }
        let first = &asked[..10];
        assert!(
            seeds.iter().all(|seed| first.contains(seed)),
            "{owner:?}: {first:?}"
        );
        if let Some(owner) = owner {
            let turns = asked.iter().step_by(2).all(|to| *to == at(owner));
            assert!(turns, "{asked:?}");
        }
    }
    Ok(())
}

#[test]
fn a_server_that_does_not_help_is_left() -> Done {
    let mut map = map()?;
    let mut call = map.start(["foo"])?;
    assert_eq!(
        map.after(&mut call, Outcome::Refused),
        Next::Send { wait: 10 }
    );
    assert_ne!(call.to(), &at("b"));
    assert!(map.is_stale());
    // The server redirects back, since the failover is not finished.
    assert_eq!(
        map.after(&mut call, Outcome::Error("MOVED 12182 b:6379")),
        NOW
    );
    assert_eq!(
        map.after(&mut call, Outcome::Refused),
        Next::Send { wait: 20 }
    );
    assert_ne!(call.to(), &at("b"));
    for text in [
        "CLUSTERDOWN The cluster is down",
        "LOADING",
        "MOVED 12182 ?:6379",
        "ASK 12182 ?:1",
    ] {
        let before = call.to().clone();
        assert!(matches!(
            map.after(&mut call, Outcome::Error(text)),
            Next::Send { wait: 1.. }
        ));
        assert_ne!(call.to(), &before, "{text}");
    }
    Ok(())
}

/// Other servers still redirect to a dead owner, so half of the tries wait.
#[test]
fn a_client_outlasts_a_failover() -> Done {
    let mut map = map()?;
    let (mut call, mut waited) = (map.start(["foo"])?, 0);
    loop {
        let outcome = if call.to() == &at("b") {
            Outcome::Refused
        } else {
            Outcome::Error("MOVED 12182 b:6379")
        };
        match map.after(&mut call, outcome) {
            Next::Send { wait } => waited += wait,
            next => break assert_eq!(next, Next::GiveUp(Stop::Patience)),
        }
    }
    assert!((25_000..60_000).contains(&waited), "{waited} ms");
    Ok(())
}

#[test]
fn a_request_that_may_have_been_done_is_not_sent_again() -> Done {
    let mut map = map()?;
    let mut call = map.start(["foo"])?;
    assert_eq!(
        map.after(&mut call, Outcome::Lost),
        Next::GiveUp(Stop::Uncertain)
    );
    let mut call = map.start(["foo"])?.repeatable();
    assert_eq!(map.after(&mut call, Outcome::Lost), Next::Send { wait: 10 });
    Ok(())
}

#[test]
fn a_client_follows_a_failover_to_the_new_primary() -> Done {
    let (failed, after) = (table("nodes_failed.txt")?, table("nodes_failover.txt")?);
    let mut map = SlotMap::new(SlotRule::REDIS, [Address::new("127.0.0.1", 27_001)])?;
    map.refill(&failed)?;
    let mut call = map.start(["foo"])?;
    assert_eq!(call.to().port(), 27_003);
    map.after(&mut call, Outcome::Refused);
    map.after(&mut call, Outcome::Error("CLUSTERDOWN The cluster is down"));
    while call.to().port() == 27_003 {
        map.after(&mut call, Outcome::Refused);
    }
    let text = format!(
        "MOVED 12182 {}",
        after.owner(12_182).ok_or("nobody")?.address()
    );
    map.after(&mut call, Outcome::Error(&text));
    assert_eq!(call.to().port(), 27_005);
    map.refill(&after)?;
    assert_eq!(map.start(["foo"])?.to().port(), 27_005);
    Ok(())
}

#[test]
fn a_map_of_another_rule_is_refused() -> Done {
    let rule = SlotRule::new(hashroute::KeyHasher::REDIS, 100)?;
    assert!(map()?.refill(&Table::new(rule)).is_err());
    Ok(())
}

fn outcome() -> impl Strategy<Value = (String, u8)> {
    let errors = prop_oneof![
        (0..20_000_u32, "[a-d?]?", any::<u16>()).prop_map(|(s, h, p)| format!("MOVED {s} {h}:{p}")),
        (0..20_000_u32, "[a-d?]?", any::<u16>()).prop_map(|(s, h, p)| format!("ASK {s} {h}:{p}")),
        Just("TRYAGAIN".to_owned()),
        Just("CLUSTERDOWN".to_owned()),
        ".{0,20}",
    ];
    (errors, 0..4_u8)
}

proptest! {
    #![proptest_config(hashroute_test_support::fixed(256))]

    /// For any replies, a call ends within its limit and always has a known target.
    #[test]
    fn every_call_ends_within_its_limits(outcomes in prop::collection::vec(outcome(), 1..8), sends in 0..40_u32) {
        let patience = Patience::default().with_sends(sends).with_first(u64::MAX).with_longest(5);
        let mut map = map()?.with_patience(patience);
        let mut call = map.start(["foo"])?.repeatable();
        for turn in 0.. {
            let (text, kind) = &outcomes[turn % outcomes.len()];
            let outcome = if *kind == 0 { Outcome::Refused } else { Outcome::Error(text) };
            match map.after(&mut call, outcome) {
                Next::Send { wait } => prop_assert!(wait <= 5 && call.to().is_known()),
                _ => break,
            }
            prop_assert!(call.sent() <= sends.max(1));
        }
    }
}
