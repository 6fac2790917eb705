//! The measuring core: a pass of ours, a pass of the peer's, in turn; the median of each.
//!
//! Passes are timed by the CPU time of their thread, so that what else runs on the machine
//! takes its toll only through the caches. Changes of membership take too little time for that
//! clock, and the readers of the `threads` row are timed by the wall, which is their point.

use std::hint::black_box;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use hashroute::{KeyHash, NodeId, Router, RouterExt};

/// What a side answers for a key that it has no node for; no index and no address is this.
pub(crate) const NOBODY: u64 = u64::MAX;

const PASSES: usize = 7;
const CHUNK: usize = 1024;
const FEWEST_KEYS: usize = 128;
/// No pass is shorter, so that the clock's grain does not show.
const SHORTEST: Duration = Duration::from_millis(2);

/// The medians of both sides.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) ours: f64,
    pub(crate) peer: f64,
}

/// A membership change, and back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Remove,
}

/// The keys and how long a pass may take.
pub(crate) struct Bench {
    keys: Vec<&'static str>,
    budget: Duration,
    quick: bool,
}

impl Bench {
    pub(crate) fn new(keys: Vec<&'static str>, quick: bool) -> Self {
        let budget = Duration::from_millis(if quick { 10 } else { 150 });
        Self {
            keys,
            budget,
            quick,
        }
    }

    pub(crate) fn is_quick(&self) -> bool {
        self.quick
    }

    /// Other keys, the same pace.
    pub(crate) fn with_keys(&self, keys: Vec<&'static str>) -> Self {
        Self { keys, ..*self }
    }

    /// Nanoseconds a key, one key after the other. A side takes a key and gives a number that
    /// tells its node from the `n - 1` others; with `usize::MAX` for `n`, balance is not checked.
    pub(crate) fn route(
        &self,
        n: usize,
        ours: impl Fn(&str) -> u64,
        peer: impl Fn(&str) -> u64,
    ) -> Pair {
        let keys = self.sample(&ours, &peer);
        let sums = [census(keys, n, &ours), census(keys, n, &peer)];
        interleave(|| pass(keys, &ours, sums[0]), || pass(keys, &peer, sums[1]))
    }

    /// As [`route`](Self::route), for two sides that should give the same answers.
    pub(crate) fn same(
        &self,
        n: usize,
        ours: impl Fn(&str) -> u64,
        peer: impl Fn(&str) -> u64,
    ) -> Pair {
        let differs = self.keys.iter().find(|key| ours(key) != peer(key));
        assert_eq!(differs, None, "the sides disagree on a key");
        self.route(n, ours, peer)
    }

    /// Nanoseconds a key where each key depends on the last answer.
    pub(crate) fn latency(
        &self,
        n: usize,
        ours: impl Fn(&str) -> u64,
        peer: impl Fn(&str) -> u64,
    ) -> Pair {
        let keys = self.sample(&ours, &peer);
        let sums = [census(keys, n, &ours), census(keys, n, &peer)];
        interleave(
            || dependent_pass(keys, &ours, sums[0]),
            || dependent_pass(keys, &peer, sums[1]),
        )
    }

    /// Nanoseconds a key: ours hashed and routed by the chunk, the peer one by one.
    pub(crate) fn batch(&self, n: usize, router: &impl Router, peer: impl Fn(&str) -> u64) -> Pair {
        let ours = |key: &str| id(router, key);
        let keys = self.sample(&ours, &peer);
        let sums = [census(keys, n, &ours), census(keys, n, &peer)];
        interleave(
            || batch_pass(keys, router, sums[0]),
            || pass(keys, &peer, sums[1]),
        )
    }

    /// Nanoseconds a key of two readers of one router, against one reader: first by the wall,
    /// then by the CPU time of each as if no reader had to wait for a core.
    pub(crate) fn threads(&self, n: usize, route: impl Fn(&str) -> u64 + Sync) -> [Pair; 2] {
        let keys = self.sample(&route, &route);
        let sum = census(keys, n, &route);
        let read = |readers| read(readers, keys, &route, sum);
        [
            interleave(|| read(2).0, || read(1).0),
            interleave(|| read(2).1, || read(1).1),
        ]
    }

    /// As many keys as the slower side routes within the budget.
    fn sample(&self, ours: &impl Fn(&str) -> u64, peer: &impl Fn(&str) -> u64) -> &[&'static str] {
        let slowest = pace(&self.keys, ours).max(pace(&self.keys, peer));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive number of keys, cut to those there are"
        )]
        let count = (self.budget.as_nanos() as f64 / slowest) as usize;
        &self.keys[..count.clamp(FEWEST_KEYS, self.keys.len())]
    }
}

/// Nanoseconds to make a thing. Neither what it is made from nor its end is timed.
pub(crate) fn build<I, T, J, U>(
    ours: &(impl Fn() -> I, impl Fn(I) -> T),
    peer: &(impl Fn() -> J, impl Fn(J) -> U),
) -> Pair {
    interleave(
        || repeat(|| time_build(&ours.0, &ours.1)),
        || repeat(|| time_build(&peer.0, &peer.1)),
    )
}

/// Nanoseconds to take one of `n` nodes out, or to put it back; each in its turn.
pub(crate) fn change(
    n: usize,
    timed: Op,
    ours: &mut impl FnMut(Op, usize),
    peer: &mut impl FnMut(Op, usize),
) -> Pair {
    let (mut our_turn, mut their_turn) = ((0..n).cycle(), (0..n).cycle());
    interleave(
        || repeat(|| time_change(timed, ours, our_turn.next().unwrap_or(0))),
        || repeat(|| time_change(timed, peer, their_turn.next().unwrap_or(0))),
    )
}

/// The number of the node that a key goes to, by id.
#[inline]
pub(crate) fn id(router: &impl Router, key: &str) -> u64 {
    mark(router.owner(key.as_bytes()))
}

/// The node that a key goes to, told by the address of its name: reading it is what a caller
/// does next with a node.
#[inline]
pub(crate) fn node(router: &impl Router, key: &str) -> u64 {
    router
        .route(key.as_bytes())
        .map_or(NOBODY, |node| name(node.name()))
}

#[inline]
pub(crate) fn name(name: &str) -> u64 {
    name.as_ptr().addr() as u64
}

#[inline]
fn mark(id: Option<NodeId>) -> u64 {
    id.map_or(NOBODY, |id| id.index() as u64)
}

fn interleave(mut ours: impl FnMut() -> f64, mut peer: impl FnMut() -> f64) -> Pair {
    let passes: Vec<_> = (0..PASSES).map(|_| (ours(), peer())).collect();
    let (ours, peer) = passes.into_iter().unzip();
    Pair {
        ours: median(ours),
        peer: median(peer),
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

fn per(time: Duration, count: usize) -> f64 {
    time.as_nanos() as f64 / count as f64
}

/// Nanoseconds a key, roughly.
fn pace(keys: &[&str], route: &impl Fn(&str) -> u64) -> f64 {
    let mut count = 16;
    loop {
        let start = ThreadTime::now();
        for key in keys.iter().cycle().take(count) {
            black_box(route(black_box(key)));
        }
        let time = start.elapsed();
        if time >= SHORTEST {
            return per(time, count);
        }
        count *= 4;
    }
}

/// The checksum of all answers, having seen that each key has one and that they are balanced.
fn census(keys: &[&str], n: usize, route: &impl Fn(&str) -> u64) -> u64 {
    let mut marks: Vec<_> = keys.iter().map(|key| route(key)).collect();
    let sum = marks
        .iter()
        .fold(0, |sum: u64, mark| sum.wrapping_add(*mark));
    marks.sort_unstable();
    assert!(marks.last() != Some(&NOBODY), "a key was not routed");
    let loads: Vec<_> = marks.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
    assert!(loads.len() <= n, "{} nodes answered, of {n}", loads.len());
    // With fewer keys, chance alone leaves nodes out.
    if keys.len() >= n.saturating_mul(100) {
        let most = loads.iter().max().map_or(0, |&most| most * n);
        assert!(loads.len() == n, "{} nodes answered, of {n}", loads.len());
        assert!(
            most <= 5 * keys.len() / 2,
            "one node has 2.5 times its share"
        );
    }
    sum
}

fn pass(keys: &[&str], route: &impl Fn(&str) -> u64, expected: u64) -> f64 {
    let start = ThreadTime::now();
    let mut sum = 0_u64;
    for key in keys {
        sum = sum.wrapping_add(route(black_box(key)));
    }
    let time = start.elapsed();
    assert_eq!(black_box(sum), expected, "a pass gave other answers");
    per(time, keys.len())
}

/// Nanoseconds a key of all readers together, by the wall and by CPU time.
fn read(
    readers: usize,
    keys: &[&str],
    route: &(impl Fn(&str) -> u64 + Sync),
    expected: u64,
) -> (f64, f64) {
    let start = Instant::now();
    let each: Vec<_> = thread::scope(|scope| {
        let reader = || scope.spawn(|| pass(keys, route, expected));
        let started: Vec<_> = (0..readers).map(|_| reader()).collect();
        let join = |reader: ScopedJoinHandle<'_, f64>| reader.join().expect("no reader panics");
        started.into_iter().map(join).collect()
    });
    let wall = per(start.elapsed(), readers * keys.len());
    let rate: f64 = each.iter().map(|time| 1.0 / time).sum();
    (wall, 1.0 / rate)
}

fn dependent_pass(keys: &[&str], route: &impl Fn(&str) -> u64, expected: u64) -> f64 {
    // Nothing is added to the index, but only we know that.
    let nothing = black_box(0_usize);
    let start = ThreadTime::now();
    let mut sum = 0_u64;
    let mut last = 0;
    for at in 0..keys.len() {
        last = route(black_box(keys[at + (low(last) & nothing)]));
        sum = sum.wrapping_add(last);
    }
    let time = start.elapsed();
    assert_eq!(black_box(sum), expected, "a pass gave other answers");
    per(time, keys.len())
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
fn low(mark: u64) -> usize {
    mark as usize
}

fn batch_pass(keys: &[&str], router: &impl Router, expected: u64) -> f64 {
    let mut hashes = [KeyHash::from_raw(0); CHUNK];
    let mut owners = [None; CHUNK];
    let start = ThreadTime::now();
    let mut sum = 0_u64;
    for chunk in keys.chunks(CHUNK) {
        for (hash, key) in hashes.iter_mut().zip(chunk) {
            let known = router.hash_key(black_box(key).as_bytes());
            *hash = known.expect("every key has a hash");
        }
        let owners = &mut owners[..chunk.len()];
        router.route_batch(&hashes, owners);
        sum = owners
            .iter()
            .fold(sum, |sum, &owner| sum.wrapping_add(mark(owner)));
    }
    let time = start.elapsed();
    assert_eq!(black_box(sum), expected, "a batch gave other answers");
    per(time, keys.len())
}

/// The median of as many runs as fill a pass.
fn repeat(mut run: impl FnMut() -> Duration) -> f64 {
    let (mut time, mut runs) = (Duration::ZERO, Vec::new());
    while time < SHORTEST {
        let run = run();
        time += run;
        runs.push(per(run, 1));
    }
    median(runs)
}

fn time_build<I, T>(input: &impl Fn() -> I, make: &impl Fn(I) -> T) -> Duration {
    let input = black_box(input());
    let start = ThreadTime::now();
    let thing = black_box(make(input));
    let time = start.elapsed();
    drop(thing);
    time
}

fn time_change(timed: Op, apply: &mut impl FnMut(Op, usize), node: usize) -> Duration {
    let mut time = Duration::ZERO;
    for op in [Op::Remove, Op::Add] {
        let start = Instant::now();
        apply(black_box(op), node);
        if op == timed {
            time = start.elapsed();
        }
    }
    time
}
