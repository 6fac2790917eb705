use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::{BEHIND, HashFunction, Secret, mix64};

const FOX: &[u8] = b"The quick brown fox jumps over the lazy dog";
const CHECK: &[u8] = b"123456789";
const SEED: u64 = 0x9747_b28c;

/// Function, seed, bytes, value.
type Vector = (&'static str, u64, &'static [u8], u64);

/// Returns the function with this name; `None` if this build does not have it.
fn built(name: &str) -> Option<HashFunction> {
    let found = name.parse();
    let behind = BEHIND.iter().any(|(behind, _)| *behind == name);
    assert!(found.is_ok() || behind, "{name} is missing");
    found.ok()
}

// Vectors published by the authors of each function, or by the catalogue of CRCs (the value of
// "123456789"). Those of xxHash and seeded MurmurHash come from the C libraries, those of
// SipHash-1-3 from CPython 3.11, which hashes bytes with it under a zero key.
const PUBLISHED: &[Vector] = &[
    ("xxh3", 0, b"", 0x2d06_8005_38d3_94c2),
    ("xxh3", 0, b"a", 0xe6c6_32b6_1e96_4e1f),
    ("xxh3", 0, b"abc", 0x78af_5f94_892f_3950),
    ("xxh3", 0, FOX, 0xce7d_19a5_418f_b365),
    ("xxh3", 1, FOX, 0x1e09_8210_b55f_ad4a),
    ("xxh64", 0, b"", 0xef46_db37_51d8_e999),
    ("xxh64", 0, b"a", 0xd24e_c4f1_a98c_6e5b),
    ("xxh64", 0, b"abc", 0x44bc_2cf5_ad77_0999),
    ("xxh64", 1, FOX, 0xdf50_91b6_dad2_c6db),
    ("sip13", 0, b"a", 0x4074_48d2_b89b_1813),
    ("sip13", 0, b"foobar", 0x7738_ae0a_5df0_9b34),
    ("sip13", 0, FOX, 0x8df6_76d3_d00c_451e),
    ("md5", 0, b"", 0xd41d_8cd9_8f00_b204),
    ("md5", 0, b"abc", 0x9001_5098_3cd2_4fb0),
    ("fnv1a-64", 0, b"", 0xcbf2_9ce4_8422_2325),
    ("fnv1a-64", 0, b"a", 0xaf63_dc4c_8601_ec8c),
    ("fnv1a-64", 0, b"foobar", 0x8594_4171_f739_67e8),
    ("fnv1-64", 0, b"", 0xcbf2_9ce4_8422_2325),
    ("fnv1-64", 0, b"a", 0xaf63_bd4c_8601_b7be),
    ("fnv1-64", 0, b"foobar", 0x340d_8765_a4dd_a9c2),
    ("fnv1a-32", 0, b"", 0x811c_9dc5),
    ("fnv1a-32", 0, b"a", 0xe40c_292c),
    ("fnv1a-32", 0, b"foobar", 0xbf9c_f968),
    ("crc16", 0, CHECK, 0x31c3),
    ("crc32", 0, CHECK, 0xcbf4_3926),
    ("crc64", 0, CHECK, 0x995d_c9bb_df19_39fa),
    ("murmur3-32", 0, b"", 0),
    ("murmur3-32", 1, b"", 0x514e_28b7),
    ("murmur3-32", 0xffff_ffff, b"", 0x81f1_6f39),
    ("murmur3-32", SEED, b"Hello, world!", 0x2488_4cba),
    ("murmur3-32", SEED, FOX, 0x2fa8_26cd),
    ("murmur3-128", 0, FOX, 0xe34b_bc7b_bc07_1b6c),
    ("murmur3-128", 1, FOX, 0xe533_566d_bbd1_e13e),
];

#[test]
fn each_function_equals_its_published_vectors() {
    for &(name, seed, bytes, value) in PUBLISHED {
        let Some(function) = built(name) else {
            continue;
        };
        assert_eq!(
            function.value([seed, 0], bytes),
            value,
            "{function} of {bytes:?}, seed {seed}"
        );
    }
}

// The verification of SMHasher: the hash of the hashes of 0, 01, 0102, … under seeds 256, 255, ….
// One number covers all lengths up to 255 and the seed.
#[test]
fn functions_equal_the_verification_of_smhasher() {
    let bytes: Vec<u8> = (0..=255).collect();
    for (name, width, verified) in [
        ("xxh64", 8, 0x024b_7cf4),
        ("xxh3", 8, 0x9a63_6405),
        ("murmur3-32", 4, 0xb0f5_7ee3),
    ] {
        let Some(function) = built(name) else {
            continue;
        };
        let hashes: Vec<u8> = (0..256)
            .flat_map(|length| {
                let hash = function.value([256 - length as u64, 0], &bytes[..length]);
                hash.to_le_bytes().into_iter().take(width)
            })
            .collect();
        assert_eq!(
            function.value([0; 2], &hashes) & 0xffff_ffff,
            verified,
            "{function}"
        );
    }
}

/// The values of every length from 0 to 300, folded into one number, so that a change in any path
/// of a function shows. Computed by other implementations, in Python and C.
const PINS: &[(&str, u64)] = &[
    ("xxh3", 0x51c5_8d8e_c32a_339f),
    ("xxh64", 0x2006_f0d4_fbed_2bbe),
    ("sip13", 0x656e_42fd_f9b3_cb9f),
    ("sip24", 0x77b8_c9a0_598e_78c8),
    ("md5", 0xb48b_1c73_bc23_f345),
    ("fnv1a-64", 0x7e55_7f82_0b3e_8265),
    ("fnv1-64", 0x63a4_e244_8c26_ce41),
    ("fnv1a-32", 0xfc63_9d75_09ab_3167),
    ("crc16", 0xe581_df99_5e84_c655),
    ("crc32", 0x5539_cf65_68c6_11b0),
    ("crc64", 0xc6a1_dd2f_1aeb_35de),
    ("murmur3-32", 0xda11_8af2_98d7_8fd0),
    ("murmur3-128", 0xadf9_e5c9_c833_2edc),
    ("twemproxy-fnv1a-64", 0x0b69_a75f_c07f_a563),
    ("twemproxy-fnv1a-64-signed", 0xc358_0eb4_2d0c_9758),
];

#[test]
fn every_function_keeps_its_values() {
    let bytes: Vec<u8> = (0..300u32).map(|i| ((i * 151) & 0xff) as u8).collect();
    for &function in HashFunction::ALL {
        let pin = PINS.iter().find(|(name, _)| *name == function.name());
        let fold = |pin, length| mix64(pin ^ function.value([0; 2], &bytes[..length]));
        let folded = (0..=300).fold(0, fold);
        assert_eq!(pin, Some(&(function.name(), folded)));
    }
}

#[test]
fn values_have_the_stated_number_of_bits() {
    let long = vec![0xc8; 1 << 20];
    for function in HashFunction::ALL {
        let keys = (0..=255u8)
            .map(|byte| vec![byte])
            .chain([vec![], long.clone()]);
        let bits = keys.fold(0, |bits, key| bits | function.value([0; 2], &key));
        assert_eq!(64 - bits.leading_zeros(), function.bits(), "{function}");
    }
}

#[test]
fn names_are_unique_and_parse_back() {
    for function in HashFunction::ALL {
        assert_eq!(function.name().parse(), Ok(*function));
        assert_eq!(function.to_string(), function.name());
        assert!(!function.about().contains('\n'));
    }
    let error = "sha1".parse::<HashFunction>().unwrap_err().to_string();
    assert!(
        error.starts_with("hash = \"sha1\" cannot be used: expected one of xxh3, xxh64, sip13"),
        "{error}"
    );
}

#[test]
fn a_function_that_is_not_built_names_its_feature() {
    for (name, feature) in BEHIND {
        if let Err(error) = name.parse::<HashFunction>() {
            let wanted = format!("the feature {feature} of hashroute");
            assert!(error.to_string().contains(&wanted), "{error}");
        }
    }
}

#[test]
fn only_functions_that_fill_64_bits_are_not_mixed() {
    let even = ["xxh3", "xxh64", "sip13", "sip24", "md5", "murmur3-128"];
    for function in HashFunction::ALL {
        let spread = even.contains(&function.name());
        assert_eq!(function.is_spread(), spread, "{function}");
        assert!(!spread || function.bits() == 64, "{function}");
    }
    assert_eq!(HashFunction::Sip24.secret(), Secret::Key128);
}
