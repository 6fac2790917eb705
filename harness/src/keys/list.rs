//! A list of keys in one arena, with the bytes that each stores and the requests that each gets.

use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64;

use hashroute::Error;

/// A list of keys, in order. A key may occur more than once.
///
/// The bytes of all keys lie in one arena. A key takes its own bytes and eight more, and another
/// eight each for a size and for a number of requests.
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
    pub(super) bytes: Vec<u8>,
    pub(super) ends: Vec<usize>,
    pub(super) sizes: Option<Vec<u64>>,
    pub(super) requests: Option<Vec<u64>>,
    pub(super) distinct: OnceLock<Distinct>,
}

/// Which keys are equal.
#[derive(Clone, Debug)]
pub(super) struct Distinct {
    count: usize,
    /// For each key, the number of its group of equal keys; `None` if no key occurs twice.
    numbers: Option<Vec<usize>>,
}

impl Keys {
    /// Adds a key. If the other keys have sizes or requests, it gets 1 of each. Amortised O(length
    /// of the key).
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

    /// Adds all keys of another list, with their sizes and requests.
    ///
    /// # Errors
    /// [`Error::Parameter`] if only one of the two lists has sizes or requests, unless this list is
    /// empty, or if they add up to 2^64 or more. The list is unchanged then.
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

    /// Sets the bytes that each key stores.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is not one size for each key, or if they add up to 2^64 or
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

    /// Sets the requests that each key gets.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is not one number for each key, or if they add up to 2^64 or
    /// more.
    pub fn with_requests(mut self, requests: Vec<u64>) -> Result<Self, Error> {
        self.check_numbers("requests", &requests)?;
        self.requests = Some(requests);
        Ok(self)
    }

    fn check_numbers(&self, name: &str, numbers: &[u64]) -> Result<(), Error> {
        if numbers.len() != self.len() {
            let expected = format!("one for each key, which is {}", self.len());
            return Err(Error::parameter(name, numbers.len(), expected));
        }
        check_sum(name, numbers.iter())
    }

    /// Returns the number of keys. A repeated key counts each time.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the key at an index, from 0.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    /// Iterates over the keys, in order.
    pub fn iter(&self) -> KeysIter<'_> {
        KeysIter {
            bytes: &self.bytes,
            ends: self.ends.iter(),
            start: 0,
        }
    }

    /// Returns the bytes that each key stores, if known.
    pub fn sizes(&self) -> Option<&[u64]> {
        self.sizes.as_deref()
    }

    /// Returns the requests that each key gets, if known.
    pub fn requests(&self) -> Option<&[u64]> {
        self.requests.as_deref()
    }

    /// Returns the number of distinct keys, counted exactly. The evenness of a load depends on this
    /// number: a stream that repeats one key a million times says nothing about a router. The first
    /// call sorts, O(n log n); later calls are O(1).
    ///
    /// ```
    /// # use hashroute_harness::Keys;
    /// assert_eq!(Keys::lines(&b"a\nb\na\n"[..])?.distinct(), 2);
    /// # Ok::<(), hashroute_harness::InputError>(())
    /// ```
    pub fn distinct(&self) -> usize {
        self.find_distinct().count
    }

    /// Returns the amount of each distinct key, with the index of one occurrence. An occurrence `i`
    /// adds `amounts[i]`, or 1 without amounts, and 0 unless `counts(i)`.
    pub(crate) fn sums(
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
            // Two different keys may have the same hash, so equal hashes are ordered by key.
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

/// Iterates over the keys, in order.
impl<'a> IntoIterator for &'a Keys {
    type Item = &'a [u8];
    type IntoIter = KeysIter<'a>;

    fn into_iter(self) -> KeysIter<'a> {
        self.iter()
    }
}

/// An iterator over keys, from [`Keys::iter`].
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
