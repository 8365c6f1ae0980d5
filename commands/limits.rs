//! Rates of replies, so that no stranger and no other bot can make herder flood a channel.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::core::time::Timestamp;

/// Maximum number of people whose rates are counted; while there are so many in one window, no further person gets a
/// reply.
const PEOPLE_MAX: usize = 1024;

/// A limit on a number of actions in a sliding window: for each key, e.g. a person, and for all keys together.
#[derive(Debug)]
pub(super) struct Rate {
    window: Duration,
    each: usize,
    together: usize,
    by_key: HashMap<String, VecDeque<Timestamp>>,
    all: VecDeque<Timestamp>,
}

impl Rate {
    pub(super) fn new(window: Duration, each: usize, together: usize) -> Self {
        Self { window, each, together, by_key: HashMap::new(), all: VecDeque::new() }
    }

    /// Counts one more action for `key` if the limit permits it; returns false if it does not.
    pub(super) fn allows(&mut self, key: &str, now: Timestamp) -> bool {
        let window = self.window;
        trim(&mut self.all, now, window);
        if self.all.len() >= self.together {
            return false;
        }
        if !self.by_key.contains_key(key) && self.by_key.len() >= PEOPLE_MAX {
            self.by_key.retain(|_, times| {
                trim(times, now, window);
                !times.is_empty()
            });
            if self.by_key.len() >= PEOPLE_MAX {
                return false;
            }
        }
        let times = self.by_key.entry(key.to_owned()).or_default();
        trim(times, now, window);
        if times.len() >= self.each {
            return false;
        }
        times.push_back(now);
        self.all.push_back(now);
        true
    }

    /// Returns true if the limit permits one more action for `key`, without counting it.
    pub(super) fn has_room(&mut self, key: &str, now: Timestamp) -> bool {
        trim(&mut self.all, now, self.window);
        let room = self.by_key.get_mut(key).is_none_or(|times| {
            trim(times, now, self.window);
            times.len() < self.each
        });
        room && self.all.len() < self.together
    }

    /// Resets the counts of all keys with this ending.
    pub(super) fn reset(&mut self, ending: &str) {
        self.by_key.retain(|key, _| !key.ends_with(ending));
    }
}

/// Drops times outside of the window, and times in the future after the clock was set back.
fn trim(times: &mut VecDeque<Timestamp>, now: Timestamp, window: Duration) {
    times.retain(|at| *at <= now && now.since(*at) < window);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(1_000_000 + seconds)
    }

    #[test]
    fn a_window_slides() {
        let mut rate = Rate::new(Duration::from_secs(60), 2, 100);
        assert!(rate.has_room("a", at(0)) && rate.has_room("a", at(0)), "asking is not having");
        assert!(rate.allows("a", at(0)) && rate.allows("a", at(30)));
        assert!(!rate.has_room("a", at(59)) && !rate.allows("a", at(59)));
        assert!(rate.allows("b", at(59)), "others are not touched");
        assert!(rate.allows("a", at(60)));
        assert!(!rate.allows("a", at(61)));
        rate.reset("a");
        assert!(rate.allows("a", at(62)));
    }

    #[test]
    fn many_names_do_not_help() {
        let mut rate = Rate::new(Duration::from_secs(60), 2, 5);
        let answered = (0..100).filter(|n| rate.allows(&n.to_string(), at(1))).count();
        assert_eq!(answered, 5);
        assert!(!rate.has_room("another", at(1)));
        let mut rate = Rate::new(Duration::from_secs(60), 2, usize::MAX);
        let answered = (0..5000).filter(|n| rate.allows(&n.to_string(), at(1))).count();
        assert_eq!(answered, PEOPLE_MAX);
        assert!(rate.allows("later", at(61)));
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out() {
        let mut rate = Rate::new(Duration::from_secs(60), 1, 5);
        assert!(rate.allows("a", at(10_000)));
        assert!(rate.allows("a", at(0)));
    }
}
