//! How often a supervisor that panics is rebuilt before the root gives it up (OTP's intensity and period).

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// More rebuilds than this in [`PERIOD`] mean that the state itself makes it panic.
const INTENSITY: usize = 5;

/// See [`INTENSITY`].
const PERIOD: Duration = Duration::from_secs(60);

/// The last rebuilds.
#[derive(Debug, Default)]
pub(super) struct Rebuilds(VecDeque<Instant>);

impl Rebuilds {
    /// Whether one more is allowed at `now`; it is counted.
    pub(super) fn allow(&mut self, now: Instant) -> bool {
        while self.0.front().is_some_and(|first| now.duration_since(*first) > PERIOD) {
            self.0.pop_front();
        }
        self.0.push_back(now);
        self.0.len() <= INTENSITY
    }
}
