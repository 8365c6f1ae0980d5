//! The board's own moves: it processes reports of agents, and hands tasks to agents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::wish::{cancel_parts, parts_of};
use super::{Board, BoardEvent, Boarded, Draft, Place, leads, reviews};
use crate::agent::{Agent, Phase};
use crate::card::Card;
use crate::dealings::{News, Onward};
use crate::id::{AgentName, WorkId};
use crate::input::{Control, Input};
use crate::spec::Permissions;
use crate::time::Timestamp;
use crate::work::{Actor, TaskEnd, Work};

/// Whether an agent can be handed tasks, by what its own state does not say: whether its account is open, and whether a
/// supervisor takes its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The agent can be handed tasks.
    Open,
    /// The agent's account is closed, so that it could not start. Tasks assigned to it by name are still handed to it,
    /// others are not.
    Closed,
    /// No supervisor takes input for the agent. Tasks assigned to it by name stay on the board, where they can be
    /// assigned to others.
    Deserted,
}

impl Board {
    /// Returns the board's events that follow from an agent's state on disk: hand-overs that it has recorded, and
    /// messages from it.
    #[must_use]
    pub fn look(&self, name: &AgentName, agent: &Agent, now: Timestamp) -> Vec<BoardEvent> {
        self.take_in(name, agent, agent.phase == Phase::Removed, now)
    }

    /// Does the same as [`Board::look`] for an agent without a supervisor. Tasks that are being handed to the agent and
    /// that it has not recorded come back to the board.
    #[must_use]
    pub fn take_back(&self, name: &AgentName, agent: &Agent, now: Timestamp) -> Vec<BoardEvent> {
        self.take_in(name, agent, true, now)
    }

    fn take_in(&self, name: &AgentName, agent: &Agent, takes_none: bool, now: Timestamp) -> Vec<BoardEvent> {
        let removed = agent.phase == Phase::Removed;
        let concerned = self.tasks.values().any(|boarded| match &boarded.place {
            Place::Offered { to, .. } => to == name,
            Place::Queued { to } => removed && to.as_ref() == Some(name),
            Place::Split { .. } => false,
        });
        let unheard = agent.board.news.back().is_some_and(|news| news.number > self.heard_of(name));
        let awaited = self.ends_awaited_of(agent);
        let given_up = self.reviews_given_up(name, agent, takes_none);
        let is_over = !self.leads_over(name, agent).is_empty();
        if !concerned && !unheard && !is_over && awaited.is_empty() && given_up.is_empty() {
            return Vec::new();
        }
        let mut draft = Draft::new(self, now);
        // Hand-overs come first: the agent may have handed the same task back since.
        for (task, number) in self.offered_to(name) {
            if number <= agent.board.taken {
                draft.record(BoardEvent::Accepted { task, number });
            } else if takes_none {
                draft.record(BoardEvent::Returned { task, number });
            }
        }
        for news in agent.board.news.iter().filter(|news| news.number > self.heard_of(name)) {
            hear(&mut draft, name, news.number, &news.news);
        }
        for (task, end) in awaited {
            draft.over(task, end);
        }
        for task in given_up {
            draft.record(BoardEvent::ReviewGivenUp { task });
        }
        for task in draft.board.leads_over(name, agent) {
            draft.end_lead(task, &Actor::herder());
        }
        if removed {
            undirect(&mut draft, |to| to == name);
        }
        reviews::cancel_idle(&mut draft);
        tidy(&mut draft);
        draft.events
    }

    /// Returns the tasks that have ended at an agent and that others of the board wait for.
    fn ends_awaited_of(&self, agent: &Agent) -> Vec<(WorkId, TaskEnd)> {
        let cards = || self.tasks.values().map(|boarded| boarded.work.card());
        if cards().all(|card| card.after.is_empty()) {
            return Vec::new();
        }
        let over: BTreeMap<WorkId, TaskEnd> =
            agent.finished.iter().map(|finished| (finished.work.id, finished.end)).collect();
        let awaited: BTreeSet<WorkId> =
            cards().flat_map(Card::awaited).filter(|task| over.contains_key(task)).collect();
        over.into_iter().filter(|(task, _)| awaited.contains(task)).collect()
    }

    /// Returns the events that take back tasks from agents that do not exist any more and so will report nothing.
    #[must_use]
    pub fn look_for_lost(&self, known: impl Fn(&AgentName) -> bool, now: Timestamp) -> Vec<BoardEvent> {
        let mut draft = Draft::new(self, now);
        for (task, boarded) in &self.tasks {
            if let Place::Offered { to, number } = &boarded.place
                && !known(to)
            {
                draft.record(BoardEvent::Returned { task: *task, number: *number });
            }
        }
        undirect(&mut draft, |to| !known(to));
        for task in draft.board.leads_lost(&known) {
            draft.end_lead(task, &Actor::herder());
        }
        reviews::close_lost(&mut draft, known);
        tidy(&mut draft);
        draft.events
    }

    /// Returns the events that hand tasks to agents, one task per agent at a time. Tasks assigned by name go to that
    /// agent; the others, most urgent first, to an idle agent that meets their needs: before all one that has not tried
    /// the task, then the one that has been idle for longest.
    #[must_use]
    pub fn deal(
        &self,
        agents: &[(&AgentName, &Agent)],
        door: impl Fn(&AgentName, &Agent) -> Door,
        now: Timestamp,
    ) -> Vec<BoardEvent> {
        let mut row: Vec<(&Boarded, Option<&AgentName>)> = Vec::new();
        let mut busy = BTreeSet::new();
        for boarded in self.tasks.values() {
            match &boarded.place {
                Place::Queued { .. } if boarded.waits_for_others() => {}
                Place::Queued { to } => row.push((boarded, to.as_ref())),
                Place::Offered { to, .. } => {
                    busy.insert(to);
                }
                Place::Split { .. } => {}
            }
        }
        // The sort is stable: among equal priorities the lower number, which is older, stays first.
        row.sort_by_key(|(boarded, _)| std::cmp::Reverse(boarded.work.card().priority));
        let is_free = |(name, agent): &&(&AgentName, &Agent)| {
            !busy.contains(name) && agent.is_free(now) && door(name, agent) == Door::Open
        };
        let mut free: Vec<(&AgentName, &Agent)> = agents.iter().filter(is_free).copied().collect();
        let mut number = self.handed;
        let mut events = Vec::new();
        for (boarded, to) in row {
            let work = &boarded.work;
            let named = to.and_then(|to| agents.iter().find(|(name, _)| *name == to));
            if work.card().review.is_some()
                && named.is_none_or(|(name, agent)| {
                    !reviews::can_review(agent) || door(name, agent) == Door::Deserted
                })
            {
                // Only the agent that was asked reviews, and it cannot.
                let (task, end, by) = (work.id, TaskEnd::Cancelled, Some(Actor::herder()));
                events.push(BoardEvent::Ended { task, end, by });
                continue;
            }
            let chosen = match (to, named) {
                (Some(to), _) if busy.contains(to) => None,
                (Some(_), Some(named)) => Some(named).filter(|(name, agent)| {
                    takes_more(agent) && is_within(agent, work) && door(name, agent) != Door::Deserted
                }),
                (to, _) => {
                    if to.is_some() {
                        // The agent left before it was handed the task.
                        let task = work.id;
                        events.push(BoardEvent::Directed { task, to: None, by: Actor::herder() });
                    }
                    let able = free.iter().filter(|(_, agent)| suffices(agent, work));
                    able.min_by_key(|(name, agent)| (has_tried(name, work), agent.since, *name))
                }
            };
            let Some(name) = chosen.map(|(name, _)| *name) else { continue };
            free.retain(|(other, _)| *other != name);
            busy.insert(name);
            number += 1;
            events.push(BoardEvent::Offered { task: boarded.work.id, to: name.clone(), number });
        }
        events
    }

    /// Returns those of `agents` that [`Board::errands`] may have an input for, to spare looking at the others.
    pub fn concerned<'a>(
        &'a self,
        agents: impl Iterator<Item = (&'a AgentName, &'a Agent)>,
    ) -> impl Iterator<Item = (&'a AgentName, &'a Agent)> {
        let offered: BTreeSet<&AgentName> = self
            .tasks
            .values()
            .filter_map(|boarded| match &boarded.place {
                Place::Offered { to, .. } => Some(to),
                Place::Queued { .. } | Place::Split { .. } => None,
            })
            .collect();
        let cancels = self
            .tasks
            .values()
            .any(|boarded| matches!(boarded.place, Place::Split { cancelled: Some(_), .. }))
            || self.stops_parts();
        let authors: BTreeSet<&AgentName> = self.reviews.values().map(|review| &review.agent).collect();
        let reviews = move |name: &AgentName, agent: &Agent| {
            authors.contains(name) || agent.all_works().any(|work| self.is_idle_review(work))
        };
        agents.filter(move |(name, agent)| {
            reviews(name, agent)
                || agent.board.parked().next().is_some()
                || cancels
                || !agent.board.news.is_empty()
                || offered.contains(name)
        })
    }

    /// Returns the inputs that the board sends to an agent; they are repeated until the agent has recorded them.
    #[must_use]
    pub fn errands(&self, name: &AgentName, agent: &Agent) -> Vec<Input> {
        let mut errands = Vec::new();
        for (task, number) in self.offered_to(name).into_iter().filter(|(_, n)| *n > agent.board.taken) {
            if let Some(boarded) = self.tasks.get(&task) {
                errands.push(Input::HandedOver { number, work: Box::new((*boarded.work).clone()) });
            }
        }
        let up_to = self.heard_of(name);
        if agent.board.news.front().is_some_and(|news| news.number <= up_to) {
            errands.push(Input::BoardHeard { up_to });
        }
        errands.extend(self.reviews_for(name, agent));
        errands.extend(self.results_for(agent));
        for work in agent.all_works() {
            if let Some(by) = self.cancelled_with(work) {
                let control = Control::CancelTask(work.id);
                errands.push(Input::Control { by: by.clone(), control });
            }
        }
        errands
    }

    /// Returns true if the agent is able to do a task, idle or not.
    #[must_use]
    pub fn would_do(agent: &Agent, work: &Work) -> bool {
        takes_more(agent) && suffices(agent, work)
    }

    /// Returns true if the agent is able to do a task, has more than `permissions`, and needs no person to continue.
    #[must_use]
    pub fn would_do_more(agent: &Agent, work: &Work, permissions: Permissions) -> bool {
        let more = agent.spec.as_ref().is_some_and(|spec| spec.permissions > permissions);
        more && Self::would_do(agent, work) && !agent.stands_still()
    }

    fn offered_to(&self, name: &AgentName) -> Vec<(WorkId, u64)> {
        let offered = |(task, boarded): (&WorkId, &Boarded)| match &boarded.place {
            Place::Offered { to, number } if to == name => Some((*task, *number)),
            Place::Offered { .. } | Place::Queued { .. } | Place::Split { .. } => None,
        };
        self.tasks.iter().filter_map(offered).collect()
    }

    /// Returns the person or agent that cancelled `work`, which is a part, or the task that it is a part of.
    fn cancelled_with(&self, work: &Work) -> Option<&Actor> {
        let whole = self.tasks.get(&work.card().parent?).and_then(|whole| match &whole.place {
            Place::Split { cancelled, .. } => cancelled.as_ref(),
            Place::Queued { .. } | Place::Offered { .. } => None,
        });
        whole.or_else(|| self.lead_stopped(work))
    }
}

pub(super) fn takes_more(agent: &Agent) -> bool {
    agent.spec.is_some() && !agent.leaves()
}

fn suffices(agent: &Agent, work: &Work) -> bool {
    agent.spec.as_ref().is_some_and(|spec| work.card().is_for(spec))
}

pub(super) fn is_within(agent: &Agent, work: &Work) -> bool {
    agent.spec.as_ref().is_some_and(|spec| work.card().is_within(spec.rights()))
}

fn has_tried(name: &AgentName, work: &Work) -> bool {
    work.card().attempts.iter().any(|attempt| attempt.agent == *name)
}

/// Records one message from an agent: a task handed back, or the end of a part.
fn hear(draft: &mut Draft, agent: &AgentName, number: u64, news: &News) {
    let agent = agent.clone();
    match news {
        News::HandedBack { work, onward, by } => {
            let task = work.id;
            let mut work = (**work).clone();
            work.card_mut().came = None;
            if matches!(onward, Onward::To(Some(_))) {
                leads::lift(&mut work, by);
            }
            let (to, cuts) = match onward {
                Onward::To(to) => (to.clone(), None),
                Onward::Broader(_) => (None, None),
                Onward::Split(cuts) => (Some(agent.clone()), Some(cuts)),
            };
            let work = Arc::new(work);
            let taken =
                BoardEvent::Taken { agent, number, work: Arc::clone(&work), to: to.clone(), by: by.clone() };
            draft.record(taken);
            if let Some(cuts) = cuts {
                let parts = parts_of(&work, cuts, by, draft.now);
                draft.record(BoardEvent::Split { task, parts, to, by: by.clone() });
                draft.end_lead(task, by);
            }
        }
        News::PartOver { part, parent, end, outcome } => {
            let (part, parent, end, outcome) = (*part, *parent, *end, outcome.clone());
            draft.record(BoardEvent::PartOver { agent, number, part, parent, end, outcome });
            draft.settle(parent);
        }
        News::Reviewed { work, opinion } => {
            let (work, opinion) = (*work, opinion.clone());
            draft.record(BoardEvent::Reviewed { agent, number, work, opinion });
        }
    }
}

/// Makes tasks that were assigned to a removed agent available to any agent.
fn undirect(draft: &mut Draft, gone: impl Fn(&AgentName) -> bool) {
    let waits = |(task, boarded): (&WorkId, &Boarded)| match &boarded.place {
        Place::Queued { to: Some(to) } if gone(to) => Some(*task),
        Place::Queued { .. } | Place::Offered { .. } | Place::Split { .. } => None,
    };
    let tasks: Vec<WorkId> = draft.board.tasks.iter().filter_map(waits).collect();
    for task in tasks {
        draft.record(BoardEvent::Directed { task, to: None, by: Actor::herder() });
    }
}

/// Cancels parts that came to the board after their whole task was cancelled.
fn tidy(draft: &mut Draft) {
    let late = |boarded: &Boarded| {
        let by = draft.board.cancelled_with(&boarded.work).cloned();
        let is_here = matches!(boarded.place, Place::Queued { .. } | Place::Split { cancelled: None, .. });
        by.filter(|_| is_here).map(|by| (boarded.work.id, by))
    };
    let late: Vec<(WorkId, Actor)> = draft.board.tasks.values().filter_map(late).collect();
    for (task, by) in late {
        match draft.board.tasks.get(&task).map(|boarded| &boarded.place) {
            Some(Place::Queued { .. }) => draft.end(task, TaskEnd::Cancelled, Some(by)),
            Some(Place::Split { cancelled: None, .. }) => cancel_parts(draft, task, &by),
            Some(Place::Split { .. } | Place::Offered { .. }) | None => {}
        }
    }
}
