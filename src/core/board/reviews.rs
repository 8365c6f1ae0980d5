//! Reviews of one agent's tasks by another. The board keeps each from the moment it is asked for until its task waits for no
//! agent's verdict any more.
//!
//! ```text
//!   the task waits for a verdict ──► ReviewAsked: a task for the reviewer ──► Reviewed, or it ends on the board
//!                                                                                   │ Input::Reviewed, until recorded
//!   it waits for none any more ──► ReviewClosed, and what is left of that task is cancelled
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Board, BoardEvent, Draft, Place};
use crate::agent::{Agent, Phase};
use crate::dealings::{News, Numbered};
use crate::event::PauseReason;
use crate::id::{AgentName, WorkId};
use crate::input::{Control, Input};
use crate::review::{Asked, Opinion};
use crate::time::Timestamp;
use crate::work::{Actor, TaskEnd, Work};

/// A review that an agent was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requested {
    /// The agent whose task is reviewed.
    pub agent: AgentName,
    /// Number of the review, counted for each task.
    pub number: u32,
    /// Number of the task that is the review.
    pub work: WorkId,
    /// The agent that was asked.
    pub reviewer: AgentName,
    /// The answer; `None` while the review goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// The end of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The agent's verdict; `None` if it has given none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opinion: Option<Opinion>,
}

impl Board {
    /// Returns the events that ask for the verdicts that an agent's tasks wait for, and close reviews that nothing waits
    /// for any more. Numbers of new tasks are drawn with `fresh`.
    #[must_use]
    pub fn look_for_reviews(
        &self,
        name: &AgentName,
        agent: &Agent,
        now: Timestamp,
        mut fresh: impl FnMut() -> WorkId,
    ) -> Vec<BoardEvent> {
        let waits: BTreeMap<WorkId, &Asked> = agent.asked_reviews().collect();
        let is_known = |task: &WorkId, asked: &Asked| {
            self.reviews.get(task).is_some_and(|known| known.agent == *name && known.number == asked.number)
        };
        let new: Vec<WorkId> =
            waits.iter().filter(|(task, asked)| !is_known(task, asked)).map(|(task, _)| *task).collect();
        let over = |task: &WorkId, known: &Requested| {
            known.agent == *name && waits.get(task).is_none_or(|asked| asked.number != known.number)
        };
        let over: Vec<WorkId> =
            self.reviews.iter().filter(|(task, known)| over(task, known)).map(|(task, _)| *task).collect();
        if new.is_empty() && over.is_empty() {
            return Vec::new();
        }
        let mut draft = Draft::new(self, now);
        for task in over {
            close(&mut draft, task);
        }
        for task in new {
            let work = agent.review_work(name, task, fresh(), now);
            let to = waits.get(&task).map(|asked| asked.agent.clone());
            if let (Some(work), Some(to)) = (work, to) {
                draft.record(BoardEvent::ReviewAsked { work: Arc::new(work), to });
            }
        }
        draft.events
    }

    /// Returns the inputs by which an agent learns the verdicts on its tasks, and is relieved of reviews that nothing waits
    /// for.
    pub(super) fn reviews_for<'a>(
        &'a self,
        name: &'a AgentName,
        agent: &'a Agent,
    ) -> impl Iterator<Item = Input> + 'a {
        let answered = self.reviews.iter().filter(move |(_, known)| known.agent == *name);
        let answers = answered.filter_map(|(task, known)| {
            let Answer { opinion } = known.answer.clone()?;
            let by = known.reviewer.clone();
            Some(Input::Reviewed { task: *task, number: known.number, by, opinion })
        });
        let idle = agent.all_works().filter(|work| self.is_idle_review(work));
        let cancelled = idle.map(|work| {
            let control = Control::CancelTask(work.id);
            Input::Control { by: Actor::herder(), control }
        });
        answers.chain(cancelled)
    }

    /// Returns the reviewed tasks whose review an agent has and does not go on with: it is halted, paused or gone, or has
    /// lost it.
    pub(super) fn reviews_given_up(&self, name: &AgentName, agent: &Agent, is_gone: bool) -> Vec<WorkId> {
        let is_told = |work: WorkId| {
            let told =
                |news: &Numbered| matches!(&news.news, News::Reviewed { work: over, .. } if *over == work);
            agent.board.news.iter().any(told)
        };
        let is_at_work =
            |work: WorkId| !is_gone && can_review(agent) && agent.all_works().any(|held| held.id == work);
        let given_up = |known: &Requested| {
            known.reviewer == *name
                && known.answer.is_none()
                && !self.tasks.contains_key(&known.work)
                && !is_told(known.work)
                && !is_at_work(known.work)
        };
        let all = self.reviews.iter().filter(|(_, known)| given_up(known));
        all.map(|(task, _)| *task).collect()
    }

    /// Returns true if a task is a review that nothing waits for any more.
    pub(super) fn is_idle_review(&self, work: &Work) -> bool {
        let is_open = |known: &Requested| known.work == work.id;
        let of = work.card().review.as_deref();
        of.is_some_and(|of| !self.reviews.get(&of.task).is_some_and(is_open))
    }

    pub(super) fn review_asked(&mut self, work: &Arc<Work>, to: &AgentName, at: Timestamp) {
        if let Some(of) = work.card().review.as_deref() {
            let (agent, number, reviewer) = (of.agent.clone(), of.number, to.clone());
            let asked = Requested { agent, number, work: work.id, reviewer, answer: None };
            self.reviews.insert(of.task, asked);
        }
        self.queue(work, Some(to.clone()), at);
    }

    /// Notes the end of a review; the first one counts.
    pub(super) fn review_over(&mut self, work: WorkId, opinion: Option<&Opinion>) {
        let Some(known) = self.reviews.values_mut().find(|known| known.work == work) else { return };
        known.answer.get_or_insert_with(|| Answer { opinion: opinion.cloned() });
    }
}

/// Returns true if an agent takes reviews and goes on with them. One that `stop-all` has paused keeps them until it is
/// resumed.
#[must_use]
pub fn can_review(agent: &Agent) -> bool {
    let stopped = matches!(agent.phase, Phase::Paused { reason: PauseReason::StopAll(_) });
    agent.has_repository() && !agent.leaves() && (stopped || !agent.stands_still())
}

/// Closes the reviews of agents that do not exist any more.
pub(super) fn close_lost(draft: &mut Draft, known: impl Fn(&AgentName) -> bool) {
    let lost = draft.board.reviews.iter().filter(|(_, review)| !known(&review.agent));
    let lost: Vec<WorkId> = lost.map(|(task, _)| *task).collect();
    for task in lost {
        close(draft, task);
    }
}

fn close(draft: &mut Draft, task: WorkId) {
    draft.record(BoardEvent::ReviewClosed { task });
    cancel_idle(draft);
}

/// Cancels reviews on the board that nothing waits for any more; agents that have one are told to.
pub(super) fn cancel_idle(draft: &mut Draft) {
    let tasks = draft.board.tasks.values();
    let idle = tasks.filter(|boarded| {
        matches!(boarded.place, Place::Queued { .. }) && draft.board.is_idle_review(&boarded.work)
    });
    let idle: Vec<WorkId> = idle.map(|boarded| boarded.work.id).collect();
    for work in idle {
        draft.end(work, TaskEnd::Cancelled, Some(Actor::herder()));
    }
}
