//! The clocks: the wall clock, which people and `resetsAt` go by and which can be set at any time; the time since boot, which
//! waits are measured by; and the time in which herder has run ([`running::Running`]), which alone ends an agent.
//!
//! This is the one place that reads the wall clock. Everything else is given a [`Timestamp`].

pub mod running;

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use crate::core::time::Timestamp;

/// A wall clock that differs by more than this from what the time since boot lets expect was set.
const JUMP: Duration = Duration::from_secs(2);

/// Two readings that are further apart than this are taken again: the process was held up between them.
const READ_TOGETHER: Duration = Duration::from_millis(20);

/// How often that is tried.
const READINGS_MAX: usize = 5;

thread_local! {
    /// When a simulation on this thread began, by tokio's time and by its own.
    static SIMULATED: Cell<Option<(Instant, Timestamp)>> = const { Cell::new(None) };
}

/// By how many milliseconds a test has set the wall clock of this process.
static SET_BY: AtomicI64 = AtomicI64::new(0);

/// From now on the clock of this thread shows `at` and goes on with tokio's time, which whoever simulates has paused.
pub fn simulate(at: Timestamp) {
    SIMULATED.set(Some((Instant::now(), at)));
}

/// Sets the wall clock ahead by so many milliseconds, or back: that of this thread where it is simulated, else that of this
/// process. The time since boot stays as it is.
pub fn set(by: i64) {
    match SIMULATED.get() {
        Some((began, at)) => SIMULATED.set(Some((began, at.moved(by)))),
        None => drop(SET_BY.fetch_add(by, Ordering::Relaxed)),
    }
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
        .moved(SET_BY.load(Ordering::Relaxed))
}

/// The time since boot, also that in which the machine was suspended. Nobody can set it.
#[must_use]
pub fn since_boot() -> Duration {
    if let Some((began, _)) = SIMULATED.get() {
        return began.elapsed();
    }
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// How the wall clock stood against the time since boot when that was last looked at: what tells a clock that was set from
/// time that has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset(i64);

impl Offset {
    /// As it is now.
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

    /// By how many milliseconds the wall clock was set since the last look, if it was.
    pub fn jumped(&mut self) -> Option<i64> {
        let now = Self::read();
        let by = now.0.saturating_sub(self.0);
        let jumped = Duration::from_millis(by.unsigned_abs()) > JUMP;
        if jumped {
            *self = now;
        }
        jumped.then_some(by)
    }

    /// Takes what was added little by little, as NTP does, for no jump.
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
