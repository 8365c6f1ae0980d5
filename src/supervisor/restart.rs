//! Number of rebuilds of a panicking supervisor before the root gives it up (OTP's intensity and period).

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Maximum number of rebuilds in [`PERIOD`]; more mean that the state itself causes the panic.
const INTENSITY: usize = 5;

/// See [`INTENSITY`].
const PERIOD: Duration = Duration::from_secs(60);

/// Times of the last rebuilds.
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
