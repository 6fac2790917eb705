//! The hash functions of libmemcached's libhashkit and of twemproxy's hashkit, which comes from it.
//!
//! All return 32 bits. Some have the name of a function that they do not compute:
//!
//! | twemproxy | libmemcached | function | reads `char` |
//! |---|---|---|---|
//! | `one_at_a_time` | `DEFAULT` | Jenkins's one-at-a-time | yes |
//! | `md5` | `MD5` | the first 4 bytes of the digest, little-endian | no |
//! | `crc16` | | CRC-16/XMODEM in an accumulator of 32 bits that is never cut to 16 | no |
//! | `crc32` | `CRC` | bits 16 to 30 of CRC-32: only 15 bits, so on a ring all keys fall on one short arc | no |
//! | `crc32a` | | CRC-32 | no |
//! | `fnv1_64` | `FNV1_64` | the low half of FNV-1 64 | yes |
//! | `fnv1a_64` | `FNV1A_64` | FNV-1a in 32 bits with the low halves of the 64-bit constants | yes |
//! | `fnv1_32`, `fnv1a_32` | `FNV1_32`, `FNV1A_32` | FNV-1 and FNV-1a 32 | yes |
//! | `hsieh` | `HSIEH` | `SuperFastHash` | for one byte |
//! | `murmur` | `MURMUR` | `MurmurHash2`, seeded with the length | no |
//! | `jenkins` | `JENKINS` | lookup3, seeded with 13 | no |
//! | | `MURMUR3` | `MurmurHash3_x86_32`, seeded with the length | no |
//!
//! The functions that read a C `char` differ between builds for bytes from 0x80 on: see [`Char`].
//!
//! Source: twemproxy 0.5.0, `src/hashkit`; libmemcached 1.1.4, `libhashkit`.

use alloc::format;
use alloc::vec::Vec;
use core::str::FromStr;

use crate::Error;
use crate::hash::HashFunction;
use crate::hash::fnv;
use crate::hash::twemproxy::{self, fnv1a, sign_extended};
use crate::registry::Param;

/// The signedness of `char` in a build of the C program. It decides the value of bytes from 0x80
/// on.
///
/// ```
/// use hashroute::compat::hashkit::{Char, Function};
///
/// let key = "中文:key:7".as_bytes();
/// assert_eq!(Function::Fnv1a64.value(key, Char::Signed), 0xbbe0_1ad7);
/// assert_eq!(Function::Fnv1a64.value(key, Char::Unsigned), 0x8b94_52d7);
/// ```
///
/// Not `non_exhaustive`: C has no third kind, so a `match` may be complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Char {
    /// `char` is signed, and bytes from 0x80 on are negative: x86-64.
    #[default]
    Signed,
    /// `char` is unsigned: arm64 Linux.
    Unsigned,
}

pub(in crate::compat) const CHAR: Param = Param::new(
    "char",
    "signed",
    "how the build reads bytes from 0x80 on: signed (x86-64) or unsigned (arm64)",
);

impl Char {
    fn widen(self) -> fn(u8) -> u32 {
        match self {
            Self::Signed => sign_extended,
            Self::Unsigned => u32::from,
        }
    }
}

impl FromStr for Char {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "signed" => Ok(Self::Signed),
            "unsigned" => Ok(Self::Unsigned),
            _ => Err(Error::parameter(CHAR.name, text, "signed or unsigned")),
        }
    }
}

/// A hash function of twemproxy or libmemcached. The [module's documentation](self) has the table of
/// their names.
///
/// Parses from the name in twemproxy or in libmemcached.
///
/// ```
/// use hashroute::compat::hashkit::Function;
/// assert_eq!("crc32".parse::<Function>()?, "CRC".parse()?);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Function {
    /// Jenkins's one-at-a-time.
    OneAtATime,
    /// MD5: the first 4 bytes of the digest, little-endian.
    Md5,
    /// CRC-16/XMODEM in 32 bits, never cut to 16.
    Crc16,
    /// Bits 16 to 30 of CRC-32.
    Crc32,
    /// CRC-32.
    Crc32a,
    /// The low half of FNV-1 64.
    Fnv1_64,
    /// FNV-1a in 32 bits with the low halves of the 64-bit constants.
    Fnv1a64,
    /// FNV-1 32.
    Fnv1_32,
    /// FNV-1a 32.
    Fnv1a32,
    /// `SuperFastHash`.
    Hsieh,
    /// `MurmurHash2`, seeded with the length.
    Murmur,
    /// Jenkins's lookup3, seeded with 13.
    Jenkins,
    /// `MurmurHash3_x86_32`, seeded with the length.
    Murmur3,
}

/// A function with its name in twemproxy and in libmemcached.
type Names = (Function, Option<&'static str>, Option<&'static str>);

const NAMES: [Names; 13] = [
    (Function::OneAtATime, Some("one_at_a_time"), Some("DEFAULT")),
    (Function::Md5, Some("md5"), Some("MD5")),
    (Function::Crc16, Some("crc16"), None),
    (Function::Crc32, Some("crc32"), Some("CRC")),
    (Function::Crc32a, Some("crc32a"), None),
    (Function::Fnv1_64, Some("fnv1_64"), Some("FNV1_64")),
    (Function::Fnv1a64, Some("fnv1a_64"), Some("FNV1A_64")),
    (Function::Fnv1_32, Some("fnv1_32"), Some("FNV1_32")),
    (Function::Fnv1a32, Some("fnv1a_32"), Some("FNV1A_32")),
    (Function::Hsieh, Some("hsieh"), Some("HSIEH")),
    (Function::Murmur, Some("murmur"), Some("MURMUR")),
    (Function::Jenkins, Some("jenkins"), Some("JENKINS")),
    (Function::Murmur3, None, Some("MURMUR3")),
];

impl Function {
    /// Returns the hash of `bytes` in a build with this signedness of `char`. Linear in the bytes.
    ///
    /// ```
    /// use hashroute::compat::hashkit::{Char, Function};
    /// assert_eq!(Function::Jenkins.value(b"", Char::default()), 0xdead_beef + 13);
    /// ```
    pub fn value(self, bytes: &[u8], char: Char) -> u32 {
        let widen = char.widen();
        match self {
            Self::OneAtATime => one_at_a_time(bytes, widen),
            Self::Md5 => low(named(HashFunction::Md5, 0, bytes) >> 32).swap_bytes(),
            Self::Crc16 => crc16(bytes),
            Self::Crc32 => (low(named(HashFunction::Crc32, 0, bytes)) >> 16) & 0x7fff,
            Self::Crc32a => low(named(HashFunction::Crc32, 0, bytes)),
            Self::Fnv1_64 => fnv1(twemproxy::OFFSET, twemproxy::PRIME, widen, bytes),
            Self::Fnv1a64 => fnv1a(twemproxy::OFFSET, twemproxy::PRIME, widen, bytes),
            Self::Fnv1_32 => fnv1(fnv::OFFSET_32, fnv::PRIME_32, widen, bytes),
            Self::Fnv1a32 => fnv1a(fnv::OFFSET_32, fnv::PRIME_32, widen, bytes),
            Self::Hsieh => hsieh(bytes, widen),
            Self::Murmur => murmur(bytes),
            Self::Jenkins => jenkins(bytes),
            Self::Murmur3 => low(named(HashFunction::Murmur3_32, length_seed(bytes), bytes)),
        }
    }

    /// Returns whether hashes are uniform over 32 bits. The final steps of `hsieh` are not
    /// one-to-one: its low values are visibly more frequent.
    pub(in crate::compat) const fn fills_32_bits(self) -> bool {
        !matches!(self, Self::Crc16 | Self::Crc32 | Self::Hsieh)
    }

    /// Finds a function by its name in twemproxy.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the known names.
    ///
    /// ```
    /// use hashroute::compat::hashkit::Function;
    /// assert_eq!(Function::of_twemproxy("crc32")?, Function::Crc32);
    /// assert!(Function::of_twemproxy("CRC").is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn of_twemproxy(name: &str) -> Result<Self, Error> {
        find(name, |(_, name, _)| *name)
    }

    /// Finds a function by its name in libmemcached, in upper or lower case.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the known names.
    ///
    /// ```
    /// use hashroute::compat::hashkit::Function;
    /// assert_eq!(Function::of_libmemcached("default")?, Function::OneAtATime);
    /// assert!(Function::of_libmemcached("crc32").is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn of_libmemcached(name: &str) -> Result<Self, Error> {
        find(name, |(_, _, name)| *name)
    }
}

impl FromStr for Function {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::of_twemproxy(name).or_else(|error| Self::of_libmemcached(name).map_err(|_| error))
    }
}

fn find(name: &str, of: fn(&Names) -> Option<&'static str>) -> Result<Function, Error> {
    let upper = name.to_ascii_uppercase();
    let is = |known: &str| known == name || known == upper;
    let found = NAMES.iter().find(|names| of(names).is_some_and(is));
    found.map(|(function, ..)| *function).ok_or_else(|| {
        let names: Vec<_> = NAMES.iter().filter_map(of).collect();
        Error::parameter("hash", name, format!("one of: {}", names.join(", ")))
    })
}

fn named(function: HashFunction, seed: u32, bytes: &[u8]) -> u64 {
    function.value([seed.into(), 0], bytes)
}

#[expect(clippy::cast_possible_truncation, reason = "the low half")]
const fn low(value: u64) -> u32 {
    value as u32
}

/// Returns the seed of both murmur functions: 0xdeadbeef times the length.
fn length_seed(bytes: &[u8]) -> u32 {
    low(bytes.len() as u64).wrapping_mul(0xdead_beef)
}

fn one_at_a_time(bytes: &[u8], widen: fn(u8) -> u32) -> u32 {
    let mut hash = bytes.iter().fold(0_u32, |hash, &byte| {
        let hash = hash.wrapping_add(widen(byte));
        let hash = hash.wrapping_add(hash << 10);
        hash ^ hash >> 6
    });
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// Computes CRC-16 with an accumulator of 32 bits. An entry of the C program's table is the CRC of
/// its index as one byte, so no table is needed.
fn crc16(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |crc: u32, &byte| {
        let index = crc.to_le_bytes()[1] ^ byte;
        (crc << 8) ^ low(named(HashFunction::Crc16, 0, &[index]))
    })
}

fn fnv1(offset: u32, prime: u32, widen: fn(u8) -> u32, bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(offset, |hash, &byte| hash.wrapping_mul(prime) ^ widen(byte))
}

/// Computes Paul Hsieh's `SuperFastHash`. Reads only one byte as `char`: the third byte of a tail
/// of three.
fn hsieh(bytes: &[u8], widen: fn(u8) -> u32) -> u32 {
    let half = |at: &[u8]| u32::from(at[0]) | u32::from(at[1]) << 8;
    let mut hash = 0_u32;
    let mut blocks = bytes.chunks_exact(4);
    for block in &mut blocks {
        hash = hash.wrapping_add(half(block));
        hash = (hash << 16) ^ ((half(&block[2..]) << 11) ^ hash);
        hash = hash.wrapping_add(hash >> 11);
    }
    match blocks.remainder() {
        [] => {}
        [byte] => {
            hash = hash.wrapping_add((*byte).into());
            hash ^= hash << 10;
            hash = hash.wrapping_add(hash >> 1);
        }
        [_, _, third] => {
            hash = hash.wrapping_add(half(blocks.remainder()));
            hash ^= hash << 16;
            hash ^= widen(*third) << 18;
            hash = hash.wrapping_add(hash >> 11);
        }
        two => {
            hash = hash.wrapping_add(half(two));
            hash ^= hash << 11;
            hash = hash.wrapping_add(hash >> 17);
        }
    }
    for (left, right) in [(3, 5), (4, 17), (25, 6)] {
        hash ^= hash << left;
        hash = hash.wrapping_add(hash >> right);
    }
    hash
}

/// Computes `MurmurHash2` with 32 bits.
fn murmur(bytes: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = length_seed(bytes) ^ low(bytes.len() as u64);
    let mut blocks = bytes.chunks_exact(4);
    for block in &mut blocks {
        let mut word = word_of(block).wrapping_mul(M);
        word = (word ^ word >> 24).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ word;
    }
    let tail = blocks.remainder();
    if !tail.is_empty() {
        hash = (hash ^ word_of(tail)).wrapping_mul(M);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(M);
    hash ^ hash >> 15
}

/// Returns the number of up to four little-endian bytes.
fn word_of(bytes: &[u8]) -> u32 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// Computes Bob Jenkins's lookup3, `hashlittle`, with the initial value 13.
fn jenkins(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32
        .wrapping_add(low(bytes.len() as u64))
        .wrapping_add(13);
    let mut state = [start; 3];
    let mut rest = bytes;
    while rest.len() > 12 {
        let (block, after) = rest.split_at(12);
        absorb(&mut state, block);
        mix(&mut state);
        rest = after;
    }
    // Only the empty key has an empty last block: `hashlittle` then returns without the final mix.
    if !rest.is_empty() {
        absorb(&mut state, rest);
        finish(&mut state);
    }
    state[1]
}

fn absorb(state: &mut [u32; 3], block: &[u8]) {
    for (word, bytes) in state.iter_mut().zip(block.chunks(4)) {
        *word = word.wrapping_add(word_of(bytes));
    }
}

fn mix(state: &mut [u32; 3]) {
    // The three words change roles after each step.
    for rotation in [4, 6, 8, 16, 19, 4] {
        let [a, b, c] = *state;
        let mixed = a.wrapping_sub(c) ^ c.rotate_left(rotation);
        *state = [b, c.wrapping_add(b), mixed];
    }
}

fn finish(state: &mut [u32; 3]) {
    for rotation in [14, 11, 25, 16, 4, 14, 24] {
        let [a, b, c] = *state;
        *state = [b, (c ^ b).wrapping_sub(b.rotate_left(rotation)), a];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_functions_give_their_published_values() {
        let value = |function: Function, text: &str| function.value(text.as_bytes(), Char::Signed);
        assert_eq!(value(Function::Crc32a, "123456789"), 0xcbf4_3926);
        assert_eq!(value(Function::Crc32, "123456789"), 0x4bf4);
        assert_eq!(value(Function::Fnv1_32, "foobar"), 0x31f0_b262);
        assert_eq!(value(Function::Fnv1a32, "foobar"), 0xbf9c_f968);
        // The low half is the standard value; the high half is not 0.
        assert_eq!(value(Function::Crc16, "123456789") & 0xffff, 0x31c3);
        assert_ne!(value(Function::Crc16, "123456789") >> 16, 0);
    }

    #[test]
    fn char_changes_some_functions_and_only_from_0x80_on() {
        for (function, ..) in NAMES {
            let differs = |bytes: &[u8]| {
                function.value(bytes, Char::Signed) != function.value(bytes, Char::Unsigned)
            };
            assert!(
                !differs(b"user:42") && !differs(&[0x7f; 13]),
                "{function:?}"
            );
            let reads = match function {
                Function::OneAtATime
                | Function::Fnv1_64
                | Function::Fnv1a64
                | Function::Fnv1_32
                | Function::Fnv1a32 => true,
                Function::Hsieh => {
                    assert!(differs(b"ab\x80") && !differs(b"\x80") && !differs(b"a\x80"));
                    continue;
                }
                _ => false,
            };
            assert_eq!(differs(b"\x80"), reads, "{function:?}");
        }
    }

    #[test]
    fn no_length_of_tail_panics() {
        let bytes: Vec<u8> = (0..=255).collect();
        for (function, ..) in NAMES {
            for end in 0..bytes.len() {
                function.value(&bytes[..end], Char::Signed);
            }
        }
    }
}
