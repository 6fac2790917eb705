//! Hashes the bytes of a key into the number that strategies route by.

use alloc::format;
use alloc::string::String;
use core::fmt;

pub mod hash;
mod identity;
#[cfg(feature = "serde")]
mod number;
mod tag;

pub use identity::{HashId, SystemHash};
pub use tag::HashTag;

use crate::error::Error;
use crate::hash::{GOLDEN_GAMMA, HashFunction, Secret, mix64};

/// The hash of a key: 64 bits. A strategy sees nothing else of the key.
///
/// Make one with a [`KeyHasher`], from an integer id, or from an existing hash.
///
/// ```
/// use hashroute::{KeyHash, KeyHasher};
///
/// assert_eq!(KeyHash::from_bytes(b"user:1"), KeyHasher::default().spread(b"user:1"));
/// assert_ne!(KeyHash::from_integer(1), KeyHash::from_raw(1));
/// ```
///
/// [`Display`](fmt::Display) writes 16 hexadecimal digits. With the feature `serde`, text formats
/// use the same form, because JSON readers that store numbers as doubles lose digits above 2^53.
/// Binary formats use the number.
///
/// ```
/// use hashroute::KeyHash;
///
/// let hash = KeyHash::from_raw(0xbeef);
/// assert_eq!((hash.to_string(), format!("{hash:x}")), ("000000000000beef".into(), "beef".into()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHash(u64);

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::LowerHex for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

impl KeyHash {
    /// Returns the default hash of a key: XXH3 with seed 0. A few nanoseconds for a short key.
    ///
    /// ```
    /// use hashroute::KeyHash;
    ///
    /// assert_eq!(KeyHash::from_bytes(b"").get(), 0x2d06_8005_38d3_94c2);
    /// ```
    #[inline]
    pub fn from_bytes(key: &[u8]) -> Self {
        Self(HashFunction::Xxh3.value([0; 2], key))
    }

    /// Returns the hash of an integer id, mixed so that sequential ids spread evenly.
    ///
    /// It is the first output of `SplitMix64` from the state `id`. Different ids never collide.
    ///
    /// ```
    /// use hashroute::KeyHash;
    ///
    /// assert_eq!(KeyHash::from_integer(0).get(), 0xe220_a839_7b1d_cdaf);
    /// ```
    #[inline]
    pub const fn from_integer(id: u64) -> Self {
        Self(mix64(id.wrapping_add(GOLDEN_GAMMA)))
    }

    /// Makes a key hash from an existing hash, without mixing.
    ///
    /// Ring, rendezvous, jump and Maglev need a hash that is evenly distributed over all 64 bits,
    /// as the hashes of [`KeyHasher::spread`] are.
    #[inline]
    pub const fn from_raw(hash: u64) -> Self {
        Self(hash)
    }

    /// Returns the number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns another hash of the same key, one for each `round`, for walks that draw again. The
    /// hashes of all rounds are independent of each other and of this hash. Four multiplications.
    ///
    /// Works for any hash, also for 0 and for sequential numbers from [`from_raw`](Self::from_raw).
    /// Within one round, different hashes stay different. Round 0 is a new hash too.
    ///
    /// ```
    /// use hashroute::KeyHash;
    ///
    /// let hash = KeyHash::from_bytes(b"user:1");
    /// assert_eq!(hash.rehash(1), hash.rehash(1));
    /// assert_ne!(hash.rehash(1), hash.rehash(2));
    /// ```
    #[inline]
    #[must_use]
    pub const fn rehash(self, round: u64) -> Self {
        // Mixed before the step too. Otherwise hashes with a distance of a multiple of gamma, as in
        // Fibonacci hashing, would share their rounds.
        let start = mix64(self.0.wrapping_add(GOLDEN_GAMMA));
        Self(mix64(start.wrapping_add(round.wrapping_mul(GOLDEN_GAMMA))))
    }
}

/// Hashes keys: a [`HashFunction`], its seed or key, and optionally a [`HashTag`].
///
/// Peers that must agree on routes must use equal hashers. The default is XXH3 with seed 0 and no
/// tag, in this and every later version.
///
/// ```
/// use hashroute::{HashFunction, HashTag, KeyHasher};
///
/// let hasher = KeyHasher::new(HashFunction::Xxh64).with_seed(42)?.with_tag(HashTag::BRACES);
/// assert_eq!(hasher.spread(b"{user:1}:cart"), hasher.spread(b"{user:1}:orders"));
/// # Ok::<(), hashroute::Error>(())
/// ```
///
/// There is no serde for hashers, so that a secret key does not get into a log or a file by
/// accident. `Spec` (feature `spec`) writes hashers for peers.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KeyHasher {
    function: HashFunction,
    /// The seed and 0, or the key as two little-endian words.
    secret: [u64; 2],
    tag: Option<HashTag>,
    /// Whether this is XXH3 of whole keys. Nearly every lookup tests this one flag, not two fields.
    plain: bool,
}

impl KeyHasher {
    /// The hasher of Redis Cluster: CRC-16/XMODEM and the tag `{}`. The slot of a key is
    /// [`raw`](Self::raw) modulo 16384.
    ///
    /// ```
    /// use hashroute::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::REDIS.raw(b"{user1000}.following").get() % 16384, 3443);
    /// ```
    pub const REDIS: Self = Self::made(HashFunction::Crc16, [0; 2], Some(HashTag::BRACES));

    const fn made(function: HashFunction, secret: [u64; 2], tag: Option<HashTag>) -> Self {
        Self {
            plain: matches!((function, tag), (HashFunction::Xxh3, None)),
            function,
            secret,
            tag,
        }
    }

    /// Makes a hasher of whole keys with `function`. Its seed or key is 0.
    ///
    /// ```
    /// use hashroute::{HashFunction, KeyHasher};
    ///
    /// assert_eq!(KeyHasher::new(HashFunction::Fnv1a64).raw(b"a").get(), 0xaf63_dc4c_8601_ec8c);
    /// ```
    pub const fn new(function: HashFunction) -> Self {
        Self::made(function, [0; 2], None)
    }

    /// Makes a hasher with SipHash-1-3 and a secret key. Nobody without the secret key can choose
    /// keys that all go to one node. It covers keys, not names of nodes: [`Node`](crate::Node)
    /// tells what to do if strangers choose those.
    ///
    /// ```
    /// use hashroute::{HashFunction, KeyHasher};
    ///
    /// let hasher = KeyHasher::sip13(*b"only peers know!");
    /// assert_eq!(hasher.function(), HashFunction::Sip13);
    /// assert!(!format!("{hasher:?}").contains("only peers"));
    /// ```
    pub const fn sip13(key: [u8; 16]) -> Self {
        Self::made(HashFunction::Sip13, words(key), None)
    }

    /// Sets the seed.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the function takes no seed, or if `seed` does not fit into its 32
    /// bits.
    ///
    /// ```
    /// use hashroute::{HashFunction, KeyHasher};
    ///
    /// let seeded = KeyHasher::default().with_seed(1)?;
    /// assert_ne!(seeded.raw(b"a"), KeyHasher::default().raw(b"a"));
    /// assert!(KeyHasher::new(HashFunction::Fnv1a64).with_seed(1).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn with_seed(self, seed: u64) -> Result<Self, Error> {
        let taken = match self.function.secret() {
            Secret::Seed64 => true,
            Secret::Seed32 => seed <= u32::MAX.into(),
            Secret::None | Secret::Key128 => false,
        };
        if taken {
            Ok(Self {
                secret: [seed, 0],
                ..self
            })
        } else {
            Err(Error::parameter("hash-seed", seed, self.expected()))
        }
    }

    /// Sets a secret key of 128 bits.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the function takes no secret key. The message does not show the key.
    ///
    /// ```
    /// use hashroute::{HashFunction, KeyHasher};
    ///
    /// let key = *b"only peers know!";
    /// let hasher = KeyHasher::new(HashFunction::Sip24).with_key(key)?;
    /// assert_ne!(hasher, KeyHasher::new(HashFunction::Sip24));
    /// assert!(KeyHasher::default().with_key(key).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn with_key(self, key: [u8; 16]) -> Result<Self, Error> {
        if self.function.secret() == Secret::Key128 {
            Ok(Self {
                secret: words(key),
                ..self
            })
        } else {
            Err(Error::parameter("hash-key", "..", self.expected()))
        }
    }

    /// Sets another function. The tag stays, and so does the seed or the secret key if the new
    /// function takes one.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the new function takes a secret key and there is none, or if the
    /// seed does not fit into its 32 bits.
    ///
    /// ```
    /// use hashroute::{HashFunction, HashTag, KeyHasher};
    ///
    /// let hasher = KeyHasher::default().with_seed(7)?.with_tag(HashTag::BRACES);
    /// let other = hasher.clone().with_function(HashFunction::Xxh64)?;
    /// assert_eq!(other, KeyHasher::new(HashFunction::Xxh64).with_seed(7)?.with_tag(HashTag::BRACES));
    /// assert!(hasher.with_function(HashFunction::Sip13).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn with_function(self, function: HashFunction) -> Result<Self, Error> {
        let takes_seed = |secret| matches!(secret, Secret::Seed32 | Secret::Seed64);
        let other = Self::made(function, [0; 2], self.tag);
        match (self.function.secret(), function.secret()) {
            (Secret::Key128, Secret::Key128) => Ok(Self {
                secret: self.secret,
                ..other
            }),
            (_, Secret::Key128) => Err(Error::parameter("hash-key", "", other.expected())),
            (old, new) if takes_seed(old) && takes_seed(new) => other.with_seed(self.secret[0]),
            _ => Ok(other),
        }
    }

    /// Sets a tag: only the tagged part of each key is hashed.
    ///
    /// ```
    /// use hashroute::{HashTag, KeyHasher};
    ///
    /// let hasher = KeyHasher::default().with_tag(HashTag::BRACES);
    /// assert_eq!(hasher.raw(b"{a}:1"), KeyHasher::default().raw(b"a"));
    /// ```
    #[must_use]
    pub const fn with_tag(self, tag: HashTag) -> Self {
        Self::made(self.function, self.secret, Some(tag))
    }

    /// Hashes whole keys, whatever the tag was.
    #[must_use]
    pub const fn without_tag(self) -> Self {
        Self::made(self.function, self.secret, None)
    }

    /// Returns the hash function.
    pub const fn function(&self) -> HashFunction {
        self.function
    }

    /// Returns the hash tag, if there is one.
    pub const fn tag(&self) -> Option<HashTag> {
        self.tag
    }

    /// Returns the bytes of `key` that are hashed: the tagged part, or all. O(1) without a tag,
    /// otherwise O(length of the key).
    ///
    /// ```
    /// use hashroute::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::REDIS.part(b"{user:1}:cart"), b"user:1");
    /// assert_eq!(KeyHasher::default().part(b"{user:1}:cart"), b"{user:1}:cart");
    /// ```
    #[inline]
    pub fn part<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        match self.tag {
            None => key,
            Some(tag) => tag.part(key),
        }
    }

    /// Returns the value of the function without mixing, with a width of
    /// [`bits`](HashFunction::bits), for strategies that use its remainder: modulo and hash slots.
    /// O(length of the key).
    ///
    /// ```
    /// use hashroute::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::REDIS.raw(b"123456789").get(), 0x31c3);
    /// ```
    #[inline]
    pub fn raw(&self, key: &[u8]) -> KeyHash {
        KeyHash(self.function.value(self.secret, self.part(key)))
    }

    /// Returns a hash over all 64 bits, for strategies that compare whole numbers: ring,
    /// rendezvous, jump, Maglev. O(length of the key).
    ///
    /// It equals [`raw`](Self::raw) if the function [fills 64 bits](HashFunction::is_spread);
    /// otherwise it is `raw` through [`mix64`]. Mixing spreads a narrow value but adds no
    /// information: CRC-16 still has only 65536 different values.
    ///
    /// ```
    /// use hashroute::hash::mix64;
    /// use hashroute::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::REDIS.spread(b"123456789").get(), mix64(0x31c3));
    /// ```
    #[inline]
    pub fn spread(&self, key: &[u8]) -> KeyHash {
        // A separate case, so that the default inlines into the caller and the rest does not.
        if self.plain {
            return KeyHash(HashFunction::Xxh3.value(self.secret, key));
        }
        self.spread_as_told(key)
    }

    /// Returns the same hash as [`spread`](Self::spread), for
    /// [`Router::hash_key`](crate::Router::hash_key).
    // The `Some` is made here, next to the hash. In a call through a pointer nothing inlines, and
    // making it in the caller would cost a stack frame. The rest is a tail call for the same
    // reason.
    #[expect(clippy::inline_always, reason = "a call costs a third of the hash")]
    #[inline(always)]
    pub(crate) fn spread_some(&self, key: &[u8]) -> Option<KeyHash> {
        if self.plain && key.len() <= HashFunction::SHORT {
            return Some(KeyHash(HashFunction::Xxh3.value(self.secret, key)));
        }
        self.spread_any(key)
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "making the Some here is cheapest, see above"
    )]
    #[inline(never)]
    fn spread_any(&self, key: &[u8]) -> Option<KeyHash> {
        Some(self.mixed(key))
    }

    /// Returns the same hash as [`raw`](Self::raw), as an `Option`, which is cheapest to make here.
    #[expect(clippy::inline_always, reason = "a call costs a third of the hash")]
    #[inline(always)]
    pub(crate) fn raw_some(&self, key: &[u8]) -> Option<KeyHash> {
        if self.plain && key.len() <= HashFunction::SHORT {
            return Some(KeyHash(HashFunction::Xxh3.value(self.secret, key)));
        }
        self.raw_any(key)
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "making the Some here is cheapest, see above"
    )]
    #[inline(never)]
    fn raw_any(&self, key: &[u8]) -> Option<KeyHash> {
        let part = self.part(key);
        // A separate arm, so that the function of Redis is inlined. The other arm calls by a table.
        Some(KeyHash(match self.function {
            HashFunction::Crc16 => HashFunction::Crc16.value(self.secret, part),
            other => other.value(self.secret, part),
        }))
    }

    #[inline(never)]
    fn spread_as_told(&self, key: &[u8]) -> KeyHash {
        self.mixed(key)
    }

    /// Hashes the tagged part, and mixes the hash if the function does not fill 64 bits.
    #[inline]
    fn mixed(&self, key: &[u8]) -> KeyHash {
        let part = self.part(key);
        // Among the mixed functions that of Redis is used most, so it is tested first.
        if self.function == HashFunction::Crc16 {
            return KeyHash(mix64(HashFunction::Crc16.value(self.secret, part)));
        }
        let raw = self.function.value(self.secret, part);
        if self.function.is_spread() {
            KeyHash(raw)
        } else {
            KeyHash(mix64(raw))
        }
    }

    #[cfg(feature = "spec")]
    pub(crate) const fn secret(&self) -> [u64; 2] {
        self.secret
    }

    fn expected(&self) -> String {
        format!("what {} takes: {}", self.function, self.function.secret())
    }
}

impl Default for KeyHasher {
    fn default() -> Self {
        Self::new(HashFunction::Xxh3)
    }
}

#[expect(
    clippy::missing_fields_in_debug,
    reason = "`plain` follows from the others"
)]
impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hasher = f.debug_struct("KeyHasher");
        hasher.field("function", &self.function);
        match self.function.secret() {
            Secret::None => {}
            Secret::Seed32 | Secret::Seed64 => {
                hasher.field("seed", &self.secret[0]);
            }
            // A reader of the log could otherwise choose keys that all go to one node.
            Secret::Key128 => {
                hasher.field("key", &format_args!(".."));
            }
        }
        hasher.field("tag", &self.tag).finish()
    }
}

// Little-endian, as in the paper of SipHash.
const fn words(key: [u8; 16]) -> [u64; 2] {
    let key = u128::from_le_bytes(key);
    [(key & 0xffff_ffff_ffff_ffff) as u64, (key >> 64) as u64]
}

#[cfg(test)]
mod tests;
