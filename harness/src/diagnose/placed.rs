//! The sampled keys on their way: what is hashed of each, its hash, its node.

use std::collections::BTreeMap;

use super::chance::{self, effective};
use super::evidence::Sampled;
use crate::measure::{assign, assign_hash, own_shares};
use crate::summary::Sample;
use hashroute::hash::mix64;
use hashroute::{HashTag, KeyHash, NodeId, Router};

/// How many numbers stand for all where a router does not give its shares.
const NUMBERS: u64 = 1 << 14;

/// The nodes with weight, in order of name, and what they are entitled to.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) names: Vec<String>,
    pub(super) weights: Vec<u32>,
    /// Shares by weight.
    pub(super) fair: Vec<f64>,
    /// Shares as the router itself gives them, where it does.
    pub(super) own: Option<Vec<f64>>,
    /// By id: the index among these.
    ranks: Vec<Option<usize>>,
}

impl Cluster {
    pub(super) fn of(router: &dyn Router) -> Self {
        let nodes = router.nodes();
        let mut cluster = Self {
            names: Vec::new(),
            weights: Vec::new(),
            fair: Vec::new(),
            own: None,
            ranks: vec![None; nodes.id_bound()],
        };
        let shares = own_shares(router);
        let mut own = Vec::new();
        for (id, node) in nodes.iter().filter(|(_, node)| node.weight() > 0) {
            cluster.ranks[id.index()] = Some(cluster.names.len());
            cluster.names.push(node.name().into());
            cluster.weights.push(node.weight());
            let share = |shares: &Vec<f64>| shares.get(id.index()).copied().unwrap_or(0.0);
            own.push(shares.as_ref().map_or(0.0, share));
        }
        let total = nodes.total_weight() as f64;
        let fair = |weight: &u32| f64::from(*weight) / total;
        cluster.fair = cluster.weights.iter().map(fair).collect();
        let whole: f64 = own.iter().sum();
        cluster.own = (whole > 0.0).then(|| own.into_iter().map(|share| share / whole).collect());
        cluster
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether all weigh the same.
    pub(super) fn is_equal(&self) -> bool {
        self.weights.windows(2).all(|pair| pair[0] == pair[1])
    }

    pub(super) fn rank(&self, id: NodeId) -> Option<usize> {
        self.ranks.get(id.index()).copied().flatten()
    }

    /// The shares that a good hash gives.
    pub(super) fn expected(&self) -> &[f64] {
        self.own.as_deref().unwrap_or(&self.fair)
    }

    /// What chance alone gives `keys` equal keys.
    pub(super) fn noise(&self, keys: f64) -> f64 {
        Sample::variance(&self.weights, keys).sqrt()
    }

    /// How far the router's own shares are from fair, and how often chance gives as much: `None`
    /// where the shares are exact. Else as many numbers as represent a good hash are routed.
    pub(super) fn structure(&self, router: &dyn Router, bits: u32) -> (f64, Option<f64>) {
        if let Some(own) = &self.own {
            return (chance::cv(own, &self.fair), None);
        }
        let mut loads = vec![0.0; self.len()];
        let numbers = (1..=NUMBERS).map(|i| KeyHash::from_raw(number(i, bits)));
        for rank in numbers.filter_map(|number| self.rank(assign_hash(router, number)?)) {
            loads[rank] += 1.0;
        }
        let units = loads.iter().sum();
        let cv = chance::beyond(chance::cv(&loads, &self.fair), self.noise(units));
        (cv, Some(chance::p_value(&loads, &self.fair, units)))
    }
}

/// The `i`-th of a sequence that is spread evenly over as many bits.
pub(super) fn number(i: u64, bits: u32) -> u64 {
    mix64(mix64(i)) >> (64 - bits.clamp(1, 64))
}

/// The sampled keys that have a node.
#[derive(Debug)]
pub(super) struct Placed<'a> {
    pub(super) keys: Vec<PlacedKey<'a>>,
    /// How many bits the hashes fill.
    pub(super) bits: u32,
    /// Each hash once, with the node it goes to.
    pub(super) outputs: Vec<(u64, usize)>,
    /// As many equal keys would be as noisy as those hashes, of which each has its keys.
    pub(super) effective_outputs: f64,
    pub(super) tags: Tags,
}

#[derive(Debug)]
pub(super) struct PlacedKey<'a> {
    pub(super) sampled: &'a Sampled,
    pub(super) hash: u64,
    pub(super) rank: usize,
}

/// What is hashed of the keys.
#[derive(Debug, Default)]
pub(super) struct Tags {
    /// The pair, if one is in use.
    pub(super) tag: Option<HashTag>,
    /// How many keys have one.
    pub(super) tagged: usize,
    /// How many different parts are hashed.
    pub(super) parts: usize,
    /// As many equal keys would be as noisy.
    pub(super) effective: f64,
    /// The part with most keys, and how many these are.
    pub(super) largest: (Vec<u8>, u64),
}

impl<'a> Placed<'a> {
    pub(super) fn of(
        router: &dyn Router,
        cluster: &Cluster,
        sample: impl Iterator<Item = &'a Sampled>,
    ) -> Self {
        let placed = |sampled: &'a Sampled| {
            Some(PlacedKey {
                rank: cluster.rank(assign(router, &sampled.key)?)?,
                hash: router.hash_key(&sampled.key)?.get(),
                sampled,
            })
        };
        let keys: Vec<_> = sample.filter_map(placed).collect();
        let mut pairs: Vec<_> = keys.iter().map(|key| (key.hash, key.rank)).collect();
        pairs.sort_unstable();
        let groups = || pairs.chunk_by(|a, b| a.0 == b.0);
        let used = keys.iter().fold(0, |bits, key| bits | key.hash);
        Self {
            bits: 64 - used.leading_zeros(),
            outputs: groups()
                .filter_map(|group| group.first().copied())
                .collect(),
            effective_outputs: effective(groups().map(|group| group.len() as u64)),
            tags: Tags::of(router, &keys),
            keys,
        }
    }

    /// How many hashes, each counted once, lie on each node.
    pub(super) fn output_loads(&self, nodes: usize) -> Vec<f64> {
        tally(nodes, self.outputs.iter().map(|(_, rank)| *rank))
    }
}

pub(super) fn tally(nodes: usize, ranks: impl Iterator<Item = usize>) -> Vec<f64> {
    let mut loads = vec![0.0; nodes];
    for rank in ranks {
        if let Some(load) = loads.get_mut(rank) {
            *load += 1.0;
        }
    }
    loads
}

impl Tags {
    fn of(router: &dyn Router, keys: &[PlacedKey]) -> Self {
        let tag = tag_of(router, keys);
        let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
        let mut tagged = 0;
        let keys = keys.iter().map(|key| &*key.sampled.key);
        for key in keys {
            let Some(tag) = tag else { break };
            let part = tag.part(key);
            tagged += usize::from(part.len() < key.len());
            *counts.entry(part).or_default() += 1;
        }
        let largest = counts.iter().max_by_key(|(_, count)| **count);
        Self {
            tag,
            tagged,
            parts: counts.len(),
            effective: effective(counts.values().copied()),
            largest: largest.map_or_else(Default::default, |(part, n)| (part.to_vec(), *n)),
        }
    }
}

/// The pair in use. Where a router does not say how it hashes, braces are in use if all keys that
/// have them hash as what stands between does.
fn tag_of(router: &dyn Router, keys: &[PlacedKey]) -> Option<HashTag> {
    if let Some(hasher) = router.hash_id().hasher() {
        return hasher.tag();
    }
    let tag = HashTag::BRACES;
    let parts = keys.iter().map(|key| (key, tag.part(&key.sampled.key)));
    let mut tagged = parts
        .filter(|(key, part)| part.len() < key.sampled.key.len())
        .peekable();
    tagged.peek()?;
    tagged
        .all(|(key, part)| router.hash_key(part).map(KeyHash::get) == Some(key.hash))
        .then_some(tag)
}
