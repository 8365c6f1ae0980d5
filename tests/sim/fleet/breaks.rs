//! Supervisors that panic: now and then at one input, and some at every input from then on, so that they are given up
//! until herder starts again.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use herder::clock;
use herder::core::id::AgentName;
use herder::core::input::Input;
use herder::core::time::Timestamp;

use super::world::Sim;

/// A supervisor is given up with its sixth panic in a minute.
const GIVEN_UP_AT: u32 = 6;

/// Number of recent panics from which on a supervisor may be given up at any panic: it panics at every input.
const OFTEN: usize = 3;

/// The time within which panics count as recent: a hanging process that is ended between two of them takes a while.
const LATELY: Duration = Duration::from_secs(180);

/// The longest time until a supervisor that panics at every input is given up: not more than its process takes to
/// end.
const SOON: Duration = Duration::from_secs(300);

/// A supervisor that panics at every input.
#[derive(Debug)]
struct Lost {
    since: Timestamp,
    panics: u32,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Breaks {
    /// The times of recent panics.
    panics: BTreeMap<AgentName, VecDeque<Timestamp>>,
    lost: BTreeMap<AgentName, Lost>,
}

impl Breaks {
    /// Forgets all supervisors: they end with herder.
    pub(crate) fn herder_is_gone(&mut self) {
        *self = Self::default();
    }

    /// A supervisor that panics at every input is given up in time.
    pub(crate) fn whoever_breaks_over_everything_is_given_up(
        &self,
        now: Timestamp,
        is_given_up: impl Fn(&AgentName) -> bool,
    ) -> Result<(), String> {
        let mut lost = self.lost.iter().filter(|(_, lost)| lost.since.after(SOON) < now);
        match lost.find(|(agent, _)| !is_given_up(agent)) {
            Some((agent, lost)) => Err(format!("{agent} is not given up: {lost:?}")),
            None => Ok(()),
        }
    }

    fn are_too_many(&mut self, agent: &AgentName, now: Timestamp) -> bool {
        let panics = self.panics.entry(agent.clone()).or_default();
        panics.retain(|at| at.after(LATELY) >= now);
        panics.push_back(now);
        panics.len() >= OFTEN
    }
}

impl Sim {
    /// Returns whether the supervisor of an agent panics at this input.
    pub(crate) fn breaks(&self, agent: &AgentName, input: &Input) -> bool {
        let mut world = self.world();
        if let Some(lost) = world.breaks.lost.get_mut(agent) {
            lost.panics += 1;
            let lives_on = lost.panics > GIVEN_UP_AT;
            drop(world);
            if lives_on {
                // If it panicked now as well, that might never come to an end.
                self.step(|_| Err(format!("{agent} decides something after it was to be given up")));
            }
            return !lives_on;
        }
        let one_in = match input {
            // A step on which two supervisors must agree.
            Input::HandedOver { .. } => 60,
            // More happens in a large fleet.
            _ if world.plan.rarer > 1 => 8_000,
            _ => 800,
        };
        if world.calm || !world.random.is(1, one_in) {
            return false;
        }
        let now = clock::now();
        world.tally.panics += 1;
        world.books.reports.breaks(agent);
        if world.breaks.are_too_many(agent, now) || world.random.is(1, 4) {
            world.tally.given_up += 1;
            world.breaks.lost.insert(agent.clone(), Lost { since: now, panics: 1 });
            world.books.breaks_over_everything(agent);
        }
        true
    }
}
