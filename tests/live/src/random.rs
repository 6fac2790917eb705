//! Random names, weights and keys, the same for the same seed.

use hashroute::KeyHash;

#[derive(Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: KeyHash::from_integer(seed).get(),
        }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(1);
        KeyHash::from_integer(self.state).get()
    }

    /// Returns a number below a small `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Letters, digits and other characters that URLs and protocols keep unchanged.
    pub(crate) fn text(&mut self, lengths: core::ops::Range<usize>) -> String {
        const LETTERS: &[u8] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
        let length = lengths.start + self.below(lengths.len());
        (0..length)
            .map(|_| char::from(*self.pick(LETTERS)))
            .collect()
    }

    pub(crate) fn bytes(&mut self, lengths: core::ops::Range<usize>) -> Vec<u8> {
        let length = lengths.start + self.below(lengths.len());
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}
