//! The function `fnv1a_64` of twemproxy: FNV-1a in 32 bits, with the low halves of the 64-bit
//! constants.
//!
//! With unsigned bytes it equals the low 32 bits of the true FNV-1a 64. But twemproxy reads a C
//! `char`, which is signed on x86-64 and unsigned on arm64. So two builds of it send keys with
//! bytes from 0x80 up to different servers, and there are two variants here.
//!
//! Source: twemproxy 0.5.0, `src/hashkit/nc_fnv.c`.

/// The low half of the offset of FNV 64.
pub(crate) const OFFSET: u32 = 0x8422_2325;
/// The low half of the prime of FNV 64.
pub(crate) const PRIME: u32 = 0x1b3;

/// Computes the variant for platforms with an unsigned `char`: arm64 Linux.
pub(super) fn fnv1a_64(bytes: &[u8]) -> u32 {
    fnv1a(OFFSET, PRIME, u32::from, bytes)
}

/// Computes the variant for platforms with a signed `char`: x86-64.
pub(super) fn fnv1a_64_signed(bytes: &[u8]) -> u32 {
    fnv1a(OFFSET, PRIME, sign_extended, bytes)
}

/// Computes FNV-1a in 32 bits; `widen` converts each byte.
pub(crate) fn fnv1a(offset: u32, prime: u32, widen: fn(u8) -> u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(offset, |hash, &byte| {
        (hash ^ widen(byte)).wrapping_mul(prime)
    })
}

/// Converts a byte as C converts a signed `char` to an `int`.
pub(crate) const fn sign_extended(byte: u8) -> u32 {
    if byte < 0x80 {
        byte as u32
    } else {
        byte as u32 | 0xffff_ff00
    }
}

#[cfg(test)]
mod tests {
    use super::{fnv1a_64, fnv1a_64_signed};
    use crate::hash::fnv;

    #[test]
    fn values_equal_those_of_twemproxy() {
        for (key, unsigned, signed) in [
            ("", 0x8422_2325, 0x8422_2325),
            ("metric:demo:0", 0x40c4_9708, 0x40c4_9708),
            ("metric:demo:999", 0xbd06_2e15, 0xbd06_2e15),
            ("中文:key:7", 0x8b94_52d7, 0xbbe0_1ad7),
        ] {
            assert_eq!(fnv1a_64(key.as_bytes()), unsigned, "{key}");
            assert_eq!(fnv1a_64_signed(key.as_bytes()), signed, "{key}, signed");
        }
    }

    #[test]
    fn a_high_byte_is_sign_extended_only_if_char_is_signed() {
        let low = 0x8422_2325_u32 ^ 0xc8;
        assert_eq!(fnv1a_64(b"\xc8"), low.wrapping_mul(0x1b3));
        assert_eq!(
            fnv1a_64_signed(b"\xc8"),
            (low ^ 0xffff_ff00).wrapping_mul(0x1b3)
        );
    }

    #[test]
    fn the_unsigned_variant_is_the_low_half_of_fnv1a_64() {
        for key in [&b""[..], b"a", b"foobar", b"\xc8\x00\xff"] {
            assert_eq!(u64::from(fnv1a_64(key)), fnv::fnv1a_64(key) & 0xffff_ffff);
        }
    }
}
