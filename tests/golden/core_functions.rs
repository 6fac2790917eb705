//! Jump, Guava, the jump libraries of Go and the slots of Redis Cluster, as functions, strategies
//! and dialects.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use hashroute::compat;
use hashroute::strategy::{Params, jump_hash, jump_hash_guava};
use hashroute::{Error, HashFunction, HashSlots, Jump, KeyHash, KeyHasher, Node, NodeId, Router};
use serde_json::Value;

use crate::{Fallible, bytes, columns, groups, known, number, small, some};

type Function = fn(u64, u32) -> Option<u32>;
type Build = fn(Vec<Node>) -> Result<Jump, Error>;

/// Routers with more nodes than this are slow; above, the function alone is compared.
const MOST: u32 = 1100;

pub(crate) fn jump(file: &Value) -> Fallible<usize> {
    check_buckets(file, jump_hash, Jump::new, "jump")
}

pub(crate) fn guava(file: &Value) -> Fallible<usize> {
    columns(some(file, "pairs")?, 3)?;
    for pair in some(file, "pairs")? {
        known(&pair[2], &["guava", "jump"])?;
        let (key, buckets) = (number(&pair[0])?, small(&pair[1])?);
        let [reference, guava] = [&pair[2]["jump"], &pair[2]["guava"]].map(small);
        let (reference, guava) = (reference?, guava?);
        assert_ne!(reference, guava, "{pair}");
        assert_eq!(jump_hash(key, buckets), Some(reference), "{pair}");
        assert_eq!(jump_hash_guava(key, buckets), Some(guava), "{pair}");
    }
    check_buckets(file, jump_hash_guava, Jump::guava, "guava")
}

/// Compares rows of key, number of buckets and bucket.
fn check_buckets(file: &Value, function: Function, build: Build, dialect: &str) -> Fallible<usize> {
    let (rows, mut routers) = (some(file, "vectors")?, BTreeMap::new());
    columns(rows, 3)?;
    for row in rows {
        let (key, buckets, bucket) = (number(&row[0])?, small(&row[1])?, small(&row[2])?);
        assert_eq!(function(key, buckets), Some(bucket), "{row}");
        if buckets > MOST {
            continue;
        }
        let router = match routers.entry(buckets) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(entry) => {
                let nodes = || hashroute_test_support::nodes(buckets as usize);
                let pool = compat::find(dialect)?.build(nodes(), &Params::default())?;
                entry.insert((build(nodes())?, pool))
            }
        };
        let (router, pool) = router;
        let owner = router.route_hash(KeyHash::from_raw(key));
        assert_eq!(owner.map(NodeId::index), Some(bucket as usize), "{row}");
        let owner = pool.route(&bytes(&row[0])?).map(Node::name);
        assert_eq!(owner, Some(&*format!("node-{bucket}")), "{row}");
    }
    assert!(!routers.is_empty(), "no vector of up to {MOST} buckets");
    Ok(rows.len())
}

/// Reads hash function, number of buckets and dialect from the name of a group, such as
/// `go-jump/60` or `lithammer/fnv1a/1000`.
fn go_group(config: &Value) -> Fallible<(HashFunction, u32, Box<dyn Router>)> {
    let name = config.as_str().ok_or("a group without a name")?;
    let parts: Vec<_> = name.split('/').collect();
    let (function, buckets) = match parts[..] {
        ["lithammer", "crc32", buckets] => (HashFunction::Crc32, buckets),
        ["lithammer", "crc64", buckets] => (HashFunction::Crc64, buckets),
        ["lithammer", "fnv1", buckets] => (HashFunction::Fnv1_64, buckets),
        ["go-jump", buckets] | ["lithammer", "fnv1a", buckets] => (HashFunction::Fnv1a64, buckets),
        _ => return Err(format!("an unknown group: {name:?}").into()),
    };
    let dialect = match parts[0] {
        "go-jump" => "go-jump",
        _ => "lithammer-jump",
    };
    let params = Params::default().with("key", function.name());
    let nodes = hashroute_test_support::nodes(buckets.parse()?);
    let pool = compat::find(dialect)?.build(nodes, &params)?;
    Ok((function, buckets.parse()?, pool))
}

/// These libraries feed the raw hash to jump.
pub(crate) fn go_jump(file: &Value) -> Fallible<usize> {
    let mut checked = 0;
    for group in groups(file, &[])? {
        let (function, buckets, pool) = go_group(&group["config"])?;
        let (hasher, router) = (
            KeyHasher::new(function),
            Jump::new(hashroute_test_support::nodes(buckets as usize))?,
        );
        for row in some(group, "vectors")? {
            let hash = hasher.raw(&bytes(&row[0])?);
            let owner = router.route_hash(hash).map(NodeId::index);
            if owner != Some(small(&row[1])? as usize) {
                return Err(format!("{function} {row}, not {owner:?}").into());
            }
            let owner = pool.route(&bytes(&row[0])?).map(Node::name);
            assert_eq!(owner, Some(&*format!("node-{}", row[1])), "{row}");
            checked += 1;
        }
    }
    Ok(checked)
}

pub(crate) fn redis(file: &Value) -> Fallible<usize> {
    known(&file["configuration"], &["cluster-enabled", "slots"])?;
    let slots = small(&file["configuration"]["slots"])?;
    let table = HashSlots::with_slots(hashroute_test_support::nodes(3), slots)?
        .with_hasher(KeyHasher::REDIS);
    let names = ["0-5460", "5461-10922", "10923-16383"];
    let dialect = compat::find("redis-cluster")?;
    let pool = dialect.build(names.map(Node::new), &Params::default())?;
    let rows = some(file, "vectors")?;
    columns(rows, 2)?;
    for row in rows {
        let (key, slot) = (bytes(&row[0])?, small(&row[1])?);
        let hash = pool.hash_key(&key).map(KeyHash::get);
        assert_eq!(hash, Some(slot.into()), "{row}");
        let range = usize::from(slot > 5460) + usize::from(slot > 10_922);
        assert_eq!(
            pool.route(&key).map(Node::name),
            Some(names[range]),
            "{row}"
        );
        assert_eq!(table.slot(&key), slot, "{row}");
        let owner = table.owner(slot).and_then(|id| table.nodes().get(id));
        assert_eq!(table.route(&key), owner, "{row}");
    }
    Ok(rows.len())
}
