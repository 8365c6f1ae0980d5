//! An agent's last day, hour by hour: in which hours sessions ran, and how many of them failed.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::time::Timestamp;
use super::usage::hour;

/// Number of last hours that are kept and shown.
pub const HOURS: usize = 24;

/// An hour in which a session of the agent ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyHour {
    /// Number of the hour since the Unix epoch.
    pub at: i64,
    /// Number of sessions that failed in the hour.
    #[serde(default)]
    pub failed: u32,
}

/// The hours of the last day in which sessions ran, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Strip(VecDeque<BusyHour>);

/// State of an agent in one hour, as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HourState {
    /// No session ran in the hour.
    Idle,
    /// Sessions ran in the hour, and none failed.
    Ran,
    /// A session failed in the hour.
    Failed,
}

impl Strip {
    /// Returns true if no session ran in the last hours.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records a session that ended at `at` and had run for `duration`, in each hour in which it ran.
    pub fn enter(&mut self, at: Timestamp, duration: Duration, failed: bool) {
        let last = hour(at);
        let oldest = last.saturating_sub(HOURS as i64 - 1);
        for at in hour(at.before(duration)).clamp(oldest, last)..=last {
            // A clock that was set back leaves later hours behind; the order stays that of time.
            let place = self.0.iter().rposition(|hour| hour.at <= at).map_or(0, |index| index + 1);
            if place == 0 || self.0[place - 1].at != at {
                self.0.insert(place, BusyHour { at, failed: 0 });
            }
        }
        if let Some(hour) = self.0.iter_mut().find(|hour| hour.at == last) {
            hour.failed = hour.failed.saturating_add(u32::from(failed));
        }
        while self.0.front().is_some_and(|hour| hour.at < oldest) || self.0.len() > HOURS {
            self.0.pop_front();
        }
    }

    /// Returns the state in each of the last [`HOURS`] hours, oldest first. `running`: start of the session that still
    /// runs.
    #[must_use]
    pub fn hours(&self, now: Timestamp, running: Option<Timestamp>) -> [HourState; HOURS] {
        let this = hour(now);
        let mut states = [HourState::Idle; HOURS];
        for (state, at) in states.iter_mut().zip(this - (HOURS as i64 - 1)..=this) {
            *state = match self.0.iter().find(|hour| hour.at == at) {
                Some(BusyHour { failed: 1.., .. }) => HourState::Failed,
                Some(_) => HourState::Ran,
                None if running.is_some_and(|begun| hour(begun) <= at) => HourState::Ran,
                None => HourState::Idle,
            };
        }
        states
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOON: Timestamp = Timestamp::from_seconds(1_800_014_400);
    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_session_fills_the_hours_that_it_ran_in_and_fails_in_the_last() {
        let mut strip = Strip::default();
        strip.enter(NOON, HOUR * 2, true);
        let hours = strip.hours(NOON, None);
        assert_eq!(hours[HOURS - 4..], [HourState::Idle, HourState::Ran, HourState::Ran, HourState::Failed]);
        // Success does not take a failure of the same hour back.
        strip.enter(NOON, Duration::ZERO, false);
        assert_eq!(strip.hours(NOON, None)[HOURS - 1], HourState::Failed);
        assert_eq!(strip.hours(NOON.after(HOUR * 30), None), [HourState::Idle; HOURS]);
    }

    #[test]
    fn a_session_that_runs_fills_the_hours_since_it_began() {
        let hours = Strip::default().hours(NOON, Some(NOON.before(HOUR)));
        assert_eq!(hours.iter().filter(|state| **state == HourState::Ran).count(), 2);
    }

    proptest! {
        #[test]
        fn it_is_bounded_and_in_the_order_of_time(sessions in prop::collection::vec((0_i64..400_000, 0_u64..200_000, any::<bool>()), 0..60)) {
            let mut strip = Strip::default();
            for (at, duration, failed) in sessions {
                strip.enter(Timestamp::from_seconds(at), Duration::from_secs(duration), failed);
                prop_assert!(strip.0.len() <= HOURS);
                prop_assert!(strip.0.iter().zip(strip.0.iter().skip(1)).all(|(one, next)| one.at < next.at));
            }
        }
    }
}
