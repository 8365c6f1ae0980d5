//! Rate limit of the agents' messages: pure, with time as an argument.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::core::id::AgentName;
use crate::core::time::Timestamp;

/// A rate limit per agent over a sliding window; it counts across the agent's sessions.
#[derive(Debug)]
pub struct Rate {
    window: Duration,
    most: usize,
    used: BTreeMap<AgentName, VecDeque<Timestamp>>,
}

impl Rate {
    /// Creates a limit of `most` uses per agent within `window`.
    #[must_use]
    pub fn new(window: Duration, most: usize) -> Self {
        Self { window, most, used: BTreeMap::new() }
    }

    /// Counts one use by an agent at time `now`.
    ///
    /// # Errors
    /// The time until there is room.
    pub fn take(&mut self, agent: &AgentName, now: Timestamp) -> Result<(), Duration> {
        let window = self.window;
        let fresh = |at: &Timestamp| *at <= now && now.since(*at) < window;
        self.used.retain(|_, times| {
            times.retain(fresh);
            !times.is_empty()
        });
        let times = self.used.entry(agent.clone()).or_default();
        if times.len() < self.most {
            times.push_back(now);
            return Ok(());
        }
        let oldest = times.front().copied().unwrap_or(now);
        Err(oldest.after(window).since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_slides_and_counts_each_agent_alone() {
        let (spark, flint) = (AgentName::new("spark").expect("good"), AgentName::new("flint").expect("good"));
        let mut rate = Rate::new(Duration::from_secs(60), 2);
        let at = Timestamp::from_seconds;
        assert_eq!(rate.take(&spark, at(0)), Ok(()));
        assert_eq!(rate.take(&spark, at(10)), Ok(()));
        assert_eq!(rate.take(&spark, at(20)), Err(Duration::from_secs(40)));
        assert_eq!(rate.take(&flint, at(20)), Ok(()));
        assert_eq!(rate.take(&spark, at(60)), Ok(()));
        assert_eq!(rate.take(&spark, at(61)), Err(Duration::from_secs(9)));
    }
}
