//! `MURMUR_HASH_2`: Austin Appleby's 64-bit `MurmurHash64A`, with the seed of libstdc++.

const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
const SEED: u64 = 0xc70f_6907;

pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    let blocks = bytes.chunks_exact(8);
    let rest = blocks.remainder();
    for block in blocks {
        let mixed = shift(little_endian(block).wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
        hash = (hash ^ mixed).wrapping_mul(FACTOR);
    }
    if !rest.is_empty() {
        hash = (hash ^ little_endian(rest)).wrapping_mul(FACTOR);
    }
    shift(shift(hash).wrapping_mul(FACTOR))
}

fn shift(x: u64) -> u64 {
    x ^ (x >> 47)
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}
