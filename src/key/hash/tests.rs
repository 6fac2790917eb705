use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::HashFunction::{self, *};
use super::{Secret, mix64};

const FOX: &[u8] = b"The quick brown fox jumps over the lazy dog";
const CHECK: &[u8] = b"123456789";
const SEED: u64 = 0x9747_b28c;

/// Function, seed, bytes, value.
type Vector = (HashFunction, u64, &'static [u8], u64);

// As published by the authors of each function, or by the catalogue of CRCs (the value of
// "123456789"); the xxHash and seeded MurmurHash ones as the C libraries give them, SipHash-1-3
// as CPython 3.11 hashes bytes under a zero key.
const PUBLISHED: &[Vector] = &[
    (Xxh3, 0, b"", 0x2d06_8005_38d3_94c2),
    (Xxh3, 0, b"a", 0xe6c6_32b6_1e96_4e1f),
    (Xxh3, 0, b"abc", 0x78af_5f94_892f_3950),
    (Xxh3, 0, FOX, 0xce7d_19a5_418f_b365),
    (Xxh3, 1, FOX, 0x1e09_8210_b55f_ad4a),
    (Xxh64, 0, b"", 0xef46_db37_51d8_e999),
    (Xxh64, 0, b"a", 0xd24e_c4f1_a98c_6e5b),
    (Xxh64, 0, b"abc", 0x44bc_2cf5_ad77_0999),
    (Xxh64, 1, FOX, 0xdf50_91b6_dad2_c6db),
    (Sip13, 0, b"a", 0x4074_48d2_b89b_1813),
    (Sip13, 0, b"foobar", 0x7738_ae0a_5df0_9b34),
    (Sip13, 0, FOX, 0x8df6_76d3_d00c_451e),
    (Md5, 0, b"", 0xd41d_8cd9_8f00_b204),
    (Md5, 0, b"abc", 0x9001_5098_3cd2_4fb0),
    (Fnv1a64, 0, b"", 0xcbf2_9ce4_8422_2325),
    (Fnv1a64, 0, b"a", 0xaf63_dc4c_8601_ec8c),
    (Fnv1a64, 0, b"foobar", 0x8594_4171_f739_67e8),
    (Fnv1_64, 0, b"", 0xcbf2_9ce4_8422_2325),
    (Fnv1_64, 0, b"a", 0xaf63_bd4c_8601_b7be),
    (Fnv1_64, 0, b"foobar", 0x340d_8765_a4dd_a9c2),
    (Fnv1a32, 0, b"", 0x811c_9dc5),
    (Fnv1a32, 0, b"a", 0xe40c_292c),
    (Fnv1a32, 0, b"foobar", 0xbf9c_f968),
    (Crc16, 0, CHECK, 0x31c3),
    (Crc32, 0, CHECK, 0xcbf4_3926),
    (Crc64, 0, CHECK, 0x995d_c9bb_df19_39fa),
    (Murmur3_32, 0, b"", 0),
    (Murmur3_32, 1, b"", 0x514e_28b7),
    (Murmur3_32, 0xffff_ffff, b"", 0x81f1_6f39),
    (Murmur3_32, SEED, b"Hello, world!", 0x2488_4cba),
    (Murmur3_32, SEED, FOX, 0x2fa8_26cd),
    (Murmur3_128, 0, FOX, 0xe34b_bc7b_bc07_1b6c),
    (Murmur3_128, 1, FOX, 0xe533_566d_bbd1_e13e),
];

#[test]
fn each_function_is_the_standard_one() {
    for &(function, seed, bytes, value) in PUBLISHED {
        assert_eq!(
            function.value([seed, 0], bytes),
            value,
            "{function} of {bytes:?}, seed {seed}"
        );
    }
}

// SMHasher's verification: the hash of the hashes of 0, 01, 0102, … under seeds 256, 255, ….
// One number stands for all lengths up to 255 and for the seed.
#[test]
fn smhasher_agrees() {
    let bytes: Vec<u8> = (0..=255).collect();
    for (function, width, verified) in [
        (Xxh64, 8, 0x024b_7cf4),
        (Xxh3, 8, 0x9a63_6405),
        (Murmur3_32, 4, 0xb0f5_7ee3),
    ] {
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

/// Every length from 0 to 300 folded into one number: a change in any path of any function shows.
/// Computed by other implementations, in Python and C.
const PINS: &[(HashFunction, u64)] = &[
    (Xxh3, 0x51c5_8d8e_c32a_339f),
    (Xxh64, 0x2006_f0d4_fbed_2bbe),
    (Sip13, 0x656e_42fd_f9b3_cb9f),
    (Sip24, 0x77b8_c9a0_598e_78c8),
    (Md5, 0xb48b_1c73_bc23_f345),
    (Fnv1a64, 0x7e55_7f82_0b3e_8265),
    (Fnv1_64, 0x63a4_e244_8c26_ce41),
    (Fnv1a32, 0xfc63_9d75_09ab_3167),
    (Crc16, 0xe581_df99_5e84_c655),
    (Crc32, 0x5539_cf65_68c6_11b0),
    (Crc64, 0xc6a1_dd2f_1aeb_35de),
    (Murmur3_32, 0xda11_8af2_98d7_8fd0),
    (Murmur3_128, 0xadf9_e5c9_c833_2edc),
    (TwemproxyFnv1a64, 0x0b69_a75f_c07f_a563),
    (TwemproxyFnv1a64Signed, 0xc358_0eb4_2d0c_9758),
];

#[test]
fn every_function_is_pinned() {
    let bytes: Vec<u8> = (0..300u32).map(|i| ((i * 151) & 0xff) as u8).collect();
    assert_eq!(PINS.len(), HashFunction::ALL.len(), "a function has no pin");
    for &(function, pin) in PINS {
        let fold = |pin, length| mix64(pin ^ function.value([0; 2], &bytes[..length]));
        assert_eq!((0..=300).fold(0, fold), pin, "{function}");
    }
}

#[test]
fn values_are_as_wide_as_said() {
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
fn only_even_functions_take_part_unmixed() {
    let spread: Vec<_> = HashFunction::ALL
        .iter()
        .filter(|function| function.is_spread())
        .collect();
    assert_eq!(spread, [&Xxh3, &Xxh64, &Sip13, &Sip24, &Md5, &Murmur3_128]);
    assert!(spread.iter().all(|function| function.bits() == 64));
    assert_eq!(Sip24.secret(), Secret::Key128);
}
