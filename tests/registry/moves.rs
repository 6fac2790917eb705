//! A diff of two pools of one system is exact where both hash alike, and sampled elsewhere.

use std::collections::BTreeSet;

use hashroute::compat::{self, Server};
use hashroute::plan::{Budget, Plan, Replicas};
use hashroute::registry::Scheme;
use hashroute::strategy::Params;
use hashroute::{
    Basis, BoundedLoad, Change, Diff, Error, HashFunction, HashId, KeyHash, MovedRange, Node,
    Router, Spread, diff,
};

use crate::dialects::{keys, name};

/// Every option that decides a hash takes some of these values.
const VALUES: &[&str] = &[
    "{}",
    "tag",
    "0",
    "7",
    "64",
    "true",
    "false",
    "modula",
    "hash",
    "map-based",
    "random",
    "murmur3",
    "signed",
    "unsigned",
    "bytes",
    "url",
    "blob",
    "ignore",
    "sha1",
    "djb2",
    "wt6",
    "crc16",
    "crc32a",
    "one_at_a_time",
    "fnv1_64",
    "hsieh",
    "ketama",
    "weights",
];

/// Returns the defaults, with a small table where there is one, since large ones are slow.
fn small(dialect: &Scheme) -> Params {
    let sizes = [("table-size", "251"), ("ring-size", "251")];
    let known = |(name, _): &(&str, &str)| dialect.params.iter().any(|param| param.name == *name);
    let sizes = sizes.into_iter().filter(known);
    sizes.fold(Params::default(), |params, (name, value)| {
        params.with(name, value)
    })
}

/// Returns the defaults and, for each option, the values that it takes; two for free text.
fn variants(dialect: &Scheme) -> Vec<Params> {
    let mut variants = vec![small(dialect)];
    for param in dialect.params {
        let given = |value: &str| small(dialect).with(param.name, value);
        let takes = |params: &Params| pool(dialect, 4, params).is_ok();
        let most = if takes(&given("\u{1f980}")) {
            2
        } else {
            usize::MAX
        };
        let functions = HashFunction::ALL.iter().map(|function| function.name());
        let values = VALUES.iter().copied().chain(functions).map(given);
        variants.extend(values.filter(takes).take(most));
    }
    variants
}

fn pool(dialect: &Scheme, count: usize, params: &Params) -> Result<Box<dyn Router>, Error> {
    let servers = (0..count).map(|i| Server::new(name(dialect, i)));
    dialect.build(servers, params)
}

/// Returns the owners of a hash that moves; `None` where it stays or cannot occur.
fn moved<'a>(diff: &Diff, ranges: &[MovedRange<'a>], hash: u64) -> Option<[Option<&'a str>; 2]> {
    if u128::from(hash) >= diff.total() {
        return None;
    }
    let position = diff.modulus().map_or(hash, |modulus| hash % modulus);
    let range = ranges.get(ranges.partition_point(|range| range.last < position))?;
    (range.first <= position).then_some([range.from, range.to])
}

/// Returns whether the diff is exact, and checks an exact one against the pools key by key.
fn check(dialect: &Scheme, old: &dyn Router, new: &dyn Router, count: u32) -> Result<bool, Error> {
    // Different hash identities give a sample, which is slow.
    if old.hash_id() != new.hash_id() {
        return Ok(false);
    }
    let diff = diff(old, new)?;
    if diff.basis() != Basis::Hashes {
        return Ok(false);
    }
    let (ranges, mut widest) = (diff.ranges().collect::<Vec<_>>(), 0);
    let odd: [&[u8]; 7] = [
        b"",
        b"{",
        b"{a}b",
        b"a\0b",
        b"\xc3\xa9",
        b"/a;b?c",
        &[0xff; 8],
    ];
    for key in keys(dialect, count).chain(odd.map(<[u8]>::to_vec)) {
        let owners = [old, new].map(|pool| pool.route(&key).map(Node::name));
        let Some(hash) = old.hash_key(&key).map(KeyHash::get) else {
            assert_eq!(owners, [None; 2], "{}: {key:?}", dialect.name);
            continue;
        };
        let said = moved(&diff, &ranges, hash).unwrap_or([owners[0]; 2]);
        assert_eq!(said, owners, "{}: {key:?}", dialect.name);
        if u128::from(hash) < diff.total() {
            widest = widest.max(hash);
        }
    }
    // Shares refer to all hashes, and some of them lie in the upper half.
    assert!(
        u128::from(widest) * 2 > diff.total(),
        "{}: {widest:#x}",
        dialect.name
    );
    Ok(true)
}

#[test]
fn an_exact_diff_of_two_pools_is_what_their_keys_do() -> Result<(), Error> {
    let mut exact = BTreeSet::new();
    for dialect in compat::ALL {
        let old = pool(dialect, 3, &Params::default())?;
        let new = pool(dialect, 4, &Params::default())?;
        if check(dialect, &old, &new, 10_000)? {
            exact.insert(dialect.name);
        }
    }
    assert!(
        exact.contains("twemproxy") && exact.len() >= 18,
        "{exact:?}"
    );
    Ok(())
}

#[test]
fn options_and_servers_that_change_hashes_make_no_diff_exact() -> Result<(), Error> {
    let mut checked = [0; 2];
    for dialect in compat::ALL {
        let old = pool(dialect, 4, &small(dialect))?;
        for params in variants(dialect) {
            let same = pool(dialect, 4, &params)?;
            let mut new = pool(dialect, 4, &params)?;
            // Some systems do not mark servers as down.
            let _ = new.apply(&Change::reweight(name(dialect, 3), 0));
            for before in [&old, &same] {
                checked[usize::from(check(dialect, before, &new, 100)?)] += 1;
            }
        }
    }
    assert!(checked.iter().all(|count| *count > 50), "{checked:?}");
    Ok(())
}

/// Each server goes down in turn, so every key is once a key of that server.
#[test]
fn a_server_that_is_down_changes_no_hash_where_the_diff_is_exact() -> Result<(), Error> {
    for dialect in compat::ALL {
        let old = pool(dialect, 7, &small(dialect))?;
        for at in 0..7 {
            let mut new = pool(dialect, 7, &small(dialect))?;
            if new.apply(&Change::reweight(name(dialect, at), 0)).is_ok() {
                check(dialect, &old, &new, 100)?;
            }
        }
    }
    Ok(())
}

#[test]
fn twemproxy_from_three_servers_to_four_is_planned_exactly() -> Result<(), Error> {
    let twemproxy = compat::find("twemproxy")?;
    let [old, new] = [3, 4].map(|count| pool(twemproxy, count, &Params::default()));
    let (old, new) = (old?, new?);
    let diff = diff(&old, &new)?;
    let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    assert!(plan.is_exact());
    let moved: f64 = plan.steps().map(|step| step.moved()).sum();
    assert!((moved - diff.moved()).abs() < 1e-9);
    assert!(diff.ranges().len() > 100 && (0.1..0.5).contains(&moved));
    Ok(())
}

/// A different tag gives different hashes; a hash of 16 bits leaves most of the ring unused.
#[test]
fn different_and_narrow_hashes_are_sampled() -> Result<(), Error> {
    let twemproxy = compat::find("twemproxy")?;
    let options = [
        ("hash", "md5"),
        ("hash_tag", "{}"),
        ("hash", "crc16"),
        ("hash", "hsieh"),
    ];
    let [md5, tagged, narrow, dense] =
        options.map(|(name, value)| pool(twemproxy, 4, &Params::default().with(name, value)));
    let default = pool(twemproxy, 3, &Params::default())?;
    let (md5, tagged, narrow, dense) = (md5?, tagged?, narrow?, dense?);
    let pairs = [
        [&default, &tagged],
        [&default, &md5],
        [&narrow, &narrow],
        [&dense, &dense],
    ];
    for [old, new] in pairs {
        assert_eq!(diff(old, new)?.basis(), Basis::Sample);
    }
    let plan = Plan::new(&default, &tagged, Replicas::default(), Budget::default())?;
    assert!(!plan.is_exact());
    Ok(())
}

#[test]
fn a_diff_of_systems_without_keys_is_refused() -> Result<(), Error> {
    let katran = compat::find("katran")?;
    let [old, new] =
        ["131", "65537"].map(|size| pool(katran, 3, &Params::default().with("ring-size", size)));
    let error = diff(&old?, &new?).unwrap_err();
    assert!(error.to_string().starts_with("neither router"), "{error}");
    Ok(())
}

/// In Dalli without failover, a server that is down leaves a gap: its keys have no owner and no
/// replica.
#[test]
fn a_gap_has_no_replicas_in_an_exact_plan() -> Result<(), Error> {
    let dalli = compat::find("dalli")?;
    let params = Params::default().with("failover", "false");
    let old = pool(dalli, 4, &params)?;
    let mut new = pool(dalli, 4, &params)?;
    new.apply(&Change::reweight(name(dalli, 1), 0))?;
    let replicas = Replicas::new(2, Spread::Nodes);
    let plan = Plan::new(&old, &new, replicas, Budget::default())?;
    assert!(plan.is_exact());
    let mut gaps = 0;
    for range in plan.steps().flat_map(|step| step.ranges()) {
        if new.route_hash(KeyHash::from_raw(range.first())).is_none() {
            gaps += 1;
            assert_eq!(range.transfers().count(), 0, "to a gap");
        }
    }
    assert!(gaps > 10, "{gaps}");
    Ok(())
}

#[test]
fn a_wrapper_hashes_as_the_pool_inside() -> Result<(), Error> {
    let twemproxy = compat::find("twemproxy")?;
    let plain = pool(twemproxy, 3, &Params::default())?;
    let bounded = BoundedLoad::new(pool(twemproxy, 3, &Params::default())?, 1.25)?;
    assert!(matches!(plain.hash_id(), HashId::System(_)));
    assert_eq!(bounded.hash_id(), plain.hash_id());
    let boxed: Box<dyn Router> = Box::new(bounded);
    assert_eq!(Router::hash_id(&boxed), plain.hash_id());
    assert!(Router::loads(&boxed).is_some());
    Ok(())
}
