//! Many keys in one arena, with the bytes each stores and the requests each gets where known.

use core::ops::Range;
use std::borrow::ToOwned;
use std::format;
use std::string::{String, ToString};
use std::sync::OnceLock;
use std::vec;
use std::vec::Vec;

use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};
use rand_pcg::Pcg64Mcg;
use xxhash_rust::xxh3::xxh3_64;

use hashroute::{Error, Limit};

mod dump;
mod input;
mod rows;

pub(super) use dump::DumpKeys;
pub use dump::{BadLine, Dump, DumpFormat, DumpReader, DumpRow, DumpSource};
pub use input::InputError;
pub(super) use input::{LONGEST, bytes_of_hex, reason};
pub use rows::Rows;

/// Keys, in order; the same one may come many times.
///
/// The bytes of all keys lie in one arena: a key takes its bytes and eight more, and sixteen
/// with sizes or requests.
///
/// ```
/// use hashroute_harness::Keys;
///
/// let keys = Keys::template("user:{i:04}", 7..9)?;
/// assert!(keys.iter().eq([b"user:0007", b"user:0008"]));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    sizes: Option<Vec<u64>>,
    requests: Option<Vec<u64>>,
    distinct: OnceLock<Distinct>,
}

/// Which keys are the same.
#[derive(Clone, Debug)]
struct Distinct {
    count: usize,
    /// By key, the number of its like; `None` while no key comes twice.
    numbers: Option<Vec<usize>>,
}

impl Keys {
    /// The most keys that a template or a distribution may make.
    ///
    /// ```
    /// use hashroute_harness::Keys;
    /// assert!(Keys::template("{i}", 0..u64::MAX).is_err());
    /// assert_eq!(Keys::MOST, 1 << 30);
    /// ```
    pub const MOST: u64 = 1 << 30;

    /// A template filled with each number of a range: `{i}` decimal, `{i:04}` zero padded to
    /// that width. Any other brace stands for itself.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a template without a gap for the number, or with a width that
    /// cannot be read or is beyond 99; [`Error::Capacity`] beyond [`MOST`](Self::MOST) keys or
    /// 8 GiB of them.
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// assert!(Keys::template("{tenant}:{i}", 0..1)?.iter().eq([b"{tenant}:0"]));
    /// assert!(Keys::template("user:", 0..1).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn template(template: &str, range: Range<u64>) -> Result<Self, Error> {
        use std::io::Write;
        let pieces = pieces(template)?;
        let longest = longest(&pieces, range.end);
        check_room(range.end.saturating_sub(range.start), longest)?;
        let mut keys = Self::default();
        for number in range {
            for piece in &pieces {
                let written = match piece {
                    Piece::Text(text) => keys.bytes.write_all(text.as_bytes()),
                    Piece::Number(width) => write!(keys.bytes, "{number:0width$}"),
                };
                written.expect("a vector takes all");
            }
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }

    /// Keys of `len` random bytes each, the same ones for the same seed.
    ///
    /// # Errors
    /// [`Error::Capacity`] beyond [`MOST`](Self::MOST) keys or 8 GiB of them.
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// let keys = Keys::random(7, 100, 16)?;
    /// assert_eq!((keys.len(), keys.distinct()), (100, 100));
    /// assert!(keys.iter().eq(Keys::random(7, 100, 16)?.iter()));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn random(seed: u64, count: usize, len: usize) -> Result<Self, Error> {
        check_room(count as u64, len as u64)?;
        let mut bytes = vec![0; count * len];
        Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut bytes);
        let ends = (1..=count).map(|i| i * len).collect();
        Ok(Self {
            bytes,
            ends,
            ..Self::default()
        })
    }

    /// A stream of requests, `key:1` to `key:{population}`, as popular as Zipf's law says: rank k
    /// comes as often as 1 / k^exponent. The same stream for the same seed.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a population of 0 or an exponent that is negative or not finite;
    /// [`Error::Capacity`] beyond [`MOST`](Self::MOST) requests.
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// let stream = Keys::zipf(1, 10_000, 1000, 1.0)?;
    /// let hottest = stream.iter().filter(|key| *key == b"key:1").count();
    /// assert!((1200..1500).contains(&hottest)); // 10,000 / (1 + 1/2 + ... + 1/1000)
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn zipf(seed: u64, count: usize, population: u64, exponent: f64) -> Result<Self, Error> {
        if population == 0 {
            return Err(Error::parameter("population", population, "at least 1"));
        }
        let zipf = Zipf::new(population as f64, exponent)
            .ok()
            .filter(|_| exponent.is_finite())
            .ok_or_else(|| Error::parameter("exponent", exponent, "a finite number, at least 0"))?;
        check_room(count as u64, 0)?;
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut keys = Self::default();
        for _ in 0..count {
            keys.push(format!("key:{}", zipf.sample(&mut random)).as_bytes());
        }
        Ok(keys)
    }

    /// One more key. Where others have sizes or requests, it has 1. Amortised linear in the key.
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// let mut keys = Keys::default();
    /// keys.push(b"a");
    /// assert_eq!(keys.get(0), Some(&b"a"[..]));
    /// ```
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        for numbers in [&mut self.sizes, &mut self.requests].into_iter().flatten() {
            numbers.push(1);
        }
        self.distinct = OnceLock::new();
    }

    /// All keys of another behind these, with their sizes and requests.
    ///
    /// # Errors
    /// [`Error::Parameter`] when only one of the two knows sizes or requests, unless these are
    /// none yet, and when they add up to 2^64 or more. Nothing has changed then.
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// let mut keys = Keys::template("a{i}", 0..2)?;
    /// keys.append(&Keys::template("b{i}", 0..1)?)?;
    /// assert!(keys.iter().eq([b"a0", b"a1", b"b0"]));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn append(&mut self, other: &Self) -> Result<(), Error> {
        let first = self.is_empty();
        let both = |name: &str, mine: &Option<Vec<u64>>, others: &Option<Vec<u64>>| {
            let numbers = match (mine, others) {
                (Some(mine), Some(others)) => mine.iter().chain(others),
                (None, None) => return Ok(()),
                (None, Some(others)) if first => others.iter().chain(&[]),
                _ => return Err(Error::parameter(name, "some", "one for every key, or none")),
            };
            check_sum(name, numbers)
        };
        both("sizes", &self.sizes, &other.sizes)?;
        both("requests", &self.requests, &other.requests)?;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| start + end));
        let add = |mine: &mut Option<Vec<u64>>, others: &Option<Vec<u64>>| {
            if let Some(others) = others {
                mine.get_or_insert_default().extend_from_slice(others);
            }
        };
        add(&mut self.sizes, &other.sizes);
        add(&mut self.requests, &other.requests);
        self.distinct = OnceLock::new();
        Ok(())
    }

    /// The same keys with the bytes that each stores.
    ///
    /// # Errors
    /// [`Error::Parameter`] when there are not as many sizes as keys, or they add up to 2^64 or
    /// more.
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// let keys = Keys::template("{i}", 0..2)?.with_sizes(vec![10, 20])?;
    /// assert_eq!(keys.sizes(), Some(&[10, 20][..]));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn with_sizes(mut self, sizes: Vec<u64>) -> Result<Self, Error> {
        self.check_numbers("sizes", &sizes)?;
        self.sizes = Some(sizes);
        Ok(self)
    }

    /// The same keys with the requests that each gets.
    ///
    /// # Errors
    /// [`Error::Parameter`] when there are not as many numbers as keys, or they add up to 2^64 or
    /// more.
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// assert!(Keys::template("{i}", 0..2)?.with_requests(vec![1]).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn with_requests(mut self, requests: Vec<u64>) -> Result<Self, Error> {
        self.check_numbers("requests", &requests)?;
        self.requests = Some(requests);
        Ok(self)
    }

    fn check_numbers(&self, name: &str, numbers: &[u64]) -> Result<(), Error> {
        if numbers.len() != self.len() {
            let expected = format!("one a key, so {}", self.len());
            return Err(Error::parameter(name, numbers.len(), expected));
        }
        check_sum(name, numbers.iter())
    }

    /// How many keys there are, repeated ones each time.
    ///
    /// ```
    /// assert_eq!(hashroute_harness::Keys::default().len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    ///
    /// ```
    /// assert!(hashroute_harness::Keys::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The key at an index, from 0.
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// assert_eq!(Keys::template("k{i}", 0..5)?.get(4), Some(&b"k4"[..]));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    /// All keys in order.
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// assert_eq!(Keys::template("k{i}", 0..5)?.iter().count(), 5);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn iter(&self) -> KeysIter<'_> {
        KeysIter {
            bytes: &self.bytes,
            ends: self.ends.iter(),
            start: 0,
        }
    }

    /// The bytes that each key stores, where known.
    ///
    /// ```
    /// assert_eq!(hashroute_harness::Keys::default().sizes(), None);
    /// ```
    pub fn sizes(&self) -> Option<&[u64]> {
        self.sizes.as_deref()
    }

    /// The requests that each key gets, where known.
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// let keys = Keys::csv(&b"requests,key\n5,a\n"[..])?;
    /// assert_eq!(keys.requests(), Some(&[5][..]));
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn requests(&self) -> Option<&[u64]> {
        self.requests.as_deref()
    }

    /// How many different keys there are, exactly: a stream that repeats one key a million times
    /// says nothing about balance. The first call sorts, O(n log n); later ones are O(1).
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// assert_eq!(Keys::lines(&b"a\nb\na\n"[..])?.distinct(), 2);
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn distinct(&self) -> usize {
        self.find_distinct().count
    }

    /// What each distinct key adds up to, when key i counts `amounts[i]`, or 1 without amounts,
    /// and 0 unless it `counts`; beside each, the index of one such key.
    pub(super) fn sums(
        &self,
        amounts: Option<&[u64]>,
        counts: &dyn Fn(usize) -> bool,
    ) -> Vec<(u64, usize)> {
        let amount = |index: usize| match amounts {
            _ if !counts(index) => 0,
            Some(amounts) => amounts[index],
            None => 1,
        };
        let distinct = self.find_distinct();
        let Some(numbers) = &distinct.numbers else {
            return (0..self.len())
                .map(|index| (amount(index), index))
                .collect();
        };
        let mut sums = vec![(0_u64, 0); distinct.count];
        for (index, &number) in numbers.iter().enumerate() {
            sums[number] = (sums[number].0.saturating_add(amount(index)), index);
        }
        sums
    }

    fn find_distinct(&self) -> &Distinct {
        self.distinct.get_or_init(|| {
            let mut order: Vec<_> = self.iter().map(xxh3_64).zip(0..).collect();
            // Equal hashes are told apart by the keys themselves.
            order.sort_unstable_by(|a, b| {
                a.0.cmp(&b.0)
                    .then_with(|| self.get(a.1).cmp(&self.get(b.1)))
            });
            let same =
                |a: &(u64, usize), b: &(u64, usize)| a.0 == b.0 && self.get(a.1) == self.get(b.1);
            let count = order.chunk_by(same).count();
            let numbers = (count < self.len()).then(|| {
                let mut numbers = vec![0; self.len()];
                for (number, chunk) in order.chunk_by(same).enumerate() {
                    for &(_, index) in chunk {
                        numbers[index] = number;
                    }
                }
                numbers
            });
            Distinct { count, numbers }
        })
    }
}

/// The keys in their order.
///
/// ```
/// let keys = hashroute_harness::Keys::template("{i}", 0..3)?;
/// assert_eq!((&keys).into_iter().last(), Some(&b"2"[..]));
/// # Ok::<(), hashroute::Error>(())
/// ```
impl<'a> IntoIterator for &'a Keys {
    type Item = &'a [u8];
    type IntoIter = KeysIter<'a>;

    fn into_iter(self) -> KeysIter<'a> {
        self.iter()
    }
}

/// The keys of [`Keys::iter`].
#[derive(Clone, Debug)]
pub struct KeysIter<'a> {
    bytes: &'a [u8],
    ends: core::slice::Iter<'a, usize>,
    start: usize,
}

impl<'a> Iterator for KeysIter<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = *self.ends.next()?;
        let start = core::mem::replace(&mut self.start, end);
        Some(&self.bytes[start..end])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ends.size_hint()
    }
}

impl ExactSizeIterator for KeysIter<'_> {}

fn check_sum<'n>(name: &str, numbers: impl Iterator<Item = &'n u64>) -> Result<(), Error> {
    let total: u128 = numbers.copied().map(u128::from).sum();
    match u64::try_from(total) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::parameter(name, total, "a sum below 2^64")),
    }
}

enum Piece {
    Text(String),
    Number(usize),
}

fn pieces(template: &str) -> Result<Vec<Piece>, Error> {
    let wrong = |expected: &str| Error::parameter("template", template, expected);
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{i") {
        let is_place = after.starts_with(['}', ':']);
        let Some((spec, behind)) = after.split_once('}').filter(|_| is_place) else {
            if is_place {
                return Err(wrong("a } after {i"));
            }
            pieces.push(Piece::Text(format!("{before}{{i")));
            rest = after;
            continue;
        };
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(Piece::Number(
            width(spec).ok_or_else(|| wrong("{i}, or {i:04} with a width up to 99"))?,
        ));
        rest = behind;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    if pieces.iter().any(|piece| matches!(piece, Piece::Number(_))) {
        return Ok(pieces);
    }
    Err(wrong(
        "a place for the number, {i} or {i:04}, such as user:{i}",
    ))
}

/// The width that `""` (none) or `":04"` asks for.
fn width(spec: &str) -> Option<usize> {
    if spec.is_empty() {
        return Some(0);
    }
    let digits = spec.strip_prefix(":0")?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .parse()
        .ok()
        .filter(|width| plain && (1..=99).contains(width))
}

/// The bytes of a key that no number before `end` goes beyond.
fn longest(pieces: &[Piece], end: u64) -> u64 {
    let digits = end.to_string().len();
    let len = |piece: &Piece| match piece {
        Piece::Text(text) => text.len() as u64,
        Piece::Number(width) => digits.max(*width) as u64,
    };
    pieces.iter().map(len).sum()
}

/// Refuse absurd sizes before memory is taken.
fn check_room(count: u64, len: u64) -> Result<(), Error> {
    let most_bytes = 1 << 33;
    let (what, wanted, limit) = match count.saturating_mul(len) {
        _ if count > Keys::MOST => (Limit::Keys, count, Keys::MOST),
        bytes if bytes > most_bytes => (Limit::KeyBytes, bytes, most_bytes),
        _ => return Ok(()),
    };
    let advice = "a million keys are plenty";
    Err(Error::Capacity {
        what,
        wanted,
        limit,
        advice,
    })
}
