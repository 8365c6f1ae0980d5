//! Limit on how often a panicking supervisor is rebuilt before the root gives it up (OTP's intensity and period).

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Maximum number of times that a panicked supervisor is rebuilt within [`PERIOD`]; more mean that the state itself
/// causes the panic.
const INTENSITY: usize = 5;

/// Period in which at most [`INTENSITY`] rebuilds are allowed.
const PERIOD: Duration = Duration::from_secs(60);

/// Times at which a supervisor was rebuilt, as far as they count.
#[derive(Debug, Default)]
pub(super) struct Rebuilds(VecDeque<Instant>);

impl Rebuilds {
    /// Counts a rebuild at `now`; returns true if it is allowed.
    pub(super) fn allow(&mut self, now: Instant) -> bool {
        while self.0.front().is_some_and(|first| now.duration_since(*first) > PERIOD) {
            self.0.pop_front();
        }
        self.0.push_back(now);
        self.0.len() <= INTENSITY
    }
}
