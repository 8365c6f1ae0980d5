//! Backoff between connection attempts: 1, 2, 4, 8 … times the first wait, up to a maximum, with jitter so that
//! several herders spread out.

use std::time::Duration;

use tokio::time::Instant;

/// Default first wait between two connection attempts to a network.
pub(crate) const FIRST: Duration = Duration::from_secs(1);
/// Default maximum wait between two connection attempts, as a multiple of the first: the default of `reconnect_max` in
/// `[networks]`.
pub(crate) const MOST: u32 = 30;
/// Minimum wait before the next attempt if the server says that herder connects too often.
const THROTTLED: Duration = Duration::from_secs(60);
/// First wait after a ban whose duration is unknown; it doubles up to [`BARRED_MAX`].
pub(crate) const BARRED: Duration = Duration::from_secs(60);
/// Maximum wait after a ban whose duration is unknown.
const BARRED_MAX: Duration = Duration::from_secs(3600);
/// Time for which a link has to be up to reset the count of failures.
const GOOD: Duration = Duration::from_secs(60);

/// The reason why a link ended or could not be established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The connection broke, or could not be made.
    Lost,
    /// The server says that herder connects too often.
    Throttled,
    /// The server has banned herder, for this time if it states one.
    Barred(Option<Duration>),
}

/// Counts failed connection attempts in a row and determines the growing wait before the next one.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    /// Maximum wait, as a multiple of the first.
    most: u32,
    attempts: u32,
    /// Number of bans in a row, from which the wait after a further one follows.
    bans: u32,
    /// First wait after a ban whose duration is unknown; it doubles.
    barred: Duration,
    /// Time of the next attempt; `None` for at once.
    next: Option<Instant>,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new(FIRST, MOST)
    }
}

impl Backoff {
    /// Creates a backoff without failures; `most` is the longest wait as a multiple of `first`.
    pub(crate) fn new(first: Duration, most: u32) -> Self {
        Self { first, most, attempts: 0, bans: 0, barred: BARRED, next: None }
    }

    /// Sets the first wait and the maximum anew, and keeps the count of failures.
    pub(crate) fn begin_with(&mut self, first: Duration, most: u32) {
        self.first = first;
        self.most = most;
    }

    /// Sets the first wait after a ban whose duration is unknown.
    pub(crate) fn begin_bans_with(&mut self, barred: Duration) {
        self.barred = barred;
    }

    /// Returns the number of failed attempts in a row.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the time of the next attempt; `None` means at once.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Records that a link ended or could not be established, and returns the wait until the next attempt. `up_for`
    /// is how long the link was up; `jitter` is between 0 and 1.
    pub(crate) fn failed(
        &mut self,
        up_for: Option<Duration>,
        why: Why,
        jitter: f64,
        now: Instant,
    ) -> Duration {
        if up_for.is_some_and(|up| up >= GOOD) {
            (self.attempts, self.bans) = (0, 0);
        }
        let waits = 1_u32.checked_shl(self.attempts).unwrap_or(u32::MAX).min(self.most);
        self.attempts = self.attempts.saturating_add(1);
        // Between 80 % and 100 % of the step, so that no wait exceeds the configured maximum.
        let wait = (self.first * waits).mul_f64(0.8 + 0.2 * jitter.clamp(0.0, 1.0));
        let least = match why {
            Why::Lost => Duration::ZERO,
            Why::Throttled => THROTTLED,
            Why::Barred(stated) => {
                let waits = 1_u32.checked_shl(self.bans).unwrap_or(u32::MAX);
                self.bans = self.bans.saturating_add(1);
                stated.unwrap_or(self.barred.saturating_mul(waits).min(BARRED_MAX))
            }
        };
        let wait = wait.max(least);
        self.next = Some(now + wait);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_half_a_minute_and_begin_anew_after_a_good_link() {
        let (mut backoff, now) = (Backoff::new(FIRST, MOST), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..7 {
            waits.push(backoff.failed(None, Why::Lost, 1.0, now).as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(backoff.failed(Some(Duration::from_secs(59)), Why::Lost, 1.0, now).as_secs(), 30);
        assert_eq!(backoff.failed(Some(Duration::from_secs(60)), Why::Lost, 1.0, now).as_secs(), 1);
        assert_eq!(backoff.failed(None, Why::Throttled, 0.0, now), THROTTLED);
        assert_eq!(backoff.next(), Some(now + THROTTLED));
    }

    #[test]
    fn a_ban_is_waited_for_as_long_as_it_lasts_or_longer_each_time_up_to_an_hour() {
        let (mut backoff, now) = (Backoff::new(FIRST, MOST), Instant::now());
        let mut barred = |stated| backoff.failed(None, Why::Barred(stated), 1.0, now).as_secs();
        let waits: Vec<u64> = (0..8).map(|_| barred(None)).collect();
        assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
        assert_eq!(barred(Some(Duration::from_secs(7200))), 7200);
        // A ban of zero length does not remove the ordinary wait.
        assert_eq!(barred(Some(Duration::ZERO)), 30);
        backoff.failed(Some(Duration::from_secs(60)), Why::Lost, 1.0, now);
        assert_eq!(backoff.failed(None, Why::Barred(None), 1.0, now).as_secs(), 60);
    }

    #[test]
    fn a_thousand_failures_are_no_overflow() {
        let mut backoff = Backoff { attempts: u32::MAX, ..Backoff::new(FIRST, MOST) };
        assert_eq!(backoff.failed(None, Why::Lost, 1.0, Instant::now()), Duration::from_secs(30));
    }
}
