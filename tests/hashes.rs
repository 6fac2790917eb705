//! Hash functions and hash tags give the values of real programs.
//!
//! The files in `data/golden` may have any groups and any number of vectors.

use core::error::Error;
use std::fs;
use std::path::Path;

use hashroute::hash::mix64;
use hashroute::{HashFunction, KeyHash, KeyHasher};
use serde_json::Value;

type Outcome = Result<(), Box<dyn Error>>;

/// A key and the answer of the program.
type Vector = (Vec<u8>, Value);

fn text(name: &str) -> Result<String, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data/golden")
        .join(name);
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Reads a key: a string, or `{"hex": ".."}` for bytes that are not UTF-8.
fn key(value: &Value) -> Result<Vec<u8>, Box<dyn Error>> {
    if let Some(text) = value.as_str() {
        return Ok(text.into());
    }
    let hex = value["hex"]
        .as_str()
        .ok_or_else(|| format!("not a key: {value}"))?;
    let pairs = (0..hex.len()).step_by(2);
    Ok(pairs
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16))
        .collect::<Result<_, _>>()?)
}

/// Returns the vectors under `name`. Without any it fails, since a test of none always passes.
fn vectors(holder: &Value, name: &str) -> Result<Vec<Vector>, Box<dyn Error>> {
    let rows = holder[name].as_array().filter(|rows| !rows.is_empty());
    let rows = rows.ok_or_else(|| format!("no vectors under {name:?}"))?;
    rows.iter()
        .map(|row| Ok((key(&row[0])?, row[1].clone())))
        .collect()
}

/// Returns the groups of a file, and fails without any.
fn groups(file: &Value) -> Result<&Vec<Value>, Box<dyn Error>> {
    let groups = file["groups"]
        .as_array()
        .filter(|groups| !groups.is_empty());
    Ok(groups.ok_or("no groups")?)
}

/// Returns our value for a column of twemproxy, where we have that function. Functions that read
/// bytes as a signed `char` agree with ours on ASCII keys alone.
fn twemproxy(column: &str, signed: bool, key: &[u8]) -> Option<u32> {
    let raw = |function| KeyHasher::new(function).raw(key).get();
    let low = |function| (raw(function) & 0xffff_ffff) as u32;
    let unsigned = !signed || key.is_ascii();
    match column {
        "md5" => Some(((raw(HashFunction::Md5) >> 32) as u32).swap_bytes()),
        "crc32a" => Some(low(HashFunction::Crc32)),
        "fnv1a_64" if signed => Some(low(HashFunction::TwemproxyFnv1a64Signed)),
        "fnv1a_64" => Some(low(HashFunction::TwemproxyFnv1a64)),
        "fnv1_64" if unsigned => Some(low(HashFunction::Fnv1_64)),
        "fnv1a_32" if unsigned => Some(low(HashFunction::Fnv1a32)),
        _ => None,
    }
}

#[test]
fn hash_functions_give_the_values_of_twemproxy() -> Outcome {
    let file: Value = serde_json::from_str(&text("twemproxy_hashes.json")?)?;
    let columns = file["result_columns"]
        .as_array()
        .ok_or("no result_columns")?;
    for group in groups(&file)? {
        let signed = match group["variant"].as_str() {
            Some("signed_char") => true,
            Some("unsigned_char") => false,
            other => return Err(format!("an unknown variant: {other:?}").into()),
        };
        let mut checked = 0;
        for (key, row) in vectors(group, "vectors")? {
            for (column, cell) in columns.iter().zip(row.as_array().ok_or("no row")?) {
                let column = column.as_str().ok_or("no column name")?;
                let value = u32::from_str_radix(cell.as_str().ok_or("no value")?, 16)?;
                if let Some(ours) = twemproxy(column, signed, &key) {
                    assert_eq!(ours, value, "{column}, signed {signed}, key {key:x?}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 0, "nothing checked, signed {signed}");
    }
    Ok(())
}

#[test]
fn recorded_keys_have_the_slots_of_redis() -> Outcome {
    let file: Value = serde_json::from_str(&text("redis_cluster.json")?)?;
    let slots = file["configuration"]["slots"].as_u64().ok_or("no slots")?;
    for (key, slot) in vectors(&file, "vectors")? {
        assert_eq!(
            Some(KeyHasher::REDIS.raw(&key).get() % slots),
            slot.as_u64(),
            "key {key:x?}"
        );
    }
    Ok(())
}

#[test]
fn published_keys_have_the_slots_of_the_redis_specification() {
    for (key, slot) in [
        ("", 0),
        ("foo", 12182),
        ("bar", 5061),
        ("{}", 15257),
        ("foo{}{bar}", 8363),
        ("foo{bar}{zap}", 5061),
        ("foo{{bar}}zap", 4015),
        ("A}B{C", 7939),
        ("{a", 10276),
        ("user1000", 3443),
        ("{user1000}.following", 3443),
        ("a{'1':{'i32':1}}", 5540),
        ("123456789", 12739),
    ] {
        assert_eq!(
            KeyHasher::REDIS.raw(key.as_bytes()).get() % 16384,
            slot,
            "{key}"
        );
    }
}

#[test]
fn every_function_takes_every_key() -> Outcome {
    let mut keys = Vec::new();
    for line in text("keys.txt")?.lines() {
        keys.push(key(&serde_json::from_str(line)?)?);
    }
    assert!(!keys.is_empty(), "keys.txt has no keys");
    keys.extend([vec![], vec![0xc8], vec![b'{'; 1 << 20]]);
    for &function in HashFunction::ALL {
        let hasher = KeyHasher::new(function);
        for key in &keys {
            let raw = hasher.raw(key).get();
            assert!(
                function.bits() == 64 || raw >> function.bits() == 0,
                "{function} of {key:x?}"
            );
            let spread = if function.is_spread() {
                raw
            } else {
                mix64(raw)
            };
            assert_eq!(hasher.spread(key).get(), spread, "{function} of {key:x?}");
        }
    }
    for key in &keys {
        assert_eq!(KeyHash::from_bytes(key), KeyHasher::default().spread(key));
    }
    Ok(())
}

#[test]
fn a_file_without_vectors_fails() -> Outcome {
    for empty in [
        "{}",
        r#"{"vectors": []}"#,
        r#"{"vectors": null}"#,
        r#"{"other": [["a", 1]]}"#,
    ] {
        let file: Value = serde_json::from_str(empty)?;
        assert!(vectors(&file, "vectors").is_err(), "{empty}");
        assert!(groups(&file).is_err(), "{empty}");
    }
    assert!(groups(&serde_json::from_str(r#"{"groups": []}"#)?).is_err());
    assert!(text("no-such-file.json").is_err());
    assert!(key(&serde_json::from_str(r#"{"hex": "zz"}"#)?).is_err());
    Ok(())
}

#[cfg(feature = "serde")]
#[test]
fn serde_writes_functions_by_name() -> Outcome {
    for function in HashFunction::ALL {
        let json = serde_json::to_string(function)?;
        assert_eq!(json, format!("{:?}", function.name()));
        assert_eq!(serde_json::from_str::<HashFunction>(&json)?, *function);
    }
    Ok(())
}
