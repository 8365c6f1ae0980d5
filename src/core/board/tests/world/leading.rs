//! Agents that add parts to their tasks, and wait for them.

use super::*;
use crate::ask::Denial;
use crate::board::LeadRequest;
use crate::card::{DEPTH_MAX, Needs};
use crate::lead::{LeadRefusal, OPEN_PARTS_MAX};
use crate::spec::AgentSpec;

/// Cost of every session of the world, in dollars: the third part of the budget of a lead.
pub(super) const SESSION_USD: f64 = 0.34;

impl World {
    pub(in crate::board::tests) fn add_part(
        &mut self,
        agent: usize,
        after: Option<usize>,
        to: Option<usize>,
    ) -> Result<WorkId, LeadRefusal> {
        if self.ids >= 60 {
            return Err(LeadRefusal::BoardFull);
        }
        let after = after.and_then(|index| self.part(agent, index)).into_iter().collect();
        let request = LeadRequest::Add {
            text: format!("the part {}", self.ids + 1),
            to: to.map(|index| self.name(index)),
            needs: Needs::default(),
            after,
        };
        self.lead(agent, &request)
    }

    pub(in crate::board::tests) fn cancel_part(
        &mut self,
        agent: usize,
        part: usize,
    ) -> Result<WorkId, LeadRefusal> {
        let part = self.part(agent, part).ok_or(LeadRefusal::NothingOpen)?;
        self.lead(agent, &LeadRequest::Cancel(part))
    }

    /// Returns one of the parts of the agent's current task.
    fn part(&self, agent: usize, index: usize) -> Option<WorkId> {
        let task = self.agents[&self.name(agent)].current.as_ref()?.id;
        let parts = &self.board.leads.get(&task)?.parts;
        parts.get(index % parts.len()).map(|part| part.id)
    }

    pub(in crate::board::tests) fn lead(
        &mut self,
        agent: usize,
        request: &LeadRequest,
    ) -> Result<WorkId, LeadRefusal> {
        let name = self.name(agent);
        if self.deserted.contains(&name) {
            return Err(LeadRefusal::NoTask);
        }
        let there = self.agents.iter().filter(|(_, agent)| agent.phase != Phase::Removed);
        let everybody: Vec<(&AgentName, &Agent)> = there.collect();
        let session = self.agents[&name].session().unwrap_or_default();
        let next = WorkId(self.ids + 1);
        let (events, part) = self.board.lead(request, (&name, session), &everybody, self.now, || next)?;
        self.ids = self.ids.max(if part == next { next.0 } else { 0 });
        self.commit(events);
        self.run_all_errands();
        self.deal();
        Ok(part)
    }

    /// Has an agent wait for its parts, as its tool does.
    pub(in crate::board::tests) fn await_parts(&mut self, agent: usize) -> Result<Vec<WorkId>, LeadRefusal> {
        let name = self.name(agent);
        let agent = &self.agents[&name];
        let session = agent.session().unwrap_or_default();
        let parts = self.board.to_await(agent, session, &[])?;
        self.tell(&name, &Input::AwaitsParts { session, parts: parts.clone() });
        Ok(parts)
    }

    /// Returns the parts of an agent's current task that are open, or whose results it was not told.
    pub(super) fn untold_parts(&self, name: &AgentName) -> Vec<WorkId> {
        let agent = &self.agents[name];
        let led = agent.current.as_ref().and_then(|work| Some((self.board.leads.get(&work.id)?, work.id)));
        led.map(|(led, task)| led.untold(agent, task)).unwrap_or_default()
    }

    /// Changes the settings of an agent.
    pub(in crate::board::tests) fn set(&mut self, agent: usize, change: impl FnOnce(&mut AgentSpec)) {
        let name = self.name(agent);
        change(self.agents.get_mut(&name).and_then(|agent| agent.spec.as_mut()).expect("it has one"));
    }

    /// Has a person deny what the session of an agent has asked for.
    pub(in crate::board::tests) fn deny(&mut self, agent: usize) {
        let name = self.name(agent);
        let unfinished = self.agents.get_mut(&name).and_then(|agent| agent.unfinished.as_mut());
        unfinished.expect("it is at work").denied = Some(Denial::Kept);
    }

    /// Returns the tasks of an agent that wait for parts.
    pub(in crate::board::tests) fn parked(&self, agent: &str) -> Vec<u64> {
        let name = AgentName::new(agent).expect("a good name");
        self.agents[&name].board.parked().map(|parked| parked.work.id.0).collect()
    }

    /// Returns the words with which an agent's current task goes on.
    pub(in crate::board::tests) fn recap(&self, agent: &str) -> String {
        let agent = &self.agents[&AgentName::new(agent).expect("a good name")];
        let work = agent.current.as_ref().expect("it works");
        crate::recap::recap(agent, work).unwrap_or_default()
    }

    pub(super) fn note_told(&mut self, events: &[Event]) {
        for event in events {
            let Event::PartsReported { work, results, .. } = event else { continue };
            for result in results {
                let times = self.told.entry((*work, result.part)).or_default();
                *times += 1;
                assert_eq!(*times, 1, "the result of {} was given to {work} twice", result.part);
            }
        }
    }

    pub(super) fn note_parts(&mut self, event: &BoardEvent) {
        match event {
            BoardEvent::PartAdded { work, .. } => {
                self.given.insert(work.id);
            }
            // It is open again, and its next result is another one.
            // Another agent that takes the task over was told nothing.
            BoardEvent::Taken { work, .. } => {
                self.told.retain(|(task, part), _| ![*task, *part].contains(&work.id));
            }
            BoardEvent::Reopened { task, .. } => self.told.retain(|(_, part), _| part != task),
            _ => {}
        }
    }

    /// Checks the bounds of leads.
    pub(super) fn check_parts(&self) {
        for (task, led) in &self.board.leads {
            assert!(led.open().count() <= OPEN_PARTS_MAX, "{task} has too many open parts");
        }
        let boarded = self.board.tasks.values().map(|boarded| &*boarded.work);
        for work in self.agents.values().flat_map(Agent::all_works).chain(boarded) {
            assert!(work.card().depth <= DEPTH_MAX, "{} is too deep", work.id);
            assert!(work.card().depth < DEPTH_MAX || !self.board.leads.contains_key(&work.id));
        }
        for (name, agent) in &self.agents {
            for parked in agent.board.parked() {
                let task = parked.work.id;
                assert!(
                    agent.current.iter().chain(&agent.queue).all(|work| work.id != task),
                    "{name} {task}"
                );
            }
        }
    }

    /// Checks, after every message has arrived, that no task waits for parts that are over, and that a task that is over
    /// has no open parts but those whose session is being stopped.
    pub(super) fn are_parts_settled(&self) {
        for (name, agent) in self.agents.iter().filter(|(name, _)| !self.deserted.contains(*name)) {
            for parked in agent.board.parked() {
                let led = self.board.leads.get(&parked.work.id).expect("its parts are known");
                let open = led.open().any(|part| parked.parts.contains(&part.id));
                assert!(open, "{} of {name} waits for nothing", parked.work.id);
            }
        }
        for (task, led) in self.board.leads.iter().filter(|(_, led)| led.ending.is_some()) {
            let open: Vec<WorkId> = led.open().map(|part| part.id).collect();
            assert!(!open.is_empty(), "{task} is over with its parts and stays");
            for part in open {
                assert!(self.is_being_stopped(part), "{part} of {task} goes on");
            }
        }
    }

    /// Returns true if a part, or one of its own, is with an agent that is stopping it, or that hears nothing.
    fn is_being_stopped(&self, part: WorkId) -> bool {
        let pieces = self.board.parts(part).iter().filter(|piece| piece.end.is_none());
        if pieces.map(|piece| piece.id).any(|piece| self.is_being_stopped(piece)) {
            return true;
        }
        let is_offered = self.board.tasks.get(&part).is_some_and(|boarded| match &boarded.place {
            Place::Offered { to, .. } => self.deserted.contains(to) || self.agents[to].leaves(),
            Place::Queued { .. } | Place::Split { .. } => false,
        });
        let has = |(name, agent): (&AgentName, &Agent)| {
            let stops = matches!(agent.phase, Phase::Stopping { .. })
                && agent.current.as_ref().is_some_and(|work| work.id == part);
            // One that is being stopped for its removal gives back what it has when it is gone.
            let is_deaf = self.deserted.contains(name) || agent.leaves();
            stops || is_deaf && agent.all_works().any(|work| work.id == part)
        };
        is_offered || self.agents.iter().any(has)
    }
}
