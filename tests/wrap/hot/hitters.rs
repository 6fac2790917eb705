//! The sketch, compared with exact counts on streams that mislead it.

use core::time::Duration;
use std::collections::BTreeMap;

use hashroute::KeyHash;
use hashroute::hot::HeavyHitters;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof};

use hashroute_test_support::{Outcome, for_all};

/// A part of a stream.
#[derive(Clone, Debug)]
enum Piece {
    /// One key, this many times in a row.
    Same(u64, u64),
    /// This many keys that never come again.
    Flood(u64),
    /// This many keys in turns, the worst case for a sketch with as many counters.
    Turns(u64, u64),
    /// One half-life passes.
    Halve,
    /// The counts so far are merged into a new sketch.
    Merge,
}

fn pieces() -> impl Strategy<Value = Piece> {
    prop_oneof![
        (0_u64..40, 1_u64..300).prop_map(|(key, times)| Piece::Same(key, times)),
        (1_u64..100).prop_map(Piece::Flood),
        (1_u64..40, 1_u64..20).prop_map(|(keys, times)| Piece::Turns(keys, times)),
        Just(Piece::Halve),
        Just(Piece::Merge),
    ]
}

/// A sketch and the exact counts; halving is exact in an `f64`.
struct Model {
    sketch: HeavyHitters,
    earlier: Option<HeavyHitters>,
    exact: BTreeMap<KeyHash, f64>,
    now: u64,
    fresh: u64,
}

impl Model {
    fn feed(&mut self, key: u64, amount: u64) {
        let key = KeyHash::from_integer(key);
        self.sketch.feed(key, amount);
        *self.exact.entry(key).or_default() += amount as f64;
    }

    fn apply(&mut self, piece: &Piece) {
        match *piece {
            Piece::Same(key, times) => self.feed(key, times),
            Piece::Flood(count) => (0..count).for_each(|_| {
                self.fresh += 1;
                self.feed(1000 + self.fresh, 1);
            }),
            Piece::Turns(keys, times) => {
                (0..keys * times).for_each(|turn| self.feed(turn % keys, 1));
            }
            Piece::Halve => {
                self.now += 1;
                let now = Duration::from_secs(self.now);
                self.sketch.advance(now);
                self.earlier
                    .iter_mut()
                    .for_each(|sketch| sketch.advance(now));
                self.exact.values_mut().for_each(|count| *count /= 2.0);
            }
            Piece::Merge => {
                let next = new(self.sketch.clone(), self.now);
                let earlier = core::mem::replace(&mut self.sketch, next);
                self.earlier = Some(match self.earlier.take() {
                    Some(mut sum) => {
                        sum.merge(&earlier);
                        sum
                    }
                    None => earlier,
                });
            }
        }
    }

    fn whole(&self) -> HeavyHitters {
        let mut whole = self.sketch.clone();
        self.earlier.iter().for_each(|sketch| whole.merge(sketch));
        whole
    }

    /// Each merged part may be off by 2 through halving.
    fn check(&self, capacity: usize, parts: usize) {
        let whole = self.whole();
        let total: f64 = self.exact.values().sum();
        let slack = if self.now == 0 {
            0.0
        } else {
            2.0 * parts as f64
        };
        let most_missed = total / (capacity + 1) as f64 + slack;
        assert!((0.0..=parts as f64).contains(&(whole.total() as f64 - total)));
        let tracked = whole.top(usize::MAX);
        assert!(tracked.len() <= 2 * capacity);
        for (&key, &exact) in &self.exact {
            let count = whole.count(key);
            let (least, most) = (*count.start() as f64, *count.end() as f64);
            assert!(least <= exact && exact <= most, "{count:?} {exact}");
            assert!(most - least <= most_missed, "{count:?} {total}");
            let found = tracked.iter().any(|(known, _)| *known == key);
            assert!(found || exact <= most_missed, "{exact} {total}");
        }
    }
}

/// Returns an empty sketch with the parameters of another.
fn new(like: HeavyHitters, now: u64) -> HeavyHitters {
    let mut fresh = like;
    // A thousand half-lives without requests.
    fresh.advance(Duration::from_secs(now + 1000));
    assert_eq!(fresh.top(1), []);
    let mut empty = HeavyHitters::new(CAPACITY)
        .and_then(|sketch| sketch.with_half_life(Duration::from_secs(1)))
        .expect("in range");
    empty.advance(Duration::from_secs(now));
    empty
}

const CAPACITY: usize = 7;

#[test]
fn every_key_above_its_share_is_tracked_and_no_count_is_far_off() {
    for_all(400, &vec(pieces(), 1..40), |pieces| {
        let sketch = HeavyHitters::new(CAPACITY)
            .and_then(|sketch| sketch.with_half_life(Duration::from_secs(1)))
            .expect("in range");
        let mut model = Model {
            sketch: new(sketch, 0),
            earlier: None,
            exact: BTreeMap::new(),
            now: 0,
            fresh: 0,
        };
        let mut parts = 1;
        for piece in &pieces {
            model.apply(piece);
            parts += usize::from(matches!(piece, Piece::Merge));
            model.check(CAPACITY, parts);
        }
    });
}

#[test]
fn few_keys_are_counted_exactly() -> Outcome {
    let mut sketch = HeavyHitters::new(10)?;
    for i in 0..20_000 {
        sketch.feed(KeyHash::from_integer(i % 20), 1);
    }
    for key in (0..20).map(KeyHash::from_integer) {
        assert_eq!(sketch.count(key), 1000..=1000);
    }
    sketch.feed(KeyHash::from_integer(20), 1); // one key more than there are counters
    assert!(sketch.top(100).len() <= 10 && *sketch.count(KeyHash::from_integer(0)).end() >= 1000);
    Ok(())
}

#[test]
fn a_jump_in_time_halves_counts_once_for_each_half_life() -> Outcome {
    let second = Duration::from_secs(1);
    let total = |times: &[u32]| -> Result<u64, hashroute::Error> {
        let mut sketch = HeavyHitters::new(10)?.with_half_life(10 * second)?;
        sketch.advance(15 * second);
        sketch.feed(KeyHash::from_integer(1), 1024);
        for &time in times {
            sketch.advance(time * second);
        }
        Ok(sketch.total())
    };
    assert_eq!(total(&[19])?, 1024);
    assert_eq!(total(&[20])?, 512);
    assert_eq!(total(&[20, 21, 29, 20, 5, 29])?, 512);
    assert_eq!(total(&[45])?, 128);
    assert_eq!(total(&[25, 35, 45])?, 128);
    assert_eq!(total(&[u32::MAX])?, 1);
    Ok(())
}
