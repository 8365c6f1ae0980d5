//! The time since which a task has been at one piece of work, for the health probes: atomic stores alone.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::{now, since_boot};
use crate::core::time::Timestamp;

/// The value of [`Busy::since`] while the task waits for work.
const IDLE: i64 = 0;

/// Written by one task, read by the probes.
#[derive(Debug)]
pub struct Busy {
    /// Start of the present piece of work, in milliseconds.
    since: AtomicI64,
    /// The same by the time since boot, which measures it: the wall clock can be set meanwhile.
    boot: AtomicU64,
    /// End of the last piece that took longer than `limit`, or the start of this run.
    well: AtomicI64,
    limit: Duration,
}

impl Busy {
    /// A task that is stuck if a piece of work takes longer than `limit`.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self {
            since: AtomicI64::new(IDLE),
            boot: AtomicU64::new(0),
            well: AtomicI64::new(now().as_millis()),
            limit,
        }
    }

    /// Notes that a piece of work begins, unless one has already begun.
    pub fn begin(&self) {
        if self.since.load(Ordering::Relaxed) == IDLE {
            self.boot.store(millis(since_boot()), Ordering::Relaxed);
            self.since.store(now().as_millis(), Ordering::Relaxed);
        }
    }

    /// Notes that it is over. After a piece that failed for good, this is not called.
    pub fn end(&self) {
        let took = millis(since_boot()).saturating_sub(self.boot.load(Ordering::Relaxed));
        if self.since.swap(IDLE, Ordering::Relaxed) != IDLE && took > millis(self.limit) {
            self.well.store(now().as_millis(), Ordering::Relaxed);
        }
    }

    /// Returns the start of the present piece of work; `None` if there is none.
    #[must_use]
    pub fn since(&self) -> Option<Timestamp> {
        Some(self.since.load(Ordering::Relaxed)).filter(|since| *since != IDLE).map(Timestamp::from_millis)
    }

    /// Returns the time since which no piece of work has taken too long.
    #[must_use]
    pub fn well_since(&self) -> Timestamp {
        Timestamp::from_millis(self.well.load(Ordering::Relaxed))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[tokio::test(start_paused = true)]
    async fn a_long_piece_of_work_is_told_apart_from_short_ones() {
        let start = Timestamp::from_seconds(1_772_360_430);
        clock::simulate(start);
        let busy = Busy::new(Duration::from_secs(10));
        for seconds in [3, 10] {
            let begun = clock::now();
            busy.begin();
            tokio::time::advance(Duration::from_secs(seconds)).await;
            busy.begin();
            assert_eq!(busy.since(), Some(begun));
            busy.end();
            assert_eq!((busy.since(), busy.well_since()), (None, start), "{seconds} s");
        }
        // A clock that is set makes no piece of work long.
        busy.begin();
        clock::set(3_600_000);
        busy.end();
        assert_eq!(busy.well_since(), start);
        clock::set(-3_600_000);
        busy.begin();
        tokio::time::advance(Duration::from_secs(11)).await;
        busy.end();
        assert_eq!(busy.well_since(), start.after(Duration::from_secs(24)));
    }
}
