//! Difference between this machine's clock and Discord's. Ids of messages and interactions contain Discord's time,
//! and an age has to be computed with one clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::core::time::Timestamp;

/// Smallest difference between the clocks that counts, in milliseconds: an answer's date has whole seconds and arrives
/// with a delay.
const NOTICED: i64 = 3000;

/// Difference between this machine's clock and Discord's, in milliseconds; negative if this machine's is behind.
#[derive(Debug, Default)]
pub(super) struct Ahead(AtomicI64);

impl Ahead {
    /// Updates the difference from the date in an answer of Discord's that arrived at `now`.
    pub(super) fn told(&self, date: Timestamp, now: Timestamp) {
        // The date is up to a second older than the answer.
        let ahead = now.as_millis().saturating_sub(date.as_millis()).saturating_sub(500);
        self.0.store(if ahead.saturating_abs() <= NOTICED { 0 } else { ahead }, Ordering::Relaxed);
    }

    /// Converts a time of Discord's clock to this machine's.
    pub(super) fn here(&self, at: Timestamp) -> Timestamp {
        match self.0.load(Ordering::Relaxed) {
            ahead @ 0.. => at.after(Duration::from_millis(ahead.unsigned_abs())),
            behind => at.before(Duration::from_millis(behind.unsigned_abs())),
        }
    }

    /// Converts a time of this machine's clock to Discord's.
    pub(super) fn there(&self, at: Timestamp) -> Timestamp {
        match self.0.load(Ordering::Relaxed) {
            ahead @ 0.. => at.before(Duration::from_millis(ahead.unsigned_abs())),
            behind => at.after(Duration::from_millis(behind.unsigned_abs())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_by_one_clock() {
        let (ahead, there) = (Ahead::default(), Timestamp::from_millis(1_000_000));
        let after = |millis| there.after(Duration::from_millis(millis));
        for slow in [0, 900, 2900] {
            ahead.told(there, after(slow));
            assert_eq!(ahead.here(there), there, "{slow} ms is the network's doing");
        }
        ahead.told(there, after(600_500));
        assert_eq!((ahead.here(there), ahead.there(after(600_000))), (after(600_000), there));
        ahead.told(after(59_500), there);
        assert_eq!((ahead.here(after(60_000)), ahead.there(there)), (there, after(60_000)));
        ahead.told(there, there);
        assert_eq!(ahead.here(there), there, "it was set right");
    }
}
