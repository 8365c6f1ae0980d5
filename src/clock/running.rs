//! A clock of the time in which herder has run: it stops while herder is stopped.
//!
//! A herder that was stopped (SIGSTOP, a frozen container, a swapping machine) neither read its agents' output nor
//! gave them time to answer, so that the gap must not count against them. Timeouts that end an agent use this clock.
//! While anything is measured by it, a task ticks; a gap between two ticks is time in which herder did not run. The
//! first reader after a gap removes it, so that the order of wake-ups does not matter.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Interval at which the clock ticks: a gap of this size still counts as running time.
const TICK: Duration = Duration::from_millis(500);

/// Minimum gap between two ticks in which herder counts as stopped; shorter ones are the scheduler's.
const GAP: Duration = Duration::from_millis(1500);

/// A clock that stands still while herder itself is stopped, so that a suspended machine ends no agent. Clones share
/// the same state.
#[derive(Debug, Clone)]
pub struct Running(Option<Arc<Mutex<State>>>);

#[derive(Debug)]
struct State {
    /// Time of the last tick or reading of this clock: until then this process ran. A gap from here counts as stopped.
    seen: Instant,
    /// Total time in which this process did not run.
    stood: Duration,
    /// Number of [`Held`] values that exist; the clock ticks while there is one.
    held: usize,
    ticks: bool,
}

/// Guard that keeps the clock ticking until it is dropped.
#[derive(Debug)]
pub struct Held(Running);

impl Default for Running {
    fn default() -> Self {
        let state = State { seen: Instant::now(), stood: Duration::ZERO, held: 0, ticks: false };
        Self(Some(Arc::new(Mutex::new(state))))
    }
}

impl Running {
    /// Creates the clock of a simulation, in which no gaps exist.
    #[must_use]
    pub fn simulated() -> Self {
        Self(None)
    }

    /// Starts the ticks by which gaps are detected, until the guard is dropped. Must be called inside a tokio runtime.
    #[must_use]
    pub fn hold(&self) -> Held {
        if let Some(state) = &self.0 {
            let mut locked = lock(state);
            if locked.held == 0 {
                // Time without measurements is not a gap.
                locked.seen = Instant::now();
            }
            locked.held += 1;
            if !std::mem::replace(&mut locked.ticks, true) {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "it ends soon after nobody measures by it any more"
                )]
                tokio::spawn(tick(Arc::clone(state)));
            }
        }
        Held(self.clone())
    }

    /// Returns the present time of this clock: earlier than the real one by the time in which herder did not run.
    /// Comparable only with other times of this clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        let now = Instant::now();
        let Some(state) = &self.0 else { return now };
        let stood = lock(state).look(now);
        now.checked_sub(stood).unwrap_or(now)
    }

    /// Waits until this clock shows `at`.
    pub async fn sleep_until(&self, at: Instant) {
        loop {
            let left = at.saturating_duration_since(self.now());
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }

    /// Waits for `future`, at most for `patience` by this clock. Returns `None` if that time is over first.
    pub async fn within<F: Future>(&self, patience: Duration, future: F) -> Option<F::Output> {
        let _held = self.hold();
        let until = self.now() + patience;
        tokio::select! {
            biased;
            output = future => Some(output),
            () = self.sleep_until(until) => None,
        }
    }
}

impl State {
    /// Adds the time since the last tick to the stopped time if it is a gap. Returns the total stopped time.
    fn look(&mut self, now: Instant) -> Duration {
        let gap = now.saturating_duration_since(self.seen);
        if self.held > 0 && gap > GAP {
            let stood = gap.saturating_sub(TICK);
            self.stood += stood;
            tracing::warn!(?stood, "herder did not run for a while; no clock of an agent counts that");
        }
        self.seen = self.seen.max(now);
        self.stood
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(state) = &self.0.0 {
            let mut state = lock(state);
            state.held = state.held.saturating_sub(1);
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn tick(state: Arc<Mutex<State>>) {
    loop {
        sleep(TICK).await;
        let mut state = lock(&state);
        if state.held == 0 {
            state.ticks = false;
            return;
        }
        state.look(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test(start_paused = true)]
    async fn it_goes_on_while_herder_runs_and_stands_still_while_it_does_not() {
        let running = Running::default();
        let held = running.hold();
        let began = running.now();
        sleep(seconds(30)).await;
        assert_eq!(running.now() - began, seconds(30), "somebody ticks");
        let waits = running.within(seconds(10), std::future::pending::<()>());
        tokio::pin!(waits);
        tokio::select! {
            biased;
            _ = &mut waits => panic!("too early"),
            () = sleep(seconds(3)) => {}
        }
        // The whole process is stopped: no task is polled meanwhile.
        tokio::time::advance(seconds(60)).await;
        let resumed = Instant::now();
        assert!(running.now() - began < seconds(34), "{:?}", running.now() - began);
        assert_eq!(waits.await, None);
        assert!(
            resumed.elapsed() >= Duration::from_millis(6400),
            "it still had its time: {:?}",
            resumed.elapsed()
        );
        drop(held);
        sleep(seconds(5)).await;
        let before = running.now();
        tokio::time::advance(seconds(60)).await;
        assert_eq!(running.now() - before, seconds(60), "nobody measures by it");
    }

    #[tokio::test(start_paused = true)]
    async fn that_of_a_simulation_is_the_simulated_time() {
        let running = Running::simulated();
        let _held = running.hold();
        let began = running.now();
        tokio::time::advance(seconds(60)).await;
        assert_eq!(running.now() - began, seconds(60));
    }
}
