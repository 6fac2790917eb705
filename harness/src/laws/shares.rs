//! Law 5: shares follow the weights, within the row's own theory.

use super::chance::{Tests, chi_square, normal};
use super::clause::Clause;
use super::subject::{Key, Subject, assigned, exact_shares, fair_shares, list, members, share_of};
use super::trial::{Held, ensure, fail};
use super::waivers;
use hashroute::registry::{Params, Scheme};
use hashroute::{Node, Router};

pub(super) const SHARES: &[Clause] = &[
    Clause::new("keys fall by the exact shares, or by weight", fallen_keys)
        .unless(waivers::no_shares),
    Clause::new("exact shares leave out who has no weight", exact).unless(waivers::a_dialect),
    Clause::new("exact shares are the weights' on average", average).unless(waivers::no_shares),
    Clause::new("no node holds more than the bound on loads", bounded)
        .unless(waivers::no_load_factor),
];

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

fn fallen_keys(subject: &Subject) -> Held {
    let mut tests = Tests::default();
    let keys = subject.keys(200, 50_000);
    let cv = subject.scheme.caps().map(|caps| caps.share_cv);
    for weights in CLUSTERS {
        let router = subject.build(subject.weighted(weights))?;
        let exact = exact_shares(&*router);
        let cv = match (&exact, cv) {
            (None, Some(cv)) => cv(router.nodes().weighted()),
            _ => 0.0,
        };
        let shares = exact.unwrap_or_else(|| fair_shares(&*router));
        let chance = chi_square(&counts(&*router, &keys), &shares, cv);
        let what = format!("{}, {} keys by share", members(&*router), keys.len());
        tests.note(what, chance);
    }
    tests.judge()
}

/// Counts the keys that each node owns, by index.
fn counts(router: &dyn Router, keys: &[Key]) -> Vec<u64> {
    let mut counts = vec![0; router.nodes().id_bound()];
    for id in keys.iter().filter_map(|key| key.owner(router)) {
        if let Some(count) = counts.get_mut(id.index()) {
            *count += 1;
        }
    }
    counts
}

fn exact(subject: &Subject) -> Held {
    for weights in CLUSTERS {
        let router = subject.build(subject.weighted(weights))?;
        let Some(shares) = exact_shares(&*router) else {
            continue;
        };
        let sum: f64 = shares.iter().sum();
        let input = || members(&*router);
        ensure(
            (sum - 1.0).abs() < 1e-9,
            input,
            "shares that sum to 1",
            || format!("a sum of {sum}"),
        )?;
        for (id, node) in router.nodes() {
            let owns = shares[id.index()] > 0.0;
            let input = || format!("{}, the share of {}", members(&*router), node.name());
            ensure(
                owns == (node.weight() > 0),
                input,
                "a share where there is weight",
                || format!("{}", shares[id.index()]),
            )?;
        }
    }
    for empty in [&[][..], &[0, 0]] {
        if empty.is_empty() || subject.weighs() {
            owns_nothing(&*subject.build(subject.weighted(empty))?)?;
        }
    }
    Ok(())
}

fn owns_nothing(router: &dyn Router) -> Held {
    let shares = exact_shares(router).unwrap_or_default();
    let input = || members(router);
    let nothing = shares.iter().all(|share| *share == 0.0);
    ensure(nothing, input, "no shares", || format!("{shares:?}"))
}

/// Checks the mean of a node's share over many clusters: it is the node's weight over the total,
/// within the standard error across clusters and one cell of a table. In a single cluster the share
/// is random.
fn average(subject: &Subject) -> Held {
    const CELL: f64 = 1.0 / 16_384.0;
    let mut tests = Tests::default();
    let weights = [1, 2, 3, 4, 10].map(|weight| subject.fit(weight));
    let total: u32 = weights.iter().sum();
    for (i, shares) in shares_of_many(subject, &weights)?.iter().enumerate() {
        let count = shares.len() as f64;
        if shares.is_empty() {
            continue;
        }
        let mean = shares.iter().sum::<f64>() / count;
        let squares = shares.iter().map(|share| (share - mean) * (share - mean));
        let error = (squares.sum::<f64>() / (count * (count - 1.0))).sqrt();
        let off = (mean - f64::from(weights[i]) / f64::from(total)).abs();
        let deviate = (off - CELL).max(0.0) / error.max(f64::MIN_POSITIVE);
        let what = format!(
            "{count} clusters of weights {weights:?}: weight {} has a share of {mean:.5} on average",
            weights[i]
        );
        tests.note(what, normal(deviate));
    }
    tests.judge()
}

/// Returns the exact shares of each of these weights, in many clusters with different names.
fn shares_of_many(subject: &Subject, weights: &[u32]) -> Held<Vec<Vec<f64>>> {
    let mut seen = vec![Vec::new(); weights.len()];
    for cluster in 0..60 {
        let name = |i: usize| subject.name(cluster * weights.len() + i);
        let weigh = |(i, &weight)| Node::new(name(i)).with_weight(weight);
        let router = subject.build(weights.iter().enumerate().map(weigh))?;
        let Some(shares) = exact_shares(&*router) else {
            continue;
        };
        for (i, seen) in seen.iter_mut().enumerate() {
            seen.push(share_of(&*router, &shares, &name(i)));
        }
    }
    Ok(seen)
}

/// Returns the factor by which a row bounds loads, from its parameter.
fn load_factor(scheme: &Scheme) -> Option<f64> {
    let param = scheme.params.iter().find(|param| param.name == "load")?;
    let stated = Params::default().with("load", param.default);
    stated.get("load", f64::NAN).ok()
}

fn bounded(subject: &Subject) -> Held {
    let Some(factor) = load_factor(subject.scheme) else {
        return fail("parameter \"load\"", "a factor", "no number");
    };
    let keys = subject.keys(300, 5000);
    for weights in CLUSTERS {
        let router = subject.build(subject.weighted(weights))?;
        let names = assigned(&*router, &keys);
        let input = || format!("{}, {} keys", members(&*router), keys.len());
        let all = names.iter().all(|name| **name != *"-");
        ensure(all, input, "a node for each", || "keys without".into())?;
        for ((_, node), share) in router.nodes().iter().zip(by_name(&*router)) {
            let load = names.iter().filter(|name| ***name == *node.name()).count();
            let bound = (factor * keys.len() as f64 * share - 1e-6).ceil();
            ensure(
                load as f64 <= bound,
                input,
                &format!("at most {bound} on {}", list([node])),
                || format!("{load}"),
            )?;
        }
    }
    Ok(())
}

/// Returns the fair shares in order of name.
fn by_name(router: &dyn Router) -> Vec<f64> {
    let shares = fair_shares(router);
    let ids = router.nodes().iter();
    ids.map(|(id, _)| shares[id.index()]).collect()
}
