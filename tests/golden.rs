//! Routers against the answers of real programs: jump, Guava, Go's jump libraries, Redis Cluster.
//!
//! The files in `data/golden` are read as data: any file of the format, any group, any number of
//! vectors. A group that nothing here understands fails, and so does a file without vectors.

mod common;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::Path;

use common::Outcome;
use hashroute::strategy::{jump_hash, jump_hash_guava};
use hashroute::{Error, HashFunction, HashSlots, Jump, KeyHash, KeyHasher, Node, Router};
use serde_json::{Value, json};

type Fallible<T> = Result<T, Box<dyn core::error::Error>>;

fn read(name: &str) -> Fallible<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden");
    let text = fs::read_to_string(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
    Ok(serde_json::from_str(&text)?)
}

/// What stands under `field`, of which there must be some: a test of none would hold for anything.
fn some<'a>(holder: &'a Value, field: &str) -> Fallible<&'a Vec<Value>> {
    let rows = holder[field].as_array().filter(|rows| !rows.is_empty());
    rows.ok_or_else(|| format!("nothing under {field:?}").into())
}

/// A string, or `{"hex": ".."}` for bytes that are not UTF-8.
fn bytes(key: &Value) -> Fallible<Vec<u8>> {
    if let Some(text) = key.as_str() {
        return Ok(text.into());
    }
    let hex = key["hex"]
        .as_str()
        .ok_or_else(|| format!("not a key: {key}"))?;
    let byte = |at| u8::from_str_radix(hex.get(at..at + 2).unwrap_or("?"), 16);
    Ok((0..hex.len())
        .step_by(2)
        .map(byte)
        .collect::<Result<_, _>>()?)
}

/// A hash in decimal digits, as numbers beyond 2^53 have to be written.
fn number(key: &Value) -> Fallible<u64> {
    let digits = key.as_str().ok_or_else(|| format!("not a number: {key}"))?;
    Ok(digits.parse()?)
}

fn small(value: &Value) -> Fallible<u32> {
    let number = value
        .as_u64()
        .ok_or_else(|| format!("not a count: {value}"))?;
    Ok(u32::try_from(number)?)
}

type Function = fn(u64, u32) -> Option<u32>;
type Build = fn(Vec<Node>) -> Result<Jump, Error>;

/// Rows of (key, buckets, bucket).
fn check_buckets(file: &Value, function: Function) -> Outcome {
    for row in some(file, "vectors")? {
        let (key, buckets) = (number(&row[0])?, small(&row[1])?);
        assert_eq!(function(key, buckets), Some(small(&row[2])?), "{row}");
    }
    Ok(())
}

#[test]
fn jump_is_the_reference_function() -> Outcome {
    check_buckets(&read("jump.json")?, jump_hash)
}

#[test]
fn guava_is_guava() -> Outcome {
    let file = read("guavahash.json")?;
    check_buckets(&file, jump_hash_guava)?;
    for pair in some(&file, "pairs")? {
        let (key, buckets) = (number(&pair[0])?, small(&pair[1])?);
        let [reference, guava] = [&pair[2]["jump"], &pair[2]["guava"]].map(small);
        let (reference, guava) = (reference?, guava?);
        assert_ne!(reference, guava, "{pair}");
        assert_eq!(jump_hash(key, buckets), Some(reference), "{pair}");
        assert_eq!(jump_hash_guava(key, buckets), Some(guava), "{pair}");
    }
    Ok(())
}

#[test]
fn routers_agree_with_the_functions() -> Outcome {
    const MOST: u32 = 1100;
    for (name, function, build) in [
        ("jump.json", jump_hash as Function, Jump::new as Build),
        ("guavahash.json", jump_hash_guava, Jump::guava),
    ] {
        let (file, mut routers) = (read(name)?, BTreeMap::new());
        for row in some(&file, "vectors")? {
            let (key, buckets) = (number(&row[0])?, small(&row[1])?);
            if buckets > MOST {
                continue;
            }
            let router = match routers.entry(buckets) {
                Entry::Occupied(built) => built.into_mut(),
                Entry::Vacant(place) => place.insert(build(common::nodes(buckets as usize))?),
            };
            let owner = router.route_hash(KeyHash::from_raw(key));
            let bucket = owner.and_then(|id| u32::try_from(id.index()).ok());
            assert_eq!(bucket, function(key, buckets), "{name} {row}");
        }
        assert!(
            !routers.is_empty(),
            "{name} has no vector of up to {MOST} buckets"
        );
    }
    Ok(())
}

/// A group's hash function and number of buckets, from its name: `go-jump/60`,
/// `lithammer/fnv1a/1000`.
fn go_group(config: &Value) -> Fallible<(HashFunction, u32)> {
    let name = config.as_str().ok_or("a group without a name")?;
    let parts: Vec<_> = name.split('/').collect();
    let (function, buckets) = match parts[..] {
        ["lithammer", "crc32", buckets] => (HashFunction::Crc32, buckets),
        ["lithammer", "crc64", buckets] => (HashFunction::Crc64, buckets),
        ["lithammer", "fnv1", buckets] => (HashFunction::Fnv1_64, buckets),
        ["go-jump", buckets] | ["lithammer", "fnv1a", buckets] => (HashFunction::Fnv1a64, buckets),
        _ => return Err(format!("an unknown group: {name:?}").into()),
    };
    Ok((function, buckets.parse()?))
}

/// The raw hash goes into jump as it is, in these libraries.
fn check_go(file: &Value) -> Outcome {
    for group in some(file, "groups")? {
        let (function, buckets) = go_group(&group["config"])?;
        let (hasher, router) = (
            KeyHasher::new(function),
            Jump::new(common::nodes(buckets as usize))?,
        );
        for row in some(group, "vectors")? {
            let hash = hasher.raw(&bytes(&row[0])?);
            let bucket = small(&row[1])?;
            let owner = router.route_hash(hash).map(hashroute::NodeId::index);
            assert_eq!(
                jump_hash(hash.get(), buckets),
                Some(bucket),
                "{function} {row}"
            );
            assert_eq!(owner, Some(bucket as usize), "{function} {row}");
        }
    }
    Ok(())
}

#[test]
fn go_libraries_jump_alike() -> Outcome {
    check_go(&read("go_jump.json")?)
}

fn check_redis(file: &Value) -> Outcome {
    let slots = small(&file["configuration"]["slots"])?;
    let table = HashSlots::with_slots(common::nodes(3), slots)?.with_hasher(KeyHasher::REDIS);
    for row in some(file, "vectors")? {
        let (key, slot) = (bytes(&row[0])?, small(&row[1])?);
        assert_eq!(table.slot(&key), slot, "{row}");
        let owner = table.owner(slot).and_then(|id| table.nodes().get(id));
        assert_eq!(table.route(&key), owner, "{row}");
    }
    Ok(())
}

#[test]
fn redis_cluster_slots() -> Outcome {
    check_redis(&read("redis_cluster.json")?)
}

#[test]
fn files_that_say_nothing_fail() {
    for empty in [
        json!({}),
        json!({"vectors": []}),
        json!({"vectors": 1}),
        json!({"groups": []}),
    ] {
        assert!(check_buckets(&empty, jump_hash).is_err(), "{empty}");
        assert!(check_go(&empty).is_err(), "{empty}");
        assert!(check_redis(&empty).is_err(), "{empty}");
    }
    let strange = json!({"groups": [{"config": "other/5", "vectors": [["a", 0]]}]});
    assert!(check_go(&strange).is_err());
    let hollow = json!({"groups": [{"config": "go-jump/5", "vectors": []}]});
    assert!(check_go(&hollow).is_err());
    assert!(read("no-such-file.json").is_err());
    assert!(bytes(&json!({"hex": "8"})).is_err() && number(&json!(7)).is_err());
}
