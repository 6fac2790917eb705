//! The hash functions of HAProxy. All have 32 bits and read bytes as unsigned.

use core::str::FromStr;

use crc::{CRC_32_ISO_HDLC, Crc, Table};

use crate::Error;

/// The hash of a key, before `avalanche`.
///
/// ```
/// use hashroute::compat::haproxy::ServerHash;
/// assert_eq!("wt6".parse::<ServerHash>()?, ServerHash::Wt6);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerHash {
    /// `sdbm`: h = c + 65599 h.
    #[default]
    Sdbm,
    /// `djb2`: h = c + 33 h, from 5381.
    Djb2,
    /// `wt6`: two words that are rotated by amounts from earlier bytes.
    Wt6,
    /// `crc32`: the CRC-32 of zlib.
    Crc32,
}

impl FromStr for ServerHash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "sdbm" => Ok(Self::Sdbm),
            "djb2" => Ok(Self::Djb2),
            "wt6" => Ok(Self::Wt6),
            "crc32" => Ok(Self::Crc32),
            _ => Err(Error::parameter(
                "function",
                text,
                "sdbm, djb2, wt6 or crc32",
            )),
        }
    }
}

static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

impl ServerHash {
    pub(super) fn value(self, key: &[u8]) -> u32 {
        let fold = |start: u32, factor: u32| {
            key.iter().fold(start, |hash, byte| {
                hash.wrapping_mul(factor).wrapping_add((*byte).into())
            })
        };
        match self {
            Self::Sdbm => fold(0, 65599),
            Self::Djb2 => fold(5381, 33),
            Self::Wt6 => wt6(key),
            Self::Crc32 => CRC32.checksum(key),
        }
    }
}

fn wt6(key: &[u8]) -> u32 {
    let (mut low, mut high) = (0xa53c_965a_u32, 0x5ca6_953a_u32);
    let (mut step, mut other) = (6, 18);
    for &byte in key {
        low = !(low ^ u32::from(byte));
        high = !high.wrapping_add(byte.into());
        (low, high) = (high.rotate_left(step), low.rotate_left(other));
        let mixed = ((low >> 16) ^ high) & 0xffff;
        (step, other) = (mixed & 31, mixed >> 11);
    }
    low ^ high
}

/// Hashes a number, for points and for `avalanche`: Bob Jenkins's integer hash in six steps, times a
/// prime. It is one-to-one, so different numbers never give the same point.
pub(super) fn full_hash(number: u32) -> u32 {
    let mut a = number;
    a = a.wrapping_add(0x7ed5_5d16).wrapping_add(a << 12);
    a = (a ^ 0xc761_c23c) ^ (a >> 19);
    a = a.wrapping_add(0x1656_67b1).wrapping_add(a << 5);
    a = a.wrapping_add(0xd3a2_646c) ^ (a << 9);
    a = a.wrapping_add(0xfd70_46c5).wrapping_add(a << 3);
    a = (a ^ 0xb55a_4f09) ^ (a >> 16);
    a.wrapping_mul(3_221_225_473)
}
