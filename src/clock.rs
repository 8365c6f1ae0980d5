//! The clocks: the wall clock, which people and `resetsAt` use and which can be set at any time; the time since boot,
//! which measures waits; and the time in which herder has run ([`running::Running`]), the only clock by which an
//! agent is ended.
//!
//! This module alone reads the wall clock. All other code receives a [`Timestamp`].

pub mod busy;
pub mod running;

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use crate::core::time::Timestamp;

/// Minimum difference between the wall clock and the time since boot that counts as a set clock.
const JUMP: Duration = Duration::from_secs(2);

/// Maximum time between the two readings of a pair of clocks; if they are further apart, the process was suspended in
/// between, and both are read again.
const READ_TOGETHER: Duration = Duration::from_millis(20);

/// Maximum number of attempts to read both clocks together.
const READINGS_MAX: usize = 5;

thread_local! {
    /// Start of the simulation on this thread, by tokio's time and by simulated time; `None` if there is none.
    static SIMULATED: Cell<Option<(Instant, Timestamp)>> = const { Cell::new(None) };
}

/// Milliseconds that a test has added to the wall clock of this process.
static SET_BY: AtomicI64 = AtomicI64::new(0);

/// Simulates the wall clock of this thread, starting at `at`. It follows tokio's time, which the caller has paused.
pub fn simulate(at: Timestamp) {
    SIMULATED.set(Some((Instant::now(), at)));
}

/// Sets the wall clock ahead by `by` milliseconds, or back: that of this thread if it is simulated, else that of this
/// process. The time since boot is not changed. For tests.
pub fn set(by: i64) {
    match SIMULATED.get() {
        Some((began, at)) => SIMULATED.set(Some((began, at.moved(by)))),
        None => drop(SET_BY.fetch_add(by, Ordering::Relaxed)),
    }
}

/// Returns the present time of the wall clock.
#[must_use]
pub fn now() -> Timestamp {
    if let Some((began, at)) = SIMULATED.get() {
        return at.after(began.elapsed());
    }
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
        .moved(SET_BY.load(Ordering::Relaxed))
}

/// Returns the time since boot, including suspensions of the machine. It cannot be set.
#[must_use]
pub fn since_boot() -> Duration {
    if let Some((began, _)) = SIMULATED.get() {
        return began.elapsed();
    }
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The last known difference between the wall clock and the time since boot, by which a set clock is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset(i64);

impl Offset {
    /// Reads the present difference between the wall clock and the time since boot.
    #[must_use]
    pub fn read() -> Self {
        let mut offset = 0;
        for _ in 0..READINGS_MAX {
            let (before, wall, after) = (since_boot(), now(), since_boot());
            offset = wall.before(before).as_millis();
            if after.saturating_sub(before) <= READ_TOGETHER {
                break;
            }
        }
        Self(offset)
    }

    /// Returns by how many milliseconds the wall clock was set since the last call; `None` if it was not set.
    pub fn jumped(&mut self) -> Option<i64> {
        let now = Self::read();
        let by = now.0.saturating_sub(self.0);
        let jumped = Duration::from_millis(by.unsigned_abs()) > JUMP;
        if jumped {
            *self = now;
        }
        jumped.then_some(by)
    }

    /// Takes the present difference as the new base, so that gradual corrections, such as NTP's, never add up to a
    /// jump. Call it after [`Offset::jumped`] returned `None`: it also swallows a jump that was not fetched.
    pub fn follow(&mut self) {
        *self = Self::read();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_was_set_is_told_once_and_time_that_passes_never() {
        simulate(Timestamp::from_seconds(1_800_000_000));
        let (mut offset, began) = (Offset::read(), now());
        tokio::time::advance(Duration::from_secs(7200)).await;
        assert_eq!(offset.jumped(), None, "two hours have passed");
        set(-2000);
        assert_eq!(offset.jumped(), None, "within the bound");
        set(-3 * 3_600_000);
        assert_eq!(offset.jumped(), Some(-3 * 3_600_000 - 2000));
        assert_eq!(offset.jumped(), None, "it was told");
        assert_eq!(now(), began.moved(7_200_000 - 3 * 3_600_000 - 2000));
        assert_eq!(since_boot(), Duration::from_secs(7200));
        set(1500);
        offset.follow();
        set(1500);
        assert_eq!(offset.jumped(), None, "little by little");
    }

    #[test]
    fn the_time_since_boot_goes_on_and_the_real_clocks_agree() {
        let (mut offset, boot) = (Offset::read(), since_boot());
        assert!(boot > Duration::ZERO && since_boot() >= boot);
        assert_eq!(offset.jumped(), None);
    }
}
