//! Skew: planted faults, each named and no other; even data; known answers.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::disallowed_methods,
    reason = "sizes from 1 to 10^15 are drawn, nothing is routed"
)]

use core::error::Error;
use hashroute::registry::{Caps, Scheme, Setup};
use hashroute::strategy::{self, Params};
use hashroute::{
    HashFunction, HashId, HashTag, KeyHash, KeyHasher, Modulo, Node, NodeId, Nodes, Router,
};
use hashroute_harness::skew::{Diagnosis, Evidence, KeyStage, Skew, Status};
use hashroute_harness::{Keys, Measure};
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::{draws, nodes};

type Outcome = Result<(), Box<dyn Error>>;

/// The number of times that each fault is planted, each time in other keys.
const SEEDS: u64 = 16;

fn skew(
    name: &str,
    params: &Params,
    nodes: &[Node],
    counts: &[usize],
    keys: &Keys,
) -> Result<Skew, Box<dyn Error>> {
    let setup = Setup::new(strategy::find(name)?, nodes.iter().cloned(), params.clone());
    Ok(Diagnosis::new(&setup)
        .with_node_counts(counts)
        .analyse(keys)?)
}

fn at_fault(skew: &Skew) -> Vec<KeyStage> {
    let faults = skew
        .stages
        .iter()
        .filter(|one| one.status == Status::AtFault);
    faults.map(|one| one.stage).collect()
}

fn hashed(function: HashFunction) -> Params {
    Params::default().with_hasher(KeyHasher::new(function))
}

/// Returns other keys for each seed.
fn keys(seed: u64, count: u64) -> Result<Keys, Box<dyn Error>> {
    Ok(Keys::template(&format!("planted:{seed}:{{i}}"), 0..count)?)
}

#[test]
fn a_bad_tag_is_named_and_nothing_else() -> Outcome {
    let hasher = KeyHasher::default().with_tag(HashTag::BRACES);
    let params = Params::default().with_hasher(hasher);
    for seed in 0..SEEDS {
        let mut keys = Keys::default();
        (0..3000).for_each(|i| keys.push(format!("{{t{seed}:{}}}:{i}", i % 7).as_bytes()));
        let skew = skew("rendezvous", &params, &nodes(10), &[10], &keys)?;
        assert_eq!(at_fault(&skew), [KeyStage::Tag], "{seed} {}", skew.verdict);
        assert!(skew.advice.contains("tag"), "{}", skew.advice);
        let best = skew.remedies.first().ok_or("no remedy")?;
        assert!(best.even && best.what.contains("tag"), "{best:?}");
    }
    Ok(())
}

#[test]
fn a_bad_hash_is_named_and_nothing_else() -> Outcome {
    let params = hashed(HashFunction::TwemproxyFnv1a64);
    for seed in 0..SEEDS {
        let keys = keys(seed, 1000)?;
        for count in [60, 87, 29] {
            let skew = skew("modulo", &params, &nodes(count), &[], &keys)?;
            assert_eq!(at_fault(&skew), [KeyStage::Hash], "{seed} {}", skew.verdict);
            assert!(skew.remedies.first().is_some_and(|best| best.even));
            let divides = |q: &u64| count as u64 % q == 0;
            assert!(skew.bunched.iter().any(divides), "{:?}", skew.bunched);
        }
    }
    Ok(())
}

/// A hash with few values.
#[derive(Debug)]
struct Narrow(Modulo);

impl Router for Narrow {
    fn nodes(&self) -> &Nodes {
        self.0.nodes()
    }
    fn hash_id(&self) -> HashId {
        HashId::PerKey
    }
    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        let hash = KeyHash::from_bytes(key).get();
        // Sixteen values, far apart.
        Some(KeyHash::from_raw(KeyHash::from_integer(hash % 16).get()))
    }
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        self.0.route_hash(key)
    }
    fn apply(&mut self, change: &hashroute::Change) -> Result<(), hashroute::Error> {
        self.0.apply(change)
    }
}

static NARROW: Scheme = Scheme::strategy("narrow", "few values", Caps::SET, |nodes, _| {
    Ok(Box::new(Narrow(Modulo::new(nodes)?)))
});

#[test]
fn a_hash_that_repeats_is_named_and_nothing_else() -> Outcome {
    for seed in 0..SEEDS {
        let setup = Setup::new(&NARROW, nodes(10), Params::default());
        let diagnosis = Diagnosis::new(&setup).with_node_counts(&[10]);
        let skew = diagnosis.analyse(&keys(seed, 3000)?)?;
        assert_eq!(at_fault(&skew), [KeyStage::Hash], "{seed} {}", skew.verdict);
    }
    Ok(())
}

#[test]
fn a_bad_weight_is_named_and_nothing_else() -> Outcome {
    for seed in 0..SEEDS {
        let mut nodes = nodes(10);
        nodes[3] = Node::new("n3").with_weight(10);
        let skew = skew(
            "rendezvous",
            &Params::default(),
            &nodes,
            &[10],
            &keys(seed, 3000)?,
        )?;
        assert_eq!(
            at_fault(&skew),
            [KeyStage::Nodes],
            "{seed} {}",
            skew.verdict
        );
        assert!(
            skew.verdict.contains("n3 weighs 10 of 19"),
            "{}",
            skew.verdict
        );
        assert!(skew.worst().is_none());
    }
    Ok(())
}

#[test]
fn a_strategy_with_too_few_points_is_named_and_nothing_else() -> Outcome {
    for seed in 0..SEEDS {
        let params = Params::default().with("points", "1");
        let skew = skew("ring", &params, &nodes(10), &[10], &keys(seed, 3000)?)?;
        assert_eq!(
            at_fault(&skew),
            [KeyStage::Routing],
            "{seed} {}",
            skew.verdict
        );
        assert!(skew.remedies.first().is_some_and(|best| best.even));
    }
    Ok(())
}

#[test]
fn one_huge_key_is_named_and_nothing_else() -> Outcome {
    for seed in 0..SEEDS {
        let mut sizes = vec![10; 3000];
        sizes[usize::try_from(seed)?] = 30_000;
        let keys = keys(seed, 3000)?.with_sizes(sizes)?;
        let skew = skew("rendezvous", &Params::default(), &nodes(10), &[10], &keys)?;
        assert_eq!(at_fault(&skew), [KeyStage::Keys], "{seed} {}", skew.verdict);
        assert_eq!(
            skew.worst().map(|worst| worst.measure),
            Some(Measure::Bytes)
        );
        let name = format!("planted:{seed}:{seed}");
        assert!(
            skew.verdict.contains(&format!("{name} 50.0%")),
            "{}",
            skew.verdict
        );
        assert!(skew.remedies.first().is_some_and(|best| best.even));
    }
    Ok(())
}

#[test]
fn a_hot_key_is_named_and_nothing_else() -> Outcome {
    for seed in 0..SEEDS {
        let mut stream = keys(seed, 3000)?;
        (0..2000).for_each(|_| stream.push(b"hot"));
        let mut requests = vec![2; 3000];
        requests[5] = 3000;
        let counted = keys(seed, 3000)?.with_requests(requests)?;
        for (keys, measure) in [(stream, Measure::Keys), (counted, Measure::Requests)] {
            let skew = skew("jump", &Params::default(), &nodes(10), &[10], &keys)?;
            assert_eq!(at_fault(&skew), [KeyStage::Keys], "{seed} {}", skew.verdict);
            assert_eq!(skew.worst().map(|worst| worst.measure), Some(measure));
        }
    }
    Ok(())
}

#[test]
fn unevenness_by_chance_is_no_fault() -> Outcome {
    for seed in 0..5 * SEEDS {
        let skew = skew(
            "rendezvous",
            &Params::default(),
            &nodes(20),
            &[20],
            &keys(seed, 100)?,
        )?;
        assert!(
            skew.verdict.starts_with("Even, within noise"),
            "{}",
            skew.verdict
        );
        assert!(at_fault(&skew).is_empty() && skew.remedies.is_empty());
        assert!(skew.measures[0].cv > 0.2); // visibly uneven all the same
    }
    Ok(())
}

fn any_alarm(skew: &Skew) -> bool {
    skew.worst().is_some()
        || skew.stages.iter().any(|one| one.status != Status::Ok)
        || skew.node_counts.rows.iter().any(|row| row.dangerous)
        || !skew.bunched.is_empty()
}

#[test]
fn even_data_raises_no_more_alarms_than_stated() -> Outcome {
    const RUNS: u64 = 300;
    let names = ["modulo", "rendezvous", "jump", "modulo"];
    let mut alarms = 0;
    for (run, draw) in (0..RUNS).zip(draws(77)) {
        let name = names[(run % 4) as usize];
        let keys = keys(draw, 40 + draw % 1500)?;
        let count = 2 + (draw >> 32) as usize % 60;
        let skew = skew(name, &Params::default(), &nodes(count), &[], &keys)?;
        alarms += u64::from(any_alarm(&skew));
        assert!(skew.tests > 30);
    }
    // At the stated significance, more alarms have a probability below 1 in 10,000.
    let chance = Binomial::new(hashroute_harness::skew::SIGNIFICANCE, RUNS)?;
    assert!(
        chance.sf(alarms.saturating_sub(1)) > 1e-4,
        "{alarms} of {RUNS}"
    );
    Ok(())
}

/// Returns two numbers between 0 and 1 from the halves of a draw.
fn halves(draw: u64) -> [f64; 2] {
    [draw >> 32, draw & 0xffff_ffff].map(|half| (half as f64 + 0.5) / 4_294_967_296.0)
}

/// Returns sizes without outliers: exponential, log-normal, Pareto, or of two kinds.
fn size(kind: u64, draw: u64) -> u64 {
    let [a, b] = halves(draw);
    let normal = (-2.0 * a.ln()).sqrt() * (core::f64::consts::TAU * b).cos();
    let size = match kind % 4 {
        0 => 1e4 * -a.ln(),
        1 => 1e4 * normal.exp(),
        2 => 1e4 * a.powf(-1.0 / 3.0),
        _ if a < 0.9 => 100.0,
        _ => 1000.0,
    };
    size.clamp(1.0, 1e12) as u64
}

#[test]
fn sizes_without_outliers_raise_no_more_alarms_than_stated() -> Outcome {
    const RUNS: u64 = 80;
    let mut random = draws(4711);
    let mut alarms = 0;
    for run in 0..RUNS {
        let draw = random.next().unwrap_or(0);
        let count = 300 + draw % 2500;
        let sizes = random.by_ref().take(usize::try_from(count)?);
        let sizes = sizes.map(|draw| size(run, draw)).collect();
        let keys = keys(draw, count)?.with_sizes(sizes)?;
        let nodes = nodes(2 + (draw >> 32) as usize % 59);
        let skew = skew("rendezvous", &Params::default(), &nodes, &[10], &keys)?;
        alarms += u64::from(any_alarm(&skew));
    }
    let chance = Binomial::new(hashroute_harness::skew::SIGNIFICANCE, RUNS)?;
    assert!(
        chance.sf(alarms.saturating_sub(1)) > 1e-4,
        "{alarms} of {RUNS}"
    );
    Ok(())
}

#[test]
fn a_few_large_keys_are_the_only_fault() -> Outcome {
    let mut random = draws(815);
    for seed in 0..2 * SEEDS {
        let heavy = |draw| (1e3 * halves(draw)[0].powf(-1.0 / 1.2)).min(1e15).round();
        let sizes = random.by_ref().take(3000).map(|draw| heavy(draw) as u64);
        let keys = keys(seed, 3000)?.with_sizes(sizes.collect())?;
        let skew = skew("rendezvous", &Params::default(), &nodes(30), &[30], &keys)?;
        assert!(
            at_fault(&skew).iter().all(|stage| *stage == KeyStage::Keys)
                && skew
                    .measures
                    .iter()
                    .all(|one| one.uneven != one.because.is_empty()),
            "{seed} {}",
            skew.verdict
        );
    }
    Ok(())
}

#[test]
fn a_bad_hash_is_named_whatever_the_sizes() -> Outcome {
    let params = hashed(HashFunction::TwemproxyFnv1a64);
    for (seed, draw) in (0..SEEDS).zip(draws(3)) {
        let sizes = draws(draw).take(1000).map(|draw| size(seed, draw));
        let keys = keys(seed, 1000)?.with_sizes(sizes.collect())?;
        let skew = skew("modulo", &params, &nodes(87), &[87], &keys)?;
        assert_eq!(at_fault(&skew), [KeyStage::Hash], "{seed} {}", skew.verdict);
        assert!(skew.measures.iter().all(|one| one.uneven));
    }
    Ok(())
}

/// Returns the first and the last of `count` keys, in the order of their ids.
fn hot_and_last(count: u64) -> Result<[usize; 2], Box<dyn Error>> {
    let order = |key: &[u8]| xxhash_rust::xxh3::xxh3_128_with_seed(key, 0x7374_7265_616d_6564);
    let keys = keys(9, count)?;
    let numbers = || keys.iter().map(order).enumerate();
    let first = numbers().min_by_key(|(_, number)| *number);
    let last = numbers().max_by_key(|(_, number)| *number);
    let (Some((first, _)), Some((last, _))) = (first, last) else {
        return Err("no keys".into());
    };
    Ok([first, last])
}

#[test]
fn a_hot_key_is_found_and_removed_wherever_it_is_in_the_sample() -> Outcome {
    let count = (1 << 16) + 5000;
    for at in hot_and_last(count)? {
        let mut requests = vec![1; usize::try_from(count)?];
        requests[at] = 40_000;
        let keys = keys(9, count)?.with_requests(requests)?;
        let skew = skew("rendezvous", &Params::default(), &nodes(10), &[10], &keys)?;
        assert_eq!(at_fault(&skew), [KeyStage::Keys], "{}", skew.verdict);
        let best = skew.remedies.first().ok_or("no remedy")?;
        assert!(
            best.what.starts_with(&format!("planted:9:{at} ")),
            "{best:?}"
        );
        assert!(best.even && best.moved_share == 0.0, "{best:?}");
        // The noise is that of the keys in the trial, which are fewer than all.
        let row = skew.node_counts.rows.first().ok_or("no row")?;
        assert_eq!(skew.node_counts.keys, 1 << 16);
        let noise = (9.0 / 65_536.0_f64).sqrt();
        assert!((row.noise_cv / noise - 1.0).abs() < 0.001, "{row:?}");
    }
    Ok(())
}

/// A number of nodes, the nodes in use, the most keys on one node, and the cv in thousandths.
type Known = [(usize, u64, u64, u64); 4];

#[test]
fn rows_of_twemproxy_agree_with_recorded_ones() -> Outcome {
    let rows: [(&str, Known); 3] = [
        (
            "{i}:metric:demo",
            [
                (60, 60, 26, 214),
                (61, 61, 24, 279),
                (64, 64, 20, 154),
                (87, 87, 20, 236),
            ],
        ),
        (
            "metric:{i}:demo",
            [
                (60, 60, 26, 251),
                (61, 61, 26, 218),
                (64, 64, 20, 139),
                (87, 87, 19, 251),
            ],
        ),
        (
            "metric:demo:{i}",
            [
                (60, 16, 200, 2979),
                (61, 61, 22, 208),
                (64, 64, 24, 210),
                (87, 3, 890, 8294),
            ],
        ),
    ];
    let params = hashed(HashFunction::TwemproxyFnv1a64);
    for (template, known) in rows {
        let keys = Keys::template(template, 0..1000)?;
        let counts: Vec<_> = known.iter().map(|row| row.0).collect();
        let skew = skew("modulo", &params, &nodes(61), &counts, &keys)?;
        assert_eq!(skew.node_counts.rows.len(), known.len());
        for (row, (nodes, used, max, thousandths)) in skew.node_counts.rows.iter().zip(known) {
            let found = (row.nodes, row.used, row.max);
            assert_eq!(found, (nodes as u64, used, max), "{template}");
            let off = row.cv * 1000.0 - thousandths as f64;
            assert!(off.abs() <= 0.5, "{template} {nodes}: {}", row.cv);
        }
    }
    Ok(())
}

#[test]
fn dangerous_numbers_of_nodes_are_found() -> Outcome {
    let params = hashed(HashFunction::TwemproxyFnv1a64);
    let counts: Vec<_> = (2..=128).collect();
    let dangerous = |template: &str| -> Result<Vec<u64>, Box<dyn Error>> {
        let keys = Keys::template(template, 0..1000)?;
        let skew = skew("modulo", &params, &nodes(61), &counts, &keys)?;
        let rows = skew.node_counts.rows.iter().filter(|row| row.dangerous);
        Ok(rows.map(|row| row.nodes).collect())
    };
    let multiples: Vec<u64> = (2..=128)
        .filter(|nodes| [3, 5, 29].iter().any(|prime| nodes % prime == 0))
        .collect();
    assert_eq!(dangerous("metric:demo:{i}")?, multiples);
    assert!(dangerous("{i}:metric:demo")?.is_empty());
    Ok(())
}

#[test]
fn a_weakness_without_harm_is_not_at_fault() -> Outcome {
    let params = hashed(HashFunction::TwemproxyFnv1a64);
    let keys = Keys::template("metric:demo:{i}", 0..1000)?;
    let skew = skew("modulo", &params, &nodes(61), &[], &keys)?;
    assert!(at_fault(&skew).is_empty() && skew.worst().is_none());
    let hash = skew.stages.iter().find(|one| one.stage == KeyStage::Hash);
    assert!(hash.is_some_and(|hash| hash.status == Status::Weak));
    assert_eq!(skew.bunched, [3, 5, 29]);
    let step = skew.steps.first().ok_or("no step")?;
    assert_eq!(
        (step.difference, step.factors.as_slice()),
        (435, &[3, 5, 29][..])
    );
    Ok(())
}

#[test]
fn the_threshold_divides_by_the_number_of_tests() -> Outcome {
    let keys = keys(3, 1000)?.with_sizes((1..=1000).collect())?;
    let skew = skew(
        "modulo",
        &Params::default(),
        &nodes(12),
        &[60, 61, 64],
        &keys,
    )?;
    let (measures, rows) = (skew.measures.len(), skew.node_counts.rows.len());
    assert_eq!((measures, rows), (2, 3));
    // Bunching, repeats, steps and weights. The shares of modulo are exact, so they need no test.
    let tests = 4 + skew.residues.len() + measures + rows;
    assert_eq!(skew.tests, tests as u64);
    assert_eq!(skew.threshold, 0.01 / tests as f64);
    // The 99th percentile of chi-squared with 59 degrees of freedom is 87.166.
    let limit = (87.166 / 1000.0_f64).sqrt();
    let row = &skew.node_counts.rows[0];
    assert!((row.noise_cv_p99 - limit).abs() < 1e-4, "{row:?}");
    Ok(())
}

#[test]
fn weights_are_not_at_fault_for_a_far_larger_unevenness() -> Outcome {
    for seed in 0..SEEDS {
        let mut nodes = nodes(10);
        nodes[3] = Node::new("n3").with_weight(2);
        let mut keys = keys(seed, 3000)?;
        (0..5000).for_each(|_| keys.push(b"hot"));
        let skew = skew("rendezvous", &Params::default(), &nodes, &[10], &keys)?;
        assert_eq!(at_fault(&skew), [KeyStage::Keys], "{seed} {}", skew.verdict);
    }
    Ok(())
}

#[test]
fn few_tags_without_harm_are_weak() -> Outcome {
    let hasher = KeyHasher::default().with_tag(HashTag::BRACES);
    let params = Params::default().with_hasher(hasher);
    let mut even = 0;
    for seed in 0..SEEDS {
        let mut keys = Keys::default();
        (0..3000).for_each(|i| keys.push(format!("{{t{seed}:{}}}:{i}", i % 300).as_bytes()));
        let skew = skew("rendezvous", &params, &nodes(2), &[2], &keys)?;
        if skew.worst().is_some() {
            continue; // these tags do harm
        }
        even += 1;
        let tag = skew.stages.iter().find(|one| one.stage == KeyStage::Tag);
        assert!(tag.is_some_and(|tag| tag.status == Status::Weak), "{seed}");
        assert!(skew.advice.contains("The tag is weak"), "{}", skew.advice);
    }
    assert!(even > 0);
    Ok(())
}

#[test]
fn a_slight_unevenness_is_even_however_many_keys_prove_it() -> Outcome {
    let router = strategy::find("modulo")?.build(nodes(2), &Params::default())?;
    let mut left = [100_800, 99_200]; // a cv of 0.008, with a p of 3 in 10,000
    let mut keys = Keys::default();
    for key in &Keys::template("slight:{i}", 0..220_000)? {
        let first = router.route(key).is_some_and(|node| node.name() == "n0");
        let left = &mut left[usize::from(!first)];
        if *left > 0 {
            *left -= 1;
            keys.push(key);
        }
    }
    assert_eq!(left, [0, 0]);
    let skew = skew("modulo", &Params::default(), &nodes(2), &[2], &keys)?;
    let measure = &skew.measures[0];
    assert!(measure.p_value < skew.threshold, "{measure:?}");
    assert!(!any_alarm(&skew), "{}", skew.verdict);
    Ok(())
}

#[test]
fn real_keys_are_even_and_their_bytes_are_not() -> Outcome {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../harness/tests/data/debian-packages.csv"
    );
    let keys = Keys::csv(std::fs::File::open(path)?)?;
    let skew = skew("rendezvous", &Params::default(), &nodes(10), &[], &keys)?;
    assert_eq!((skew.keys, skew.distinct_keys), (63_681, 63_681));
    assert_eq!(at_fault(&skew), [KeyStage::Keys], "{}", skew.verdict);
    let uneven = skew.measures.iter().filter(|measure| measure.uneven);
    assert!(uneven.map(|measure| measure.measure).eq([Measure::Bytes]));
    assert_eq!(skew.worst().map(|worst| worst.keys_for_half), Some(154));
    Ok(())
}

#[test]
fn parts_merge_into_the_whole() -> Outcome {
    let router = Modulo::new(nodes(7))?;
    let keys = Keys::template("user:{i}", 0..5000)?.with_sizes((0..5000).collect())?;
    let whole = Evidence::of(&router, &keys);
    let (mut even, mut odd) = (Evidence::new(&router), Evidence::new(&router));
    for (index, key) in keys.iter().enumerate() {
        let part = if index % 2 == 0 { &mut even } else { &mut odd };
        part.add(&router, key, Some(index as u64), None);
    }
    let mut other = odd.clone();
    other.merge(even.clone())?;
    even.merge(odd)?;
    assert!(even == whole && other == whole);
    Ok(())
}

#[test]
fn no_keys_and_no_nodes_do_not_panic() -> Outcome {
    for (count, keys) in [(0, 10), (1, 0), (1, 1), (3, 0), (3, 1), (1, 1000)] {
        for name in [
            "modulo",
            "ring",
            "rendezvous",
            "bounded",
            "slots",
            "maglev",
            "jump",
        ] {
            let keys = keys_of(keys)?;
            let skew = skew(name, &Params::default(), &nodes(count), &[], &keys)?;
            assert!(
                at_fault(&skew).is_empty(),
                "{name} {count} {}",
                skew.verdict
            );
        }
    }
    Ok(())
}

fn keys_of(count: u64) -> Result<Keys, Box<dyn Error>> {
    keys(1, count)
}
