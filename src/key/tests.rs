use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::*;

/// Returns the chi-square of `values` over `cells` equal cells, in standard normal deviates (Wilson
/// and Hilferty, 1931). Outside ±5 once in 1.7 million cases for a random hash; far below -5 for a
/// hash that fills the cells in turn.
fn deviate(values: impl Iterator<Item = u64>, cells: u64) -> f64 {
    let mut counts = vec![0u32; usize::try_from(cells).unwrap()];
    values.for_each(|cell| counts[usize::try_from(cell).unwrap()] += 1);
    let fair = counts.iter().map(|&n| f64::from(n)).sum::<f64>() / cells as f64;
    let chi2: f64 = counts
        .iter()
        .map(|&n| (f64::from(n) - fair) * (f64::from(n) - fair) / fair)
        .sum();
    let (df, v) = ((cells - 1) as f64, 2.0 / (9.0 * (cells - 1) as f64));
    ((chi2 / df).cbrt() - (1.0 - v)) / v.sqrt()
}

/// Returns the cell of a hash if all 64 bits count, as on a ring.
fn scaled(hash: u64, cells: u64) -> u64 {
    ((u128::from(hash) * u128::from(cells)) >> 64) as u64
}

#[test]
fn sequential_ids_spread_evenly() {
    for cells in [2, 3, 10, 16, 61, 1000, 1024] {
        for first in [0, 1 << 32, u64::MAX - 1_000_000] {
            let ids = first..first + cells * 100;
            let hashes = || ids.clone().map(|id| KeyHash::from_integer(id).get());
            let modulo = deviate(hashes().map(|hash| hash % cells), cells);
            let ring = deviate(hashes().map(|hash| scaled(hash, cells)), cells);
            assert!(
                modulo.abs() < 5.0,
                "{cells} cells from {first}: modulo {modulo}"
            );
            assert!(ring.abs() < 5.0, "{cells} cells from {first}: ring {ring}");
        }
    }
}

#[test]
fn rounds_are_independent_even_for_raw_hashes() {
    const CELLS: u64 = 32;
    for step in [1, 1 << 32, GOLDEN_GAMMA] {
        for (a, b) in [(0, 1), (1, 2), (2, 3), (1, 7)] {
            let pairs = (0..100_000u64).map(|i| {
                let hash = KeyHash::from_raw(i.wrapping_mul(step));
                let [a, b] = [a, b].map(|round| scaled(hash.rehash(round).get(), CELLS));
                a * CELLS + b
            });
            let off = deviate(pairs, CELLS * CELLS);
            assert!(off.abs() < 5.0, "step {step}, rounds {a} and {b}: {off}");
        }
    }
}

#[test]
fn values_of_integers_and_rounds_never_change() {
    let integers = [0, 1, 2, 3, u64::MAX].map(|id| KeyHash::from_integer(id).get());
    assert_eq!(
        integers,
        [
            0xe220_a839_7b1d_cdaf,
            0x910a_2dec_8902_5cc1,
            0x9758_35de_1c97_56ce,
            0x1d0b_14e4_db01_8fed,
            0xe4d9_7177_1b65_2c20
        ]
    );
    let zero = [0, 1, 2, 3].map(|round| KeyHash::from_raw(0).rehash(round).get());
    assert_eq!(
        zero,
        [
            0x4821_8226_ff3c_d4bf,
            0xa706_dd2f_4d19_7e6f,
            0xb382_a305_f441_4f5e,
            0x631a_9154_fbab_f717
        ]
    );
    let user = [0, 1, 2, u64::MAX].map(|round| KeyHash::from_bytes(b"user:1").rehash(round).get());
    assert_eq!(
        user,
        [
            0x2190_a197_125b_b2fc,
            0xc60e_c6a8_762c_d762,
            0x38a6_ae94_2cf7_7999,
            0x5f81_354c_3bf3_11e8
        ]
    );
}

#[test]
fn tags_follow_the_rule_of_redis() {
    for (key, part) in [
        ("", ""),
        ("{}", "{}"),
        ("{a", "{a"),
        ("A}B{C", "A}B{C"),
        ("}{a}", "a"),
        ("foo{}{bar}", "foo{}{bar}"),
        ("foo{bar}{zap}", "bar"),
        ("foo{{bar}}zap", "{bar"),
        ("{user1000}.following", "user1000"),
        ("a{'1':{'i32':1}}", "'1':{'i32':1"),
        ("tail{", "tail{"),
    ] {
        assert_eq!(
            HashTag::BRACES.part(key.as_bytes()),
            part.as_bytes(),
            "{key}"
        );
    }
    assert_eq!(HashTag::new(b'|', b'|').part(b"|\xff|"), b"\xff");
    assert_eq!(HashTag::new(b'|', b'|').part(b"a||b|"), b"a||b|");
}

#[test]
fn tags_parse_from_two_bytes_only() {
    assert_eq!("<>".parse(), Ok(HashTag::new(b'<', b'>')));
    for wrong in ["", "{", "{}}", "中"] {
        let error = wrong.parse::<HashTag>().unwrap_err().to_string();
        assert!(
            error.starts_with("hash-tag") && error.contains("exactly two bytes"),
            "{error}"
        );
    }
}

#[test]
fn each_function_takes_only_its_own_kind_of_secret() {
    for &function in HashFunction::ALL {
        let plain = KeyHasher::new(function);
        let secret = function.secret();
        let small = plain.clone().with_seed(7);
        let large = plain.clone().with_seed(1 << 32);
        let key = plain.clone().with_key([7; 16]);
        assert_eq!(
            small.is_ok(),
            matches!(secret, Secret::Seed32 | Secret::Seed64),
            "{function}"
        );
        assert_eq!(large.is_ok(), secret == Secret::Seed64, "{function}");
        assert_eq!(key.is_ok(), secret == Secret::Key128, "{function}");
        for changed in [small, large, key].into_iter().flatten() {
            assert_ne!(changed.raw(b"key"), plain.raw(b"key"), "{function}");
        }
    }
}

#[test]
fn a_refused_secret_names_the_option_and_the_right_form() {
    let error = KeyHasher::new(HashFunction::Fnv1a32)
        .with_seed(1)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "hash-seed = \"1\" cannot be used: expected what fnv1a-32 takes: neither seed nor key"
    );
    let error = KeyHasher::new(HashFunction::Crc16)
        .with_key([0x41; 16])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "hash-key = \"..\" cannot be used: expected what crc16 takes: neither seed nor key"
    );
}

#[test]
fn debug_hides_the_key_and_shows_the_rest() {
    let hasher = KeyHasher::sip13([0x41; 16]);
    assert_eq!(
        format!("{hasher:?}"),
        "KeyHasher { function: Sip13, key: .., tag: None }"
    );
    let hasher = KeyHasher::default().with_seed(5).unwrap();
    assert_eq!(
        format!("{hasher:?}"),
        "KeyHasher { function: Xxh3, seed: 5, tag: None }"
    );
}

#[test]
fn sip13_and_with_key_read_the_same_bytes() {
    let key: Vec<u8> = (0..16).collect();
    let key: [u8; 16] = key.try_into().unwrap();
    let keyed = KeyHasher::new(HashFunction::Sip24).with_key(key).unwrap();
    // Appendix A of the paper.
    assert_eq!(keyed.raw(&key[..15]).get(), 0xa129_ca61_49be_45e5);
    assert_eq!(
        Ok(KeyHasher::sip13(key)),
        KeyHasher::new(HashFunction::Sip13).with_key(key)
    );
}

#[test]
fn spread_equals_raw_or_raw_mixed() {
    for &function in HashFunction::ALL {
        let hasher = KeyHasher::new(function).with_tag(HashTag::BRACES);
        let raw = hasher.raw(b"x{user:1}y").get();
        assert_eq!(
            raw,
            KeyHasher::new(function).raw(b"user:1").get(),
            "{function}"
        );
        let spread = if function.is_spread() {
            raw
        } else {
            mix64(raw)
        };
        assert_eq!(hasher.spread(b"x{user:1}y").get(), spread, "{function}");
    }
}

#[test]
fn tags_are_found_in_keys_of_any_length() {
    let textbook = |tag: HashTag, key: &[u8]| -> Vec<u8> {
        let [open, close] = tag.pair();
        let inside = || {
            let rest = &key[key.iter().position(|byte| *byte == open)? + 1..];
            Some(rest[..rest.iter().position(|byte| *byte == close)?].to_vec())
        };
        inside()
            .filter(|part| !part.is_empty())
            .unwrap_or(key.into())
    };
    for tag in [HashTag::BRACES, HashTag::new(0, 0x80), HashTag::new(1, 1)] {
        let [open, close] = tag.pair();
        // Neighbours of the two bytes and of 0 would show a borrow from one byte to the next.
        let others = [open ^ 1, close ^ 1, open ^ 0x80, 0, 0xff];
        for seed in 0..20_000 {
            let mut random = mix64(seed + 1);
            let key: Vec<u8> = (0..random % 48)
                .map(|_| {
                    random = mix64(random + 1);
                    match random % 24 {
                        0 => open,
                        1 => close,
                        other => others[usize::from(other.to_le_bytes()[0]) % others.len()],
                    }
                })
                .collect();
            assert_eq!(tag.part(&key), textbook(tag, &key), "{tag:?} in {key:?}");
        }
    }
}
