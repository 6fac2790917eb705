use alloc::vec::Vec;
use core::time::Duration;

use super::{MOST_FLAPS, Policy, State, TIME_BITS};

#[test]
fn bits_keep_all() {
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

/// Reports of several threads come in any order, and of any clock.
#[test]
fn no_time_panics() {
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
fn the_hold_doubles_up_to_its_bound_and_is_forgotten_in_time() {
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

/// A late report neither ends a row nor shortens the hold.
#[test]
fn older_reports_take_no_time_back() {
    let second = Duration::from_secs(1);
    let policy = Policy::default();
    let mut state = State::default();
    for (now, down) in [(20, false), (9, false), (20, true)] {
        state = state.failed(now * second, &policy);
        assert_eq!(state.down, down);
    }
    // Its last failure comes late.
    let mut state = State::default();
    for now in [20, 20, 11] {
        state = state.failed(now * second, &policy);
    }
    let ends = 20 * second + policy.hold;
    assert!(state.down && state.is_due(ends, &policy));
    assert!(!state.is_due(19 * second + policy.hold, &policy));

    // What puts it up comes from before it went down, where there is no hold.
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

/// How many of these failures, in milliseconds, it takes.
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
fn the_window_is_between_one_failure_and_the_next() {
    assert_eq!(failures_until_down([0, 9000, 11_000, 12_000]), Some(3));
    assert_eq!(failures_until_down([0, 11_000, 12_000, 13_000]), Some(4));
    for apart in [1000, 6000, 10_000] {
        let times = (0..1000).map(|i| i * apart);
        assert_eq!(failures_until_down(times), Some(3), "{apart}");
    }
    assert_eq!(failures_until_down((0..1000).map(|i| i * 10_001)), None);
}
