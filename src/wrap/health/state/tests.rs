use alloc::vec::Vec;
use core::time::Duration;

use super::{MOST_FLAPS, Policy, State, TIME_BITS};

#[test]
fn packing_keeps_all_fields() {
    for down in [false, true] {
        for since in [0, 1, (1 << TIME_BITS) - 1] {
            for (count, flaps) in [(0, 0), (1, MOST_FLAPS), (u8::MAX, 1)] {
                let state = State {
                    down,
                    since,
                    count,
                    flaps,
                };
                assert_eq!(State::unpack(state.pack()), state);
            }
        }
    }
}

/// Reports of several threads come in any order, with any times.
#[test]
fn no_time_and_no_order_of_reports_panics() {
    let policy = Policy {
        fail_after: 2,
        window: Duration::MAX,
        rise: u8::MAX,
        hold: Duration::MAX,
        max_hold: Duration::MAX,
        ..Policy::default()
    };
    let times = [Duration::MAX, Duration::ZERO, Duration::from_nanos(1)];
    let mut state = State::default();
    for now in times.into_iter().cycle().take(1000) {
        state = state.failed(now, &policy);
        assert_eq!(State::unpack(state.pack()), state);
        state = state.failed(now, &policy).succeeded(now, &policy);
        assert_eq!(State::unpack(state.pack()), state);
    }
    assert!(state.down && !state.is_due(Duration::from_secs(1), &policy));
}

#[test]
fn the_hold_doubles_up_to_its_limit_and_starts_again_after_max_hold() {
    let policy = Policy {
        fail_after: 1,
        rise: 1,
        ..Policy::default()
    };
    let mut state = State::default();
    let mut now = Duration::ZERO;
    let mut holds = Vec::new();
    for _ in 0..70 {
        state = state.failed(now, &policy);
        let mut held = 0;
        while state.down && held < 1000 {
            held += 1;
            state = state.succeeded(now + Duration::from_secs(held), &policy);
        }
        now += Duration::from_secs(held + 299);
        holds.push(held);
    }
    assert_eq!(holds[..6], [30, 60, 120, 240, 300, 300]);
    assert_eq!(holds[6..], [300; 64]);
    now += Duration::from_secs(1);
    state = state.failed(now, &policy);
    assert!(state.is_due(now + Duration::from_secs(30), &policy));
}

/// A late report neither ends a row of failures nor shortens the hold.
#[test]
fn out_of_order_reports_never_move_the_clock_backwards() {
    let second = Duration::from_secs(1);
    let policy = Policy::default();
    let mut state = State::default();
    for (now, down) in [(20, false), (9, false), (20, true)] {
        state = state.failed(now * second, &policy);
        assert_eq!(state.down, down);
    }
    // The report of the last failure comes late.
    let mut state = State::default();
    for now in [20, 20, 11] {
        state = state.failed(now * second, &policy);
    }
    let ends = 20 * second + policy.hold;
    assert!(state.down && state.is_due(ends, &policy));
    assert!(!state.is_due(19 * second + policy.hold, &policy));

    // Without a hold, even a success from before the node went down brings it up.
    let policy = Policy {
        fail_after: 1,
        rise: 1,
        hold: Duration::ZERO,
        ..policy
    };
    let down = state
        .succeeded(ends, &policy)
        .failed(1000 * second, &policy);
    let up = down.succeeded(second, &policy);
    assert!(down.down && !up.down);
    assert_eq!(up.since, 1_000_000);
}

/// Returns the number of failures at these times, in milliseconds, that put a node down.
fn failures_until_down(times: impl IntoIterator<Item = u64>) -> Option<usize> {
    let (mut state, policy) = (State::default(), Policy::default());
    let mut times = times.into_iter();
    let at = times.position(|now| {
        state = state.failed(Duration::from_millis(now), &policy);
        state.down
    })?;
    Some(at + 1)
}

#[test]
fn the_window_is_the_time_between_two_failures_in_a_row() {
    assert_eq!(failures_until_down([0, 9000, 11_000, 12_000]), Some(3));
    assert_eq!(failures_until_down([0, 11_000, 12_000, 13_000]), Some(4));
    for apart in [1000, 6000, 10_000] {
        let times = (0..1000).map(|i| i * apart);
        assert_eq!(failures_until_down(times), Some(3), "{apart}");
    }
    assert_eq!(failures_until_down((0..1000).map(|i| i * 10_001)), None);
}
