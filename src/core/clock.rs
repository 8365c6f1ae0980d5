//! What becomes of waits when the wall clock is set: each keeps its own length.
//!
//! On disk stand moments of the wall clock, the beginning of a wait and its end. When the clock is set by hours, both are moved
//! along with it, so that what is left of the wait stays what it was; the end of a limit that was named as a time of day alone
//! is a moment of the wall clock and stays. A clock that was set while herder was down is seen by a beginning that is still to
//! come: the wait then lasts its whole length again, and no longer.

use std::time::Duration;

use super::agent::{Agent, Phase};
use super::event::WaitReason;
use super::promotion::Gate;
use super::time::Timestamp;

/// What lies ahead of the clock by less is no sign that the clock was set.
const AHEAD_MAX: Duration = Duration::from_secs(2);

/// By how many milliseconds the clock lies behind the last of these moments, which were all seen.
#[must_use]
pub fn behind(seen: impl Iterator<Item = Timestamp>, now: Timestamp) -> Option<i64> {
    let last = seen.max()?;
    (last.since(now) > AHEAD_MAX).then(|| now.as_millis().saturating_sub(last.as_millis()))
}

impl Agent {
    /// By how many milliseconds the clock lies behind what the agent has seen.
    pub(super) fn clock_behind(&self, now: Timestamp) -> Option<i64> {
        let failures = self.failure_times.back().into_iter().chain(self.crash_times.back());
        let asks = self.asks.iter().map(|ask| ask.at);
        let call = self.watch.escalation.as_ref().map(|call| call.at);
        let seen = failures.copied().chain(asks).chain(call).chain([self.since]);
        behind(seen, now)
    }

    /// The wall clock was set.
    pub(super) fn clock_set(&mut self, by: i64) {
        let moves = |at: &mut Timestamp| *at = at.moved(by);
        moves(&mut self.since);
        if let Phase::Waiting { until, reason } = &mut self.phase
            && *reason != WaitReason::RateLimit
        {
            moves(until);
        }
        self.failure_times.iter_mut().for_each(moves);
        self.crash_times.iter_mut().for_each(moves);
        self.exhausted.iter_mut().for_each(moves);
        self.queue.iter_mut().for_each(|work| moves(&mut work.at));
        self.whispers.iter_mut().for_each(|whisper| moves(&mut whisper.at));
        if let Some(split) = &mut self.splitting {
            moves(&mut split.until);
        }
        for ask in &mut self.asks {
            moves(&mut ask.at);
            moves(&mut ask.until);
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
    /// The wall clock was set. A reset that was reported is a time of day.
    pub fn clock_set(&mut self, by: i64) {
        self.since = self.since.moved(by);
        if self.resets_at.is_none() {
            self.probe_at = self.probe_at.map(|at| at.moved(by));
            self.ask_at = self.ask_at.map(|at| at.moved(by));
        }
    }
}
