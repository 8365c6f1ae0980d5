//! Accepted work: its place from the moment it was given until it is over.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use herder::core::agent::Agent;
use herder::core::board::{Board, BoardEvent, Place};
use herder::core::dealings::News;
use herder::core::event::Event;
use herder::core::id::{AgentName, WorkId};
use herder::core::outcome::Category;
use herder::core::work::{TaskEnd, WorkKind};

use super::books::is_asked_for;
use super::world::Tally;

/// The place of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Where {
    /// On the board, or on its way to an agent.
    Board,
    /// In the hands of an agent.
    Agent(AgentName),
    /// An agent has given it away, and the board has not taken it in yet.
    Leaving(AgentName),
    /// It is over. A task that failed or was blocked may be taken up again, and so may a part that was cancelled.
    Over(Option<TaskEnd>),
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Works {
    all: BTreeMap<WorkId, Where>,
    of: HashMap<AgentName, BTreeSet<WorkId>>,
}

impl Works {
    fn put(&mut self, work: WorkId, to: Where) {
        if let Some(Where::Agent(before)) = self.all.get(&work)
            && let Some(works) = self.of.get_mut(before)
        {
            works.remove(&work);
        }
        if let Where::Agent(agent) = &to {
            self.of.entry(agent.clone()).or_default().insert(work);
        }
        self.all.insert(work, to);
    }

    fn is_open(&self, work: WorkId) -> bool {
        self.all.get(&work).is_some_and(|place| !matches!(place, Where::Over(_)))
    }

    fn over(&mut self, work: WorkId, end: Option<TaskEnd>) {
        if self.is_open(work) {
            self.put(work, Where::Over(end));
        }
    }

    /// Records an agent's event; `agent` is its state before.
    pub(crate) fn heard(&mut self, name: &AgentName, event: &Event, agent: &Agent) -> Result<(), String> {
        match event {
            Event::Queued { work } => {
                if self.all.contains_key(&work.id) {
                    return Err(format!(
                        "{name} is given work {}, and that number was drawn before",
                        work.id
                    ));
                }
                self.put(work.id, Where::Agent(name.clone()));
            }
            Event::TaskTaken { work, number } => {
                if self.all.get(&work.id) != Some(&Where::Board) {
                    let known = self.all.get(&work.id);
                    return Err(format!(
                        "{name} takes task {} as number {number}, which is {known:?}",
                        work.id
                    ));
                }
                self.put(work.id, Where::Agent(name.clone()));
            }
            Event::TaskHandedBack { work, .. } => {
                let known = self.all.get(work);
                let over = match known {
                    Some(Where::Over(Some(TaskEnd::Failed | TaskEnd::Blocked))) => true,
                    Some(Where::Over(Some(TaskEnd::Cancelled))) => {
                        let ended = agent.finished.iter().find(|finished| finished.work.id == *work);
                        ended.is_some_and(|ended| ended.work.card().parent.is_some())
                    }
                    _ => false,
                };
                if known != Some(&Where::Agent(name.clone())) && !over {
                    return Err(format!("{name} hands task {work} back, which is {known:?}"));
                }
                self.put(*work, Where::Leaving(name.clone()));
            }
            Event::SessionStarted { work, .. } if is_asked_for(work.kind) => {
                let known = self.all.get(&work.id);
                if known != Some(&Where::Agent(name.clone())) {
                    return Err(format!("{name} begins with work {}, which is {known:?}", work.id));
                }
            }
            Event::TaskEnded { work, end, .. } => {
                let known = self.all.get(work);
                if known != Some(&Where::Agent(name.clone())) {
                    return Err(format!("task {work} ends with {name} as {end:?}, and is {known:?}"));
                }
                self.over(*work, Some(*end));
            }
            Event::Discarded { work, .. } | Event::Withdrawn { work, .. } => self.over(*work, None),
            // The work of the session itself cannot reach it a second time.
            Event::Steered { work, .. } if agent.queue.iter().any(|queued| queued.id == *work) => {
                self.over(*work, None);
            }
            Event::Cleared { works, .. } => works.iter().for_each(|work| self.over(*work, None)),
            Event::SessionEnded { outcome, .. } if outcome.category == Category::Success => {
                let current = agent.current.as_ref().filter(|work| work.kind != WorkKind::Task);
                if let Some(work) = current {
                    self.over(work.id, None);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Records an event of the board, whose state before is given.
    pub(crate) fn boarded(
        &mut self,
        event: &BoardEvent,
        board: &Board,
        tally: &mut Tally,
    ) -> Result<(), String> {
        match event {
            BoardEvent::Added { work } => {
                tally.tasks += 1;
                self.fresh(work.id)
            }
            BoardEvent::ReviewAsked { work, .. } | BoardEvent::PartAdded { work, .. } => self.fresh(work.id),
            BoardEvent::Split { parts, .. } => parts.iter().try_for_each(|part| self.fresh(part.id)),
            BoardEvent::Taken { agent, work, .. } => {
                let known = self.all.get(&work.id);
                if known != Some(&Where::Leaving(agent.clone())) {
                    return Err(format!("the board takes task {} of {agent}, which is {known:?}", work.id));
                }
                self.put(work.id, Where::Board);
                Ok(())
            }
            BoardEvent::Offered { task, to, .. } => {
                let place = board.tasks.get(task).map(|boarded| &boarded.place);
                if self.all.get(task) != Some(&Where::Board) || !matches!(place, Some(Place::Queued { .. })) {
                    let known = self.all.get(task);
                    return Err(format!("task {task} is handed to {to}, and is {known:?}, {place:?}"));
                }
                Ok(())
            }
            BoardEvent::Accepted { task, .. } => {
                if self.all.get(task) == Some(&Where::Board) {
                    return Err(format!("the board gives task {task} away, and nobody has it"));
                }
                Ok(())
            }
            BoardEvent::Ended { task, end, .. } => {
                if self.all.get(task) != Some(&Where::Board) {
                    let known = self.all.get(task);
                    return Err(format!("the board ends task {task}, which is {known:?}"));
                }
                self.put(*task, Where::Over(Some(*end)));
                Ok(())
            }
            BoardEvent::Reopened { task, .. } => {
                let known = self.all.get(task);
                if known != Some(&Where::Over(Some(TaskEnd::Cancelled))) {
                    return Err(format!("the board opens task {task} again, which is {known:?}"));
                }
                self.put(*task, Where::Board);
                Ok(())
            }
            BoardEvent::Directed { .. }
            | BoardEvent::Reworded { .. }
            | BoardEvent::Returned { .. }
            | BoardEvent::PartOver { .. }
            | BoardEvent::Reviewed { .. }
            | BoardEvent::ReviewGivenUp { .. }
            | BoardEvent::ReviewClosed { .. }
            | BoardEvent::PartCancelled { .. }
            | BoardEvent::LeadEnding { .. }
            | BoardEvent::LeadClosed { .. }
            | BoardEvent::AwaitedOver { .. }
            | BoardEvent::Cancelling { .. } => Ok(()),
        }
    }

    fn fresh(&mut self, work: WorkId) -> Result<(), String> {
        if self.all.contains_key(&work) {
            return Err(format!("task {work} is put on the board, and that number was drawn before"));
        }
        self.put(work, Where::Board);
        Ok(())
    }

    /// Checks that every change of an agent's work has an event.
    pub(crate) fn of_an_agent_are_those_it_has(&self, name: &AgentName, agent: &Agent) -> Result<(), String> {
        let asked = agent.queue.iter().chain(&agent.current).filter(|work| is_asked_for(work.kind));
        let has: BTreeSet<WorkId> = asked.map(|work| work.id).collect();
        let none = BTreeSet::new();
        let known = self.of.get(name).unwrap_or(&none);
        if has == *known { Ok(()) } else { Err(format!("{name} has {has:?}, and was given {known:?}")) }
    }

    /// Checks that all open work is with an agent or on the board.
    pub(crate) fn every_one_is_somewhere(
        &self,
        agents: &HashMap<AgentName, Agent>,
        board: &Board,
    ) -> Result<(), String> {
        for (work, place) in &self.all {
            let there = match place {
                Where::Over(_) => true,
                Where::Board => board.tasks.contains_key(work),
                Where::Agent(agent) => agents.get(agent).is_some_and(|agent| {
                    agent.queue.iter().chain(&agent.current).any(|queued| queued.id == *work)
                }),
                Where::Leaving(agent) => agents.get(agent).is_some_and(|agent| {
                    let is_it =
                        |news: &News| matches!(news, News::HandedBack { work: back, .. } if back.id == *work);
                    agent.board.news.iter().any(|numbered| is_it(&numbered.news))
                }),
            };
            if !there {
                return Err(format!("work {work} is lost: it was {place:?}"));
            }
        }
        Ok(())
    }

    /// Checks that nothing waits any more.
    pub(crate) fn everything_has_come_to_an_end(
        &self,
        agents: &HashMap<AgentName, Agent>,
    ) -> Result<(), String> {
        let open: Vec<_> = self.all.iter().filter(|(_, place)| !matches!(place, Where::Over(_))).collect();
        match open.first() {
            Some((work, place)) => {
                let agent = match place {
                    Where::Agent(agent) | Where::Leaving(agent) => {
                        agents.get(agent).map(|agent| &agent.phase)
                    }
                    Where::Board | Where::Over(_) => None,
                };
                Err(format!(
                    "work {work} is not over, nor are {} others: it is {place:?}, {agent:?}",
                    open.len() - 1
                ))
            }
            None => Ok(()),
        }
    }
}
