//! Shared by the tests: clusters of any row of the registry, samples of keys, statistics.

pub mod rooms;

use core::ops::ControlFlow;

use hashroute::registry::{Agree, Caps, Leave, Scheme, Weights};
use hashroute::strategy::Params;
use hashroute::{Change, KeyHash, Node, NodeId, Router};
use proptest::strategy as random;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF, Normal};

/// The result of a test.
pub type Outcome = Result<(), Box<dyn core::error::Error>>;

// --- Clusters ---

/// Returns nodes `node-0`, `node-1` and so on, with weight 1.
pub fn nodes(count: usize) -> Vec<Node> {
    (0..count).map(|i| Node::new(format!("node-{i}"))).collect()
}

/// Returns nodes with these weights, or weight 1 where the strategy has no weights.
pub fn weighted(strategy: &Scheme, weights: &[u32]) -> Vec<Node> {
    let weigh = |(node, &weight): (Node, _)| node.with_weight(fit(strategy, weight));
    nodes(weights.len())
        .into_iter()
        .zip(weights)
        .map(weigh)
        .collect()
}

/// Returns the capabilities of a strategy.
pub fn caps(strategy: &Scheme) -> Caps {
    strategy.caps().expect("a strategy has capabilities")
}

/// Returns the weight, or 1 where the strategy has no weights.
pub fn fit(strategy: &Scheme, weight: u32) -> u32 {
    match caps(strategy).weights {
        Weights::Any => weight,
        Weights::One => 1,
        _ => panic!("unknown to the tests: {:?}", caps(strategy).weights),
    }
}

/// Builds a router with default parameters, or panics with the name of the strategy.
pub fn build(strategy: &Scheme, nodes: impl IntoIterator<Item = Node>) -> Box<dyn Router> {
    strategy
        .build(nodes, &Params::default())
        .unwrap_or_else(|error| panic!("{}: {error}", strategy.name))
}

/// Returns whether the set of nodes alone decides routes, without load.
pub fn is_set(strategy: &Scheme) -> bool {
    matches!(strategy.agree(), Agree::Set | Agree::Load)
}

/// Returns the state of a router as text.
pub fn state<R: Router + ?Sized>(router: &R) -> String {
    format!("{router:?}")
}

/// A router, and its members in the order in which they joined.
#[derive(Debug)]
pub struct Cluster {
    /// The row of the router.
    pub strategy: &'static Scheme,
    /// The router after all changes so far.
    pub router: Box<dyn Router>,
    members: Vec<(String, u32)>,
    joined: usize,
}

/// A random change. A [`Cluster`] turns it into one that its strategy accepts; the index, modulo
/// the number of members, chooses a member.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A node with this weight joins.
    Add(u32),
    /// A node leaves.
    Remove(usize),
    /// A node gets this weight.
    Reweight(usize, u32),
}

impl Cluster {
    /// Builds a cluster of `node-0`, `node-1` and so on with these weights.
    pub fn new(strategy: &'static Scheme, weights: &[u32]) -> Self {
        Self::of(strategy, weighted(strategy, weights), &Params::default())
    }

    /// Builds a cluster of these nodes and parameters.
    pub fn of(strategy: &'static Scheme, nodes: Vec<Node>, params: &Params) -> Self {
        Self {
            strategy,
            members: nodes
                .iter()
                .map(|node| (node.name().into(), node.weight()))
                .collect(),
            router: strategy
                .build(nodes, params)
                .unwrap_or_else(|error| panic!("{}: {error}", strategy.name)),
            joined: 0,
        }
    }

    /// Returns the change of a step, or `None` where the strategy has no such change.
    pub fn change(&self, step: Step) -> Option<Change> {
        let any = |index: usize| self.members.get(index % self.members.len().max(1));
        match (step, caps(self.strategy).leave) {
            (Step::Add(weight), _) => {
                let node = Node::new(format!("new-{}", self.joined));
                Some(Change::Add(node.with_weight(fit(self.strategy, weight))))
            }
            (Step::Remove(index), Leave::Any) => Some(Change::remove(any(index)?.0.as_str())),
            (Step::Remove(_), Leave::Last) => Some(Change::remove(self.members.last()?.0.as_str())),
            (Step::Reweight(index, weight), _) => {
                let (name, old) = any(index)?;
                let weight = fit(self.strategy, weight);
                (weight != *old).then(|| Change::reweight(name.as_str(), weight))
            }
            (Step::Remove(_), other) => panic!("unknown to the tests: {other:?}"),
        }
    }

    /// Applies a change to the router and to the list of members.
    pub fn apply(&mut self, change: &Change) {
        self.router
            .apply(change)
            .unwrap_or_else(|error| panic!("{}: {error}", self.strategy.name));
        match change {
            Change::Add(node) => {
                self.members.push((node.name().into(), node.weight()));
                self.joined += 1;
            }
            Change::Remove(gone) => self.members.retain(|(name, _)| **name != **gone),
            Change::Reweight(changed, to) => self
                .members
                .iter_mut()
                .filter(|(name, _)| **name == **changed)
                .for_each(|(_, weight)| *weight = *to),
            other => panic!("unknown to the tests: {other:?}"),
        }
    }

    /// Returns the weight of a member, and 0 for other names.
    pub fn weight(&self, name: &str) -> u32 {
        let found = self.members.iter().find(|(known, _)| known == name);
        found.map_or(0, |(_, weight)| *weight)
    }
}

// --- Keys and their owners ---

/// Returns `count` hashes from `SplitMix64` with this seed.
pub fn keys(seed: u64, count: usize) -> Vec<KeyHash> {
    let first = seed << 40;
    (first..first + count as u64)
        .map(KeyHash::from_integer)
        .collect()
}

/// Returns the hash of a key that the router accepts.
pub fn hash<R: Router + ?Sized>(router: &R, key: &[u8]) -> KeyHash {
    let hash = router.hash_key(key);
    hash.unwrap_or_else(|| panic!("no hash of {key:?}: {router:?}"))
}

/// Returns the node of a key, and acquires a lease where the router counts loads.
pub fn place<R: Router + ?Sized>(router: &R, key: KeyHash) -> Option<NodeId> {
    match router.loads() {
        Some(loads) => loads.acquire_hash(key).map(|lease| lease.node()),
        None => router.route_hash(key),
    }
}

/// Returns the name of a node.
pub fn name<R: Router + ?Sized>(router: &R, id: NodeId) -> &str {
    router.nodes().name(id).expect("a member")
}

/// Returns the name of a node, or `None` without one.
pub fn name_of<R: Router + ?Sized>(router: &R, id: Option<NodeId>) -> Option<&str> {
    router.nodes().name(id?)
}

/// Returns the name of the owner of a key.
pub fn owner<R: Router + ?Sized>(router: &R, key: KeyHash) -> Option<&str> {
    name_of(router, router.route_hash(key))
}

/// Returns the names of the owners, `-` for none.
pub fn owners<R: Router + ?Sized>(router: &R, keys: &[KeyHash]) -> Vec<Box<str>> {
    keys.iter()
        .map(|&key| owner(router, key).unwrap_or("-").into())
        .collect()
}

/// Returns the nodes that the walk of a key offers.
pub fn walked<R: Router + ?Sized>(router: &R, key: KeyHash) -> Vec<NodeId> {
    let mut ids = Vec::new();
    router.walk(key, &mut |id| {
        ids.push(id);
        ControlFlow::Continue(())
    });
    ids
}

/// Returns the names of the nodes that the walk of a key offers.
pub fn walked_names<R: Router + ?Sized>(router: &R, key: KeyHash) -> Vec<&str> {
    let ids = walked(router, key).into_iter();
    ids.map(|id| name(router, id)).collect()
}

/// Returns the number of keys that each node owns, by index.
pub fn counts<R: Router + ?Sized>(router: &R, keys: &[KeyHash]) -> Vec<u64> {
    let mut counts = vec![0; router.nodes().id_bound()];
    for id in keys.iter().filter_map(|&key| router.route_hash(key)) {
        counts[id.index()] += 1;
    }
    counts
}

/// Returns the share of the hash space of each node, by index; `None` without ranges.
pub fn shares<R: Router + ?Sized>(router: &R) -> Option<Vec<f64>> {
    Some(router.ranges()?.shares(router.nodes().id_bound()))
}

/// Returns the fair share of each node, its weight over the total, by index.
pub fn fair_shares<R: Router + ?Sized>(router: &R) -> Vec<f64> {
    let mut shares = vec![0.0; router.nodes().id_bound()];
    for (id, node) in router.nodes() {
        shares[id.index()] = f64::from(node.weight()) / router.nodes().total_weight() as f64;
    }
    shares
}

/// Returns the number of cells of a share of a table.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share is no more than 1 and not below 0"
)]
pub fn cell_count(share: f64, size: u64) -> u64 {
    (share * size as f64).round() as u64
}

// --- Statistics ---

/// The probability that a test fails for new keys although the program is right. Seeds are fixed,
/// so a test that passes once passes always.
pub const SIGNIFICANCE: f64 = 1e-4;

/// The checks of one test, judged together (Bonferroni): with `n` of them, each p-value may be as
/// small as [`SIGNIFICANCE`] / n.
#[derive(Debug, Default)]
pub struct Checks(Vec<(String, f64)>);

impl Checks {
    /// Adds a check with its p-value.
    pub fn note(&mut self, what: impl Into<String>, chance: f64) {
        assert!((0.0..=2.0).contains(&chance), "no chance: {chance}");
        self.0.push((what.into(), chance));
    }

    /// Panics where a p-value is too small, or without any check.
    pub fn judge(self) {
        assert!(!self.0.is_empty(), "nothing was checked");
        let limit = SIGNIFICANCE / self.0.len() as f64;
        let unlikely: Vec<_> = self.0.iter().filter(|(_, p)| *p < limit).collect();
        assert!(
            unlikely.is_empty(),
            "p-values below {limit:.1e}: {unlikely:#?}"
        );
    }
}

/// Returns the two-sided p-value of `hits` in `trials` with probability `share` each.
pub fn binomial(hits: u64, trials: u64, share: f64) -> f64 {
    (2.0 * at_most(hits, trials, share).min(at_least(hits, trials, share))).min(1.0)
}

/// Returns the probability of `hits` or fewer.
pub fn at_most(hits: u64, trials: u64, share: f64) -> f64 {
    Binomial::new(share.min(1.0), trials).map_or(f64::NAN, |law| law.cdf(hits))
}

/// Returns the probability of `hits` or more.
pub fn at_least(hits: u64, trials: u64, share: f64) -> f64 {
    let law = Binomial::new(share.min(1.0), trials);
    law.map_or(f64::NAN, |law| {
        hits.checked_sub(1).map_or(1.0, |fewer| law.sf(fewer))
    })
}

/// Returns the two-sided p-value of a standard normal deviate.
pub fn normal(deviate: f64) -> f64 {
    2.0 * Normal::standard().sf(deviate.abs())
}

/// Returns the p-value of the chi-square statistic of counts against shares. Nodes that expect
/// fewer than five keys are merged; a node that expects none must have none.
pub fn chi_square(counts: &[u64], shares: &[f64]) -> f64 {
    let total = counts.iter().sum::<u64>() as f64;
    let (mut chi2, mut cells) = (0.0, 0_u32);
    let mut rest = (0.0, 0.0);
    let mut add = |count: f64, expected: f64| {
        chi2 += (count - expected) * (count - expected) / expected;
        cells += 1;
    };
    for (&count, &share) in counts.iter().zip(shares) {
        assert!(
            share > 0.0 || count == 0,
            "{count} keys on a node of share 0"
        );
        if share * total >= 5.0 {
            add(count as f64, share * total);
        } else {
            rest = (rest.0 + count as f64, rest.1 + share * total);
        }
    }
    if rest.1 >= 5.0 {
        add(rest.0, rest.1);
    }
    if cells < 2 {
        return 1.0;
    }
    ChiSquared::new(f64::from(cells - 1)).map_or(f64::NAN, |law| law.sf(chi2))
}

// --- Properties ---

/// The settings of a property test: the same inputs every time, and no file about a failure.
pub fn fixed(cases: u32) -> Config {
    Config {
        cases,
        rng_seed: RngSeed::Fixed(0),
        failure_persistence: None,
        ..Config::default()
    }
}

/// Runs a test on random inputs, the same ones in every run.
pub fn for_all<S: random::Strategy>(cases: u32, inputs: &S, law: impl Fn(S::Value)) {
    let held = TestRunner::new(fixed(cases)).run(inputs, |input| {
        law(input);
        Ok(())
    });
    held.unwrap_or_else(|broken| panic!("{broken}"));
}
