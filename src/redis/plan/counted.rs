//! Plans where each slot counts the same.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{NOBODY, Step, index};
use crate::redis::Table;

/// Shares by largest remainder, then slots from over to under. Slots of one owner go in
/// contiguous pieces, the highest first, so that tables stay readable. Each move is said to carry
/// `load`.
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
    // Who is drained goes first: it is on its way out.
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

/// How many slots each node should own: the whole part of slots x weight / sum, and one more for
/// the largest fractions; at ties for who has most over its whole part, since that saves a move,
/// then for the first id.
fn quotas(slots: u32, weights: &[u32], owned: &[u32]) -> Vec<u32> {
    let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    // At most 2^20 x 2^32.
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
