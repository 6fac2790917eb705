//! Law 11: for every hash, ranges agree with a lookup.

use super::clause::Clause;
use super::random::Random;
use super::subject::{Cluster, Step, Subject, members};
use super::trial::{Held, ensure, equal};
use hashroute::registry::Params;
use hashroute::{HashFunction, HashRanges, KeyHash, KeyHasher, Router, RouterExt, Spread};

pub(super) const RANGES: &[Clause] = &[
    Clause::new("ranges are the routes", routes),
    Clause::new("ranges are the routes of narrow hashes", narrow),
    Clause::new("ranges cover all hashes and have the shares", shares),
    Clause::new("a range with lists has one list", one_list),
];

/// Checks the ends of ranges, random hashes, and the hashes of keys.
fn hashes(
    subject: &Subject,
    router: &dyn Router,
    ranges: &HashRanges,
    random: &mut Random,
) -> Vec<KeyHash> {
    let ends = ranges.iter().step_by(ranges.len() / 300 + 1);
    let ends: Vec<_> = ends.flat_map(|range| [range.first, range.last]).collect();
    let some = (0..200).map(|_| random.number() >> (64 - ranges.bits()));
    let raw = ends.into_iter().chain(some).map(KeyHash::from_raw);
    let keys = (0..100).filter_map(|i| router.hash_key(&subject.scheme.keys.sample(i)));
    raw.chain(keys).collect()
}

fn agree(subject: &Subject, router: &dyn Router, random: &mut Random) -> Held {
    let Some(ranges) = router.ranges() else {
        return Ok(());
    };
    for key in hashes(subject, router, &ranges, random) {
        let input = || format!("{}, key hash {:#x}", members(router), key.get());
        equal(input, &router.route_hash(key), &ranges.owner(key))?;
        let position = ranges.position(key).is_some();
        ensure(position, input, "a position in the ranges", || {
            format!("none in {} bits", ranges.bits())
        })?;
    }
    Ok(())
}

fn routes(subject: &Subject) -> Held {
    let cases = if subject.scheme.is_dialect() { 4 } else { 12 };
    for case in 0..cases {
        let mut random = Random::new(600 + case);
        let mut cluster = Cluster::new(subject, &random.weights(9, 4))?;
        let who = random.index(64);
        agree(subject, &*cluster.router, &mut random)?;
        for step in [
            Step::Add(2),
            Step::Remove(who),
            Step::Reweight(who, 3),
            Step::Reweight(who + 1, 0),
        ] {
            if let Some(change) = cluster.change(step) {
                if cluster.apply(&change)? {
                    agree(subject, &*cluster.router, &mut random)?;
                }
            }
        }
    }
    Ok(())
}

/// Checks every value of a hash function with 16 bits, and the ends of functions with 32 and 64.
fn narrow(subject: &Subject) -> Held {
    let functions = [
        HashFunction::Crc16,
        HashFunction::Crc32,
        HashFunction::Xxh64,
    ];
    for (function, case) in functions.into_iter().zip(900..) {
        let params = Params::default().with_hasher(KeyHasher::new(function));
        // A row may have a hash function of its own.
        let Ok(router) = subject
            .scheme
            .build(subject.weighted(&[1, 3, 0, 2, 1]), &params)
        else {
            continue;
        };
        agree(subject, &*router, &mut Random::new(case))?;
        let Some(ranges) = router.ranges().filter(|ranges| ranges.bits() <= 16) else {
            continue;
        };
        let hashes = 1_u64 << ranges.bits();
        let mut counts = vec![0_u64; router.nodes().id_bound()];
        for hash in (0..hashes).map(KeyHash::from_raw) {
            let owner = router.route_hash(hash);
            let input = || format!("{}, key hash {:#x}", members(&*router), hash.get());
            equal(input, &owner, &ranges.owner(hash))?;
            if let Some(id) = owner {
                counts[id.index()] += 1;
            }
        }
        let counted: Vec<_> = counts
            .iter()
            .map(|&count| count as f64 / hashes as f64)
            .collect();
        let input = || format!("{}, shares by {function}", members(&*router));
        equal(input, &counted, &ranges.shares(counts.len()))?;
    }
    Ok(())
}

fn shares(subject: &Subject) -> Held {
    let mut router = subject.build(subject.weighted(&[1, 3, 0, 2, 1]))?;
    cover(&*router)?;
    // Some rows let only the last node leave.
    for i in [2, 4] {
        let change = hashroute::Change::reweight(subject.name(i), 0);
        if router.apply(&change).is_ok() {
            cover(&*router)?;
        }
    }
    Ok(())
}

fn cover(router: &dyn Router) -> Held {
    let Some(ranges) = router.ranges() else {
        return Ok(());
    };
    let bound = router.nodes().id_bound();
    let (mut shares, mut unowned) = (vec![0.0; bound], 0.0);
    let mut next = Some(0);
    for range in &ranges {
        let input = || format!("{}, {range:?}", members(router));
        equal(input, &next, &Some(range.first))?;
        next = range.last.checked_add(1);
        let share = ranges.share(range.first, range.last);
        let Some(id) = range.owner else {
            unowned += share;
            continue;
        };
        let weight = router.nodes().weight(id);
        ensure(weight > Some(0), input, "an owner with weight", || {
            format!("{weight:?}")
        })?;
        shares[id.index()] += share;
    }
    let stated = ranges.shares(bound);
    let input = || format!("{}, shares", members(router));
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
    let same = shares.iter().zip(&stated).all(near);
    ensure(same, input, "the sums of the ranges", || {
        format!("{stated:?} beside {shares:?}")
    })?;
    let sum = stated.iter().sum::<f64>() + unowned;
    ensure((sum - 1.0).abs() < 1e-9, input, "a sum of 1", || {
        format!("{sum}")
    })
}

fn one_list(subject: &Subject) -> Held {
    let router = subject.build(subject.weighted(&[1, 3, 0, 2, 1]))?;
    let Some(ranges) = router.ranges().filter(HashRanges::has_lists) else {
        return Ok(());
    };
    for range in ranges.iter().step_by(ranges.len() / 300 + 1) {
        let middle = range.first + (range.last - range.first) / 2;
        let [start, inside, end] = [range.first, middle, range.last].map(|hash| {
            let hash = KeyHash::from_raw(hash);
            router.replicas_hash(hash, 4, Spread::Nodes)
        });
        let input = || format!("{}, lists in {range:?}", members(&*router));
        equal(input, &start[..], &inside[..])?;
        equal(input, &start[..], &end[..])?;
    }
    Ok(())
}
