//! The named hash functions that turn the bytes of a key into a number.
//!
//! Each is the standard function of its name, checked against published vectors. Its values are the
//! same in every process, on every platform and in every version. Use a function through a
//! [`KeyHasher`](crate::KeyHasher), which adds the seed, the hash tag and the mixing.
//!
//! | function | bits | takes | fills 64 bits | use it |
//! |---|---|---|---|---|
//! | `xxh3` | 64 | 64-bit seed | yes | always, unless one of the reasons below holds |
//! | `xxh64` | 64 | 64-bit seed | yes | to agree with Envoy and other users of it |
//! | `sip13`, `sip24` | 64 | 128-bit key | yes | if strangers choose the keys, so that they cannot send them all to one node |
//! | `murmur3-128` | 64 | 32-bit seed | yes | to agree with others |
//! | `md5` | 64 | nothing | yes | to agree with others; slow |
//! | `fnv…`, `crc…`, `murmur3-32`, `twemproxy…` | 16 to 64 | nothing, or a 32-bit seed | no | to agree with others |
//!
//! The features `md5`, `crc` (for `crc32` and `crc64`) and `murmur` add functions of other crates.
//! The feature `compat` adds all of them.
//!
//! ```
//! use hashroute::{HashFunction, KeyHasher};
//!
//! let crc16: HashFunction = "crc16".parse()?;
//! assert_eq!(KeyHasher::new(crc16).raw(b"123456789").get(), 0x31c3);
//! # Ok::<(), hashroute::Error>(())
//! ```

mod crc16;
pub(crate) mod fnv;
pub(crate) mod log2;
mod mix;
pub(crate) mod twemproxy;

use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

#[cfg(feature = "crc")]
use crc::{CRC_32_ISO_HDLC, CRC_64_XZ, Crc, Table};
#[cfg(feature = "md5")]
use md5::{Digest, Md5};
use siphasher::sip::{SipHasher13, SipHasher24};
use xxhash_rust::{xxh3, xxh64};

pub(crate) use mix::GOLDEN_GAMMA;
pub use mix::mix64;
pub(crate) use mix::scale;

use crate::error::Error;

/// The seed or key that a hash function takes in addition to the bytes.
///
/// ```
/// use hashroute::hash::{HashFunction, Secret};
///
/// assert_eq!(HashFunction::Sip13.secret(), Secret::Key128);
/// assert_eq!(HashFunction::Fnv1a64.secret(), Secret::None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Secret {
    /// Nothing: every user gets the same value for a key.
    None,
    /// A seed of 32 bits. It gives different users different values, but no protection.
    Seed32,
    /// A seed of 64 bits. It gives different users different values, but no protection.
    Seed64,
    /// A secret key of 128 bits. Nobody without it can choose keys that collide.
    Key128,
}

/// Writes it in words, such as "a seed of 64 bits".
impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "neither seed nor key",
            Self::Seed32 => "a seed of 32 bits",
            Self::Seed64 => "a seed of 64 bits",
            Self::Key128 => "a key of 16 bytes",
        })
    }
}

/// The one table of functions. A new one is a row here and an arm in `HashFunction::named`.
macro_rules! functions {
    ($($(#[$cfg:meta])? $function:ident $name:literal $bits:literal $secret:ident spread:$spread:literal $about:literal $source:literal)+) => {
        /// A named hash function. The [module](self) has the table.
        ///
        /// It parses from its name, prints its name, and with `serde` is its name.
        ///
        /// ```
        /// use hashroute::HashFunction;
        ///
        /// let function: HashFunction = "fnv1a-64".parse()?;
        /// assert_eq!(function, HashFunction::Fnv1a64);
        /// assert_eq!(function.to_string(), "fnv1a-64");
        /// assert!("sha1".parse::<HashFunction>().is_err());
        /// # Ok::<(), hashroute::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub enum HashFunction {
            $(
                $(#[$cfg])?
                #[doc = concat!($about, ".\n\nSource: ", $source, ".")]
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $function,
            )+
        }

        impl HashFunction {
            /// Every function of this build, in the order of the table.
            pub const ALL: &'static [Self] = &[$($(#[$cfg])? Self::$function),+];

            const fn row(self) -> Row {
                match self {
                    $($(#[$cfg])? Self::$function => Row {
                        name: $name,
                        about: $about,
                        bits: $bits,
                        secret: Secret::$secret,
                        spread: $spread,
                    },)+
                }
            }
        }
    };
}

/// The functions of other crates, each with its feature. They are searched only for a name that no
/// function of this build has.
const BEHIND: [(&str, &str); 5] = [
    ("md5", "md5"),
    ("crc32", "crc"),
    ("crc64", "crc"),
    ("murmur3-32", "murmur"),
    ("murmur3-128", "murmur"),
];

struct Row {
    name: &'static str,
    about: &'static str,
    bits: u32,
    secret: Secret,
    spread: bool,
}

functions! {
    Xxh3 "xxh3" 64 Seed64 spread:true
        "XXH3, 64 bits: fast on short and long keys, the default"
        "<https://github.com/Cyan4973/xxHash>"
    Xxh64 "xxh64" 64 Seed64 spread:true
        "XXH64: fast on long keys; Envoy's key hash"
        "<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>"
    Sip13 "sip13" 64 Key128 spread:true
        "SipHash-1-3: keyed, for keys that strangers choose"
        "<https://github.com/veorq/SipHash>"
    Sip24 "sip24" 64 Key128 spread:true
        "SipHash-2-4: keyed, the form of the paper"
        "Aumasson and Bernstein, \"SipHash: a fast short-input PRF\", INDOCRYPT 2012"
    #[cfg(feature = "md5")]
    Md5 "md5" 64 None spread:true
        "MD5: the first 8 bytes of the digest, big-endian"
        "RFC 1321"
    Fnv1a64 "fnv1a-64" 64 None spread:false
        "FNV-1a, 64 bits"
        "RFC 9923"
    Fnv1_64 "fnv1-64" 64 None spread:false
        "FNV-1, 64 bits"
        "RFC 9923"
    Fnv1a32 "fnv1a-32" 32 None spread:false
        "FNV-1a, 32 bits"
        "RFC 9923"
    Crc16 "crc16" 16 None spread:false
        "CRC-16/XMODEM: Redis Cluster's key hash"
        "Redis Cluster specification, appendix A"
    #[cfg(feature = "crc")]
    Crc32 "crc32" 32 None spread:false
        "CRC-32/ISO-HDLC: that of zlib, gzip and Ethernet"
        "RFC 1952, section 8"
    #[cfg(feature = "crc")]
    Crc64 "crc64" 64 None spread:false
        "CRC-64/XZ: Go's crc64 with the ECMA table"
        "The .xz file format, section 6"
    #[cfg(feature = "murmur")]
    Murmur3_32 "murmur3-32" 32 Seed32 spread:false
        "MurmurHash3_x86_32"
        "<https://github.com/aappleby/smhasher>"
    #[cfg(feature = "murmur")]
    Murmur3_128 "murmur3-128" 64 Seed32 spread:true
        "MurmurHash3_x64_128: the first 64 bits"
        "<https://github.com/aappleby/smhasher>"
    TwemproxyFnv1a64 "twemproxy-fnv1a-64" 32 None spread:false
        "twemproxy's fnv1a_64, in fact 32 bits, as built where char is unsigned (arm64)"
        "twemproxy 0.5.0, `src/hashkit/nc_fnv.c`"
    TwemproxyFnv1a64Signed "twemproxy-fnv1a-64-signed" 32 None spread:false
        "twemproxy's fnv1a_64, in fact 32 bits, as built where char is signed (x86-64)"
        "twemproxy 0.5.0, `src/hashkit/nc_fnv.c`"
}

impl HashFunction {
    /// Returns the name in lower case, as on the command line and in files.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns a description of one line.
    pub const fn about(self) -> &'static str {
        self.row().about
    }

    /// Returns the width of the value in bits: 16, 32 or 64.
    pub const fn bits(self) -> u32 {
        self.row().bits
    }

    /// Returns the kind of seed or key that the function takes.
    pub const fn secret(self) -> Secret {
        self.row().secret
    }

    /// Returns whether the value is evenly distributed over all 64 bits.
    ///
    /// Other functions have narrow values, or similar values for similar keys.
    /// [`KeyHasher::spread`](crate::KeyHasher::spread) passes these values through [`mix64`].
    ///
    /// ```
    /// use hashroute::HashFunction;
    ///
    /// assert!(HashFunction::Xxh3.is_spread());
    /// assert!(!HashFunction::Fnv1a64.is_spread());
    /// ```
    #[inline]
    pub const fn is_spread(self) -> bool {
        self.row().spread
    }

    /// Returns the value of `bytes`. `secret` has the seed in its first word, or both words of the
    /// key.
    #[expect(clippy::inline_always, reason = "a call costs a third of the hash")]
    #[inline(always)]
    pub(crate) fn value(self, secret: [u64; 2], bytes: &[u8]) -> u64 {
        match self {
            // Separate arms, so that the default inlines into the caller and the rest does not. The
            // function of Redis usually hashes only a few bytes.
            Self::Xxh3 => xxh3_seeded(bytes, secret[0]),
            Self::Crc16 => crc16::crc16(bytes),
            other => other.named(secret, bytes),
        }
    }

    /// The length, in bytes, of the longest key for which XXH3 is inlined.
    pub(crate) const SHORT: usize = 16;

    #[inline(never)]
    fn named(self, [k0, k1]: [u64; 2], bytes: &[u8]) -> u64 {
        match self {
            Self::Xxh3 => xxh3_seeded(bytes, k0),
            Self::Xxh64 => xxh64::xxh64(bytes, k0),
            Self::Sip13 => SipHasher13::new_with_keys(k0, k1).hash(bytes),
            Self::Sip24 => SipHasher24::new_with_keys(k0, k1).hash(bytes),
            #[cfg(feature = "md5")]
            Self::Md5 => md5_64(bytes),
            Self::Fnv1a64 => fnv::fnv1a_64(bytes),
            Self::Fnv1_64 => fnv::fnv1_64(bytes),
            Self::Fnv1a32 => fnv::fnv1a_32(bytes).into(),
            Self::Crc16 => crc16::crc16(bytes),
            #[cfg(feature = "crc")]
            Self::Crc32 => CRC32.checksum(bytes).into(),
            #[cfg(feature = "crc")]
            Self::Crc64 => CRC64.checksum(bytes),
            #[cfg(feature = "murmur")]
            Self::Murmur3_32 => mur3::murmurhash3_x86_32(bytes, seed32(k0)).into(),
            #[cfg(feature = "murmur")]
            Self::Murmur3_128 => mur3::murmurhash3_x64_128(bytes, seed32(k0)).0,
            Self::TwemproxyFnv1a64 => twemproxy::fnv1a_64(bytes).into(),
            Self::TwemproxyFnv1a64Signed => twemproxy::fnv1a_64_signed(bytes).into(),
        }
    }
}

/// Computes XXH3. Only the part for short keys inlines into the caller: a lookup costs little more
/// than its hash, and the rest of the function is ten times as large.
#[expect(clippy::inline_always, reason = "a call costs a third of the hash")]
#[inline(always)]
fn xxh3_seeded(bytes: &[u8], seed: u64) -> u64 {
    if bytes.len() <= HashFunction::SHORT {
        xxh3::xxh3_64_with_seed(bytes, seed)
    } else {
        xxh3_of_more(bytes, seed)
    }
}

#[inline(never)]
fn xxh3_of_more(bytes: &[u8], seed: u64) -> u64 {
    xxh3::xxh3_64_with_seed(bytes, seed)
}

#[cfg(feature = "crc")]
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);
#[cfg(feature = "crc")]
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_XZ);

#[cfg(feature = "murmur")]
fn seed32(secret: u64) -> u32 {
    (secret & 0xffff_ffff) as u32
}

#[cfg(feature = "md5")]
fn md5_64(bytes: &[u8]) -> u64 {
    let digest: [u8; 16] = Md5::digest(bytes).into();
    (u128::from_be_bytes(digest) >> 64) as u64
}

impl fmt::Display for HashFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for HashFunction {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|function| function.name() == name);
        found.copied().ok_or_else(|| {
            if let Some((_, feature)) = BEHIND.iter().find(|(behind, _)| *behind == name) {
                let wanted = format!("the feature {feature} of hashroute, which has this function");
                return Error::parameter("hash", name, wanted);
            }
            let names: Vec<_> = Self::ALL.iter().map(|function| function.name()).collect();
            Error::parameter("hash", name, format!("one of {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests;
