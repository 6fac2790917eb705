//! The retry limits of a client.

/// The retry limits of a client. Reads no clock: each wait is a number of milliseconds, and the
/// caller sleeps.
///
/// The n-th wait of a call, counted from 0, is `first x 2^n` milliseconds, at most `longest`:
/// 10, 20, 40, .. 1000 by default. Add random jitter if many clients would wake at the same time.
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
    /// The maximum number of sends of a command, the first one included. The default of 64 waits at
    /// least 25 seconds while servers fail. With its default settings, Redis takes 15 seconds and
    /// an election to replace a failed primary.
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
    /// Returns the n-th wait of a call in milliseconds, counted from 0.
    pub fn wait(self, n: u32) -> u64 {
        let factor = 1_u64.checked_shl(n).unwrap_or(u64::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }
}
