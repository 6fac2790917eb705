//! An exact diff agrees with a count over keys and counts every moved key once.

use std::collections::BTreeMap;

use hashroute::strategy::{ALL, Params};
use hashroute::{
    Basis, Diff, Error, HashSlots, KeyHash, KeyHasher, Maglev, Modulo, Node, Rendezvous, Ring,
    Router, compat, diff, diff_keys,
};

use crate::states;
use hashroute_test_support::{Checks, Outcome, Step, binomial, nodes, normal, owner};

const CHANGES: &[&[Step]] = &[
    &[Step::Add(1)],
    &[Step::Add(3), Step::Remove(1)],
    &[Step::Reweight(0, 5)],
    &[Step::Reweight(2, 0), Step::Remove(0), Step::Add(0)],
];

/// Two routers and the basis on which they are compared.
type Pair = (&'static str, Box<dyn Router>, Box<dyn Router>, Basis);

type Counts = BTreeMap<(Option<String>, Option<String>), u128>;

fn counts(diff: &Diff) -> Counts {
    let owned = |name: Option<&str>| name.map(str::to_owned);
    let flows = diff.flows();
    flows
        .map(|flow| ((owned(flow.from), owned(flow.to)), flow.count))
        .collect()
}

/// Compares the flows of a diff, and their sum, with the flows of given keys.
fn agree(checks: &mut Checks, what: &str, diff: &Diff, sampled: &Diff) {
    let (expected, seen) = (counts(diff), counts(sampled));
    let of = |counts: &Counts, way| counts.get(way).copied().unwrap_or(0);
    for way in expected.keys().chain(seen.keys()) {
        let found = chance(diff, of(&expected, way), sampled, of(&seen, way));
        checks.note(format!("{what} {way:?}"), found);
    }
    let [all, found] = [&expected, &seen].map(|counts| counts.values().sum());
    checks.note(what, chance(diff, all, sampled, found));
}

/// Returns the p-value of a count in a sample, given the share among all keys.
fn chance(diff: &Diff, count: u128, sampled: &Diff, hits: u128) -> f64 {
    let [hits, keys] = [hits, sampled.total()].map(|count| u64::try_from(count).expect("keys"));
    let share = diff.share(count);
    if diff.basis() == Basis::Hashes {
        return binomial(hits, keys, share);
    }
    let found = hits as f64 / keys as f64;
    two_samples(share, diff.total() as f64, found, keys as f64)
}

/// Returns the p-value of the distance of two shares, if both are samples of one population.
fn two_samples(a: f64, n: f64, b: f64, m: f64) -> f64 {
    let pooled = (a * n + b * m) / (n + m);
    let variance = pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m);
    if variance == 0.0 {
        1.0
    } else {
        normal((a - b) / variance.sqrt())
    }
}

fn whole(diff: &Diff) {
    let moved = counts(diff).values().sum::<u128>();
    assert!(moved <= diff.total());
    assert_eq!(diff.share(moved).to_bits(), diff.moved().to_bits());
    let shares: f64 = diff.flows().map(|flow| diff.share(flow.count)).sum();
    let unowned = diff.share(diff.unowned_count());
    assert!((shares + unowned + diff.kept() - 1.0).abs() < 1e-9);
    assert!(
        diff.flows()
            .all(|flow| flow.from != flow.to && flow.count > 0)
    );
    let ordered: Vec<_> = diff.flows().map(|flow| flow.count).collect();
    assert!(ordered.is_sorted_by(|a, b| a >= b));
}

#[test]
fn an_exact_diff_agrees_with_one_by_keys() -> Outcome {
    let mut checks = Checks::default();
    let keys: Vec<_> = (0..5000).map(|i| format!("user:{i}")).collect();
    for strategy in ALL {
        for steps in CHANGES {
            let [old, new] = states(strategy, &[1, 2, 1, 3, 1], steps);
            let diff = diff(&*old, &*new)?;
            let sampled = diff_keys(&*old, &*new, &keys)?;
            whole(&diff);
            whole(&sampled);
            agree(&mut checks, strategy.name, &diff, &sampled);
        }
    }
    checks.judge();
    Ok(())
}

#[test]
fn exact_ranges_are_the_routes() -> Outcome {
    let mut known = 0;
    for strategy in ALL {
        let [old, new] = states(strategy, &[1, 2, 1, 3, 1], &[Step::Add(2), Step::Remove(0)]);
        let diff = diff(&*old, &*new)?;
        if diff.basis() != Basis::Hashes {
            continue;
        }
        known += 1;
        let owners = |place: u64| {
            let hash = KeyHash::from_raw(place);
            [&old, &new].map(|router| owner(router, hash))
        };
        let mut next = 0;
        for range in diff.ranges() {
            assert!(range.first >= next && range.first <= range.last);
            if range.first > next {
                for place in [next, range.first - 1] {
                    let [from, to] = owners(place);
                    assert_eq!(from, to, "{} {place}", strategy.name);
                }
            }
            for place in [range.first, range.last] {
                let [from, to] = owners(place);
                assert_eq!(
                    (range.from, range.to),
                    (from, to),
                    "{} {place}",
                    strategy.name
                );
            }
            next = range.last.saturating_add(1);
        }
        let modulus = strategy.name == "slots" || strategy.name == "modulo";
        assert_eq!(diff.modulus().is_some(), modulus, "{}", strategy.name);
    }
    assert!(known >= 4, "{known}");
    Ok(())
}

/// Keys are random numbers, since the FNV-1a of twemproxy does not spread consecutive ones.
fn numbers(count: u64) -> impl Iterator<Item = String> {
    (0..count).map(|i| KeyHash::from_integer(i << 20 | 1).get().to_string())
}

/// The pairs differ in strategy, hash function or dialect.
#[test]
fn routers_of_any_two_kinds_can_be_compared() -> Outcome {
    let list = || nodes(6);
    let md5 = KeyHasher::new("md5".parse()?);
    let twemproxy = compat::find("twemproxy")?;
    let pool = twemproxy.build(list(), &Params::default())?;
    let pairs: [Pair; 6] = [
        (
            "ring, maglev",
            Box::new(Ring::new(list())?),
            Box::new(Maglev::new(list())?),
            Basis::Hashes,
        ),
        (
            "slots, modulo",
            Box::new(HashSlots::new(list())?),
            Box::new(Modulo::new(list())?),
            Basis::Hashes,
        ),
        (
            "ring, slots",
            Box::new(Ring::new(list())?),
            Box::new(HashSlots::new(list())?),
            Basis::Sample,
        ),
        (
            "ring, rendezvous",
            Box::new(Ring::new(list())?),
            Box::new(Rendezvous::new(list())?),
            Basis::Sample,
        ),
        (
            "hashes",
            Box::new(Ring::new(list())?),
            Box::new(Ring::new(list())?.with_hasher(md5)),
            Basis::Sample,
        ),
        (
            "twemproxy, ring",
            Box::new(pool),
            Box::new(Ring::new(list())?),
            Basis::Sample,
        ),
    ];
    let mut checks = Checks::default();
    for (what, old, new, basis) in pairs {
        let diff = diff(&*old, &*new)?;
        assert_eq!(diff.basis(), basis, "{what}");
        whole(&diff);
        assert!(
            (0.7..0.95).contains(&diff.moved()),
            "{what}: {}",
            diff.moved()
        );
        agree(
            &mut checks,
            what,
            &diff,
            &diff_keys(&*old, &*new, numbers(20_000))?,
        );
    }
    checks.judge();
    Ok(())
}

/// CRC-16 has 65,536 values: they fill 16,384 slots evenly and leave most of 100,000 empty.
#[test]
fn narrow_hashes_are_counted_as_they_are() -> Result<(), Error> {
    let table = |names: [&'static str; 2]| {
        let table = HashSlots::with_slots(names.map(Node::new), 100_000)?;
        Ok::<_, Error>(table.with_hasher(KeyHasher::REDIS))
    };
    let diff = diff(&table(["a", "b"])?, &table(["a", "c"])?)?;
    assert_eq!((diff.total(), diff.modulus()), (1 << 16, Some(100_000)));
    assert_eq!(diff.flows().map(|flow| flow.count).sum::<u128>(), 15_536);
    Ok(())
}

#[test]
fn a_diff_tells_keys_with_owner_from_keys_without() -> Result<(), Error> {
    let (none, some) = (
        Rendezvous::new([] as [Node; 0])?,
        Rendezvous::new([Node::new("a")])?,
    );
    // Keys that nobody has neither move nor stay.
    let nobody = diff(&none, &none)?;
    assert_eq!(nobody.unowned_count(), nobody.total());
    assert_eq!((nobody.moved(), nobody.kept()), (0.0, 0.0));
    let flow = |old: &Rendezvous, new: &Rendezvous| {
        let diff = diff(old, new)?;
        let flow = diff
            .flows()
            .next()
            .map(|flow| (flow.from.map(str::to_owned), flow.to.map(str::to_owned)));
        Ok::<_, Error>((diff.moved().to_bits(), flow))
    };
    let all = 1.0_f64.to_bits();
    assert_eq!(flow(&none, &some)?, (all, Some((None, Some("a".into())))));
    assert_eq!(flow(&some, &none)?, (all, Some((Some("a".into()), None))));
    assert_eq!(diff_keys(&some, &none, [""; 0])?.kept().to_bits(), all);
    Ok(())
}
