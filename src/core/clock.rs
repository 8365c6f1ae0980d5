//! Corrects waits when the wall clock is set: each keeps its length.
//!
//! The journal holds wall-clock times: the start of a wait and its end. When the clock is set by hours, both are
//! moved with it, so that the rest of the wait stays the same; a limit's reset that was reported as a time of day
//! stays. A clock that was set while herder was down is detected by a start in the future: the wait then lasts its
//! whole length again, and no longer.

use std::time::Duration;

use super::agent::{Agent, Phase};
use super::event::WaitReason;
use super::promotion::Gate;
use super::time::Timestamp;

/// Maximum lead of a recorded time over the clock that is not taken as a sign that the clock was set back.
const AHEAD_MAX: Duration = Duration::from_secs(2);

/// Returns the negative number of milliseconds by which the wall clock was set back, judged by the latest of these
/// recorded times, which all must have passed; `None` if the clock is not behind.
#[must_use]
pub fn behind(seen: impl Iterator<Item = Timestamp>, now: Timestamp) -> Option<i64> {
    let last = seen.max()?;
    (last.since(now) > AHEAD_MAX).then(|| now.as_millis().saturating_sub(last.as_millis()))
}

impl Agent {
    /// Returns the negative number of milliseconds by which the wall clock lies behind the agent's recorded times;
    /// `None` if it does not.
    pub(super) fn clock_behind(&self, now: Timestamp) -> Option<i64> {
        let failures = self.failure_times.back().into_iter().chain(self.crash_times.back());
        let asks = self.asks.iter().map(|ask| ask.at);
        let call = self.watch.escalation.as_ref().map(|call| call.at);
        let seen = failures.copied().chain(asks).chain(call).chain([self.since]);
        behind(seen, now)
    }

    /// Moves the agent's recorded times by `by` milliseconds, as far as the wall clock was set, so that its waits keep
    /// their length.
    pub(super) fn clock_set(&mut self, by: i64) {
        let moves = |at: &mut Timestamp| *at = at.moved(by);
        moves(&mut self.since);
        let reset = self.last_outcome.as_ref().and_then(|outcome| outcome.resets_at);
        if let Phase::Waiting { until, reason } = &mut self.phase
            && (*reason != WaitReason::RateLimit || reset != Some(*until))
        {
            moves(until);
        }
        self.failure_times.iter_mut().for_each(moves);
        self.crash_times.iter_mut().for_each(moves);
        self.exhausted.iter_mut().for_each(moves);
        for work in self.queue.iter_mut().chain(&mut self.current) {
            moves(&mut work.at);
            if let Some(card) = &mut work.card {
                card.came.iter_mut().for_each(moves);
            }
        }
        self.whispers.iter_mut().for_each(|whisper| moves(&mut whisper.at));
        if let Some(split) = &mut self.splitting {
            moves(&mut split.until);
        }
        if let Some(warm) = &mut self.warm {
            moves(&mut warm.until);
        }
        for ask in &mut self.asks {
            moves(&mut ask.at);
            moves(&mut ask.until);
            ask.remind_at.iter_mut().for_each(moves);
        }
        if let Some(call) = &mut self.watch.escalation {
            moves(&mut call.at);
            call.remind_at.iter_mut().for_each(moves);
        }
        if let Some(answered) = &mut self.watch.answered {
            moves(&mut answered.at);
        }
    }
}

impl Gate {
    /// Moves the times of a closed account's gate by `by` milliseconds, after the wall clock was set. A reported reset
    /// is a time of day and stays.
    pub fn clock_set(&mut self, by: i64) {
        self.since = self.since.moved(by);
        if self.resets_at.is_none() {
            self.probe_at = self.probe_at.map(|at| at.moved(by));
            self.ask_at = self.ask_at.map(|at| at.moved(by));
        }
    }
}
