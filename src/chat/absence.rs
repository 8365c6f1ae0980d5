//! Duration of the time in which no message reached a network, across adapters and restarts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Minimum time without a delivery to a network after which backlogs are shortened.
pub(super) const ABSENCE: Duration = Duration::from_secs(60);

/// Measures the time for which no message could be delivered to a network; holds `None` while deliveries succeed.
/// Clones share the same state.
#[derive(Debug, Clone, Default)]
pub struct Silence(Arc<Mutex<Option<Since>>>);

#[derive(Debug, Clone, Copy)]
struct Since {
    noticed: Instant,
    /// Duration of the silence before `noticed`.
    before: Duration,
}

impl Silence {
    /// Creates the state of a new process, in a silence since the previous process ended: `away` is the time since
    /// that.
    #[must_use]
    pub fn after(away: Duration) -> Self {
        Self(Arc::new(Mutex::new(Some(Since { noticed: Instant::now(), before: away }))))
    }

    /// Creates the silence of a new process; `away` is `None` if there was no process before.
    #[must_use]
    pub fn of(away: Option<Duration>) -> Self {
        away.map(Self::after).unwrap_or_default()
    }

    /// Records that a delivery has failed: a silence begins, unless one has begun before.
    pub(super) fn begins(&self, now: Instant) {
        let begins = Since { noticed: now, before: Duration::ZERO };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(begins);
    }

    /// Ends the silence after a delivery and returns its duration.
    pub(super) fn ends(&self, now: Instant) -> Duration {
        let since = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        since.map_or(Duration::ZERO, |since| since.lasts(now))
    }

    /// Returns true if the silence has lasted at least `long` when an adapter starts, and ends it then. The time before
    /// the process started counts only once; a silence caused by failing requests continues.
    pub(super) fn was(&self, long: Duration, now: Instant) -> bool {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_long = since.is_some_and(|since| since.lasts(now) >= long);
        *since = since.filter(|since| !is_long && since.before == Duration::ZERO);
        is_long
    }
}

impl Since {
    fn lasts(self, now: Instant) -> Duration {
        self.before.saturating_add(now.saturating_duration_since(self.noticed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_absence_counts_from_the_last_sign_of_life() {
        let (second, now) = (Duration::from_secs(1), Instant::now());
        assert!(Silence::after(60 * second).was(60 * second, now));
        let silence = Silence::after(59 * second);
        assert!(!silence.was(60 * second, now));
        assert_eq!(silence.ends(now + 300 * second), Duration::ZERO, "nothing had to be said for long");
        silence.begins(now);
        silence.begins(now + second);
        assert!(!silence.was(60 * second, now + 59 * second), "requests fail, and the next adapter begins");
        assert!(silence.was(60 * second, now + 60 * second));
        assert_eq!(silence.ends(now + 60 * second), Duration::ZERO);
        silence.begins(now);
        assert_eq!(silence.ends(now + 3 * second), 3 * second);
    }
}
