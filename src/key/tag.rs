//! Hash tags: the part of a key that is hashed.

use core::str::FromStr;

use crate::Error;

/// Selects the part of a key that is hashed: the bytes between two given bytes, so that related
/// keys can share a node.
///
/// The rule is that of Redis Cluster and twemproxy. The part lies between the first `open` and the
/// first `close` after it. If there is no such part, or if it is empty, the whole key is hashed.
///
/// ```
/// use hashroute::HashTag;
///
/// let tag = HashTag::BRACES;
/// assert_eq!(tag.part(b"{user1000}.following"), b"user1000");
/// assert_eq!(tag.part(b"foo{}{bar}"), b"foo{}{bar}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HashTag {
    open: u8,
    close: u8,
}

impl HashTag {
    /// `{` and `}`, the pair of Redis Cluster.
    pub const BRACES: Self = Self::new(b'{', b'}');

    /// Makes a tag from two bytes, which may be equal.
    ///
    /// ```
    /// use hashroute::HashTag;
    ///
    /// assert_eq!(HashTag::new(b'$', b'$').part(b"a$bc$d"), b"bc");
    /// ```
    pub const fn new(open: u8, close: u8) -> Self {
        Self { open, close }
    }

    /// Returns the two bytes.
    pub const fn pair(self) -> [u8; 2] {
        [self.open, self.close]
    }

    /// Returns the part of `key` that is hashed. O(length of the key).
    ///
    /// ```
    /// use hashroute::HashTag;
    ///
    /// assert_eq!(HashTag::BRACES.part(b"foo{bar}{zap}"), b"bar");
    /// assert_eq!(HashTag::BRACES.part(b"no tag"), b"no tag");
    /// ```
    pub fn part<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        self.inside(key)
            .filter(|part| !part.is_empty())
            .unwrap_or(key)
    }

    #[inline]
    fn inside(self, key: &[u8]) -> Option<&[u8]> {
        let open = find(self.open, key)?;
        let rest = key.get(open + 1..)?;
        let close = find(self.close, rest)?;
        rest.get(..close)
    }
}

/// Returns the index of the first `byte`, eight bytes at a step. Most keys are too short for the
/// vectors of `memchr`.
#[inline]
fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = LOW << 7;
    #[cfg(feature = "simd")]
    if bytes.len() > 32 {
        return memchr::memchr(byte, bytes);
    }
    let mut rest = bytes;
    while let Some((step, after)) = rest.split_first_chunk::<8>() {
        // Bytes equal to `byte` become 0. The borrow sets the high bit of the first byte that is 0,
        // which is the lowest bit of `found`; later bits may be wrong.
        let zero = u64::from_le_bytes(*step) ^ (LOW * u64::from(byte));
        let found = zero.wrapping_sub(LOW) & !zero & HIGH;
        if found != 0 {
            return Some(bytes.len() - rest.len() + found.trailing_zeros() as usize / 8);
        }
        rest = after;
    }
    let at = rest.iter().position(|other| *other == byte)?;
    Some(bytes.len() - rest.len() + at)
}

/// Parses exactly two bytes, such as `{}`.
///
/// ```
/// use hashroute::HashTag;
///
/// assert_eq!("{}".parse::<HashTag>()?, HashTag::BRACES);
/// assert!("{".parse::<HashTag>().is_err());
/// # Ok::<(), hashroute::Error>(())
/// ```
impl FromStr for HashTag {
    type Err = Error;

    fn from_str(pair: &str) -> Result<Self, Error> {
        match *pair.as_bytes() {
            [open, close] => Ok(Self::new(open, close)),
            _ => Err(Error::parameter(
                "hash-tag",
                pair,
                "exactly two bytes, such as {}",
            )),
        }
    }
}
