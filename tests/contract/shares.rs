//! Law 5: shares follow the weights, as far as each strategy's own theory goes.

use std::collections::BTreeMap;

use hashroute::registry::{Agree, Scheme};
use hashroute::strategy::{ALL, Params, find};
use hashroute::{HashSlots, KeyHash, Maglev, Node, Ring, Router, Shortlist};

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::common::{
    Checks, Outcome, binomial, build, cell_count, chi_square, counts, fair_shares, fit, keys,
    nodes, normal, placed, share_of, shares, weighted,
};

const CLUSTERS: &[&[u32]] = &[
    &[1],
    &[1, 1],
    &[1, 1, 1],
    &[1, 1, 1, 1, 1],
    &[1, 1, 1, 1, 1, 1, 1],
    &[1; 64],
    &[1; 100],
    &[1, 2, 3, 4],
    &[1, 0, 50],
    &[7, 11, 13, 17, 19, 23],
];

#[test]
fn keys_fall_by_the_exact_shares_or_else_by_weight() {
    let mut checks = Checks::default();
    // Where loads decide, they are bounded; see below.
    let keyed = ALL
        .iter()
        .filter(|strategy| strategy.agree() != Agree::Load);
    for (seed, strategy) in (200..).zip(keyed) {
        let keys = keys(seed, 50_000);
        for weights in CLUSTERS {
            let router = build(strategy, weighted(strategy, weights));
            let shares = shares(&*router).unwrap_or_else(|| fair_shares(&*router));
            let chance = chi_square(&counts(&*router, &keys), &shares);
            checks.note(format!("{} {weights:?}", strategy.name), chance);
        }
    }
    checks.judge();
}

#[test]
fn exact_shares_sum_to_one_and_leave_out_the_drained() {
    for strategy in ALL {
        for weights in CLUSTERS {
            let router = build(strategy, weighted(strategy, weights));
            let Some(shares) = shares(&*router) else {
                continue;
            };
            assert_eq!(shares.len(), router.nodes().id_bound(), "{}", strategy.name);
            assert!(
                (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9,
                "{}",
                strategy.name
            );
            for (id, node) in router.nodes() {
                let owns = shares[id.index()] > 0.0;
                assert_eq!(owns, node.weight() > 0, "{} {weights:?}", strategy.name);
            }
        }
        for empty in [vec![], vec![0, 0]] {
            if fit(strategy, 0) != 0 && !empty.is_empty() {
                continue;
            }
            let router = build(strategy, weighted(strategy, &empty));
            let shares = shares(&*router).unwrap_or_default();
            assert!(
                shares.iter().all(|share| *share == 0.0),
                "{}",
                strategy.name
            );
        }
    }
}

/// A random share differs from cluster to cluster; its mean over many is the node's weight over
/// the total, within the error that the clusters' own spread gives and one cell of a table.
#[test]
fn exact_shares_follow_the_weights_on_average() {
    const CLUSTERS: usize = 60;
    const CELL: f64 = 1.0 / 16_384.0;
    let weights = [1, 2, 3, 4, 10];
    let mut checks = Checks::default();
    for strategy in ALL {
        let total: u32 = weights.iter().map(|&weight| fit(strategy, weight)).sum();
        let mut seen = vec![Vec::new(); weights.len()];
        for cluster in 0..CLUSTERS {
            let name = |i| format!("{cluster}/{i}");
            let weigh = |(i, &weight)| Node::new(name(i)).with_weight(fit(strategy, weight));
            let router = build(strategy, weights.iter().enumerate().map(weigh));
            let Some(shares) = shares(&*router) else {
                continue;
            };
            for (i, seen) in seen.iter_mut().enumerate() {
                seen.push(share_of(&*router, &shares, &name(i)));
            }
        }
        for (shares, &weight) in seen.iter().zip(&weights).filter(|(s, _)| !s.is_empty()) {
            let mean = shares.iter().sum::<f64>() / CLUSTERS as f64;
            let squares = shares.iter().map(|share| (share - mean) * (share - mean));
            let error = (squares.sum::<f64>() / (CLUSTERS * (CLUSTERS - 1)) as f64).sqrt();
            let off = (mean - f64::from(fit(strategy, weight)) / f64::from(total)).abs();
            let deviate = (off - CELL).max(0.0) / error.max(f64::MIN_POSITIVE);
            checks.note(
                format!("{} {weight}: {mean}", strategy.name),
                normal(deviate),
            );
        }
    }
    checks.judge();
}

/// The share of one of N equal nodes with v points each is a Beta(v, (N - 1) v) variable, so the
/// square of the shares' coefficient of variation is (N - 1) / (N v + 1) on average: about 1 / v.
/// Over R rings its own relative variance is near (2 / (N - 1) + 6 / (N v)) / R: that of a
/// sample variance, with the kurtosis of a sum of v exponential arcs.
#[test]
fn ring_shares_vary_as_one_over_the_root_of_the_points() -> Outcome {
    const N: usize = 20;
    let mut checks = Checks::default();
    for (points, rings) in [
        (10, 300),
        (40, 150),
        (100, 80),
        (160, 50),
        (1000, 20),
        (4000, 12),
    ] {
        let mut squares = 0.0;
        for ring in 0..rings {
            let nodes = (0..N).map(|i| Node::new(format!("{points}.{ring}.{i}")));
            let shares = shares(&Ring::with_points(nodes, points)?).ok_or("no arcs")?;
            let off = shares.iter().map(|share| share * N as f64 - 1.0);
            squares += off.map(|off| off * off).sum::<f64>() / N as f64;
        }
        let v = f64::from(points);
        let theory = (N - 1) as f64 / (N as f64 * v + 1.0);
        let measured = squares / f64::from(rings);
        let relative = (2.0 / (N - 1) as f64 + 6.0 / (N as f64 * v)) / f64::from(rings);
        let deviate = (measured / theory - 1.0) / relative.sqrt();
        let what = format!("{points} points: {} {}", measured.sqrt(), theory.sqrt());
        checks.note(what, normal(deviate));
    }
    checks.judge();
    Ok(())
}

/// The shares of a large cluster are the weights', but for 1 % at most (coefficient of variation
/// over the nodes); of a count that expects `e` keys, the sample adds a square of 1 / e.
#[test]
fn shortlist_shares_vary_by_less_than_a_hundredth() -> Outcome {
    const N: usize = 1500;
    const VARIANCE: f64 = 0.01 * 0.01;
    let mut checks = Checks::default();
    let keys = keys(400, 300_000);
    for weights in [[1, 1, 1], [1, 2, 3], [1, 1, 60]] {
        let cycle = weights.into_iter().cycle();
        let weigh = |(node, weight): (Node, _)| node.with_weight(weight);
        let router = Shortlist::new(nodes(N).into_iter().zip(cycle).map(weigh))?;
        let (counts, shares) = (counts(&router, &keys), fair_shares(&router));
        let mut chi2 = 0.0;
        let mut by_weight = BTreeMap::<_, (u64, f64)>::new();
        for (id, node) in router.nodes() {
            let (count, share) = (counts[id.index()], shares[id.index()]);
            let expected = share * keys.len() as f64;
            let off = count as f64 - expected;
            chi2 += off * off / (expected * (1.0 + VARIANCE * expected));
            let sums = by_weight.entry(node.weight()).or_default();
            *sums = (sums.0 + count, sums.1 + share);
        }
        let chance = ChiSquared::new((N - 1) as f64)?.sf(chi2);
        checks.note(format!("{weights:?}: {chi2}"), chance);
        // All nodes of one weight together: nothing but the sample is left.
        for (weight, (count, share)) in by_weight {
            let chance = binomial(count, keys.len() as u64, share);
            checks.note(
                format!("{weights:?}: {count} keys to weight {weight}"),
                chance,
            );
        }
    }
    checks.judge();
    Ok(())
}

/// Cells by name.
fn cells(router: &dyn Router, size: u64) -> BTreeMap<String, u64> {
    let shares = shares(router).unwrap_or_default();
    let members = router.nodes().iter();
    members
        .map(|(id, node)| (node.name().to_owned(), cell_count(shares[id.index()], size)))
        .collect()
}

/// Adams's rule, another way: hand out the cells one by one to the smallest (cells so far /
/// weight), at ties to the heavier, then to the first name.
fn adams(nodes: &[Node], size: u64) -> BTreeMap<String, u64> {
    let mut won: BTreeMap<_, _> = nodes
        .iter()
        .map(|node| (node.name().to_owned(), 0))
        .collect();
    let live: Vec<_> = nodes.iter().filter(|node| node.weight() > 0).collect();
    for _ in 0..size {
        let next = live.iter().min_by(|a, b| {
            let [mine, theirs] = [(a, b), (b, a)]
                .map(|(of, by)| u128::from(won[of.name()]) * u128::from(by.weight()));
            let heavier = b.weight().cmp(&a.weight());
            mine.cmp(&theirs).then(heavier).then(a.name().cmp(b.name()))
        });
        if let Some(count) = next.and_then(|node| won.get_mut(node.name())) {
            *count += 1;
        }
    }
    won
}

const MIXES: &[&[u32]] = &[
    &[1, 1, 1],
    &[1, 10],
    &[1, 2, 3, 0, 5],
    &[1, 1, 1, 1, 1, 1, 1, 1, 1, 40],
    &[2, 3, 5, 7, 11, 13],
    &[1, 1_000_000],
    &[u32::MAX, u32::MAX, 1],
];

fn named(weights: &[u32]) -> Vec<Node> {
    let weigh = |(node, &weight): (Node, _)| node.with_weight(weight);
    nodes(weights.len())
        .into_iter()
        .zip(weights)
        .map(weigh)
        .collect()
}

#[test]
fn maglev_cells_are_handed_out_by_adams_rule() -> Outcome {
    for weights in MIXES {
        for size in [11, 101, 1009] {
            let router = Maglev::with_table_size(named(weights), size)?;
            assert_eq!(
                cells(&router, size),
                adams(&named(weights), size),
                "{weights:?} {size}"
            );
        }
    }
    Ok(())
}

#[test]
fn maglev_gives_equal_nodes_the_same_cells_but_for_one() -> Outcome {
    for count in [1, 2, 3, 7, 46, 100, 1000] {
        let router = Maglev::new(nodes(count))?;
        let fair = Maglev::DEFAULT_TABLE_SIZE / count as u64;
        let cells = cells(&router, Maglev::DEFAULT_TABLE_SIZE);
        assert!(
            cells.values().all(|count| [fair, fair + 1].contains(count)),
            "{count}"
        );
    }
    Ok(())
}

/// Hamilton's rule, another way: whole parts, then one each to the largest remainders; whoever
/// ends with nothing takes one from the first of those with the most.
fn hamilton(nodes: &[Node], slots: u64) -> Vec<u64> {
    let total: u128 = nodes.iter().map(|node| u128::from(node.weight())).sum();
    let exact = |node: &Node| u128::from(slots) * u128::from(node.weight());
    let whole = |node: &Node| u64::try_from(exact(node) / total).expect("at most all slots");
    let mut quotas: Vec<_> = nodes.iter().map(whole).collect();
    let mut order: Vec<_> = (0..nodes.len())
        .filter(|&i| nodes[i].weight() > 0)
        .collect();
    order.sort_by_key(|&i| core::cmp::Reverse(exact(&nodes[i]) % total));
    let left = usize::try_from(slots - quotas.iter().sum::<u64>()).expect("fewer than nodes");
    order[..left].iter().for_each(|&i| quotas[i] += 1);
    for i in 0..nodes.len() {
        if quotas[i] == 0 && nodes[i].weight() > 0 {
            let most = quotas.iter().copied().max().unwrap_or(0);
            let rich = quotas
                .iter()
                .position(|&quota| quota == most)
                .expect("the most");
            quotas[rich] -= 1;
            quotas[i] = 1;
        }
    }
    quotas
}

#[test]
fn slots_go_by_largest_remainder() -> Outcome {
    for weights in MIXES {
        for slots in [10, 64, 1000, 16_384] {
            let table = HashSlots::with_slots(named(weights), slots)?;
            let cells = cells(&table, slots.into());
            let wanted = hamilton(&named(weights), slots.into());
            let mut got: Vec<_> = cells.into_values().collect();
            let mut wanted = wanted.clone();
            // Of equal nodes, any may hold the odd slot.
            got.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(got, wanted, "{weights:?} {slots}");
        }
    }
    Ok(())
}

#[test]
fn modulo_shares_are_the_weights_exactly() -> Outcome {
    for weights in MIXES {
        let router = build(find("modulo")?, named(weights));
        // To a hash a number: 2^64 of them do not divide evenly.
        let shares = shares(&*router).expect("a modulo has cells");
        let odd = router.nodes().total_weight() as f64 / u64::MAX as f64 + f64::EPSILON;
        for (share, fair) in shares.iter().zip(fair_shares(&*router)) {
            assert!((share - fair).abs() <= odd, "{weights:?}: {share} {fair}");
        }
    }
    // Number by number: ten of them, in order of name.
    let router = build(find("modulo")?, named(&[1, 2, 3, 4]));
    let owner = |number| router.route_hash(KeyHash::from_raw(number));
    let counts = (0..10_u64).fold([0; 4], |mut counts, number| {
        counts[owner(number).map_or(0, hashroute::NodeId::index)] += 1;
        counts
    });
    assert_eq!(counts, [1, 2, 3, 4]);
    Ok(())
}

/// The factor that a strategy bounds loads by, from its own registry row.
fn load_factor(strategy: &Scheme) -> f64 {
    let param = strategy.params.iter().find(|param| param.name == "load");
    let value = param.map(|param| Params::default().with("load", param.default));
    let value = value.and_then(|params| params.get("load", 0.0).ok());
    value.unwrap_or_else(|| panic!("{} states no load factor", strategy.name))
}

#[test]
fn where_loads_decide_nobody_holds_more_than_the_bound() {
    for strategy in ALL
        .iter()
        .filter(|strategy| strategy.agree() == Agree::Load)
    {
        let factor = load_factor(strategy);
        for weights in CLUSTERS {
            let router = build(strategy, weighted(strategy, weights));
            let keys = keys(300, 5000);
            let names = placed(&*router, &keys);
            for ((_, node), share) in router.nodes().iter().zip(fair_shares(&*router)) {
                let load = names.iter().filter(|name| ***name == *node.name()).count();
                let bound = (factor * keys.len() as f64 * share - 1e-6).ceil();
                assert!(load as f64 <= bound, "{} {weights:?} {load}", strategy.name);
            }
            assert!(names.iter().all(|name| **name != *"-"), "{}", strategy.name);
        }
    }
}
