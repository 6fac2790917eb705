//! Balance: the figures, their noise, and the verdict.

use hashroute::strategy::{self, Params};
use hashroute::{
    BoundedLoad, Error, HashTag, Jump, KeyHasher, Modulo, Node, Rendezvous, Ring, Router, RouterExt,
};
use hashroute_harness::{Assignment, Cause, Figures, Keys, Measure, Noise, balance};

use crate::{balance_of, draws, nodes};

/// Returns the figures of these numbers of keys on equal nodes.
fn figures_of(counts: &[usize]) -> Result<Figures, Error> {
    let router = Modulo::new((0..counts.len()).map(|i| Node::new(format!("n{i:03}"))))?;
    let keys = Keys::template("{i}", 0..counts.iter().sum::<usize>() as u64)?;
    let ids: Vec<_> = router.nodes().iter().map(|(id, _)| Some(id)).collect();
    let owners = counts
        .iter()
        .zip(ids)
        .flat_map(|(&count, id)| core::iter::repeat_n(id, count));
    let assignment = Assignment::new(router.nodes(), owners);
    Ok(balance("test", &router, &keys, &assignment).figures)
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs()
}

#[test]
fn figures_are_those_computed_by_hand() -> Result<(), Error> {
    let figures = figures_of(&[1, 2, 3, 4, 0])?;
    assert_eq!((figures.total, figures.used, figures.empty), (10, 4, 1));
    assert_eq!((figures.min, figures.max, figures.mean), (0.0, 4.0, 2.0));
    assert!(near(figures.stddev, 2_f64.sqrt(), 1e-12));
    assert!(near(figures.cv, 2_f64.sqrt() / 2.0, 1e-12));
    assert_eq!(
        (figures.max_over_mean, figures.max_over_median),
        (2.0, Some(2.0))
    );
    let top: Vec<_> = figures.top.iter().map(|top| (top.n, top.share)).collect();
    assert_eq!(top, [(1, 0.4), (2, 0.7), (5, 1.0)]);
    assert_eq!((figures.chi2, figures.df), (5.0, 4));
    // Enumerated over the 1,001 ways to divide ten keys; the p-value is simulated, with a standard
    // error of a tenth. Chi-squared, right for many keys, would give 0.287.
    assert!(
        near(figures.p_value, 0.360_471, 0.4 * 0.29),
        "{}",
        figures.p_value
    );
    // The 95th percentile of 1 to 100 by nearest rank is 95; the mean is 50.5.
    let figures = figures_of(&(1..=100).collect::<Vec<_>>())?;
    assert!(near(figures.p95_over_mean, 95.0 / 50.5, 1e-12));
    assert!(near(
        figures.max_over_median.unwrap_or(0.0),
        100.0 / 50.5,
        1e-12
    ));
    Ok(())
}

#[test]
fn figures_scale_with_weights_and_leave_out_weight_0() -> Result<(), Error> {
    let weighted = [("a", 1), ("b", 3), ("drained", 0)];
    let router = Modulo::new(weighted.map(|(name, weight)| Node::new(name).with_weight(weight)))?;
    let keys = Keys::template("{i}", 0..100)?;
    let id = |name| router.nodes().id(name);
    let owners = (0..100).map(|i| if i < 25 { id("a") } else { id("b") });
    let assignment = Assignment::new(router.nodes(), owners);
    let balance = balance("modulo", &router, &keys, &assignment);
    assert_eq!(
        (balance.figures.cv, balance.figures.chi2, balance.figures.df),
        (0.0, 0.0, 1)
    );
    assert_eq!(
        (
            balance.figures.min,
            balance.figures.max,
            balance.figures.mean
        ),
        (50.0, 50.0, 50.0)
    );
    assert_eq!((balance.figures.used, balance.figures.empty), (2, 0));
    assert_eq!(balance.nodes.len(), 3);
    assert_eq!(balance.nodes[1].fair_share, 0.75);
    // (1/n) Σ (1 - p) / (p E) = (3 + 1/3) / 2 / 100
    assert!(near(
        balance.figures.noise.cv,
        (10.0_f64 / 600.0).sqrt(),
        1e-12
    ));
    Ok(())
}

/// Simulates the noise key by key, without any shortcut of the harness.
fn thrown(weights: &[u32], amounts: &[u64], trials: u64) -> (f64, f64) {
    let whole: u64 = weights.iter().copied().map(u64::from).sum();
    let tickets: Vec<usize> = weights
        .iter()
        .enumerate()
        .flat_map(|(node, &weight)| core::iter::repeat_n(node, weight as usize))
        .collect();
    let mean = amounts.iter().sum::<u64>() as f64 / weights.len() as f64;
    let (mut squares, mut maxima) = (0.0, 0.0);
    for trial in 0..trials {
        let mut loads = vec![0; weights.len()];
        for (amount, draw) in amounts.iter().zip(draws(trial)) {
            loads[tickets[usize::try_from(draw % whole).expect("a ticket")]] += amount;
        }
        let scaled = loads.iter().zip(weights).map(|(&load, &weight)| {
            load as f64 * whole as f64 / (f64::from(weight) * weights.len() as f64)
        });
        let scaled: Vec<_> = scaled.collect();
        squares += scaled
            .iter()
            .map(|load| (load / mean - 1.0) * (load / mean - 1.0))
            .sum::<f64>()
            / weights.len() as f64;
        maxima += scaled.iter().copied().fold(0.0, f64::max) / mean;
    }
    ((squares / trials as f64).sqrt(), maxima / trials as f64)
}

fn noise(weights: &[u32], amounts: &[u64]) -> Result<Noise, Error> {
    let weighted = weights
        .iter()
        .enumerate()
        .map(|(i, &weight)| Node::new(format!("n{i:03}")).with_weight(weight));
    let keys = Keys::template("{i}", 0..amounts.len() as u64)?.with_sizes(amounts.to_vec())?;
    Ok(balance_of(&Modulo::new(weighted)?, &keys)
        .bytes
        .expect("sizes")
        .noise)
}

#[test]
fn noise_agrees_with_a_plain_simulation() -> Result<(), Error> {
    let sizes = |count: u64| (1..=count).map(|rank| 1_000_000 / rank).collect::<Vec<_>>();
    let cases = [
        (vec![1; 10], vec![1; 500]),
        (vec![1; 50], vec![7; 60]), // about one key a node
        (vec![1, 2, 3, 10], vec![1; 400]),
        (vec![1; 20], sizes(400)),    // every key is placed by itself
        (vec![1, 1, 4], sizes(6000)), // small keys are placed as equal ones
    ];
    for (weights, amounts) in cases {
        let (cv, max_over_mean) = thrown(&weights, &amounts, 1500);
        let noise = noise(&weights, &amounts)?;
        // 1500 trials give the root mean square to within about 2%.
        assert!(near(noise.cv, cv, 0.06), "{weights:?}: {} {cv}", noise.cv);
        assert!(
            near(noise.max_over_mean - 1.0, max_over_mean - 1.0, 0.06),
            "{noise:?} {max_over_mean}"
        );
        assert!(noise.cv_p99 > noise.cv && noise.max_over_mean_p99 > noise.max_over_mean);
    }
    Ok(())
}

#[test]
fn p_values_of_an_even_strategy_are_uniform() -> Result<(), Error> {
    let (rendezvous, jump) = (Rendezvous::new(nodes(6))?, Jump::new(nodes(6))?);
    for router in [&rendezvous as &dyn Router, &jump] {
        let mut ps = Vec::new();
        let mut beyond = 0;
        for seed in 0..200 {
            let figures = balance_of(router, &Keys::random(seed, 1200, 12)?).figures;
            beyond += usize::from(figures.cv > figures.noise.cv_p99);
            ps.push(figures.p_value);
        }
        ps.sort_by(f64::total_cmp);
        let distance = (1..=200)
            .zip(&ps)
            .map(|(rank, p)| (f64::from(rank) / 200.0 - p).abs());
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.95 / 200_f64.sqrt(), "{distance}"); // Kolmogorov, 0.1%
        assert!(beyond <= 8, "{beyond}"); // 2 expected; 9 or more one time in 4,000
    }
    Ok(())
}

#[test]
fn repeated_keys_do_not_inflate_chi2() -> Result<(), Error> {
    let mut ps: Vec<f64> = Vec::new();
    for seed in 0..60 {
        let stream = Keys::zipf(seed, 1500, 500, 0.5)?;
        let mut keys = Keys::default();
        stream
            .iter()
            .for_each(|key| keys.push(&[key, &seed.to_le_bytes()].concat()));
        ps.push(
            balance_of(&Rendezvous::new(nodes(6))?, &keys)
                .figures
                .p_value,
        );
    }
    assert!(ps.iter().all(|p| *p > 1e-5));
    // The standard error of the mean is 0.037.
    assert!(near(ps.iter().sum::<f64>() / 60.0, 0.5, 0.25));
    Ok(())
}

#[test]
fn one_key_a_million_times_counts_as_one_key() -> Result<(), Error> {
    let mut keys = Keys::default();
    (0..100_000).for_each(|_| keys.push(b"10000"));
    let balance = balance_of(&Jump::new(nodes(10))?, &keys);
    assert_eq!((balance.keys, balance.distinct_keys), (100_000, 1));
    assert_eq!((balance.figures.used, balance.figures.empty), (1, 9));
    assert!(near(balance.figures.noise.cv, 3.0, 1e-9) && near(balance.figures.cv, 3.0, 1e-9));
    assert_eq!(
        (balance.verdict.matter, balance.verdict.cause),
        (Some(Measure::Keys), Cause::FewKeys)
    );
    assert!(
        balance.verdict.text.contains("1 distinct"),
        "{}",
        balance.verdict.text
    );
    Ok(())
}

#[test]
fn a_ring_is_as_uneven_as_its_number_of_points_predicts() -> Result<(), Error> {
    for points in [40, 160, 640] {
        let ring = Ring::with_points(nodes(400), points)?;
        let balance = balance_of(&ring, &Keys::template("user:{i}", 0..100_000)?);
        let exact = balance.exact.expect("a ring has arcs");
        // The standard error of a cv over 400 nodes is about 1 / sqrt(800).
        assert!(
            near(exact.cv, 1.0 / f64::from(points).sqrt(), 0.15),
            "{exact:?}"
        );
        assert_eq!(balance.verdict.keys.cause, Cause::Structure);
        assert_eq!(
            balance.verdict.keys.rest_cv, 0.0,
            "the keys follow the arcs"
        );
        let shares: f64 = balance
            .nodes
            .iter()
            .filter_map(|node| node.exact_share)
            .sum();
        assert!(near(shares, 1.0, 1e-9));
    }
    Ok(())
}

#[test]
fn a_planted_unevenness_is_found() -> Result<(), Error> {
    let router = Rendezvous::new(nodes(10))?;
    let keys = Keys::template("user:{i}", 0..100_000)?;
    let fair = balance_of(&router, &keys);
    assert_eq!(
        (fair.verdict.matter, fair.verdict.cause),
        (None, Cause::Even)
    );
    // One key in fifty is sent to the first node, whatever its owner is.
    let ids: Vec<_> = router.nodes().iter().map(|(id, _)| id).collect();
    let owners = keys.iter().zip(0..).map(|(key, i)| match i % 50 {
        0 => Some(ids[0]),
        _ => router.owner(key),
    });
    let biased = balance(
        "test",
        &router,
        &keys,
        &Assignment::new(router.nodes(), owners),
    );
    assert!(biased.figures.p_value < 1e-9);
    assert_eq!(
        (biased.verdict.matter, biased.verdict.cause),
        (Some(Measure::Keys), Cause::Placement)
    );
    // A hash of a part that all keys share.
    let tagged = Keys::template("{tenant}:{i}", 0..1000)?;
    let router = router.with_hasher(KeyHasher::default().with_tag(HashTag::BRACES));
    let clumped = balance_of(&router, &tagged);
    assert_eq!(
        (clumped.figures.used, clumped.verdict.cause),
        (1, Cause::Placement)
    );
    Ok(())
}

#[test]
fn requests_of_a_few_hot_keys_are_uneven_because_of_them() -> Result<(), Error> {
    let requests = (1..=20_000).map(|rank| 1_000_000 / rank).collect();
    let keys = Keys::template("key:{i}", 0..20_000)?.with_requests(requests)?;
    let balance = balance_of(&Rendezvous::new(nodes(8))?, &keys);
    assert_eq!(
        (balance.verdict.matter, balance.verdict.cause),
        (Some(Measure::Requests), Cause::HeavyKeys)
    );
    assert_eq!(balance.verdict.keys.cause, Cause::Even);
    let requests = balance.requests.expect("known");
    assert_eq!(requests.largest[0].key, "key:0");
    assert_eq!(
        balance
            .nodes
            .iter()
            .filter_map(|node| node.requests)
            .sum::<u64>(),
        requests.total
    );
    assert!(balance.bytes.is_none());
    Ok(())
}

#[test]
fn a_stream_of_popular_keys_is_uneven_because_of_heavy_keys() -> Result<(), Error> {
    let balance = balance_of(
        &Rendezvous::new(nodes(8))?,
        &Keys::zipf(3, 200_000, 100_000, 1.1)?,
    );
    assert!(balance.distinct_keys < 100_000);
    assert_eq!(
        (balance.verdict.matter, balance.verdict.cause),
        (Some(Measure::Keys), Cause::HeavyKeys)
    );
    assert_eq!(balance.figures.largest[0].key, "key:1");
    assert!(balance.figures.cv < balance.figures.noise.cv_p99);
    Ok(())
}

/// 63,681 package names with their installed sizes: keys are even and bytes are not, under every
/// strategy.
#[test]
fn debian_packages_are_even_by_name_and_not_by_size() -> Result<(), Box<dyn core::error::Error>> {
    let keys = Keys::csv(&include_bytes!("../data/debian-packages.csv")[..])?;
    assert_eq!((keys.len(), keys.distinct()), (63_681, 63_681));
    for strategy in strategy::ALL {
        let router = strategy.build(nodes(10), &Params::default())?;
        let balance = balance_of(&*router, &keys);
        let (name, verdict) = (strategy.name, &balance.verdict);
        assert_eq!(
            (verdict.matter, verdict.cause),
            (Some(Measure::Bytes), Cause::HeavyKeys),
            "{name}"
        );
        assert!(
            verdict
                .text
                .contains("linux-image-6.12.117+deb12-rt-amd64-dbg 1.3%"),
            "{}",
            verdict.text
        );
        let bytes = balance.bytes.as_ref().expect("sizes");
        // Strategies draw from the same noise, so the bounds are wide.
        assert!(
            bytes.cv > 4.0 * balance.figures.noise.cv && bytes.cv < bytes.noise.cv_p99,
            "{name}"
        );
        assert!(bytes.keys_for_half < 1000 && near(bytes.effective_keys, 233.19, 1e-4));
        let parts = [
            verdict.keys.structure_cv,
            verdict.keys.rest_cv,
            verdict.keys.sampling_cv,
        ];
        match name {
            // Two standard deviations above 1 / sqrt(160), on ten nodes. A bound on loads lowers
            // it.
            "ring" => assert!(
                balance.figures.cv < 0.12 && verdict.keys.cause == Cause::Structure,
                "{parts:?}"
            ),
            "bounded" => {
                assert!(balance.figures.max_over_mean <= 1.251 && balance.figures.cv < 0.12);
            }
            _ => assert_eq!(verdict.keys.cause, Cause::Even, "{name} {parts:?}"),
        }
    }
    Ok(())
}

#[test]
fn no_figure_is_nan() -> Result<(), Box<dyn core::error::Error>> {
    let empty = Keys::default();
    let unsized_keys = Keys::template("{i}", 0..3)?.with_sizes(vec![0; 3])?;
    let huge = Keys::template("{i}", 0..3)?
        .with_sizes(vec![u64::MAX - 2, 1, 1])?
        .with_requests(vec![0, 0, u64::MAX])?;
    let drained = || nodes(2).into_iter().map(|node| node.with_weight(0));
    let heavy = Node::new("heavy").with_weight(u32::MAX);
    for keys in [&empty, &unsized_keys, &huge] {
        let routers: [Box<dyn Router>; 5] = [
            Box::new(Ring::new([] as [Node; 0])?),
            Box::new(Ring::new(nodes(1))?),
            Box::new(Modulo::new(drained())?),
            Box::new(Rendezvous::new([heavy.clone(), Node::new("light")])?),
            Box::new(BoundedLoad::new(Jump::new(nodes(1))?, 1.5)?.with_cap(1)),
        ];
        for router in routers {
            let balance = balance_of(&*router, keys);
            let text = serde_json::to_string(&balance)?; // a NaN would become null and fail to parse
            assert_eq!(
                serde_json::from_str::<hashroute_harness::Balance>(&text)?,
                balance
            );
            let placed: u64 = balance.nodes.iter().map(|node| node.keys).sum();
            assert_eq!(placed + balance.unplaced, balance.keys);
        }
    }
    Ok(())
}
