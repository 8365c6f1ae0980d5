//! When to try again: after 1, 2, 4, 8 … 30 times the first wait, a little apart for every herder.

use std::time::Duration;

/// The first wait.
pub(crate) const FIRST: Duration = Duration::from_secs(1);
/// The longest wait, in first waits.
const WAIT_MAX: u32 = 30;
/// A server that says we come too fast wants at least this.
const THROTTLED: Duration = Duration::from_secs(60);
/// A link that lasted this long was a good one: the next wait is the shortest again.
const GOOD: Duration = Duration::from_secs(60);

/// Failed attempts in a row, and the wait that follows.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    attempts: u32,
}

impl Backoff {
    /// Nothing has failed yet.
    pub(crate) fn new(first: Duration) -> Self {
        Self { first, attempts: 0 }
    }

    /// Failed attempts in a row.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// A link ended, or never came about; `up_for` says how long it was of use. `jitter` is between 0 and 1.
    pub(crate) fn failed(&mut self, up_for: Option<Duration>, throttled: bool, jitter: f64) -> Duration {
        if up_for.is_some_and(|up| up >= GOOD) {
            self.attempts = 0;
        }
        let waits = 1_u32.checked_shl(self.attempts).unwrap_or(WAIT_MAX).min(WAIT_MAX);
        self.attempts = self.attempts.saturating_add(1);
        let wait = (self.first * waits).mul_f64(0.8 + 0.4 * jitter.clamp(0.0, 1.0));
        if throttled { wait.max(THROTTLED) } else { wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_half_a_minute_and_begin_anew_after_a_good_link() {
        let mut backoff = Backoff::new(FIRST);
        let mut waits = Vec::new();
        for _ in 0..7 {
            waits.push(backoff.failed(None, false, 0.5).as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(backoff.failed(Some(Duration::from_secs(59)), false, 0.5).as_secs(), 30);
        assert_eq!(backoff.failed(Some(Duration::from_secs(60)), false, 0.5).as_secs(), 1);
        assert_eq!(backoff.failed(None, true, 0.0), THROTTLED);
    }

    #[test]
    fn a_thousand_failures_are_no_overflow() {
        let mut backoff = Backoff { attempts: u32::MAX, ..Backoff::new(FIRST) };
        assert_eq!(backoff.failed(None, false, 1.0), Duration::from_secs(36));
    }
}
