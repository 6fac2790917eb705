//! What would help, tried on the keys themselves.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::noise::ratio;
use super::super::{Measure, place_key};
use super::chance::{self, effective};
use super::counts::{MANY, NodeCounts};
use super::placed::{Cluster, Placed};
use super::stages::{Stage, shown};
use super::templates::{Shape, Varying};
use super::{SLIGHT, Setup};
use crate::hash::mix64;
use crate::strategy::{self, Params};
use crate::{HashFunction, KeyHash, KeyHasher, Node, NodeId, Router};

/// Something that was tried, and what came of it.
///
/// ```
/// use hashroute::harness::{Keys, skew::Setup};
/// use hashroute::{HashFunction, KeyHasher, Node, strategy::{self, Params}};
///
/// let params = Params::default().with_hasher(KeyHasher::new(HashFunction::TwemproxyFnv1a64));
/// let nodes: Vec<_> = (0..60).map(|i| Node::new(format!("node-{i}"))).collect();
/// let setup = Setup { name: "modulo", recipe: strategy::find("modulo")?, params: &params, nodes: &nodes, node_counts: &[] };
/// let remedies = setup.analyse(&Keys::template("metric:demo:{i}", 0..1000)?)?.remedies;
/// let front = remedies.iter().find(|remedy| remedy.what.contains("in front"));
/// assert!(front.is_some_and(|front| front.even && front.moved_share > 0.9));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remedy {
    /// What was changed.
    pub what: String,
    /// The coefficient of variation afterwards, of the measure that was most uneven.
    pub cv: f64,
    /// What chance alone gives.
    pub noise_cv: f64,
    /// How often chance alone gives as much, when all keys carry the same.
    pub p_value: f64,
    /// Whether that is even: a p of at least a hundredth, or a coefficient of variation below it.
    pub even: bool,
    /// The share of the keys that move.
    pub moved_share: f64,
}

/// How many keys are tried.
const TRIED: usize = 1 << 16;

/// A p below it is no chance: of one remedy, not of many tests, so that none looks better than
/// it is.
const PLAIN: f64 = 0.01;

/// The keys and where they are now.
pub(super) struct Trial<'a> {
    setup: &'a Setup<'a>,
    router: &'a dyn Router,
    keys: Vec<&'a [u8]>,
    amounts: Vec<u64>,
    now: Vec<Option<&'a str>>,
    bits: u32,
    found: Vec<Remedy>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        setup: &'a Setup<'a>,
        router: &'a dyn Router,
        placed: &'a Placed,
        measure: Measure,
    ) -> Self {
        let sampled: Vec<_> = placed
            .keys
            .iter()
            .take(TRIED)
            .map(|key| key.sampled)
            .collect();
        let keys: Vec<_> = sampled.iter().map(|one| &*one.key).collect();
        let owner = |key: &&[u8]| {
            let id = place_key(router, key)?;
            Some(router.nodes().name(id))
        };
        Self {
            now: keys.iter().map(owner).collect(),
            amounts: sampled.iter().map(|one| one.load.of(measure)).collect(),
            bits: placed.bits,
            setup,
            router,
            keys,
            found: Vec::new(),
        }
    }

    /// All that can be tried against these faults, the best first.
    pub(super) fn against(mut self, faults: &[Stage], counts: &NodeCounts) -> Vec<Remedy> {
        let is = |stage| faults.contains(&stage);
        if is(Stage::Keys) {
            return self.without_largest(); // another placement would only be other luck
        }
        if is(Stage::Tag) {
            self.without_tag();
        }
        if is(Stage::Nodes) {
            self.weights();
        }
        if is(Stage::Hash) {
            self.mixed();
            self.shapes();
            self.hashes();
        }
        if is(Stage::Routing) || is(Stage::Hash) || faults.is_empty() {
            self.parameters();
            self.strategies();
        }
        if is(Stage::Hash) && counts.modulo {
            self.node_counts(counts);
        }
        let rank = |remedy: &Remedy| {
            let over = chance::beyond(remedy.cv, remedy.noise_cv);
            let over = if remedy.even { 0.0 } else { over.max(SLIGHT) };
            ((over / SLIGHT).round(), (remedy.moved_share * 20.0).round())
        };
        self.found.sort_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        self.found
    }

    /// The largest keys kept elsewhere: what no placement can do.
    fn without_largest(mut self) -> Vec<Remedy> {
        let mut order: Vec<_> = (0..self.keys.len()).collect();
        order.sort_by_key(|&at| core::cmp::Reverse(self.amounts[at]));
        for count in [1, 10, 100, 1000] {
            let (largest, rest) = order.split_at(count.min(order.len()));
            let (Some(&first), false) = (largest.first(), rest.is_empty()) else {
                break;
            };
            let what = match count {
                1 => format!("{} kept elsewhere, or split", shown(self.keys[first])),
                _ => format!("the {count} largest keys kept elsewhere, or split"),
            };
            let mut amounts = self.amounts.clone();
            for &at in largest {
                amounts[at] = 0;
            }
            let Ok(router) = self.setup.build() else {
                break;
            };
            let place = |at: usize| place_key(&*router, self.keys[at]);
            let remedy = self.measured(what, &*router, &amounts, &place);
            let is_even = remedy.even;
            self.found.push(remedy);
            if is_even {
                break;
            }
        }
        self.found.sort_by(|a, b| a.cv.total_cmp(&b.cv));
        self.found
    }

    /// Keep what came of it, if anything did.
    fn tried(
        &mut self,
        what: String,
        router: &dyn Router,
        place: &dyn Fn(usize) -> Option<NodeId>,
    ) {
        let remedy = self.measured(what, router, &self.amounts, place);
        if remedy.moved_share > 0.0 {
            self.found.push(remedy);
        }
    }

    fn measured(
        &self,
        what: String,
        router: &dyn Router,
        amounts: &[u64],
        place: &dyn Fn(usize) -> Option<NodeId>,
    ) -> Remedy {
        let cluster = Cluster::of(router);
        let mut loads = vec![0.0; cluster.len()];
        let mut moved = 0;
        for (at, amount) in amounts.iter().enumerate() {
            let id = place(at);
            moved += usize::from(id.map(|id| router.nodes().name(id)) != self.now[at]);
            if let Some(rank) = id.and_then(|id| cluster.rank(id)) {
                loads[rank] += *amount as f64;
            }
        }
        let carriers = amounts.iter().filter(|&&amount| amount > 0).count();
        let cv = chance::cv(&loads, &cluster.fair);
        let p_value = chance::p_value(&loads, &cluster.fair, carriers as f64);
        Remedy {
            what,
            cv,
            noise_cv: cluster.noise(effective(amounts.iter().copied())),
            p_value,
            even: p_value >= PLAIN || cv < SLIGHT,
            moved_share: ratio(moved as f64, self.keys.len() as f64),
        }
    }

    fn with_params(&mut self, what: String, params: &Params) {
        if let Ok(router) = self.setup.recipe.make(self.setup.nodes.to_vec(), params) {
            self.with_router(what, &*router);
        }
    }

    fn with_router(&mut self, what: String, router: &dyn Router) {
        let keys = self.keys.clone();
        self.tried(what, router, &|at| place_key(router, keys[at]));
    }

    fn with_keys(&mut self, what: String, keys: &[Vec<u8>]) {
        if self.keys.iter().zip(keys).all(|(now, then)| now == then) {
            return;
        }
        // Keys that become one are no remedy.
        let distinct: BTreeSet<_> = keys.iter().collect();
        if let (true, Ok(router)) = (distinct.len() == keys.len(), self.setup.build()) {
            self.tried(what, &*router, &|at| place_key(&*router, &keys[at]));
        }
    }

    fn without_tag(&mut self) {
        let pair = self.router.hasher().and_then(KeyHasher::tag);
        let [open, close] = pair.unwrap_or(crate::HashTag::BRACES).pair();
        let plain = |key: &&[u8]| {
            let bytes = key.iter().copied();
            bytes
                .filter(|byte| *byte != open && *byte != close)
                .collect()
        };
        let keys: Vec<Vec<u8>> = self.keys.iter().map(plain).collect();
        self.with_keys(String::from("keys without their hash tags"), &keys);
    }

    fn weights(&mut self) {
        let mut weights = self
            .setup
            .nodes
            .iter()
            .map(Node::weight)
            .filter(|&weight| weight > 0);
        let first = weights.next();
        if weights.all(|weight| Some(weight) == first) {
            return;
        }
        let one = |node: &Node| node.clone().with_weight(node.weight().min(1));
        let nodes = self.setup.nodes.iter().map(one).collect();
        if let Ok(router) = self.setup.recipe.make(nodes, self.setup.params) {
            self.with_router(String::from("every node of weight 1"), &*router);
        }
    }

    /// Parameters by which strategies and dialects become more even; those that do not know them
    /// refuse.
    fn parameters(&mut self) {
        if self.setup.nodes.len() >= MANY {
            return;
        }
        let known = [
            ("points", "640"),
            ("table-size", "655373"),
            ("distribution", "ketama"),
        ];
        for (name, value) in known {
            let params = self.setup.params.clone().with(name, value);
            self.with_params(format!("{name}={value}"), &params);
        }
    }

    /// The nearest numbers of nodes that are not dangerous.
    fn node_counts(&mut self, counts: &NodeCounts) {
        let now = self.setup.nodes.len() as u64;
        let fine = || {
            counts
                .rows
                .iter()
                .filter(|row| !row.dangerous)
                .map(|row| row.nodes)
        };
        let below = fine().filter(|&nodes| nodes < now).max();
        let above = fine().filter(|&nodes| nodes > now).min();
        for nodes in [below, above].into_iter().flatten() {
            let Ok(count) = usize::try_from(nodes) else {
                continue;
            };
            let router = self
                .setup
                .recipe
                .make(self.setup.resized(count), self.setup.params);
            if let Some(router) = router.ok().filter(|router| router.nodes().len() == count) {
                self.with_router(format!("{nodes} nodes"), &*router);
            }
        }
    }

    fn mixed(&mut self) {
        let Ok(router) = self.setup.build() else {
            return;
        };
        let (keys, bits) = (self.keys.clone(), self.bits.clamp(1, 64));
        let place = |at: usize| {
            let hash = mix64(router.hash_key(keys[at]).get()) >> (64 - bits);
            router.place(KeyHash::from_raw(hash))
        };
        self.tried(
            String::from("hashes mixed once more (mix64)"),
            &*router,
            &place,
        );
    }

    fn shapes(&mut self) {
        let varying = Varying::of(self.keys.iter().copied());
        for shape in Shape::ALL {
            let keys: Vec<_> = self
                .keys
                .iter()
                .map(|key| varying.reshape(key, shape))
                .collect();
            let how = match shape {
                Shape::Front => "the number in front",
                Shape::Middle => "the number in the middle",
                Shape::Padded => "the number zero padded",
            };
            let example = keys.iter().min().map_or_else(String::new, |key| shown(key));
            self.with_keys(format!("{how}: {example}"), &keys);
        }
    }

    /// By our names and by those of the systems that have a choice.
    fn hashes(&mut self) {
        let tag = self.router.hasher().and_then(KeyHasher::tag);
        for function in [HashFunction::Xxh3, HashFunction::Murmur3_128] {
            let hasher = KeyHasher::new(function);
            let hasher = match tag {
                Some(tag) => hasher.with_tag(tag),
                None => hasher,
            };
            let params = self.setup.params.clone().with_hasher(hasher);
            self.with_params(format!("hash {function}"), &params);
        }
        for name in ["murmur", "md5", "MURMUR", "MD5"] {
            let params = self.setup.params.clone().with("hash", name);
            self.with_params(format!("hash={name}"), &params);
        }
    }

    fn strategies(&mut self) {
        for name in ["rendezvous", "maglev", "jump", "ring"] {
            let strategy = strategy::find(name)
                .ok()
                .filter(|_| name != self.setup.name);
            let params =
                Params::default().with_hasher(self.router.hasher().cloned().unwrap_or_default());
            let nodes = self.setup.nodes.iter().cloned();
            if let Some(Ok(router)) = strategy.map(|strategy| strategy.build(nodes, &params)) {
                let hash = router
                    .hasher()
                    .map_or_else(String::new, |hasher| hasher.function().name().to_string());
                self.with_router(format!("strategy {name}, hash {hash}"), &*router);
            }
        }
    }
}

/// What can be built, or nothing.
impl Setup<'_> {
    pub(super) fn build(&self) -> Result<Box<dyn Router>, crate::Error> {
        self.recipe.make(self.nodes.to_vec(), self.params)
    }
}
