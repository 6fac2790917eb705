//! The sampled keys on their way: the hashed part, the hash and the node of each.

use std::collections::BTreeMap;

use super::chance::{self, effective};
use super::evidence::Sampled;
use crate::measure::{assign_hash, own_shares};
use crate::summary::Sample;
use hashroute::hash::mix64;
use hashroute::{HashTag, KeyHash, NodeId, Router};

/// The number of hashes that are routed to measure shares, if a router does not give them.
const NUMBERS: u64 = 1 << 14;

/// The nodes with weight, in order of name, and what they are entitled to.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) names: Vec<String>,
    pub(super) weights: Vec<u32>,
    /// The shares by weight.
    pub(super) fair: Vec<f64>,
    /// The shares as the router itself gives them, if it does.
    pub(super) own: Option<Vec<f64>>,
    /// For each id, the index among these nodes.
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

    /// Returns whether all nodes have the same weight.
    pub(super) fn is_equal(&self) -> bool {
        self.weights.windows(2).all(|pair| pair[0] == pair[1])
    }

    pub(super) fn rank(&self, id: NodeId) -> Option<usize> {
        self.ranks.get(id.index()).copied().flatten()
    }

    /// Returns the shares that a good hash gives.
    pub(super) fn expected(&self) -> &[f64] {
        self.own.as_deref().unwrap_or(&self.fair)
    }

    /// Returns the coefficient of variation that chance alone gives `keys` equal keys.
    pub(super) fn noise(&self, keys: f64) -> f64 {
        Sample::variance(&self.weights, keys).sqrt()
    }

    /// Returns how far the router's own shares are from the fair ones, and the probability that
    /// chance gives as much: `None` if the shares are exact. Otherwise evenly spread hashes are
    /// routed to measure them.
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

/// Returns the `i`-th number of a sequence that is spread evenly over `bits` bits.
pub(super) fn number(i: u64, bits: u32) -> u64 {
    mix64(mix64(i)) >> (64 - bits.clamp(1, 64))
}

/// The sampled keys that have a node.
#[derive(Debug)]
pub(super) struct Placed<'a> {
    pub(super) keys: Vec<PlacedKey<'a>>,
    /// The number of bits that the hashes fill.
    pub(super) bits: u32,
    /// Each distinct hash, with its node.
    pub(super) outputs: Vec<(u64, usize)>,
    /// The number of equal keys that would be as noisy as the distinct hashes, each with its number
    /// of keys.
    pub(super) effective_outputs: f64,
    pub(super) tags: Tags,
}

#[derive(Debug)]
pub(super) struct PlacedKey<'a> {
    pub(super) sampled: Sampled<'a>,
    pub(super) hash: u64,
    pub(super) rank: usize,
}

/// The parts of the keys that are hashed.
#[derive(Debug, Default)]
pub(super) struct Tags {
    /// The pair of tag bytes, if one is in use.
    pub(super) tag: Option<HashTag>,
    /// The number of keys that have a tag.
    pub(super) tagged: usize,
    /// The number of distinct hashed parts.
    pub(super) parts: usize,
    /// The number of equal keys that would be as noisy.
    pub(super) effective: f64,
    /// The part with the most keys, and their number.
    pub(super) largest: (Vec<u8>, u64),
}

impl<'a> Placed<'a> {
    pub(super) fn of(
        router: &dyn Router,
        cluster: &Cluster,
        sample: impl Iterator<Item = Sampled<'a>>,
    ) -> Self {
        let placed = |sampled: Sampled<'a>| {
            let hash = router.hash_key(sampled.key)?;
            Some(PlacedKey {
                rank: cluster.rank(assign_hash(router, hash)?)?,
                hash: hash.get(),
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

    /// Returns the number of distinct hashes on each node.
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
        let keys = keys.iter().map(|key| key.sampled.key);
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

/// Returns the pair of tag bytes in use. If a router does not say how it hashes, braces are in use
/// if every key that has them hashes like the part between them.
fn tag_of(router: &dyn Router, keys: &[PlacedKey]) -> Option<HashTag> {
    if let Some(hasher) = router.hash_id().hasher() {
        return hasher.tag();
    }
    let tag = HashTag::BRACES;
    let parts = keys.iter().map(|key| (key, tag.part(key.sampled.key)));
    let mut tagged = parts
        .filter(|(key, part)| part.len() < key.sampled.key.len())
        .peekable();
    tagged.peek()?;
    tagged
        .all(|(key, part)| router.hash_key(part).map(KeyHash::get) == Some(key.hash))
        .then_some(tag)
}
