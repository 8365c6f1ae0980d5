//! Rate of serenity's connection attempts. Pure.
//!
//! serenity resumes at once and without limit: forty times in a fifth of a second if the other side keeps closing.
//! Each attempt has to pass a [`turnstile`](super::turnstile), which opens when the next attempt is due.

use std::time::Duration;

use tokio::time::Instant;

use crate::chat::reconnect::{Backoff, FIRST, MOST, Why};

/// Decides when serenity may make its next connection attempt, by a growing wait after failures.
#[derive(Debug)]
pub(super) struct Pace {
    backoff: Backoff,
    /// Time since which the link is up; `None` while it is not.
    up_since: Option<Instant>,
    opens: Option<Instant>,
    /// Number of shards that have not made their first attempt yet; that attempt does not count as a failure.
    first: u32,
    /// Number of failed attempts since the link was last up.
    fruitless: u32,
    /// Number of failures in a row before this adapter started.
    before: u32,
}

impl Default for Pace {
    fn default() -> Self {
        let backoff = Backoff::new(FIRST, MOST);
        Self { backoff, up_since: None, opens: None, first: 0, fruitless: 0, before: 0 }
    }
}

impl Pace {
    /// Prepares the state for a new adapter: its failures are counted anew, while the backoff continues and grows up
    /// to `longest` seconds.
    pub(super) fn goes_on(&mut self, longest: u32) {
        self.backoff.begin_with(FIRST, longest);
        (self.up_since, self.first, self.fruitless) = (None, 0, 0);
        self.before = self.backoff.attempts();
    }

    /// Records that serenity starts with this number of shards.
    pub(super) fn begin(&mut self, shards: u32) {
        self.first = shards;
    }

    /// Returns true if serenity may make a connection attempt now.
    pub(super) fn is_open(&self, now: Instant) -> bool {
        self.opens.is_none_or(|opens| opens <= now)
    }

    /// Returns the time from which a connection attempt is allowed; `None` for at once.
    pub(super) fn opens(&self) -> Option<Instant> {
        self.opens
    }

    /// Records a connection attempt by serenity. Returns true if it follows a broken or failed link.
    pub(super) fn tried(&mut self, now: Instant, jitter: f64) -> bool {
        if self.first > 0 {
            self.first -= 1;
            return false;
        }
        self.failed(now, jitter);
        true
    }

    /// Records that a link ended or failed, and returns the wait before the next one.
    pub(super) fn failed(&mut self, now: Instant, jitter: f64) -> Duration {
        let up_for = self.up_since.take().map(|since| now.saturating_duration_since(since));
        self.fruitless = if up_for.is_some() { 0 } else { self.fruitless.saturating_add(1) };
        let wait = self.backoff.failed(up_for, Why::Lost, jitter, now);
        if self.backoff.attempts() == 1 {
            self.before = 0;
        }
        self.opens = Some(now + wait);
        wait
    }

    /// Records that all shards are connected: the link is up.
    pub(super) fn up(&mut self, now: Instant) {
        self.up_since = Some(now);
        self.fruitless = 0;
    }

    /// Forbids connection attempts before this time.
    pub(super) fn hold(&mut self, until: Instant) {
        self.opens = self.opens.max(Some(until));
    }

    /// Number of failed attempts in a row. A link that comes up and breaks repeatedly does not count.
    pub(super) fn fruitless(&self) -> u32 {
        self.fruitless
    }

    /// Number of failed attempts and short-lived links in a row, of this adapter.
    pub(super) fn attempts(&self) -> u32 {
        self.backoff.attempts().saturating_sub(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tries_come_ever_slower_until_a_link_lasts() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        pace.begin(1);
        assert!(pace.is_open(start));
        assert!(!pace.tried(start, 1.0), "the first try is no failure");
        pace.up(start);
        let mut now = start + Duration::from_secs(100);
        let mut waits = Vec::new();
        for _ in 0..7 {
            assert!(pace.is_open(now));
            assert!(pace.tried(now, 1.0));
            let opens = pace.opens.expect("a failed try is followed by a wait");
            assert!(!pace.is_open(opens - Duration::from_millis(1)));
            waits.push((opens - now).as_secs());
            now = opens;
        }
        assert_eq!((waits, pace.attempts()), (vec![1, 2, 4, 8, 16, 30, 30], 7));
        assert_eq!(pace.fruitless(), 6, "the first followed a link");
        pace.up(now);
        assert_eq!(pace.fruitless(), 0);
        now += Duration::from_secs(60);
        pace.tried(now, 1.0);
        assert_eq!(pace.attempts(), 1, "after a link that lasted it begins anew");
    }

    #[tokio::test(start_paused = true)]
    async fn links_that_come_up_and_break_are_slowed_down_without_being_fruitless() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        pace.begin(1);
        pace.tried(now, 0.5);
        for _ in 0..5 {
            pace.up(now);
            now += Duration::from_secs(1);
            assert!(pace.tried(now, 0.5));
        }
        assert_eq!((pace.attempts(), pace.fruitless()), (5, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_try_that_is_held_back_is_not_brought_forward() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.hold(now + Duration::from_secs(5));
        pace.hold(now + Duration::from_secs(1));
        assert!(!pace.is_open(now + Duration::from_secs(4)));
        assert!(pace.is_open(now + Duration::from_secs(5)));
    }

    #[tokio::test(start_paused = true)]
    async fn every_shard_has_its_first_try() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.begin(3);
        assert_eq!([pace.tried(now, 0.5), pace.tried(now, 0.5), pace.tried(now, 0.5)], [false; 3]);
        assert!(pace.is_open(now));
        assert!(pace.tried(now, 0.5));
    }
}
