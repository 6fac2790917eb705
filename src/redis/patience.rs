//! How long a client goes on.

/// How long a client tries, without any clock: waits are numbers that it is to sleep.
///
/// The n-th wait of a call, counted from 0, is `first x 2^n` milliseconds, at most `longest`:
/// 10, 20, 40, .. 1000 by default. Add some chance where many clients would wake together.
///
/// ```
/// use hashroute::redis::Patience;
///
/// let patience = Patience::default();
/// assert_eq!([0, 1, 6, 7, 1000].map(|n| patience.wait(n)), [10, 20, 640, 1000, 1000]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patience {
    /// How often a command is sent at most, the first time included; 64 by default, which waits
    /// for at least 25 seconds while servers fail: Redis takes 15 and an election to replace one,
    /// unless told otherwise.
    pub sends: u32,
    /// The first wait, in milliseconds.
    pub first: u64,
    /// The longest wait, in milliseconds.
    pub longest: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            sends: 64,
            first: 10,
            longest: 1000,
        }
    }
}

builder! { Patience: with_sends(sends: u32), with_first(first: u64), with_longest(longest: u64) }

impl Patience {
    /// The n-th wait of a call, from 0, in milliseconds.
    ///
    /// ```
    /// assert_eq!(hashroute::redis::Patience::default().wait(2), 40);
    /// ```
    pub fn wait(self, n: u32) -> u64 {
        let factor = 1_u64.checked_shl(n).unwrap_or(u64::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }
}
