//! Plans in which slots have loads.
//!
//! To reach even loads with the least load moved is a bin-packing problem, so this is a heuristic
//! with a bound.
//!
//! 1. Unassigned slots and slots of drained nodes go to the emptiest node, the heaviest first.
//! 2. The fullest node gives the emptiest a slot that takes neither past its share. Light slots go
//!    first: a slot heavier than the mean of its node moves only if the lighter ones are used up.
//!    All these moves together are as much as any plan that gets as close must move.
//! 3. When no slot fits, the lightest slot may take an end past its share, if it gains at least a
//!    third of its load. What it gains is how much closer the two nodes get to their shares.
//!
//! Say that loads are off by half the sum of the distances of all nodes from their shares. A move
//! of load w brings them at most w closer, and each move of 2 and 3 at least w / 3. So 2 and 3
//! together move at most three times the least load of any plan that gets as close, and exactly
//! that least load if 3 moves nothing.
//!
//! A slot with load 0 stays at its owner unless that is drained, and a node with a weight keeps its
//! last slot: servers make a primary without slots a replica.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{NOBODY, Step, index};
use crate::redis::Table;

/// Loads and shares in units of 1 / sum of weights, so that shares are integers. They fit: the sum
/// of the loads is below 2^64, that of the weights below 2^48 (2^16 nodes x 2^32).
type Load = i128;

struct State<'t> {
    loads: &'t [u64],
    /// The sum of the weights.
    unit: Load,
    /// For each node its load minus its share.
    excess: Vec<Load>,
    /// For each node the slots that it owned at the start and still owns, by load.
    own: Vec<BTreeSet<(u64, Reverse<u32>)>>,
    /// For each node its number of slots.
    counts: Vec<u32>,
    /// For each node the load above which its slots count as heavy, for now.
    heavy: Vec<u64>,
    steps: Vec<Step>,
}

pub(super) fn steps(table: &Table, weights: &[u32], loads: &[u64]) -> Vec<Step> {
    let mut state = State::new(table, weights, loads);
    state.hand_out(table, weights);
    state.even_out(weights, false);
    state.even_out(weights, true);
    state.steps
}

impl<'t> State<'t> {
    fn new(table: &Table, weights: &[u32], loads: &'t [u64]) -> Self {
        let nodes = weights.len();
        let unit: Load = weights.iter().map(|weight| Load::from(*weight)).sum();
        let total: Load = loads.iter().map(|load| Load::from(*load)).sum();
        let shares = weights.iter().map(|weight| -total * Load::from(*weight));
        let mut state = Self {
            loads,
            unit,
            excess: shares.collect(),
            own: vec![BTreeSet::new(); nodes],
            counts: vec![0; nodes],
            heavy: Vec::new(),
            steps: Vec::new(),
        };
        for (slot, load) in (0..).zip(loads) {
            if let Some(owner) = table.owner_index(slot) {
                state.own[owner].insert((*load, Reverse(slot)));
                state.counts[owner] += 1;
                state.excess[owner] += Load::from(*load) * unit;
            }
        }
        state.heavy = state.own.iter().map(mean).collect();
        state
    }

    fn go(&mut self, slot: u32, from: Option<usize>, to: usize) {
        let load = self.loads[slot as usize];
        if let Some(from) = from {
            self.own[from].remove(&(load, Reverse(slot)));
            self.counts[from] -= 1;
            self.excess[from] -= Load::from(load) * self.unit;
        }
        self.counts[to] += 1;
        self.excess[to] += Load::from(load) * self.unit;
        self.steps.push(Step {
            slot,
            from: from.map_or(NOBODY, index),
            to: index(to),
            load,
        });
    }

    /// Assigns the slots that must move: unassigned slots first, then those of drained nodes.
    fn hand_out(&mut self, table: &Table, weights: &[u32]) {
        let owners = (0..table.rule().slots()).map(|slot| (slot, table.owner_index(slot)));
        let must = owners.filter(|(_, owner)| owner.is_none_or(|owner| weights[owner] == 0));
        let mut must: Vec<_> = must.collect();
        must.sort_by_key(|(slot, owner)| (owner.is_some(), Reverse(self.loads[*slot as usize])));
        let takers = (0..weights.len()).filter(|node| weights[*node] > 0);
        let mut takers: BTreeSet<_> = takers.map(|node| self.need(node)).collect();
        for (slot, from) in must {
            let Some((.., to)) = takers.pop_first() else {
                return;
            };
            self.go(slot, from, to);
            takers.insert(self.need(to));
        }
    }

    /// Returns the sort key of a taker: the emptiest node first; at a tie the node with the fewest
    /// slots, so that slots with load 0 are spread, too.
    fn need(&self, node: usize) -> (Load, u32, usize) {
        (self.excess[node], self.counts[node], node)
    }

    /// Moves slots from the fullest node to the emptiest. If `past`, a slot may take one of them past
    /// its share.
    fn even_out(&mut self, weights: &[u32], past: bool) {
        let weighted = (0..weights.len()).filter(|node| weights[*node] > 0);
        let mut takers: BTreeSet<_> = weighted
            .clone()
            .map(|node| (self.excess[node], node))
            .collect();
        let mut givers: BTreeMap<_, _> = weighted
            .map(|node| ((self.excess[node], Reverse(node)), node))
            .collect();
        // The loop ends: each turn moves a slot, which never moves again, or removes a giver.
        while let (Some((key, giver)), Some((_, taker))) =
            (givers.pop_last(), takers.first().copied())
        {
            debug_assert_eq!(key.0, self.excess[giver]);
            let Some(slot) = self.best(giver, taker, past) else {
                continue;
            };
            takers.remove(&(self.excess[giver], giver));
            takers.remove(&(self.excess[taker], taker));
            let was_giver = givers
                .remove(&(self.excess[taker], Reverse(taker)))
                .is_some();
            self.go(slot, Some(giver), taker);
            for node in [giver, taker] {
                takers.insert((self.excess[node], node));
            }
            givers.insert((self.excess[giver], Reverse(giver)), giver);
            if was_giver {
                givers.insert((self.excess[taker], Reverse(taker)), taker);
            }
        }
    }

    /// Returns the slot to move from one node to the other; `None` if no slot is worth it.
    fn best(&mut self, giver: usize, taker: usize, past: bool) -> Option<u32> {
        let (surplus, lack) = (self.excess[giver], -self.excess[taker]);
        if surplus <= 0 || lack <= 0 || self.counts[giver] <= 1 {
            return None;
        }
        let fits = u64::try_from(surplus.min(lack) / self.unit).unwrap_or(u64::MAX);
        let own = &self.own[giver];
        loop {
            let most = fits.min(self.heavy[giver]);
            let light = (1, Reverse(u32::MAX))..=(most.max(1), Reverse(0));
            if let Some((_, slot)) = own.range(light).next_back().filter(|_| most > 0) {
                return Some(slot.0);
            }
            if most >= fits {
                break;
            }
            self.heavy[giver] = self.heavy[giver].saturating_mul(2).max(1);
        }
        let heavier = (fits.checked_add(1)?, Reverse(u32::MAX))..;
        let (load, slot) = own.range(heavier).next().filter(|_| past)?;
        let load = Load::from(*load) * self.unit;
        // The sum of both distances falls by twice the gain.
        let after = (surplus - load).abs() + (lack - load).abs();
        (3 * (surplus + lack - after) >= 2 * load).then_some(slot.0)
    }
}

/// Returns the mean load of the slots that have one, rounded up.
fn mean(slots: &BTreeSet<(u64, Reverse<u32>)>) -> u64 {
    let loaded = slots.iter().filter(|(load, _)| *load > 0);
    let (sum, count) = loaded.fold((0_u64, 0_u64), |(sum, count), (load, _)| {
        (sum.saturating_add(*load), count + 1)
    });
    sum.div_ceil(count.max(1))
}
