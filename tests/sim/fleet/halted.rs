//! Agents that are halted. Tasks that wait with them go to others after the configured time, however often that
//! changes, and not before; an agent that a stop of all agents halted begins nothing before a person resumes it.

use std::collections::BTreeMap;
use std::time::Duration;

use herder::core::agent::{Agent, Phase};
use herder::core::ask::Denial;
use herder::core::dealings::Onward;
use herder::core::event::{Event, PauseReason, WaitReason};
use herder::core::id::{AgentName, WorkId};
use herder::core::time::Timestamp;
use herder::core::work::{Actor, Work, WorkKind};
use herder::supervisor::View;

use super::world::Tally;

/// The longest delay of an action after it is due.
const AT_ONCE: Duration = Duration::from_secs(60);

/// The time that is written.
#[derive(Debug, Default)]
pub(crate) struct Halted {
    after: Duration,
    /// The time since which `after` holds, and the value before.
    since: Timestamp,
    before: Duration,
    /// Agents that were stopped by a stop of all agents, with its time.
    stopped: BTreeMap<AgentName, Timestamp>,
}

/// Returns `Some` if an agent cannot continue; true if it keeps the task that it has begun.
fn halts(agent: &Agent) -> Option<bool> {
    match &agent.phase {
        Phase::Paused {
            reason:
                PauseReason::Person(_)
                | PauseReason::StopAll(_)
                | PauseReason::Survivors
                | PauseReason::Escalation,
        } => Some(true),
        Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Waiting { reason: WaitReason::RateLimit, .. } => Some(false),
        _ => None,
    }
}

/// Returns the time since which a task waits with its halted agent.
fn waits_since(agent: &Agent, work: &Work) -> Timestamp {
    agent.since.max(work.card().came.unwrap_or(work.at))
}

impl Halted {
    /// Sets another time from now on.
    pub(crate) fn rule(&mut self, after: Duration, now: Timestamp) {
        if after != self.after {
            (self.before, self.after, self.since) = (self.after, after, now);
        }
    }

    /// Records a stop of all agents, whose sender is told that it will be done.
    pub(crate) fn all_are_to_stop(&mut self, agents: Vec<AgentName>, now: Timestamp) {
        self.stopped.extend(agents.into_iter().map(|agent| (agent, now)));
    }

    /// Checks an agent's event: neither a kill nor a supervisor that is given up lets a stopped agent continue.
    pub(crate) fn whoever_was_stopped_begins_nothing(
        &mut self,
        name: &AgentName,
        event: &Event,
        at: Timestamp,
    ) -> Result<(), String> {
        match event {
            Event::Resumed { .. } | Event::Reset { .. } | Event::Added { .. } => {
                self.stopped.remove(name);
                Ok(())
            }
            Event::SessionStarted { .. } => match self.stopped.get(name) {
                Some(since) if since.after(AT_ONCE) < at => {
                    Err(format!("{name} begins, and was stopped with all others at {since:?}"))
                }
                Some(_) | None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Checks an agent's event; `agent` is its state before; `closed` tells whether its account lets no session
    /// begin.
    pub(crate) fn nothing_is_taken_early(
        &self,
        name: &AgentName,
        event: &Event,
        agent: &Agent,
        closed: bool,
        at: Timestamp,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let Event::TaskHandedBack { work: task, onward: Onward::To(None), by } = event else { return Ok(()) };
        if *by != Actor::herder() {
            return Ok(());
        }
        tally.released += 1;
        // A decision just before the time was changed may be recorded just after.
        let lately = self.since.after(AT_ONCE) >= at;
        let times = [Some(self.after), Some(self.before).filter(|_| lately)];
        let after = times.into_iter().flatten().filter(|after| !after.is_zero()).min();
        let waits = agent.queue.iter().find(|work| work.id == *task).map(|work| waits_since(agent, work));
        let stands = halts(agent).is_some() || agent.phase == Phase::Idle && closed;
        match (waits, after) {
            // An idle one may have tried its account in between.
            (Some(_), Some(_)) if stands && agent.phase == Phase::Idle => Ok(()),
            (Some(since), Some(after)) if stands && since.after(after) <= at => Ok(()),
            _ => {
                let phase = &agent.phase;
                Err(format!("task {task} is taken from {name}, {phase:?}, since {waits:?}, by {self:?}"))
            }
        }
    }

    /// Checks the agents that are shown.
    pub(crate) fn nothing_waits_for_longer(&self, views: &[View], now: Timestamp) -> Result<(), String> {
        if self.after.is_zero() {
            return Ok(());
        }
        for View { name, agent, .. } in views {
            let Some(keeps) = halts(agent) else { continue };
            let at_hand = agent.unfinished.as_ref();
            // A task for which a person was called, or whose step was denied, waits for the person's decision.
            let kept: Option<WorkId> = at_hand
                .filter(|at_hand| keeps || at_hand.denied == Some(Denial::Kept))
                .map(|at_hand| at_hand.work);
            let is_due = |work: &&Work| {
                let since = waits_since(agent, work).max(self.since);
                let task = work.kind == WorkKind::Task && Some(work.id) != kept;
                task && since.after(self.after).after(AT_ONCE) < now
            };
            if let Some(work) = agent.queue.iter().find(is_due) {
                let (task, phase) = (work.id, &agent.phase);
                return Err(format!("task {task} still waits with {name}, which is {phase:?}, by {self:?}"));
            }
        }
        Ok(())
    }
}
