//! `scale`, which turns a hash into an index of equal parts, and the estimates of costs.

use hashroute::{HashSlots, KeyHash, NodeId, Router};

use crate::for_every_u32;
use crate::log2::neg_log2;
use crate::mix::scale;

/// Every upper half of a hash, over ranges of every size of power and beside it: the result is the
/// quotient, never reaches the range, and grows with the hash.
#[test]
#[ignore = "2^32 cases"]
fn scale_is_a_division_for_every_upper_half() {
    const RANGES: [usize; 8] = [
        1,
        2,
        3,
        1000,
        16_384,
        65_537,
        (1 << 26) - 1,
        u32::MAX as usize,
    ];
    let cases = for_every_u32(
        |part| {
            let mut cases = 0_u64;
            let mut before = [0; RANGES.len()];
            for upper in part {
                for low in [0, u64::from(u32::MAX)] {
                    let hash = u64::from(upper) << 32 | low;
                    for (range, before) in RANGES.iter().zip(&mut before) {
                        let index = scale(hash, *range);
                        // A part starts at the hashes from index * 2^64 / range on.
                        let product = u128::from(hash) * *range as u128;
                        let start = (index as u128) << 64;
                        assert!(
                            start <= product && product - start < 1 << 64,
                            "{hash:#x} {range}"
                        );
                        assert!(index < *range && index >= *before, "{hash:#x} {range}");
                        *before = index;
                        cases += 1;
                    }
                }
            }
            cases
        },
        |a, b| a + b,
    );
    assert_eq!(scale(u64::MAX, 0), 0);
    println!("scale: {cases} pairs of hash and range");
}

/// A table of slots divides the hash space exactly as its ranges say, at every upper half.
#[test]
#[ignore = "2^32 cases"]
fn ranges_of_slots_are_the_routes_at_every_upper_half() {
    let slots = HashSlots::with_slots(["a", "b", "c"], 1000).expect("nodes");
    let ranges = slots.ranges().expect("a table has ranges");
    let cells: Vec<_> = ranges
        .iter()
        .map(|range| (range.last, range.owner))
        .collect();
    let cases = for_every_u32(
        |part| {
            let owner_at = |hash: u64| cells.partition_point(|(last, _)| *last < hash);
            let first = u64::from(*part.start()) << 32;
            let (mut at, mut cases) = (owner_at(first), 0_u64);
            for upper in part {
                for low in [0, u64::from(u32::MAX)] {
                    let hash = u64::from(upper) << 32 | low;
                    while cells[at].0 < hash {
                        at += 1;
                    }
                    let routed: Option<NodeId> = slots.route_hash(KeyHash::from_raw(hash));
                    assert_eq!(routed, cells[at].1, "{hash:#x}");
                    cases += 1;
                }
            }
            cases
        },
        |a, b| a + b,
    );
    println!("slots: {cases} hashes, {} ranges", cells.len());
}

/// The order of scores: two nodes of equal weight are ordered by cost as by score, because the
/// logarithm is strictly monotone; and for unequal weights the cross product of two costs, which
/// decides, never overflows and never ties at equal scores. Every score, against weights at the
/// limits.
#[test]
#[ignore = "2^32 cases"]
fn costs_of_equal_scores_are_ordered_by_weight() {
    const PAIRS: [(u32, u32); 5] = [
        (1, 2),
        (1, u32::MAX),
        (u32::MAX - 1, u32::MAX),
        (3, 7),
        (1 << 31, (1 << 31) + 1),
    ];
    let cases = for_every_u32(
        |part| {
            let mut cases = 0_u64;
            for score in part {
                let log = u128::from(neg_log2(score));
                for (light, heavy) in PAIRS {
                    // log / heavy < log / light, multiplied out.
                    assert!(
                        log * u128::from(light) < log * u128::from(heavy),
                        "{score:#x}"
                    );
                    cases += 1;
                }
            }
            cases
        },
        |a, b| a + b,
    );
    println!("score order: {cases} scores and pairs of weights");
}
