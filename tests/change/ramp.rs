//! Ramps over the whole registry.
//!
//! Each step moves only keys of its node, and all steps together move the keys that one change of
//! the weight would have moved.

use core::time::Duration;

use hashroute::registry::{Excess, Scheme, Weights};
use hashroute::strategy::ALL;
use hashroute::{Change, Error, Node, Ramp, Rendezvous, Router};
use hashroute_test_support::{
    Outcome, SIGNIFICANCE, at_least, build, caps, for_all, is_set, keys, owners, weighted,
};
use proptest::collection::vec;
use proptest::prelude::{Strategy as _, any};

/// The node whose weight changes.
const NAME: &str = "node-0";
const SECOND: Duration = Duration::from_secs(1);
const KEYS: usize = 2000;

fn with_weights() -> impl Iterator<Item = &'static Scheme> {
    ALL.iter()
        .filter(|strategy| caps(strategy).weights == Weights::Any)
}

/// Returns the number of keys that moved between other nodes.
fn excess(rises: bool, before: &[Box<str>], after: &[Box<str>]) -> u64 {
    let moved = before.iter().zip(after).filter(|(old, new)| old != new);
    let wrong = moved.filter(|(old, new)| &***(if rises { new } else { old }) != NAME);
    wrong.count() as u64
}

/// Returns the p-value of the excess moves under the bound that the strategy states.
fn chance(strategy: &Scheme, excess: u64, weighted: usize) -> f64 {
    match caps(strategy).excess {
        Excess::None => f64::from(excess == 0),
        Excess::AtMost(bound) => at_least(excess, KEYS as u64, bound(weighted)),
        Excess::Unbounded => 1.0,
        other => panic!("unknown to the tests: {other:?}"),
    }
}

/// Applies the due change at each of these times, in this order, and checks that the weight is that
/// of the latest time so far.
fn follow(strategy: &Scheme, ramp: &Ramp, router: &mut dyn Router, times: &[u32], limit: f64) {
    let sample = keys(70, KEYS);
    let rises = ramp.at(Duration::MAX) > ramp.at(Duration::ZERO);
    let mut latest = Duration::ZERO;
    let mut before = owners(router, &sample);
    for &time in times {
        let now = time * SECOND;
        latest = latest.max(now);
        let due = ramp.due(now, router.nodes()).expect("a member");
        if let Some(change) = due {
            router.apply(&change).expect("a weight it takes");
        }
        let id = router.nodes().id(NAME);
        let weight = id.and_then(|id| router.nodes().weight(id));
        assert_eq!(weight, Some(ramp.at(latest)), "{} {times:?}", strategy.name);
        let after = owners(router, &sample);
        let excess = excess(rises, &before, &after);
        let chance = chance(strategy, excess, router.nodes().weighted() + 1);
        assert!(
            chance >= limit,
            "{} {ramp:?} {now:?}: {excess}",
            strategy.name
        );
        before = after;
    }
    assert_eq!(ramp.due(latest, router.nodes()), Ok(None));
}

#[test]
fn ramp_steps_move_only_their_node_and_add_up_to_one_change() {
    const CASES: u32 = 6;
    const STEPS: usize = 12;
    let shapes = (any::<bool>(), 9_u32..30, 1_u32..=3);
    let times = vec(0_u32..70, 0..STEPS - 1);
    let inputs = (vec(1_u32..30, 1..7), shapes, times).prop_map(|(others, shape, mut times)| {
        times.push(61); // the end of the ramp
        (others, shape, times)
    });
    let limit = SIGNIFICANCE / (CASES as usize * STEPS * ALL.len()) as f64;
    let sample = keys(70, KEYS);
    for strategy in with_weights() {
        for_all(CASES, &inputs, |(others, (rises, weight, steps), times)| {
            let (from, to) = if rises { (0, weight) } else { (weight, 0) };
            let weights = [&[from], &others[..]].concat();
            let mut router = build(strategy, weighted(strategy, &weights));
            let time = SECOND..61 * SECOND;
            let ramp = match steps {
                1 => Ramp::linear(NAME, from, to, time, weight),
                steps => Ramp::slow_start(NAME, from, to, time, steps),
            };
            let ramp = ramp.expect("few enough steps");
            follow(strategy, &ramp, &mut *router, &times, limit);
            let last = owners(&*router, &sample);
            let own = last.iter().any(|owner| **owner == *NAME);
            assert!(rises || !own, "{}: a drained node owns keys", strategy.name);
            if is_set(strategy) {
                let mut direct = build(strategy, weighted(strategy, &weights));
                direct.apply(&Change::reweight(NAME, to)).expect("a weight");
                assert_eq!(last, owners(&*direct, &sample), "{}", strategy.name);
            }
        });
    }
}

/// The weight rises by one step at each time.
#[test]
fn a_cold_node_gets_a_little_more_each_step() -> Outcome {
    for strategy in with_weights() {
        let mut router = build(strategy, weighted(strategy, &[10; 5]));
        router.apply(&Change::Add(Node::new("cold").with_weight(0)))?;
        let ramp = Ramp::slow_start("cold", 0, 10, Duration::ZERO..30 * SECOND, 3)?;
        let sample = keys(71, 20_000);
        let mut counts = Vec::new();
        for (now, weight) in ramp.steps() {
            if let Some(change) = ramp.due(now, router.nodes())? {
                router.apply(&change)?;
            }
            let owned = owners(&*router, &sample);
            let own = owned.iter().filter(|owner| &***owner == "cold").count();
            assert_eq!(own > 0, weight > 0, "{}", strategy.name);
            counts.push(own);
        }
        assert!(
            counts.windows(2).all(|pair| pair[0] < pair[1]),
            "{counts:?}"
        );
    }
    Ok(())
}

/// Applies the due change of each ramp and drops the finished ones.
fn drive(ramps: &mut Vec<Ramp>, now: Duration, router: &mut dyn Router) -> usize {
    let mut changes = 0;
    ramps.retain(|ramp| {
        if let Ok(Some(change)) = ramp.due(now, router.nodes()) {
            router.apply(&change).expect("a weight it takes");
            changes += 1;
        }
        !ramp.is_over(now, router.nodes())
    });
    changes
}

#[test]
fn a_finished_ramp_leaves_the_weight_alone() -> Outcome {
    for strategy in with_weights() {
        let mut router = build(strategy, weighted(strategy, &[0, 10, 10]));
        let weight = |router: &dyn Router| router.nodes().weight(router.nodes().id(NAME)?);
        let mut ramps = vec![
            Ramp::linear(NAME, 0, 10, Duration::ZERO..10 * SECOND, 10)?,
            Ramp::linear(NAME, 10, 0, 20 * SECOND..30 * SECOND, 10)?,
        ];
        // No call is made while the rise ends and the fall begins.
        for now in (0..9).chain(25..40) {
            let changes = drive(&mut ramps, now * SECOND, &mut *router);
            let expected = match now {
                25 => 2,
                1..9 | 26..=30 => 1,
                _ => 0,
            };
            assert_eq!(changes, expected, "{} {now}", strategy.name);
        }
        assert_eq!((ramps.len(), weight(&*router)), (0, Some(0)));
        // An operator sets another weight later; then the name joins again as a cold node.
        let mut ramps = vec![Ramp::linear(NAME, 0, 10, 50 * SECOND..60 * SECOND, 10)?];
        assert_eq!(drive(&mut ramps, 60 * SECOND, &mut *router), 1);
        router.apply(&Change::reweight(NAME, 3))?;
        assert_eq!(drive(&mut ramps, 1000 * SECOND, &mut *router), 0);
        assert_eq!(weight(&*router), Some(3));
    }
    Ok(())
}

#[test]
fn a_ramp_ends_with_its_node() -> Outcome {
    let mut router = Rendezvous::new(["a", NAME].map(|name| Node::new(name).with_weight(10)))?;
    let mut ramps = vec![Ramp::linear(NAME, 0, 20, Duration::ZERO..10 * SECOND, 10)?];
    router.apply(&Change::remove(NAME))?;
    assert_eq!(drive(&mut ramps, 11 * SECOND, &mut router), 0);
    router.apply(&Change::Add(Node::new(NAME).with_weight(0)))?;
    assert_eq!(drive(&mut ramps, 12 * SECOND, &mut router), 0);
    assert_eq!(router.nodes().total_weight(), 10);
    Ok(())
}

#[test]
fn a_strategy_without_weights_says_so_and_stays_as_it_is() -> Outcome {
    for strategy in ALL.iter().filter(|row| caps(row).weights == Weights::One) {
        let mut router = build(strategy, weighted(strategy, &[1; 4]));
        let before = hashroute_test_support::state(&*router);
        let drain = Ramp::linear(NAME, 1, 0, Duration::ZERO..SECOND, 1)?;
        let change = drain.due(SECOND, router.nodes())?.ok_or("due")?;
        let error = router.apply(&change).expect_err("no weights");
        assert!(matches!(error, Error::Weight { .. }), "{error}");
        assert_eq!(
            before,
            hashroute_test_support::state(&*router),
            "{}",
            strategy.name
        );
    }
    Ok(())
}
