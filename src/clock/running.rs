//! The time in which herder has run: it stands still while herder does.
//!
//! A herder that was stopped (SIGSTOP, a frozen container, a machine that swaps) has neither heard its agents nor given them
//! the processor's time for an answer, so that nothing may be held against them for that while. Whoever ends an agent measures
//! by this clock. As long as anybody does, a task ticks; a gap between its ticks is time in which herder did not run. Whoever
//! reads the clock first after such a gap takes it out, so that nobody depends on who is woken first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Between two ticks: as much of a gap still counts as time in which herder ran.
const TICK: Duration = Duration::from_millis(500);

/// A longer gap between two ticks is none of the scheduler's.
const GAP: Duration = Duration::from_millis(1500);

/// See the module. Its clones are one clock.
#[derive(Debug, Clone)]
pub struct Running(Option<Arc<Mutex<State>>>);

#[derive(Debug)]
struct State {
    /// When it was last seen to run.
    seen: Instant,
    /// For how long it did not.
    stood: Duration,
    /// How many measure by it.
    held: usize,
    ticks: bool,
}

/// Somebody measures by the clock, until dropped.
#[derive(Debug)]
pub struct Held(Running);

impl Default for Running {
    fn default() -> Self {
        let state = State { seen: Instant::now(), stood: Duration::ZERO, held: 0, ticks: false };
        Self(Some(Arc::new(Mutex::new(state))))
    }
}

impl Running {
    /// The clock of a simulation, whose time stands still for nobody.
    #[must_use]
    pub fn simulated() -> Self {
        Self(None)
    }

    /// From now on gaps are noticed. Must be called inside a tokio runtime.
    #[must_use]
    pub fn hold(&self) -> Held {
        if let Some(state) = &self.0 {
            let mut locked = lock(state);
            if locked.held == 0 {
                // Nobody has looked meanwhile, and nobody had to.
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

    /// A moment of this clock: earlier than the real one by the time in which herder did not run. Two of them can be compared,
    /// and none with the real one.
    #[must_use]
    pub fn now(&self) -> Instant {
        let now = Instant::now();
        let Some(state) = &self.0 else { return now };
        let stood = lock(state).look(now);
        now.checked_sub(stood).unwrap_or(now)
    }

    /// Waits for a moment of this clock.
    pub async fn sleep_until(&self, at: Instant) {
        loop {
            let left = at.saturating_duration_since(self.now());
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }

    /// Waits for so long of this clock, or for `future`. `None`: the time was over first.
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
    /// Takes out the time since it was last seen to run, if it did not. Answers all such time.
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
        // The whole process is held up: nothing is polled meanwhile.
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
