use alloc::vec::Vec;
use core::time::Duration;

use proptest::prelude::*;

use super::{MOST_FLAPS, Policy, State, TIME_BITS};

/// What a node is by the words of the module, with all that was seen kept, in milliseconds.
#[derive(Debug, Default)]
struct Model {
    down_since: Option<u64>,
    came_up: u64,
    last_series: u64,
    failures: Vec<u64>,
    successes: Vec<u64>,
    downs: u32,
}

impl Model {
    fn report(&mut self, success: bool, now: u64, policy: &Policy) {
        match (self.down_since, success) {
            (None, true) => self.failures.clear(),
            (None, false) => self.fail(now, policy),
            (Some(_), false) => self.successes.clear(),
            (Some(since), true) => {
                self.successes.push(now);
                let enough = self.successes.len() >= usize::from(policy.rise);
                if enough && now - since >= self.hold(policy) {
                    (self.down_since, self.came_up) = (None, now);
                }
            }
        }
    }

    fn fail(&mut self, now: u64, policy: &Policy) {
        let first = self.failures.first().copied();
        if first.is_some_and(|first| u128::from(now - first) > policy.window.as_millis()) {
            self.failures.clear();
        }
        if self.failures.is_empty() {
            let quiet = now - self.came_up.max(self.last_series);
            if u128::from(quiet) >= policy.max_hold.as_millis() {
                self.downs = 0;
            }
            self.last_series = now;
        }
        self.failures.push(now);
        if self.failures.len() >= usize::from(policy.fail_after) {
            self.down_since = Some(now);
            self.downs += 1;
            self.failures.clear();
            self.successes.clear();
        }
    }

    fn hold(&self, policy: &Policy) -> u64 {
        let hold = (1..self.downs).fold(policy.hold, |hold, _| policy.max_hold.min(hold * 2));
        hold.as_secs() * 1000 + u64::from(hold.subsec_millis())
    }
}

fn policies() -> impl Strategy<Value = Policy> {
    (1..4_u8, 0..50_u64, 1..4_u8, 0..20_u64, 0..100_u64).prop_map(
        |(fail_after, window, rise, hold, more)| Policy {
            fail_after,
            window: Duration::from_millis(window),
            rise,
            hold: Duration::from_millis(hold),
            max_hold: Duration::from_millis(hold + more),
            ..Policy::default()
        },
    )
}

/// Reports that come soon after each other, mostly alike, so that nodes go down and up.
fn reports() -> impl Strategy<Value = Vec<(bool, u64)>> {
    let streak = (any::<bool>(), prop::collection::vec(0..30_u64, 1..6));
    let flat = |streaks: Vec<(bool, Vec<u64>)>| {
        let each = |(success, steps): (bool, Vec<u64>)| {
            steps.into_iter().map(move |step| (success, step))
        };
        streaks.into_iter().flat_map(each).collect()
    };
    prop::collection::vec(streak, 1..40).prop_map(flat)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_state_does_what_the_module_says(policy in policies(), start in 0..1000_u64, reports in reports()) {
        let (mut state, mut model, mut now) = (State::default(), Model::default(), start);
        for (success, step) in reports {
            now += step;
            let time = Duration::from_millis(now);
            state = if success { state.succeeded(time, &policy) } else { state.failed(time, &policy) };
            model.report(success, now, &policy);
            prop_assert_eq!(state.down, model.down_since.is_some());
            let due = model.down_since.is_some_and(|since| now - since >= model.hold(&policy));
            prop_assert_eq!(state.is_due(time, &policy), due);
            prop_assert_eq!(State::unpack(state.pack()), state);
        }
    }

    #[test]
    fn bits_keep_all(down: bool, since in 0..1_u64 << TIME_BITS, count: u8, flaps in 0..=MOST_FLAPS) {
        let state = State { down, since, count, flaps };
        prop_assert_eq!(State::unpack(state.pack()), state);
    }

    /// Reports of several threads come in any order, and of any clock.
    #[test]
    fn no_time_panics(policy in policies(), reports: Vec<(bool, Duration)>) {
        let mut state = State::default();
        for (success, now) in reports {
            state = if success { state.succeeded(now, &policy) } else { state.failed(now, &policy) };
            prop_assert_eq!(State::unpack(state.pack()), state);
        }
    }
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
