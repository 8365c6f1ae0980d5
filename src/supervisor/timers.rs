//! One timer for the whole fleet.
//!
//! A timer per agent would cost thousands of wake-ups a minute at a thousand agents; here one task sleeps until the
//! earliest countdown, and a paused fleet arms nothing. Deadlines are wall-clock times, so that a countdown continues
//! while herder is down. The sleep is cut into pieces, so that a changed clock or a suspended machine is noticed;
//! after a change all agents are woken, and move their recorded waits along with the clock ([`crate::core::clock`]).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock;
use crate::core::id::AgentName;
use crate::core::time::Timestamp;

/// Maximum sleep of the timer: the longest delay of a countdown after the machine was suspended, and of noticing that
/// the clock was set.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);

/// The countdowns of all agents, in one timer.
#[derive(Debug, Default)]
pub(super) struct Timers {
    armed: Mutex<Armed>,
    earlier: Notify,
}

#[derive(Debug, Default)]
struct Armed {
    by_time: BTreeSet<(Timestamp, AgentName)>,
    by_agent: HashMap<AgentName, Timestamp>,
}

impl Timers {
    /// Sets, moves or (with `None`) removes an agent's countdown.
    pub(super) fn arm(&self, agent: &AgentName, deadline: Option<Timestamp>) {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        if armed.by_agent.get(agent).copied() == deadline {
            return;
        }
        if let Some(old) = armed.by_agent.remove(agent) {
            armed.by_time.remove(&(old, agent.clone()));
        }
        let Some(deadline) = deadline else { return };
        armed.by_agent.insert(agent.clone(), deadline);
        armed.by_time.insert((deadline, agent.clone()));
        if armed.by_time.first().is_some_and(|(_, first)| first == agent) {
            self.earlier.notify_one();
        }
    }

    /// Calls `due` for every agent whose countdown ends, and `set` when the wall clock was set; never returns.
    pub(super) async fn run(&self, due: impl Fn(&AgentName), set: impl Fn()) {
        let mut offset = clock::Offset::read();
        loop {
            if offset.jumped().is_some() {
                set();
            } else {
                offset.follow();
            }
            let sleep = self.ring(&due).unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP);
            tokio::select! {
                biased;
                () = tokio::time::sleep(sleep) => {}
                () = self.earlier.notified() => {}
            }
        }
    }

    /// Calls `due` for all ended countdowns; returns the time until the next one ends, if there is any.
    fn ring(&self, due: &impl Fn(&AgentName)) -> Option<Duration> {
        loop {
            let now = clock::now();
            let agent = {
                let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
                let (first, agent) = armed.by_time.first()?.clone();
                if first > now {
                    return Some(first.since(now));
                }
                armed.by_time.pop_first();
                armed.by_agent.remove(&agent);
                agent
            };
            due(&agent);
        }
    }
}
