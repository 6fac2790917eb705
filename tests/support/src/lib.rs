//! What the tests share: clusters built from the registry, samples of keys, statistics.

pub mod rooms;

use core::ops::ControlFlow;

use hashroute::registry::{Agree, Caps, Leave, Scheme, Weights};
use hashroute::strategy::Params;
use hashroute::{Change, KeyHash, Node, NodeId, Router};
use proptest::strategy as random;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF, Normal};

/// What a test returns.
pub type Outcome = Result<(), Box<dyn core::error::Error>>;

// --- Clusters ---

/// `node-0` and so on, of weight 1.
pub fn nodes(count: usize) -> Vec<Node> {
    (0..count).map(|i| Node::new(format!("node-{i}"))).collect()
}

/// `node-0` and so on with these weights, or 1 each where the strategy knows no others.
pub fn weighted(strategy: &Scheme, weights: &[u32]) -> Vec<Node> {
    let weigh = |(node, &weight): (Node, _)| node.with_weight(fit(strategy, weight));
    nodes(weights.len())
        .into_iter()
        .zip(weights)
        .map(weigh)
        .collect()
}

/// What a strategy can do.
pub fn caps(strategy: &Scheme) -> Caps {
    strategy.caps().expect("a strategy has capabilities")
}

/// A weight that the strategy takes.
pub fn fit(strategy: &Scheme, weight: u32) -> u32 {
    match caps(strategy).weights {
        Weights::Any => weight,
        Weights::One => 1,
        _ => panic!("teach the tests about {:?}", caps(strategy).weights),
    }
}

/// A router of default parameters, or a panic with the name of the strategy.
pub fn build(strategy: &Scheme, nodes: impl IntoIterator<Item = Node>) -> Box<dyn Router> {
    strategy
        .build(nodes, &Params::default())
        .unwrap_or_else(|error| panic!("{}: {error}", strategy.name))
}

/// Whether the members alone decide, while no load is there.
pub fn is_set(strategy: &Scheme) -> bool {
    matches!(strategy.agree(), Agree::Set | Agree::Load)
}

/// All of a router's state as text.
pub fn state<R: Router + ?Sized>(router: &R) -> String {
    format!("{router:?}")
}

/// A router of some strategy and what the test knows about it: the members in the order in
/// which they joined.
#[derive(Debug)]
pub struct Cluster {
    /// The row that it was built from.
    pub strategy: &'static Scheme,
    /// The router after all changes so far.
    pub router: Box<dyn Router>,
    members: Vec<(String, u32)>,
    joined: usize,
}

/// A change in general terms, which a [`Cluster`] makes one that its strategy takes. The index
/// chooses a member, modulo their number.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A node of this weight joins.
    Add(u32),
    /// A member leaves.
    Remove(usize),
    /// A member gets this weight.
    Reweight(usize, u32),
}

impl Cluster {
    /// Members `node-0` and so on of these weights.
    pub fn new(strategy: &'static Scheme, weights: &[u32]) -> Self {
        Self::of(strategy, weighted(strategy, weights), &Params::default())
    }

    /// These members and parameters.
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

    /// The change that a step means here; `None` when the strategy has no such change.
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
            (Step::Remove(_), other) => panic!("teach the tests about {other:?}"),
        }
    }

    /// Applies a change to the router and to what is known of the members.
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
            other => panic!("teach the tests about {other:?}"),
        }
    }

    /// The weight of a member, 0 of others.
    pub fn weight(&self, name: &str) -> u32 {
        let found = self.members.iter().find(|(known, _)| known == name);
        found.map_or(0, |(_, weight)| *weight)
    }
}

// --- Keys and their owners ---

/// `count` hashes, as random as `SplitMix64` makes them; other ones for each seed.
pub fn keys(seed: u64, count: usize) -> Vec<KeyHash> {
    let first = seed << 40;
    (first..first + count as u64)
        .map(KeyHash::from_integer)
        .collect()
}

/// The hash of a key that the router routes.
pub fn hash<R: Router + ?Sized>(router: &R, key: &[u8]) -> KeyHash {
    let hash = router.hash_key(key);
    hash.unwrap_or_else(|| panic!("no hash of {key:?}: {router:?}"))
}

/// The node that a key is placed on: counted there, where the router keeps loads.
pub fn place<R: Router + ?Sized>(router: &R, key: KeyHash) -> Option<NodeId> {
    match router.loads() {
        Some(loads) => loads.acquire_hash(key).map(|lease| lease.node()),
        None => router.route_hash(key),
    }
}

/// The name of a member.
pub fn name<R: Router + ?Sized>(router: &R, id: NodeId) -> &str {
    router.nodes().name(id).expect("a member")
}

/// The name of a member, `None` where there is no node.
pub fn name_of<R: Router + ?Sized>(router: &R, id: Option<NodeId>) -> Option<&str> {
    router.nodes().name(id?)
}

/// The name of the owner of a key.
pub fn owner<R: Router + ?Sized>(router: &R, key: KeyHash) -> Option<&str> {
    name_of(router, router.route_hash(key))
}

/// The owners' names, a dash for none.
pub fn owners<R: Router + ?Sized>(router: &R, keys: &[KeyHash]) -> Vec<Box<str>> {
    keys.iter()
        .map(|&key| owner(router, key).unwrap_or("-").into())
        .collect()
}

/// The whole walk of a key.
pub fn walked<R: Router + ?Sized>(router: &R, key: KeyHash) -> Vec<NodeId> {
    let mut ids = Vec::new();
    router.walk(key, &mut |id| {
        ids.push(id);
        ControlFlow::Continue(())
    });
    ids
}

/// The whole walk of a key, by name.
pub fn walked_names<R: Router + ?Sized>(router: &R, key: KeyHash) -> Vec<&str> {
    let ids = walked(router, key).into_iter();
    ids.map(|id| name(router, id)).collect()
}

/// How many of the keys each node owns, by index.
pub fn counts<R: Router + ?Sized>(router: &R, keys: &[KeyHash]) -> Vec<u64> {
    let mut counts = vec![0; router.nodes().id_bound()];
    for id in keys.iter().filter_map(|&key| router.route_hash(key)) {
        counts[id.index()] += 1;
    }
    counts
}

/// The part of the hash space that each node owns, by index; `None` where it has no form.
pub fn shares<R: Router + ?Sized>(router: &R) -> Option<Vec<f64>> {
    Some(router.ranges()?.shares(router.nodes().id_bound()))
}

/// What each node should own: its weight over the total, by index.
pub fn fair_shares<R: Router + ?Sized>(router: &R) -> Vec<f64> {
    let mut shares = vec![0.0; router.nodes().id_bound()];
    for (id, node) in router.nodes() {
        shares[id.index()] = f64::from(node.weight()) / router.nodes().total_weight() as f64;
    }
    shares
}

/// The cells that a share of a table is.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share is no more than 1 and not below 0"
)]
pub fn cell_count(share: f64, size: u64) -> u64 {
    (share * size as f64).round() as u64
}

// --- Statistics ---

/// The chance that a test fails although the program is right, if its keys were drawn anew. They
/// never are: seeds are fixed, so a test that passes will pass again.
pub const SIGNIFICANCE: f64 = 1e-4;

/// Checks of one test, judged together (Bonferroni): with `n` of them, each may be as unlikely
/// as [`SIGNIFICANCE`] / n.
#[derive(Debug, Default)]
pub struct Checks(Vec<(String, f64)>);

impl Checks {
    /// Note a check: the chance of what was seen, or of something further off.
    pub fn note(&mut self, what: impl Into<String>, chance: f64) {
        assert!((0.0..=2.0).contains(&chance), "no chance: {chance}");
        self.0.push((what.into(), chance));
    }

    /// Fail where a check is too unlikely, or none was made.
    pub fn judge(self) {
        assert!(!self.0.is_empty(), "nothing was checked");
        let limit = SIGNIFICANCE / self.0.len() as f64;
        let unlikely: Vec<_> = self.0.iter().filter(|(_, p)| *p < limit).collect();
        assert!(
            unlikely.is_empty(),
            "chance below {limit:.1e}: {unlikely:#?}"
        );
    }
}

/// The two-sided chance of `hits` among `trials` when each hits with probability `share`.
pub fn binomial(hits: u64, trials: u64, share: f64) -> f64 {
    (2.0 * at_most(hits, trials, share).min(at_least(hits, trials, share))).min(1.0)
}

/// The chance of `hits` or fewer.
pub fn at_most(hits: u64, trials: u64, share: f64) -> f64 {
    Binomial::new(share.min(1.0), trials).map_or(f64::NAN, |law| law.cdf(hits))
}

/// The chance of `hits` or more.
pub fn at_least(hits: u64, trials: u64, share: f64) -> f64 {
    let law = Binomial::new(share.min(1.0), trials);
    law.map_or(f64::NAN, |law| {
        hits.checked_sub(1).map_or(1.0, |fewer| law.sf(fewer))
    })
}

/// The two-sided chance of a standard normal deviate.
pub fn normal(deviate: f64) -> f64 {
    2.0 * Normal::standard().sf(deviate.abs())
}

/// The chance of a chi-square as large, of counts against shares. Nodes that expect fewer than
/// five keys are taken together; one that expects none must have none.
pub fn chi_square(counts: &[u64], shares: &[f64]) -> f64 {
    let total = counts.iter().sum::<u64>() as f64;
    let (mut chi2, mut cells) = (0.0, 0_u32);
    let mut rest = (0.0, 0.0);
    let mut add = |count: f64, expected: f64| {
        chi2 += (count - expected) * (count - expected) / expected;
        cells += 1;
    };
    for (&count, &share) in counts.iter().zip(shares) {
        assert!(share > 0.0 || count == 0, "{count} keys where none belong");
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

/// Run a law on random inputs, the same ones every time.
pub fn for_all<S: random::Strategy>(cases: u32, inputs: &S, law: impl Fn(S::Value)) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let held = TestRunner::new_with_rng(config, rng).run(inputs, |input| {
        law(input);
        Ok(())
    });
    held.unwrap_or_else(|broken| panic!("{broken}"));
}
