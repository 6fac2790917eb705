//! Plans in which each slot counts 1.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{NOBODY, Step, index};
use crate::redis::Table;

/// Plans the moves: shares by largest remainder, then slots from nodes above their share to nodes
/// below it. A node gives its highest slots, in ascending order, so that ranges stay contiguous and
/// tables readable. Each move carries `load`.
pub(super) fn steps(table: &Table, weights: &[u32], load: u64) -> Vec<Step> {
    let owned = table.counts();
    let quotas = quotas(table.rule().slots(), weights, &owned);
    let mut givers = vec![Vec::new(); owned.len()];
    let mut free = Vec::new();
    for slot in 0..table.rule().slots() {
        match table.owner_index(slot) {
            None => free.push(slot),
            Some(giver) => givers[giver].push(slot),
        }
    }
    let takers = quotas.iter().zip(&owned).enumerate();
    let mut takers = takers.flat_map(|(taker, (quota, owned))| {
        core::iter::repeat_n(index(taker), quota.saturating_sub(*owned) as usize)
    });
    let mut given: Vec<(u32, u32)> = free.into_iter().map(|slot| (slot, NOBODY)).collect();
    // Drained nodes give first: they are to leave the cluster.
    let mut order: Vec<usize> = (0..owned.len()).collect();
    order.sort_by_key(|giver| weights[*giver] > 0);
    for giver in order {
        let keeps = quotas[giver].min(owned[giver]) as usize;
        let surplus = givers[giver].drain(keeps..);
        given.extend(surplus.map(|slot| (slot, index(giver))));
    }
    given
        .into_iter()
        .filter_map(|(slot, from)| {
            let to = takers.next()?;
            Some(Step {
                slot,
                from,
                to,
                load,
            })
        })
        .collect()
}

/// Returns the number of slots that each node should own: the integer part of
/// slots x weight / sum of weights, plus one for the largest fractions. At equal fractions, the
/// node with the largest surplus over its integer part comes first, because that saves a move; then
/// the first id.
fn quotas(slots: u32, weights: &[u32], owned: &[u32]) -> Vec<u32> {
    let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    // No overflow: at most 2^20 slots x a weight below 2^32.
    let product = |node: usize| u64::from(slots) * u64::from(weights[node]);
    let mut quotas: Vec<u32> = (0..weights.len())
        .map(|node| u32::try_from(product(node) / total.max(1)).unwrap_or(slots))
        .collect();
    let left = slots - quotas.iter().sum::<u32>();
    let mut order: Vec<usize> = (0..weights.len())
        .filter(|node| weights[*node] > 0)
        .collect();
    order.sort_by_key(|node| {
        let over = i64::from(owned[*node]) - i64::from(quotas[*node]);
        Reverse((product(*node) % total.max(1), over))
    });
    for node in order.into_iter().take(left as usize) {
        quotas[node] += 1;
    }
    quotas
}
