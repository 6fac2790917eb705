//! Ids of keys, and maps by id.

use core::fmt;
use core::hash::{BuildHasherDefault, Hasher};
use core::str::FromStr;
use std::collections::HashMap;

use siphasher::sip128::SipHasher13;

/// The number of keys that are added at once, so that memory accesses overlap.
pub(crate) const BLOCK: usize = 256;
/// The number of measures: keys, bytes and requests.
pub(crate) const MEASURES: usize = 3;
/// The amount that a key carries of each measure.
pub(crate) type Amounts = [u64; MEASURES];
/// The identity of a key: a 128-bit hash. The probability that any two of 10^12 keys collide is
/// about 10^-15.
pub(crate) type Id = u128;
pub(crate) type ById<T> = HashMap<Id, T, BuildHasherDefault<IdHasher>>;

/// The secret of the ids of one run: the key of a SipHash-1-3 with 128 bits.
///
/// Ids decide which keys are sampled and which cells of a sketch they share, so whoever could choose
/// keys by their ids could forge figures. A fast hash with a public seed is no protection: XXH3
/// multiplies by zero if eight bytes of a key equal its secret, so 64-byte keys with one id can be
/// written down. SipHash-1-3 is what tables of Rust have for the same reason. Parts that are merged
/// must have the same secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdSecret([u64; 2]);

impl IdSecret {
    /// Derives a secret from bytes, which only those who know them can do.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let hash = SipHasher13::new().hash(bytes);
        Self([hash.h1, hash.h2])
    }

    /// Returns the id of a key.
    #[inline]
    pub(crate) fn id(self, key: &[u8]) -> Id {
        let Self([k0, k1]) = self;
        SipHasher13::new_with_keys(k0, k1).hash(key).as_u128()
    }
}

/// Shows nothing of the secret.
impl fmt::Debug for IdSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdSecret(..)")
    }
}

/// Writes 32 hexadecimal digits, for a partial file.
impl fmt::Display for IdSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([k0, k1]) = self;
        write!(f, "{k0:016x}{k1:016x}")
    }
}

impl FromStr for IdSecret {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let half = |half: Option<&str>| u64::from_str_radix(half?, 16).ok();
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match (half(text.get(..16)), half(text.get(16..))) {
            (Some(k0), Some(k1)) if is_hex => Ok(Self([k0, k1])),
            _ => Err(format!("ids {text:?}: expected 32 hexadecimal digits")),
        }
    }
}

/// Hashes an id by taking its lower half: an id is a hash already. The upper half decides which
/// keys are in the sample, so within a sample it is not uniform.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    fn write_u128(&mut self, id: u128) {
        self.0 = id as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of an implementation of the paper written for this test, which gives the published
    /// vectors of SipHash-2-4 with 128 bits as well. The key is 00 01 .. 0f.
    #[test]
    fn ids_are_siphash_with_128_bits() {
        let secret = IdSecret([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        for (key, id) in [
            (&b""[..], 0x0130_30dd_6adb_62fd_bea5_8827_b2bc_7ee7),
            (b"user:1234", 0x8cbc_12f1_4960_dbba_0b89_c85a_fe49_272f),
        ] {
            assert_eq!(secret.id(key), id);
        }
    }

    #[test]
    fn a_secret_survives_its_text_and_is_not_shown() {
        let secret = IdSecret::of(b"any");
        assert_eq!(secret.to_string().parse(), Ok(secret));
        assert_eq!(format!("{secret:?}"), "IdSecret(..)");
        for wrong in ["", "0", &"0".repeat(31), &"+".repeat(32), &"é".repeat(16)] {
            assert!(wrong.parse::<IdSecret>().is_err(), "{wrong}");
        }
    }
}
