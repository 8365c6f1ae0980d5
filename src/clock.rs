//! The wall clock: the one place that reads it. Everything else is given a [`Timestamp`].

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::core::time::Timestamp;

thread_local! {
    /// When a simulation on this thread began, by tokio's time and by its own.
    static SIMULATED: Cell<Option<(Instant, Timestamp)>> = const { Cell::new(None) };
}

/// From now on the clock of this thread shows `at` and goes on with tokio's time, which whoever simulates has paused.
pub fn simulate(at: Timestamp) {
    SIMULATED.set(Some((Instant::now(), at)));
}

/// Now.
#[must_use]
pub fn now() -> Timestamp {
    if let Some((began, at)) = SIMULATED.get() {
        return at.after(began.elapsed());
    }
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}
