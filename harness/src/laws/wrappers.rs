//! Law 12: one or two wrappers over the row keep its promises and their own. If both count loads,
//! the second refuses the first.

#[cfg(target_has_atomic = "64")]
use core::time::Duration;
use std::collections::BTreeSet;

use super::clause::Clause;
use super::keys::{goes_by_hash, varied};
use super::subject::{Key, Subject, members, walk};
use super::trial::{Held, ensure, equal, fail};
#[cfg(target_has_atomic = "64")]
use hashroute::health::{Liveness, Policy};
use hashroute::hot::HotKeys;
use hashroute::{BoundedLoad, Error, KeyHash, Lease, Loads, Refusal, Router, RouterExt, Spread};

pub(super) const WRAPPERS: &[Clause] = &[
    Clause::new("each wrapper by itself", singles),
    Clause::new("each wrapper over each other", pairs),
];

/// A wrapper that takes any router.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrapper {
    /// `BoundedLoad`, with a factor of 1.25.
    BoundedLoad,
    /// `HotKeys`, with some hot keys.
    HotKeys,
    /// `Liveness`, with all nodes up.
    #[cfg(target_has_atomic = "64")]
    Liveness,
    /// `Liveness`, with the lightest node down: the factor of `BoundedLoad` covers its weight.
    #[cfg(target_has_atomic = "64")]
    OneDown,
}

const ALL: &[Wrapper] = &[
    Wrapper::BoundedLoad,
    Wrapper::HotKeys,
    #[cfg(target_has_atomic = "64")]
    Wrapper::Liveness,
    #[cfg(target_has_atomic = "64")]
    Wrapper::OneDown,
];

const FACTOR: f64 = 1.25;

fn wrap(
    wrapper: Wrapper,
    router: Box<dyn Router>,
    hot: &[KeyHash],
) -> Result<Box<dyn Router>, Error> {
    Ok(match wrapper {
        Wrapper::BoundedLoad => Box::new(BoundedLoad::new(router, FACTOR)?),
        Wrapper::HotKeys => {
            let mut keys = HotKeys::new(router, 2, 0.1)?;
            keys.set_hot(hot.iter().copied())?;
            Box::new(keys)
        }
        #[cfg(target_has_atomic = "64")]
        Wrapper::Liveness => Box::new(Liveness::new(router, Policy::default())?),
        #[cfg(target_has_atomic = "64")]
        Wrapper::OneDown => {
            let policy = Policy::default().with_fail_after(1);
            let live = Liveness::new(router, policy)?;
            let down = live.nodes().iter().next().map(|(id, _)| id);
            down.map(|id| live.failed(id, Duration::from_secs(1)));
            Box::new(live)
        }
    })
}

fn singles(subject: &Subject) -> Held {
    ALL.iter()
        .try_for_each(|wrapper| kept(subject, &[*wrapper]))
}

fn pairs(subject: &Subject) -> Held {
    for &inside in ALL {
        for &outside in ALL {
            kept(subject, &[inside, outside])?;
        }
    }
    Ok(())
}

/// Checks the row in these wrappers, the innermost first: idle, under load, and idle again.
fn kept(subject: &Subject, wrappers: &[Wrapper]) -> Held {
    let mut router = subject.build_small(subject.weighted(&[1, 2, 1, 3, 1, 1]))?;
    let keys = subject.keys(700, 60);
    let hashes = keys.iter().filter_map(|key| key.hash(&*router));
    let hashes: Vec<_> = hashes.collect();
    for wrapper in wrappers {
        let counts = matches!(wrapper, Wrapper::BoundedLoad | Wrapper::HotKeys);
        let twice = counts && router.loads().is_some();
        let hot = &hashes[..5.min(hashes.len())];
        router = match (wrap(*wrapper, router, hot), twice) {
            (Ok(router), false) => router,
            (
                Err(Error::Unsupported {
                    what: Refusal::LoadsInside,
                    ..
                }),
                true,
            ) => return Ok(()),
            (Ok(_), true) => {
                let refusal = Refusal::LoadsInside.to_string();
                return fail(format!("{wrappers:?}"), refusal, "a router");
            }
            (Err(error), _) => return fail(format!("{wrappers:?}"), "a router", error.to_string()),
        };
    }
    let input = |what: &str| {
        let members = members(&*router);
        format!("{wrappers:?} from the inside, {members}, {what}")
    };
    agrees(&*router, &keys, &|| input("idle"))?;
    let Some(loads) = router.loads() else {
        return Ok(());
    };
    let start = loads.total_load();
    let leases = filled(loads, &hashes, &input)?;
    if wrappers.contains(&Wrapper::BoundedLoad) {
        within_bounds(&*router, loads, &input)?;
    }
    agrees(&*router, &keys, &|| input("under load"))?;
    for lease in leases {
        let released = loads.release(lease);
        equal(|| input("a lease that is given back"), &true, &released)?;
    }
    equal(
        || input("all leases given back"),
        &start,
        &loads.total_load(),
    )?;
    agrees(&*router, &keys, &|| input("idle again"))
}

/// Acquires every key, some of them often, and counts each once.
fn filled(
    loads: &dyn Loads,
    hashes: &[KeyHash],
    input: &dyn Fn(&str) -> String,
) -> Held<Vec<Lease>> {
    let mut leases = Vec::new();
    let often = hashes.iter().take(3).cycle().take(40);
    for &hash in hashes.iter().chain(often) {
        let before = loads.total_load();
        let Some(lease) = loads.acquire_hash(hash) else {
            let what = format!("key hash {:#x} under a load of {before}", hash.get());
            return fail(input(&what), "a lease", "none");
        };
        equal(|| input("one key more"), &(before + 1), &loads.total_load())?;
        leases.push(lease);
    }
    Ok(leases)
}

/// Checks that every node's load is at most ceil(c m w / W).
fn within_bounds(router: &dyn Router, loads: &dyn Loads, input: &dyn Fn(&str) -> String) -> Held {
    let total = loads.total_load();
    let mut sum = 0;
    for (id, node) in router.nodes() {
        let load = loads.load(id);
        let whole = 4 * router.nodes().total_weight();
        let bound = (5 * total * u64::from(node.weight())).div_ceil(whole);
        let input = || input(&format!("the load of {}", node.name()));
        ensure(load <= bound, input, &format!("at most {bound}"), || {
            format!("{load}")
        })?;
        sum += load;
    }
    equal(|| input("the sum of all loads"), &total, &sum)
}

/// Checks that all lookups agree, and that refused keys stay refused.
fn agrees(router: &dyn Router, keys: &[Key], input: &dyn Fn() -> String) -> Held {
    let hashes = keys.iter().filter_map(|key| key.hash(router));
    let hashes: Vec<_> = hashes.collect();
    let mut batch = vec![None; hashes.len()];
    router.route_batch(&hashes, &mut batch);
    for (i, (&hash, batched)) in hashes.iter().zip(batch).enumerate() {
        let input = |what: &str| format!("{}, key hash {:#x}, {what}", input(), hash.get());
        let owner = router.route_hash(hash);
        equal(|| input("batch"), &owner, &batched)?;
        listed(router, hash, &input)?;
        // A wrapper walks twice, two wrappers four times, so only some keys walk to the end.
        if i % 12 == 0 {
            walked(router, hash, &input)?;
        }
    }
    for key in varied() {
        goes_by_hash(router, &key).map_err(|mut finding| {
            finding.input = format!("{}: {}", input(), finding.input);
            finding
        })?;
    }
    Ok(())
}

/// Checks that the walk begins with the owner and offers every node with weight.
fn walked(router: &dyn Router, hash: KeyHash, input: &dyn Fn(&str) -> String) -> Held {
    let walk = walk(router, hash);
    if let Some(owner) = router.route_hash(hash) {
        equal(|| input("the walk"), &Some(&owner), &walk.first())?;
    }
    let offered: BTreeSet<_> = walk.iter().collect();
    let weighted = router.nodes().weighted();
    equal(|| input("nodes in the walk"), &weighted, &offered.len())
}

/// Checks that the replicas begin with the owner, and that each list is a prefix of the next.
fn listed(router: &dyn Router, hash: KeyHash, input: &dyn Fn(&str) -> String) -> Held {
    let owner = router.route_hash(hash);
    let weighted = router.nodes().weighted();
    let mut shorter = Vec::new();
    for n in 0..4 {
        let list = router.replicas_hash(hash, n, Spread::Nodes);
        let what = || input(&format!("{n} replicas"));
        equal(what, &n.min(weighted), &list.len())?;
        equal(what, &shorter[..], &list[..shorter.len().min(list.len())])?;
        let distinct: BTreeSet<_> = list.iter().collect();
        equal(what, &list.len(), &distinct.len())?;
        if n > 0 && owner.is_some() {
            equal(what, &owner, &list.first().copied())?;
        }
        shorter = list.to_vec();
    }
    Ok(())
}
