//! Nodes in the order of a hash, so that the nodes near a probe are next to each other.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::blocks::Seeds;
use super::halves;
use super::{LISTED, Member, PART_BITS, Probes};
use crate::NodeId;

/// The largest number of nodes that are all compared. For more nodes, windows are faster.
const FEW: usize = 32;

/// The nodes of one class in one of the orders.
#[derive(Clone, Debug)]
pub(super) struct Order {
    // Parallel, by seed.
    seeds: Seeds,
    members: Vec<Member>,
    /// The index of the first seed for each prefix of `depth` bits; then the number of seeds.
    starts: Vec<u32>,
    depth: u32,
}

impl Order {
    pub(super) fn new(mut nodes: Vec<(u64, Member)>) -> Self {
        nodes.sort_by_key(|(seed, _)| *seed);
        let mut order = Self {
            seeds: nodes.iter().map(|(seed, _)| *seed).collect(),
            members: nodes.iter().map(|(_, member)| *member).collect(),
            starts: Vec::new(),
            depth: 0,
        };
        order.index();
        order
    }

    pub(super) fn insert(&mut self, seed: u64, member: Member) {
        let at = self.seeds.rank(seed);
        self.seeds.insert(at, seed);
        self.members.insert(at, member);
        self.index_change(seed, |start| *start += 1);
    }

    pub(super) fn remove(&mut self, seed: u64, id: NodeId) {
        let first = self.seeds.rank(seed);
        let same = self.members[first..]
            .iter()
            .position(|member| member.id == id);
        let Some(at) = same.map(|skip| first + skip) else {
            return;
        };
        self.seeds.remove(at);
        self.members.remove(at);
        self.index_change(seed, |start| *start -= 1);
    }

    /// Returns the number of bits of a prefix: about as many prefixes as nodes, rounded down to a
    /// power of two.
    fn fitting_depth(&self) -> u32 {
        self.members.len().max(1).ilog2().clamp(PART_BITS, 28)
    }

    fn index_change(&mut self, seed: u64, shift: impl FnMut(&mut u32)) {
        if self.depth != self.fitting_depth() {
            return self.index();
        }
        let prefix = (halves(seed).1 >> (32 - self.depth)) as usize;
        self.starts[prefix + 1..].iter_mut().for_each(shift);
    }

    fn index(&mut self) {
        self.depth = self.fitting_depth();
        self.starts = vec![0; (1 << self.depth) + 1];
        for high in self.seeds.high() {
            self.starts[(high >> (32 - self.depth)) as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
    }

    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the score of the node at an index: its hash with the key or, if the node is on the
    /// list of the key, seven ones and then its distance from the probe.
    #[inline]
    pub(super) fn score(&self, at: usize, probes: &Probes) -> u32 {
        let hash = self.seeds.hash(at, probes.key);
        if hash.leading_ones() < LISTED {
            return hash;
        }
        let high = self.seeds.high()[at];
        let probe = probes.positions[(high >> (32 - PART_BITS)) as usize];
        !((high << PART_BITS ^ probe) >> LISTED)
    }

    /// Visits the indexes of all nodes with a score of at least this many leading ones, and of some
    /// others.
    #[inline]
    pub(super) fn visit(&self, ones: u32, probes: &Probes, visit: impl FnMut(usize)) {
        let floor = !u32::MAX.checked_shr(ones.min(LISTED)).unwrap_or(0);
        if ones <= LISTED || self.members.len() <= FEW {
            let all = 0..*self.starts.last().unwrap_or(&0);
            self.seeds
                .reaching(core::iter::once(all), probes.key, floor, visit);
        } else {
            self.seeds
                .reaching(self.windows(ones, probes), probes.key, floor, visit);
        }
    }

    /// Returns a range of indexes for each part: the nodes with at least this many leading ones, if
    /// they are on the list of the key.
    #[inline]
    pub(super) fn windows(&self, ones: u32, probes: &Probes) -> impl Iterator<Item = Range<u32>> {
        let bits = (ones - LISTED + PART_BITS).min(self.depth);
        probes.positions.iter().zip(0..).map(move |(probe, part)| {
            let prefix = part << (32 - PART_BITS) | probe >> PART_BITS;
            let first = ((prefix >> (32 - bits)) << (self.depth - bits)) as usize;
            let last = first + (1 << (self.depth - bits));
            self.starts[first]..self.starts[last]
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.seeds.heap_bytes()
            + self.members.capacity() * size_of::<Member>()
            + self.starts.capacity() * size_of::<u32>()
    }
}
