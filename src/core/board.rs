//! The board: tasks that belong to no agent yet, were handed back, or wait for their parts.
//!
//! A task that an agent has is in that agent's state and nowhere else. It comes to the board when its agent hands it
//! back, and leaves it when the agent that it was handed to has recorded it. The protocol by which both sides agree
//! on that, whatever message is lost, is in [`super::dealings`].
//!
//! ```text
//!          add                    hand over                      the agent has it
//!   person ────► queued ──────────────────────► offered to one ────────────────────► (the agent's queue)
//!                  ▲  │ split                        │ the agent is removed                    │
//!                  │  └─────► split: waits for parts │                                         │
//!                  └─────────────────────────────────┴─────────────────────────────────────────┘
//!                                                                        hand back
//! ```
//!
//! Pure like the rest of the core: [`Board::apply`] writes, `wish` decides people's commands, `deal` the board's own
//! moves.

mod deal;
mod leads;
mod posts;
mod reviews;
#[cfg(test)]
mod tests;
mod wish;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::agent::FINISHED_MAX;
use super::card::{Before, DEPTH_MAX, PARTS_MAX};
use super::dealings::Cut;
use super::detail::{Detail, Own};
use super::id::{AgentName, WorkId};
use super::lead::{PartOutcome, PartResult};
use super::notice::Refusal;
use super::review::Opinion;
use super::time::Timestamp;
use super::work::{Actor, FinishedTask, TaskEnd, Work};

pub use deal::Door;
pub use leads::{Everybody, LeadRequest, LedPart, LedTask};
pub use reviews::{Answer, Requested, can_review};
pub use wish::Wish;

/// Maximum number of tasks on the board. A person who types stays far below it; a bot that feeds itself is refused.
pub const BOARD_MAX: usize = 1000;

/// A part of a split task, with its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Number of the part, which is a task itself.
    pub id: WorkId,
    /// Outcome of the part; `None` while it is open.
    #[serde(default)]
    pub end: Option<TaskEnd>,
}

/// State of a task on the board: waiting, being handed to an agent, or split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The task waits for the agent `to`; if `None`, for the next idle agent that meets the task's needs.
    Queued {
        /// Name of that agent.
        to: Option<AgentName>,
    },
    /// The task is being handed to an agent, which may have recorded it already.
    Offered {
        /// The agent that the task is offered to.
        to: AgentName,
        /// Number of the hand-over, by which the agent takes each only once.
        number: u64,
    },
    /// The task is split; it is done when its parts are done.
    Split {
        /// The parts, which are tasks of their own.
        parts: Vec<Part>,
        /// The person who cancelled the split task, which ends when its parts have ended; `None` if nobody did.
        cancelled: Option<Actor>,
    },
}

/// An open task of the board with its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boarded {
    /// The task itself.
    pub work: Arc<Work>,
    /// State of the task.
    pub place: Place,
    /// Time at which the task entered its state.
    pub since: Timestamp,
}

impl Boarded {
    /// Returns the part that failed, was blocked or was cancelled, so that the task needs a person.
    #[must_use]
    pub fn blocked_by(&self) -> Option<Part> {
        let Place::Split { parts, cancelled: None } = &self.place else { return None };
        parts.iter().copied().find(|part| part.end.is_some_and(|end| end != TaskEnd::Done))
    }

    /// Returns true if the task is not handed to an agent before others are done.
    #[must_use]
    pub fn waits_for_others(&self) -> bool {
        matches!(self.place, Place::Queued { .. }) && self.work.card().awaited().next().is_some()
    }
}

/// State of the board: the tasks that were given to no agent, and the parts of split tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Board {
    /// Open tasks, by number.
    pub tasks: BTreeMap<WorkId, Boarded>,
    /// Tasks that ended on the board itself, not at an agent, oldest first.
    pub finished: VecDeque<FinishedTask>,
    /// Number of the last message recorded from each agent; one with a lower number is a repetition.
    pub heard: BTreeMap<AgentName, u64>,
    /// Number of the last hand-over to any agent.
    pub handed: u64,
    /// Reviews that agents were asked for, by the reviewed task.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reviews: BTreeMap<WorkId, Requested>,
    /// Tasks whose agents have added parts to them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub leads: BTreeMap<WorkId, LedTask>,
}

/// An event of the board. Events are facts: `apply` takes every one in any state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum BoardEvent {
    /// A person put a task on the board.
    Added {
        /// The task that was put on the board.
        work: Arc<Work>,
    },
    /// An agent handed a task back.
    Taken {
        /// The agent that handed it back.
        agent: AgentName,
        /// Number of the agent's message about it.
        number: u64,
        /// The task as the agent had it.
        work: Arc<Work>,
        /// The agent that the task is for; `None`: the next idle agent that meets the task's needs.
        to: Option<AgentName>,
        /// The person or agent that caused the task to be handed back.
        by: Actor,
    },
    /// A task was assigned to another agent.
    Directed {
        /// Number of the task.
        task: WorkId,
        /// The agent that the task is for; `None`: the next idle agent that meets the task's needs.
        to: Option<AgentName>,
        /// The person who assigned the task, or herder.
        by: Actor,
    },
    /// The text of a task was replaced.
    Reworded {
        /// Number of the task.
        task: WorkId,
        /// New text of the task.
        text: String,
        /// The person who replaced the task's text.
        by: Actor,
    },
    /// A task is being handed to an agent.
    Offered {
        /// Number of the task.
        task: WorkId,
        /// The agent that it is offered to.
        to: AgentName,
        /// Number of the hand-over, by which the agent takes each only once.
        number: u64,
    },
    /// The agent has recorded the task.
    Accepted {
        /// Number of the task.
        task: WorkId,
        /// Number of the hand-over, by which the agent takes each only once.
        number: u64,
    },
    /// The agent left without recording the task.
    Returned {
        /// Number of the task.
        task: WorkId,
        /// Number of the hand-over, by which the agent takes each only once.
        number: u64,
    },
    /// A task was split into parts.
    Split {
        /// Number of the task.
        task: WorkId,
        /// The parts, as tasks of their own.
        parts: Vec<Arc<Work>>,
        /// The agent that the parts are for; `None`: the next idle agents that meet the parts' needs.
        to: Option<AgentName>,
        /// The person who split the task, or herder.
        by: Actor,
    },
    /// A part ended at an agent.
    PartOver {
        /// The agent that had the part.
        agent: AgentName,
        /// Number of the agent's message about it.
        number: u64,
        /// Number of the part.
        part: WorkId,
        /// Number of the task that was split into this part and others.
        parent: WorkId,
        /// Outcome of the part.
        end: TaskEnd,
        /// Its result and the evidence for it; `None` in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Box<PartOutcome>>,
    },
    /// An agent added a part to its own task.
    PartAdded {
        /// The agent that has the task.
        agent: AgentName,
        /// The part, as a task of its own.
        work: Arc<Work>,
        /// The agent that the part is for; `None`: the next idle agent that meets its needs.
        to: Option<AgentName>,
    },
    /// An agent cancelled a part of its own task, which another agent has.
    PartCancelled {
        /// Number of the task.
        task: WorkId,
        /// Number of the part.
        part: WorkId,
        /// The agent that has the task.
        by: Actor,
    },
    /// A task is over to which its agent has added parts: those that are open are cancelled.
    LeadEnding {
        /// Number of the task.
        task: WorkId,
        /// The person who ended it, or herder.
        by: Actor,
    },
    /// No part is open of a task that is over.
    LeadClosed {
        /// Number of the task.
        task: WorkId,
    },
    /// A task ended that another one of the board waits for.
    AwaitedOver {
        /// Number of the task that waits.
        task: WorkId,
        /// Number of the task that ended.
        awaited: WorkId,
        /// Outcome of the task that ended.
        end: TaskEnd,
    },
    /// An agent was asked to review another agent's task.
    ReviewAsked {
        /// The review, as a task of its own.
        work: Arc<Work>,
        /// The agent that was asked.
        to: AgentName,
    },
    /// A review ended at an agent.
    Reviewed {
        /// The agent that had the review.
        agent: AgentName,
        /// Number of the agent's message about it.
        number: u64,
        /// Number of the task that was the review.
        work: WorkId,
        /// The verdict; `None` if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opinion: Option<Opinion>,
    },
    /// An agent does not go on with a review: it is halted or paused, or has lost it.
    ReviewGivenUp {
        /// Number of the reviewed task.
        task: WorkId,
    },
    /// A task waits for no agent's verdict any more.
    ReviewClosed {
        /// Number of the task.
        task: WorkId,
    },
    /// A cancelled part was opened again.
    Reopened {
        /// Number of the part.
        task: WorkId,
        /// The agent that the task is for; `None`: the next idle agent that meets the task's needs.
        to: Option<AgentName>,
        /// The person who opened the part again.
        by: Actor,
    },
    /// A person cancelled a task whose parts must end first.
    Cancelling {
        /// Number of the task.
        task: WorkId,
        /// The person who cancelled it.
        by: Actor,
    },
    /// A task ended on the board.
    Ended {
        /// Number of the task.
        task: WorkId,
        /// Outcome of the task.
        end: TaskEnd,
        /// The person who ended the task; `None` if herder did.
        by: Option<Actor>,
    },
}

/// Checks that a task can be split into these parts.
///
/// # Errors
/// The refusal that says why not.
pub fn splittable(work: &Work, cuts: &[Cut]) -> Result<(), Refusal> {
    let task = work.id;
    let count = u32::try_from(cuts.len()).unwrap_or(u32::MAX);
    let empty = cuts.iter().any(|cut| cut.text.trim().is_empty());
    if !(2..=PARTS_MAX).contains(&cuts.len()) || empty {
        return Err(Refusal::SplitParts { task, parts: count, max: PARTS_MAX as u32 });
    }
    if work.card().depth >= DEPTH_MAX {
        return Err(Refusal::SplitTooDeep { task, max: DEPTH_MAX.into() });
    }
    Ok(())
}

impl Board {
    /// Applies one event that was recorded at `at`.
    pub fn apply(&mut self, event: &BoardEvent, at: Timestamp) {
        match event {
            BoardEvent::Added { work } => self.queue(work, None, at),
            BoardEvent::Taken { agent, number, work, to, .. } => {
                self.hear(agent, *number);
                self.queue(work, to.clone(), at);
                if let Some(parent) = work.card().parent {
                    // A part that was handed back is open again.
                    self.note_part(parent, work.id, None);
                }
            }
            BoardEvent::Directed { task, to, by } => self.direct(*task, to.as_ref(), by),
            BoardEvent::Reworded { task, text, .. } => {
                if let Some(boarded) = self.tasks.get_mut(task) {
                    Arc::make_mut(&mut boarded.work).text.clone_from(text);
                }
            }
            BoardEvent::Offered { task, to, number } => {
                self.handed = self.handed.max(*number);
                self.put(*task, Place::Offered { to: to.clone(), number: *number }, at);
            }
            BoardEvent::Accepted { task, number } => {
                if self.is_offered(*task, *number) {
                    let gone = self.tasks.remove(task);
                    if let Some(Boarded { place: Place::Offered { to, .. }, .. }) = gone {
                        self.lead_moved(*task, &to);
                    }
                }
            }
            BoardEvent::Returned { task, number } => {
                if self.is_offered(*task, *number) {
                    self.put(*task, Place::Queued { to: None }, at);
                }
            }
            BoardEvent::Split { task, parts, to, .. } => {
                let known = parts.iter().map(|part| Part { id: part.id, end: None }).collect();
                self.put(*task, Place::Split { parts: known, cancelled: None }, at);
                for part in parts {
                    self.queue(part, to.clone(), at);
                }
            }
            BoardEvent::PartOver { agent, number, part, parent, end, outcome } => {
                self.hear(agent, *number);
                let (part, end, agent) = (*part, *end, Some(agent.clone()));
                let outcome = outcome.as_deref().cloned().unwrap_or_default();
                self.note_part(*parent, part, Some(PartResult { part, end, agent, outcome }));
            }
            BoardEvent::PartAdded { agent, work, to } => self.part_added(agent, work, to.as_ref(), at),
            BoardEvent::PartCancelled { task, part, by } => self.part_cancelled(*task, *part, by),
            BoardEvent::LeadEnding { task, by } => self.lead_ending(*task, by),
            BoardEvent::LeadClosed { task } => self.lead_closed(*task),
            BoardEvent::AwaitedOver { task, awaited, end } => {
                if let Some(boarded) = self.tasks.get_mut(task) {
                    let before = &mut Arc::make_mut(&mut boarded.work).card_mut().after;
                    before
                        .iter_mut()
                        .filter(|before| before.task == *awaited)
                        .for_each(|before| before.end = Some(*end));
                }
            }
            BoardEvent::Reopened { task, to, by } => {
                let known = self.finished.iter().position(|finished| finished.work.id == *task);
                if let Some(mut finished) = known.and_then(|index| self.finished.remove(index)) {
                    if to.is_some() {
                        leads::lift(&mut finished.work, by);
                    }
                    let work = Arc::new(finished.work);
                    self.queue(&work, to.clone(), at);
                    if let Some(parent) = work.card().parent {
                        self.note_part(parent, work.id, None);
                    }
                }
            }
            BoardEvent::Cancelling { task, by } => {
                if let Some(Boarded { place: Place::Split { cancelled, .. }, .. }) = self.tasks.get_mut(task)
                {
                    *cancelled = Some(by.clone());
                }
            }
            BoardEvent::ReviewAsked { work, to } => self.review_asked(work, to, at),
            BoardEvent::Reviewed { agent, number, work, opinion } => {
                self.hear(agent, *number);
                self.review_over(*work, opinion.as_ref());
            }
            BoardEvent::ReviewGivenUp { task } => {
                if let Some(known) = self.reviews.get(task) {
                    self.review_over(known.work, None);
                }
            }
            BoardEvent::ReviewClosed { task } => {
                self.reviews.remove(task);
            }
            BoardEvent::Ended { task, end, by } => self.ended(*task, *end, by.as_ref(), at),
        }
    }

    fn hear(&mut self, agent: &AgentName, number: u64) {
        let heard = self.heard.entry(agent.clone()).or_default();
        *heard = (*heard).max(number);
    }

    fn queue(&mut self, work: &Arc<Work>, to: Option<AgentName>, at: Timestamp) {
        self.await_again(work.id);
        let boarded = Boarded { work: Arc::clone(work), place: Place::Queued { to }, since: at };
        self.tasks.entry(work.id).or_insert(boarded);
    }

    /// Forgets the outcome of a task that is open again with those that wait for it.
    fn await_again(&mut self, task: WorkId) {
        let is_it = |before: &Before| before.task == task && before.end.is_some();
        for boarded in self.tasks.values_mut().filter(|boarded| boarded.work.card().after.iter().any(is_it)) {
            let before = &mut Arc::make_mut(&mut boarded.work).card_mut().after;
            before.iter_mut().filter(|before| is_it(before)).for_each(|before| before.end = None);
        }
    }

    fn put(&mut self, task: WorkId, place: Place, at: Timestamp) {
        if let Some(boarded) = self.tasks.get_mut(&task) {
            boarded.place = place;
            boarded.since = at;
        }
    }

    fn is_offered(&self, task: WorkId, number: u64) -> bool {
        let place = self.tasks.get(&task).map(|boarded| &boarded.place);
        matches!(place, Some(Place::Offered { number: offered, .. }) if *offered == number)
    }

    fn note_part(&mut self, parent: WorkId, part: WorkId, result: Option<PartResult>) {
        let end = result.as_ref().map(|result| result.end);
        self.note_led(parent, part, result);
        if let Some(Boarded { place: Place::Split { parts, .. }, .. }) = self.tasks.get_mut(&parent)
            && let Some(known) = parts.iter_mut().find(|known| known.id == part)
        {
            known.end = end;
        }
    }

    fn ended(&mut self, task: WorkId, end: TaskEnd, by: Option<&Actor>, at: Timestamp) {
        let Some(boarded) = self.tasks.remove(&task) else { return };
        let note: Detail = by.map(|by| Own::By { name: by.name.clone() }.into()).unwrap_or_default();
        if let Some(parent) = boarded.work.card().parent {
            let outcome = PartOutcome {
                note: note.clone(),
                spent: boarded.work.card().spent,
                ..PartOutcome::default()
            };
            self.note_part(parent, task, Some(PartResult { part: task, end, agent: None, outcome }));
        }
        self.review_over(task, None);
        while self.finished.len() >= FINISHED_MAX {
            self.finished.pop_front();
        }
        self.finished.push_back(FinishedTask { work: (*boarded.work).clone(), end, at, note, proof: None });
    }

    /// Returns the number of the last message from an agent that is recorded; 0 if there is none.
    #[must_use]
    pub fn heard_of(&self, agent: &AgentName) -> u64 {
        self.heard.get(agent).copied().unwrap_or_default()
    }

    /// Returns true if any task waits to be handed to an agent.
    #[must_use]
    pub fn has_queued(&self) -> bool {
        self.tasks.values().any(|boarded| matches!(boarded.place, Place::Queued { .. }))
    }

    /// Returns true if any task waits to be handed to an agent, and for no other task.
    #[must_use]
    pub fn has_any_to_deal(&self) -> bool {
        let mut tasks = self.tasks.values();
        tasks.any(|boarded| matches!(boarded.place, Place::Queued { .. }) && !boarded.waits_for_others())
    }

    /// Returns the tasks that wait for the next agent that meets their needs.
    pub fn waiting_for_anybody(&self) -> impl Iterator<Item = &Work> {
        let waits = |boarded: &&Boarded| matches!(boarded.place, Place::Queued { to: None });
        self.tasks.values().filter(waits).map(|boarded| &*boarded.work)
    }

    /// Returns the parts of a task; empty if it is not split.
    #[must_use]
    pub fn parts(&self, task: WorkId) -> &[Part] {
        match self.tasks.get(&task).map(|boarded| &boarded.place) {
            Some(Place::Split { parts, .. }) => parts,
            Some(Place::Queued { .. } | Place::Offered { .. }) | None => &[],
        }
    }
}

/// A decision in the making: the events so far, and the board as it will be after them.
struct Draft {
    board: Board,
    events: Vec<BoardEvent>,
    now: Timestamp,
}

impl Draft {
    fn new(board: &Board, now: Timestamp) -> Self {
        Self { board: board.clone(), events: Vec::new(), now }
    }

    fn record(&mut self, event: BoardEvent) {
        self.board.apply(&event, self.now);
        self.events.push(event);
    }

    /// Ends a task; if it was the last open part of a split task, that task ends too.
    fn end(&mut self, task: WorkId, end: TaskEnd, by: Option<Actor>) {
        let parent = self.board.tasks.get(&task).and_then(|boarded| boarded.work.card().parent);
        self.record(BoardEvent::Ended { task, end, by: by.clone() });
        self.over(task, end);
        self.end_lead(task, &by.unwrap_or_else(Actor::herder));
        if let Some(parent) = parent {
            self.settle(parent);
        }
    }

    /// Notes the end of a task with those of the board that wait for it.
    fn over(&mut self, awaited: WorkId, end: TaskEnd) {
        let news = |before: &Before| {
            before.task == awaited && before.end != Some(TaskEnd::Done) && before.end != Some(end)
        };
        let waits = |boarded: &&Boarded| boarded.work.card().after.iter().any(news);
        let waiting: Vec<WorkId> =
            self.board.tasks.values().filter(waits).map(|boarded| boarded.work.id).collect();
        for task in waiting {
            self.record(BoardEvent::AwaitedOver { task, awaited, end });
            // The lead decides about a part that waits in vain, and is told of its end.
            let is_led = self.board.tasks.get(&task).is_some_and(|boarded| {
                matches!(boarded.place, Place::Queued { .. }) && self.board.is_led(&boarded.work)
            });
            if end != TaskEnd::Done && is_led {
                self.end(task, TaskEnd::Cancelled, Some(Actor::herder()));
            }
        }
    }

    /// Ends a split task all of whose parts have ended: as cancelled if a person cancelled it, as done if all parts are
    /// done. Otherwise it stays open for a person to decide.
    fn settle(&mut self, parent: WorkId) {
        self.settle_lead(parent);
        let Some(Boarded { place: Place::Split { parts, cancelled }, .. }) = self.board.tasks.get(&parent)
        else {
            return;
        };
        let over = parts.iter().all(|part| part.end.is_some());
        let done = parts.iter().all(|part| part.end == Some(TaskEnd::Done));
        match cancelled.clone() {
            Some(by) if over => self.end(parent, TaskEnd::Cancelled, Some(by)),
            None if done => self.end(parent, TaskEnd::Done, None),
            Some(_) | None => {}
        }
    }
}
