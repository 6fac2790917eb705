//! Law 5 where the theory of a strategy says more than its row.

use std::collections::BTreeMap;

use hashroute::strategy::find;
use hashroute::{HashSlots, KeyHash, Maglev, Node, Ring, Router, Shortlist};

use statrs::distribution::{ChiSquared, ContinuousCDF};

use hashroute_test_support::{
    Checks, Outcome, binomial, build, cell_count, counts, fair_shares, keys, nodes, normal, shares,
};

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

/// The shares of a large cluster deviate from the weights by at most 1 % (coefficient of variation
/// over the nodes). A count that expects `e` keys adds a sampling variance of 1 / e.
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
        // For all nodes of one weight together only the sampling error remains.
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

/// Returns the number of cells of each node by name.
fn cells(router: &dyn Router, size: u64) -> BTreeMap<String, u64> {
    let shares = shares(router).unwrap_or_default();
    let members = router.nodes().iter();
    members
        .map(|(id, node)| (node.name().to_owned(), cell_count(shares[id.index()], size)))
        .collect()
}

/// Returns the cells by Adams's rule: each cell goes to the node with the smallest ratio of cells
/// to weight, at ties to the heavier one, then to the first name.
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

/// Returns the slots by Hamilton's rule: whole parts, then one each to the largest remainders. A
/// node without a slot takes one from the first of those with the most.
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
fn slots_are_handed_out_by_largest_remainder() -> Outcome {
    for weights in MIXES {
        for slots in [10, 64, 1000, 16_384] {
            let table = HashSlots::with_slots(named(weights), slots)?;
            let cells = cells(&table, slots.into());
            let wanted = hamilton(&named(weights), slots.into());
            let mut got: Vec<_> = cells.into_values().collect();
            let mut wanted = wanted.clone();
            // Any of several equal nodes may hold the odd slot.
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
        // Two remainders differ by at most one of 2^64 hashes.
        let shares = shares(&*router).ok_or("no cells")?;
        for (share, fair) in shares.iter().zip(fair_shares(&*router)) {
            assert!((share - fair).abs() <= 1e-9 * fair, "{weights:?}: {share}");
        }
    }
    // Ten consecutive numbers, one after the other.
    let router = build(find("modulo")?, named(&[1, 2, 3, 4]));
    let owner = |number| router.route_hash(KeyHash::from_raw(number));
    let counts = (0..10_u64).fold([0; 4], |mut counts, number| {
        counts[owner(number).map_or(0, hashroute::NodeId::index)] += 1;
        counts
    });
    assert_eq!(counts, [1, 2, 3, 4]);
    Ok(())
}
