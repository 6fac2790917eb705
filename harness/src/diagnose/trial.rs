//! Tries changes on the keys themselves.

use std::collections::BTreeSet;

use super::chance::{self, SLIGHT, Units};
use super::counts::{MANY, NodeCounts};
use super::diagnosis::Diagnosis;
use super::evidence::Evidence;
use super::finding::KeyStage;
use super::placed::{Cluster, Placed};
use super::remedy::{Attempt, Remedy};
use super::sentences;
use super::templates::{Shape, Varying};
use crate::measure::{assign, assign_hash};
use crate::summary::Measure;
use crate::summary::ratio;
use hashroute::hash::mix64;
use hashroute::registry::{Agree, Excess, Params, Setup};
use hashroute::{HashFunction, KeyHash, KeyHasher, NodeId, Router, Server, strategy};

/// The number of keys that each change is tried on.
const TRIED: usize = 1 << 16;

/// The keys and their present nodes.
pub(super) struct Trial<'a> {
    diagnosis: &'a Diagnosis<'a>,
    setup: &'a Setup,
    router: &'a dyn Router,
    keys: Vec<&'a [u8]>,
    amounts: Vec<u64>,
    evidence: &'a Evidence,
    measure: Measure,
    now: Vec<Option<&'a str>>,
    bits: u32,
    found: Vec<Remedy>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        diagnosis: &'a Diagnosis<'a>,
        router: &'a dyn Router,
        placed: &Placed<'a>,
        evidence: &'a Evidence,
        measure: Measure,
    ) -> Self {
        let sampled: Vec<_> = placed
            .keys
            .iter()
            .take(TRIED)
            .map(|key| key.sampled)
            .collect();
        let keys: Vec<_> = sampled.iter().map(|one| one.key).collect();
        let owner = |key: &&[u8]| {
            let id = assign(router, key)?;
            router.nodes().name(id)
        };
        Self {
            now: keys.iter().map(owner).collect(),
            amounts: sampled.iter().map(|one| one.load.of(measure)).collect(),
            bits: placed.bits,
            evidence,
            measure,
            diagnosis,
            setup: diagnosis.setup,
            router,
            keys,
            found: Vec::new(),
        }
    }

    /// Tries everything that may help against these faults. Returns the best first.
    pub(super) fn against(mut self, faults: &[KeyStage], counts: &NodeCounts) -> Vec<Remedy> {
        let is = |stage| faults.contains(&stage);
        if is(KeyStage::Keys) {
            return self.without_largest(); // no assignment can split a heavy key
        }
        if is(KeyStage::Tag) {
            self.without_tag();
        }
        if is(KeyStage::Nodes) {
            self.weights();
        }
        if is(KeyStage::Hash) {
            self.mixed();
            self.shapes();
            self.hashes();
        }
        if is(KeyStage::Routing) || is(KeyStage::Hash) || faults.is_empty() {
            self.parameters();
            self.strategies();
        }
        if is(KeyStage::Hash) && counts.modulo {
            self.node_counts(counts);
        }
        // Unevenness counts in steps of 1% and moved keys in steps of 5%, so that a remedy which is
        // better by chance does not win over one that moves far fewer keys.
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

    /// Keeps the largest keys elsewhere. Considers all keys, not only those that changes are tried
    /// on.
    fn without_largest(mut self) -> Vec<Remedy> {
        let cluster = Cluster::of(self.router);
        let carriers = self.evidence.carriers(self.measure);
        let known: Vec<_> = carriers.known().take(1000).collect();
        let on_nodes = self.evidence.loads().iter();
        let on_nodes = on_nodes.filter(|(node, _)| node.weight() > 0);
        let mut loads: Vec<_> = on_nodes
            .map(|(_, load)| load.of(self.measure) as f64)
            .collect();
        let mut gone = 0;
        for count in [1, 10, 100, 1000] {
            let (Some(first), Some(more)) = (known.first(), known.get(gone..count)) else {
                break;
            };
            for one in more {
                let rank = assign(self.router, one.key).and_then(|id| cluster.rank(id));
                if let Some(load) = rank.and_then(|rank| loads.get_mut(rank)) {
                    *load = (*load - one.amount as f64).max(0.0);
                }
            }
            gone = count;
            let attempt = match count {
                1 => Attempt::WithoutKey(first.key),
                _ => Attempt::WithoutLargest(count),
            };
            let what = sentences::attempt(attempt);
            let remedy = Remedy::judge(what, &cluster, &loads, &carriers.units(count));
            let is_even = remedy.even;
            self.found.push(remedy);
            if is_even {
                break;
            }
        }
        self.found.sort_by(|a, b| a.cv.total_cmp(&b.cv));
        self.found
    }

    /// Tries a change, and keeps the result if any key moved.
    fn tried(
        &mut self,
        attempt: Attempt,
        router: &dyn Router,
        assign: &dyn Fn(usize) -> Option<NodeId>,
    ) {
        let remedy = self.measured(attempt, router, assign);
        if remedy.moved_share > 0.0 {
            self.found.push(remedy);
        }
    }

    fn measured(
        &self,
        attempt: Attempt,
        router: &dyn Router,
        assign: &dyn Fn(usize) -> Option<NodeId>,
    ) -> Remedy {
        let cluster = Cluster::of(router);
        let mut loads = vec![0.0; cluster.len()];
        let mut moved = 0_u32;
        for (at, amount) in self.amounts.iter().enumerate() {
            let id = assign(at);
            moved += u32::from(id.and_then(|id| router.nodes().name(id)) != self.now[at]);
            if let Some(rank) = id.and_then(|id| cluster.rank(id)) {
                loads[rank] += *amount as f64;
            }
        }
        let carried = self.amounts.iter().filter(|&&amount| amount > 0);
        let units = Units::of(&carried.map(|&amount| (amount, 1.0)));
        Remedy {
            moved_share: ratio(f64::from(moved), self.keys.len() as f64),
            ..Remedy::judge(sentences::attempt(attempt), &cluster, &loads, &units)
        }
    }

    fn with_params(&mut self, attempt: Attempt, params: Params) {
        let setup = self.setup.clone().with_params(params);
        if let Ok(router) = setup.and_then(|setup| setup.build()) {
            self.with_router(attempt, &*router);
        }
    }

    fn with_router(&mut self, attempt: Attempt, router: &dyn Router) {
        let keys = self.keys.clone();
        self.tried(attempt, router, &|at| assign(router, keys[at]));
    }

    fn with_keys(&mut self, attempt: Attempt, keys: &[Vec<u8>]) {
        if self.keys.iter().zip(keys).all(|(now, then)| now == then) {
            return;
        }
        // A shape that makes two keys equal is no remedy.
        let distinct: BTreeSet<_> = keys.iter().collect();
        if let (true, Ok(router)) = (distinct.len() == keys.len(), self.setup.build()) {
            self.tried(attempt, &*router, &|at| assign(&*router, &keys[at]));
        }
    }

    fn without_tag(&mut self) {
        let pair = self.router.hash_id().hasher().and_then(KeyHasher::tag);
        let [open, close] = pair.unwrap_or(hashroute::HashTag::BRACES).pair();
        let plain = |key: &&[u8]| {
            let bytes = key.iter().copied();
            bytes
                .filter(|byte| *byte != open && *byte != close)
                .collect()
        };
        let keys: Vec<Vec<u8>> = self.keys.iter().map(plain).collect();
        self.with_keys(Attempt::WithoutTags, &keys);
    }

    fn weights(&mut self) {
        let servers = self.setup.servers().iter();
        let mut weights = servers.map(Server::weight).filter(|&weight| weight > 0);
        let first = weights.next();
        if !self.setup.is_free() || weights.all(|weight| Some(weight) == first) {
            return;
        }
        let one = |server: &Server| server.clone().with_weight(server.weight().min(1));
        let servers: Vec<_> = self.setup.servers().iter().map(one).collect();
        if let Ok(router) = self.setup.with_members(servers).build() {
            self.with_router(Attempt::EqualWeights, &*router);
        }
    }

    /// Tries the parameter values that make the row more even, as the row itself says.
    fn parameters(&mut self) {
        if self.setup.servers().len() >= MANY {
            return;
        }
        for param in self.setup.scheme().params {
            for value in param.finer {
                let params = self.setup.params().clone().with(param.name, *value);
                self.with_params(Attempt::Parameter(param.name, value), params);
            }
        }
    }

    /// Tries the nearest numbers of nodes that are not dangerous.
    fn node_counts(&mut self, counts: &NodeCounts) {
        let now = self.setup.servers().len() as u64;
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
            let servers = self.diagnosis.resized(count);
            let router = self.setup.with_members(servers).build();
            if let Some(router) = router.ok().filter(|router| router.nodes().len() == count) {
                self.with_router(Attempt::Nodes(nodes), &*router);
            }
        }
    }

    fn mixed(&mut self) {
        let Ok(router) = self.setup.build() else {
            return;
        };
        let (keys, bits) = (self.keys.clone(), self.bits.clamp(1, 64));
        let assign = |at: usize| {
            let hash = mix64(router.hash_key(keys[at])?.get()) >> (64 - bits);
            assign_hash(&*router, KeyHash::from_raw(hash))
        };
        self.tried(Attempt::Mixed, &*router, &assign);
    }

    fn shapes(&mut self) {
        let varying = Varying::of(self.keys.iter().copied());
        for shape in Shape::ALL {
            let keys: Vec<_> = self
                .keys
                .iter()
                .map(|key| varying.reshape(key, shape))
                .collect();
            let example = keys.iter().min().map_or(&[][..], Vec::as_slice);
            self.with_keys(Attempt::Reshaped(shape, example), &keys);
        }
    }

    /// Tries two hash functions of ours, and those that a dialect offers.
    fn hashes(&mut self) {
        let tag = self.router.hash_id().hasher().and_then(KeyHasher::tag);
        for function in [HashFunction::Xxh3, HashFunction::Murmur3_128] {
            let hasher = KeyHasher::new(function);
            let hasher = match tag {
                Some(tag) => hasher.with_tag(tag),
                None => hasher,
            };
            let params = self.setup.params().clone().with_hasher(hasher);
            self.with_params(Attempt::Hash(function), params);
        }
        for param in self.setup.scheme().params {
            for value in param.hashes {
                let params = self.setup.params().clone().with(param.name, *value);
                self.with_params(Attempt::Parameter(param.name, value), params);
            }
        }
    }

    /// Tries the strategies that bound excess moves and agree by the set or the number of nodes
    /// alone.
    fn strategies(&mut self) {
        let hasher = self.router.hash_id().hasher().cloned();
        let params = Params::default().with_hasher(hasher.unwrap_or_default());
        let first = self.found.len();
        for scheme in strategy::ALL {
            let shares = matches!(scheme.agree(), Agree::Set | Agree::Count);
            let settled = !matches!(
                scheme.caps().map(|caps| caps.excess),
                Some(Excess::Unbounded)
            );
            let other = scheme.title() != self.setup.scheme().title();
            if !(shares && settled && other) {
                continue;
            }
            if let Ok(router) = scheme.build(self.setup.nodes(), &params) {
                let id = router.hash_id();
                let hash = id.hasher().map_or("", |hasher| hasher.function().name());
                self.with_router(Attempt::Strategy(scheme.name, hash), &*router);
            }
        }
        self.found[first..].sort_by(|a, b| a.cv.total_cmp(&b.cv));
    }
}
