//! Parts that agents add to tasks of their own. The board keeps them from the first one until the task is over and all its
//! parts are; a task that is over takes its open parts along.
//!
//! ```text
//!   PartAdded ──► the part is a task of the board ──► PartOver, or Ended on the board
//!                                                          │ Input::PartsOver, until the waiting task has recorded it
//!   the task is over ──► LeadEnding: its open parts are cancelled ──► LeadClosed once none is open
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::wish::cancel_parts;
use super::{BOARD_MAX, Board, BoardEvent, Boarded, Draft, Place};
use crate::agent::{Agent, Phase, WORK_TEXT_MAX};
use crate::card::{Before, Card, DEPTH_MAX, Needs, Spent};
use crate::cut;
use crate::dealings::News;
use crate::id::{AgentName, SessionId, WorkId};
use crate::input::Input;
use crate::lead::{ABOUT_MAX, LeadRefusal, OPEN_PARTS_MAX, PARTS_EVER_MAX, PartResult};
use crate::spec::{Permissions, Rights};
use crate::time::Timestamp;
use crate::work::{Actor, TaskEnd, Work, WorkKind};

/// A part that an agent has added to its own task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedPart {
    /// Number of the part, which is a task itself.
    pub id: WorkId,
    /// The beginning of its text.
    pub about: String,
    /// The agent that it was added for; `None`: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentName>,
    /// The lead or person that cancelled it; `None` if nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<Actor>,
    /// Its result; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Arc<PartResult>>,
}

/// A task whose agent has added parts to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedTask {
    /// The agent that has the task, or had it last.
    pub agent: AgentName,
    /// The parts, oldest first.
    pub parts: Vec<LedPart>,
    /// Usage of parts of its parts that are forgotten.
    #[serde(default, skip_serializing_if = "Spent::is_none")]
    pub below: Spent,
    /// The reason why its parts are cancelled: the person who ended the task, or herder; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Actor>,
}

impl LedTask {
    /// Returns the parts that are open.
    pub fn open(&self) -> impl Iterator<Item = &LedPart> {
        self.parts.iter().filter(|part| part.result.is_none())
    }

    /// Returns the parts that are open, or have a result that the task's agent was not told; at most [`OPEN_PARTS_MAX`]. Of
    /// one that was cancelled it is told only if it has waited for it.
    #[must_use]
    pub fn untold(&self, agent: &Agent, task: WorkId) -> Vec<WorkId> {
        let leading = agent.board.leads.get(&task);
        let is_untold = |part: &&LedPart| {
            part.result.as_ref().is_none_or(|result| {
                result.end != TaskEnd::Cancelled
                    && !leading.is_some_and(|leading| leading.given.contains(&part.id))
            })
        };
        self.parts.iter().filter(is_untold).map(|part| part.id).take(OPEN_PARTS_MAX).collect()
    }

    /// Returns the part with this number.
    #[must_use]
    pub fn part(&self, id: WorkId) -> Option<&LedPart> {
        self.parts.iter().find(|part| part.id == id)
    }

    /// Returns the one who has cancelled an open part, by itself or with its task.
    fn stopped(&self, id: WorkId) -> Option<&Actor> {
        let part = self.part(id).filter(|part| part.result.is_none())?;
        part.cancelled.as_ref().or(self.ending.as_ref())
    }
}

/// A request of an agent about the parts of its own task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeadRequest {
    /// Adds a part.
    Add {
        /// Text of the part.
        text: String,
        /// The agent that it is for; `None`: the next idle agent that meets its needs.
        to: Option<AgentName>,
        /// Requirements that an agent must meet to get it.
        needs: Needs,
        /// Parts that must be done before.
        after: Vec<WorkId>,
    },
    /// Cancels a part.
    Cancel(WorkId),
}

/// All agents with their names, as they are on disk.
pub type Everybody<'a> = [(&'a AgentName, &'a Agent)];

impl Board {
    /// Decides a request of an agent about the parts of its task, and returns the part that it is about. A part that is open
    /// with the same text is not added again. The number of a new part is drawn with `fresh`.
    ///
    /// # Errors
    /// The refusal, for the model.
    pub fn lead(
        &self,
        request: &LeadRequest,
        (name, session): (&AgentName, SessionId),
        everybody: &Everybody<'_>,
        now: Timestamp,
        fresh: impl FnOnce() -> WorkId,
    ) -> Result<(Vec<BoardEvent>, WorkId), LeadRefusal> {
        let agent = everybody.iter().find(|(known, _)| *known == name).map(|(_, agent)| *agent);
        let agent = agent.ok_or(LeadRefusal::NoTask)?;
        let task = led_task(agent, session)?;
        if self.leads.get(&task.id).is_some_and(|led| led.ending.is_some()) {
            return Err(LeadRefusal::Ending);
        }
        let mut draft = Draft::new(self, now);
        let part = match request {
            LeadRequest::Add { text, to, needs, after } => {
                if let Some(known) = self.known_part(task.id, text, to.as_ref(), everybody) {
                    return Ok((Vec::new(), known));
                }
                self.takes_part(agent, task, text, everybody)?;
                let card = Card {
                    priority: task.card().priority,
                    needs: needs.clone(),
                    after: self.before(task.id, after)?,
                    parent: Some(task.id),
                    most: most(agent, task),
                    depth: task.card().depth.saturating_add(1),
                    thread: task.card().thread.clone(),
                    ..Card::default()
                };
                let (kind, by, card) = (WorkKind::Task, Actor::agent(name), Some(Box::new(card)));
                let mut work =
                    Work { id: WorkId::default(), kind, text: text.clone(), by, at: now, attempts: 0, card };
                somebody_fits(to.as_ref(), &work, everybody)?;
                work.id = fresh();
                let id = work.id;
                let (agent, work, to) = (name.clone(), Arc::new(work), to.clone());
                draft.record(BoardEvent::PartAdded { agent, work, to });
                id
            }
            LeadRequest::Cancel(part) => {
                self.cancel_part(&mut draft, (task.id, *part), &Actor::agent(name))?;
                *part
            }
        };
        Ok((draft.events, part))
    }

    /// Returns the parts that a task of an agent is to wait for: those that are named, or all, at most [`OPEN_PARTS_MAX`].
    /// Each of them is open, or has a result that the agent was not told.
    ///
    /// # Errors
    /// The refusal, for the model.
    pub fn to_await(
        &self,
        agent: &Agent,
        session: SessionId,
        named: &[WorkId],
    ) -> Result<Vec<WorkId>, LeadRefusal> {
        let task = led_task(agent, session)?;
        let Some(led) = self.leads.get(&task.id) else {
            return Err(named
                .first()
                .map_or(LeadRefusal::NothingOpen, |part| LeadRefusal::NoPart { part: *part }));
        };
        if led.ending.is_some() {
            return Err(LeadRefusal::Ending);
        }
        if let Some(part) = named.iter().find(|part| led.part(**part).is_none()) {
            return Err(LeadRefusal::NoPart { part: *part });
        }
        let given = |part: WorkId| {
            agent.board.leads.get(&task.id).is_some_and(|leading| leading.given.contains(&part))
        };
        let is_new = |part: &&LedPart| part.result.is_none() || !given(part.id);
        let is_named = |part: &&LedPart| named.is_empty() || named.contains(&part.id);
        let parts = led.parts.iter().filter(is_named).filter(is_new).map(|part| part.id);
        let parts: Vec<WorkId> = parts.take(OPEN_PARTS_MAX).collect();
        if parts.is_empty() { Err(LeadRefusal::NothingOpen) } else { Ok(parts) }
    }

    /// Returns the usage of all parts of a task so far, and of theirs.
    #[must_use]
    pub fn spent_by_parts(&self, task: WorkId, everybody: &Everybody<'_>) -> Spent {
        let Some(led) = self.leads.get(&task) else { return Spent::default() };
        let mut sum = led.below;
        for part in &led.parts {
            let own = match &part.result {
                Some(result) => result.outcome.spent,
                None => self.spent_so_far(part.id, everybody),
            };
            let split = self.parts(part.id).iter().filter(|below| below.end.is_none());
            let split = split.map(|below| self.spent_so_far(below.id, everybody));
            for spent in split.chain([own, self.spent_by_parts(part.id, everybody)]) {
                sum.join(spent);
            }
        }
        sum
    }

    fn spent_so_far(&self, task: WorkId, everybody: &Everybody<'_>) -> Spent {
        if let Some(boarded) = self.tasks.get(&task) {
            return boarded.work.card().spent;
        }
        let has =
            |agent: &Agent| agent.all_works().find(|work| work.id == task).map(|work| work.card().spent);
        let Some((agent, mut spent)) = everybody.iter().find_map(|(_, agent)| Some((agent, has(agent)?)))
        else {
            return Spent::default();
        };
        // The session that goes on is not on the card yet.
        if agent.current.as_ref().is_some_and(|work| work.id == task) && agent.session().is_some() {
            spent.add(agent.meter);
        }
        spent
    }

    /// Returns the open part of a task that has this text, for the same agent.
    fn known_part(
        &self,
        task: WorkId,
        text: &str,
        to: Option<&AgentName>,
        everybody: &Everybody<'_>,
    ) -> Option<WorkId> {
        let same = |work: &Work| work.card().parent == Some(task) && work.text == text;
        let of_agents = everybody.iter().flat_map(|(_, agent)| agent.all_works());
        let works = of_agents.chain(self.tasks.values().map(|boarded| &*boarded.work));
        let known = works.filter(|work| same(work)).map(|work| work.id);
        let led = self.leads.get(&task)?;
        known.into_iter().find(|known| led.open().any(|part| part.id == *known && part.to.as_ref() == to))
    }

    /// Checks that a task can get one more part.
    fn takes_part(
        &self,
        agent: &Agent,
        task: &Work,
        text: &str,
        everybody: &Everybody<'_>,
    ) -> Result<(), LeadRefusal> {
        if agent.is_refused(task.id) {
            return Err(LeadRefusal::Denied);
        }
        if task.card().depth >= DEPTH_MAX {
            return Err(LeadRefusal::TooDeep);
        }
        if text.trim().is_empty() {
            return Err(LeadRefusal::Empty);
        }
        if text.len() > WORK_TEXT_MAX {
            return Err(LeadRefusal::TooLong { bytes: text.len(), max: WORK_TEXT_MAX });
        }
        if let Some(led) = self.leads.get(&task.id) {
            if led.open().count() >= OPEN_PARTS_MAX {
                return Err(LeadRefusal::TooManyOpen);
            }
            if led.parts.len() >= PARTS_EVER_MAX {
                return Err(LeadRefusal::TooManyEver);
            }
        }
        // The usage of a part's own parts counts against its lead's budget, too.
        let above = self.leads.iter().find(|(_, led)| led.part(task.id).is_some());
        let above = above.and_then(|(above, led)| {
            let lead = everybody.iter().find(|(name, _)| **name == led.agent)?.1;
            Some((*above, lead))
        });
        for (led, lead) in std::iter::once((task.id, agent)).chain(above) {
            let budget = lead.spec.as_ref().map_or(0.0, |spec| spec.lead_budget_usd);
            let spent = self.spent_by_parts(led, everybody);
            if budget > 0.0 && spent.dollars() >= budget {
                return Err(LeadRefusal::BudgetSpent { spent, budget });
            }
        }
        if self.tasks.len() >= BOARD_MAX {
            return Err(LeadRefusal::BoardFull);
        }
        Ok(())
    }

    /// Returns the parts that another one comes after.
    fn before(&self, task: WorkId, after: &[WorkId]) -> Result<Vec<Before>, LeadRefusal> {
        let mut before: Vec<Before> = Vec::new();
        for part in after {
            let known = self.leads.get(&task).and_then(|led| led.part(*part));
            let known = known.ok_or(LeadRefusal::NoPart { part: *part })?;
            let end = known.result.as_ref().map(|result| result.end);
            match end {
                None | Some(TaskEnd::Done) => before.push(Before { task: *part, end }),
                Some(end) => return Err(LeadRefusal::PartOver { part: *part, end }),
            }
        }
        before.sort_by_key(|before| before.task);
        before.dedup_by_key(|before| before.task);
        Ok(before)
    }

    fn cancel_part(
        &self,
        draft: &mut Draft,
        (task, part): (WorkId, WorkId),
        by: &Actor,
    ) -> Result<(), LeadRefusal> {
        let known = self.leads.get(&task).and_then(|led| led.part(part));
        let known = known.ok_or(LeadRefusal::NoPart { part })?;
        if let Some(result) = &known.result {
            return Err(LeadRefusal::PartOver { part, end: result.end });
        }
        match self.tasks.get(&part).map(|boarded| &boarded.place) {
            Some(Place::Offered { .. }) => return Err(LeadRefusal::PartMoving { part }),
            Some(Place::Queued { .. }) => draft.end(part, TaskEnd::Cancelled, Some(by.clone())),
            Some(Place::Split { cancelled: None, .. }) => cancel_parts(draft, part, by),
            Some(Place::Split { .. }) => {}
            None if known.cancelled.is_none() => {
                draft.record(BoardEvent::PartCancelled { task, part, by: by.clone() });
            }
            None => {}
        }
        Ok(())
    }

    /// Returns the results of the parts that a task waits for; `None` while one of them is open.
    fn results_of(&self, task: WorkId, parts: &[WorkId]) -> Option<Vec<Arc<PartResult>>> {
        let known = self.leads.get(&task).into_iter().flat_map(|led| &led.parts);
        let awaited = known.filter(|part| parts.contains(&part.id));
        awaited.map(|part| part.result.clone()).collect()
    }

    /// Returns the inputs by which an agent learns that the parts that its tasks wait for are over.
    pub(super) fn results_for<'a>(&'a self, agent: &'a Agent) -> impl Iterator<Item = Input> + 'a {
        agent.board.parked().filter_map(|parked| {
            let (task, session) = (parked.work.id, parked.session);
            let results = self.results_of(task, &parked.parts)?;
            Some(Input::PartsOver { task, session, results })
        })
    }

    /// Returns the one who has cancelled a part that an agent has added, by itself or with its task.
    pub(super) fn lead_stopped(&self, work: &Work) -> Option<&Actor> {
        self.leads.get(&work.card().parent?)?.stopped(work.id)
    }

    /// Returns true if a task is a part that an agent has added to its own, which is open.
    pub(super) fn is_led(&self, work: &Work) -> bool {
        let led = work.card().parent.and_then(|parent| self.leads.get(&parent));
        led.is_some_and(|led| led.part(work.id).is_some())
    }

    /// Returns true if any agent's task has a part that is to be cancelled.
    pub(super) fn stops_parts(&self) -> bool {
        let stops = |part: &LedPart| part.cancelled.is_some();
        self.leads.values().any(|led| led.ending.is_some() || led.open().any(stops))
    }

    /// Returns the tasks with parts that their agent does not have any more, and that are not on the board.
    pub(super) fn leads_over(&self, name: &AgentName, agent: &Agent) -> Vec<WorkId> {
        let hands_back = |task: WorkId| {
            let unheard = agent.board.news.iter().filter(|news| news.number > self.heard_of(name));
            unheard
                .into_iter()
                .any(|news| matches!(&news.news, News::HandedBack { work, .. } if work.id == task))
        };
        let has =
            |task: WorkId| agent.phase != Phase::Removed && agent.all_works().any(|work| work.id == task);
        let is_over = |(task, led): &(&WorkId, &LedTask)| {
            led.agent == *name
                && led.ending.is_none()
                && !self.tasks.contains_key(task)
                && !has(**task)
                && !hands_back(**task)
        };
        self.leads.iter().filter(is_over).map(|(task, _)| *task).collect()
    }

    /// Returns the tasks with parts whose agent does not exist any more.
    pub(super) fn leads_lost(&self, known: impl Fn(&AgentName) -> bool) -> Vec<WorkId> {
        let is_lost = |(task, led): &(&WorkId, &LedTask)| {
            led.ending.is_none() && !known(&led.agent) && !self.tasks.contains_key(task)
        };
        self.leads.iter().filter(is_lost).map(|(task, _)| *task).collect()
    }

    pub(super) fn part_added(
        &mut self,
        agent: &AgentName,
        work: &Arc<Work>,
        to: Option<&AgentName>,
        at: Timestamp,
    ) {
        if let Some(parent) = work.card().parent {
            let new =
                || LedTask { agent: agent.clone(), parts: Vec::new(), below: Spent::default(), ending: None };
            let led = self.leads.entry(parent).or_insert_with(new);
            if led.part(work.id).is_none() {
                let about = cut::excerpt(&work.text, ABOUT_MAX);
                led.parts.push(LedPart {
                    id: work.id,
                    about,
                    to: to.cloned(),
                    cancelled: None,
                    result: None,
                });
            }
        }
        self.queue(work, to.cloned(), at);
    }

    /// Assigns a task of the board to another agent.
    pub(super) fn direct(&mut self, task: WorkId, to: Option<&AgentName>, by: &Actor) {
        let Some(boarded) = self.tasks.get_mut(&task) else { return };
        let Place::Queued { to: known } = &mut boarded.place else { return };
        *known = to.cloned();
        if to.is_some() && boarded.work.card().most.is_some() {
            lift(Arc::make_mut(&mut boarded.work), by);
        }
    }

    pub(super) fn part_cancelled(&mut self, task: WorkId, part: WorkId, by: &Actor) {
        let led = self.leads.get_mut(&task).into_iter().flat_map(|led| &mut led.parts);
        for known in led.filter(|known| known.id == part) {
            known.cancelled = Some(by.clone());
        }
    }

    pub(super) fn lead_ending(&mut self, task: WorkId, by: &Actor) {
        if let Some(led) = self.leads.get_mut(&task) {
            led.ending = Some(by.clone());
        }
    }

    /// Forgets the parts of a task. Their usage stays with the task that it is itself a part of.
    pub(super) fn lead_closed(&mut self, task: WorkId) {
        let spent = self.spent_by_parts(task, &[]);
        self.leads.remove(&task);
        if let Some(above) = self.leads.values_mut().find(|led| led.part(task).is_some()) {
            above.below.join(spent);
        }
    }

    /// Notes that a task with parts has gone to another agent.
    pub(super) fn lead_moved(&mut self, task: WorkId, to: &AgentName) {
        if let Some(led) = self.leads.get_mut(&task) {
            led.agent = to.clone();
        }
    }

    /// Notes the end of a part, or that it is open again.
    pub(super) fn note_led(&mut self, parent: WorkId, part: WorkId, result: Option<PartResult>) {
        let is_led = self.tasks.get(&parent).is_some_and(|boarded| self.is_led(&boarded.work));
        if let Some(Boarded { work, place: Place::Split { parts, .. }, .. }) = self.tasks.get_mut(&parent)
            && parts.iter().any(|known| known.id == part)
            && let Some(result) = result.as_ref().filter(|_| is_led)
        {
            // A part that was split costs what its pieces do.
            Arc::make_mut(work).card_mut().spent.join(result.outcome.spent);
        }
        let led = self.leads.get_mut(&parent).into_iter().flat_map(|led| &mut led.parts);
        for known in led.filter(|known| known.id == part) {
            if result.is_none() {
                known.cancelled = None;
            }
            known.result = result.clone().map(Arc::new);
        }
    }
}

impl Draft {
    /// Ends a task with parts, whose open parts are cancelled.
    pub(super) fn end_lead(&mut self, task: WorkId, by: &Actor) {
        let Some(led) = self.board.leads.get(&task).filter(|led| led.ending.is_none()) else { return };
        let open: Vec<WorkId> = led.open().map(|part| part.id).collect();
        self.record(BoardEvent::LeadEnding { task, by: by.clone() });
        for part in open {
            match self.board.tasks.get(&part).map(|boarded| &boarded.place) {
                Some(Place::Queued { .. }) => self.end(part, TaskEnd::Cancelled, Some(by.clone())),
                Some(Place::Split { cancelled: None, .. }) => cancel_parts(self, part, by),
                Some(Place::Split { .. } | Place::Offered { .. }) | None => {}
            }
        }
        self.settle(task);
    }

    /// Forgets the parts of a task that is over, once none of them is open.
    pub(super) fn settle_lead(&mut self, task: WorkId) {
        let led = self.board.leads.get(&task);
        if led.is_some_and(|led| led.ending.is_some() && led.open().next().is_none()) {
            self.record(BoardEvent::LeadClosed { task });
        }
    }
}

/// Lifts the bound of permissions that the lead of a part has, if a person has named an agent for it.
pub(super) fn lift(work: &mut Work, by: &Actor) {
    if !by.is_herder() && !by.is_agent() && work.card().most.is_some() {
        work.card_mut().most = None;
    }
}

/// Returns the rights that an agent may have at most that gets a part of the task: those of its lead, and no more than the
/// lead's own task allows.
fn most(lead: &Agent, task: &Work) -> Option<Rights> {
    let own = lead.spec.as_ref()?.rights();
    Some(task.card().most.map_or(own, |most| most.and(own)))
}

/// Returns the task of an agent's session that can have parts.
fn led_task(agent: &Agent, session: SessionId) -> Result<&Work, LeadRefusal> {
    if !agent.spec.as_ref().is_some_and(|spec| spec.leads) {
        return Err(LeadRefusal::NotLead);
    }
    let current = agent.current.as_ref().filter(|_| agent.session() == Some(session));
    let is_task = |work: &&Work| work.kind == WorkKind::Task && work.card().review.is_none();
    current.filter(is_task).ok_or(LeadRefusal::NoTask)
}

/// Checks that a part is for an agent that may do as much as its lead, or less, and that there is one.
fn somebody_fits(to: Option<&AgentName>, work: &Work, everybody: &Everybody<'_>) -> Result<(), LeadRefusal> {
    let own = work.card().most.map_or_else(Permissions::default, |most| most.permissions);
    if work.card().needs.permissions.is_some_and(|needed| needed > own) {
        return Err(LeadRefusal::MoreRights { own });
    }
    let within = |agent: &Agent| super::deal::takes_more(agent) && super::deal::is_within(agent, work);
    let fits = |agent: &Agent| Board::would_do(agent, work);
    let Some(to) = to else {
        let words = work.card().needs.words();
        let needs = if words.is_empty() { "nothing".to_owned() } else { words };
        let anybody = everybody.iter().any(|(_, agent)| fits(agent));
        return if anybody { Ok(()) } else { Err(LeadRefusal::Nobody { needs }) };
    };
    match everybody.iter().find(|(name, _)| *name == to).map(|(_, agent)| *agent) {
        Some(agent) if fits(agent) => Ok(()),
        Some(agent) if within(agent) => Err(LeadRefusal::Lacks { agent: to.clone() }),
        Some(agent) if super::deal::takes_more(agent) => Err(LeadRefusal::MoreRights { own }),
        Some(_) | None => {
            let others = everybody.iter().filter(|(_, agent)| within(agent)).map(|(name, _)| (*name).clone());
            Err(LeadRefusal::NoAgent { agent: to.clone(), others: others.collect() })
        }
    }
}
