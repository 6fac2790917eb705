//! The state of a node, compared with a model that keeps every report.

use core::time::Duration;

use hashroute::health::{Liveness, Policy};
use hashroute::{Jump, Node, Router};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

use hashroute_test_support::for_all;

/// A node by the documented rules, with every report kept. Times are in milliseconds.
#[derive(Debug, Default)]
struct Model {
    down_since: Option<u64>,
    came_up: u64,
    last_failure: u64,
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
        let last = self.failures.last().copied();
        if last.is_some_and(|last| u128::from(now - last) > policy.window.as_millis()) {
            self.failures.clear();
        }
        let quiet = now - self.came_up.max(self.last_failure);
        if u128::from(quiet) >= policy.max_hold.as_millis() {
            self.downs = 0;
        }
        self.last_failure = now;
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
    let numbers = (1..4_u8, 0..50_u64, 1..4_u8, 0..20_u64, 0..100_u64);
    numbers.prop_map(|(fail_after, window, rise, hold, more)| {
        Policy::default()
            .with_fail_after(fail_after)
            .with_window(Duration::from_millis(window))
            .with_rise(rise)
            .with_hold(Duration::from_millis(hold))
            .with_max_hold(Duration::from_millis(hold + more))
    })
}

/// Generates reports in quick succession, mostly alike, so that nodes go down and up.
fn reports() -> impl Strategy<Value = Vec<(bool, u64)>> {
    let streak = (any::<bool>(), vec(0..30_u64, 1..6));
    vec(streak, 1..40).prop_map(|streaks| {
        let each =
            |(success, steps): (bool, Vec<u64>)| steps.into_iter().map(move |step| (success, step));
        streaks.into_iter().flat_map(each).collect()
    })
}

#[test]
fn nodes_go_down_and_up_as_the_documented_rules_say() {
    let flips = core::cell::Cell::new(0);
    for_all(
        2000,
        &(policies(), 0..1000_u64, reports()),
        |(policy, start, reports)| {
            let jump = Jump::new([Node::new("a")]).expect("one name");
            let filter = Liveness::new(jump, policy).expect("a policy");
            let id = filter.nodes().id("a").expect("a member");
            let (mut model, mut now) = (Model::default(), start);
            for (success, step) in reports {
                now += step;
                let time = Duration::from_millis(now);
                let was_down = model.down_since.is_some();
                model.report(success, now, &policy);
                let is_down = model.down_since.is_some();
                let flipped = if success {
                    filter.succeeded(id, time)
                } else {
                    filter.failed(id, time)
                };
                assert_eq!(
                    (filter.is_down(id), flipped),
                    (is_down, is_down != was_down)
                );
                let due = model
                    .down_since
                    .is_some_and(|since| now - since >= model.hold(&policy));
                assert_eq!(filter.due(time).count(), usize::from(due));
                flips.set(flips.get() + usize::from(flipped));
            }
        },
    );
    assert!(
        flips.get() > 2000,
        "nodes hardly went down and up: {}",
        flips.get()
    );
}
