//! How often serenity may connect.
//!
//! serenity resumes at once and without end: forty times in a fifth of a second, if the other side keeps closing. Before
//! each try it reads the gateway's address from behind a lock. That lock is held here and given away when the next try is
//! due: a turnstile.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use crate::chat::reconnect::{Backoff, FIRST};

/// When the next try is due. Pure.
#[derive(Debug)]
pub(super) struct Pace {
    backoff: Backoff,
    /// Since when the link is up.
    up_since: Option<Instant>,
    opens: Option<Instant>,
    /// Shards that were never connected: their first try is nobody's failure.
    first: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { backoff: Backoff::new(FIRST), up_since: None, opens: None, first: 0 }
    }
}

impl Pace {
    /// serenity begins anew with so many shards.
    pub(super) fn begin(&mut self, shards: u32) {
        self.first = shards;
    }

    /// Whether serenity may try now.
    pub(super) fn is_open(&self, now: Instant) -> bool {
        self.opens.is_none_or(|opens| opens <= now)
    }

    /// serenity tries. Answers whether that is because a link broke or never came about.
    pub(super) fn tried(&mut self, now: Instant, jitter: f64) -> bool {
        if self.first > 0 {
            self.first -= 1;
            return false;
        }
        let wait = self.failed(now, jitter);
        self.opens = Some(now + wait);
        true
    }

    /// A link ended, or never came about. Answers how long to wait with the next one.
    pub(super) fn failed(&mut self, now: Instant, jitter: f64) -> Duration {
        let up_for = self.up_since.take().map(|since| now.saturating_duration_since(since));
        self.backoff.failed(up_for, false, jitter, now)
    }

    /// All shards are connected.
    pub(super) fn up(&mut self, now: Instant) {
        self.up_since = Some(now);
    }

    /// Failed tries in a row.
    pub(super) fn attempts(&self) -> u32 {
        self.backoff.attempts()
    }
}

/// Holds the gateway's address until serenity may have it.
pub(super) struct Turnstile {
    address: Arc<Mutex<String>>,
    held: Option<OwnedMutexGuard<String>>,
}

impl Turnstile {
    pub(super) fn new(address: Arc<Mutex<String>>) -> Self {
        Self { address, held: None }
    }

    /// Lets one through if one waits and `open` says so. Answers whether one went.
    pub(super) fn turn(&mut self, open: bool) -> bool {
        let Some(held) = self.held.take() else {
            // Whoever went through still reads; the lock comes back at once.
            self.held = Arc::clone(&self.address).try_lock_owned().ok();
            return false;
        };
        if !open {
            self.held = Some(held);
            return false;
        }
        drop(held);
        // The lock is fair: if somebody waited, it is theirs by now.
        self.held = Arc::clone(&self.address).try_lock_owned().ok();
        self.held.is_none()
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
        assert!(!pace.tried(start, 0.5), "the first try is no failure");
        pace.up(start);
        let mut now = start + Duration::from_secs(100);
        let mut waits = Vec::new();
        for _ in 0..7 {
            assert!(pace.is_open(now));
            assert!(pace.tried(now, 0.5));
            let opens = pace.opens.expect("a failed try is followed by a wait");
            assert!(!pace.is_open(opens - Duration::from_millis(1)));
            waits.push((opens - now).as_secs());
            now = opens;
        }
        assert_eq!((waits, pace.attempts()), (vec![1, 2, 4, 8, 16, 30, 30], 7));
        pace.up(now);
        now += Duration::from_secs(60);
        pace.tried(now, 0.5);
        assert_eq!(pace.attempts(), 1, "after a link that lasted it begins anew");
    }

    #[tokio::test(start_paused = true)]
    async fn every_shard_has_its_first_try() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.begin(3);
        assert_eq!([pace.tried(now, 0.5), pace.tried(now, 0.5), pace.tried(now, 0.5)], [false; 3]);
        assert!(pace.is_open(now));
        assert!(pace.tried(now, 0.5));
    }

    #[tokio::test]
    async fn one_goes_through_when_it_is_open_and_not_before() {
        let address = Arc::new(Mutex::new("wss://gateway".to_owned()));
        let mut turnstile = Turnstile::new(Arc::clone(&address));
        assert!(!turnstile.turn(false), "it takes its place");
        assert!(!turnstile.turn(true), "nobody waits");
        let mut waiting = Box::pin(address.lock());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        assert!(!turnstile.turn(false));
        assert!(futures_util::poll!(&mut waiting).is_pending(), "it is closed");
        assert!(turnstile.turn(true));
        assert_eq!(*waiting.await, "wss://gateway");
        assert!(!turnstile.turn(true), "it takes its place again");
        let mut next = Box::pin(address.lock());
        assert!(futures_util::poll!(&mut next).is_pending());
    }
}
