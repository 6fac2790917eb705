//! Keys made from a template or drawn from a distribution.

use core::ops::Range;

use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};
use rand_pcg::Pcg64Mcg;

use super::list::Keys;
use hashroute::{Error, Limit};

impl Keys {
    /// The largest number of keys that a template or a distribution makes.
    pub const MOST: u64 = 1 << 30;

    /// Fills a template with each number of a range. `{i}` is the decimal number, `{i:04}` the
    /// number padded with zeros to that width. Any other brace stands for itself.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a template without `{i}`, or with a width that is not from 1 to 99;
    /// [`Error::Capacity`] beyond [`MOST`](Self::MOST) keys or 8 GiB of them.
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
                written.expect("writing to a vector cannot fail");
            }
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }

    /// Draws keys of `len` random bytes each. The same seed gives the same keys.
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

    /// Draws a stream of requests to `key:1` .. `key:{population}` by Zipf's law: rank k occurs in
    /// proportion to 1 / k^exponent. The same seed gives the same stream.
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
        let is_gap = after.starts_with(['}', ':']);
        let Some((spec, behind)) = after.split_once('}').filter(|_| is_gap) else {
            if is_gap {
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
        "{i} or {i:04} where the number goes, such as user:{i}",
    ))
}

/// Reads the width of `""` (none) or `":04"`.
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

/// Returns an upper bound of a key's bytes, for numbers up to `end`.
fn longest(pieces: &[Piece], end: u64) -> u64 {
    let digits = end.to_string().len();
    let len = |piece: &Piece| match piece {
        Piece::Text(text) => text.len() as u64,
        Piece::Number(width) => digits.max(*width) as u64,
    };
    pieces.iter().map(len).sum()
}

/// Refuses an absurd number of keys before memory is taken.
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
