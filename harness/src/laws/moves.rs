//! Laws 3 and 4: the keys that move when the members change.

use super::agreement::{is_set, large, step};
use super::chance::{Tests, at_least, at_most, limit};
use super::clause::Clause;
use super::random::Random;
use super::subject::{
    Cluster, Key, Step, Subject, assigned, exact_shares, members, owners, same_owners, share_of,
};
use super::trial::{Held, fail};
use super::waivers;
use hashroute::Change;
use hashroute::registry::Excess;

pub(super) const MOVES: &[Clause] = &[
    Clause::new("random histories of small clusters", small_clusters)
        .unless(waivers::no_bound_on_excess),
    Clause::new("a history of 1500 nodes", large_cluster).unless(waivers::some_excess),
    Clause::new(
        "a stated bound at any size, with keys assigned one after the other",
        filled_clusters,
    )
    .unless(waivers::no_excess_and_no_load),
];

pub(super) const SHARE: &[Clause] = &[Clause::new(
    "as many keys move as the share that changes hands",
    moved_share,
)
.unless(waivers::no_ideal_share)];

/// The keys that moved: to or from the node of the change, as they must, and between other nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moves {
    right: u64,
    pub(super) excess: u64,
}

/// Compares owners before and after a change. `rises` if its node gained weight.
pub(super) fn moves(
    change: &Change,
    rises: bool,
    before: &[Box<str>],
    after: &[Box<str>],
) -> Moves {
    let mut moves = Moves::default();
    for (old, new) in before.iter().zip(after).filter(|(old, new)| old != new) {
        let side = if rises { new } else { old };
        if **side == *change.name() {
            moves.right += 1;
        } else {
            moves.excess += 1;
        }
    }
    moves
}

fn rises(cluster: &Cluster<'_>, change: &Change) -> bool {
    match change {
        Change::Add(_) => true,
        Change::Reweight(name, weight) => *weight > cluster.weight(name),
        _ => false,
    }
}

/// Returns the probability of an excess as large, if the row moves as much as it states.
pub(super) fn excess_chance(subject: &Subject, excess: u64, keys: usize, weighted: usize) -> f64 {
    match subject.scheme.caps().map(|caps| caps.excess) {
        Some(Excess::None) => f64::from(excess == 0),
        Some(Excess::AtMost(bound)) => at_least(excess, keys as u64, bound(weighted)),
        _ => 1.0,
    }
}

/// A cluster with the owners of its keys, kept from change to change.
struct Watched<'s> {
    subject: &'s Subject,
    keys: &'s [Key],
    cluster: Cluster<'s>,
    owners: Vec<Box<str>>,
}

impl<'s> Watched<'s> {
    fn new(subject: &'s Subject, weights: &[u32], keys: &'s [Key]) -> Held<Self> {
        let cluster = Cluster::new(subject, weights)?;
        Ok(Self {
            owners: owners(&*cluster.router, keys),
            subject,
            keys,
            cluster,
        })
    }

    /// Makes a change. A breach if more keys move in excess than chance explains, given the number
    /// of such `tests`.
    fn apply(&mut self, change: &Change, tests: usize) -> Held {
        let input = format!("{}, {change:?}", members(&*self.cluster.router));
        let rises = rises(&self.cluster, change);
        let before = self.cluster.router.nodes().weighted();
        self.cluster.apply(change)?;
        let after = owners(&*self.cluster.router, self.keys);
        let moves = moves(change, rises, &self.owners, &after);
        let weighted = before.max(self.cluster.router.nodes().weighted());
        let likely = excess_chance(self.subject, moves.excess, self.keys.len(), weighted);
        if likely < limit(tests) {
            let found = format!("{} of {} keys that did", moves.excess, self.keys.len());
            return fail(input, "no excess moves beyond the stated bound", found);
        }
        self.owners = after;
        Ok(())
    }
}

fn small_clusters(subject: &Subject) -> Held {
    const CASES: usize = 16;
    const STEPS: usize = 10;
    let keys = subject.keys(3, 1500);
    for case in 0..CASES {
        let mut random = Random::new(100 + case as u64);
        let weights = random.weights(10, 6);
        let mut watched = Watched::new(subject, &weights, &keys)?;
        for _ in 0..STEPS {
            if let Some(change) = watched.cluster.change(step(&mut random)) {
                watched.apply(&change, CASES * STEPS)?;
            }
        }
    }
    Ok(())
}

/// Checks a large cluster, because some strategies search it in another way than a small one.
fn large_cluster(subject: &Subject) -> Held {
    let keys = subject.keys(9, 3000);
    let mut watched = Watched::new(subject, &large(), &keys)?;
    for step in [
        Step::Add(1),
        Step::Add(500),
        Step::Remove(3),
        Step::Reweight(6, 900),
        Step::Remove(6),
        Step::Reweight(11, 0),
        Step::Reweight(0, 300),
        Step::Reweight(0, 299),
    ] {
        if let Some(change) = watched.cluster.change(step) {
            watched.apply(&change, 1)?;
        }
    }
    if !is_set(subject) {
        return Ok(());
    }
    let last = watched.cluster.router.nodes().iter();
    let last: Vec<_> = last.map(|(_, node)| node.clone()).collect();
    let fresh = subject.build(last.into_iter().rev())?;
    let input = || format!("{} after a history, and built", members(&*fresh));
    same_owners(input, &keys, &owners(&*fresh, &keys), &watched.owners)
}

/// A cluster before and after a change.
struct Pair<'s> {
    before: Cluster<'s>,
    after: Cluster<'s>,
    change: Change,
}

impl<'s> Pair<'s> {
    /// Returns `None` if the row has no such change.
    fn new(subject: &'s Subject, weights: &[u32], step: Step) -> Held<Option<Self>> {
        let before = Cluster::new(subject, weights)?;
        let mut after = Cluster::new(subject, weights)?;
        let Some(change) = before.change(step) else {
            return Ok(None);
        };
        after.apply(&change)?;
        Ok(Some(Self {
            before,
            after,
            change,
        }))
    }

    fn moves(&self, owners: impl Fn(&Cluster<'_>) -> Vec<Box<str>>) -> Moves {
        let rises = rises(&self.before, &self.change);
        let [old, new] = [&self.before, &self.after].map(owners);
        moves(&self.change, rises, &old, &new)
    }

    /// Returns the larger number of nodes with weight, before or after.
    fn weighted(&self) -> usize {
        let both = [&self.before, &self.after];
        let [old, new] = both.map(|cluster| cluster.router.nodes().weighted());
        old.max(new)
    }

    /// Returns the share that changes its owner: by the exact shares if there are any, otherwise by
    /// the weights.
    fn share(&self) -> f64 {
        let name = self.change.name();
        let both = [&self.before, &self.after];
        let exact = both.map(|cluster| {
            let shares = exact_shares(&*cluster.router)?;
            Some(share_of(&*cluster.router, &shares, name))
        });
        if let [Some(old), Some(new)] = exact {
            return (new - old).abs();
        }
        let [old, new] = both.map(|cluster| match cluster.router.nodes().total_weight() {
            0 => 0.0,
            total => f64::from(cluster.weight(name)) / total as f64,
        });
        (new - old).abs()
    }

    fn words(&self) -> String {
        format!("{}, {:?}", members(&*self.before.router), self.change)
    }
}

fn filled_clusters(subject: &Subject) -> Held {
    let mut tests = Tests::default();
    let keys = subject.keys(4, 100_000);
    let mixed = [&[1; 40][..], &[10; 20]].concat();
    let clusters: [&[u32]; 5] = [&[1; 2], &[1; 10], &[1; 100], &[1; 300], &mixed];
    for weights in clusters {
        for step in [Step::Add(5), Step::Remove(0), Step::Reweight(0, 7)] {
            let Some(pair) = Pair::new(subject, weights, step)? else {
                continue;
            };
            let moves = pair.moves(|cluster| assigned(&*cluster.router, &keys));
            let chance = excess_chance(subject, moves.excess, keys.len(), pair.weighted());
            tests.note(format!("{}: {moves:?}", pair.words()), chance);
        }
    }
    tests.judge()
}

fn moved_share(subject: &Subject) -> Held {
    let mut tests = Tests::default();
    let keys = subject.keys(100, 20_000);
    let clusters: [&[u32]; 4] = [&[1, 1], &[3, 1, 2], &[1; 10], &[2; 50]];
    for weights in clusters {
        for step in [
            Step::Add(1),
            Step::Add(4),
            Step::Remove(weights.len() - 1),
            Step::Reweight(0, 8),
            Step::Reweight(0, 0),
        ] {
            if let Some(pair) = Pair::new(subject, weights, step)? {
                let (words, chance) = moved_chance(subject, &pair, &keys);
                tests.note(words, chance);
            }
        }
    }
    tests.judge()
}

/// Returns the two-sided probability of this number of moved keys, given the share that changes its
/// owner. The row's own deviation and its bound on excess widen that share.
fn moved_chance(subject: &Subject, pair: &Pair<'_>, keys: &[Key]) -> (String, f64) {
    let moved = pair.moves(|cluster| owners(&*cluster.router, keys)).right;
    let weighted = pair.weighted();
    let caps = subject.scheme.caps();
    let more = match caps.map(|caps| caps.excess) {
        Some(Excess::AtMost(bound)) => bound(weighted),
        _ => 0.0,
    };
    let cv = caps.map_or(0.0, |caps| (caps.share_cv)(weighted));
    let exact = exact_shares(&*pair.before.router).is_some();
    let (share, count) = (pair.share(), keys.len() as u64);
    // A share deviates by more than four standard deviations too rarely to matter here.
    let slack = if exact { 0.0 } else { 4.0 * cv * share };
    let few = at_most(moved, count, share - slack);
    let many = at_least(moved, count, share + slack + more);
    let words = format!(
        "{}: {moved} of {count} keys moved, expected {share:.4} of them",
        pair.words()
    );
    (words, (2.0 * few.min(many)).min(1.0))
}
