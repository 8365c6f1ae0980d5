//! When to try again: after 1, 2, 4, 8 … times the first wait, up to the longest, a little apart for every herder.

use std::time::Duration;

use tokio::time::Instant;

/// The first wait.
pub(crate) const FIRST: Duration = Duration::from_secs(1);
/// The longest wait, in first waits: `reconnect_max` of `[networks]`, as it is by default.
pub(crate) const MOST: u32 = 30;
/// A server that says we come too fast wants at least this.
const THROTTLED: Duration = Duration::from_secs(60);
/// The first wait after a ban; it doubles up to [`BARRED_MAX`].
const BARRED: Duration = Duration::from_secs(60);
/// The longest wait after a ban of which nobody has said how long it lasts.
const BARRED_MAX: Duration = Duration::from_secs(3600);
/// A link that lasted this long was a good one: the next wait is the shortest again.
const GOOD: Duration = Duration::from_secs(60);

/// Why a link ended, or never came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// It broke.
    Lost,
    /// The server says that we come too often.
    Throttled,
    /// The server has banned us, for this long if it says so.
    Barred(Option<Duration>),
}

/// Failed attempts in a row, and the wait that follows.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    /// The longest wait, in first waits.
    most: u32,
    attempts: u32,
    /// Bans in a row.
    bans: u32,
    /// When the next attempt is due.
    next: Option<Instant>,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new(FIRST, MOST)
    }
}

impl Backoff {
    /// Nothing has failed yet.
    pub(crate) fn new(first: Duration, most: u32) -> Self {
        Self { first, most, attempts: 0, bans: 0, next: None }
    }

    /// Begins with another first wait, and goes up to another longest, from now on; what has failed before still counts.
    pub(crate) fn begin_with(&mut self, first: Duration, most: u32) {
        self.first = first;
        self.most = most;
    }

    /// Failed attempts in a row.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// When the next attempt is due; `None`: at once.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// A link ended, or never came about; `up_for` says how long it was of use. `jitter` is between 0 and 1.
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
        // Between four fifths of the step and all of it: never longer than was promised.
        let wait = (self.first * waits).mul_f64(0.8 + 0.2 * jitter.clamp(0.0, 1.0));
        let least = match why {
            Why::Lost => Duration::ZERO,
            Why::Throttled => THROTTLED,
            Why::Barred(stated) => {
                let waits = 1_u32.checked_shl(self.bans).unwrap_or(u32::MAX);
                self.bans = self.bans.saturating_add(1);
                stated.unwrap_or(BARRED.saturating_mul(waits).min(BARRED_MAX))
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
        // One that is over at once is no reason to come again and again.
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
