//! Plans in which slots have loads.
//!
//! To reach even loads with the fewest moves is a bin-packing problem, so this is a heuristic.
//! First, unassigned slots and slots of drained nodes go to the emptiest node, the heaviest first.
//! Then the fullest node gives the emptiest the slot that brings both closest to their shares, until
//! no slot does. Otherwise, a slot with load 0 stays at its owner.

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
    steps: Vec<Step>,
}

pub(super) fn steps(table: &Table, weights: &[u32], loads: &[u64]) -> Vec<Step> {
    let mut state = State::new(table, weights, loads);
    state.hand_out(table, weights);
    state.even_out(weights);
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
            steps: Vec::new(),
        };
        for (slot, load) in (0..).zip(loads) {
            if let Some(owner) = table.owner_index(slot) {
                state.own[owner].insert((*load, Reverse(slot)));
                state.counts[owner] += 1;
                state.excess[owner] += Load::from(*load) * unit;
            }
        }
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

    fn even_out(&mut self, weights: &[u32]) {
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
            let Some(slot) = self.best(giver, taker) else {
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

    /// Returns the slot that brings the two nodes closest to their shares; `None` if no slot helps.
    /// Only two candidates are needed: the heaviest slot with which neither node overshoots, and
    /// the next heavier one.
    fn best(&self, giver: usize, taker: usize) -> Option<u32> {
        let (surplus, lack) = (self.excess[giver], -self.excess[taker]);
        if surplus <= 0 || lack <= 0 {
            return None;
        }
        let fits = u64::try_from(surplus.min(lack) / self.unit).unwrap_or(u64::MAX);
        let own = &self.own[giver];
        let below = own.range(..=(fits, Reverse(0))).next_back();
        let above = fits.checked_add(1);
        let above = above.and_then(|least| own.range((least, Reverse(u32::MAX))..).next());
        let after = |load: u64| {
            let moved = Load::from(load) * self.unit;
            (surplus - moved).abs() + (lack - moved).abs()
        };
        let both = below.into_iter().chain(above);
        let (load, slot) = both.min_by_key(|(load, _)| after(*load))?;
        (after(*load) < surplus + lack).then_some(slot.0)
    }
}
