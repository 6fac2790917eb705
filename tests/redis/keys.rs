//! Keys, hash tags and slots.

use std::fs;

use hashroute::redis::SlotRule;
use hashroute::{Error, HashFunction, HashTag, KeyHasher};
use proptest::prelude::*;
use serde_json::Value;

use crate::folder;
use hashroute_test_support::Outcome;

#[test]
fn every_recorded_key_has_the_slot_of_the_server() -> Outcome {
    let text = fs::read_to_string(folder("golden/redis_cluster.json"))?;
    let file: Value = serde_json::from_str(&text)?;
    let vectors = file["vectors"].as_array().ok_or("no vectors")?;
    for vector in vectors {
        let key = match (vector[0].as_str(), vector[0]["hex"].as_str()) {
            (Some(text), _) => text.as_bytes().to_vec(),
            (_, Some(hex)) => bytes(hex)?,
            _ => return Err(format!("no key in {vector}").into()),
        };
        assert_eq!(
            Some(SlotRule::REDIS.slot(&key).into()),
            vector[1].as_u64(),
            "{vector}"
        );
    }
    assert!(vectors.len() > 100);
    Ok(())
}

fn bytes(hex: &str) -> Result<Vec<u8>, core::num::ParseIntError> {
    let pairs = (0..hex.len()).step_by(2);
    pairs
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16))
        .collect()
}

/// Returns the hash tag by the words of the specification: the key has a `{`, a `}` to the right of
/// it, and at least one character between the first `{` and the first `}` to its right.
fn tag_by_the_specification(key: &[u8]) -> Option<&[u8]> {
    let open = (0..key.len()).find(|i| key[*i] == b'{')?;
    let close = (open + 1..key.len()).find(|i| key[*i] == b'}')?;
    if close == open + 1 {
        return None;
    }
    Some(&key[open + 1..close])
}

/// Returns CRC-16/XMODEM, computed bit by bit.
fn crc16(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 8, |crc, _| {
            let next = crc << 1;
            (if crc & 0x8000 == 0 {
                next
            } else {
                next ^ 0x1021
            }) & 0xffff
        })
    })
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![3 => Just(b'{'), 3 => Just(b'}'), 4 => any::<u8>()];
    prop::collection::vec(byte, 0..12)
}

proptest! {
    #![proptest_config(hashroute_test_support::fixed(256))]

    #[test]
    fn the_tag_is_the_one_of_the_specification(key in key()) {
        let place = SlotRule::REDIS.key_slot(&key);
        let tag = tag_by_the_specification(&key);
        prop_assert_eq!(place.tag, tag);
        prop_assert_eq!(place.slot, crc16(tag.unwrap_or(&key)) % 16_384);
        prop_assert_eq!(place.slot, SlotRule::REDIS.slot(&key));
    }

    #[test]
    fn a_common_slot_is_common_and_an_error_names_the_first_two(keys in prop::collection::vec(key(), 0..6)) {
        let slots: Vec<u32> = keys.iter().map(|key| SlotRule::REDIS.slot(key)).collect();
        match SlotRule::REDIS.same_slot(&keys) {
            Ok(None) => prop_assert!(keys.is_empty()),
            Ok(Some(slot)) => prop_assert!(slots.iter().all(|s| *s == slot)),
            Err(Error::CrossSlot { first, first_slot, other, other_slot }) => {
                let at = slots.iter().position(|slot| *slot != slots[0]).unwrap_or(0);
                prop_assert_eq!((&*first, first_slot), (&keys[0][..], slots[0]));
                prop_assert_eq!((&*other, other_slot), (&keys[at][..], slots[at]));
                prop_assert_ne!(first_slot, other_slot);
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}

proptest! {
    // Each case hashes about ten thousand candidates.
    #![proptest_config(hashroute_test_support::fixed(16))]
    #[test]
    fn tags_are_found_for_given_slots(slot in 0..16_384_u32, count in 0..5_usize) {
        let tags = SlotRule::REDIS.tags_in(slot, count);
        prop_assert_eq!(tags.len(), count);
        for tag in tags {
            let key = format!("before{{{tag}}}behind");
            prop_assert_eq!(SlotRule::REDIS.slot(key.as_bytes()), slot);
            prop_assert_eq!(SlotRule::REDIS.slot(tag.as_bytes()), slot);
        }
    }
}

#[test]
fn other_rules_of_hash_tags_are_followed() -> Outcome {
    // The marks are letters, so some candidates cannot be tags.
    let rule = SlotRule::new(KeyHasher::REDIS.with_tag(HashTag::new(b'a', b'b')), 100)?;
    for tag in rule.tags_in(42, 20) {
        assert_eq!(rule.slot(format!("a{tag}b").as_bytes()), 42, "{tag}");
    }
    // A hash of 16 bits reaches no slot above 65,535; the search must end.
    let wide = SlotRule::new(KeyHasher::REDIS, 70_000)?;
    assert!(wide.tags_in(69_999, 1).is_empty());
    assert!(wide.tags_in(u32::MAX, 1).is_empty());
    let whole = SlotRule::new(KeyHasher::new(HashFunction::Xxh3), 1)?;
    assert_eq!(whole.tags_in(0, 3).len(), 3);
    assert!(SlotRule::new(KeyHasher::REDIS, 0).is_err());
    Ok(())
}
