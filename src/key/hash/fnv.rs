//! FNV by Fowler, Noll and Vo: one multiplication per byte, no final mixing.
//!
//! Source: RFC 9923, and <http://www.isthe.com/chongo/tech/comp/fnv/>.

const OFFSET_64: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME_64: u64 = 0x0100_0000_01b3;
/// The offset of FNV 32.
pub(crate) const OFFSET_32: u32 = 0x811c_9dc5;
/// The prime of FNV 32.
pub(crate) const PRIME_32: u32 = 0x0100_0193;

pub(super) fn fnv1a_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(OFFSET_64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME_64)
    })
}

pub(super) fn fnv1_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(OFFSET_64, |hash, &byte| {
        hash.wrapping_mul(PRIME_64) ^ u64::from(byte)
    })
}

pub(super) fn fnv1a_32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(OFFSET_32, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(PRIME_32)
    })
}
