//! CRC-16 and CRC-32 by tables against a division of polynomials, bit by bit.

use hashroute::redis::SlotRule;
use hashroute::{HashFunction, KeyHasher};

use crate::for_every_u32;

/// One step of the division: eight bits of CRC-16/XMODEM.
const fn crc16(mut crc: u16, byte: u8) -> u16 {
    crc ^= (byte as u16) << 8;
    let mut bit = 0;
    while bit < 8 {
        crc = if crc >> 15 == 1 {
            crc << 1 ^ 0x1021
        } else {
            crc << 1
        };
        bit += 1;
    }
    crc
}

/// One step of the division, the low bit first: eight bits of CRC-32/ISO-HDLC.
const fn crc32(mut crc: u32, byte: u8) -> u32 {
    crc ^= byte as u32;
    let mut bit = 0;
    while bit < 8 {
        crc = if crc & 1 == 1 {
            crc >> 1 ^ 0xedb8_8320
        } else {
            crc >> 1
        };
        bit += 1;
    }
    crc
}

#[test]
#[ignore = "2^32 cases"]
fn crc16_and_the_slot_are_those_of_every_key_of_four_bytes() {
    equals_the_model(HashFunction::Crc16, 0, crc16, u64::from);
}

#[test]
#[ignore = "2^32 cases"]
fn crc32_is_that_of_every_key_of_four_bytes() {
    equals_the_model(HashFunction::Crc32, u32::MAX, crc32, |crc| (!crc).into());
}

/// Compares every key of four bytes with the model, then shorter and longer ones. A CRC is linear,
/// so wide steps are right if every byte is right in every place.
fn equals_the_model<T: Copy + Sync>(
    function: HashFunction,
    start: T,
    step: fn(T, u8) -> T,
    value: fn(T) -> u64,
) {
    let hasher = KeyHasher::new(function);
    let model = |bytes: &[u8]| bytes.iter().fold(start, |crc, &byte| step(crc, byte));
    let cases = for_every_u32(
        |part| {
            let mut cases = 0_u64;
            // The first three bytes change once in 256 cases.
            let mut prefix = None;
            for key in part {
                let bytes = key.to_be_bytes();
                let crc = match prefix {
                    Some((first, crc)) if first == key >> 8 => crc,
                    _ => model(&bytes[..3]),
                };
                prefix = Some((key >> 8, crc));
                let expected = value(step(crc, bytes[3]));
                assert_eq!(hasher.raw(&bytes).get(), expected, "{bytes:?}");
                cases += 1;
            }
            cases
        },
        |a, b| a + b,
    );
    println!("{function}: {cases} keys of four bytes, one at each seam of two cores twice");
    shorter(&hasher, &|bytes| value(model(bytes)));
}

/// Every key of up to two bytes, and in keys of up to 70 bytes every byte in every place.
fn shorter(hasher: &KeyHasher, model: &dyn Fn(&[u8]) -> u64) {
    let check = |bytes: &[u8]| assert_eq!(hasher.raw(bytes).get(), model(bytes), "{bytes:?}");
    check(&[]);
    for pair in 0..=u16::MAX {
        let bytes = pair.to_be_bytes();
        check(&bytes);
        check(&bytes[1..]);
    }
    for len in 1..=70 {
        for at in 0..len {
            for byte in 0..=u8::MAX {
                for fill in [0, 0xa5] {
                    let mut bytes = vec![fill; len];
                    bytes[at] = byte;
                    check(&bytes);
                }
            }
        }
    }
}

/// Every slot has tags, the tags are in it by the bitwise model, and every slot is reached by keys
/// of two bytes.
#[test]
#[ignore = "every slot"]
fn every_slot_has_tags_that_fall_into_it() {
    let rule = SlotRule::REDIS;
    let model = |tag: &[u8]| u32::from(tag.iter().fold(0, |crc, &byte| crc16(crc, byte))) % 16_384;
    let mut reached = vec![false; 16_384];
    for pair in 0..=u16::MAX {
        reached[rule.slot(&pair.to_be_bytes()) as usize] = true;
    }
    assert!(reached.iter().all(|slot| *slot));
    let slots = for_every_slot(&|slot| {
        let tags = rule.tags_in(slot, 3);
        assert_eq!(tags.len(), 3, "slot {slot}");
        for tag in &tags {
            assert_eq!(model(tag.as_bytes()), slot, "{tag}");
            assert_eq!(rule.slot(format!("{{{tag}}}:a").as_bytes()), slot, "{tag}");
        }
    });
    println!("slot tags: {slots} slots, three tags each");
}

fn for_every_slot(check: &(dyn Fn(u32) + Sync)) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..cores)
            .map(|part| {
                scope.spawn(move || {
                    let slots = (0..16_384).skip(part).step_by(cores);
                    slots.map(check).count()
                })
            })
            .collect();
        let done = parts.into_iter().map(|part| part.join().expect("a proof"));
        u32::try_from(done.sum::<usize>()).unwrap_or(0)
    })
}
