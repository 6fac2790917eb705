//! The health of one node in 64 bits, and its change by a report.

use core::time::Duration;

use super::Policy;

/// The largest number of flaps that is counted. The hold reaches its limit long before.
const MOST_FLAPS: u8 = 64;

/// The number of bits of a time in milliseconds: enough for 9,000 years.
const TIME_BITS: u32 = 48;

/// The health of a node. All times are in milliseconds. It fits into one atomic, so that a report
/// needs no lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) down: bool,
    /// If down: the time when the node went down. If up: the time when it came up, or of its last
    /// failure.
    pub(super) since: u64,
    /// If down: the number of successes in a row. If up: the number of failures in a row, each
    /// within the window of the previous one.
    pub(super) count: u8,
    /// How often the node went down since it last was without a failure for `max_hold`.
    pub(super) flaps: u8,
}

impl State {
    pub(super) fn pack(self) -> u64 {
        let flags = u64::from(self.down) | u64::from(self.flaps) << 1;
        (flags << 8 | u64::from(self.count)) << TIME_BITS | self.since
    }

    pub(super) fn unpack(bits: u64) -> Self {
        let [.., count, flags] = bits.to_le_bytes();
        Self {
            down: flags & 1 == 1,
            since: bits & ((1 << TIME_BITS) - 1),
            count,
            flaps: flags >> 1,
        }
    }

    pub(super) fn failed(mut self, now: Duration, policy: &Policy) -> Self {
        if self.down {
            self.count = 0;
            return self;
        }
        let quiet = self.elapsed(now);
        if quiet > millis(policy.window) {
            self.count = 0;
        }
        if quiet >= millis(policy.max_hold) {
            self.flaps = 0;
        }
        (self.count, self.since) = (self.count + 1, self.latest(now));
        if self.count >= policy.fail_after {
            (self.down, self.count) = (true, 0);
            self.flaps = MOST_FLAPS.min(self.flaps + 1);
        }
        self
    }

    pub(super) fn succeeded(mut self, now: Duration, policy: &Policy) -> Self {
        if !self.down {
            self.count = 0;
            return self;
        }
        self.count = policy.rise.min(self.count.saturating_add(1));
        if self.count == policy.rise && self.is_due(now, policy) {
            self.down = false;
            (self.count, self.since) = (0, self.latest(now));
        }
        self
    }

    /// Returns whether the node is down and its hold is over.
    pub(super) fn is_due(self, now: Duration, policy: &Policy) -> bool {
        let doubled = 1_u64.checked_shl(u32::from(self.flaps.saturating_sub(1)));
        let hold = millis(policy.hold).saturating_mul(doubled.unwrap_or(u64::MAX));
        self.down && self.elapsed(now) >= hold.min(millis(policy.max_hold))
    }

    /// Returns the later of `now` and the last time. Reports of several threads may come out of
    /// order, and an older report never moves the clock backwards.
    fn latest(self, now: Duration) -> u64 {
        self.since.max(millis(now))
    }

    /// Returns the time since the last report that counted; 0 for an older report.
    fn elapsed(self, now: Duration) -> u64 {
        millis(now).saturating_sub(self.since)
    }
}

fn millis(time: Duration) -> u64 {
    let most = (1 << TIME_BITS) - 1;
    u64::try_from(time.as_millis()).map_or(most, |millis| millis.min(most))
}

#[cfg(test)]
mod tests;
