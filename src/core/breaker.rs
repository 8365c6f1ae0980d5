//! The circuit breaker and the degraded state: both count failures in a sliding window.
//!
//! `apply` keeps the ring of times, this module reads it. A half-open breaker (one trial session after `resume`)
//! opens again at the first failure, whatever the window says.

use std::collections::VecDeque;
use std::time::Duration;

use super::agent::{Agent, Breaker};
use super::policy::{Intensity, Policy};
use super::time::Timestamp;

/// Maximum number of failure or crash times kept for an agent: far above every sensible limit, and small enough to be
/// in every snapshot.
pub const RING: usize = 128;

/// Adds a time to a ring; the oldest one makes room.
pub fn remember(ring: &mut VecDeque<Timestamp>, at: Timestamp) {
    while ring.len() >= RING {
        ring.pop_front();
    }
    ring.push_back(at);
}

/// Returns the number of times in the ring that are less than `window` away from `now`.
#[must_use]
pub fn within(ring: &VecDeque<Timestamp>, window: Duration, now: Timestamp) -> u32 {
    // A clock that was set back leaves times in the future; those nearer than the window still count.
    let near = |at: &&Timestamp| now.since(**at) < window && at.since(now) < window;
    u32::try_from(ring.iter().filter(near).count()).unwrap_or(u32::MAX)
}

/// Returns the number of failures that opens the breaker now, or `None` if it stays as it is. Call it after a failure
/// was recorded.
#[must_use]
pub fn opens(agent: &Agent, policy: &Policy, now: Timestamp) -> Option<u32> {
    let failures = within(&agent.failure_times, policy.breaker.window, now);
    let trial_failed = agent.breaker == Breaker::HalfOpen;
    (trial_failed || exceeds(failures, policy.breaker)).then_some(failures)
}

/// Returns the number of process crashes that degrades the agent now, or `None`. Call it after a crash was recorded.
#[must_use]
pub fn degrades(agent: &Agent, policy: &Policy, now: Timestamp) -> Option<u32> {
    let crashes = within(&agent.crash_times, policy.degraded.window, now);
    exceeds(crashes, policy.degraded).then_some(crashes)
}

fn exceeds(count: u32, limit: Intensity) -> bool {
    // A limit beyond the ring's length would never be reached.
    let reachable = u32::try_from(RING - 1).unwrap_or(u32::MAX);
    count > limit.count.min(reachable)
}
