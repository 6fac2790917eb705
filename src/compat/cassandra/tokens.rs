//! The tokens of keys.

use md5::{Digest, Md5};

/// Returns the token of `Murmur3Partitioner`: the first half of `MurmurHash3_x64_128` with seed 0,
/// but with the bytes of the last, partial block sign-extended.
///
/// Source: Austin Appleby's function, <https://github.com/aappleby/smhasher>, in the form of
/// Cassandra's `MurmurHash.hash3_x64_128`.
///
/// ```
/// use hashroute::compat::cassandra::murmur3_token;
/// assert_eq!(murmur3_token(b""), 0);
/// assert_eq!(murmur3_token(b"user:1"), 6_120_565_781_388_772_718);
/// ```
pub fn murmur3_token(key: &[u8]) -> i64 {
    match i64::from_be_bytes(first_half(key).to_be_bytes()) {
        i64::MIN => i64::MAX,
        token => token,
    }
}

/// Returns the token of `RandomPartitioner`: the absolute value of the MD5 digest as a signed
/// big-endian number. The digest of -2^127 gives 2^127 - 1, because `i128` cannot hold 2^127.
///
/// ```
/// use hashroute::compat::cassandra::random_token;
/// assert_eq!(random_token(b"user:1"), 88134755466692984910954222269423366958);
/// ```
pub fn random_token(key: &[u8]) -> i128 {
    i128::from_be_bytes(Md5::digest(key).into()).saturating_abs()
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

fn first_half(key: &[u8]) -> u64 {
    let (mut h1, mut h2) = (0, 0);
    let mut blocks = key.chunks_exact(16);
    for block in &mut blocks {
        h1 = (h1 ^ scramble1(word(&block[..8]))).rotate_left(27);
        h1 = step(h1.wrapping_add(h2), 0x52dc_e729);
        h2 = (h2 ^ scramble2(word(&block[8..]))).rotate_left(31);
        h2 = step(h2.wrapping_add(h1), 0x3849_5ab5);
    }
    let tail = blocks.remainder();
    let (low, high) = tail.split_at(tail.len().min(8));
    h1 ^= scramble1(signed(low));
    h2 ^= scramble2(signed(high));
    let len = key.len() as u64;
    (h1, h2) = (h1 ^ len, h2 ^ len);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    mix(h1).wrapping_add(mix(h2))
}

fn scramble1(word: u64) -> u64 {
    word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scramble2(word: u64) -> u64 {
    word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn step(hash: u64, add: u64) -> u64 {
    hash.wrapping_mul(5).wrapping_add(add)
}

fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// Returns a little-endian word of a whole block: Java masks these bytes to unsigned values.
fn word(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Returns a little-endian word of the partial block: Java shifts these bytes with their sign.
fn signed(bytes: &[u8]) -> u64 {
    let extended = bytes.iter().map(|&byte| match byte {
        0x80.. => u64::from(byte) | !0xff,
        _ => u64::from(byte),
    });
    let shifted = extended.enumerate().map(|(at, byte)| byte << (8 * at));
    shifted.fold(0, |word, byte| word ^ byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only a negative byte in the last block makes a difference.
    #[test]
    fn equals_the_standard_function_below_0x80() {
        let bytes: [u8; 64] = core::array::from_fn(|i| (i * 7 % 128).to_le_bytes()[0]);
        for len in 0..=bytes.len() {
            let key = &bytes[..len];
            let standard = mur3::murmurhash3_x64_128(key, 0).0;
            assert_eq!(first_half(key), standard, "{len}");
        }
        let mut block = [0xff; 17];
        block[16] = 1;
        let standard = mur3::murmurhash3_x64_128(&block, 0).0;
        assert_eq!(first_half(&block), standard);
        assert_ne!(first_half(&[0x80]), mur3::murmurhash3_x64_128(&[0x80], 0).0);
    }

    #[test]
    fn the_smallest_integer_is_no_token() {
        let key = [
            0xee, 0x96, 0x16, 0x29, 0xb0, 0xb5, 0xad, 0x1d, 0x31, 0x9e, 0x18, 0xe8, 0x38, 0x92,
            0xdb, 0xed,
        ];
        assert_eq!(first_half(&key), 1 << 63);
        assert_eq!(murmur3_token(&key), i64::MAX);
    }
}
